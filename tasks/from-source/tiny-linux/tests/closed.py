"""What a unit that runs keeps to itself: the seal, the kernel, its file systems."""

from __future__ import annotations

import re
import secrets

import seal
import vmlinux
from unit import (
    ORDER,
    clerk,
    messages,
    mounted,
    mounts,
    partition_of,
    root,
    said,
    until,
)

MEMORY = ("tmpfs", "ramfs")
KEPT_SHUT = {"nosuid", "nodev", "noexec"}


def books(machine) -> dict[str, str]:
    """What /proc/driver/seal says, by name."""
    text = said(machine, "/proc/driver/seal")
    rows = dict(re.findall(r"^(\w+): (\S+)$", text, re.MULTILINE))
    assert set(rows) == {"order", "quotes", "refused", "ticks"}, f"unknown books: {text!r} [R13]"
    return rows


def the_seal_answers_challenges(unit, nonce) -> None:
    shell = root(unit)
    assert shell.run("test -c /dev/seal").status == 0, "/dev/seal is no character device [R11]"
    texts = [nonce()[:length] for length in (1, 16, 31)] + [nonce() + nonce()]
    text = shell.run(f"seal {' '.join(texts)}", check=True).stdout
    answers = text.splitlines()
    assert len(answers) == len(texts), f"{len(texts)} texts are answered by {text!r} [R12]"
    counts = [seal.verify(ORDER, *pair) for pair in zip(texts, answers, strict=True)]
    wanted = list(range(counts[0], counts[0] + len(texts)))
    assert counts == wanted, f"COUNT goes {counts}: quotes that the kernel has given [R11]"
    # Other programs of the start may have asked before; nobody has often.
    assert counts[0] <= 100, f"the first quote of a start has COUNT {counts[0]} [R11]"
    long = nonce() + nonce() + "x"
    done = shell.run(f"(seal {texts[1]} {long} {texts[2]}) 2>/dev/null")
    answers = done.stdout.splitlines()
    assert done.status == 1 and len(answers) == 2, (
        f"seal TEXT TEXT TEXT, the second of 65 bytes, ends with {done.status} and says "
        f"{answers}: one line for each, 1 when not all were answered [R12]"
    )
    for pair in zip(texts[1:3], answers, strict=True):
        seal.verify(ORDER, *pair)


def the_device_keeps_to_its_protocol(unit, nonce) -> None:
    shell = root(unit)
    one, two = nonce(), nonce()
    text = shell.run(
        f"exec 7<>/dev/seal 8<>/dev/seal; printf %s {one} >&7; printf %s {two} >&8; "
        "cat <&8; cat <&7; printf %s again >&8; cat <&8",
        check=True,
    ).stdout
    answers = text.splitlines()
    assert len(answers) == 3, f"three challenges are answered by {text!r} [R11]"
    first = seal.verify(ORDER, one, answers[1])
    counts = [first, seal.verify(ORDER, two, answers[0]), seal.verify(ORDER, "again", answers[2])]
    assert counts == [first, first + 1, first + 2], f"COUNT goes {counts} [R11]"
    done = shell.run("cat < /dev/seal")
    assert done.status != 0 and "temporarily unavailable" in done.stdout, (
        f"an answer to no question: {done}; it gives EAGAIN [R11]"
    )
    refused = int(books(unit)["refused"])
    too_long = nonce() + nonce() + "x"
    done = shell.run(f"printf %s {too_long} | cat > /dev/seal")
    assert done.status != 0 and "too large" in done.stdout, (
        f"65 bytes: {done}; a challenge of a wrong length is refused with EMSGSIZE [R11]"
    )
    now = int(books(unit)["refused"])
    assert now == refused + 1, f"refused goes from {refused} to {now} at one refusal [R13]"


#: Asks with bytes, reads the answer byte by byte as `read` does, and then its end, twice.
BYTES = (
    "exec 7<>/dev/seal; printf '{text}' >&7; IFS= read -r line <&7; echo \"$line\"; "
    "cat <&7 && cat <&7 && echo end"
)


