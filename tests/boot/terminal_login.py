"""login(1) as a terminal sees it, in the words that it is given: NAME WORD NO [LATER MOTD PROMPT].

A name is shown, a password is not, and what was typed ahead of it is thrown away, as getpass(3)
does; with LATE in the environment also what was typed up to so many seconds after the prompt, as
BusyBox does; with TAKES the prompt for a password comes so many seconds after the name. `root`
with `toor` gets a shell; LATER, where given, asks for every name but the first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import termios
import time


def say(text: str) -> None:
    os.write(1, os.fsencode(text))


def hidden(prompt: str) -> bytes:
    """A line that the terminal does not show."""
    shown = termios.tcgetattr(0)
    silent = [*shown[:3], shown[3] & ~termios.ECHO, *shown[4:]]
    if late := os.environ.get("LATE"):
        say(prompt)
        time.sleep(float(late))
    termios.tcsetattr(0, termios.TCSAFLUSH, silent)
    if not late:
        time.sleep(float(os.environ.get("TAKES", "0")))
        say(prompt)
    line = os.read(0, 4096)
    termios.tcsetattr(0, termios.TCSAFLUSH, shown)
    return line.strip()


def main() -> None:
    name, word, no, later, motd, prompt = (*sys.argv[1:], "", "", "# ")[:6]
    while True:
        subprocess.run(["stty", "sane"], check=True)
        say(name)
        typed = os.read(0, 4096).strip()
        if not typed:
            continue
        password = hidden(word)
        time.sleep(0.3)
        say("\n")
        if (typed, password) == (b"root", b"toor"):
            say(motd)
            subprocess.run(["dash", "-i"], env={**os.environ, "PS1": prompt}, check=False)
        else:
            say(f"{no}\n\n")
            name = later or name


if __name__ == "__main__":
    main()
