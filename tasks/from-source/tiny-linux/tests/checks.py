"""tiny-linux: is it built here, does it start by itself, and does it keep its promises?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import elf
import pytest
import seal
import vmlinux
from unit import (
    LOADER,
    ORDER,
    PORT,
    RELEASE,
    ROOT,
    SERVICES,
    Lan,
    Ledger,
    board_a,
    board_b,
    clerk,
    messages,
    mounts,
    root,
    running,
    services,
    until,
)

from benchflow.boot import GuestError, check, milestone
from benchflow.boot.tools import run_tool

MIB = 1 << 20
DISTRIBUTION = set(json.loads((Path(__file__).parent / "distribution.json").read_text()))


@pytest.fixture(scope="session")
def disk(image):
    return image()


@pytest.fixture(scope="session")
def lan():
    return Lan.draw()


@pytest.fixture(scope="session")
def unit(machines, deliverable, lan):
    return board_a(machines, "unit", deliverable(), lan)


@pytest.fixture(scope="session")
def rootfs(disk):
    """The ext4 file system that holds the userland."""
    for partition in disk.partitions():
        if disk.filesystem(partition) == "ext4":
            tree = disk.ext4(partition)
            if tree.exists("/etc"):
                return tree
    raise AssertionError("no ext4 partition holds a root file system")


@pytest.fixture(scope="session")
def programs(rootfs):
    """Every ELF file of the root file system, by path; not the boot loader's own modules."""
    found = {}
    for entry, data in rootfs.contents("/", limit=16 * MIB):
        if elf.is_elf(data) and not (entry.path.startswith("/boot/") and elf.is_narrow(data)):
            found[entry.path] = elf.parse(data)
    return found


@pytest.fixture(scope="session")
def libc(rootfs, programs):
    """The path of the C library."""
    path = rootfs.stat(LOADER).path
    assert path in programs, f"{LOADER} is not a library"
    return path


@pytest.fixture(scope="session")
def kernels(disk):
    """Every kernel file in the image, by path."""
    found = {}
    for partition in disk.partitions():
        kind = disk.filesystem(partition)
        if kind in ("fat", "ext4"):
            tree = disk.fat(partition) if kind == "fat" else disk.ext4(partition)
            for entry, data in tree.contents("/", limit=16 * MIB):
                if vmlinux.is_kernel(data):
                    found[f"{partition.number}:{entry.path}"] = vmlinux.unpack(data)
    return found


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}


def logged(shell, text: str) -> None:
    shell.run(f"logger -t bench {text}", check=True)


def books(machine) -> dict[str, str]:
    """What /proc/driver/seal says, by name."""
    text = root(machine).run("cat /proc/driver/seal", check=True).stdout
    rows = dict(re.findall(r"^(\w+): (\S+)$", text, re.MULTILINE))
    assert {"order", "quotes", "refused", "ticks"} <= set(rows), f"unknown books: {text!r}"
    return rows


def text_base(machine) -> str:
    """Where the running kernel lies in memory."""
    return root(machine).run("grep -m1 ' _text$' /proc/kallsyms", check=True).stdout.split()[0]


# -- image ----------------------------------------------------------------------------------------


@milestone("image", weight=1, proves=["R1"], title="The disk image is laid out as ordered")
def test_the_image_is_small_and_partitioned(disk, deliverable, metric):
    assert disk.size <= 16 * MIB, f"{disk.size} bytes"
    metric("image_bytes", disk.size)
    partitions = disk.partitions()
    assert partitions and all(p.table == "dos" for p in partitions), "no MBR partition table"


@check("image", proves=["R4", "R5"])
def test_there_are_two_ext4_file_systems(disk):
    systems = [p for p in disk.partitions() if disk.filesystem(p) == "ext4"]
    assert len(systems) >= 2, "the root and the data file system are ext4, each in a partition"


@check("image", proves=["R2"])
def test_the_boot_sector_holds_code(disk):
    assert disk.has_boot_signature()
    assert any(disk.boot_sector()[:440]), "the boot sector is empty"


# -- kernel ---------------------------------------------------------------------------------------


@milestone(
    "kernel", weight=2, requires=["image"], proves=["R2", "R6"],
    title="The kernel starts from the disk, unattended",
)  # fmt: skip
def test_the_kernel_starts(unit):
    assert unit.boot().expect_kernel(timeout=60) == RELEASE