def the_device_answers_any_bytes(unit, nonce) -> None:
    shell = root(unit)
    last = int(books(unit)["quotes"])
    for length in (1, 2 + secrets.randbelow(62), 64):
        # No line's end: a shell may write what it prints line by line.
        asked = bytes([128 + secrets.randbelow(128)])
        asked += secrets.token_bytes(length - 1).replace(b"\n", b"\0")
        octal = "".join(f"\\{byte:03o}" for byte in asked)
        lines = shell.run(BYTES.format(text=octal)).stdout.splitlines()
        assert len(lines) == 2 and lines[1] == "end", (
            f"{asked.hex()}, its answer read byte by byte, then its end: {lines} [R11]"
        )
        count = seal.verify(ORDER, asked, lines[0])
        text = nonce()
        counts = [count, seal.verify(ORDER, text, shell.run(f"seal {text}").stdout)]
        assert counts == [last + 1, last + 2], (
            f"after quote {last} the device and the applet give {counts}: COUNT is of all quotes, "
            "through whichever interface [R11] [R12]"
        )
        last += 2
    quotes = int(books(unit)["quotes"])
    assert quotes == last, f"after quote {last} the books say {quotes} [R13]"


def the_driver_keeps_its_books(unit, nonce) -> None:
    shell = root(unit)
    before = books(unit)
    assert before["order"] == ORDER, f"order: {before['order']} [R13]"
    text = nonce()
    count = seal.verify(ORDER, text, shell.run(f"seal {text}").stdout)
    # Their own clock and the unit's, read side by side.
    both = "read up rest < /proc/uptime; echo up: $up; cat /proc/driver/seal"
    reads = []
    for command in (both, f"sleep 6; {both}"):
        words = dict(re.findall(r"^(\w+): (\S+)$", shell.run(command).stdout, re.MULTILINE))
        reads.append((float(words["up"]), int(words["ticks"])))
    passed, ticked = reads[1][0] - reads[0][0], reads[1][1] - reads[0][1]
    assert passed * 0.6 - 1 <= ticked <= passed + 1.5, (
        f"the driver counts {ticked} ticks in {passed:.1f} seconds [R13]"
    )
    up, ticks = reads[1]
    assert up * 0.6 - 3 <= ticks <= up + 1.5, f"{ticks} ticks, {up:.0f} s after the start [R13]"
    shown = dict(re.findall(r"^(\w+): (\S+)$", shell.run("seal -i").stdout, re.MULTILINE))
    now = books(unit)
    late = int(now.pop("ticks")) - int(shown.pop("ticks", "-9"))
    assert shown == now and 0 <= late < 60, f"seal -i shows {shown}, and the books say {now} [R12]"
    quotes = int(books(unit)["quotes"])
    assert quotes == count == int(before["quotes"]) + 1, (
        f"quotes goes from {before['quotes']} to {quotes}, and the one quote says {count} [R13]"
    )


def only_the_trusted_may_ask(unit) -> None:
    shell = clerk(unit)
    assert shell.run("seal hello").status != 0, "clerk asks with the applet [R14]"
    assert shell.run("echo hello > /dev/seal").status != 0, "clerk asks the device [R14]"
    line = root(unit).run("ls -l $(readlink -f /dev/seal)", check=True).stdout.strip()
    assert re.match(r"c......---\S* +\d+ +root +seal ", line), (
        f"{line!r}: /dev/seal belongs to root and the group seal; nobody else may ask [R14]"
    )
    number = line.split()[4:6]
    listed = root(unit).run("ls -lR /dev").stdout.splitlines()
    nodes = [row for row in listed if row[:1] == "c" and row.split()[4:6] == number]
    open_ones = [row for row in nodes if row[7:10] != "---"]
    assert not open_ones, f"{open_ones} is the same device, open to all [R14]"
    people = [row.split(":") for row in said(unit, "/etc/passwd").splitlines()]
    groups = [row.split(":") for row in said(unit, "/etc/group").splitlines()]
    trusted = [row for row in groups if row[0] == "seal"]
    names = {name for row in trusted for name in row[3].split(",") if name}
    names |= {row[0] for row in people if row[3] in {group[2] for group in trusted}}
    # An account of that name that nobody can become is no person.
    assert names <= {"root", "ledger", "seal"}, f"in the group seal: {sorted(names)} [R14]"


