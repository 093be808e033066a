"""package-manager: does the station change as a whole, or not at all?

A milestone requires that the station starts and can be asked, and no other one: each check brings
what it needs, and finds the station as it was at first when the check before it failed (conftest).
"""

from __future__ import annotations

import building
import configuring
import installing
import ordered
import refusing
import returning
import standing
import surviving
import trusting
import undoing
import upgrading

from benchflow.boot import check, milestone

# ---- repository --------------------------------------------------------------------------------


@milestone("repository", weight=1, proves=["R6"], title="The repository is as ordered")
def test_packages_have_the_form(readings, own):
    ordered.packages_have_the_form(readings, own)


@check("repository", proves=["R6", "R13", "R15"])
def test_packages_go_together(own):
    ordered.packages_go_together(own)


@check("repository", proves=["R6"])
def test_the_index_is_signed(delivered, own, keys):
    ordered.index_is_signed(delivered, own, keys)


@check("repository", proves=["R6"])
def test_the_private_key_is_not_there(delivered, own, tree, deliverable, keys):
    disk, initrd = (deliverable(f"/app/out/{name}").read_bytes() for name in ("disk.img", "initrd"))
    ordered.private_key_is_not_there(delivered, own, tree, disk, initrd, keys)


# ---- boots -------------------------------------------------------------------------------------


@milestone("boots", weight=1, proves=["R1"], title="It starts")
def test_it_starts(fresh, metric):
    standing.it_starts(fresh, metric)


@check("boots", proves=["R3"])
def test_it_has_a_network(fresh):
    standing.it_has_a_network(fresh)


# ---- stands ------------------------------------------------------------------------------------


@milestone(
    "stands", weight=2, requires=["boots"], proves=["R3"], title="It is a station as ordered"
)
def test_a_dead_line_holds_up_nothing(lonely):
    standing.a_dead_line_holds_up_nothing(lonely)


@check("stands", proves=["R1"])
def test_one_password_opens_it(lonely, draw, nonce):
    standing.one_password_opens_it(lonely, draw, nonce)


@check("stands", proves=["R1"])
def test_there_is_no_other_way_in(station, tree):
    standing.there_is_no_other_way_in(station, tree)


@check("stands", proves=["R2"])
def test_the_disk(station, lonely, deliverable, nonce):
    standing.the_disk(station, lonely, deliverable, nonce)


@check("stands", proves=["R4"])
def test_what_it_was_made_from(station, nonce, draw):
    standing.what_it_was_made_from(station, nonce, draw)


@check("stands", proves=["R5"])
def test_it_compiles(station, nonce):
    standing.it_compiles(station, nonce)


# ---- whole -------------------------------------------------------------------------------------


@milestone("whole", weight=2, requires=["boots"], proves=["R7"], title="All is packages")
def test_every_file_is_a_packages(tree, own):
    ordered.every_file_is_a_packages(tree, own)


@check("whole", proves=["R4"])
def test_how_programs_are_linked(tree):
    ordered.programs_are_linked_to_one_library(tree)


@check("whole", proves=["R7"])
def test_a_station_that_runs_is_what_its_packages_say(station, own):
    standing.a_station_that_runs_is_what_its_packages_say(station, own)


@check("whole", proves=["R25", "R7"])
def test_it_tells_what_is_installed(station, own):
    standing.it_tells_what_is_installed(station, own)


@check("whole", proves=["R26"])
def test_it_finds_what_was_changed(station, own, draw):
    standing.it_finds_what_was_changed(station, own, draw)


# ---- trusts ------------------------------------------------------------------------------------


@milestone("trusts", weight=2, requires=["boots"], proves=["R8"], title="It believes its keys")
def test_another_key_is_not_believed(station, repository):
    trusting.another_key_is_not_believed(station, repository)


@check("trusts", proves=["R8"])
def test_false_signatures(client, repository, word, draw):
    trusting.false_signatures(client, repository, word, draw)


@check("trusts", proves=["R8"])
def test_indexes_of_another_form(client, repository, word):
    trusting.indexes_of_another_form(client, repository, word)


