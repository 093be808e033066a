"""The logbook service as a process of a unit."""

from __future__ import annotations

import re

from scripts import HANG_AT_START, listener
from unit import SERVICE, Unit

from benchflow.bench import login_rules
from benchflow.boot import GuestError

SECONDS = {
    "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800,
    "month": 2629800, "y": 31557600,
}  # fmt: skip


def service_pid(unit: Unit) -> int:
    return int(unit.say(listener(SERVICE)).split()[0])


def is_built_from_the_source(unit: Unit) -> None:
    """Who holds the port is the program of the package, with texts of the source in it."""
    pid = service_pid(unit)
    where = unit.say(f"readlink /proc/{pid}/exe")
    assert where == "/usr/bin/skerryd", f"port {SERVICE} is {where}'s; [R11]: /usr/bin/skerryd"
    program = bytes.fromhex(unit.say("od -An -v -tx1 /usr/bin/skerryd | tr -d ' \\n'"))
    assert program[:4] == b"\x7fELF"
    for text in (b"skerryd: request %.*s", b"device-id", b"will not run as root"):
        assert text in program, f"the program lacks the source's {text!r} [R11]"


def has_no_privileges(unit: Unit) -> None:
    """The service runs alone as its own user, without capabilities or a way to get any."""
    pid = service_pid(unit)
    status = unit.say(f"cat /proc/{pid}/status")
    values = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    users = {int(word) for word in values["Uid"].split()}
    # Below 100 are the accounts of Debian's base, for others' use.
    assert len(users) == 1 and 100 <= min(users) != 65534, f"it runs as {users}; [R12]: its own"
    alike = f"grep -lE '^Uid:.*[[:space:]]{users.pop()}([[:space:]]|$)' /proc/[0-9]*/status; :"
    others = {path.split("/")[2] for path in unit.say(alike).split()} - {str(pid)}
    assert not others, f"its user runs {others} as well; [R12]: a user of its own"
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(values[kind], 16) == 0, f"{kind} is {values[kind].strip()}; [R12]: none"
    strong = {
        row[2] for row in login_rules.rows(unit.say("cat /etc/group"), 4)
        if row[0] in login_rules.STRONG
    }  # fmt: skip
    groups = strong & {*values["Gid"].split(), *values["Groups"].split()}
    assert not groups, f"it is in the groups {groups}, which have root's powers [R6], [R12]"
    gains = values["NoNewPrivs"].strip()
    assert gains == "1", f"no_new_privs is {gains}; [R12]: no means to gain privileges"


def seconds_of(span: str) -> float:
    """A span of time as systemd prints it, such as `1min 30s`."""
    if span == "infinity":
        return float("inf")
    return sum(float(n) * SECONDS[kind] for n, kind in re.findall(r"([\d.]+)([a-z]+)", span))


def may_always_start(unit: Unit) -> None:
    """No number of deaths, however fast, is one too many for systemd."""
    group = unit.say(f"cat /proc/{service_pid(unit)}/cgroup").splitlines()[-1]
    name = group.rsplit("/", 1)[-1]
    if not name.endswith(".service"):  # somebody else starts it, who was asked by BURST
        return
    wanted = ("StartLimitIntervalUSec", "StartLimitBurst", "RestartUSec")
    said = unit.say(f"systemctl show {name} -p {','.join(wanted)}")
    values = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    interval, pause = (seconds_of(values.get(wanted[i], "0")) for i in (0, 2))
    burst = int(values.get(wanted[1], "0"))
    assert not burst or burst * pause >= interval, (
        f"{burst} starts in {interval:.0f} s are enough for systemd to give it up [R14]"
    )


def hangs_at_its_start(unit: Unit) -> None:
    """A process that hangs before it is ready is replaced; its state is good a moment later."""
    said = unit.ssh(HANG_AT_START.format(pid=service_pid(unit)), seconds=240, check=False)
    assert said.status == 0, f"a service that hangs at its start: {said.text.strip()[-300:]} [R15]"


def taken(unit: Unit, key: str, value: str) -> bool | None:
    """True when a record was acknowledged: a service that is starting again has time."""
    try:
        return unit.ask(f"PUT {key} {value}")[0].startswith("OK ") or None
    except GuestError:
        return None
