"""host-os: does the cabinet run what the list says, keep everybody in bounds, and never change?"""

from __future__ import annotations

import time

import bounds
import changes
import confinement
import delivered
import questions
import versions
from host import PASSWORD
from questions import AsItRuns, look, refused
from site_data import RUNNING

from benchflow.bench.account_files import ways_in
from benchflow.boot import check, milestone

SECONDS = 60


# ---- image ---------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R1"], title="The disk and its partitions")
def test_the_disk(disk, layout):
    delivered.the_disk(disk, layout)


@check("image", proves=["R2"])
def test_slot_a_is_the_first_bundle(disk, layout, vendor):
    delivered.slot_a_is_the_first_bundle(disk, layout, vendor)


@check("image", proves=["R30"])
def test_the_first_bundle_is_signed(vendor):
    delivered.the_first_bundle_is_signed(vendor)


@check("image", proves=["R1"])
def test_the_private_key_is_not_on_the_disk(disk, vendor):
    delivered.the_private_key_is_not_on_the_disk(disk, vendor)


@check("image", proves=["R4"])
def test_nobody_else_can_log_in(disk):
    part = next(part for part in disk.partitions() if part.name == "slot-a")
    found = ways_in(disk.ext4(part))
    assert not found, f"{found}; root alone, with the one password, is due [R4]"


# ---- boots ---------------------------------------------------------------------------------


@milestone("boots", weight=2, proves=["R4"], title="It starts by itself")
def test_it_starts_in_time(bare, metric):
    bare.start(SECONDS)
    metric("boot_seconds", bare.machine.elapsed)


@check("boots", proves=["R6", "R7", "R32"])
def test_it_says_that_there_is_no_carrier(bare):
    deadline = bare.machine.deadline(30)
    while (found := bare.status())[0]["state"] != "confirmed":
        assert deadline.remaining() > 0, f"version 1 is not confirmed: {found[0]}"
        time.sleep(1)
    wanted = {"version": 1, "slot": "a", "state": "confirmed", "other": "none",
              "other_version": None, "carrier": "absent"}  # fmt: skip
    said = {key: found[0].get(key) for key in wanted}
    assert said == wanted, f"without a carrier the host says {said}, {wanted} is due [R6, R7]"
    assert found[1] == {}, f"without a carrier there are containers [R6]: {found[1]}"
    code = bare.code("hostctl rollback")
    assert code == 6, f"rollback of a new host ended with {code}, 6 is due [R32]"


@check("boots", proves=["R4"])
def test_nobody_else_has_an_account_as_it_runs(bare):
    found = ways_in(AsItRuns(bare))
    assert not found, f"as it runs: {found}; root alone, with the one password, is due [R4]"


@check("boots", proves=["R18"])
def test_nobody_listens_without_a_carrier(bare):
    confinement.nothing_else_listens(bare, ())


@check("boots", proves=["R2"])
def test_the_kernel_is_the_slots(bare, disk):
    delivered.the_slot_holds_a_kernel(disk, bare.say("uname -r"))


@check("boots", proves=["R5"])
def test_the_root_cannot_be_written(bare, layout):
    questions.root_cannot_be_written(bare, layout.numbers.get("slot-a", 1))


@check("boots", proves=["R2", "R4"])
def test_no_other_password_and_an_unchanged_slot(bare, layout, vendor):
    bare.up()
    digest = bare.slots(layout)["a"]
    assert digest == vendor.release1.digest, "slot a was changed [R2, R5]"
    bare.say("sync")
    bare.machine.reboot(timeout=60)
    wrong = questions.passwords_that_let_in(bare.machine, PASSWORD)
    assert not wrong, f"root got in with {wrong}; one password alone is due [R4]"
    bare.enter()
    bare.power_off(why="[R27]")


# ---- runs ----------------------------------------------------------------------------------


@milestone("runs", weight=2, proves=["R8", "R17"], title="It runs containers")
def test_a_container_answers(host, site):
    said = host.ask(8001, "cat /word; echo; hostname")
    assert said.splitlines() == [site.words["web"], "web"], f"web says {said!r}"
    one = host.container("web")
    assert (one["state"], one["reason"]) == ("running", None), f"web: {one}"
    assert one["image"] == site.digests["web"], f"web's image: {one['image']}"