@check("trusts", proves=["R8"])
def test_older_indexes(client, repository):
    trusting.older_indexes(client, repository)


@check("trusts", proves=["R8"])
def test_an_index_that_does_not_come(client, repository):
    trusting.an_index_that_does_not_come(client, repository)


# ---- installs ----------------------------------------------------------------------------------


@milestone("installs", weight=2, requires=["boots"], proves=["R12"], title="It installs")
def test_what_is_installed_is_what_the_package_says(client, repository, own, word, nonce):
    installing.what_is_installed_is_what_the_package_says(client, repository, own, word, nonce)


@check("installs", proves=["R9", "R16"])
def test_what_is_needed_comes_and_nothing_else(client, repository, word):
    installing.what_is_needed_comes_and_nothing_else(client, repository, word)


@check("installs", proves=["R17"])
def test_checks_are_run_after_those_of_what_is_needed(client, repository, word, nonce):
    installing.checks_are_run_after_those_of_what_is_needed(client, repository, word, nonce)


# ---- refuses -----------------------------------------------------------------------------------


@milestone("refuses", weight=2, requires=["boots"], proves=["R14"], title="It refuses")
def test_packages_of_another_form(client, repository, word, draw):
    refusing.packages_of_another_form(client, repository, word, draw)


@check("refuses", proves=["R14", "R16"])
def test_packages_that_were_exchanged(client, repository, word, draw):
    refusing.packages_that_were_exchanged(client, repository, word, draw)


@check("refuses", proves=["R13", "R9"])
def test_what_cannot_be(client, repository, word):
    refusing.what_cannot_be(client, repository, word)


@check("refuses", proves=["R15"])
def test_files_in_the_way(client, repository, word):
    refusing.files_in_the_way(client, repository, word)


@check("refuses", proves=["R16"])
def test_wrong_calls(client, word):
    refusing.wrong_calls(client, word)


@check("refuses", proves=["R16"])
def test_it_says_why_it_refuses(client):
    client.gave_reasons(2, 10, 11, 12, 13, 14)


# ---- configures --------------------------------------------------------------------------------


@milestone(
    "configures", weight=2, requires=["boots"], proves=["R21"], title="It keeps what was set"
)
def test_configuration_through_upgrades(client, repository, word, nonce):
    configuring.configuration_through_upgrades(client, repository, word, nonce)


@check("configures", proves=["R22", "R23"])
def test_configuration_that_was_there_before(client, repository, word, nonce):
    configuring.configuration_that_was_there_before(client, repository, word, nonce)


# ---- upgrades ----------------------------------------------------------------------------------


@milestone("upgrades", weight=2, requires=["boots"], proves=["R10"], title="It upgrades")
def test_all_that_can_move(client, repository, word, nonce):
    upgrading.all_that_can_move(client, repository, word, nonce)


@check("upgrades", proves=["R10", "R13"])
def test_only_what_is_later(client, repository, word):
    upgrading.only_what_is_later(client, repository, word)


# ---- removes -----------------------------------------------------------------------------------


@milestone("removes", weight=1, requires=["boots"], proves=["R11"], title="It removes")
def test_what_is_needed_stays(client, repository, word):
    upgrading.what_is_needed_stays(client, repository, word)


# ---- builds ------------------------------------------------------------------------------------


@milestone("builds", weight=2, requires=["boots"], proves=["R27"], title="It builds")
def test_a_recipe_of_data(client, word, nonce):
    building.a_recipe_of_data(client, word, nonce)


@check("builds", proves=["R27", "R28", "R5"])
def test_a_recipe_of_a_program(client, repository, word, nonce):
    building.a_recipe_of_a_program(client, repository, word, nonce)


@check("builds", proves=["R28"])
def test_recipes_that_fail(client, word):
    building.recipes_that_fail(client, word)


@check("builds", proves=["R29"])
def test_tide_is_made_by_the_station(client, own, delivered):
    building.tide_is_made_by_the_station(client, own, delivered)


