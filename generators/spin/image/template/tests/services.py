"""Demands of the services: how they are kept up, ended and heard."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from bench import Bench
from ordered import AXES, FOLDERS, MOUNT, SECOND_PORT, SSH_PORT, has
from system import ports
from unit import Unit

from benchflow.bench.ssh_client import SshClient
from benchflow.boot import GuestTimeout, Machine

#: Reference seconds: what a check adds to a demand's own, for its own steps.
_MARGIN = 10


def second(bench: Bench) -> None:
    unit = bench.up()
    unit.serves(SECOND_PORT)
    mine, other = unit.store(2), unit.store(2, SECOND_PORT)
    unit.knows(other, SECOND_PORT, "the second service")
    (got,) = unit.ask(f"get {next(iter(other))}")
    assert got == "none", "the first service knows what the second was told"
    said = unit.text(f"{FOLDERS['second']}/records")
    assert all(key in said for key in other), f"{FOLDERS['second']}/records lacks some"
    unit.cut_and_start()
    unit.knows(mine, what="after the power went")
    unit.knows(other, SECOND_PORT, "the second service, after the power went")


# -- kept up --------------------------------------------------------------------------------------


def killed(unit: Unit, port: int, seconds: float, signal: str = "9") -> None:
    """A service that ends is there again in time."""
    before = unit.process(port)
    unit.say(f"kill -{signal} {before}")
    deadline = unit.machine.deadline(seconds)
    while unit.run(f"[ -e /proc/{before} ]").status == 0 and deadline.remaining() > 0:
        time.sleep(0.2)
    unit.serves(port, seconds + _MARGIN)
    assert unit.process(port) != before, f"the service did not end by signal {signal}"


def restart(bench: Bench) -> None:
    unit = bench.up()
    boots = unit.machine.boots
    for port in ports(unit):
        unit.serves(port)
        for signal in ("9", "9", "15", "9"):
            killed(unit, port, 15, signal)
    assert unit.machine.boots == boots, "the unit restarted"


def deaths(bench: Bench) -> None:
    """One less than the number does nothing; one more restarts the unit. What the guest's own
    clock had a minute for counts; a host that was too slow for it is tried again."""
    unit, most = bench.up(), int(AXES["deaths"])
    unit.serves()
    for _ in range(3):
        start = _uptime(unit)
        boots = unit.machine.boots
        for number in range(most):
            if number == most - 1 and _uptime(unit) - start > 50:
                break  # not within a minute
            last = unit.process()
            if number < most - 1:
                killed(unit, unit.port, 5)
                assert unit.machine.boots == boots, f"the unit restarted after {number + 1}"
                continue
            unit.machine.send(f"kill -9 {last}\n")
            unit.starts_by_itself(boots, 60, f"the service had ended {most} times")
            unit.serves()
            return
        time.sleep(62)
    raise AssertionError(f"the service did not end {most} times within a minute")


def _uptime(unit: Unit) -> float:
    return float(unit.text("/proc/uptime").split()[0])


def hang(bench: Bench) -> None:
    unit = bench.up()
    for port in ports(unit):
        unit.serves(port)
    before = {port: unit.process(port) for port in ports(unit)}
    rows = unit.store(1)
    unit.say(f"kill -STOP {' '.join(before.values())}")
    for port, number in before.items():
        unit.serves(port, 120 + _MARGIN)
        assert unit.process(port) != number, "the service that hung is there still"
    unit.knows(rows, what="after it was replaced")


# -- ended ----------------------------------------------------------------------------------------


def button(bench: Bench) -> None:
    unit = bench.up()
    unit.serves()
    rows = unit.store(2)
    assert unit.machine.shutdown(60), "the power button does not switch the unit off"
    unit.start()
    unit.knows(rows, what="after the power button")


def closed(bench: Bench, what: str, count: int) -> None:
    """What the services leave when they could close their books; the unit is off."""
    files = bench.data()
    for name in ("main", "second")[:count]:
        path = f"{FOLDERS[name].removeprefix(MOUNT)}/closed"
        assert files.exists(path), f"{what}: {MOUNT}{path} is not there"


def closes(bench: Bench) -> None:
    unit = bench.up()
    unit.serves()
    both = ports(unit)
    unit.store(1)
    unit.go_off()
    closed(bench, "after poweroff", len(both))
    unit.start()
    for port in both:
        unit.serves(port)
    if has("button") and unit.machine.shutdown(60):
        closed(bench, "after the power button", len(both))
        unit.start()


def panic(bench: Bench) -> None:
    unit = bench.up()
    for key, wanted in (("panic", AXES["panic"]), ("panic_on_oops", "1")):
        got = unit.text(f"/proc/sys/kernel/{key}").strip()
        assert got == wanted, f"kernel.{key} is {got}, not {wanted}"
    rows = unit.store(1)
    before = unit.machine.boots
    unit.machine.send("echo c > /proc/sysrq-trigger\n")
    unit.starts_by_itself(before, int(AXES["panic"]) + 40, "a panic")
    unit.knows(rows, what="after a panic")


# -- heard ----------------------------------------------------------------------------------------


def logged(unit: Unit, folder: str, keys: list[str], what: str) -> None:
    """The last 50 lines are there soon, and all of it is no more than it may be."""
    marks = {f"put.{key[:16]}" for key in keys[-50:]}
    said: list[str] = [""]
    grep = f"cat $(find {folder} -type f) 2> /dev/null | grep -c -e {' -e '.join(marks)}"

    def there() -> bool:
        said[0] = unit.run(grep, 60).stdout.strip()
        return said[0].isdigit() and int(said[0]) >= len(marks)

    try:
        unit.until(there, 20, "log")
    except GuestTimeout:
        raise AssertionError(f"{what}: {said[0]} of the last 50 lines are in {folder}") from None
    size = unit.say(f"cat $(find {folder} -type f) | wc -c")
    assert int(size) <= int(AXES["log"]) << 10, f"{what}: {folder} has {size} bytes"


def speaks(unit: Unit, count: int) -> list[str]:
    """Records with long keys, which the service tells of."""
    keys = [f"{secrets.token_hex(8)}{'x' * 180}" for _ in range(count)]
    for at in range(0, count, 100):
        got = unit.ask(*(f"put {key} v" for key in keys[at : at + 100]), seconds=240)
        assert set(got) == {"ok"}, f"put was answered by {sorted(set(got))}"
    return keys


def log_kept(bench: Bench) -> None:
    unit, folder = bench.up(), f"{MOUNT}/log"
    unit.serves()
    keys = speaks(unit, 60)
    logged(unit, folder, keys, "after 60 records")
    unit.restart()
    logged(unit, folder, keys, "after a restart")
    keys = speaks(unit, int(AXES["log"]) * 7)
    logged(unit, folder, keys, f"after {len(keys)} records")


def log_memory(bench: Bench) -> None:
    unit, folder = bench.up(), "/run/log"
    unit.serves()
    keys = speaks(unit, 60)
    logged(unit, folder, keys, "after 60 records")
    keys = speaks(unit, int(AXES["log"]) * 7)
    logged(unit, folder, keys, f"after {len(keys)} records")
    unit.say("sync")
    found = in_file(bench.disk(), f"put {keys[-1][:16]}".encode())
    assert not found, "what the service said is on the disk"


def in_file(path: Path, text: bytes) -> bool:
    tail = b""
    with path.open("rb") as file:
        while piece := file.read(1 << 22):
            if text in tail + piece:
                return True
            tail = piece[-len(text) :]
    path.unlink()
    return False


# -- SSH ------------------------------------------------------------------------------------------


def client(bench: Bench, machine: Machine, known: str = "known") -> SshClient:
    folder = bench.work / "ssh"
    key = Path(__file__).with_name("operator_key")
    return SshClient(machine, key, folder, port=SSH_PORT, known=bench.work / known)


def host_keys(bench: Bench) -> dict[str, str]:
    found = client(bench, bench.unit.machine).host_keys()
    assert found, "the SSH server shows no host key"
    return found


def ssh(bench: Bench) -> None:
    unit, user = bench.up(), AXES["operator"]
    unit.serves()
    one = client(bench, unit.machine)
    unit.until(one.greets, 60, "SSH server")
    first, other = secrets.randbelow(10**6), secrets.randbelow(10**6)
    said = one.run(user, f"echo $(({first} + {other}))", 90)
    assert said.text.strip() == str(first + other), f"{user} gets no shell: {said.text[-200:]!r}"
    for name in (user, "root", "nobody"):
        methods = one.offered(name, 90)
        assert methods == ["publickey"], f"{name} is offered {methods}"
    assert one.run("root", "true", 90).status, "root is let in over SSH"
    keys = host_keys(bench)
    unit.cut_and_start()
    unit.until(client(bench, unit.machine).greets, 90, "SSH server")
    assert host_keys(bench) == keys, "the host key is another after a start"
    unit = bench.fresh()
    unit.until(client(bench, unit.machine).greets, 90, "SSH server")
    assert not {*host_keys(bench).values()} & {*keys.values()}, "another unit has the same host key"