@check("runs", proves=["R13"])
def test_entrypoint_and_arguments(host, site):
    line = host.ask(8001, "tr '\\0' '\\n' </proc/$(cat /tmp/main)/cmdline").splitlines()
    wanted = ["/bin/sh", "/serve", f"echo said {site.words['args']}"]
    assert line == wanted, f"web was started as {line}"
    cmd = host.comes_to("cmd", state="exited")
    assert (cmd["exit"], host.logs("cmd")) == (0, "cmd"), f"Cmd was not run: {cmd}"


@check("runs", proves=["R13", "R8"])
def test_environment_and_folder(host, site):
    env = host.ask(8001, "tr '\\0' '\\n' </proc/$(cat /tmp/main)/environ").splitlines()
    wanted = {"COLOUR=red", f"TIDE={site.words['env']}"}
    assert wanted <= set(env), f"web's environment is {env}"
    assert "TIDE=low" not in env, "the image's value was not replaced"
    cwd = host.ask(8001, "readlink /proc/$(cat /tmp/main)/cwd")
    assert cwd == "/www", f"WorkingDir does not hold: {cwd!r}"


@check("runs", proves=["R13"])
def test_users(host):
    script = "grep -E '^(Uid|Gid):' /proc/$(cat /tmp/main)/status"
    found = {port: host.ask(port, script).split() for port in (8001, 8002, 8004)}
    wanted = {8001: (1234, 3456), 8002: (0, 0), 8004: (77, 78)}
    for port, (uid, gid) in wanted.items():
        line = ["Uid:", *[str(uid)] * 4, "Gid:", *[str(gid)] * 4]
        assert found[port] == line, f"behind {port}: {found[port]}, due: {uid}:{gid}"


@check("runs", proves=["R8", "R5"])
def test_the_carrier(host):
    rows = [line.split() for line in host.say("cat /proc/mounts").splitlines()]
    place = host.say("readlink -f /carrier")
    options = [row[3].split(",") for row in rows if len(row) > 3 and row[1] == place]
    assert options and "ro" in options[-1], f"/carrier is mounted {options}; ro is due [R5]"
    carrier = host.status()[0]["carrier"]
    assert carrier == "present", f"the carrier is {carrier!r}, 'present' is due [R7]"


# ---- layers --------------------------------------------------------------------------------


@milestone("layers", weight=2, requires=["runs"], proves=["R11"], title="Images, layer by layer")
def test_the_right_image_is_chosen(host, site):
    assert host.ask(8002, "cat /word") == site.words["layers"], "not the image of ref and platform"
    assert host.container("layers")["image"] == site.digests["layers"], "another manifest"
    # An image whose layer is not packed.
    assert host.ask_behind(8001, 9000, "cat /word") == site.words["base"], "ledger does not answer"


@check("layers", proves=["R12"])
def test_whiteouts(host, site):
    new, old = site.words["layers"], site.words["old"]
    wanted = {"gone": "", "late": "", "again": new, "shut/a": "", "shut/b": "", "shut/new": new,
              "deep/er/one": "", "kept": old}  # fmt: skip
    found = look(host, *wanted)
    assert found == wanted, f"whiteouts: {found}, due: {wanted}"


@check("layers", proves=["R12"])
def test_links_and_what_is_replaced(host, site):
    new, old = site.words["layers"], site.words["old"]
    wanted = {"to-folder/inner": new, "to-file": new, "real/first": old, "real/through": new,
              "alias/through": new, "twin": old, "third": old, "dotted": new,
              "with space": old, "l" * 150: old}  # fmt: skip
    found = look(host, *wanted)
    assert found == wanted, f"{found}, due: {wanted}"
    assert host.ask(8002, 'cat "/t/odd-%s\'\\"\\$x"') == new, "a name with quotes is missing"
    inodes = host.ask(8002, "cd /t; stat -c %i origin twin kept third").split()
    assert len(inodes) == 4 and inodes[0] == inodes[1] and inodes[2] == inodes[3], (
        f"hard links are copies: {inodes}"
    )


@check("layers", proves=["R12"])
def test_owners_and_modes(host):
    said = host.ask(8002, "cd /t; stat -c '%n %F %a %u:%g' owned mine alias gone; ls -l alias")
    assert "owned regular file 4751 12:34" in said, f"owner and mode of a file: {said}"
    assert "mine directory 750 6:0" in said, f"owner and mode of a folder: {said}"
    assert "alias -> /t/real" in said, f"a link: {said}"