def the_kernel_cannot_be_extended_or_read(unit, kernels) -> None:
    shell = root(unit)
    for path in ("/proc/modules", "/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore",
                 "/proc/net/if_inet6", "/proc/sys/kernel/modprobe"):  # fmt: skip
        assert shell.run(f"test -e {path}").status != 0, f"{path} exists [R15] [R16]"
    for place, kernel in kernels.items():
        wrong = {"MODULES", "DEVMEM", "DEVPORT", "PROC_KCORE", "IPV6", "BLK_DEV_INITRD",
                 "KEXEC", "KEXEC_FILE"} & set(kernel.config)  # fmt: skip
        assert not wrong, f"{place} is configured with {sorted(wrong)} [R15] [R16]"
        for name in ("STACKPROTECTOR_STRONG", "RANDOMIZE_BASE"):
            assert kernel.config.get(name) == "y", f"{place}: CONFIG_{name} is not set [R18]"


def the_running_kernel_tells_its_configuration(unit, kernels) -> None:
    packed = root(unit).read_file("/proc/config.gz")
    running_config = vmlinux.parse_config(vmlinux.gunzip(packed))
    assert running_config in [kernel.config for kernel in kernels.values()], (
        f"/proc/config.gz ({len(running_config)} options) is not the kernel file's [R15]"
    )


def mount_of(unit, place: str) -> tuple[str, tuple[str, frozenset[str], str]]:
    """Where a folder really lies: (mount point, what is mounted there)."""
    table = mounts(unit)
    real = root(unit).run(f"readlink -f {place}", check=True).stdout.strip()
    point = real
    while point and point not in table:
        point = point.rpartition("/")[0]
    return point or "/", table[point or "/"]


def the_root_is_read_only(unit, root_number) -> None:
    number = partition_of(unit, "/")
    assert number == root_number, (
        f"/ is partition {number}; the userland lies in {root_number} [R4] [R9]"
    )
    kind, options, _ = mounts(unit)["/"]
    assert kind == "ext4" and "ro" in options, f"/ is {kind} ({','.join(sorted(options))}) [R4]"
    done = root(unit).run("touch /etc/x || touch /x || touch /usr/x")
    assert done.status != 0, "a file can be made on / [R4]"


def writable_places_run_no_programs(unit) -> None:
    shell = root(unit)
    data = ""
    for place, kinds in (("/data", ("ext4",)), ("/tmp", MEMORY), ("/run", MEMORY)):
        point, (kind, options, device) = mount_of(unit, place)
        data = data or device
        assert kind in kinds, f"{place} lies on {point}, a {kind}; wanted is {kinds} [R5]"
        missing = (KEPT_SHUT | {"rw"}) - options
        assert not missing, f"{place} (mounted at {point}) lacks {sorted(missing)} [R5]"
        program = f"{place}/program"
        shell.run(f"printf '#!/bin/sh\\ntrue\\n' > {program} && chmod 755 {program}", check=True)
        assert shell.run(f"sh {program} && ! {program}").status == 0, f"{place} runs programs [R5]"
        shell.run(f"rm {program}")
    places = {mount_of(unit, place)[0] for place in ("/data", "/tmp", "/run")}
    table = mounted(unit)
    devices = {table[point][0] for point in places}
    for point, (device, options, kind) in table.items():
        if device in devices or any(point.startswith(f"{place}/") for place in places):
            missing = KEPT_SHUT - options
            assert not missing, (
                f"{point} ({kind}) is of what lies in /data, /tmp and /run, and lacks "
                f"{sorted(missing)} [R5]"
            )
    # A folder of /data may be shown elsewhere, too: that is the same place on the disk.
    for point, (kind, options, device) in mounts(unit).items():
        if "rw" in options and device.startswith("/dev/"):
            assert device == data and options >= KEPT_SHUT, (
                f"{point} ({kind} on {device}) can be written: /data is the only place on the "
                "disk that is, and runs no programs [R5]"
            )


# What is his own, or has ended since the list was made, is nothing that he should not see.
OTHERS = "for p in {proc}/[0-9]*; do [ -O $p ] || [ ! -e $p ] || echo $p; done"


