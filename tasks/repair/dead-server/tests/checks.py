"""What the owner of the dead server is promised, proved on the repaired disk."""

import hashlib
import re
import socket

import owner_data
import pytest
import server as facts
from atlas import DISK, HIDDEN_PORT, SETTLE, START, Server, owners_files, sound, told
from owner_data import CHECKSUMS, DOCUMENTS, PROGRAMS, RECORDS
from ssh_proof import prove_host_key
from tally import balance, paper, proof

from benchflow.boot import check, milestone


@pytest.fixture(scope="session")
def disk(deliverable):
    return deliverable(DISK)


@pytest.fixture(scope="session")
def volumes(disk):
    return facts.volumes(disk)


@pytest.fixture(scope="session")
def server(machines, disk, work, nonce):
    return Server(machines, disk, work, nonce)


# The disk, before any machine runs ---------------------------------------------------------------


@milestone("partitions", weight=1, proves=["R1", "R2"], title="The partition table is back")
def test_partitions_lie_where_they_lay(image):
    table = {p.number: (p.start // 512, p.size // 512) for p in image(DISK).partitions()}
    assert table == facts.PARTITIONS


@check("partitions", proves=["R2", "R13"])
def test_system_volume_is_the_old_one_and_sound(disk):
    assert facts.volume_uuid(disk, facts.SYSTEM_START) == facts.SYSTEM_UUID
    assert sound(disk, facts.SYSTEM_START) == ""


@milestone(
    "data-volume",
    weight=2,
    requires=["partitions"],
    proves=["R3"],
    title="The data volume is whole",
)
def test_data_volume_is_the_old_one_and_sound(disk):
    assert facts.volume_uuid(disk, facts.DATA_START) == facts.DATA_UUID
    assert sound(disk, facts.DATA_START) == ""


@check("data-volume", proves=["R3"])
def test_every_paper_and_closed_year_is_intact(volumes):
    found = owners_files(volumes.data)
    lost = [name for name, digest in CHECKSUMS.items() if found.get(name) != digest]
    assert not lost, f"missing or changed: {lost[:5]}"


@check("data-volume", proves=["R3"])
def test_open_year_is_intact(volumes):
    live = volumes.data.read("/ledger/live.journal").decode(errors="replace")
    assert live == owner_data.LIVE


# The first start ---------------------------------------------------------------------------------


@milestone(
    "kernel", weight=1, requires=["data-volume"], proves=["R1"], title="Linux starts from the disk"
)
def test_kernel_starts_from_the_disk_alone(image, server):
    assert any(image(DISK).boot_sector()[:440]), "there is no boot code in the first sector"
    server.machine.boot().expect_kernel(timeout=90)
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
    "multi-user", weight=1, requires=["root-disk"], proves=["R1", "R4"],
    title="The start ends at a login, not in emergency mode",
)  # fmt: skip
def test_start_ends_at_a_login(server):
    end = r"(?=login: )|emergency mode|Press Enter for maintenance|the root account is locked"
    found = server.machine.expect(end, timeout=START)
    if found[0]:
        server.machine.power_cut()  # nobody can log in: the other checks need not wait for it
        raise AssertionError(f"the start ended with {found[0]!r}")
    server.piet()


@check("multi-user", proves=["R4"])
def test_data_is_mounted_as_it_always_was(server):
    shell = server.piet()
    shell.run(SETTLE, timeout=START)  # until then drivers that are loaded write to the console
    mount = told(shell, "findmnt -n -o UUID,FSTYPE,OPTIONS /srv/tally").split()
    assert mount[:2] == [facts.DATA_UUID, "ext4"], mount
    options = set(mount[2].split(","))
    assert {"rw", "nodev", "nosuid"} <= options, options
    root = told(shell, "findmnt -n -o UUID,OPTIONS /").split()
    assert root[0] == facts.SYSTEM_UUID and "rw" in root[1].split(","), root


@check("multi-user", proves=["R4", "R14"])
def test_every_volume_is_checked_and_needed(volumes):
    lines = volumes.system.read("/etc/fstab").decode(errors="replace").splitlines()
    rows = {row[1]: row for row in map(str.split, lines) if len(row) == 6 and row[0][0] != "#"}
    for place in ("/", "/srv/tally"):
        assert place in rows, f"{place} is not in fstab"
        assert rows[place][5] in ("1", "2"), f"{place} is never checked"
        assert not {"nofail", "noauto", "ro"} & set(rows[place][3].split(",")), rows[place][3]
    boot = volumes.system.read("/boot/grub/grub.cfg").decode(errors="replace")
    assert not re.search(r"\binit=|fsck\.mode=skip|systemd\.(mask|unit)=|\bquiet\b", boot)


@check("multi-user", proves=["R4"])
def test_swap_is_in_use(server):
    shell = server.piet()
    assert len(told(shell, "cat /proc/swaps").splitlines()) == 2
    shell.leave("exit")  # from here on the console is Ingrid's


# Who may enter -----------------------------------------------------------------------------------


@milestone(
    "login", weight=1, requires=["multi-user"], proves=["R5"], title="Ingrid can log in and is root"
)
def test_ingrid_logs_in_and_has_her_rights(server):
    assert server.ingrid().run("id -un").stdout.strip() == "ingrid"
    assert server.root("id -u").strip() == "0"


@check("login", proves=["R5"])
def test_nobody_was_given_another_password(volumes):
    shadow = volumes.system.read("/etc/shadow").decode(errors="replace").splitlines()
    rows = {row[0]: row for row in (line.split(":") for line in shadow)}
    assert rows["ingrid"][1] == facts.INGRID_HASH, "Ingrid's hash is another"
    assert rows["piet"][1] == facts.PIET_HASH, "Piet's hash is another"
    others = {name: row[1] for name, row in rows.items() if name not in ("ingrid", "piet")}
    assert set(others.values()) <= {"*", "!", "!*", "!!"}, "somebody else has a password"
    assert rows["ingrid"][7] == "" or int(rows["ingrid"][7]) > 30_000, "her account still ends"


@check("login", proves=["R14"])
def test_a_wrong_password_opens_nothing(server):
    wrong = server.ingrid().run("echo falsch | sudo -kS -p '' true", timeout=60)
    assert wrong.status != 0, "sudo took a wrong password"


@check("login", proves=["R6", "R14"])
def test_accounts_and_rights_are_the_old_ones(volumes):
    passwd = volumes.system.read("/etc/passwd").decode(errors="replace").splitlines()
    rows = {row[0]: row for row in (line.split(":") for line in passwd)}
    people = {name: int(row[2]) for name, row in rows.items() if 1000 <= int(row[2]) < 60_000}
    assert people == {"ingrid": 1000, "piet": 1001}
    assert [name for name, row in rows.items() if row[2] == "0"] == ["root"]
    assert (rows["tally"][2], rows["tally"][6]) == ("990", "/usr/sbin/nologin")
    rules = volumes.system.read("/etc/sudoers").decode(errors="replace")
    for name in volumes.system.listdir("/etc/sudoers.d"):
        rules += volumes.system.read(f"/etc/sudoers.d/{name}").decode(errors="replace")
    assert "NOPASSWD" not in rules and "!authenticate" not in rules


# The same machine as before ----------------------------------------------------------------------


@milestone("identity", weight=1, requires=["login"], proves=["R6"], title="It is the same machine")
def test_machine_id_is_the_one_of_its_own_logs(server, volumes):
    stored = volumes.system.read("/etc/machine-id").decode(errors="replace").strip()
    assert stored == facts.MACHINE_ID, f"the machine id on the disk is {stored!r}"
    running = server.ingrid().run("cat /etc/machine-id").stdout.strip()
    assert running == stored, f"the running system calls itself {running!r}"
    server.root(f"test -s /var/log/journal/{stored}/system.journal")


@check("identity", proves=["R6"])
def test_name_and_host_key_are_kept(server, volumes):
    assert server.ingrid().run("hostname").stdout.strip() == "atlas"
    key = volumes.system.read("/etc/ssh/ssh_host_ed25519_key.pub").decode(errors="replace")
    assert key.split()[:2] == facts.HOST_KEY.split()[:2]


@check("identity", proves=["R6", "R7"])
def test_it_was_repaired_not_installed_anew(volumes):
    status = volumes.system.read("/var/lib/dpkg/status").decode(errors="replace")
    names = set(re.findall(r"(?m)^Package: (\S+)$", status))
    assert not (missing := facts.PACKAGES - names), f"packages are gone: {sorted(missing)}"
    log = volumes.system.read("/var/log/dpkg.log").decode(errors="replace")
    assert " install tallyd:all <none> 2.1-1" in log, "the package log is not the old one"


# The network -------------------------------------------------------------------------------------


@milestone(
    "network", weight=1, requires=["identity"], proves=["R8"],
    title="It is on the network with its own key",
)  # fmt: skip
def test_ssh_answers_with_the_known_host_key(server):
    server.settled()
    prove_host_key(server.machine.forward(22), facts.HOST_KEY)


@check("network", proves=["R8"])
def test_address_comes_from_the_network(server):
    addresses = server.ingrid().run("ip -4 -o addr show scope global").stdout
    assert "dynamic" in addresses and "10.0.2." in addresses, addresses


@check("network", proves=["R8", "R14"])
def test_other_ports_are_still_closed(server, nonce):
    word = nonce()
    listener = (
        "import socket as s\n"
        f"l = s.create_server(('0.0.0.0', {HIDDEN_PORT}))\n"
        "while True:\n"
        " c, _ = l.accept()\n"
        f" c.sendall(b'{word[:16]}' + b'{word[16:]}\\n')\n"
        " c.close()\n"
    )
    shell = server.ingrid()
    shell.write_file("/tmp/listener.py", listener.encode())
    shell.run("python3 /tmp/listener.py </dev/null >/dev/null 2>&1 & echo $! > /tmp/listener.pid")
    inside = (
        f"import socket; print(socket.create_connection(('127.0.0.1', {HIDDEN_PORT})).recv(99))"
    )
    for _ in range(10):
        seen = shell.run(f'sleep 1; python3 -c "{inside}"', timeout=30).stdout
        if word in seen:
            break
    assert word in seen, "the listener inside the guest did not start"
    with socket.create_connection(server.machine.forward(HIDDEN_PORT), 10) as outside:
        outside.settimeout(6)
        try:
            heard = outside.recv(99)
        except OSError:
            heard = b""
    shell.run("kill $(cat /tmp/listener.pid)")
    assert word.encode() not in heard, "a port that must be closed answers from outside"


# The package that was left half done -------------------------------------------------------------


@milestone(
    "packages", weight=1, requires=["network"], proves=["R7"], title="The upgrade is finished"
)
def test_package_database_is_consistent(server):
    shell = server.ingrid()
    audit = shell.run("dpkg --audit", timeout=60)
    assert (audit.status, audit.stdout.strip()) == (0, "")
    states = shell.run("dpkg-query -W -f '${db:Status-Abbrev}\\n' | sort -u", timeout=60).stdout
    assert states.split() == ["ii"], states
    version = shell.run("dpkg-query -W -f '${Version}' tallyd").stdout
    assert version == "2.1-1", f"tallyd is {version}"


@check("packages", proves=["R7"])
def test_its_programs_are_the_packaged_ones(volumes):
    for path, expected in PROGRAMS.items():
        found = hashlib.sha256(volumes.system.read(path)).hexdigest()
        assert found == expected, f"{path} is not the packaged one"


@check("packages", proves=["R7"])
def test_the_upgrade_did_its_work(server, volumes):
    done = volumes.system.read("/var/lib/tally/configured").decode(errors="replace").strip()
    assert done == f"2.1-1 {owner_data.SITE}", done
    site = volumes.system.read("/etc/tally/site.id").decode(errors="replace").strip()
    assert site == owner_data.SITE, f"this host calls itself {site}"
    assert server.root("cat /srv/tally/ledger/FORMAT").strip() == "2"
    seals = server.root("cat /srv/tally/ledger/seals").split()
    assert dict(zip(seals[::3], seals[2::3], strict=True)) == owner_data.SEALS, (
        "the closed years are not sealed"
    )


# The service -------------------------------------------------------------------------------------


@milestone(
    "service", weight=2, requires=["packages"], proves=["R9"], title="The ledger answers its owner"
)
def test_service_runs_after_every_start(server):
    server.settled()
    text = server.ingrid().run("systemctl show tallyd").stdout
    unit = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    state = (unit["ActiveState"], unit["User"], unit["NRestarts"])
    assert state == ("active", "tally", "0"), state
    main = unit["ExecMainPID"]
    assert main.isdigit(), main
    command = server.root(f"tr '\\0' ' ' < /proc/{main}/cmdline").split()
    assert command == ["/usr/bin/python3", "/usr/lib/tally/tallyd"], command


@check("service", proves=["R9"])
def test_ledger_is_read_through_before_the_books_open(server):
    times = (
        "systemctl show ledger-check tallyd -p ActiveState "
        "-p ActiveEnterTimestampMonotonic -p InactiveExitTimestampMonotonic"
    )
    text = server.ingrid().run(times).stdout
    assert text.count("ActiveState=active") == 2, text
    check_done = int(re.findall(r"ActiveEnterTimestampMonotonic=(\d+)", text)[0])
    books_open = int(re.findall(r"InactiveExitTimestampMonotonic=(\d+)", text)[1])
    assert 0 < check_done <= books_open, "the books were opened first"
    assert int(server.root("cat /run/ledger-check")) >= len(RECORDS)


@check("service", proves=["R9"])
def test_nothing_is_dropped_for_a_circle(server):
    log = "journalctl -b -o cat _PID=1 | grep -ci 'ordering cycle' || true"
    assert server.root(log).strip() == "0"


@check("service", proves=["R9", "R3"])
def test_it_holds_the_owners_records(server, nonce):
    client = server.tally()
    assert client.ask("HELLO") == f"tally 2.1 site {owner_data.SITE} records {len(RECORDS)}"
    for _ in range(6):
        word = nonce()
        first = int(word[:8], 16) % len(RECORDS) + 1
        last = min(len(RECORDS), first + int(word[8:12], 16) % 400)
        answer = client.ask(f"PROVE {word} {first} {last}")
        assert answer == proof(word, RECORDS[first - 1 : last]), f"records {first} to {last}"
        assert client.ask(f"GET {last}") == RECORDS[last - 1]
    client.close()


@check("service", proves=["R9", "R3"])
def test_it_holds_the_owners_papers(server, nonce):
    client = server.tally()
    names = sorted(DOCUMENTS)
    for _ in range(6):
        word = nonce()
        name = names[int(word[:8], 16) % len(names)]
        assert client.ask(f"DOC {word} {name}") == paper(word, name), name
    client.close()


@check("service", proves=["R9"])
def test_it_takes_new_records(server, nonce):
    client = server.tally()
    server.add(client, nonce())
    records = RECORDS + server.added
    word = nonce()
    answer = client.ask(f"PROVE {word} {len(RECORDS) - 3} {len(records)}")
    assert answer == proof(word, records[len(RECORDS) - 4 :])
    assert int(client.ask("BAL lamps")) == balance("lamps", records)
    client.close()


# The whole machine -------------------------------------------------------------------------------


@milestone(
    "healthy",
    weight=1,
    requires=["service"],
    proves=["R10"],
    title="Nothing failed, nothing is off",
)
def test_system_is_running(server):
    state = server.settled()
    failed = server.ingrid().run("systemctl --failed --plain --no-legend | head -5").stdout
    assert state == "running", f"{state}: {failed}"


@check("healthy", proves=["R10", "R14"])
def test_nothing_was_switched_off(server, volumes):
    wanted = " ".join(facts.ENABLED)
    active = server.ingrid().run(f"systemctl is-active {wanted}").stdout.split()
    assert active == ["active"] * len(facts.ENABLED), f"{wanted}: {active}"
    links = [e for e in volumes.system.walk("/etc/systemd/system") if e.kind == "symlink"]
    masked = [e.path for e in links if volumes.system.readlink(e.path) == "/dev/null"]
    assert not masked, f"masked: {masked}"
    pulled = {e.path.rsplit("/", 1)[1] for e in links if ".wants/" in e.path}
    assert not (missing := {f"{name}.service" for name in facts.ENABLED} - pulled), missing


@check("healthy", proves=["R10"])
def test_the_copy_of_the_ledger_is_made(server):
    text = server.root("ls -ld /var/backups/tally; sha256sum < /var/backups/tally/ledger.txt")
    assert re.search(r"^drwxr-x--- \d+ tally tally ", text), text
    body = "".join(record + "\n" for record in RECORDS).encode()
    assert hashlib.sha256(body).hexdigest() in text, "the copy is not the ledger"


# What comes next ---------------------------------------------------------------------------------


@milestone(
    "update", weight=1, requires=["healthy"], proves=["R11"],
    title="The next initramfs finds the disk too",
)  # fmt: skip
def test_next_initramfs_knows_the_disk(server):
    # Debian's own hooks (udev, fsck, fonts …) take minutes on an emulated processor and add no disk
    # driver; without them the real program still chooses the modules by the server's configuration.
    server.root(
        "set -e; hooks=/usr/share/initramfs-tools/hooks;"
        " mkdir -p /run/no-hooks; mount --bind /run/no-hooks $hooks;"
        " mkinitramfs -c gzip -o /run/next.img; umount $hooks",
        timeout=240,
    )
    listing = server.root("lsinitramfs /run/next.img | grep -c virtio_blk || true")
    assert int(listing.split()[-1]) > 0, "a fresh initramfs has no driver for the root disk"


@milestone(
    "reboot",
    weight=1,
    requires=["update"],
    proves=["R1", "R12"],
    title="It comes back from a reboot",
)
def test_it_comes_back_from_a_reboot(server):
    before = server.ingrid().run("cat /proc/sys/kernel/random/boot_id").stdout.strip()
    server.machine.reboot(command=f"echo {facts.INGRID} | sudo -S -p '' systemctl reboot")
    server.machine.expect_kernel(timeout=90)
    assert server.ingrid().run("cat /proc/sys/kernel/random/boot_id").stdout.strip() != before


@check("reboot", proves=["R10", "R12"])
def test_everything_runs_after_the_reboot(server):
    assert server.settled() == "running"
    assert server.ingrid().run("cat /etc/machine-id").stdout.strip() == facts.MACHINE_ID


@check("reboot", proves=["R9", "R12"])
def test_records_survive_the_reboot(server, nonce):
    client = server.tally()
    records = RECORDS + server.added
    word = nonce()
    assert client.ask(f"PROVE {word} 1 {len(records)}") == proof(word, records)
    client.close()


@milestone(
    "power-cut", weight=2, requires=["reboot"], proves=["R12"],
    title="An acknowledged record survives a power cut",
)  # fmt: skip
def test_acknowledged_records_survive_a_power_cut(server, nonce):
    client = server.tally()
    for _ in range(12):
        server.add(client, nonce())
    server.machine.power_cut()
    server.machine.boot().expect_kernel(timeout=90)
    assert server.settled() == "running"
    client = server.tally()
    records = RECORDS + server.added
    word = nonce()
    assert client.ask("HELLO").endswith(f" records {len(records)}")
    assert client.ask(f"PROVE {word} 1 {len(records)}") == proof(word, records)
    client.close()


@check("power-cut", proves=["R12", "R13"])
def test_it_stops_cleanly_and_leaves_sound_volumes(server):
    assert server.machine.shutdown(), "it did not switch itself off"
    disk = server.machine.flatten()
    assert sound(disk, facts.SYSTEM_START) == ""
    assert sound(disk, facts.DATA_START) == ""


@check("power-cut", proves=["R3", "R6"])
def test_after_all_this_the_data_are_untouched(server):
    after = facts.volumes(server.machine.flatten())
    found = owners_files(after.data)
    lost = [name for name, digest in CHECKSUMS.items() if found.get(name) != digest]
    assert not lost, f"missing or changed: {lost[:5]}"
    live = after.data.read("/ledger/live.journal").decode(errors="replace")
    assert live == owner_data.LIVE + "".join(record + "\n" for record in server.added)
    assert after.system.read("/etc/machine-id").decode().strip() == facts.MACHINE_ID