@check("kernel", proves=["R6"])
def test_the_kernel_file_was_built_for_this_order(kernels):
    assert kernels, "no kernel file in the image"
    for path, kernel in kernels.items():
        assert kernel.banner.startswith(f"Linux version {RELEASE} (order@{ORDER}) "), path
        assert "debian.org" not in kernel.banner, path


@check("kernel", proves=["R11"])
def test_the_kernel_file_holds_the_seal(kernels):
    for path, kernel in kernels.items():
        assert b"seal1 %llu %016llx\n" in kernel.image, path
        assert kernel.config.get("SEAL") == "y", path
        assert kernel.config.get("SEAL_ORDER") == f'"{ORDER}"', path


# -- userland -------------------------------------------------------------------------------------


@milestone(
    "userland", weight=2, requires=["kernel"], proves=["R7"],
    title="libc and userland are built from source",
)  # fmt: skip
def test_the_libc_is_the_one_that_was_ordered(rootfs, programs, libc):
    assert f"1.2.3-{ORDER}\0".encode() in rootfs.read(libc)
    assert {"malloc", "fopen", "pthread_create", "getaddrinfo"} <= programs[libc].defined


@check("userland", proves=["R12"])
def test_the_libc_offers_seal_quote_and_the_programs_use_it(programs, libc):
    assert "seal_quote" in programs[libc].defined
    users = {path for path, program in programs.items() if "seal_quote" in program.imported}
    for command in ("busybox", "ledgerd"):
        assert any(path.endswith(f"/{command}") for path in users), f"{command} does not"


@check("userland", proves=["R8"])
def test_every_program_is_linked_to_that_libc_alone(programs, libc):
    own = programs[libc]
    names = {libc.rpartition("/")[2], own.soname, "libc.so"}
    for path, program in programs.items():
        if path == libc:
            continue
        assert program.dynamic, f"{path} is linked statically"
        assert program.interpreter == LOADER, f"{path} is not loaded by {LOADER}"
        assert program.needed and set(program.needed) <= names, f"{path}: {program.needed}"
        assert program.imported - own.defined <= {"", "_ITM_deregisterTMCloneTable",
            "_ITM_registerTMCloneTable", "__gmon_start__", "__cxa_finalize",
            "__deregister_frame_info", "__register_frame_info"}, path  # fmt: skip


@check("userland", proves=["R9"])
def test_nothing_is_taken_from_the_distribution(rootfs, programs, kernels):
    for path, program in programs.items():
        assert not program.versioned, f"{path} was linked against another C library"
        assert program.build_id not in DISTRIBUTION, f"{path} is a file of the distribution"
    for path, kernel in kernels.items():
        own = elf.parse(kernel.image).build_id
        assert own not in DISTRIBUTION, f"{path} is the distribution's kernel"
    for entry, data in rootfs.contents("/", limit=16 * MIB):
        if elf.is_elf(data):
            assert b"BusyBox v1.35.0 (Debian" not in data, f"{entry.path}: the distribution's"
    for path in ("/var/lib/dpkg", "/lib/apk", "/var/lib/rpm", "/usr/bin/dpkg", "/usr/bin/apt"):
        assert not rootfs.exists(path), f"{path} belongs to a package manager"


@check("userland", proves=["R8"])
def test_busybox_is_the_one_that_was_ordered(rootfs, programs):
    found = [path for path in programs if path.endswith("/busybox")]
    assert found, "there is no busybox"
    for path in found:
        assert f"1.35.0-{ORDER}".encode() in rootfs.read(path), path


@check("userland", proves=["R10"])
def test_the_unit_carries_its_order(rootfs):
    assert rootfs.read("/etc/order", limit=1000).decode().strip() == ORDER


# -- login ----------------------------------------------------------------------------------------


@milestone("login", weight=1, requires=["userland"], proves=["R20"], title="People can log in")
def test_root_can_log_in(unit):
    shell = unit.login(*ROOT, timeout=300)
    assert shell.run("id -u", check=True).stdout.strip() == "0"


@check("login", proves=["R6", "R7", "R8"])
def test_what_runs_is_what_lies_on_the_disk(unit, kernels):
    shell = root(unit)
    version = shell.run("cat /proc/version", check=True).stdout.strip()
    assert version in {kernel.banner.strip() for kernel in kernels.values()}
    assert shell.run("uname -r").stdout.strip() == RELEASE
    assert f"Version 1.2.3-{ORDER}" in shell.run(LOADER).stdout
    assert f"BusyBox v1.35.0-{ORDER} " in shell.run("busybox | head -n 1").stdout
    assert LOADER in shell.run("readlink -f /proc/self/exe; cat /proc/self/maps").stdout or (
        "libc" in shell.run("cat /proc/self/maps").stdout
    )


