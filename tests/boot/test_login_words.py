"""A login in any words: a real terminal on which a script asks, and what it is not fooled by."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from benchflow.boot.errors import GuestTimeout, LoginFailed
from benchflow.boot.machine.guest import Watch
from benchflow.boot.machine.shell import Shell

pytestmark = pytest.mark.needs("time")  # prompts are waited for

LOGIN = (sys.executable, str(Path(__file__).with_name("terminal_login.py")))
RUSSIAN = [os.fsdecode(text.encode("koi8-r")) for text in ("gw логин: ", "Пароль: ", "Нет")]
WORDS = {
    "german": ("gw Anmeldung: ", "Passwort: ", "Anmeldung fehlgeschlagen"),
    "chinese": ("gw 登录：", "密码：", "登录不正确"),
    "russian, no UTF-8": tuple(RUSSIAN),
    "other words": ("Who are you? ", "Say friend and enter ", "No."),
    "half English": ("User name: ", "Password: ", "Sorry."),
    "debian": ("gw login: ", "Passwort: ", "Anmeldung falsch"),
}


class Terminal:
    """A program on a terminal of this host, as a guest's console would show it."""

    def __init__(self, *command: str) -> None:
        self._child = pexpect.spawn(command[0], list(command[1:]))
        self.typed = ""
        self.watch = Watch("local", 1.0, lambda: None)
        self.watch.running = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def login(self, password: str, timeout: float = 20) -> Shell:
        shell = Shell(self.watch, self._send, "root")
        shell.log_in(password, timeout)
        return shell

    def close(self) -> None:
        self._child.kill(signal.SIGKILL)
        with contextlib.suppress(pexpect.ExceptionPexpect):  # a busy host may take its time
            self._child.close(force=True)
        self._reader.join(10)

    @property
    def text(self) -> str:
        return self.watch.console.text

    def _send(self, text: str) -> None:
        self.typed += text
        self._child.send(text)

    def _read(self) -> None:
        try:
            while data := os.read(self._child.child_fd, 65536):
                self.watch.console.feed(data)
        except OSError:
            return  # the terminal was closed


Open = Callable[..., Terminal]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """`terminal(*command)`, with less patience than for a guest that boots."""
    for name, seconds in {
        "ASK_AGAIN": 0.5,
        "NAME_STANDS": 1.2,
        "PASSWORD_STANDS": 0.6,
        "ECHO_SECONDS": 0.6,
        "CHECKED_SECONDS": 2.0,
        "LOGIN_SECONDS": 4.0,
    }.items():
        monkeypatch.setattr(f"benchflow.boot.machine.login.{name}", seconds)
    opened: list[Terminal] = []

    def start(*command: str) -> Terminal:
        opened.append(Terminal(*command))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.mark.parametrize("words", WORDS)
def test_a_login_in_any_words(terminal: Open, words: str) -> None:
    console = terminal(*LOGIN, *WORDS[words])
    with pytest.raises(LoginFailed):
        console.login("wrong")
    shell = console.login("toor")
    assert shell.run("echo in").stdout == "in\n"
    shell.close()
    assert console.login("toor").run("echo again").stdout == "again\n"


def test_a_login_that_asks_in_other_words_the_second_time(terminal: Open) -> None:
    # Debian in German: getty asks for the first name and knows no German, login for the next.
    console = terminal(*LOGIN, "gw login: ", "Passwort: ", "Anmeldung falsch", "gw Anmeldung: ")
    with pytest.raises(LoginFailed):
        console.login("wrong")
    assert console.login("toor").run("echo in").stdout == "in\n"


def test_words_between_the_password_and_the_shell(terminal: Open) -> None:
    motd = "Letzte Anmeldung: Freitag\nSie haben Post: "
    console = terminal(*LOGIN, "Benutzer: ", "Passwort: ", "Nein.", "", motd, "λ ")
    assert console.login("toor").run("echo in").stdout == "in\n"


