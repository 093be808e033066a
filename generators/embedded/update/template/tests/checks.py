"""The drawn updater: does a unit do what was ordered, and nothing else, whenever the power goes?

What is asked of the unit is asked of a model of the order too (`model`); status, output, states,
and what stands in the flash have to be the same after each call.
"""

from __future__ import annotations

import core
import demanded
import mixes
import others

from benchflow.boot import check, milestone

#: Where the functions of the drawn demands are: which of them are called is drawn too.
DEMANDS = (demanded, others)

# ---- answers ---------------------------------------------------------------------------------


@milestone("answers", weight=1, proves=["R1"], title="It answers")
def test_wrong_calls(bench):
    core.wrong_calls(bench)


@check("answers", proves=["R2"])
def test_a_new_unit(bench):
    core.a_new_unit(bench)


# @parts checks answers
# ---- trusts ----------------------------------------------------------------------------------


@milestone("trusts", weight=2, proves=["R3"], title="It believes our key")
def test_signed_well(bench):
    core.signed_well(bench)


@check("trusts", proves=["R3"])
def test_another_key(bench):
    core.another_key(bench)


@check("trusts", proves=["R3"])
def test_another_manifest(bench):
    core.another_manifest(bench)


# @parts checks trusts
# ---- installs --------------------------------------------------------------------------------


@milestone("installs", weight=2, requires=["trusts"], proves=["R4"], title="It installs")
def test_a_version_starts(bench):
    core.a_version_starts(bench)


@check("installs", proves=["R4"])
def test_another_in_its_place(bench):
    core.another_in_its_place(bench)


@check("installs", proves=["R4"])
def test_two_updates(bench):
    core.two_updates(bench)


@check("installs", proves=["R4"])
def test_a_lower_version(bench):
    core.a_lower_version(bench)


# @parts checks installs
# ---- refuses ---------------------------------------------------------------------------------


@milestone(
    "refuses", weight=2, requires=["installs"], proves=["R5"], title="It refuses what is wrong"
)
def test_not_a_bundle(bench):
    core.not_a_bundle(bench)


@check("refuses", proves=["R6"])
def test_not_a_manifest(bench):
    core.not_a_manifest(bench)


@check("refuses", proves=["R6"])
def test_damaged(bench):
    core.damaged(bench)


@check("refuses", proves=["R6"])
def test_too_large(bench):
    core.too_large(bench)


# @parts checks refuses
# ---- admits ----------------------------------------------------------------------------------


@milestone(
    "admits", weight=2, requires=["installs"], proves=["R7"], title="It installs what it may"
)
def test_nothing_on_trial(bench):
    core.nothing_on_trial(bench)


# @parts checks admits
# ---- tries -----------------------------------------------------------------------------------


@milestone(
    "tries", weight=2, requires=["installs"], proves=["R8"], title="It tries as often as it may"
)
def test_tries_in_vain(bench):
    core.tries_in_vain(bench)


@check("tries", proves=["R9"])
def test_confirmed_at_last(bench):
    core.confirmed_at_last(bench)


@check("tries", proves=["R8"])
def test_tries_begin_again(bench):
    core.tries_begin_again(bench)


# @parts checks tries
# ---- returns ---------------------------------------------------------------------------------


@milestone("returns", weight=2, requires=["installs"], proves=["R10"], title="It falls back")
def test_to_what_was_confirmed(bench):
    core.to_what_was_confirmed(bench)


@check("returns", proves=["R10"])
def test_to_what_is_left(bench):
    core.to_what_is_left(bench)


# @parts checks returns
# ---- tells -----------------------------------------------------------------------------------


@milestone("tells", weight=1, requires=["installs"], proves=["R2"], title="It tells what is true")
def test_every_state(bench):
    core.every_state(bench)


# @parts checks tells
# ---- keeps -----------------------------------------------------------------------------------


@milestone("keeps", weight=2, requires=["installs"], proves=["R12"], title="It keeps what is kept")
def test_a_real_cut(bench):
    core.a_real_cut(bench)


@check("keeps", proves=["R11"])
def test_slots_stay(bench):
    core.slots_stay(bench)


# @parts checks keeps
# ---- lasts -----------------------------------------------------------------------------------


@milestone(
    "lasts",
    weight=2,
    requires=["installs"],
    proves=["R13"],
    title="The power goes while it installs",
)
def test_cut_while_installing(bench):
    core.cut_while_installing(bench)


@check("lasts", proves=["R13"])
def test_cut_while_replacing(bench):
    core.cut_while_replacing(bench)


# @parts checks lasts
# ---- counts ----------------------------------------------------------------------------------


@milestone(
    "counts", weight=2, requires=["installs"], proves=["R14"], title="The power goes in other calls"
)
def test_cut_while_starting(bench):
    core.cut_while_starting(bench)


@check("counts", proves=["R14"])
def test_cut_while_confirming(bench):
    core.cut_while_confirming(bench)


# @parts checks counts
# ---- mixes -----------------------------------------------------------------------------------


@milestone(
    "mixes",
    weight=3,
    requires=[
        "answers",
        "trusts",
        "installs",
        "refuses",
        "admits",
        "tries",
        "returns",
        "tells",
        "keeps",
        "lasts",
        "counts",
    ],
    proves=["R15"],
    title="All of it together, in drawn orders",
)
def test_one_update_after_the_other(bench):
    mixes.after_all(bench)


@check("mixes", proves=["R15"])
def test_what_hangs_together(bench):
    mixes.pairs(bench)


@check("mixes", proves=["R15"])
def test_a_first_sequence(bench):
    mixes.sequence(bench, 12)


@check("mixes", proves=["R15"])
def test_a_second_sequence(bench):
    mixes.sequence(bench, 12)


# @parts checks mixes