@check("login", proves=["R20"])
def test_the_clerk_can_log_in_and_is_nobody_special(unit):
    shell = clerk(unit)
    assert int(shell.run("id -u", check=True).stdout) >= 1000
    assert shell.run("touch here && rm here").status == 0, "clerk cannot write at home"
    assert shell.run("cat /etc/shadow").status != 0
    assert shell.run("echo x > /data/log/forged || echo x > /data/ledger/forged").status != 0


@check("login", proves=["R20"])
def test_wrong_passwords_are_refused(unit, nonce):
    for user, password in (("root", ""), ("root", nonce()), ("clerk", ROOT[1])):
        with pytest.raises(GuestError):
            unit.login(user, password, timeout=30)
    assert root(unit).run("id -u").stdout.strip() == "0"


@check("login", proves=["R21"])
def test_passwords_are_kept_well(rootfs):
    shadow = rootfs.stat("/etc/shadow")
    assert (shadow.uid, shadow.mode & 0o077) == (0, 0), "/etc/shadow can be read by others"
    rows = [line.split(":") for line in rootfs.read("/etc/shadow", limit=65536).decode().split()]
    open_accounts = {row[0]: row[1] for row in rows if row[1][:1] not in ("!", "*")}
    assert set(open_accounts) == {"root", "clerk"}
    for user, word in open_accounts.items():
        assert word.startswith(("$6$", "$y$", "$2b$", "$7$")), f"{user}: weak hash"
    passwd = rootfs.read("/etc/passwd", limit=65536).decode().splitlines()
    words = {line.split(":")[1] for line in passwd if line.strip()}
    assert words <= {"x", "*", "!", "!!"}, "/etc/passwd holds passwords"


@check("login", proves=["R21"])
def test_no_file_gives_away_rights(rootfs):
    loose = [e.path for e in rootfs.walk("/") if e.kind == "file" and e.mode & 0o6000]
    assert not loose, f"set-user-id or set-group-id: {loose}"
    loose = [e.path for e in rootfs.walk("/") if e.kind == "file" and e.mode & 0o002]
    assert not loose, f"writable by anybody: {loose}"


# -- seal -----------------------------------------------------------------------------------------


@milestone(
    "seal", weight=3, requires=["login"], proves=["R11", "R12"],
    title="The kernel answers challenges under the order's number",
)  # fmt: skip
def test_the_seal_answers_challenges(unit, nonce):
    shell = root(unit)
    assert shell.run("test -c /dev/seal").status == 0, "/dev/seal is no character device"
    texts = [nonce()[:length] for length in (1, 16, 31)] + [nonce() + nonce()]
    answers = shell.run(f"seal {' '.join(texts)}", check=True).stdout.splitlines()
    assert len(answers) == len(texts)
    counts = [seal.verify(ORDER, *pair) for pair in zip(texts, answers, strict=True)]
    assert counts == list(range(counts[0], counts[0] + len(texts)))


@check("seal", proves=["R11"])
def test_the_device_keeps_to_its_protocol(unit, nonce):
    shell = root(unit)
    one, two = nonce(), nonce()
    answers = shell.run(
        f"exec 7<>/dev/seal 8<>/dev/seal; printf %s {one} >&7; printf %s {two} >&8; "
        "cat <&8; cat <&7; printf %s again >&8; cat <&8",
        check=True,
    ).stdout.splitlines()
    assert len(answers) == 3
    first = seal.verify(ORDER, one, answers[1])
    assert seal.verify(ORDER, two, answers[0]) == first + 1
    assert seal.verify(ORDER, "again", answers[2]) == first + 2
    assert shell.run("cat < /dev/seal").status != 0, "an answer to no question"
    refused = int(books(unit)["refused"])
    too_long = nonce() + nonce() + "x"
    assert shell.run(f"printf %s {too_long} > /dev/seal").status != 0
    assert books(unit)["refused"] == str(refused + 1)


@check("seal", proves=["R13"])
def test_the_driver_keeps_its_books(unit, nonce):
    shell = root(unit)
    before = books(unit)
    assert set(before) == {"order", "quotes", "refused", "ticks"} and before["order"] == ORDER
    text = nonce()
    count = seal.verify(ORDER, text, shell.run(f"seal {text}").stdout)
    shell.run("sleep 4")
    assert set(before) <= set(re.findall(r"^(\w+): ", shell.run("seal -i").stdout, re.MULTILINE))
    after = books(unit)
    assert int(after["quotes"]) == count == int(before["quotes"]) + 1
    assert int(after["ticks"]) >= int(before["ticks"]) + 3, "the driver's timer stands still"


