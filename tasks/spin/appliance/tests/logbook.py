"""The logbook service as a process of a unit."""

from __future__ import annotations

from scripts import listener
from unit import SERVICE, Unit

from benchflow.boot import GuestError


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
    gains = values["NoNewPrivs"].strip()
    assert gains == "1", f"no_new_privs is {gains}; [R12]: no means to gain privileges"


def taken(unit: Unit, key: str, value: str) -> bool | None:
    """True when a record was acknowledged: a service that is starting again has time."""
    try:
        return unit.ask(f"PUT {key} {value}")[0].startswith("OK ") or None
    except GuestError:
        return None