@check("layers", proves=["R12"])
def test_nothing_leaves_its_tree(host, site):
    name = site.words["hostile"]
    found = host.say(f"ls -d /run/{name} /tmp/{name} /data/run/{name} /{name} 2>/dev/null; :")
    assert found == "", f"a layer wrote to the host: {found}"
    assert host.status()[0]["version"] == 1, "the host no longer knows itself"
    for number in range(7):
        one = host.container(f"hostile{number}")
        if one["state"] != "refused":
            said = host.logs(f"hostile{number}")
            assert "root:" not in said.replace("root:x:", ""), f"a layer read from the host: {said}"
            assert "wrote" not in said.split(), "a container wrote on a device of its layer [R16]"


# ---- refuses -------------------------------------------------------------------------------


@milestone("refuses", weight=2, requires=["runs"], proves=["R10"], title="What cannot be run")
def test_entries_that_are_written_wrongly(host, site):
    refused(host, site, "entry")


@check("refuses", proves=["R10"])
def test_a_port_of_two(host, site):
    refused(host, site, "port")
    assert host.container("web")["state"] == "running"


@check("refuses", proves=["R10", "R11"])
def test_damaged_images(host, site):
    refused(host, site, "digest")


@check("refuses", proves=["R10", "R11", "R13"])
def test_images_that_cannot_be_run(host, site):
    refused(host, site, "image")


@check("refuses", proves=["R10", "R22"])
def test_the_others_run(host, site):
    containers = host.status()[1]
    assert all(containers[name]["state"] == "running" for name in RUNNING), containers
    assert set(containers) == set(site.first["containers"]), "not each declared container is named"
    assert host.ask(8001, "cat /word") == site.words["web"]


# ---- confined ------------------------------------------------------------------------------


@milestone("confined", weight=2, requires=["runs"], proves=["R14"], title="No way out")
def test_no_user_is_one_of_the_host(host):
    confinement.no_user_is_one_of_the_host(host)


@check("confined", proves=["R14"])
def test_no_capabilities(host):
    confinement.no_capabilities(host)


@check("confined", proves=["R14"])
def test_nothing_is_gained(host):
    confinement.nothing_is_gained(host)


@check("confined", proves=["R15"])
def test_only_volumes_and_tmp_can_be_written(host):
    confinement.only_volumes_and_tmp_can_be_written(host)


@check("confined", proves=["R16"])
def test_no_processes_of_others(host):
    confinement.no_processes_of_others(host)


@check("confined", proves=["R16"])
def test_no_devices_and_nothing_of_the_host(host):
    confinement.no_devices_and_nothing_of_the_host(host)


# ---- network -------------------------------------------------------------------------------


@milestone("network", weight=2, requires=["runs"], proves=["R19"], title="Ways that are declared")
def test_reach(host, nonce):
    confinement.reach(host, nonce)


@check("network", proves=["R18"])
def test_nothing_else_answers(host):
    confinement.nothing_else_answers(host)


@check("network", proves=["R18"])
def test_nothing_else_listens(host):
    confinement.nothing_else_listens(host)


@check("network", proves=["R19"])
def test_containers_reach_nothing_else(host):
    confinement.containers_reach_nothing_else(host)


@check("network", proves=["R19"])
def test_containers_reach_nobody_outside(host):
    confinement.containers_reach_nobody_outside(host)


# ---- limits --------------------------------------------------------------------------------


@milestone("limits", weight=2, requires=["runs"], proves=["R20"], title="Limits hold")
def test_the_eater_of_memory(host, shared, nonce):
    bounds.the_eater_of_memory(host, shared, nonce)


@check("limits", proves=["R20", "R15"])
def test_tmp_is_memory(host):
    bounds.tmp_is_memory(host)


@check("limits", proves=["R21"])
def test_processes(host):
    bounds.processes(host)


@check("limits", proves=["R21"])
def test_processor(host):
    bounds.processor(host)


@check("limits", proves=["R22", "R20"])
def test_the_others_were_not_disturbed(host, shared):
    bounds.the_others_were_not_disturbed(host, shared)


# ---- restarts ------------------------------------------------------------------------------


@milestone("restarts", weight=2, requires=["runs"], proves=["R23"], title="Started again, or not")
def test_policies(host, site):
    bounds.policies(host, site)


@check("restarts", proves=["R24"])
def test_pauses_grow(host):
    bounds.pauses_grow(host)