@check("seal", proves=["R14"])
def test_only_the_trusted_may_ask(unit):
    shell = clerk(unit)
    assert shell.run("seal hello").status != 0
    assert shell.run("echo hello > /dev/seal").status != 0
    assert root(unit).run("ls -l /dev/seal | grep -q '^crw-rw---- .* root  *seal '").status == 0


# -- hardening ------------------------------------------------------------------------------------


@milestone(
    "hardening", weight=2, requires=["login"], proves=["R15", "R16"],
    title="The kernel holds nothing that can be turned against it",
)  # fmt: skip
def test_the_kernel_cannot_be_extended_or_read(unit, kernels):
    shell = root(unit)
    for path in ("/proc/modules", "/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore",
                 "/proc/net/if_inet6", "/proc/sys/kernel/modprobe"):  # fmt: skip
        assert shell.run(f"test -e {path}").status != 0, f"{path} exists"
    for path, kernel in kernels.items():
        config = kernel.config
        wrong = {"MODULES", "DEVMEM", "DEVPORT", "PROC_KCORE", "IPV6", "BLK_DEV_INITRD",
                 "KEXEC", "KEXEC_FILE"} & set(config)  # fmt: skip
        assert not wrong, f"{path}: {wrong}"
        assert config.get("STACKPROTECTOR_STRONG") == "y", path
        assert config.get("RANDOMIZE_BASE") == "y", path


@check("hardening", proves=["R15"])
def test_the_running_kernel_tells_its_configuration(unit, kernels):
    packed = root(unit).read_file("/proc/config.gz")
    running_config = vmlinux.parse_config(vmlinux.gunzip(packed))
    assert running_config in [kernel.config for kernel in kernels.values()]


@check("hardening", proves=["R4"])
def test_the_root_is_read_only(unit):
    kind, options, _ = mounts(unit)["/"]
    assert kind == "ext4" and "ro" in options
    assert root(unit).run("touch /etc/x || touch /x || touch /usr/x").status != 0


@check("hardening", proves=["R5"])
def test_writable_places_run_no_programs(unit):
    table = mounts(unit)
    for place, kind in (("/data", "ext4"), ("/tmp", "tmpfs"), ("/run", "tmpfs")):
        assert place in table and table[place][0] == kind, f"{place} is no {kind}"
        missing = {"nosuid", "nodev", "noexec", "rw"} - table[place][1]
        assert not missing, f"{place} lacks {missing}"
        shell = root(unit)
        program = f"{place}/program"
        shell.run(f"printf '#!/bin/sh\\ntrue\\n' > {program} && chmod 755 {program}", check=True)
        assert shell.run(f"sh {program} && ! {program}").status == 0, f"{place} runs programs"
        shell.run(f"rm {program}")
    # A folder of /data may be shown elsewhere, too: that is the same place on the disk.
    writable = {
        place: (device, frozenset({"nosuid", "nodev", "noexec"} - options))
        for place, (kind, options, device) in table.items()
        if "rw" in options and kind in ("ext4", "ext2", "vfat")
    }
    assert set(writable.values()) == {(table["/data"][2], frozenset())}, f"{writable}"


@check("hardening", proves=["R17"])
def test_the_clerk_sees_only_what_is_his(unit):
    shell = clerk(unit)
    assert shell.run("dmesg | grep .").status != 0, "clerk reads the kernel's log"
    addresses = shell.run("grep -v '^00*0 ' /proc/kallsyms | head -n 3")
    assert not addresses.stdout.strip() or addresses.status != 0, "clerk sees kernel addresses"
    assert shell.run("cat /proc/1/cmdline").status != 0, "clerk sees others' processes"
    pids = shell.run("for p in /proc/[0-9]*; do stat -c %u $p; done 2>/dev/null | sort -u").stdout
    mine = shell.run("id -u").stdout.strip()
    assert set(pids.split()) <= {mine}


@check("hardening", proves=["R22"])
def test_memory_is_left(unit, metric):
    text = root(unit).run("cat /proc/meminfo", check=True).stdout
    total = int(re.search(r"MemTotal: +(\d+)", text)[1])
    free = int(re.search(r"MemAvailable: +(\d+)", text)[1])
    metric("mem_available_kb", free)
    assert total < unit.spec.memory_mb * 1024, "this is not the unit's memory"
    assert free >= 32 * 1024, f"{free} KiB available"


