"""The error tree of `boot`. Who is at fault follows from the branch, never from the text.

BootError
├── GuestError              what was delivered is at fault: the check fails
│   ├── GuestTimeout        something awaited did not come in time
│   │   └── CommandTimeout  a command in the guest did not end in time
│   ├── GuestPanic          the guest's kernel gave up
│   ├── GuestExited         the guest switched itself off (or broke its machine) while awaited
│   ├── GuestRebooted       the guest restarted while a command or a clean stop was awaited
│   ├── RebootLoop          the guest restarts again and again
│   ├── GuestOverrun        the guest used up what the verifier has: its disk, QEMU's memory
│   ├── ConsoleFlood        the console prints so much that nothing else can be found
│   ├── LoginFailed         the guest refused the user or the password
│   ├── ShellBroken         whatever answers on the console does not behave like a shell
│   ├── CommandFailed       `run(..., check=True)` and the status was not 0
│   └── BadDeliverable      the file itself: missing, empty, a symlink, too large, damaged …
├── VerifierBroken          infrastructure: no reward may be written
│   ├── QemuMissing         the QEMU program or its firmware is not installed
│   ├── QemuFailed          QEMU did not start, or died by something that is not the guest
│   ├── ToolMissing         another program is absent
│   ├── BadSetting          a variable of the environment that steers `boot` makes no sense
│   └── NoSpace             the verifier's disk is full
└── CheckMisuse             the author of the task used `boot` wrongly
"""

from __future__ import annotations


class BootError(Exception):
    """Base of all errors of `boot`.

    `message` is one line for a person; `evidence` is what the guest or the tool said last (may be
    empty, is capped by the one who raises).
    """

    def __init__(self, message: str, *, evidence: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.evidence = evidence

    def __str__(self) -> str:
        return f"{self.message}\n{self.evidence}" if self.evidence else self.message


class GuestError(BootError):
    """What was delivered is at fault; the check fails."""


class GuestTimeout(GuestError):
    """Something awaited did not come within its reference seconds."""


class CommandTimeout(GuestTimeout):
    """A command in the guest did not end in time; the shell was brought back or marked broken."""


class GuestPanic(GuestError):
    """The guest's kernel gave up while something was awaited."""


class GuestExited(GuestError):
    """The guest switched itself off, or broke its virtual machine, while something was awaited."""


class GuestRebooted(GuestError):
    """The guest restarted while a command or a clean stop was awaited."""


class RebootLoop(GuestError):
    """The guest restarted more often than one boot can explain."""


class GuestOverrun(GuestError):
    """The guest used up what the verifier has for all machines together, and was ended."""


class ConsoleFlood(GuestError):
    """The console prints without end and what was awaited was not found in it."""


class LoginFailed(GuestError):
    """The guest refused the user or the password."""


class ShellBroken(GuestError):
    """Whatever answers on the console does not behave like a shell."""


class CommandFailed(GuestError):
    """A command that had to succeed did not. `status` and `output` are the command's."""

    def __init__(self, message: str, *, status: int, output: str) -> None:
        super().__init__(message, evidence=output)
        self.status = status
        self.output = output


class BadDeliverable(GuestError):
    """The delivered file is missing, empty, of the wrong type, too large or damaged."""


class VerifierBroken(BootError):
    """Infrastructure failed; no reward may be written."""


class QemuMissing(VerifierBroken):
    """The QEMU program for the guest's architecture, or its firmware, is not installed."""


class QemuFailed(VerifierBroken):
    """QEMU did not start, or died by something that is not the guest."""


class ToolMissing(VerifierBroken):
    """A program that the verifier needs is not installed."""


class BadSetting(VerifierBroken):
    """A variable of the environment that steers `boot` has a value that makes no sense."""


class NoSpace(VerifierBroken):
    """The verifier's disk is full."""


class CheckMisuse(BootError):
    """The author of the task used `boot` wrongly; the message says how to use it."""
