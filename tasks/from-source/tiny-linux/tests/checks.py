"""tiny-linux: is it built here, does it start by itself, and does it keep its promises?

A milestone requires another only where the machine itself does: a mode, a word or an account that
is wrong does not hide whether records survive a power cut.
"""

from __future__ import annotations

import accounts
import closed
import lasting
import made
import serving
import watched

from benchflow.boot import check, milestone

# -- image -----------------------------------------------------------------------------------------


@milestone(
    "image", weight=1, proves=["R1"],
    title="The disk image is laid out as ordered",
)  # fmt: skip
def test_the_image_is_small_and_partitioned(disk, deliverable, metric):
    made.the_image_is_small_and_partitioned(disk, deliverable, metric)


@check("image", proves=["R4", "R5"])
def test_there_are_two_ext4_file_systems(disk):
    made.there_are_two_ext4_file_systems(disk)


@check("image", proves=["R2"])
def test_the_boot_sector_holds_code(disk):
    made.the_boot_sector_holds_code(disk)


# -- kernel ----------------------------------------------------------------------------------------


@milestone(
    "kernel", weight=2, proves=["R2", "R6"],
    title="The kernel starts from the disk, unattended",
)  # fmt: skip
def test_the_kernel_starts(unit):
    made.the_kernel_starts(unit)


@check("kernel", proves=["R6"])
def test_the_kernel_file_was_built_for_this_order(kernels):
    made.the_kernel_file_was_built_for_this_order(kernels)


@check("kernel", proves=["R11"])
def test_the_kernel_file_holds_the_seal(kernels):
    made.the_kernel_file_holds_the_seal(kernels)


# -- login -----------------------------------------------------------------------------------------


@milestone(
    "login", weight=1, proves=["R20"],
    title="root can log in",
)  # fmt: skip
def test_root_can_log_in(unit):
    accounts.root_can_log_in(unit)


# -- userland --------------------------------------------------------------------------------------


@milestone(
    "userland", weight=2, proves=["R7"],
    title="libc and userland are built from source",
)  # fmt: skip
def test_the_libc_is_the_one_that_was_ordered(rootfs, programs, libc):
    made.the_libc_is_the_one_that_was_ordered(rootfs, programs, libc)


@check("userland", proves=["R12"])
def test_the_libc_offers_seal_quote_and_the_programs_use_it(programs, libc):
    made.the_libc_offers_seal_quote_and_the_programs_use_it(programs, libc)


@check("userland", proves=["R8"])
def test_every_program_is_linked_to_that_libc_alone(rootfs, programs, libc):
    made.every_program_is_linked_to_that_libc_alone(rootfs, programs, libc)


@check("userland", proves=["R9"])
def test_nothing_is_taken_from_the_distribution(files, programs, kernels):
    made.nothing_is_taken_from_the_distribution(files, programs, kernels)


@check("userland", proves=["R4", "R8", "R9"])
def test_no_program_is_hidden(disk, rootfs, trees, every):
    made.no_program_is_hidden(disk, rootfs, trees, every)


@check("userland", proves=["R9"])
def test_there_is_no_package_manager(rootfs):
    made.there_is_no_package_manager(rootfs)


@check("userland", proves=["R8"])
def test_busybox_is_the_one_that_was_ordered(files):
    made.busybox_is_the_one_that_was_ordered(files)


@check("userland", proves=["R10"])
def test_the_unit_carries_its_order(rootfs):
    made.the_unit_carries_its_order(rootfs)


@check("userland", proves=["R6", "R7", "R8", "R9"])
def test_what_runs_is_what_lies_on_the_disk(unit, kernels, programs, inodes):
    accounts.what_runs_is_what_lies_on_the_disk(unit, kernels, programs, inodes)


# -- accounts --------------------------------------------------------------------------------------


@milestone(
    "accounts", weight=1, requires=["login"], proves=["R20"],
    title="Only root and clerk get in",
)  # fmt: skip
def test_the_clerk_can_log_in_and_is_nobody_special(unit):
    accounts.the_clerk_can_log_in_and_is_nobody_special(unit)


@check("accounts", proves=["R20"])
def test_wrong_passwords_are_refused(unit, nonce):
    accounts.wrong_passwords_are_refused(unit, nonce)


@check("accounts", proves=["R21"])
def test_nobody_else_can_log_in(unit):
    accounts.nobody_else_can_log_in(unit)


@check("accounts", proves=["R21"])
def test_passwords_are_kept_well(unit, trees, every):
    accounts.passwords_are_kept_well(unit, trees, every)


@check("accounts", proves=["R21"])
def test_no_file_gives_away_rights(trees):
    accounts.no_file_gives_away_rights(trees)


@check("accounts", proves=["R21"])
def test_memory_gives_away_no_rights(unit):
    accounts.memory_gives_away_no_rights(unit)


# -- seal ------------------------------------------------------------------------------------------


@milestone(
    "seal", weight=3, requires=["login"], proves=["R11", "R12"],
    title="The kernel answers challenges under the order's number",
)  # fmt: skip
def test_the_seal_answers_challenges(unit, nonce):
    closed.the_seal_answers_challenges(unit, nonce)