# -- network --------------------------------------------------------------------------------------


@milestone(
    "network", weight=1, requires=["login"], proves=["R23"], title="The unit finds its network"
)
def test_the_address_comes_by_dhcp(unit, lan):
    shell = root(unit)
    found = until(unit, 30, lambda: lan.address in shell.run("ip -4 addr show").stdout)
    assert found, f"no card has the address {lan.address} that was offered"
    assert f"via {lan.prefix}.2 " in shell.run("ip route show default").stdout + " "


@check("network", proves=["R23"])
def test_the_name_server_comes_by_dhcp(unit, lan):
    text = root(unit).run("cat /etc/resolv.conf").stdout
    assert re.findall(r"^nameserver +(\S+)", text, re.MULTILINE) == [f"{lan.prefix}.3"]


@check("network", proves=["R24"])
def test_the_name_comes_by_dhcp(unit, lan):
    assert until(unit, 15, lambda: root(unit).run("hostname").stdout.strip() == lan.name)


# -- service --------------------------------------------------------------------------------------


@milestone(
    "service", weight=3, requires=["seal", "network"], proves=["R30"],
    title="The ledger answers on the network",
)  # fmt: skip
def test_the_ledger_answers(unit, nonce):
    ledger = Ledger(unit)
    key, value = nonce(), nonce()
    before = int(ledger.ask("COUNT").split()[1])
    assert ledger.ask(f"GET {key}") == "NONE"
    assert ledger.ask(f"PUT {key} {value}") == f"OK {before + 1}"
    assert ledger.ask(f"GET {key}") == f"VALUE {value}"
    ledger.close()


@check("service", proves=["R12", "R30"])
def test_the_ledger_proves_where_it_runs(unit, nonce):
    ledger, shell = Ledger(unit), root(unit)
    one, two, three = nonce(), nonce(), nonce() + nonce()
    first = seal.verify(ORDER, one, ledger.ask(f"SEAL {one}"))
    assert seal.verify(ORDER, two, shell.run(f"seal {two}").stdout) == first + 1
    assert seal.verify(ORDER, three, ledger.ask(f"SEAL {three}")) == first + 2
    ledger.close()


@check("service", proves=["R31"])
def test_several_clients_are_served_at_once(unit, nonce):
    ledgers = [Ledger(unit) for _ in range(6)]
    values = {nonce(): nonce() for _ in range(6)}
    for ledger, (key, value) in zip(ledgers, values.items(), strict=True):
        lines = [f"PUT {key} {value}", *[f"GET {key}"] * 400]
        assert ledger.ask_all(lines)[1:] == [f"VALUE {value}"] * 400
    for key, value in values.items():
        assert {ledger.ask(f"GET {key}") for ledger in ledgers} == {f"VALUE {value}"}
    for ledger in ledgers:
        ledger.close()


@check("service", proves=["R30", "R14"])
def test_the_ledger_runs_without_privileges(unit):
    ledger = Ledger(unit)
    who = ledger.who()
    ledger.close()
    shell = root(unit)
    status = shell.run(f"cat /proc/{who['pid']}/status", check=True).stdout
    uids = re.search(r"^Uid:\s+(.*)$", status, re.MULTILINE)[1].split()
    assert set(uids) == {who["uid"]} and who["uid"] != "0"
    assert shell.run("id -u ledger").stdout.strip() == who["uid"]
    assert re.search(r"^CapEff:\s+0+$", status, re.MULTILINE), "ledgerd has capabilities"
    assert shell.run(f"readlink /proc/{who['pid']}/exe").stdout.strip().endswith("/ledgerd")


@check("service", proves=["R25"])
def test_nothing_else_listens(unit):
    text = root(unit).run("cat /proc/net/tcp; echo; cat /proc/net/tcp6 2>/dev/null").stdout
    ports = {int(p, 16) for p in re.findall(r":([0-9A-F]{4}) [0-9A-F]+:0000 0A ", text)}
    assert ports == {PORT}


# -- supervision ----------------------------------------------------------------------------------


