"""Demands of what a unit tells of itself."""

from __future__ import annotations

import time

from bench import Bench
from ordered import AXES, has, read_form
from unit import START, Unit, new_mac

from benchflow.boot import GuestTimeout


def banner(bench: Bench) -> None:
    unit = bench.unit
    bench.off()
    unit.machine.boot()
    mark = unit.machine.console.end
    unit.machine.expect(r"login:", timeout=START)
    lines = [row.strip() for row in unit.machine.console.since(max(0, mark - 2000)).splitlines()]
    place = [at for at, row in enumerate(lines) if row.endswith("login:")]
    wanted = f"{AXES['product']} {AXES['version']}"
    assert wanted in lines[: place[-1]] if place else False, f"no line {wanted!r} above login:"
    unit.enter()


def ready_line(bench: Bench) -> None:
    unit, line = bench.unit, AXES["ready"]
    bench.off()
    mark = unit.machine.console.end
    unit.machine.boot()
    deadline = unit.machine.deadline(START)

    def said() -> int:
        return unit.machine.console.since(mark).count(line)

    while True:
        before = said()
        if before:
            try:
                unit.ask("count", seconds=15)
            except GuestTimeout:
                raise AssertionError(f"the console says {line}, and nobody answers") from None
            break
        if unit.tries("count", wait=10):
            break
        assert deadline.remaining() > 0, "the service does not answer"
    late = unit.machine.deadline(15)
    while not said():
        assert late.remaining() > 0, f"the console does not say {line}"
        time.sleep(0.2)
    time.sleep(4)
    assert said() == 1, f"the console says {line} {said()} times"
    unit.enter()


def told(unit: Unit) -> dict[str, str]:
    done = unit.run(f"cat {AXES['status']}")
    return read_form(done.stdout) if done.status == 0 else {}


def comes_to_say(unit: Unit, seconds: float = 20, **wanted: str) -> None:
    found: dict[str, str] = {}

    def right() -> bool:
        found.clear()
        found.update(told(unit))
        return all(found.get(key) == value for key, value in wanted.items())

    try:
        unit.until(right, seconds + 10, "status")
    except GuestTimeout:
        raise AssertionError(f"{AXES['status']} says {found}, not {wanted}") from None


def status_file(bench: Bench) -> None:
    unit = bench.up()
    unit.serves()
    address = AXES["net"].split()[1] if has("static") else "10.0.2.15"
    comes_to_say(unit, version=AXES["version"], service="up", address=address)
    if has("hang"):
        return
    number = unit.process()
    unit.say(f"kill -STOP {number}")
    try:
        comes_to_say(unit, service="down")
    finally:
        unit.say(f"kill -CONT {number}")
    comes_to_say(unit, service="up")


def named(unit: Unit) -> str:
    return unit.text("/proc/sys/kernel/hostname").strip()


def hostname(bench: Bench) -> None:
    unit = bench.up()
    for again in (False, True):
        if again:
            unit = bench.moved(unit.with_(mac=new_mac())).start()
        wanted = f"{AXES['prefix']}-{unit.hardware.mac.replace(':', '')[6:]}"
        assert named(unit) == wanted, f"the host name is {named(unit)!r}, not {wanted!r}"
