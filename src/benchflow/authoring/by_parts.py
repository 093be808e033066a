"""The gates `ladder` and `exploits`, by verifications of the milestones that they are about.

A whole verification of a half-built system is mostly waiting for what it does not have. So each
deliverable is asked for the milestones that have to be known, with what these require
(`benchflow verify --milestone`). An exploit is asked for all that stands before the last check that
can catch it, so that what was run up to there is what a whole verification runs. A stop of the
ladder is asked for two milestones; that it fails the second says something only where honest work
passes after the very same checks: else the check counts on what one that was left out does.
Whatever is not shown in this way is verified whole, and judged by the rules of `gate_rules`; so a
part of a verification lets a deliverable through, and never finds fault with one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.authoring import gate_rules
from benchflow.authoring.builds import build, of_one_sandbox
from benchflow.authoring.built import Built
from benchflow.authoring.checks_order import begins_as_whole, ran
from benchflow.authoring.gate import GateResult, Status
from benchflow.authoring.trials import HALF_BUILT_A_CORE, Trials
from benchflow.base.numbers import plural
from benchflow.boot.runner.partial import required
from benchflow.results.jobs.partial import Partial
from benchflow.results.model import Trial, Verdict
from benchflow.tasks import Exploit, Task

if TYPE_CHECKING:
    from benchflow.run.verify.verification import VerifyRequest

#: Deliverables' names → the milestones that each is asked for, in ladder order.
type Asked = Mapping[str, tuple[str, ...]]


def applies(task: Task) -> bool:
    """Whether the verifier of `task` can be asked for some milestones, of what lies here."""
    return task.is_benchflow and not task.steps and bool(task.milestones)


def asked_of(task: Task, gate: str) -> Asked:
    """The stops of the ladder: each its own milestone and the next. Exploits: all that they are not
    declared to gain, and what stands before the last of these that they come to."""
    if gate == "exploits":
        return {exploit.name: _asked(task, exploit) for exploit in task.exploits}
    order = [milestone.id for milestone in task.milestones]
    return {name: tuple(order[at : at + 2]) for at, name in enumerate(order)}


def ladder(trials: Trials) -> GateResult:
    """Stopped after milestone k, the oracle has k, and not yet the next one."""
    task = trials.task
    order = [milestone.id for milestone in task.milestones]
    whole, built = _stops(trials, order)
    if lost := _lost("ladder", built):
        return lost
    ready = {name: one for name, one in built.items() if not one.ended}
    asked = asked_of(task, "ladder")
    parts = _ask(trials, "ladder", ready, asked, HALF_BUILT_A_CORE)
    unresolved = {name for name, one in whole.items() if one.verdict is not Verdict.RESOLVED}
    shown = _separate(trials, parts, asked, ready) - unresolved
    rest = {name: one for name, one in ready.items() if name not in shown}
    stopped = {name: whole[name] for name in rest if name in whole}
    again = {name: one for name, one in rest.items() if name not in stopped}
    stopped |= _whole(trials, "ladder", again, HALF_BUILT_A_CORE)
    ended = {name: one.ended for name, one in built.items() if one.ended}
    found = gate_rules.ladder(task, stopped, shown=shown, ended=ended)
    return _told(found, len(rest), trials.beside("ladder", "-parts"))


def exploits(trials: Trials) -> GateResult:
    """Each exploit loses every milestone that it is not declared to gain."""
    task = trials.task
    names = [exploit.name for exploit in task.exploits]
    built = build(trials, "exploits", names)
    if lost := _lost("exploits", built):
        return lost
    ready = {name: one for name, one in built.items() if not one.ended}
    asked = asked_of(task, "exploits")
    parts = _ask(trials, "exploits", {n: one for n, one in ready.items() if asked[n]}, asked)
    shown = {
        exploit.name
        for exploit in task.exploits
        if exploit.name in parts and _loses(task, parts[exploit.name], exploit)
    }
    rest = {name: one for name, one in ready.items() if name not in shown}
    ended = {name: one.ended for name, one in built.items() if one.ended}
    tried = _whole(trials, "exploits", rest)
    found = gate_rules.exploits(task.exploits, tried, shown=shown, ended=ended)
    return _told(found, len(rest), trials.beside("exploits", "-parts"))


def gained(trials: Trials, exploit: Exploit) -> tuple[str, ...] | None:
    """What an exploit gained, as far as somebody looked; None before it was verified."""
    from benchflow.run.verify.verification import VerifyRequest, read_again, read_partly_again

    for folder in _answers(trials, "exploits", exploit.name, "-whole"):
        trial = read_again(VerifyRequest(trials.task, {}, folder))
        if trial is not None and trial.verdict is not Verdict.ERROR:
            return tuple(gate_rules.passed(trial))
    asked = {*_asked(trials.task, exploit)}
    for folder in _answers(trials, "exploits", exploit.name):
        part = read_partly_again(folder)
        if part is None or part.cause or {*part.asked} != asked:
            continue
        passed = part.named("passed")
        left = len({*exploit.allowed} - {*passed, *part.named("failed")})
        return (*passed, *([f"{left} declared, not looked at"] if left else []))
    return None


def _stops(trials: Trials, order: Sequence[str]) -> tuple[dict[str, Trial], dict[str, Built]]:
    """Milestone → the trial that is verified whole already; and what was delivered there."""
    *lower, last = order
    if trials.task.oracle_incremental:
        climb = trials.climb()
        built = of_one_sandbox(trials, climb, order)
        return ({last: climb} if last in built else {}), built
    built = build(trials, "ladder", lower)
    oracle = trials.reference()
    if oracle is None:
        return {}, built
    return {last: oracle}, {**built, last: Built.of(trials.task, oracle)}


def _separate(
    trials: Trials, parts: Mapping[str, Partial], asked: Asked, ready: Mapping[str, Built]
) -> set[str]:
    """The stops that have their milestone, and fail the next by that one's own checks alone: after
    the same checks, in the same order, the next stop passes it."""
    reached = {
        name: asked[name][1:]
        for name, part in parts.items()
        if part.named("passed")[-1:] == (name,) and part.named("failed") == asked[name][1:]
    }
    following = {name: after[0] for name, after in reached.items() if after}
    shown = {
        name
        for name, after in following.items()
        if after in parts and _passes(trials.task, parts[after], after, parts[name])
    }
    # Where the next one is asked for alone, other checks are before it: so ask for both again.
    others = {after: name for name, after in following.items() if name not in shown}
    asked_again = {after: asked[name] for after, name in others.items() if after in parts}
    again = _ask(trials, "ladder", {name: ready[name] for name in asked_again}, asked_again)
    shown |= {
        name
        for after, name in others.items()
        if after in again and _passes(trials.task, again[after], after, parts[name])
    }
    return shown | (reached.keys() - following.keys())


def _passes(task: Task, part: Partial, name: str, failed: Partial) -> bool:
    """Whether `part` passes milestone `name` behind what was run of the one that `failed` it."""
    before = ran(task, failed)
    return name in part.named("passed") and before == ran(task, part)[: len(before)]


def _loses(task: Task, part: Partial, exploit: Exploit) -> bool:
    """Whether it passes nothing outside of what is declared, and all of that which was asked for,
    and a whole verification would have run the same up to the last check that it fails."""
    allowed, passed = {*exploit.allowed}, {*part.named("passed")}
    declared = passed == allowed & {*part.asked}
    return declared and bool(part.named("failed")) and begins_as_whole(task, part)


def _asked(task: Task, exploit: Exploit) -> tuple[str, ...]:
    """All outside of what is declared, and what is declared of the milestones before the last of
    these whose own checks are run where all that is declared is gained."""
    order = [milestone.id for milestone in task.milestones]
    allowed = {*exploit.allowed}
    before = {id: {*required(task.milestones, id)} - {id} for id in order if id not in allowed}
    ends = [order.index(id) for id, needs in before.items() if allowed.issuperset(needs)]
    return tuple(
        id for at, id in enumerate(order) if id not in allowed or at < max(ends, default=0)
    )


def _answers(trials: Trials, gate: str, name: str, more: str = "-parts") -> Iterable[Path]:
    """Folders of the verifications of one deliverable of a gate, newest first."""
    top = trials.beside(gate, more)
    found = [*top.glob(f"*/{name}"), *top.glob(f"*/{name}.*")]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def _ask(
    trials: Trials, gate: str, built: Mapping[str, Built], asked: Asked, a_core: int = 1
) -> dict[str, Partial]:
    requests = [
        replace(each, milestones=asked[name])
        for name, each in _requests(trials, gate, "-parts", built).items()
    ]
    return dict(zip(built, trials.verified_partly(requests, a_core=a_core), strict=True))


def _whole(
    trials: Trials, gate: str, built: Mapping[str, Built], a_core: int = 1
) -> dict[str, Trial]:
    requests = [*_requests(trials, gate, "-whole", built).values()]
    return dict(zip(built, trials.verified(requests, a_core=a_core), strict=True))


def _requests(
    trials: Trials, gate: str, more: str, built: Mapping[str, Built]
) -> dict[str, VerifyRequest]:
    from benchflow.run.verify.verification import VerifyRequest

    kind, top = gate.removesuffix("s"), trials.beside(gate, more)
    return {
        name: VerifyRequest(
            # What another trial delivered is another deliverable.
            trials.task, one.given, top / one.trial.name / name, label=f"{kind}:{name}"
        )
        for name, one in built.items()
    }  # fmt: skip


def _lost(gate: str, built: Mapping[str, Built]) -> GateResult | None:
    lost = {name: one for name, one in built.items() if one.lost}
    if not lost:
        return None
    return GateResult(
        gate,
        Status.ERROR,
        f"{len(lost)} of {len(built)} could not be built",
        tuple(f"{name}: {one.lost}" for name, one in lost.items()),
        str(next(iter(lost.values())).trial.path),
    )


def _told(found: GateResult, whole: int, evidence: Path) -> GateResult:
    if found.status is Status.ERROR:
        return found
    said = f"; {plural(whole, 'deliverable')} verified whole" if whole else ""
    return replace(found, summary=found.summary + said, evidence=found.evidence or str(evidence))
