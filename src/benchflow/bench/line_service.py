"""A service that answers a line with a line, asked through a forwarded port."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Sequence

from benchflow.boot import GuestTimeout, Machine

#: Longest answer that is read.
LINE_MAX = 8192


def ask(
    machine: Machine, port: int, *lines: str, seconds: float = 30, wait: float = 15
) -> list[str]:
    """One answer for each of `lines`, over one connection; all tried again while it starts.

    `wait`: what one try may take, in real seconds. Raises GuestTimeout after `seconds` (reference),
    or at once when the machine is off.
    """
    deadline = machine.deadline(seconds)
    while True:
        answers = exchange(machine.forward(port), lines, wait)
        if len(answers) == len(lines):
            return answers
        if deadline.remaining() <= 0 or not machine.alive:
            raise GuestTimeout(
                f"{machine.name}: port {port}: {len(answers)} answers to {list(lines[:3])}"
            )
        time.sleep(0.5)


def exchange(address: tuple[str, int], lines: Sequence[str], seconds: float) -> list[str]:
    """The answers that came to `lines`, each sent when the one before was answered.

    Nothing is raised: whatever ends the conversation within `seconds` (real ones) leaves a list
    that is too short. An answer longer than LINE_MAX, or without its end, is none.
    """
    answers: list[str] = []
    end = time.monotonic() + seconds
    with (
        contextlib.suppress(OSError),
        socket.create_connection(address, seconds) as link,
        link.makefile("rb") as replies,
    ):
        for line in lines:
            link.settimeout(max(0.1, end - time.monotonic()))
            link.sendall(line.encode() + b"\n")
            reply = replies.readline(LINE_MAX)
            if not reply.endswith(b"\n"):
                break
            answers.append(reply[:-1].decode(errors="replace"))
    return answers
