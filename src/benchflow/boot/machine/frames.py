"""How a command's output is told from all else on a console: frames of numbers never typed.

Pure functions of what is typed and what came back; `shell` does the typing and the waiting.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

OUTPUT_MAX = 4 * 1024 * 1024  # characters of a command's output that are returned


@dataclass(frozen=True)
class Result:
    """What a command wrote (standard error too, escapes removed) and its exit status."""

    stdout: str
    status: int
    truncated: bool = False


class Sum:
    """A random number that is typed only as a sum."""

    def __init__(self) -> None:
        left, right = (secrets.randbelow(9 * 10**8) + 10**8 for _ in range(2))
        self.typed = f"$(({left}+{right}))"
        self.value = str(left + right)


@dataclass(frozen=True)
class Apart:
    """What a command wrote to each of its two streams (escapes removed) and its exit status."""

    stdout: str
    stderr: str
    status: int
    truncated: bool = False


class Frame:
    """The question that runs the guest's variable `__b`, and how its answer is read."""

    def __init__(self) -> None:
        self._begin, self._end = Sum(), Sum()
        self.end = re.compile(rf"\]{self._end.value}:(\d+):{self._end.value};")

    @property
    def question(self) -> str:
        """The line to type. A leading blank: many shells keep such a line out of their history."""
        return (
            f' printf "\\n%s[\\n" "{self._begin.typed}"; ( eval "$__b" ) </dev/null 2>&1; '
            f"set -- $?; {self._close()}\n"
        )

    def result(self, text: str, status: int) -> Result:
        """The answer in `text`, which ends where `end` was found."""
        output, truncated = self._opened(text)
        return Result(output, status, truncated)

    def _close(self) -> str:
        # Twice: the kernel may talk into one of them.
        end = self._end.typed
        return f'printf "\\n]%s:%s:%s;\\n]%s:%s:%s;\\n" "{end}" "$1" "{end}" "{end}" "$1" "{end}"'

    def _opened(self, text: str) -> tuple[str, bool]:
        opened = text.rfind(f"{self._begin.value}[\n")
        output = text[opened + len(self._begin.value) + 2 :] if opened >= 0 else text
        truncated = opened < 0 or len(output) > OUTPUT_MAX
        return output.removesuffix("\n")[:OUTPUT_MAX], truncated


class ApartFrame(Frame):
    """As `Frame`, but the command's standard error is kept and printed behind its output.

    A command substitution keeps it: the one place that every shell has, on a read-only root too.
    The dot keeps the newlines at its end.
    """

    def __init__(self) -> None:
        super().__init__()
        self._middle = Sum()

    @property
    def question(self) -> str:
        """The line to type."""
        middle = self._middle.typed
        return (
            f' printf "\\n%s[\\n" "{self._begin.typed}"; '
            '{ __e=$( ( eval "$__b" ) </dev/null 2>&1 >&3 3>&-; set -- $?; printf .; exit $1 ); } '
            "3>&1 2>/dev/null; set -- $?; "
            f'printf "\\n]%s;\\n]%s[\\n%s" "{middle}" "{middle}" "${{__e%.}}"; __e=; '
            f"{self._close()}\n"
        )

    def apart(self, text: str, status: int) -> Apart:
        """The answer in `text`, which ends where `end` was found."""
        closed = text.rfind(f"]{self._middle.value};\n")
        opened = text.rfind(f"]{self._middle.value}[\n")
        stdout, lost = self._opened(text[: max(closed, 0)])
        lost = lost or closed < 0 or opened < 0
        stderr = text[opened + len(self._middle.value) + 3 :] if opened >= 0 else text
        lost = lost or len(stderr) > OUTPUT_MAX
        return Apart(stdout, stderr.removesuffix("\n")[:OUTPUT_MAX], status, lost)


def quote(text: str) -> str:
    """`text` as one word for any POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def typeable(byte: int) -> str:
    """A byte in the format string of the shell's printf, inside single quotes.

    A format that begins with a hyphen would be an option, so hyphens are escaped too.
    """
    if byte == ord("%"):
        return "%%"
    if byte in b"'\\-" or not 32 <= byte < 127:
        return f"\\{byte:03o}"
    return chr(byte)
