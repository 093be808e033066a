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

_CLAIMS = """\
## What *ladder* and *exploits* claim
Both ask each deliverable for some milestones alone (`benchflow verify --milestone`): first what a \
milestone requires, then the milestone, and so on in the order of the file, until a check fails. \
Oracles, variants, the common exploits and every trial of an agent are verified whole.
- *ladder* asks what was delivered after milestone k for k and the next one. Claimed: each \
milestone passes after its own step of the work, and one step earlier its own checks fail, though \
all that it requires passes. Not looked at: earlier milestones that neither of the two requires \
(they passed at their own stops, and in the oracle), and later ones (each is shown to fail one \
step before its own, where more of the work is done).
- *exploits* asks for every milestone outside of `allowed`, and for those of `allowed` that stand \
before the last check that can catch it. So what is run up to there is what a whole verification \
runs up to there, in its order, and where it is not (several milestones catch it, and the first \
of them has further checks; checks of two milestones that take turns), it is verified whole. \
Claimed: none outside is earned, and all that is declared up to there is. Not \
looked at: what is declared behind it, that is whether it is earned, and whether a check of it \
would use up the verifier.
- *What a failure proves.* A check that fails shows nothing if it counts on what a check that was \
left out would have done, or was kept from it by one that is usually run later. So the milestone \
that a stop of the ladder has not yet must pass at the next stop, behind the same checks in the \
same order; where it was asked for there behind others, both milestones are asked for once more.
- *Everything else is verified whole*, and judged by the stricter rule: a stop of the ladder earns \
exactly the milestones up to it, an exploit exactly what is declared. So a part of a verification \
lets a deliverable through, and never finds fault with one. The gate's line says how many were \
verified whole.
- *What remains.* Of the ladder: a check that a stop fails behind the checks that were asked for, \
and would pass behind others; a milestone two or more steps ahead, or one that was left behind, \
that half the work has and more of it has not. Of both gates: checks that look at how they are \
run (`sys.argv`), and answer a part of a verification otherwise than a whole one: who reviews a \
task reads its checks for that.

Plain Harbor tasks and tasks of several steps are verified whole throughout.
"""


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
{_CLAIMS}
A task needs at least {LEAST_MILESTONES} milestones, {LEAST_CHECKS} checks, {LEAST_EXPLOITS} \
exploits of its own and 3 hints.

{outcomes}"""
