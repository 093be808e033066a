"""Demands of the system: who may do what, and what is open."""

from __future__ import annotations

import contextlib
import secrets

from bench import Bench
from ordered import AXES, MOUNT, OTHER_PORT, PROGRAM, SECOND_PORT, has, mark
from unit import Unit

from benchflow.bench import line_service
from benchflow.boot import GuestTimeout

_BLOCK = 4096
_ZEROS = bytes(_BLOCK)


def ports(unit: Unit) -> list[int]:
    """Those of the service, or of both. That the second one is there at all, its own check asks."""
    found = [unit.port]
    if has("second"):
        with contextlib.suppress(GuestTimeout):
            unit.ask("count", port=SECOND_PORT, seconds=20)
            found.append(SECOND_PORT)
    return found


def budget(bench: Bench) -> None:
    count = 0
    with bench.image.open("rb") as file:
        while piece := file.read(256 * _BLOCK):
            if piece.strip(b"\0"):
                rows = (piece[at : at + _BLOCK] for at in range(0, len(piece), _BLOCK))
                count += sum(row != _ZEROS[: len(row)] for row in rows)
    most = int(AXES["budget"])
    assert count * _BLOCK <= most << 20, f"{count * _BLOCK >> 20} MiB of the image, of {most}"


def account(bench: Bench) -> None:
    unit = bench.up()
    rows = [row.split(":") for row in unit.text("/etc/passwd").splitlines()]
    numbers = [row[2] for row in rows if len(row) > 3 and row[0] == AXES["account"]]
    assert numbers and numbers[0] != "0", f"there is no account {AXES['account']}"
    for port in ports(unit):
        unit.serves(port)
        said = unit.text(f"/proc/{unit.process(port)}/status")
        rows_told = (row.partition(":") for row in said.splitlines())
        told = {key: value.split() for key, _, value in rows_told}
        assert told["Uid"] == numbers[:1] * 4, f"the service is {told['Uid']}, not {numbers[0]}"
        for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(told[key][0], 16) == 0, f"the service's {key} is {told[key][0]}"
        assert told["NoNewPrivs"] == ["1"], "the service can gain privileges"


def limits(bench: Bench) -> None:
    unit = bench.up()
    for port in ports(unit):
        unit.serves(port)
        said = unit.text(f"/proc/{unit.process(port)}/limits")
        for key, wanted in (("Max open files", AXES["files"]), ("Max core file size", "0")):
            row = next((r for r in said.splitlines() if r.startswith(key)), "")
            got = row[len(key) :].split()[:2]
            assert got == [wanted] * 2, f"{key}: {got}, not {wanted}"


def read_only(bench: Bench) -> None:
    unit = bench.up()
    name = secrets.token_hex(5)
    for remount in ("", "mount -o remount,rw / 2> /dev/null; "):
        for place in ("/", "/etc/", "/usr/bin/", "/root/"):
            done = unit.run(f"{remount}[ -d {place} ] && echo x > {place}{name}")
            assert done.status != 0, f"{place}{name} can be written ({remount or 'as it is'})"
        for path in ("/etc/os-release", PROGRAM):
            done = unit.run(f"{remount}: >> {path}")
            assert done.status != 0, f"{path} can be written ({remount or 'as it is'})"


def no_setuid(bench: Bench) -> None:
    unit = bench.up()
    said = unit.run(
        "for one in / /usr /bin /sbin /lib /opt /var /etc; do [ -d $one ] && "
        "find $one/. -xdev -type f \\( -perm -4000 -o -perm -2000 \\) 2> /dev/null; done", 240,
    )  # fmt: skip
    assert not said.stdout.strip(), f"with such a bit: {said.stdout.split()[:5]}"


def tmp(bench: Bench) -> None:
    unit, most = bench.up(), int(AXES["tmp"])
    kind, flags = unit.mounted("/tmp")
    assert kind in ("tmpfs", "ramfs"), f"/tmp is {kind}"
    missing = {"nosuid", "nodev", "noexec"} - flags
    assert not missing, f"/tmp is mounted without {sorted(missing)}"
    name = f"/tmp/{secrets.token_hex(4)}"
    try:
        done = unit.run(f"dd if=/dev/zero of={name} bs=64k count={(most - 1) * 16} 2> /dev/null")
        assert done.status == 0, f"/tmp has no room for {most - 1} MiB"
        done = unit.run(f"dd if=/dev/zero of={name} bs=64k count={most * 16 + 8} 2> /dev/null")
        assert done.status != 0, f"/tmp has room for more than {most} MiB"
    finally:
        unit.run(f"rm -f {name}")


def data_flags(bench: Bench) -> None:
    _, flags = bench.up().mounted(MOUNT)
    missing = {"nosuid", "nodev", "noexec"} - flags
    assert not missing, f"{MOUNT} is mounted without {sorted(missing)}"


def kernel_settings(bench: Bench) -> None:
    unit = bench.up()
    for row in AXES["settings"].split():
        key, _, wanted = row.partition("=")
        got = unit.text(f"/proc/sys/{key.replace('.', '/')}").strip()
        assert got == wanted, f"{key} is {got}, not {wanted}"


def modules_locked(bench: Bench) -> None:
    got = bench.up().text("/proc/sys/kernel/modules_disabled").strip()
    assert got == "1", f"kernel.modules_disabled is {got}"


def firewall(bench: Bench) -> None:
    """A program of root's listens, and answers to nobody outside."""
    unit = bench.up()
    for port in ports(unit):
        unit.serves(port)
    place = f"/run/{secrets.token_hex(4)}"
    unit.say(f"mkdir {place}; ({PROGRAM} -p {OTHER_PORT} -d {place} > /dev/null 2>&1 &)")
    try:
        listens = f"grep -qi ': [0-9A-F]*:{OTHER_PORT:04X} 0*:0000 0A' /proc/net/tcp"
        unit.until(lambda: unit.code(listens) == 0, 30, "program that listens")
        text = secrets.token_hex(6)
        got = line_service.exchange(unit.machine.forward(OTHER_PORT), [f"mark {text}"], 6)
        assert not got, f"port {OTHER_PORT} answers from outside: {got}"
        unit.serves()
        again = line_service.exchange(unit.machine.forward(OTHER_PORT), [f"mark {text}"], 6)
        assert mark(text) not in again, f"port {OTHER_PORT} answers from outside: {again}"
    finally:
        stops = "for p in /proc/[0-9]*; do grep -q " + place + " $p/cmdline 2> /dev/null && "
        unit.run(stops + "kill -9 ${p#/proc/}; done")


def no_ipv6(bench: Bench) -> None:
    unit = bench.up()
    unit.serves()
    rows = [row.split() for row in unit.run("cat /proc/net/if_inet6").stdout.splitlines()]
    found = [row[0] for row in rows if len(row) == 6 and row[5] != "lo"]
    assert not found, f"cards have the addresses {found}"
