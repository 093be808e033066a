"""Keys on the serial line, and what the shell says of the program that they went to."""

from __future__ import annotations

import re
import secrets
import time

import draws


def after_key(unit, command: str, key: str) -> int:
    """What the shell says of a program in the foreground after a key."""
    begun = 10_000 + secrets.randbelow(80_000)
    unit.write("/tmp/begun", f"#!/bin/sh\necho begun-$(({begun - 1}+1))\nexec {command}\n")
    unit.say("chmod 755 /tmp/begun")
    mark = unit.machine.console.end
    unit.machine.send(" /tmp/begun\n")
    heard(unit, mark, f"begun-{begun}", 20)
    unit.machine.send(key)
    for _ in range(10):  # what a terminal has of a line when the key comes is thrown away
        unit.machine.send(" echo status-$((4000+$?))-\n")
        if found := heard(unit, mark, r"status-(4\d\d\d)-", 2):
            return int(found[1]) - 4000
    unit.machine.send("\x1c")
    return -1


def heard(unit, mark: int, pattern: str, seconds: float) -> re.Match[str] | None:
    """The words, as soon as they are on the console."""
    deadline = unit.machine.deadline(seconds)
    while deadline.remaining() > 0:
        if found := re.search(pattern, unit.machine.console.since(mark)):
            return found
        time.sleep(0.1)
    return None


def state(unit, number: str) -> str:
    return unit.say(f"sed -n 's/^State:[^A-Z]*//p' /proc/{number}/status")[:1]


def lines(unit, rng) -> list[tuple[str, str, str]]:
    """(what a program had of it, what is due, what it is) of keys in lines, and as they come."""
    word, few = draws.word(rng), draws.word(rng, 2)
    mark = unit.machine.console.end
    unit.machine.send(" probe typed\n")
    heard(unit, mark, "ready-line", 20)
    unit.machine.send(f"no\x15{word[:5]}x\x7f{word[5:]}\n")
    heard(unit, mark, "ready-keys", 20)
    unit.machine.send(f"{few}\x03\r")
    heard(unit, mark, "typed-over", 20)
    said = unit.machine.console.since(mark)
    found = {name: re.search(rf"{name} (\w+)", said) for name in ("line", "keys", "none", "ttin")}
    got = {name: match[1] if match else "" for name, match in found.items()}
    return [
        (got["line"], f"{word}\n".encode().hex(), "a line, with keys that take back"),
        (got["keys"], f"{few}\x03\r".encode().hex(), "keys as they come"),
        (got["none"], "none", "a reader that waits no longer than it said"),
        (got["ttin"], "stopped", "a reader in the background"),
    ]
