"""What a reviewer of a task wants to see, gathered from the task and from remembered gates."""

from __future__ import annotations

from dataclasses import dataclass

from benchflow.authoring import by_parts
from benchflow.authoring.check import GATES, remembered
from benchflow.authoring.gate import GateResult
from benchflow.authoring.static_gates import grid
from benchflow.authoring.trials import Trials
from benchflow.results.model import Trial, Verdict
from benchflow.run.live.progress import Silence
from benchflow.tasks import Exploit, Task
from benchflow.tasks.contributors import credited


@dataclass(frozen=True)
class ExploitRow:
    """One exploit, the task's own or a common one; `gained` is None where nobody judged it yet."""

    name: str
    common: bool
    allowed: tuple[str, ...]
    why: str
    gained: tuple[str, ...] | None


@dataclass(frozen=True)
class VariantRow:
    """One honest other solution; `came_to` is its verdict, "" where it was not tried yet."""

    name: str
    what: str
    came_to: str


@dataclass(frozen=True)
class Review:
    """One task for a reviewer. `gates` maps each gate to what is remembered, None for nothing."""

    task: Task
    instruction: str
    matrix: tuple[str, ...]
    gates: dict[str, GateResult | None]
    oracles: tuple[Trial, ...]
    exploits: tuple[ExploitRow, ...]
    variants: tuple[VariantRow, ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def open_gates(self) -> int:
        """How many gates are not known to have passed or not to apply."""
        return sum(
            r is None or r.status not in ("passed", "not applicable") for r in self.gates.values()
        )


def review(task: Task) -> Review:
    """Gathers; runs nothing, so what no gate has looked at yet is missing and said so."""
    trials = Trials(task, Silence())
    known = remembered(task)
    own = {e.name: _gain(trials, e) for e in task.exploits}
    common = trials.known("corpus")
    declared = {exploit.name: exploit for exploit in task.common_exploits}
    names = list(dict.fromkeys([*common, *declared]))
    exploits = [ExploitRow(e.name, False, e.allowed, e.why, own[e.name]) for e in task.exploits]
    for name in names:
        entry = declared.get(name)
        allowed, why = (entry.allowed, entry.why) if entry else ((), "")
        exploits.append(ExploitRow(name, True, allowed, why, _gained(common.get(name))))
    tried = trials.known("variants")
    variants = [VariantRow(v.name, v.what, _came_to(tried.get(v.name))) for v in task.variants]
    oracles = tuple(trials.known_oracles())
    return Review(
        task=task,
        instruction=_instruction(task),
        matrix=tuple(grid(task)) if task.milestones or task.steps else (),
        gates={gate: known.get(gate) for gate in GATES},
        oracles=oracles,
        exploits=tuple(exploits),
        variants=tuple(variants),
        facts=tuple(_facts(task, oracles)),
    )


def _gain(trials: Trials, exploit: Exploit) -> tuple[str, ...] | None:
    if by_parts.applies(trials.task):
        return by_parts.gained(trials, exploit)
    return _gained(trials.known("exploits").get(exploit.name))


def _gained(trial: Trial | None) -> tuple[str, ...] | None:
    if trial is None or trial.verdict is Verdict.ERROR:
        return None
    passed = tuple(m.id for m in trial.milestones if m.status == "passed")
    return passed or ((f"reward {trial.reward:g}",) if trial.reward else ())


def _came_to(trial: Trial | None) -> str:
    if trial is None or trial.verdict is Verdict.ERROR:
        return ""
    stop = next((m.id for m in trial.milestones if m.status != "passed"), "")
    return f"{trial.verdict}, stops at {stop}" if stop else f"{trial.verdict}"


def _instruction(task: Task) -> str:
    paths = [task.path / "instruction.md", *sorted(task.path.glob("steps/*/instruction.md"))]
    return "\n\n".join(p.read_text(encoding="utf-8").strip() for p in paths if p.is_file())


def _facts(task: Task, oracles: tuple[Trial, ...]) -> list[tuple[str, str]]:
    def slowest(phase: str) -> str:
        spans = [getattr(trial.phases, phase) or 0.0 for trial in oracles]
        return f"{max(spans):.0f} s measured" if spans else "not measured"

    facts = [
        ("authors", credited(task.contributions, of_authors=True) or "not named"),
        ("reviewers", credited(task.contributions, of_authors=False) or "none named yet"),
        ("version", task.version or "none"),
        ("digest", task.digest[:16]),
        ("oracle", f"{slowest('agent')}, oracle_minutes = {task.oracle_minutes:g}"),
        ("verification", slowest("verifier")),
        ("limits", f"agent {task.agent_timeout_sec:g} s, verifier {task.verifier_timeout_sec:g} s"),
    ]
    if task.is_benchflow:
        facts += [
            ("expert", f"{task.expert_minutes:g} minutes ({task.expert_minutes_basis})"),
            ("machine", f"{task.arch}, {task.firmware}, {task.machine_memory_mb} MiB"),
            ("image", f"at most {task.image_mb} MiB"),
            ("needs", ", ".join(task.needs) or "nothing special"),
            ("unverified", task.unverified or "nothing"),
        ]
        for d in task.deliverables:
            facts.append((d.path, f"{d.kind}, at most {d.max_mb} MiB, {d.max_stored_mb} stored"))
    return facts
