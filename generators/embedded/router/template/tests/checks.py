"""The drawn router: does it do what was ordered, for site and carrier, and nothing else?

Both sides are made of frames (`wire`). Where a packet comes out is asked of a model of the order
too (`model`), which shares nothing with any router.
"""

from __future__ import annotations

import core
import demanded
import lasting
import mixes
import others
import services

from benchflow.boot import check, milestone

#: Where the functions of the drawn demands are: which of them are called is drawn too.
DEMANDS = (demanded, others, lasting)

# ---- boots ------------------------------------------------------------------------------------


@milestone("boots", weight=1, proves=["R1"], title="It is there")
def test_own_addresses(bench):
    core.own_addresses(bench)


@check("boots", proves=["R2"])
def test_wrong_calls(bench):
    core.wrong_calls(bench)


# @parts checks boots
# ---- leases -----------------------------------------------------------------------------------


@milestone("leases", weight=2, requires=["boots"], proves=["R3"], title="It gives addresses")
def test_pools(bench):
    core.pools(bench)


@check("leases", proves=["R4"])
def test_known(bench):
    core.known(bench)


# @parts checks leases
# ---- uplink -----------------------------------------------------------------------------------


@milestone("uplink", weight=2, requires=["boots"], proves=["R5"], title="It leads to the world")
def test_reaches_the_world(bench):
    core.reaches_the_world(bench)


@check("uplink", proves=["R5"])
def test_two_at_once(bench):
    core.two_at_once(bench)


# @parts checks uplink
# ---- walls ------------------------------------------------------------------------------------


@milestone("walls", weight=2, requires=["uplink"], proves=["R6"], title="Nothing comes in unasked")
def test_nothing_comes_in(bench):
    core.nothing_comes_in(bench)


@check("walls", proves=["R6"])
def test_silent_outside(bench):
    core.silent_outside(bench)


@check("walls", proves=["R6"])
def test_strangers_answers(bench):
    core.strangers_answers(bench)


# @parts checks walls
# ---- apart ------------------------------------------------------------------------------------


@milestone("apart", weight=2, requires=["uplink"], proves=["R7"], title="Networks are kept apart")
def test_who_may_whom(bench):
    core.who_may_whom(bench)


@check("apart", proves=["R7"])
def test_pings_between(bench):
    core.pings_between(bench)


# @parts checks apart
# ---- doors ------------------------------------------------------------------------------------


@milestone("doors", weight=2, requires=["uplink"], proves=["R8"], title="Doors lead to hosts")
def test_doors(bench):
    services.doors(bench)


@check("doors", proves=["R8"])
def test_doors_change(bench):
    services.doors_change(bench)


# @parts checks doors
# ---- names ------------------------------------------------------------------------------------


@milestone("names", weight=2, requires=["uplink"], proves=["R9"], title="Names are answered")
def test_names_of_the_world(bench):
    services.names_of_the_world(bench)


@check("names", proves=["R9"])
def test_names_not_outside(bench):
    services.names_not_outside(bench)


# @parts checks names
# ---- packets ----------------------------------------------------------------------------------


@milestone(
    "packets",
    weight=2,
    requires=["uplink"],
    proves=["R10"],
    title="Packets are treated as they should be",
)
def test_errors_come_through(bench):
    services.errors_come_through(bench)


@check("packets", proves=["R10"])
def test_counted_down(bench):
    services.counted_down(bench)


# @parts checks packets
# ---- tells ------------------------------------------------------------------------------------


@milestone("tells", weight=1, requires=["uplink"], proves=["R11"], title="It tells what is true")
def test_tells(bench):
    services.tells(bench)


# @parts checks tells
# ---- changes ----------------------------------------------------------------------------------


@milestone(
    "changes", weight=2, requires=["uplink"], proves=["R12"], title="It follows what changes"
)
def test_another_address(bench):
    services.another_address(bench)


@check("changes", proves=["R12"])
def test_other_name_servers(bench):
    services.other_name_servers(bench)


@check("changes", proves=["R12"])
def test_another_host(bench):
    services.another_host(bench)


# @parts checks changes
# ---- lasts ------------------------------------------------------------------------------------


@milestone("lasts", weight=2, requires=["uplink"], proves=["R13"], title="It starts by itself")
def test_after_a_cut(bench):
    services.after_a_cut(bench)


@check("lasts", proves=["R13"])
def test_without_the_carrier(bench):
    services.without_the_carrier(bench)


# @parts checks lasts
# ---- mixes ------------------------------------------------------------------------------------


@milestone(
    "mixes",
    weight=3,
    requires=[
        "boots",
        "leases",
        "uplink",
        "walls",
        "apart",
        "doors",
        "names",
        "packets",
        "tells",
        "changes",
        "lasts",
    ],
    proves=["R14"],
    title="All of it together, in drawn orders",
)
def test_what_hangs_together(bench):
    mixes.pairs(bench)


@check("mixes", proves=["R14"])
def test_a_first_sequence(bench):
    mixes.sequence(bench, 10)


@check("mixes", proves=["R14"])
def test_a_second_sequence(bench):
    mixes.sequence(bench, 10)


# @parts checks mixes
