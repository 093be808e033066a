"""Gates of a generator: its draws, its parts, and instances of each level.

What was found of parts is kept in `tried.json` beside the generator (`parts_tried`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchflow.authoring import gate_rules, parts_tried
from benchflow.authoring.check import check
from benchflow.authoring.gate import GateResult, Status, judged
from benchflow.authoring.parts_tried import GOOD, Kind
from benchflow.authoring.trials import Trials
from benchflow.base.home import home
from benchflow.base.numbers import plural
from benchflow.errors import BenchflowError
from benchflow.generators import Generator, Instance
from benchflow.generators.companies import Company, handed_out, repaired
from benchflow.generators.spec import Spec, chosen, spec
from benchflow.generators.write import write
from benchflow.results.model import Trial, Verdict
from benchflow.run.live.progress import Listener
from benchflow.tasks import load

GATES = ("seeds", "parts", "sample")
_SEEDS = 100
Report = Callable[[GateResult], None]


def seeds(generator: Generator, tasks: Path) -> GateResult:
    """Each level is met by every seed, specs differ, all parts occur, and the bytes are the same
    twice."""
    findings = []
    drawn: set[str] = set()
    seen: set[str] = set()
    for level in generator.levels:
        found = []
        for seed in range(_SEEDS):
            try:
                found.append(spec(generator, level, seed))
            except BenchflowError as error:
                findings.append(f"level {level}, seed {seed}: {error.message}")
        drawn |= {one.digest for one in found}
        seen |= {part.name for one in found for part in one.parts}
        twice = {parts_tried.digest(generator, one, tasks) for one in found[:1] * 2}
        if len(twice) > 1:
            findings.append(f"level {level}: the same seed gave other bytes")
    count = len(generator.levels) * _SEEDS
    if len(drawn) < count and not findings:
        findings.append(f"{count} draws are only {len(drawn)} different ones")
    findings += [f"{name} is never drawn" for name in sorted(generator.parts.keys() - seen)]
    asked = f"{_SEEDS} seeds at each of {len(generator.levels)} levels"
    return judged("seeds", f"{len(drawn)} different draws: {asked}", findings)


def parts(
    generator: Generator,
    tasks: Path,
    names: Sequence[str],
    listener: Listener,
    *,
    begin: Callable[[str], None] = lambda what: None,
    again: bool = False,
) -> GateResult:
    """What is handed out earns exactly what the parts in it leave whole, and the oracle resolves:
    of each of `names` alone; without names, of all parts, two companies of each
    (`generators.companies`), and alone where a company came to anything else. What is recorded for
    the same bytes is taken, unless `again`."""
    of_all = parts_tried.digests(generator, tasks)
    digests = {name: of_all[name] for name in names or sorted(of_all)}
    trials: list[Trial] = []
    due = [
        (kind, company)
        for kind in Kind
        for company in due_of(generator, kind, digests, alone=bool(names), again=again)
    ]
    while due:
        (kind, company), *due = due
        begin(f"{kind}: {_named(company)}; {plural(len(due), 'more trial')} after it")
        came_to, trial = _try(generator, kind, company, tasks, listener)
        if trial is None:
            return GateResult("parts", Status.ERROR, f"{_named(company)}: the oracle did not run")
        trials.append(trial)
        if trial.verdict is Verdict.ERROR:
            continue
        of_each = {name: digests[name] for name in company}
        parts_tried.record(generator, parts_tried.of_today(kind, of_each, came_to))
        if came_to != GOOD[kind] and len(company) > 1:
            due = [*((kind, (name,)) for name in company), *due]
    summary = f"{plural(len(digests), 'part')}, {plural(len(trials), 'trial')} run now"
    lost = gate_rules.errors("parts", trials)
    return lost or judged("parts", summary, weak(generator, digests))


def due_of(
    generator: Generator, kind: Kind, digests: Mapping[str, str], *, alone: bool, again: bool
) -> list[Company]:
    """What has to be tried, so that each part is shown to do what it says."""
    known = [] if again else parts_tried.tried(generator)
    due = {name for name, at in digests.items() if not parts_tried.shown(known, kind, name, at)}
    if alone:
        return [(name,) for name in sorted(due)]
    companies = handed_out(generator) if kind is Kind.HANDED_OUT else repaired(generator)
    there = {
        one.company for one in known if one.kind is kind and one.parts.items() <= digests.items()
    }
    wanted = [one for one in companies if due.intersection(one) and one not in there]
    # A part or two that were changed are tried alone, in fewer trials.
    return wanted if len(wanted) < len(due) else [(name,) for name in sorted(due)]


def weak(generator: Generator, digests: Mapping[str, str]) -> list[str]:
    """What the record has against these parts (name → digest, today), and what it lacks."""
    findings = []
    for kind in Kind:
        known = [one for one in parts_tried.tried(generator) if one.kind is kind]
        bad = [one for one in known if not one.good and one.parts.items() <= digests.items()]
        findings += [f"{_named(one.company)}: {one.came_to}" for one in bad]
        told = {name for one in bad for name in one.parts}
        findings += [
            f"{name}: not tried enough ({kind})"
            for name, at in digests.items()
            if name not in told and not parts_tried.shown(known, kind, name, at)
        ]
    return findings


def _named(company: Company) -> str:
    few = company[:3]
    more = f" and {len(company) - len(few)} more" if len(company) > len(few) else ""
    return ", ".join(few) + more


def sample(generator: Generator, listener: Listener, tasks: Path, report: Report) -> GateResult:
    """Of each level the first seed: nop, oracle, and the exploits."""
    findings, status = [], Status.PASSED
    for level in generator.levels:
        task = load(Instance(generator, level, 1).folder(tasks))
        for result in check(task, ("nop", "oracle", "exploits"), listener, report):
            if result.status is Status.ERROR:
                status = Status.ERROR
            findings += [f"level {level}, {result.gate}: {one}" for one in result.findings]
    if status is Status.ERROR:
        return GateResult("sample", status, "an instance could not be judged", tuple(findings))
    return judged("sample", f"one instance of each of {len(generator.levels)} levels", findings)


def _try(
    generator: Generator, kind: Kind, company: Company, tasks: Path, listener: Listener
) -> tuple[str, Trial | None]:
    drawn = chosen(generator, company)
    # It stays: a job that was interrupted goes on with the task where it lay.
    digest = parts_tried.digest(generator, drawn, tasks)[:16]
    folder = home() / "generated" / f"parts-{digest}" / drawn.name
    if not folder.is_dir():
        write(generator, drawn, tasks, folder)
    trials = Trials(load(folder), listener)
    if kind is Kind.HANDED_OUT:
        bare = generator.kind.bare
        trial = trials.shipped("exploits", [bare])[bare]
        return gain(generator.told.ladder, trial, drawn), trial
    oracle = trials.reference()
    return (_came_to(oracle) if oracle else ""), oracle


def gain(ladder: Sequence[str], trial: Trial, drawn: Spec) -> str:
    """What handing in what is handed out earned: "exact", or what it earned too much or too little
    of `ladder`."""
    got = set(gate_rules.passed(trial))
    wanted = set(ladder) - drawn.broken
    early, missing = sorted(got - wanted), sorted(wanted - got)
    told = [
        f"{', '.join(early)} pass though it breaks them" if early else "",
        f"{', '.join(missing)} fail though it does not break them" if missing else "",
    ]
    return "; ".join(filter(None, told)) or "exact"


def _came_to(trial: Trial) -> str:
    if trial.verdict is Verdict.RESOLVED:
        return "resolved"
    failed = [each.id for each in trial.milestones if each.status != "passed"]
    return f"the oracle does not repair it: {', '.join(failed)}"