@milestone(
    "supervision", weight=3, requires=["service"], proves=["R26"],
    title="Services are looked after",
)  # fmt: skip
def test_all_services_are_up(unit):
    found = services(unit)
    assert sorted(found) == sorted(SERVICES)
    for name in SERVICES:
        pid = running(unit, name)
        assert pid, f"{name}: {found[name]}"
    assert len({pid for _, pid in services(unit).values()}) == len(SERVICES)
    assert Ledger(unit).who()["pid"] == str(running(unit, "ledgerd"))


@check("supervision", proves=["R27"])
def test_what_dies_comes_back(unit):
    for name in SERVICES:
        pid = running(unit, name)
        assert pid, f"{name} is not up"
        root(unit).run(f"kill -9 {pid}", check=True)
        new = until(unit, 8, lambda name=name, pid=pid: running(unit, name) not in (0, pid))
        assert new, f"{name} did not come back"
    assert Ledger(unit).who()["opened"] == "recovered"


@check("supervision", proves=["R29"])
def test_services_obey(unit):
    shell = root(unit)
    assert shell.run("svc stop ledgerd", timeout=60).status == 0
    shell.run("sleep 7")
    assert services(unit)["ledgerd"] == ("down", 0), "a stopped service came back"
    assert shell.run("svc start ledgerd", timeout=60).status == 0
    ledger = Ledger(unit)
    who = ledger.who()
    ledger.close()
    assert who["opened"] == "clean", "ledgerd was not stopped in order"
    assert shell.run("svc restart ledgerd", timeout=60).status == 0
    again = Ledger(unit).who()
    assert again["pid"] != who["pid"] and again["opened"] == "clean"
    assert shell.run("svc start nonesuch").status != 0
    assert clerk(unit).run("svc stop ledgerd").status != 0
    assert running(unit, "ledgerd") == int(again["pid"])


# In the guest, so that a slow bench does not stretch the minute.
KILL_AGAIN_AND_AGAIN = """
deaths=0 turns=0 last=
while [ $turns -lt 50 ] && [ $deaths -lt 8 ]; do
    set -- $(svc status | grep "^ledgerd[[:space:]]")
    [ "$2" = failed ] && break
    if [ "$2" = up ] && [ "$3" != "$last" ] && kill -9 "$3"; then
        last=$3 deaths=$((deaths + 1))
    fi
    sleep 1
    turns=$((turns + 1))
done
echo $deaths
"""


@check("supervision", proves=["R28"])
def test_what_keeps_dying_is_given_up(unit):
    root(unit).run("svc restart ledgerd", timeout=60)
    deaths = root(unit).run(KILL_AGAIN_AND_AGAIN, timeout=180).stdout.split()[-1]
    assert services(unit)["ledgerd"] == ("failed", 0), f"after {deaths} deaths: {services(unit)}"
    assert deaths == "6", f"given up after {deaths} deaths"
    root(unit).run("sleep 6")
    assert services(unit)["ledgerd"] == ("failed", 0)
    assert all(running(unit, name) for name in SERVICES if name != "ledgerd")


@check("supervision", proves=["R28"])
def test_what_was_given_up_can_be_started_again(unit):
    assert root(unit).run("svc start ledgerd", timeout=60).status == 0
    assert Ledger(unit).who()["pid"] == str(running(unit, "ledgerd"))


# -- syslog ---------------------------------------------------------------------------------------


@milestone(
    "syslog", weight=2, requires=["supervision"], proves=["R32"],
    title="The system log tells what happened",
)  # fmt: skip
def test_messages_arrive_from_everywhere(unit, nonce):
    mark, note = nonce(), nonce()
    logged(root(unit), mark)
    ledger = Ledger(unit)
    assert ledger.ask(f"NOTE {note}") == "OK"
    ledger.close()
    kernel = nonce()
    root(unit).run(f"echo '<3>bench {kernel}' > /dev/kmsg", check=True)
    for text in (mark, f"ledgerd\\[[0-9]+\\]: note {note}", f"kern.*bench {kernel}"):
        assert until(unit, 10, lambda text=text: messages(unit, text)), f"{text} is not logged"


@check("syslog", proves=["R28", "R32"])
def test_deaths_are_in_the_log(unit):
    assert messages(unit, "ledgerd failed"), "nothing says that ledgerd failed"
    assert messages(unit, "ledgerd.*opened with [0-9]+ records \\(recovered\\)")