@check("seal", proves=["R11", "R13"])
def test_the_device_keeps_to_its_protocol(unit, nonce):
    closed.the_device_keeps_to_its_protocol(unit, nonce)


@check("seal", proves=["R11", "R12", "R13"])
def test_the_device_answers_any_bytes(unit, nonce):
    closed.the_device_answers_any_bytes(unit, nonce)


@check("seal", proves=["R12", "R13"])
def test_the_driver_keeps_its_books(unit, nonce):
    closed.the_driver_keeps_its_books(unit, nonce)


@check("seal", proves=["R14"])
def test_only_the_trusted_may_ask(unit):
    closed.only_the_trusted_may_ask(unit)


# -- hardening -------------------------------------------------------------------------------------


@milestone(
    "hardening", weight=2, requires=["login"], proves=["R15", "R16", "R18"],
    title="The kernel holds nothing that can be turned against it",
)  # fmt: skip
def test_the_kernel_cannot_be_extended_or_read(unit, kernels):
    closed.the_kernel_cannot_be_extended_or_read(unit, kernels)


@check("hardening", proves=["R15"])
def test_the_running_kernel_tells_its_configuration(unit, kernels):
    closed.the_running_kernel_tells_its_configuration(unit, kernels)


@check("hardening", proves=["R4"])
def test_the_root_is_read_only(unit, root_number):
    closed.the_root_is_read_only(unit, root_number)


@check("hardening", proves=["R5"])
def test_writable_places_run_no_programs(unit):
    closed.writable_places_run_no_programs(unit)


@check("hardening", proves=["R17"])
def test_the_clerk_sees_only_what_is_his(unit, nonce):
    closed.the_clerk_sees_only_what_is_his(unit, nonce)


@check("hardening", proves=["R17"])
def test_root_sees_all(unit, nonce):
    closed.root_sees_all(unit, nonce)


@check("hardening", proves=["R22"])
def test_memory_is_left(unit, metric):
    closed.memory_is_left(unit, metric)


# -- network ---------------------------------------------------------------------------------------


@milestone(
    "network", weight=1, requires=["login"], proves=["R23"],
    title="The unit finds its network, and is found at one door",
)  # fmt: skip
def test_the_address_comes_by_dhcp(unit, lan):
    serving.the_address_comes_by_dhcp(unit, lan)


@check("network", proves=["R23"])
def test_the_name_server_comes_by_dhcp(unit, lan):
    serving.the_name_server_comes_by_dhcp(unit, lan)


@check("network", proves=["R24"])
def test_the_name_comes_by_dhcp(unit, lan):
    serving.the_name_comes_by_dhcp(unit, lan)


@check("network", proves=["R25"])
def test_nothing_else_listens(unit):
    serving.nothing_else_listens(unit)


# -- ledger ----------------------------------------------------------------------------------------


@milestone(
    "ledger", weight=2, proves=["R30"],
    title="The ledger answers on the network",
)  # fmt: skip
def test_the_ledger_answers(unit, nonce, trees):
    serving.the_ledger_answers(unit, nonce, trees)


@check("ledger", proves=["R30"])
def test_the_ledger_keeps_to_its_manual(unit, nonce):
    serving.the_ledger_keeps_to_its_manual(unit, nonce)


# -- service ---------------------------------------------------------------------------------------


@milestone(
    "service", weight=2, requires=["ledger"], proves=["R11", "R12", "R30"],
    title="The ledger proves where it runs, for many, without rights",
)  # fmt: skip
def test_the_ledger_proves_where_it_runs(unit, nonce):
    serving.the_ledger_proves_where_it_runs(unit, nonce)


@check("service", proves=["R31"])
def test_several_clients_are_served_at_once(unit, nonce):
    serving.several_clients_are_served_at_once(unit, nonce)


@check("service", proves=["R30"])
def test_the_ledger_runs_without_privileges(unit, inodes):
    serving.the_ledger_runs_without_privileges(unit, inodes)


# -- supervision -----------------------------------------------------------------------------------


@milestone(
    "supervision", weight=3, requires=["login", "ledger"], proves=["R26"],
    title="Services are looked after",
)  # fmt: skip
def test_all_services_are_up(unit):
    watched.all_services_are_up(unit)


@check("supervision", proves=["R27", "R30"])
def test_what_dies_comes_back(unit, shared):
    watched.what_dies_comes_back(unit, shared)


@check("supervision", proves=["R29"])
def test_services_obey(unit):
    watched.services_obey(unit)


@check("supervision", proves=["R26", "R29"])
def test_stopped_services_do_nothing(unit, nonce):
    watched.stopped_services_do_nothing(unit, nonce)


@check("supervision", proves=["R30"])
def test_a_torn_line_is_cut_off(unit, nonce):
    watched.a_torn_line_is_cut_off(unit, nonce)


@check("supervision", proves=["R28"])
def test_what_keeps_dying_is_given_up(unit, shared):
    watched.what_keeps_dying_is_given_up(unit, shared)


