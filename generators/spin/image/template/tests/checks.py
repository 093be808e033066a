"""The drawn image: does a unit do what was ordered, whatever happens to it?

Units are asked at their ports and on their console, where root logs in, and their disks are read.
"""

from __future__ import annotations

import core
import hardware
import lasting
import mixes
import services
import system
import telling

from benchflow.boot import check, milestone

#: Where the functions of the drawn demands are: which of them are called is drawn too.
DEMANDS = (hardware, lasting, services, system, telling)

# ---- starts ----------------------------------------------------------------------------------


@milestone("starts", weight=1, proves=["R1"], title="It starts")
def test_comes_up(bench):
    core.comes_up(bench)


# @parts checks starts
# ---- enters ----------------------------------------------------------------------------------


@milestone("enters", weight=1, requires=["starts"], proves=["R2"], title="Root gets in")
def test_root_enters(bench):
    core.root_enters(bench)


@check("enters", proves=["R2"])
def test_tools(bench):
    core.tools(bench)


# @parts checks enters
# ---- serves ----------------------------------------------------------------------------------


@milestone("serves", weight=2, requires=["enters"], proves=["R4"], title="The service answers")
def test_serves(bench):
    core.serves(bench)


@check("serves", proves=["R4"])
def test_is_ours(bench):
    core.is_ours(bench)


@check("serves", proves=["R4"])
def test_is_whole(bench):
    core.is_whole(bench)


# @parts checks serves
# ---- stores ----------------------------------------------------------------------------------


@milestone("stores", weight=2, requires=["serves"], proves=["R5"], title="Records stay")
def test_records_stay(bench):
    core.records_stay(bench)


# @parts checks stores
# ---- laid-out --------------------------------------------------------------------------------


@milestone("laid-out", weight=1, requires=["serves"], proves=["R6"], title="The disk is laid out")
def test_laid_out(bench):
    core.laid_out(bench)


@check("laid-out", proves=["R6"])
def test_is_mounted(bench):
    core.is_mounted(bench)


@check("laid-out", proves=["R6"])
def test_data_is_there(bench):
    core.data_is_there(bench)


# @parts checks laid-out
# ---- closed ----------------------------------------------------------------------------------


@milestone("closed", weight=2, requires=["serves"], proves=["R3"], title="What is closed is closed")
def test_others_do_not(bench):
    core.others_do_not(bench)


@check("closed", proves=["R3"])
def test_nobody_by_file(bench):
    core.nobody_by_file(bench)


@check("closed", proves=["R7"])
def test_console_is_closed(bench):
    core.console_is_closed(bench)


# @parts checks closed
# ---- reached ---------------------------------------------------------------------------------


@milestone("reached", weight=2, requires=["serves"], proves=["R8"], title="It is reached, as asked")
def test_another_card(bench):
    core.another_card(bench)


# @parts checks reached
# ---- tells -----------------------------------------------------------------------------------


@milestone("tells", weight=1, requires=["serves"], proves=["R9"], title="It tells what it is")
def test_release(bench):
    core.release(bench)


# @parts checks tells
# ---- stands ----------------------------------------------------------------------------------


@milestone("stands", weight=2, requires=["serves"], proves=["R10"], title="It stands up again")
def test_restarts_and_goes_off(bench):
    core.restarts_and_goes_off(bench)


# @parts checks stands
# ---- begins ----------------------------------------------------------------------------------


@milestone("begins", weight=2, requires=["serves"], proves=["R6"], title="It begins as new")
def test_as_new_empty(bench):
    core.as_new_empty(bench)


@check("begins", proves=["R11"])
def test_first_start_cut(bench):
    core.first_start_cut(bench)


# @parts checks begins
# ---- keeps -----------------------------------------------------------------------------------


@milestone("keeps", weight=2, requires=["serves"], proves=["R12"], title="It keeps what is kept")
def test_written_stays(bench):
    core.written_stays(bench)


# @parts checks keeps
# ---- lasts -----------------------------------------------------------------------------------


@milestone("lasts", weight=2, requires=["stores"], proves=["R13"], title="Nothing keeps it down")
def test_cut_in_starts(bench):
    core.cut_in_starts(bench)


# @parts checks lasts
# ---- mixes -----------------------------------------------------------------------------------


@milestone(
    "mixes",
    weight=3,
    requires=[
        "stores", "laid-out", "closed", "reached", "tells", "stands", "begins", "keeps", "lasts",
    ],
    proves=["R14"],
    title="All of it together",
)  # fmt: skip
def test_sequence(bench):
    mixes.sequence(bench, 5)
