"""What is pressed in the menu."""

from __future__ import annotations

import re
import time

from pc import START_SECONDS, Pc

from benchflow.boot import GuestError

#: What a visitor would get out of a menu that is not locked: a prompt, or an entry's content.
OPENINGS = re.compile(r"grub> ?|(?m:^boot: )|vmlinuz|initrd|linux\s+/|\.linux")
# GRUB: command line, editor; isolinux: edit, prompt; systemd-boot: edit.
ASKS = re.compile(r"(?i)user ?name|password|login")
TRIES = ("c", "e", "\t")


def try_keys(pc: Pc) -> list[str]:
    """Press what opens other menus; returns what of their insides appeared. Then start."""
    pc.menu()
    opened: list[str] = []
    for key in TRIES:
        mark = pc.machine.console.end
        pc.machine.send(key)
        time.sleep(1.5)
        text = pc.machine.console.since(mark)
        asked = ASKS.search(text)
        if asked:  # give nonsense
            pc.machine.send("visitor\r")
            time.sleep(0.7)
            pc.machine.send("nonsense\r")
            time.sleep(2.5)
        for _ in range(2):  # back to the menu, which is then drawn anew
            pc.machine.send("\x1b")
            time.sleep(2.0)
        if not asked:  # a slow PC draws late, and then nothing was sent but Escape
            text = pc.machine.console.since(mark)
        opened += [f"{key!r}: {found}" for found in OPENINGS.findall(text)]
    for _ in range(3):  # the first entry
        pc.machine.send("\x1b[A")
        time.sleep(0.5)
    pc.machine.send("\r")
    return opened


def choose_rescue(pc: Pc) -> None:
    """Press `r` once the menu is there; wait for the login."""
    pc.menu()
    mark = pc.machine.console.end
    pc.machine.send("r")
    login = re.compile(r"(?<!Last )login: ")
    pc.until(
        lambda: login.search(pc.machine.console.since(mark)), START_SECONDS, "login of the rescue"
    )
    if pc._asked("HELLO", 2.0) is not None:
        raise GuestError("the wall answers in the rescue system")
    pc._down = ""
    pc.start_seconds = pc.machine.elapsed