@check("restarts", proves=["R7", "R24"])
def test_who_waits(host):
    bounds.who_waits(host)


@check("restarts", proves=["R24"])
def test_a_row_begins(host):
    bounds.a_row_begins(host)


# ---- logs ----------------------------------------------------------------------------------


@milestone("logs", weight=1, requires=["runs"], proves=["R25"], title="What they say")
def test_logs(host, site):
    said = sorted(host.logs("once").split())
    wanted = sorted(site.words[name] for name in ("args", "err"))
    assert said == wanted, f"of what the container wrote, {said} is there, due {wanted} [R25]"
    assert f"said {site.words['args']}" in host.logs("web")


@check("logs", proves=["R25", "R22"])
def test_a_flood(host, site):
    bounds.a_flood(host, site)


# ---- applies -------------------------------------------------------------------------------


@milestone(
    "applies", weight=2, requires=["runs"], proves=["R26", "R9"], title="Another declaration"
)
def test_what_is_malformed_changes_nothing(host, site, shared, nonce):
    changes.what_is_malformed_changes_nothing(host, site, shared, nonce)


@check("applies", proves=["R26", "R10"])
def test_another_declaration(host, site, metric):
    changes.another_declaration(host, site, metric)


@check("applies", proves=["R7"])
def test_an_end_is_told(host):
    changes.an_end_is_told(host)


@check("applies", proves=["R8", "R20", "R21"])
def test_what_is_not_said(host):
    bounds.what_is_not_said(host)


@check("applies", proves=["R26", "R19"])
def test_what_stayed_and_what_changed(host, shared):
    changes.what_stayed_and_what_changed(host, shared)


@check("applies", proves=["R27"])
def test_the_signal(host):
    changes.the_signal(host)


@check("applies", proves=["R29", "R27"])
def test_volumes_of_who_was_gone(host, shared):
    changes.volumes_of_who_was_gone(host, shared)


# ---- keeps ---------------------------------------------------------------------------------


@milestone("keeps", weight=2, requires=["runs"], proves=["R28", "R33"], title="What is kept")
def test_a_power_cut(host, site, shared, nonce):
    changes.a_power_cut(host, site, shared, nonce)


@check("keeps", proves=["R2", "R5"])
def test_the_slots_are_as_they_were(host, disk, layout, first):
    changes.the_slots_are_as_they_were(host, disk, layout, first)


@check("keeps", proves=["R6", "R28", "R27"])
def test_a_start_without_a_carrier(host, machines, shared):
    changes.a_start_without_a_carrier(host, machines, shared)


@check("keeps", proves=["R9", "R28"])
def test_a_start_with_a_malformed_list(site, machines, shared, work):
    changes.a_start_with_a_malformed_list(site, machines, shared, work)


@check("keeps", proves=["R29", "R9", "R10"])
def test_another_carrier(later, shared):
    changes.another_carrier(later, shared)


# ---- updates -------------------------------------------------------------------------------


@milestone("updates", weight=2, requires=["runs"], proves=["R30"], title="Another version")
def test_false_bundles(later, media, layout, shared):
    versions.false_bundles(later, media, layout, shared)


@check("updates", proves=["R30", "R22"])
def test_it_is_installed(later, media, layout, vendor, shared, nonce):
    versions.it_is_installed(later, media, layout, vendor, shared, nonce)


@check("updates", proves=["R31", "R3", "R33"])
def test_the_next_start_runs_it(later, media, layout, vendor, shared):
    versions.the_next_start_runs_it(later, media, layout, vendor, shared)


# ---- falls-back ----------------------------------------------------------------------------


@milestone("falls-back", weight=3, requires=["runs"], proves=["R32"], title="And back")
def test_rollback(later, media, layout, vendor, shared):
    versions.rollback(later, media, layout, vendor, shared)


@check("falls-back", proves=["R7", "R33", "R30"])
def test_the_power_goes_while_it_is_written(later, media, layout, vendor, shared):
    versions.the_power_goes_while_it_is_written(later, media, layout, vendor, shared)


@check("falls-back", proves=["R31", "R33"])
def test_versions_that_do_not_come_up(later, media, vendor, layout, shared):
    versions.versions_that_do_not_come_up(later, media, vendor, layout, shared)


@check("falls-back", proves=["R32"])
def test_no_way_back_to_what_failed(later, media):
    versions.no_way_back_to_what_failed(later, media)
