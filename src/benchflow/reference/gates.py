"""docs/reference/gates.md: what each gate asks."""

from __future__ import annotations

from benchflow.authoring.check import FAST, GATES, ON_DEMAND
from benchflow.authoring.gate import Status
from benchflow.authoring.gate_table import ABOUT, ABOUT_ON_DEMAND
from benchflow.authoring.static_gates import LEAST_CHECKS, LEAST_EXPLOITS, LEAST_MILESTONES
from benchflow.reference.markdown import table

_MEANS = {
    Status.PASSED: "nothing is weak",
    Status.FAILED: "each finding says what is weak, and what repairs it",
    Status.NOT_APPLICABLE: "the task has not what the gate is about (a plain Harbor task, mostly)",
    Status.OPEN: "what it compares is not all there yet: it says what is missing, and fails nobody",
    Status.ERROR: "the infrastructure failed, so the gate says nothing; it is run again next time",
}


def page() -> str:
    """The whole page."""
    gates = table(["gate", "asks", "costs"], [[g, ABOUT[g].asks, ABOUT[g].costs] for g in GATES])
    more = table(
        ["gate", "asks", "costs"],
        [[g, ABOUT_ON_DEMAND[g].asks, ABOUT_ON_DEMAND[g].costs] for g in ON_DEMAND],
    )
    outcomes = table(["outcome", "means"], [[str(s), _MEANS[s]] for s in Status])
    return f"""\
# Gates

For authors and reviewers of tasks, to look a gate up. How to work with them, and how long a \
record of one holds: [authoring.md](../authoring.md#10-the-gates).

Made of the code (`python -m benchflow.reference`); not edited. `benchflow check TASK` runs them \
in this order; `--fast` runs {", ".join(FAST)}; `--gate NAME` one.

{gates}
Run only when it is named (`--gate NAME`); a task is complete without it:

{more}
A task needs at least {LEAST_MILESTONES} milestones, {LEAST_CHECKS} checks, {LEAST_EXPLOITS} \
exploits of its own and 3 hints.

{outcomes}"""
