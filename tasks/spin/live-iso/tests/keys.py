"""What is pressed in the menu."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from pc import START_SECONDS, Pc

from benchflow.boot import GuestError

#: What a visitor would get out of a menu that is not locked: a prompt, or an entry's content.
OPENINGS = re.compile(r"grub> ?|(?m:^boot: )|vmlinuz|initrd|linux\s+/|\.linux")
# GRUB: command line, editor; isolinux: edit, prompt; systemd-boot: edit.
ASKS = re.compile(r"(?i)user ?name|password|login")
TRIES = ("c", "e", "\t")
#: Nonsense to a question, in letters that are no key of a menu's: `r` of "visitor" came late once,
#: when the question was over, and chose the rescue.
NAME, WORD = "umuk", "kumuku"


def try_keys(pc: Pc) -> list[str]:
    """Press what opens other menus; returns what of their insides appeared. Then start."""
    pc.menu()
    opened: list[str] = []
    for key in TRIES:
        mark = pc.machine.console.end
        pc.machine.send(key)
        asked = _pause(pc, 1.5, until=lambda mark=mark: ASKS.search(pc.machine.console.since(mark)))
        text = pc.machine.console.since(mark)
        if asked:
            _type(pc, NAME)
            _pause(pc, 0.7)
            _type(pc, WORD)
            _pause(pc, 2.5)
        for _ in range(2):  # back to the menu, which is then drawn anew
            pc.machine.send("\x1b")
            _pause(pc, 2.0)
        if not asked:  # a slow PC draws late, and then nothing was sent but Escape
            text = pc.machine.console.since(mark)
        opened += [f"{key!r}: {found}" for found in OPENINGS.findall(text)]
    for _ in range(3):  # the first entry
        pc.machine.send("\x1b[A")
        _pause(pc, 0.5)
    pc.machine.send("\r")
    return opened


def _type(pc: Pc, word: str) -> None:
    """As a person does. UEFI's console and a boot loader's own driver both read the serial port:
    of letters that come at once each takes some, and they arrive in another order."""
    for letter in f"{word}\r":
        pc.machine.send(letter)
        _pause(pc, 0.2)


def _pause(pc: Pc, seconds: float, until: Callable[[], object] = lambda: None) -> bool:
    """Wait, on a slow or busy host longer; at most until `until` is true. Whether it was."""
    deadline = pc.machine.deadline(seconds)
    while deadline.remaining() > 0:
        if until():
            return True
        time.sleep(0.05)
    return bool(until())


#: [R6]: the menu is there for at least 3 seconds; of the host's clock, by which its PC counts.
LOOK_SECONDS = 1.5


def press_r(pc: Pc) -> int:
    """Press `r` when the menu has been there for a while; where the console then was."""
    pc.menu()
    time.sleep(LOOK_SECONDS)
    mark = pc.machine.console.end
    pc.machine.send("r")
    return int(mark)


def choose_rescue(pc: Pc) -> None:
    """Press `r` once the menu is there; wait for the login."""
    mark = press_r(pc)
    login = re.compile(r"(?<!Last )login: ")
    pc.until(
        lambda: login.search(pc.machine.console.since(mark)), START_SECONDS, "login of the rescue"
    )
    if pc._asked("HELLO", 2.0) is not None:
        raise GuestError("the wall answers in the rescue system")
    pc._down = ""
    pc.start_seconds = pc.machine.elapsed