@check("supervision", proves=["R28"])
def test_what_was_given_up_can_be_started_again(unit, shared):
    watched.what_was_given_up_can_be_started_again(unit, shared)


@check("supervision", proves=["R28"])
def test_a_minute_is_any_minute(unit):
    watched.a_minute_is_any_minute(unit)


@check("supervision", proves=["R28"])
def test_five_deaths_are_forgotten_after_a_minute(unit, shared):
    watched.five_deaths_are_forgotten_after_a_minute(unit, shared)


# -- syslog ----------------------------------------------------------------------------------------


@milestone(
    "syslog", weight=2, requires=["login"], proves=["R32"],
    title="The system log tells what happened",
)  # fmt: skip
def test_messages_arrive_from_everywhere(unit, nonce):
    serving.messages_arrive_from_everywhere(unit, nonce)


@check("syslog", proves=["R28", "R32"])
def test_deaths_are_in_the_log(unit):
    serving.deaths_are_in_the_log(unit)


@check("syslog", proves=["R33"])
def test_a_flood_does_not_fill_the_disk(unit, nonce):
    serving.a_flood_does_not_fill_the_disk(unit, nonce)


@check("syslog", proves=["R17", "R21"])
def test_the_log_tells_the_clerk_nothing(unit, nonce):
    closed.the_log_tells_the_clerk_nothing(unit, nonce)


@check("network", proves=["R25"])
def test_still_nothing_else_listens(unit):
    serving.nothing_else_listens(unit)


# -- shutdown --------------------------------------------------------------------------------------


@milestone(
    "shutdown", weight=3, requires=["login"], proves=["R32", "R34", "R35", "R36", "R38"],
    title="It goes down in order",
)  # fmt: skip
def test_a_restart_is_in_order(unit, nonce, shared):
    lasting.a_restart_is_in_order(unit, nonce, shared)


@check("shutdown", proves=["R34", "R35", "R36"])
def test_the_power_button_works_while_people_work(unit, work, nonce):
    lasting.the_power_button_works_while_people_work(unit, work, nonce)


@check("shutdown", proves=["R34", "R35", "R36"])
def test_poweroff_works_with_files_open(unit, work, shared):
    lasting.poweroff_works_with_files_open(unit, work, shared)


@check("shutdown", proves=["R26", "R29"])
def test_power_minds_the_button(unit):
    lasting.power_minds_the_button(unit)


# -- durability ------------------------------------------------------------------------------------


@milestone(
    "durability", weight=3, requires=["ledger"], proves=["R37", "R38"],
    title="What was acknowledged is kept",
)  # fmt: skip
def test_records_survive_a_restart(unit, nonce):
    lasting.records_survive_a_restart(unit, nonce)


@check("durability", proves=["R37", "R38"])
def test_records_survive_power_cuts(unit, nonce):
    lasting.records_survive_power_cuts(unit, nonce)


@check("durability", proves=["R35", "R37"])
def test_after_power_cuts_all_is_in_order(unit, work, shared):
    lasting.after_power_cuts_all_is_in_order(unit, work, shared)


# -- boards ----------------------------------------------------------------------------------------


@milestone(
    "boards", weight=2, requires=["login"], proves=["R3"],
    title="The same image serves the second board",
)  # fmt: skip
def test_the_second_board_starts(board, shared):
    lasting.the_second_board_starts(board, shared)


@check("boards", proves=["R3"])
def test_the_second_board_keeps_the_rules(board, nonce, root_number):
    lasting.the_second_board_keeps_the_rules(board, nonce, root_number)


@check("boards", proves=["R3", "R30", "R37"])
def test_the_second_board_serves(board, work, nonce):
    lasting.the_second_board_serves(board, work, nonce)


@check("boards", proves=["R24"])
def test_an_unnamed_unit_is_called_tiny(machines, deliverable, shared):
    lasting.an_unnamed_unit_is_called_tiny(machines, deliverable, shared)


# -- crash -----------------------------------------------------------------------------------------


@milestone(
    "crash", weight=1, requires=["login", "ledger"], proves=["R19"],
    title="It comes back from a crash of the kernel",
)  # fmt: skip
def test_the_unit_comes_back_from_a_crash(unit, nonce, shared):
    lasting.the_unit_comes_back_from_a_crash(unit, nonce, shared)


@check("crash", proves=["R19", "R37", "R38"])
def test_after_a_crash_it_serves_again(unit, work, shared):
    lasting.after_a_crash_it_serves_again(unit, work, shared)


# -- the end, for milestones above -----------------------------------------------------------------


@check("hardening", proves=["R18"])
def test_the_kernel_never_lies_in_the_same_place(unit, shared):
    lasting.the_kernel_never_lies_in_the_same_place(unit, shared)


@check("hardening", proves=["R4", "R5"])
def test_only_data_was_written(unit, disk, shared):
    lasting.only_data_was_written(unit, disk, shared)


@check("accounts", proves=["R21"])
def test_no_file_has_given_away_rights(unit, shared):
    lasting.no_file_has_given_away_rights(unit, shared)


@check("syslog", proves=["R33"])
def test_the_log_is_small(unit, shared):
    lasting.the_log_is_small(unit, shared)
