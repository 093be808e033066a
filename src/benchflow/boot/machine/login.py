"""From a console's prompt to a shell that has answered: names, passwords, refusals.

English prompts are known by their words. Any other prompt is a line that was begun and stands:
nothing follows it, a name typed there is shown, and the password typed at the next such line is
not. A boot menu shows no name; a line of a service that is starting, or a shell that asked nobody
to log in, shows the password too, and is no login.

Nobody is in for any of that: a shell has to compute (see `shell`).
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable

from benchflow.boot.errors import GuestError, GuestTimeout, LoginFailed
from benchflow.boot.machine.frames import Sum
from benchflow.boot.machine.guest import Watch

ASK_AGAIN = 3.0  # real seconds until the first repeated question to a shell that may not listen
ASK_MAX = 30.0
CHECKED_SECONDS = 15.0  # reference seconds for a password to be looked at, and for the pause after
LOGIN_SECONDS = 30.0  # reference seconds that remain for a login however late its prompt came
# Reference seconds that a line in unknown words has to stand before it counts as a prompt. A
# service may leave its line open while it starts; after a name, nobody has a reason to.
NAME_STANDS = 30.0
PASSWORD_STANDS = 5.0
# Reference seconds between a prompt for a password and the password: some logins (BusyBox's) show
# the prompt first and throw away what was typed until their terminal is silent.
SILENT_SECONDS = 0.5
ECHO_SECONDS = 3.0  # for a terminal to show what is typed
NAMES_MAX = 3  # how often one login types its name at lines in unknown words
_ERASE = "\x15"  # takes back what was typed on this line, at every terminal as it is at first
# Not what comes after a login: "Last login: …", "Last failed login: …".
_LOGIN = re.compile(r"(?:^|\n)[^\n]*(?<!Last )(?<!Last failed )login: ?\Z")
_LOGIN_ANYWHERE = re.compile(r"(?<!Last )(?<!Last failed )login:")
_PASSWORD = re.compile(r"(?:^|\n)[^\n]*[Pp]assword(?: for [^\n]*)?: ?\Z")
# Bounded: in megabytes of such words without an end the search would take hours, uninterruptible.
_PASSWORD_ANYWHERE = re.compile(r"[Pp]assword(?: for [^\n]{0,200})?:")
_REFUSED = re.compile(r"(?i)login incorrect|authentication failure")
_PROMPT = re.compile(r"[#$%>] ?\Z")
_NO_LOGIN = re.compile(r"(?:[#$%]|=>|\bboot:) ?\Z")  # shells; U-Boot, syslinux
# What we typed, as the terminal repeats it.
_ASKED = re.compile(r"^.* stty -echo .*\n?", re.MULTILINE)
_CONTINUED = re.compile(r"(?:^|\n)> \Z")
PRINTK = re.compile(r"^\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? .*\n?", re.MULTILINE)
_PRINTK_BEHIND = re.compile(r"\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? .*(?:\n|\Z)")
# Of which the rest is on its way; and one that was on its way when something was typed behind it.
_PRINTK_HEAD = re.compile(r"^\[[ \d.]*(?:\](?:\[[ TC\d]*\]?)?)?\Z", re.MULTILINE)
_PRINTK_BEGUN = re.compile(r"\[[ \d.]*(?:\][^\n]*)?\Z")


def open_line(text: str) -> str:
    """The last line of `text` where it has words and no end, without what the kernel printed
    behind it; else ""."""
    line = _PRINTK_BEHIND.sub("", text[-1024:]).rpartition("\n")[2]
    # A letter in no UTF-8 is U+FFFD here (console_text).
    has_words = any(each.isalpha() or each == "\N{REPLACEMENT CHARACTER}" for each in line)
    return line if has_words and len(line) <= 200 else ""


class Login:
    """One login of `user` at the console of `watch`; `send` types there."""

    def __init__(self, watch: Watch, send: Callable[[str], None], user: str) -> None:
        self._watch = watch
        self._console = watch.console
        self._send = send
        self._user = user
        self._password: str | None = None
        self._line = ""  # at which the name was typed
        self._guessed = False  # that line is in unknown words
        self._typed_ahead = False  # a name was given to what was no login
        self._stood = (-1, watch.deadline(1.0))  # since when the console's end is where it is

    def answer(self, password: str, timeout: float) -> None:
        """Answer the prompts for a name and a password; returns when a shell has computed.

        Raises LoginFailed when the guest refuses, and what `Watch.wait` raises.
        """
        self._password = password
        began, left = self._watch.deadline(timeout), timeout
        for _ in range(NAMES_MAX):
            self._await_name_prompt(left)
            mark = self._console.end
            self._send("\n" if self._guessed else f"{self._user}\n")
            left = max(LOGIN_SECONDS, timeout - began.used())
            if self._prove(mark, left):
                return
            self._typed_ahead = True
            self._send(_ERASE)
        raise GuestTimeout(
            f"{self._watch.name}: no login prompt within {timeout:g} reference seconds",
            evidence=self._console.tail(),
        )

    def find(self, timeout: float) -> None:
        """Find a shell that listens without a login; raises what `Watch.wait` raises."""
        self._prove(self._console.end, timeout)

    # -- the prompt for a name ------------------------------------------------------------------

    def _await_name_prompt(self, timeout: float) -> None:
        """Wait for it; one in unknown words has the name typed behind it already (`_guessed`)."""
        console, watch = self._console, self._watch
        self._guessed = waited = False
        typed_at, names = -1, 0

        def step() -> bool | None:
            text = console.since(max(watch.boot_start, console.end - 512))
            if _LOGIN.search(text) or (typed_at < 0 and self._is_known(open_line(text))):
                if self._typed_ahead and self._stands() < ECHO_SECONDS:
                    return None  # it takes the name that was typed ahead of it, or none
                if typed_at >= 0:
                    self._send(_ERASE)
                self._line, self._guessed = open_line(text), False
                return True
            self._guessed = typed_at >= 0 and console.since(typed_at) == self._user
            return self._guessed or None

        def retry() -> float:
            # Something was printed over the prompt or behind it (the kernel's words on a network
            # card, a chatty service): a newline brings a fresh one. Never typed before a prompt
            # was seen, because boot menus take newlines too; nor at once, because the prompt may
            # be on its way after a refusal or an exit, and the newline would be the name.
            nonlocal waited, typed_at, names
            stands = self._stands()
            if self._typed_ahead and stands < ECHO_SECONDS:
                return ECHO_SECONDS / 4
            if waited and self._prompted(watch.boot_start):
                self._send("\n")
            elif typed_at >= 0 and stands >= ECHO_SECONDS:
                # It showed no name, or another one. A name that was typed ahead of this login, at a
                # line that was none, is asked for its password.
                self._send(_ERASE + "\n" if self._typed_ahead else _ERASE)
                typed_at = -1
            elif typed_at < 0 and names < NAMES_MAX and stands >= min(NAME_STANDS, timeout / 3):
                self._line = open_line(console.since(max(watch.boot_start, console.end - 1024)))
                if self._line and not _NO_LOGIN.search(self._line):
                    names, typed_at = names + 1, console.end
                    self._send(self._user)
            waited = True
            return ASK_AGAIN

        watch.wait(step, timeout, "login prompt", retry=retry)

    def _is_known(self, line: str) -> bool:
        return bool(line) and line == self._watch.login_line

    def _prompted(self, start: int) -> bool:
        """Whether a known prompt for a name was seen since position `start`."""
        known = self._watch.login_line
        if self._console.search(_LOGIN_ANYWHERE, start):
            return True
        return bool(known) and known in self._console.since(start)

    def _stands(self) -> float:
        """Reference seconds for which nothing was printed, as far as we looked."""
        end = self._console.end
        if self._stood[0] != end:
            self._stood = end, self._watch.deadline(1.0)
        return self._stood[1].used()

    # -- the password, and what comes of it -----------------------------------------------------

    def _prove(self, start: int, timeout: float) -> bool:
        """Find a shell: answer a password prompt once, then question until the answer comes.

        False: what took the name is no login.
        """
        self._start = start
        self._answers: list[str] = []
        self._asked_at = self._hidden_at = -1
        self._given = self._password is None
        self._again = self._no_login = self._printk_begun = False
        self._patience = self._watch.deadline(CHECKED_SECONDS)
        self._pause = ASK_AGAIN / 2
        try:
            found = self._watch.wait(self._step, timeout, "shell", retry=self._retry)
            self._learn(found)
            return found
        except LoginFailed:
            self._learn(True)
            if self._answers:
                self._settle(self._start)
            raise

    def _learn(self, is_login: bool) -> None:
        if is_login and self._guessed:
            self._watch.login_line = self._line

    def _text(self) -> str:
        return self._console.since(max(self._start, self._console.end - 4096))

    def _step(self) -> bool | None:
        console, text = self._console, self._text()
        if self._no_login or self._is_shown():
            return False
        if any(answer in text for answer in self._answers):
            return True
        if (not self._given or self._again) and _PASSWORD.search(text):
            self._give()
            return None
        if self._given and self._password is not None and self._is_refused(text):
            raise self._failed(text)
        may_be_in = self._given or not self._guessed
        prompts = console.end != self._asked_at and _PROMPT.search(_ASKED.sub("", text))
        if may_be_in and prompts:
            self._ask()
        return None

    def _is_shown(self) -> bool:
        """Whether the password that was to be hidden is on the screen, however late."""
        typed = self._password or "x"
        return self._hidden_at >= 0 and self._console.since(self._hidden_at).startswith(typed)

    def _retry(self) -> float:
        stands = self._stands()
        if not self._given and self._console.search(_PASSWORD_ANYWHERE, self._start):
            self._give()
        elif not self._given:
            self._look_for_a_prompt(stands)
        elif self._is_taken_for_a_name():
            if stands >= CHECKED_SECONDS:
                raise self._failed(self._text())
        elif self._came():
            self._ask()
        if self._given:
            self._pause = min(ASK_MAX, self._pause * 2)
        return self._pause if self._given else ASK_AGAIN

    def _failed(self, text: str) -> LoginFailed:
        return LoginFailed(f"{self._watch.name} refused the login of {self._user!r}", evidence=text)

    def _is_refused(self, text: str) -> bool:
        if _REFUSED.search(text) or _LOGIN.search(text):
            return True
        return bool(self._line) and open_line(text) == self._line

    def _give(self, typed: str | None = None) -> None:
        """Type the password, or `typed` where it stands on its line already; and the line's end."""
        if typed is None:
            silent = self._watch.deadline(SILENT_SECONDS)
            while (left := silent.remaining()) > 0:
                time.sleep(left)
        self._given, self._again = True, False
        self._start = self._console.end
        before = self._console.since(max(0, self._start - 200))[: min(200, self._start)]
        self._printk_begun = bool(_PRINTK_BEGUN.search(before))
        self._patience = self._watch.deadline(CHECKED_SECONDS)
        self._send(f"{self._password if typed is None else typed}\n")

    def _look_for_a_prompt(self, stands: float) -> None:
        """Give the password where a line in unknown words asks for it.

        At a prompt for a name that was a guess too, only where what is typed is not shown.
        """
        text = self._text()
        line = open_line(text) if "\n" in text else ""
        if self._hidden_at >= 0:
            if stands >= ECHO_SECONDS:
                self._give("" if self._password else _ERASE)
        elif not self._guessed:
            if _LOGIN.search(text):
                self._no_login = stands >= ECHO_SECONDS  # the name was lost: it asks for one again
            elif line and stands >= PASSWORD_STANDS and not self._answers:
                self._give()
                self._again = True
        elif _LOGIN.search(text) or line == self._line:
            self._no_login = stands >= ECHO_SECONDS
        elif line and stands >= PASSWORD_STANDS and not _NO_LOGIN.search(line):
            self._hidden_at = self._console.end
            self._send(self._password or "x")

    def _came(self) -> bool:
        """Whether something answered the password."""
        # A bare newline is only the end of the password, a terminal whose echo is not off yet
        # repeats it, and the kernel talks at any time: it is being looked at, for some seconds
        # when it is wrong, and a question typed meanwhile would be the next name.
        if self._password is None:
            return True
        text = self._text().lstrip(" ")  # of the prompt itself, where it was cut in two
        if self._printk_begun:
            text = text.partition("\n")[2]
        text = _ASKED.sub("", _PRINTK_HEAD.sub("", PRINTK.sub("", text))).strip()
        rest = text.replace(self._password, "", 1).strip()
        if not self._password.startswith(text) and rest:
            return True
        return self._console.end > self._start and self._patience.remaining() <= 0

    def _ask(self) -> None:
        answer = Sum()
        self._answers.append(answer.value)
        # The head of an earlier question may have been lost and what is left of it may wait
        # for its end; no quotes in here, so that it has one, and an interrupt where it shows.
        late = self._answers[1:] and _CONTINUED.search(self._console.tail(8))
        self._send(
            f"{chr(3) if late else ''} stty -echo 2>/dev/null; PS1= PS2=; echo {answer.typed}\n"
        )
        self._again = False
        self._asked_at = self._console.end
        self._patience = self._watch.deadline(CHECKED_SECONDS)

    def _is_taken_for_a_name(self) -> bool:
        """Whether the question is shown, and behind it a line in unknown words waits for more: the
        password was refused, and this asks for that of the next name."""
        if self._password is None or not self._answers:
            return False
        question, _, behind = self._console.since(self._asked_at).partition("\n")
        waits = bool(open_line(behind)) and not _PROMPT.search(behind)
        return waits and "stty -echo" in question

    def _settle(self, start: int) -> None:
        """Get rid of a question that was typed before the refusal, which is the next name now.

        Else the next name would answer to its `Password:`, or the next password be for it.
        """
        with contextlib.suppress(GuestError):
            what = "answer to a question as name"
            self._await(_PASSWORD_ANYWHERE, start, CHECKED_SECONDS, what)
            start = self._console.end
            self._send("\n")
            self._await(_LOGIN_ANYWHERE, start, LOGIN_SECONDS, "login prompt")
            if not self._console.search(_LOGIN_ANYWHERE, start):
                self._watch.login_line = open_line(self._text())

    def _await(self, pattern: re.Pattern[str], start: int, timeout: float, what: str) -> None:
        """Wait for a prompt: by its words, or by how long it stands where they are unknown."""

        def step() -> bool | None:
            if self._console.search(pattern, start):
                return True
            line = open_line(self._console.since(start))
            unknown = line and line != self._line and not _LOGIN.search(line)
            return True if unknown and self._stands() >= PASSWORD_STANDS else None

        self._watch.wait(step, timeout, what, retry=lambda: 1.0)
