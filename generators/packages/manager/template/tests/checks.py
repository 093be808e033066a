"""The drawn package manager: does a station do what was ordered, and nothing else?

What is asked of the station is asked of a model of the order too (`model`); status, output, what is
listed and all files have to be the same after each command.
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


@check("answers", proves=["R11"])
def test_a_new_station(bench):
    core.a_new_station(bench)


# @parts checks answers
# ---- trusts ----------------------------------------------------------------------------------


@milestone("trusts", weight=2, proves=["R2"], title="It believes our key")
def test_an_index_is_taken(bench):
    core.an_index_is_taken(bench)


@check("trusts", proves=["R2"])
def test_another_key(bench):
    core.another_key(bench)


@check("trusts", proves=["R2"])
def test_another_index(bench):
    core.another_index(bench)


@check("trusts", proves=["R2"])
def test_no_signature(bench):
    core.no_signature(bench)


@check("trusts", proves=["R2"])
def test_no_index(bench):
    core.no_index(bench)


# @parts checks trusts
# ---- installs --------------------------------------------------------------------------------


@milestone("installs", weight=2, requires=["trusts"], proves=["R3"], title="It installs")
def test_one_package(bench):
    core.one_package(bench)


@check("installs", proves=["R3"])
def test_what_is_there_stays(bench):
    core.what_is_there_stays(bench)


@check("installs", proves=["R3"])
def test_what_is_not_there(bench):
    core.what_is_not_there(bench)


# @parts checks installs
# ---- resolves --------------------------------------------------------------------------------


@milestone(
    "resolves", weight=2, requires=["installs"], proves=["R3"], title="It brings what is needed"
)
def test_needs_of_needs(bench):
    core.needs_of_needs(bench)


@check("resolves", proves=["R5"])
def test_a_need_that_is_not_met(bench):
    core.a_need_that_is_not_met(bench)


# @parts checks resolves
# ---- refuses ---------------------------------------------------------------------------------


@milestone(
    "refuses", weight=2, requires=["installs"], proves=["R6"], title="It refuses what is wrong"
)
def test_exchanged(bench):
    core.exchanged(bench)


@check("refuses", proves=["R6"])
def test_not_what_the_index_says(bench):
    core.not_what_the_index_says(bench)


@check("refuses", proves=["R6"])
def test_paths_that_climb(bench):
    core.paths_that_climb(bench)


# @parts checks refuses
# ---- fetches ---------------------------------------------------------------------------------


@milestone(
    "fetches", weight=1, requires=["installs"], proves=["R7"], title="It fetches what it has to"
)
def test_only_what_is_installed(bench):
    core.only_what_is_installed(bench)


@check("fetches", proves=["R13"])
def test_a_fetch_that_ends_early(bench):
    core.a_fetch_that_ends_early(bench)


@check("fetches", proves=["R13"])
def test_a_file_that_is_not_there(bench):
    core.a_file_that_is_not_there(bench)


# @parts checks fetches
# ---- upgrades --------------------------------------------------------------------------------


@milestone("upgrades", weight=2, requires=["installs"], proves=["R8"], title="It upgrades")
def test_to_later_versions(bench):
    core.to_later_versions(bench)


@check("upgrades", proves=["R8"])
def test_with_new_needs(bench):
    core.with_new_needs(bench)


# @parts checks upgrades
# ---- removes ---------------------------------------------------------------------------------


@milestone("removes", weight=2, requires=["installs"], proves=["R10"], title="It removes")
def test_with_its_folders(bench):
    core.with_its_folders(bench)


@check("removes", proves=["R9"])
def test_what_is_needed_stays(bench):
    core.what_is_needed_stays(bench)


# @parts checks removes
# ---- tells -----------------------------------------------------------------------------------


@milestone("tells", weight=1, requires=["installs"], proves=["R12"], title="It tells what is there")
def test_lists_and_files(bench):
    core.lists_and_files(bench)


# @parts checks tells
# ---- settles ---------------------------------------------------------------------------------


@milestone("settles", weight=1, requires=["installs"], proves=["R4"], title="All is in its place")
def test_modes_and_owners(bench):
    core.modes_and_owners(bench)


@check("settles", proves=["R4"])
def test_folders_that_are_there(bench):
    core.folders_that_are_there(bench)


# @parts checks settles
# ---- undoes ----------------------------------------------------------------------------------


@milestone("undoes", weight=2, requires=["installs"], proves=["R13"], title="A whole or nothing")
def test_good_and_bad_together(bench):
    core.good_and_bad_together(bench)


@check("undoes", proves=["R13"])
def test_an_upgrade_of_several(bench):
    core.an_upgrade_of_several(bench)


# @parts checks undoes
# ---- survives --------------------------------------------------------------------------------


@milestone("survives", weight=2, requires=["installs"], proves=["R14"], title="It survives")
def test_a_restart(bench):
    core.a_restart(bench)


# @parts checks survives
# ---- mixes -----------------------------------------------------------------------------------


@milestone(
    "mixes",
    weight=3,
    requires=[
        "answers",
        "trusts",
        "installs",
        "resolves",
        "refuses",
        "fetches",
        "upgrades",
        "removes",
        "tells",
        "settles",
        "undoes",
        "survives",
    ],
    proves=["R8"],
    title="All of it together, in drawn orders",
)
def test_files_that_move(bench):
    mixes.moving(bench)


@check("mixes", proves=["R15"])
def test_a_first_sequence(bench):
    mixes.sequence(bench, 22)


@check("mixes", proves=["R15"])
def test_a_second_sequence(bench):
    mixes.sequence(bench, 22)


@check("mixes", proves=["R13"])
def test_what_stands_on_the_disk(bench):
    mixes.on_the_disk(bench)


# @parts checks mixes