def nothing_secret_is_told(unit, nonce) -> None:
    """What the clerk can read: no word of the kernel's log, and no password."""
    mark = nonce()
    root(unit).run(f"echo '<4>bench {mark}' > /dev/kmsg", check=True)
    # Where it reaches the system log, it has reached it by now; else it is no matter here.
    until(unit, 10, lambda: messages(unit, mark))
    words = [line.split(":")[1] for line in said(unit, "/etc/shadow").splitlines()]
    hidden = " ".join(f"-e '{word}'" for word in [mark, *words] if len(word) > 12)
    kept = [
        point for point, (_, options, kind) in mounted(unit).items()
        if "rw" in options and kind in ("ext4", *MEMORY) and point not in ("/", "/dev")
    ]  # fmt: skip
    shell = clerk(unit)
    reads = (
        f"dmesg 2>/dev/null | grep {mark}",
        f"grep -rsF {hidden} {' '.join(kept)} /etc",
        # It waits for more where it is at its end.
        "cat /dev/kmsg 2>/dev/null & sleep 2; kill $! 2>/dev/null",
    )
    for read in reads:
        text = shell.run(read, timeout=60).stdout
        assert mark not in text, f"clerk reads the kernel's log by {read!r} [R17]"
        found = [word for word in words if len(word) > 12 and word in text]
        assert not found, f"clerk reads a password, as it is kept: {text[:100]!r} [R21]"


def the_log_tells_the_clerk_nothing(unit, nonce) -> None:
    """After its parts have changed: in the oldest as in the newest lies what the kernel said."""
    shell, marks = root(unit), [nonce() for _ in range(4)]
    for mark in marks:
        # Enough for a part of any size, and few enough for what went before to be there still.
        fill = f"i=0; while [ $i -lt 40 ]; do echo {'fill' * 50}; i=$((i+1)); done"
        shell.run(f"echo '<4>bench {mark}' > /dev/kmsg; ({fill}) | logger", timeout=60, check=True)
    until(unit, 20, lambda: messages(unit, marks[-1]))
    nothing_secret_is_told(unit, nonce)
    told = clerk(unit).run("cat /data/log/* 2>/dev/null", timeout=60).stdout
    seen = [mark for mark in marks if mark in told]
    assert not seen, f"clerk reads {len(seen)} of the kernel's messages in old parts [R17]"


def the_clerk_sees_only_what_is_his(unit, nonce) -> None:
    nothing_secret_is_told(unit, nonce)
    places = [point for point, row in mounted(unit).items() if row[2] == "proc"]
    shell = clerk(unit)
    addresses = shell.run("grep -v '^00*0 ' /proc/kallsyms | head -n 3")
    assert not addresses.stdout.strip() or addresses.status != 0, (
        f"clerk sees kernel addresses: {addresses.stdout[:100]!r} [R17]"
    )
    assert shell.run("cat /proc/1/cmdline").status != 0, "clerk sees others' processes [R17]"
    for place in places:
        others = shell.run(OTHERS.format(proc=place), timeout=60).stdout.split()
        assert not others, f"clerk sees {others[:5]}, which are others' processes [R17]"


def root_sees_all(unit, nonce) -> None:
    shell, mark = root(unit), nonce()
    shell.run(f"echo '<4>bench {mark}' > /dev/kmsg", check=True)
    assert shell.run(f"dmesg | grep {mark}").status == 0, "root does not see the log [R17]"
    first = shell.run("grep -m1 -E ' _?s?text$' /proc/kallsyms").stdout
    assert first and first.split()[0].strip("0"), f"root sees no addresses: {first!r} [R17]"
    assert shell.run("cat /proc/1/cmdline").status == 0, "root does not see processes [R17]"


def memory_is_left(unit, metric) -> None:
    def available() -> int:
        found = re.search(r"MemAvailable: +(\d+)", said(unit, "/proc/meminfo"))
        return int(found[1])

    total = int(re.search(r"MemTotal: +(\d+)", said(unit, "/proc/meminfo"))[1])
    assert total < unit.spec.memory_mb * 1024, f"{total} KiB: this is not the unit's memory [R22]"
    # It is idle when we have let it be for a while.
    until(unit, 15, lambda: available() >= 32 * 1024)
    free = available()
    metric("mem_available_kb", free)
    assert free >= 32 * 1024, f"{free} KiB are available when idle; at least 32 MiB [R22]"