@check("builds", proves=["R29"])
def test_tide_is_compiled_from_its_source(client, own, nonce, draw):
    building.tide_is_compiled_from_its_source(client, own, nonce, draw)


# ---- undoes ------------------------------------------------------------------------------------


@milestone(
    "undoes", weight=2, requires=["boots"], proves=["R17"], title="It takes back what failed"
)
def test_a_check_that_fails(client, repository, word, nonce):
    undoing.a_check_that_fails(client, repository, word, nonce)


@check("undoes", proves=["R17", "R18"])
def test_a_check_that_does_not_end(client, repository, word, nonce):
    undoing.a_check_that_does_not_end(client, repository, word, nonce)


@check("undoes", proves=["R18"])
def test_one_at_a_time(client, repository, own, word):
    undoing.one_at_a_time(client, repository, own, word)


@check("undoes", proves=["R19"])
def test_lade_is_killed(client, repository, word, nonce, draw):
    undoing.lade_is_killed(client, repository, word, nonce, draw)


@check("undoes", proves=["R19"])
def test_lade_is_killed_at_other_moments(client, repository, word, nonce, draw):
    undoing.lade_is_killed_at_other_moments(client, repository, word, nonce, draw)


@check("undoes", proves=["R20"])
def test_there_is_no_room(client, repository, word, nonce):
    undoing.there_is_no_room(client, repository, word, nonce)


@check("undoes", proves=["R20", "R16"])
def test_the_disk_is_full_when_a_check_fails(client, repository, word, nonce):
    undoing.the_disk_is_full_when_a_check_fails(client, repository, word, nonce)


@check("undoes", proves=["R16"])
def test_it_says_why_it_undoes(client):
    client.gave_reasons(15, 16, 18)


# ---- returns -----------------------------------------------------------------------------------


@milestone("returns", weight=2, requires=["boots"], proves=["R24"], title="It goes back")
def test_nothing_to_go_back_to_on_a_new_station(lonely):
    returning.nothing_on_a_new_station(lonely)


@check("returns", proves=["R24"])
def test_back_from_an_upgrade(client, repository, word, nonce):
    returning.back_from_an_upgrade(client, repository, word, nonce)


@check("returns", proves=["R24"])
def test_back_from_the_others(client, repository, word, nonce):
    returning.back_from_the_others(client, repository, word, nonce)


# ---- itself ------------------------------------------------------------------------------------


@milestone("itself", weight=2, requires=["boots"], proves=["R30"], title="It upgrades itself")
def test_its_own_parts(client, repository, own, nonce):
    returning.its_own_parts(client, repository, own, nonce)


# ---- survives ----------------------------------------------------------------------------------


@milestone("survives", weight=3, requires=["boots"], proves=["R31"], title="The power goes")
def test_power_goes_while_a_check_runs(client, repository, wake, word, nonce, draw):
    surviving.power_goes_while_a_check_runs(client, repository, wake, word, nonce, draw)


@check("survives", proves=["R31", "R33"])
def test_power_goes_while_it_fetches(client, repository, word, nonce):
    surviving.power_goes_while_it_fetches(client, repository, word, nonce)


@check("survives", proves=["R32"])
def test_power_goes_the_moment_after(client, repository, word, nonce):
    surviving.power_goes_the_moment_after(client, repository, word, nonce)


@check("survives", proves=["R31", "R30", "R33", "R3"])
def test_power_goes_at_any_moment_of_an_upgrade(
    client, repository, wake, own, word, nonce, draw, shared
):
    surviving.power_goes_at_any_moment_of_an_upgrade(
        client, repository, wake, own, word, nonce, draw, shared
    )


@check("survives", proves=["R31", "R24"])
def test_power_goes_at_any_moment_on_the_way_back(
    client, repository, wake, word, nonce, draw, metric, shared
):
    surviving.power_goes_at_any_moment_on_the_way_back(
        client, repository, wake, word, nonce, draw, metric, shared
    )


@check("survives", proves=["R1", "R2", "R12", "R16"])
def test_what_stands_on_the_disk_in_the_end(client):
    surviving.what_stands_on_the_disk_in_the_end(client)
