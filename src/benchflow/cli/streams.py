"""The three streams of the command, whatever state they were handed over in."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def settle() -> None:
    """Make every stream one that can be used: a closed one leads nowhere (else the next file that
    is opened would take its number, and get what was meant for it), and none refuses a character.
    """
    _speak_utf8()
    closed = [number for number in (0, 1, 2) if _is_closed(number)]
    for number in closed:
        os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)  # the lowest that is free
    if 1 in closed or sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if 2 in closed or sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    if 1 in closed and 2 not in closed:
        print("note: standard output is closed, so nothing is shown", file=sys.stderr)


def _speak_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale knows less: files are written and paths
    read in it by everybody, whatever the terminal shows."""
    if sys.getfilesystemencoding() == "utf-8" or os.environ.get("PYTHONUTF8") == "1":
        return
    shown = sys.stdout.encoding if sys.stdout is not None else "ascii"
    os.environ.setdefault("PYTHONIOENCODING", shown)
    os.environ["PYTHONUTF8"] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def takes_all(stream: TextIO) -> bool:
    """Whether a stream has a character for everything."""
    return (stream.encoding or "").lower().replace("-", "") in ("utf8", "utf16", "utf32")


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False
