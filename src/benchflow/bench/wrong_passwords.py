"""Logins that have to be refused: no password, and words that are near the right one."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from contextlib import suppress

from benchflow.boot import CheckMisuse, LoginFailed, Machine


def near(password: str) -> list[str]:
    """No password, its first eight letters (all that an old hash looks at), one letter more, the
    other case, and a word that nobody knows. None of them is `password`."""
    words = ("", password[:8], f"{password}1", password.swapcase(), secrets.token_hex(5))
    return [word for word in dict.fromkeys(words) if word != password]


def let_in(machine: Machine, user: str, words: Iterable[str], timeout: float = 60) -> list[str]:
    """Those of the words with which the user is let in at the console's login.

    A session that is open is closed before, and none is left open. `timeout`: reference seconds
    for each login.
    """
    found = []
    for word in words:
        with suppress(CheckMisuse):  # nobody is logged in
            machine.shell.close()
        try:
            machine.login(user, word, timeout=timeout)
        except LoginFailed:
            continue
        found.append(word)
    with suppress(CheckMisuse):
        machine.shell.close()
    return found