@check("syslog", proves=["R33"])
def test_a_flood_does_not_fill_the_disk(unit, nonce):
    shell, last = root(unit), nonce()
    line = "flood" * 40
    for part in range(4):
        shell.run(
            f"i=0; while [ $i -lt 3000 ]; do echo {line} {part} $i; i=$((i+1)); done | logger",
            timeout=240,
        )
    logged(shell, last)
    assert until(unit, 20, lambda: messages(unit, last)), "the last message was lost"
    size = int(shell.run("cat /data/log/* | wc -c", check=True).stdout)
    assert size <= 256 * 1024, f"/data/log holds {size} bytes"
    assert len(messages(unit, f"{line} 3 2[0-9][0-9][0-9]$")) > 150, "recent messages are gone"


# -- shutdown -------------------------------------------------------------------------------------


LEDGER_LINES = "ledgerd.*(closed|opened) with"


def fsck(machine, work) -> None:
    """Every ext4 file system of a machine that is off is clean, with nothing to be replayed."""
    from benchflow.boot import Image

    flat = Image(machine.flatten())
    checked = 0
    for partition in flat.partitions():
        if flat.filesystem(partition) != "ext4":
            continue
        piece = work / "partition"
        with flat.path.open("rb") as source, piece.open("wb") as target:
            source.seek(partition.start)
            target.write(source.read(partition.size))
        state = run_tool(["dumpe2fs", "-h", str(piece)]).stdout.decode(errors="replace")
        assert re.search(r"Filesystem state: +clean$", state, re.MULTILINE), "not unmounted"
        assert "needs_recovery" not in state, f"partition {partition.number} was not unmounted"
        done = run_tool(["e2fsck", "-f", "-n", str(piece)])
        assert done.status == 0, f"partition {partition.number}: {done.complaint}"
        checked += 1
    flat.path.unlink()
    assert checked >= 2


def off(machine, seconds: float) -> None:
    until(machine, seconds, lambda: not machine.alive)
    assert not machine.alive, f"still running after {seconds:g} seconds"


@milestone(
    "shutdown", weight=3, requires=["syslog"], proves=["R34"],
    title="It goes down in order",
)  # fmt: skip
def test_a_restart_is_in_order(unit, nonce, shared):
    shared["base"] = {text_base(unit)}
    ledger = Ledger(unit)
    shared["key"], shared["value"], shared["log"] = nonce(), nonce(), nonce()
    assert ledger.ask(f"PUT {shared['key']} {shared['value']}").startswith("OK ")
    shared["count"] = int(ledger.ask("COUNT").split()[1])
    ledger.close()
    logged(root(unit), shared["log"])
    before = len(messages(unit, "closed with"))
    unit.reboot(timeout=60)
    unit.login(*ROOT, timeout=300)
    assert messages(unit, shared["log"]), "the log did not survive"
    # A login can be there before the service is.
    started = until(unit, 60, lambda: "opened" in messages(unit, LEDGER_LINES)[-1])
    last = messages(unit, LEDGER_LINES)
    assert started, f"ledgerd did not start again: {last[-1]}"
    assert len(messages(unit, "closed with")) > before, "ledgerd was not stopped before syslogd"
    assert "(clean)" in last[-1] and f"closed with {shared['count']} records" in last[-2]
    shared["base"].add(text_base(unit))


@check("shutdown", proves=["R34", "R35", "R36"])
def test_the_power_button_works_while_people_work(unit, work, nonce):
    shell = clerk(unit)
    shell.run(f"nohup sh -c 'while :; do echo {nonce()}; sleep 1; done' > ~/busy 2>&1 & sleep 2")
    shell.run("cd; exec 9>~/open; (trap '' TERM HUP; exec sleep 1000 >&9) & :")
    assert unit.shutdown(timeout=40), "the power button did not switch the unit off"
    fsck(unit, work)


@check("shutdown", proves=["R34", "R35"])
def test_poweroff_works_with_files_open(unit, work, shared):
    unit.boot()
    shell = unit.login(*ROOT, timeout=300)
    shared["base"].add(text_base(unit))
    assert until(unit, 60, lambda: messages(unit, LEDGER_LINES)[-1].endswith("(clean)"))
    shell.run("(trap '' TERM; cd /data/log; exec sleep 1000 > /data/held) & :", check=True)
    shell.leave("cd /data && poweroff")
    off(unit, 40)
    fsck(unit, work)


# -- durability -----------------------------------------------------------------------------------


@milestone(
    "durability", weight=3, requires=["shutdown"], proves=["R37"],
    title="What was acknowledged is kept",
)  # fmt: skip
def test_records_survive_a_restart(unit, shared):
    unit.boot()
    ledger = Ledger(unit, seconds=300)
    assert ledger.ask(f"GET {shared['key']}") == f"VALUE {shared['value']}"
    assert int(ledger.ask("COUNT").split()[1]) == shared["count"]
    assert ledger.who()["opened"] == "clean"
    ledger.close()


