"""What the owner of the dead server is promised, proved on the repaired disk.

A milestone requires only what the machine cannot do without: from the login prompt on each is
judged by itself, so that one demand that is not met hides no other.
"""

import re
from itertools import zip_longest

import ledger
import packages
import rights
import server as facts
from atlas import DISK, KERNEL, LATE, SETTLE, START, as_root, copy_without_data
from known import UNITS
from ledger import as_before, copy_is_of_this_start, everything_is_there, unharmed
from ports import open_from_outside

from benchflow.bench.ext4_edit import Superblock
from benchflow.bench.ssh_host_proof import prove_host_key
from benchflow.boot import Disk, GuestError, check, milestone
from benchflow.boot.inspect.ext4 import Ext4

# The disk, before any machine runs ---------------------------------------------------------------


@milestone("partitions", weight=1, proves=["R1", "R2"], title="The disk is divided as it was")
def test_partitions_lie_where_they_lay(image):
    disk = image(DISK)
    assert disk.size == facts.DISK_BYTES, (
        f"the image has {disk.size} bytes; an image of the same size has {facts.DISK_BYTES}"
    )
    table = disk.partitions()
    starts = [part.start // 512 for part in table]
    wanted = [start for start, _ in facts.PARTITIONS.values()]
    assert starts == wanted, (
        f"[R2] three partitions, each where it has always begun: at {starts}, not {wanted}"
    )
    for part, (start, sectors) in zip(table, facts.PARTITIONS.values(), strict=True):
        assert part.size >= sectors * 512, (
            f"[R2] at least as large as what lies in it: the partition at {start} has "
            f"{part.size // 512} sectors, its volume {sectors}"
        )
    ends = [part.start + part.size for part in table]
    behind = [part.start for part in table[1:]] + [disk.size]
    assert all(end <= next_ for end, next_ in zip(ends, behind, strict=True)), (
        f"[R2] three partitions, none in another's place: they end at {ends}, of {disk.size} bytes"
    )


@check("partitions", proves=["R2", "R13"])
def test_system_volume_is_the_old_one_and_sound(disk, system):
    uuid = Superblock.of(disk, facts.SYSTEM_START).uuid
    assert uuid == facts.SYSTEM_UUID, f"[R2] all three keep their UUIDs: the system has {uuid}"
    made = Superblock.of(disk, facts.SYSTEM_START).made
    assert made == facts.SYSTEM_MADE, (
        f"[R2] the system volume is ours, repaired: its file system was made at {made}, "
        f"ours at {facts.SYSTEM_MADE}"
    )
    assert not (found := system.problems()), f"[R13] sound as you deliver them: {found}"
    assert facts.journalled(disk, facts.SYSTEM_START), "[R13] with its journal: the system has none"


@check("partitions", proves=["R2"])
def test_swap_space_is_the_old_one(disk):
    uuid = facts.swap_uuid(disk)
    assert uuid == facts.SWAP_UUID, (
        f"[R2] all three keep their UUIDs: the swap space has {uuid!r}, had {facts.SWAP_UUID}"
    )


@milestone("data-volume", weight=2, proves=["R2", "R3"], title="The data volume is whole")
def test_data_volume_is_the_old_one_and_sound(disk, data):
    uuid = Superblock.of(disk, facts.DATA_START).uuid
    assert uuid == facts.DATA_UUID, f"[R2] all three keep their UUIDs: the data has {uuid}"
    assert not (found := data.problems()), f"[R13] sound as you deliver them: {found}"
    assert facts.journalled(disk, facts.DATA_START), "[R13] with its journal: the data have none"


@check("data-volume", proves=["R3"])
def test_every_paper_and_record_is_intact(data):
    unharmed(data)


# The first start ---------------------------------------------------------------------------------


@milestone("kernel", weight=1, proves=["R1"], title="Linux starts from the disk")
def test_kernel_starts_from_the_disk_alone(image, server):
    assert any(image(DISK).boot_sector()[:440]), "there is no boot code in the first sector"
    server.start()
    server.machine.expect(rf"DMI: [^\n]*{server.board}", timeout=60)


@milestone(
    "root-disk",
    weight=1,
    requires=["kernel"],
    proves=["R1"],
    title="systemd runs from the root disk",
)
def test_systemd_starts_from_the_root_disk(server):
    given_up = r"ALERT!|\(initramfs\)"
    found = server.machine.expect(rf"{server.banner}|{given_up}", timeout=180)
    assert found[0] == server.banner, f"the initramfs gave up: {found[0]}"


@milestone(
    "multi-user", weight=1, requires=["root-disk"], proves=["R1"],
    title="The start ends at a login, not in emergency mode",
)  # fmt: skip
def test_start_ends_at_a_login(server):
    end = r"(?=login: )|emergency mode|Press Enter for maintenance|the root account is locked"
    found = server.machine.expect(end, timeout=max(1.0, server.until.remaining()))
    if found[0]:
        server.switch_off()  # nobody can log in: the other checks need not wait for it
        raise AssertionError(f"[R1] not into any emergency: the start ended with {found[0]!r}")


# Who may enter -----------------------------------------------------------------------------------


@milestone(
    "login", weight=1, requires=["multi-user"], proves=["R5"], title="Ingrid can log in and is root"
)
def test_ingrid_logs_in_and_has_her_rights(server):
    assert server.ingrid().run("id -un").stdout.strip() == "ingrid"
    assert server.root("id -u").strip() == "0"


@check("login", proves=["R5"])
def test_nobody_was_given_another_password(system):
    assert not (wrong := rights.passwords(system)), (
        f"[R5] the very hash that was set, and stays able to log in: {wrong}"
    )


@check("login", proves=["R5"])
def test_piet_logs_in_as_ever(server):
    server.ingrid()
    said = server.piet().run("id -un").stdout
    assert "piet" in said.split(), f"[R5] the same for Piet: he is {said!r}"


@milestone(
    "volumes", weight=1, requires=["multi-user"], proves=["R4"],
    title="The volumes are checked, mounted and needed",
)  # fmt: skip
def test_data_is_mounted_as_it_always_was(first):
    uuid, kind, options = first.mount("data")
    assert (uuid, kind) == (facts.DATA_UUID, "ext4"), (
        f"[R4] the data volume is at /srv/tally: there is {uuid} {kind}"
    )
    assert {"rw", "nodev", "nosuid"} <= options, (
        f"[R4] writable, nodev and nosuid: it has {sorted(options)}"
    )
    assert not {"nobarrier", "barrier=0"} & options, (
        f"[R12] there after a power cut: nothing waits for the disk with {sorted(options)}"
    )
    uuid, _, options = first.mount("root")
    assert uuid == facts.SYSTEM_UUID and "rw" in options, f"[R2] the root is {uuid} {options}"


@check("volumes", proves=["R4"])
def test_both_volumes_were_checked_at_the_start(server):
    now = server.machine.flatten()
    asked = [Superblock.of(now, at).checked for at in (facts.SYSTEM_START, facts.DATA_START)]
    now.unlink()  # the verifier's own disk has room for a few copies
    unchecked = [n for n, when in zip(("system", "data"), asked, strict=True) if when < 10**9]
    assert not unchecked, (
        "[R4] checked when the machine starts: both were due for a check, since the last was "
        f"in {LATE[:4]}, and none was made of: {unchecked}"
    )


@check("volumes", proves=["R4"])
def test_swap_is_in_use(first):
    assert first.swap_used, (
        f"[R4] the swap space is in use: {first['swapdevice'] or 'no such device'} is not in "
        f"/proc/swaps, which has {first['swap']}"
    )


# The same machine as before ----------------------------------------------------------------------


@milestone(
    "identity", weight=1, requires=["multi-user"], proves=["R6"], title="It is the same machine"
)
def test_machine_id_is_the_one_of_its_own_logs(first, system):
    stored = system.read("/etc/machine-id").decode(errors="replace").strip()
    assert stored == facts.MACHINE_ID, f"[R6] the machine id: the disk has {stored!r}"
    assert first["machine"] == stored, f"[R6] the machine id: it runs as {first['machine']!r}"
    assert first["dbus"] in ("", stored), f"[R6] the machine id: to D-Bus it is {first['dbus']!r}"


@check("identity", proves=["R6"])
def test_name_is_kept(first):
    assert first["hostname"] == "atlas", f"[R6] the host name: it is {first['hostname']!r}"


@check("identity", proves=["R6"])
def test_accounts_and_groups_are_the_old_ones(system):
    wrong = rights.accounts(system) + rights.groups(system)
    assert not wrong, f"[R6] the same accounts and groups, [R14] nobody is given rights: {wrong}"


# What nobody was given ---------------------------------------------------------------------------


@milestone(
    "rights", weight=1, requires=["multi-user"], proves=["R14"], title="Nobody was given more"
)
def test_the_disk_gives_no_rights_away(disk):
    wrong = rights.gained(disk)
    assert not wrong, f"[R14] nothing is weaker than before: {wrong[:8]}"


@check("rights", proves=["R5", "R14"])
def test_a_wrong_password_opens_nothing(server, nonce):
    server.ingrid()  # a server at which nobody may log in refuses wrong passwords too
    for user in ("root", "ingrid", "piet"):
        assert server.refuses(user, nonce()), (
            f"[R14] no account can be entered without its password: {user} came in with one that "
            f"nobody has set"
        )


@check("rights", proves=["R5", "R14"])
def test_only_ingrid_is_an_administrator(server, nonce):
    wrong = server.ingrid().run(f"echo {nonce()} | sudo -kS -p '' true", timeout=60)
    assert wrong.status != 0, "[R14] sudo took a password of Ingrid's that nobody has set"
    piet = server.root(
        f"runuser -u piet -- sh -c 'echo {facts.PIET} | sudo -kS -p p true; echo status $?' 2>&1"
    )
    assert "status 1" in piet, f"[R14] nobody is given rights: Piet may use sudo: {piet}"


@check("rights", proves=["R14"])
def test_nobody_sits_at_another_terminal(first):
    assert not first.terminals, (
        f"[R14] no account can be entered without its password, at any terminal: with no login "
        f"there are {first.terminals}"
    )
    assert not first.open_places, f"[R14] nobody is given rights: open to all: {first.open_places}"
    odd = first.odd_kernel_words
    assert not odd, f"[R14] no check is switched off: the kernel was told {odd}"
    assert not first.unguarded, f"[R14] no check is switched off: {first.unguarded}"


# The network -------------------------------------------------------------------------------------


@milestone(
    "network", weight=1, requires=["multi-user"], proves=["R6", "R8"],
    title="It is on the network with its own key",
)  # fmt: skip
def test_ssh_answers_with_the_known_host_key(server):
    prove_host_key(server.machine.forward(22), facts.HOST_KEY)


@check("network", proves=["R8"])
def test_address_comes_from_the_network(server):
    addresses = server.ingrid().run("ip -4 -o addr show scope global").stdout
    assert "dynamic" in addresses and "10.0.2." in addresses, (
        f"[R8] an address by DHCP: {addresses!r}"
    )


@check("network", proves=["R8", "R14"])
def test_other_ports_are_still_closed(server, first, nonce):
    more = first.sockets - facts.OPEN
    assert not more, f"[R14] every port stays closed but the two: there listens {sorted(more)}"
    more = first.firewall_gaps
    assert not more, f"[R14] every port stays closed but the two: the firewall accepts {more}"
    heard = open_from_outside(server, nonce())
    assert not heard, f"[R14] every port stays closed but the two: {heard} answer from outside"


# The package that was left half done -------------------------------------------------------------


@milestone(
    "packages", weight=1, requires=["multi-user"], proves=["R7"], title="The upgrade is finished"
)
def test_package_database_is_consistent(server, system):
    packages.in_order(server, system)


@check("packages", proves=["R7"])
def test_programs_are_the_packaged_ones(system):
    packages.programs_are_theirs(system)


@check("packages", proves=["R7"])
def test_the_upgrade_did_its_work(server, system):
    packages.upgrade_is_done(server, system)


# The service -------------------------------------------------------------------------------------


@milestone(
    "service", weight=2, requires=["multi-user"], proves=["R9"],
    title="The ledger answers its owner",
)  # fmt: skip
def test_it_holds_the_owners_records(server, nonce):
    ledger.holds_records(server, nonce)


@check("service", proves=["R9", "R3"])
def test_it_holds_the_owners_papers(server, nonce):
    ledger.holds_papers(server, nonce)


@check("service", proves=["R9"])
def test_it_takes_new_records(server, nonce):
    ledger.takes_records(server, nonce)


@check("service", proves=["R9", "R14"])
def test_it_runs_as_its_own_user_and_no_more(server, first):
    ledger.serves_as_its_own_user(server, first)


@check("service", proves=["R9"])
def test_ledger_is_read_through_before_the_books_open(first):
    ledger.was_read_first(first)


@check("service", proves=["R9"])
def test_nothing_is_dropped_for_a_circle(first):
    assert first["cycles"] == "0", "[R9] systemd drops no job on the way: it found a circle"


# The whole machine -------------------------------------------------------------------------------


@milestone(
    "healthy", weight=1, requires=["multi-user"], proves=["R10"],
    title="Nothing failed, nothing is off",
)  # fmt: skip
def test_system_is_running(first):
    assert first["running"] == "running", (
        f"[R10] says running: it says {first['running']}, failed: {first['failed']}"
    )


@check("healthy", proves=["R10", "R14"])
def test_nothing_was_switched_off(server, first):
    off = {*facts.SERVICES, *facts.ONCE_A_START} - first.ran
    assert not off, f"[R10] no unit is switched off or masked: {sorted(off)} did not run"
    asked = server.root(f"systemctl is-enabled {' '.join(UNITS.split())} || :").split()
    on = ("enabled", "enabled-runtime", "static", "indirect", "alias", "generated")
    off = [f"{unit}: {word}" for unit, word in zip_longest(UNITS.split(), asked) if word not in on]
    assert not off, f"[R10] no unit that worked for us is switched off or masked: {off}"


@check("healthy", proves=["R1"])
def test_all_is_said_on_the_serial_port(server, first):
    assert server.loud >= 7, (
        f"[R1] nothing is kept quiet there: the kernel's console level is {server.loud}, was 7"
    )
    level, target = first["log"].split()
    assert level in ("info", "debug"), f"[R1] nothing is kept quiet: systemd's level is {level}"
    assert target != "null", "[R1] nothing is kept quiet: what systemd says is thrown away"
    told = re.findall(r"console=ttyS0(\S*)", first["kernel"])
    assert told and told[-1].startswith(",115200") and first["speed"] == "115200", (
        f"[R1] the first serial port, 115200 baud: console=ttyS0{told}, then {first['speed']} baud"
    )


@check("healthy", proves=["R10"])
def test_the_copy_of_the_ledger_is_made(server):
    ledger.was_copied(server)


# What comes next ---------------------------------------------------------------------------------


@milestone(
    "reboot", weight=1, requires=["multi-user"], proves=["R1", "R12"],
    title="It comes back from a reboot",
)  # fmt: skip
def test_it_comes_back_from_a_reboot(server, first):
    server.ingrid()
    server.machine.reboot(command=as_root("systemctl reboot"))
    server.comes_up()
    as_before(server, first)


@check("reboot", proves=["R9", "R12"])
def test_records_survive_the_reboot(server, nonce):
    everything_is_there(server, nonce)
    copy_is_of_this_start(server)


@milestone(
    "power-cut", weight=2, requires=["multi-user"], proves=["R12"],
    title="An acknowledged record survives a power cut",
)  # fmt: skip
def test_acknowledged_records_survive_a_power_cut(server, nonce):
    server.ingrid()
    client = server.tally()
    for _ in range(12):
        server.add(client, nonce())
    server.machine.power_cut()
    server.start()
    server.ingrid().run(SETTLE, timeout=START)
    everything_is_there(server, nonce)


@check("power-cut", proves=["R10", "R12"])
def test_it_is_as_before_after_the_power_cut(server, first):
    as_before(server, first)
    copy_is_of_this_start(server)


@milestone(
    "update", weight=1, requires=["multi-user"], proves=["R11"],
    title="The next initramfs finds the disk too",
)  # fmt: skip
def test_an_initramfs_is_made(server):
    before = server.root("cat /boot/initrd* | sha256sum")
    server.root("update-initramfs -u", timeout=600)
    after = server.root("cat /boot/initrd* | sha256sum")
    assert before != after, "[R11] after update-initramfs -u: it made no new initramfs"


@check("power-cut", proves=["R12", "R13"])
def test_it_stops_cleanly_and_leaves_sound_volumes(server):
    server.there()
    assert server.machine.shutdown(), "it did not switch itself off when the button was pressed"
    disk = server.at_rest()
    for start in (facts.SYSTEM_START, facts.DATA_START):
        found = Ext4(disk, start).problems()
        assert not found, f"[R13] sound again after the machine was shut down: {found}"


@check("power-cut", proves=["R3", "R6"])
def test_after_all_this_the_data_are_untouched(server):
    server.there()
    disk = server.at_rest()
    unharmed(Ext4(disk, facts.DATA_START), server.added)
    stored = Ext4(disk, facts.SYSTEM_START).read("/etc/machine-id").decode().strip()
    assert stored == facts.MACHINE_ID, f"[R6] the machine id on the disk is {stored!r} now"


@check("rights", proves=["R14"])
def test_after_all_this_nobody_has_more_rights(server):
    wrong = rights.gained(server.at_rest())
    assert not wrong, f"[R14] nothing is weaker than before, nor grows weaker: {wrong[:8]}"


@check("update", proves=["R11"])
def test_it_starts_with_that_initramfs(server, first):
    server.start()
    found = server.machine.expect(rf"{server.banner}|ALERT!|\(initramfs\)", timeout=180)
    assert found[0] == server.banner, f"[R11] boots just the same: the initramfs says {found[0]}"
    as_before(server, first)


@check("volumes", proves=["R4"])
def test_without_the_data_it_does_not_start(server, machines, disk, work):
    server.switch_off()  # one machine at a time has the verifier's memory
    bare = work / "bare.img"
    copy_without_data(disk, bare)
    machine = machines.create("without-data", disks=[Disk(bare)])
    machine.boot().expect_kernel(timeout=KERNEL)
    end = r"(?=login: )|emergency mode|Press Enter for maintenance|the root account is locked"
    try:
        found = machine.expect(end, timeout=START)
    except GuestError:
        return  # it waits, or stops: no start
    assert found[0], "[R4] a start without it is no start: it came up to a login without its data"