def test_a_kernel_that_talks_behind_the_prompts_does_not_hide_them(terminal: Open) -> None:
    noise = "[   31.415926] e1000: eth0 NIC Link is Up 1000 Mbps\n"
    console = terminal(*LOGIN, f"Benutzer: {noise}", f"Kennwort: {noise}", "Nein.")
    assert console.login("toor").run("echo in").stdout == "in\n"


@pytest.mark.parametrize("takes", ["0", "0.3"])
@pytest.mark.parametrize("words", ["debian", "german"])
def test_a_service_that_takes_its_time_is_no_login(
    terminal: Open, monkeypatch: pytest.MonkeyPatch, words: str, takes: str
) -> None:
    """It leaves its line open for long enough to look like a prompt, and shows what is typed.

    The name was typed there with its line's end, which no terminal takes back: the login gets it,
    at once or a moment later, and an empty password for it may be refused. Once, and the password
    is typed at no prompt for a name.
    """
    monkeypatch.setenv("TAKES", takes)
    slow = 'for each in 2.5 1.6; do printf "Starting services: "; sleep $each; echo OK; done'
    console = terminal("dash", "-c", f'{slow}; exec "$@"', "dash", *LOGIN, *WORDS[words])
    assert console.login("toor", 60).run("echo in").stdout == "in\n"
    assert console.text.count(WORDS[words][2]) <= 1
    assert f"{WORDS[words][0]}toor" not in console.text


OPEN_SHELLS = {
    "plain": 'PS1="# " dash -i',
    "odd": 'PS1="λ " dash -i',
    "as if it asked": r"""PS1='\nPasswort: ' dash -i""",
    "a clock": "PS1='$(date +%N) Benutzer: ' dash -i",
}


@pytest.mark.parametrize(("shell", "password"), [*zip(OPEN_SHELLS, ["toor", ""] * 2, strict=True)])
def test_a_shell_that_asked_nobody_is_no_login(terminal: Open, shell: str, password: str) -> None:
    console = terminal("dash", "-c", OPEN_SHELLS[shell])
    with pytest.raises(GuestTimeout):
        console.login(password, 6)
    assert "stty -echo" not in console.typed


MENUS = {
    "shows nothing": "stty -echo -icanon; printf 'Choose: '; while :; do dd bs=1 count=1; done",
    "shows stars": (
        "stty -echo -icanon; printf 'Passphrase: '; "
        "while :; do dd bs=1 count=1 >/dev/null 2>&1; printf '*'; done"
    ),
    "syslinux": "printf 'boot: '; cat",
    "u-boot": "printf '=> '; cat",
}


@pytest.mark.parametrize("menu", MENUS)
def test_no_line_is_sent_to_what_shows_no_name(terminal: Open, menu: str) -> None:
    """A boot menu that waits for a key would go on with it."""
    console = terminal("dash", "-c", MENUS[menu])
    with pytest.raises(GuestTimeout):
        console.login("toor", 5)
    assert "\n" not in console.typed


RANDOM = """\
import os, random, sys, time
draw = random.Random(int(sys.argv[1]))
words = ["root", "gw Anmeldung: ", "Passwort: ", "login: ", "\\n", "# ", "toor", "OK\\n", "é", "42"]
os.system("stty -echo" if draw.random() < 0.5 else "stty echo")
while True:
    os.write(1, draw.choice(words).encode())
    time.sleep(draw.choice([0, 0, 0.1, 3]))
"""


@pytest.mark.parametrize("seed", range(2))
def test_a_guest_that_prints_at_random_lets_nobody_in_and_is_given_up(
    terminal: Open, seed: int
) -> None:
    console = terminal(sys.executable, "-c", RANDOM, str(seed))
    with pytest.raises((GuestTimeout, LoginFailed)):
        console.login("toor", 8)
    assert len(console.typed) < 2000


def test_a_password_is_typed_once_the_terminal_is_silent(
    terminal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LATE", "0.3")
    opened = terminal(*LOGIN, "gw login: ", "Password: ", "Login incorrect")
    assert opened.login("toor").run("echo in").stdout == "in\n"
