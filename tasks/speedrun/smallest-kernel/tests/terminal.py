"""Keys on the serial line, and what the shell says of the program that they went to."""

from __future__ import annotations

import re
import secrets
import time


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
