"""A shell on a hostile serial console.

Nothing that answers is believed for its looks. A command is framed by three numbers that the
guest's shell has to compute: we type sums of random numbers, and look for the results, which are
never typed. So neither an echo, nor a forged prompt, nor text prepared before the question can
pass for an answer. (A guest that runs a real shell with false programs in it can of course lie
about what those programs would say: see docs/boot.md for what to ask of such a guest.)

Works with bash, dash and busybox ash; needs nothing but built-ins for `run` and `write_file`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

from benchflow.boot.errors import (
    CheckMisuse,
    CommandFailed,
    CommandTimeout,
    ConsoleFlood,
    GuestError,
    GuestTimeout,
    ShellBroken,
)
from benchflow.boot.machine.frames import Apart, ApartFrame, Frame, Result, Sum, quote, typeable
from benchflow.boot.machine.guest import Watch
from benchflow.boot.machine.login import PRINTK, Login

LINE_MAX = 600  # busybox edits lines of up to 1024 bytes, a tty drops what exceeds 4096
WRITE_CHUNK = 512
INTERRUPT, QUIT = "\x03", "\x1c"  # the terminal's keys, as every tty has them at first


class Shell:
    """One session. Obtained from `Machine.login` or `Machine.attach`."""

    def __init__(self, watch: Watch, send: Callable[[str], None], user: str) -> None:
        self.user = user
        self._watch = watch
        self._console = watch.console
        self._send = send
        self._resets = watch.resets
        self._broken = ""
        self._reader = ""

    # -- beginning and end ----------------------------------------------------------------------

    def log_in(self, password: str, timeout: float) -> None:
        """Answer the prompts for a name and a password, and prove that a shell is there."""
        Login(self._watch, self._send, self.user).answer(password, timeout)
        self._begin()

    def take(self, timeout: float) -> None:
        """Prove that a shell listens on the console, without a login."""
        Login(self._watch, self._send, self.user).find(timeout)
        self._begin()

    @property
    def over(self) -> bool:
        """Whether this session has ended: it was left, broke, or its guest restarted."""
        return bool(self._broken) or self._resets != self._watch.resets

    def usable(self) -> bool:
        """Whether this session still answers."""
        if self.over or not self._watch.running:
            return False
        try:
            self._challenge(10.0)
        except GuestError:
            return False
        return True

    def leave(self, command: str) -> None:
        """Type a last command without waiting for its end."""
        self._need()
        self._broken = f"it was left by {command!r}"
        self._send(f" {command}\n")

    def close(self) -> None:
        """Bring the console back to its login prompt, whatever state the session is in."""
        if self._resets == self._watch.resets and self._watch.running:
            # A shell that is interrupted throws away what was typed behind the key: only where it
            # does not answer, and the last word waits for its answer.
            if not self.usable():
                self._interrupt()
            self._send(" exit\n")
        self._broken = "it was closed"

    # -- commands -------------------------------------------------------------------------------

    def run(self, command: str, timeout: float = 30.0, check: bool = False) -> Result:
        """Run `command` in a subshell, with empty standard input; returns output and status.

        Raises CommandTimeout after `timeout` reference seconds (the command is then interrupted),
        and with `check` CommandFailed when the status is not 0.
        """
        self._check_command(command)
        result = self._framed(command, timeout)
        if check and result.status:
            raise CommandFailed(
                f"{command!r} ended with status {result.status}",
                status=result.status,
                output=result.stdout,
            )
        return result

    def run_apart(self, command: str, timeout: float = 30.0, check: bool = False) -> Apart:
        """`run`, with standard output and standard error told apart.

        Standard output is the terminal, as for `run`; standard error is a pipe into a variable of
        the shell, so nothing is written to a disk and no tool is needed. It has to fit into the
        guest's memory, and the call ends when the last process that holds it has ended: give what
        stays in the background a standard error of its own (`daemon 2>/dev/null &`).
        """
        self._check_command(command)
        frame = ApartFrame()
        result = frame.apart(*self._answer(frame, command, timeout))
        if check and result.status:
            raise CommandFailed(
                f"{command!r} ended with status {result.status}",
                status=result.status,
                output=result.stderr or result.stdout,
            )
        return result

    def read_file(self, path: str, timeout: float = 60.0, limit: int = 1 << 20) -> bytes:
        """The bytes of a file in the guest. Raises CommandFailed when it cannot be read."""
        quoted = quote(path)
        if not self._reader:
            found = self.run("command -v base64 || command -v od || command -v hexdump")
            self._reader = found.stdout.strip().rpartition("/")[2]
        encode = {
            "base64": "base64",
            "od": "od -An -v -tx1",
            "hexdump": 'hexdump -v -e \'16/1 "%02x " "\\n"\'',
        }.get(self._reader)
        if encode is None:
            raise CommandFailed(
                f"cannot read {path}: the guest has neither base64, od nor hexdump",
                status=127,
                output="",
            )
        self.run(f"[ -f {quoted} ] && [ -r {quoted} ]", timeout, check=True)
        for _ in range(3):
            result = self.run(f"head -c {limit} < {quoted} | {encode}", timeout, check=True)
            size = self.run(f"head -c {limit} < {quoted} | wc -c", timeout, check=True).stdout
            data = _decode(self._reader, result.stdout)
            if data is not None and size.strip() == str(len(data)):
                return data
        raise ShellBroken(f"reading {path} gave three times something that is not its content")

    def write_file(self, path: str, data: bytes, timeout: float = 60.0) -> None:
        """Create or replace a file in the guest."""
        quoted = quote(path)
        self.run(f": > {quoted}", timeout, check=True)
        for offset in range(0, len(data), WRITE_CHUNK):
            text = "".join(typeable(byte) for byte in data[offset : offset + WRITE_CHUNK])
            self.run(f"printf '{text}' >> {quoted}", timeout, check=True)

    # -- inside ---------------------------------------------------------------------------------

    def _check_command(self, command: str) -> None:
        self._need()
        if "\0" in command:
            raise CheckMisuse("a command cannot contain NUL")

    def _need(self) -> None:
        if self._broken:
            raise ShellBroken(f"the shell of {self._watch.name} cannot be used: {self._broken}")
        if self._resets != self._watch.resets:
            raise ShellBroken(f"{self._watch.name} restarted; log in again")

    def _framed(self, command: str, timeout: float) -> Result:
        frame = Frame()
        return frame.result(*self._answer(frame, command, timeout))

    def _answer(self, frame: Frame, command: str, timeout: float) -> tuple[str, int]:
        """What the console shows from the question to the end of `frame`, and the status in it."""
        self._type(command)
        start = self._console.end
        self._send(frame.question)
        scanned = start

        def step() -> tuple[int, int] | None:
            nonlocal scanned
            found = self._console.search(frame.end, start, scanned)
            scanned = self._console.end
            return (found.start, int(found.match[1])) if found else None

        what = f"end of the command {command[:200]!r}"
        try:
            position, status = self._watch.wait(step, timeout, what, in_session=True)
        except (GuestTimeout, ConsoleFlood) as error:
            self._interrupt()
            raise CommandTimeout(error.message, evidence=error.evidence) from error
        text = self._console.since(start)
        return text[: len(text) - (self._console.end - position)], status

    def _type(self, command: str) -> None:
        """Put the command into the guest's variable `__b`, by lines that any tty and shell take.

        Only printable ASCII is typed: line editors act on control characters.
        """
        pieces = [""]
        for byte in command.encode():
            unit = typeable(byte)
            if len(pieces[-1]) + len(unit) > LINE_MAX:
                pieces.append("")
            pieces[-1] += unit
        # The dot keeps the newlines at the end of a piece, which $(…) would drop.
        self._send(f" __b=$(printf '{pieces[0]}.'); __b=${{__b%.}}\n")
        for piece in pieces[1:]:
            self._challenge(30.0)  # else more than a tty's buffer could be under way
            self._send(f" __b=$__b$(printf '{piece}.'); __b=${{__b%.}}\n")

    def _challenge(self, timeout: float) -> None:
        answer = Sum()
        start = self._console.end
        self._send(f" echo {answer.typed}\n")
        self._await(re.compile(answer.value), start, timeout, "answer of the shell")

    def _interrupt(self) -> None:
        for key in (INTERRUPT, QUIT):
            self._send(key)
            try:
                self._challenge(10.0)
            except GuestError as error:
                self._broken = f"it does not answer since a command timed out ({error.message})"
            else:
                self._broken = ""
                return

    def _await(self, pattern: re.Pattern[str], start: int, timeout: float, what: str) -> None:
        def step() -> bool | None:
            return True if self._console.search(pattern, start) else None

        self._watch.wait(step, timeout, what, in_session=True)

    def _begin(self) -> None:
        """Take the shell that was found, and make it one that nothing but commands disturbs."""
        self._resets = self._watch.resets
        self._watch.attended = True
        self._send(' [ "$BASH_VERSION" ] && set +H\n')  # no history expansion of what we type
        self._send(" export PAGER=cat SYSTEMD_PAGER=cat\n")  # nobody is there to turn pages
        # Of its own, since a profile may have made it read-only. A check may look elsewhere for
        # longer than a person may leave the terminal.
        self._send(" TMOUT=0\n")
        self._challenge(30.0)
        self._framed("{ dmesg -n 1 || echo 1 >/proc/sys/kernel/printk; } 2>/dev/null", 30.0)


def _decode(reader: str, text: str) -> bytes | None:
    """The bytes of an encoded file, None when noise got into them."""
    words = "".join(PRINTK.sub("", text).split())
    try:
        return (
            base64.b64decode(words, validate=True) if reader == "base64" else bytes.fromhex(words)
        )
    except (binascii.Error, ValueError):
        return None