@check("durability", proves=["R37", "R38"])
def test_records_survive_power_cuts(unit, nonce, shared):
    for _ in range(2):
        ledger = Ledger(unit, seconds=300)
        records = {nonce(): nonce() for _ in range(40)}
        answers = ledger.ask_all([f"PUT {key} {value}" for key, value in records.items()])
        assert all(answer.startswith("OK ") for answer in answers)
        unit.power_cut()
        unit.boot()
        ledger = Ledger(unit, seconds=300)
        assert ledger.who()["opened"] == "recovered"
        lost = [
            key for key, value in records.items() if ledger.ask(f"GET {key}") != f"VALUE {value}"
        ]
        assert not lost, f"{len(lost)} of {len(records)} acknowledged records are lost"
        ledger.close()
    shared["base"].add(text_base(unit))


@check("durability", proves=["R37"])
def test_after_power_cuts_all_is_in_order(unit, work):
    shell = unit.login(*ROOT, timeout=300)
    assert all(running(unit, name) for name in SERVICES)
    assert shell.run("dmesg | grep -i 'ext4-fs error'").status != 0
    unit.shutdown(timeout=40)
    fsck(unit, work)


@check("durability", proves=["R18"])
def test_the_kernel_never_lies_in_the_same_place(shared):
    assert len(shared["base"]) >= 3, f"the kernel's addresses repeat: {shared['base']}"


# -- boards ---------------------------------------------------------------------------------------


@milestone(
    "boards", weight=2, requires=["service"], proves=["R3"],
    title="The same image serves the second board",
)  # fmt: skip
def test_the_second_board_starts(machines, deliverable, shared, lan):
    other = Lan.draw()
    shared["board"] = board = board_b(machines, "board-b", deliverable(), other)
    board.boot()
    shell = board.login(*ROOT, timeout=300)
    assert mounts(board)["/data"][0] == "ext4" and "ro" in mounts(board)["/"][1]
    assert until(board, 30, lambda: other.address in shell.run("ip -4 addr show").stdout)


@check("boards", proves=["R3", "R30", "R37"])
def test_the_second_board_serves(shared, nonce):
    board = shared["board"]
    ledger = Ledger(board)
    text, key = nonce(), nonce()
    seal.verify(ORDER, text, ledger.ask(f"SEAL {text}"))
    assert ledger.ask(f"PUT {key} {text}").startswith("OK ")
    board.power_cut()
    board.boot()
    assert Ledger(board, seconds=300).ask(f"GET {key}") == f"VALUE {text}"
    assert board.shutdown(timeout=40), "the power button does nothing on the second board"


@check("boards", proves=["R24"])
def test_an_unnamed_unit_is_called_tiny(machines, deliverable):
    nameless = Lan.draw()
    unit = board_a(machines, "nameless", deliverable(), nameless, named=False)
    unit.boot()
    shell = unit.login(*ROOT, timeout=300)
    assert until(unit, 30, lambda: nameless.address in shell.run("ip -4 addr show").stdout)
    assert until(unit, 15, lambda: shell.run("hostname").stdout.strip() == "tiny")
    unit.power_cut()


# -- crash ----------------------------------------------------------------------------------------


@milestone(
    "crash", weight=1, requires=["durability", "boards"], proves=["R19"],
    title="It comes back from a crash of the kernel",
)  # fmt: skip
def test_the_unit_comes_back_from_a_crash(unit, nonce, shared):
    unit.boot()
    ledger = Ledger(unit, seconds=300)
    shared["last"] = nonce(), nonce()
    assert ledger.ask("PUT {} {}".format(*shared["last"])).startswith("OK ")
    shell = unit.login(*ROOT, timeout=300)
    boots = unit.boots
    shell.leave("echo c > /proc/sysrq-trigger")
    came_back = until(unit, 30, lambda: unit.boots > boots)
    assert came_back, "the unit stands still after a crash of its kernel"


@check("crash", proves=["R19", "R37"])
def test_after_a_crash_it_serves_again(unit, shared):
    ledger = Ledger(unit, seconds=300)
    key, value = shared["last"]
    assert ledger.ask(f"GET {key}") == f"VALUE {value}"
    assert ledger.who()["opened"] == "recovered"
    unit.login(*ROOT, timeout=300)
    assert unit.shutdown(timeout=40)
