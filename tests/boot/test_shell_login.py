"""What a login makes of the console of a guest that prints in its own time."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator

import pytest

from benchflow.boot.errors import LoginFailed
from benchflow.boot.machine.guest import Watch
from benchflow.boot.machine.shell import Shell

Reply = Callable[[str], list[tuple[float, str]] | None]


class Guest:
    """Answers what is typed with pieces of text, each some seconds after the one before."""

    def __init__(self, reply: Reply) -> None:
        self.typed: list[str] = []
        self._reply = reply
        self._timers: list[threading.Timer] = []
        self.watch = Watch("fake", 1.0, lambda: None)
        self.watch.running = True
        self.shell = Shell(self.watch, self._send, "root")

    def prints(self, *pieces: tuple[float, str]) -> None:
        moment = 0.0
        for delay, text in pieces:
            moment += delay
            timer = threading.Timer(moment, self.watch.console.feed, [text.encode()])
            self._timers.append(timer)
            timer.start()

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _send(self, text: str) -> None:
        self.typed.append(text)
        self.prints(*(self._reply(text) or _computed(text)))


def _computed(text: str) -> list[tuple[float, str]]:
    sums = [str(int(a) + int(b)) for a, b in re.findall(r"\$\(\((\d+)\+(\d+)\)\)", text)]
    if "printf" in text and sums:
        return [(0, f"\r\n{sums[0]}[\r\n\r\n]{sums[1]}:0:{sums[1]};\r\n")]
    return [(0, f"{number}\r\n") for number in sums]


@pytest.fixture
def guests() -> Iterator[Callable[[Reply], Guest]]:
    made: list[Guest] = []

    def make(reply: Reply) -> Guest:
        made.append(Guest(reply))
        return made[-1]

    yield make
    for guest in made:
        guest.close()


ASKED = {"root\n": [(0.1, "root\r\nPassword: ")]}


def test_last_failed_login_is_no_refusal(guests: Callable[[Reply], Guest]) -> None:
    # Each piece may be all that is there for a moment: a serial port gives byte by byte.
    said = [(0.1, "\r\nLast failed login: "), (0.5, "Mon Nov 23 15:00:00 on ttyS0\r\n# ")]
    guest = guests({**ASKED, "toor\n": said}.get)
    guest.prints((0, "gw login: "))
    guest.shell.log_in("toor", 60)
    assert guest.shell.run("true").status == 0


def test_a_prompt_that_is_on_its_way_is_not_hurried(guests: Callable[[Reply], Guest]) -> None:
    # A newline that comes while `login` is between two prompts is the next name, or its password.
    guest = guests({**ASKED, "toor\n": [(0.1, "\r\n# ")]}.get)
    guest.watch.console.feed(b"gw login: root\r\nPassword: \r\n\r\nLogin incorrect\r\n")
    guest.prints((0.5, "gw login: "))
    guest.shell.log_in("toor", 60)
    assert "\n" not in guest.typed


@pytest.mark.needs("time")
def test_nothing_is_typed_while_a_password_is_looked_at(guests: Callable[[Reply], Guest]) -> None:
    # What is typed then is the next name: the right login after it fails, too.
    said = [(0.1, "\r\n"), (4.0, "Login incorrect\r\ngw login: ")]
    guest = guests({**ASKED, "wrong\n": said}.get)
    guest.prints((0, "gw login: "))
    with pytest.raises(LoginFailed):
        guest.shell.log_in("wrong", 60)
    assert guest.typed == ["root\n", "wrong\n"]


@pytest.mark.needs("time")
def test_a_shell_without_a_prompt_is_asked_in_the_end(
    guests: Callable[[Reply], Guest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchflow.boot.machine.login.CHECKED_SECONDS", 3.0)
    guest = guests({**ASKED, "toor\n": [(0.1, "\r\n")]}.get)
    guest.prints((0, "gw login: "))
    guest.shell.log_in("toor", 60)
    assert guest.shell.run("true").status == 0


@pytest.mark.needs("time")
@pytest.mark.parametrize("space", ["", " "])
def test_words_behind_a_prompt_do_not_hide_it(guests: Callable[[Reply], Guest], space: str) -> None:
    noise = "[   31.415926] e1000: eth0 NIC Link is Up 1000 Mbps\r\n"
    said = {
        "\n": [(0.1, f"\r\ngw login:{space}")],
        "root\n": [(0.1, f"root\r\nPassword:{space}{noise}")],
        "toor\n": [(0.1, "\r\n# ")],
    }
    guest = guests(said.get)
    guest.prints((0, f"gw login:{space}{noise}"))
    guest.shell.log_in("toor", 60)
    assert guest.typed[:3] == ["\n", "root\n", "toor\n"]
