"""The gates `ladder` and `exploits`, by verifications of the milestones that they are about.

A whole verification of a half-built system is mostly waiting for what it does not have. So each
deliverable is asked for the milestones that have to be known, with what these require
(`benchflow verify --milestone`). That it fails there says something only where honest work passes
when it is asked for the very same: else the check counts on what a check that was left out does.
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
from benchflow.authoring.built import Built, delivered
from benchflow.authoring.gate import GateResult, Status
from benchflow.authoring.trials import HALF_BUILT_A_CORE, Trials
from benchflow.base.numbers import plural
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
    declared to gain."""
    if gate == "exploits":
        return {exploit.name: _outside(task, exploit) for exploit in task.exploits}
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
    alone = {name for name, part in parts.items() if name in part.named("passed")}
    unresolved = {name for name, one in whole.items() if one.verdict is not Verdict.RESOLVED}
    shown = {name for name, part in parts.items() if _separate(part, name, asked[name], alone)}
    shown -= unresolved
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
    caught = {name: part.named("failed") for name, part in parts.items()}
    honest = _honest(trials, {each for at in caught.values() for each in at})
    shown = {
        exploit.name
        for exploit in task.exploits
        if exploit.name in parts and _loses(parts[exploit.name], exploit, honest)
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
    asked = {*_outside(trials.task, exploit)}
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


def _separate(part: Partial, name: str, asked: tuple[str, ...], alone: set[str]) -> bool:
    """Whether a stop has its milestone, and fails the next by that one's own checks alone."""
    following = asked[1:]
    reached = part.named("passed")[-1:] == (name,) and part.named("failed") == following
    return reached and {*following} <= alone


def _loses(part: Partial, exploit: Exploit, honest: set[str]) -> bool:
    """Whether it passes nothing outside of what is declared, all that is asked for on the way, and
    ends at checks that honest work passes."""
    caught = {*part.named("failed")}
    passed = {*part.named("passed")}
    declared = passed <= {*exploit.allowed} and caught.isdisjoint(exploit.allowed)
    return bool(caught) and declared and caught <= honest


def _outside(task: Task, exploit: Exploit) -> tuple[str, ...]:
    return tuple(m.id for m in task.milestones if m.id not in exploit.allowed)


def _honest(trials: Trials, milestones: set[str]) -> set[str]:
    """Those of `milestones` that honest work passes where nothing is run but what they require: as
    the ladder's stops have shown, else by asking the oracle's own deliverable."""
    from benchflow.run.verify.verification import read_partly_again

    known: set[str] = set()
    unknown: set[str] = set()
    for name in milestones:
        before = map(read_partly_again, _answers(trials, "ladder", name))
        found = [part for part in before if part is not None and not part.cause]
        if any(name in part.named("passed") for part in found):
            known.add(name)
        elif not found:
            unknown.add(name)
    oracle = trials.reference() if unknown else None
    if oracle is None or oracle.verdict is not Verdict.RESOLVED:
        return known
    one = Built(oracle, delivered(trials.task, oracle.path / "artifacts"))
    parts = _ask(trials, "exploits", dict.fromkeys(unknown, one), {n: (n,) for n in unknown})
    return known | {name for name, part in parts.items() if name in part.named("passed")}


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
