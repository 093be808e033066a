"""Who may do what on a unit that runs: accounts, the seal, the kernel."""

from __future__ import annotations

import re

import pytest
import seal
import vmlinux
from unit import LOADER, ORDER, RELEASE, ROOT, clerk, mounts, root

from benchflow.boot import GuestError


def books(machine) -> dict[str, str]:
    """What /proc/driver/seal says, by name."""
    text = root(machine).run("cat /proc/driver/seal", check=True).stdout
    rows = dict(re.findall(r"^(\w+): (\S+)$", text, re.MULTILINE))
    assert {"order", "quotes", "refused", "ticks"} <= set(rows), f"unknown books: {text!r}"
    return rows


def root_can_log_in(unit) -> None:
    shell = unit.login(*ROOT, timeout=300)
    assert shell.run("id -u", check=True).stdout.strip() == "0"


def what_runs_is_what_lies_on_the_disk(unit, kernels) -> None:
    shell = root(unit)
    version = shell.run("cat /proc/version", check=True).stdout.strip()
    assert version in {kernel.banner.strip() for kernel in kernels.values()}
    assert shell.run("uname -r").stdout.strip() == RELEASE
    assert f"Version 1.2.3-{ORDER}" in shell.run(LOADER).stdout
    assert f"BusyBox v1.35.0-{ORDER} " in shell.run("busybox | head -n 1").stdout
    assert LOADER in shell.run("readlink -f /proc/self/exe; cat /proc/self/maps").stdout or (
        "libc" in shell.run("cat /proc/self/maps").stdout
    )


def the_clerk_can_log_in_and_is_nobody_special(unit) -> None:
    shell = clerk(unit)
    assert int(shell.run("id -u", check=True).stdout) > 0, (
        "clerk is root, not an ordinary user [R20]"
    )
    assert shell.run("touch here && rm here").status == 0, "clerk cannot write at home"
    assert shell.run("cat /etc/shadow").status != 0
    assert shell.run("echo x > /data/log/forged || echo x > /data/ledger/forged").status != 0


def wrong_passwords_are_refused(unit, nonce) -> None:
    for user, password in (("root", ""), ("root", nonce()), ("clerk", ROOT[1])):
        with pytest.raises(GuestError):
            unit.login(user, password, timeout=30)
    assert root(unit).run("id -u").stdout.strip() == "0"


def passwords_are_kept_well(rootfs) -> None:
    shadow = rootfs.stat("/etc/shadow")
    assert (shadow.uid, shadow.mode & 0o077) == (0, 0), "/etc/shadow can be read by others"
    rows = [line.split(":") for line in rootfs.read("/etc/shadow", limit=65536).decode().split()]
    open_accounts = {row[0]: row[1] for row in rows if row[1][:1] not in ("!", "*")}
    assert set(open_accounts) == {"root", "clerk"}
    for user, word in open_accounts.items():
        assert word.startswith(("$6$", "$y$", "$2a$", "$2b$", "$2y$", "$7$", "$gy$")), (
            f"{user}: weak hash"
        )
    passwd = rootfs.read("/etc/passwd", limit=65536).decode().splitlines()
    words = {line.split(":")[1] for line in passwd if line.strip()}
    assert words <= {"x", "*", "!", "!!"}, "/etc/passwd holds passwords"


def no_file_gives_away_rights(rootfs) -> None:
    loose = [e.path for e in rootfs.walk("/") if e.kind == "file" and e.mode & 0o6000]
    assert not loose, f"set-user-id or set-group-id: {loose}"
    loose = [e.path for e in rootfs.walk("/") if e.kind == "file" and e.mode & 0o002]
    assert not loose, f"writable by anybody: {loose}"


def the_seal_answers_challenges(unit, nonce) -> None:
    shell = root(unit)
    assert shell.run("test -c /dev/seal").status == 0, "/dev/seal is no character device"
    texts = [nonce()[:length] for length in (1, 16, 31)] + [nonce() + nonce()]
    answers = shell.run(f"seal {' '.join(texts)}", check=True).stdout.splitlines()
    assert len(answers) == len(texts)
    counts = [seal.verify(ORDER, *pair) for pair in zip(texts, answers, strict=True)]
    assert counts == list(range(counts[0], counts[0] + len(texts)))


def the_device_keeps_to_its_protocol(unit, nonce) -> None:
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


def the_driver_keeps_its_books(unit, nonce) -> None:
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


def only_the_trusted_may_ask(unit) -> None:
    shell = clerk(unit)
    assert shell.run("seal hello").status != 0
    assert shell.run("echo hello > /dev/seal").status != 0
    assert root(unit).run("ls -l /dev/seal | grep -q '^crw-rw---- .* root  *seal '").status == 0


def the_kernel_cannot_be_extended_or_read(unit, kernels) -> None:
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


def the_running_kernel_tells_its_configuration(unit, kernels) -> None:
    packed = root(unit).read_file("/proc/config.gz")
    running_config = vmlinux.parse_config(vmlinux.gunzip(packed))
    assert running_config in [kernel.config for kernel in kernels.values()]


def the_root_is_read_only(unit) -> None:
    kind, options, _ = mounts(unit)["/"]
    assert kind == "ext4" and "ro" in options
    assert root(unit).run("touch /etc/x || touch /x || touch /usr/x").status != 0


def writable_places_run_no_programs(unit) -> None:
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


def the_clerk_sees_only_what_is_his(unit) -> None:
    shell = clerk(unit)
    assert shell.run("dmesg | grep .").status != 0, "clerk reads the kernel's log"
    addresses = shell.run("grep -v '^00*0 ' /proc/kallsyms | head -n 3")
    assert not addresses.stdout.strip() or addresses.status != 0, "clerk sees kernel addresses"
    assert shell.run("cat /proc/1/cmdline").status != 0, "clerk sees others' processes"
    pids = shell.run("for p in /proc/[0-9]*; do stat -c %u $p; done 2>/dev/null | sort -u").stdout
    mine = shell.run("id -u").stdout.strip()
    assert set(pids.split()) <= {mine}


def memory_is_left(unit, metric) -> None:
    text = root(unit).run("cat /proc/meminfo", check=True).stdout
    total = int(re.search(r"MemTotal: +(\d+)", text)[1])
    free = int(re.search(r"MemAvailable: +(\d+)", text)[1])
    metric("mem_available_kb", free)
    assert total < unit.spec.memory_mb * 1024, "this is not the unit's memory"
    assert free >= 32 * 1024, f"{free} KiB available"
