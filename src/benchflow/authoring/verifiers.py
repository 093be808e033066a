"""Whose verdicts are the present verifier's: its own, and those of one that can give no other.

A change of `boot` makes every gate due, since it may change a verdict. One kind of change cannot:
where the old `boot` came to a verdict on which a gate that passed can rest, the new one comes to
the same. Where it came to none (an `error`) or to one at which that gate fails, the new one may
come to another: neither is recorded as passed. That has to be proved from the change, line by line.
"""

from __future__ import annotations

from benchflow.tasks.stage import boot_zipapp

# The present `boot`, and an earlier one; both go with the next change of `boot`. Three differences:
# - hardware.py, ask(): a guest that switched itself off while QEMU was asked something raised
#   GuestExited chained to QemuFailed, which verdict.py takes for the verifier's fault. The same
#   exception is raised without the chain now; nothing else looks at one.
# - watch.py, SILENT_RESETS_MAX: 9 to 64 restarts of the firmware before it printed anything were a
#   loop, at which a check failed. No gate that passed rests on such a failure: an oracle and each
#   verification of determinism resolved the task; a rung and a cheat got exactly what is declared,
#   in this run and in those before, so none was cut short. A common cheat that gained nothing for
#   this reason alone cannot be excluded by that; its guest would have to restart. In all trials
#   that were kept (2026-11-25, six tasks, common cheats too) there is one such failure, of an
#   oracle, and its gate failed.
# - shell.py, came(): after a password its repetition by a terminal whose echo was not off yet, or
#   the head of a line of the kernel's, was taken for an answer, and the question for a shell was
#   typed; now nothing is typed until something else came or 15 reference seconds passed. That is
#   what the old one did too where the echo was off in time and the line was whole, which is chance
#   with every login that turns its echo off: no other verdict is possible than among its own. One
#   that never does was always asked early: its shell read then what had waited for it, and is
#   asked at most 15 reference seconds later now, of the 30 that a login has from its prompt on.
#   That would be too late only where the question for the password took the other 15. A wrong
#   password is refused either way: what was typed early was the next name, and was got rid of
#   after the refusal.
PRESENT = "4a5628fcd15c582b4811"
EQUAL_TO = "71d8ed943e6642bb2b6f"


def present() -> str:
    """The content address of `boot`, or of the earlier one whose verdicts are the same."""
    found = boot_zipapp().stem
    return EQUAL_TO if found == PRESENT else found
