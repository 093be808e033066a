"""The catalogue as pages: one of all tasks, and one a task.

Everything on them is read: the task's own folder, the gates' record beside it, measured trials
(results/), the log of measurements (benchmarks/log), and the explanation, which is a README.md in
the task's folder or the task's section in docs/families/TOPIC.md. So a new task needs nothing but
its own folder to be in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchflow.authoring import size
from benchflow.authoring.check import GATES
from benchflow.authoring.gate_record import Standing, dates, standing
from benchflow.base.numbers import duration, plural
from benchflow.reference import log
from benchflow.reference.markdown import before_sections, deeper, sections, table
from benchflow.results.collect import collect
from benchflow.results.records import Record
from benchflow.tasks import Exploit, Task, Variant
from benchflow.tasks.catalogue import catalogue
from benchflow.tasks.contributors import credited
from benchflow.tasks.load import script_says
from benchflow.tasks.reviews import Attempt, read

_EXPLAINED = ("What it measures", "Why it is hard", "How it is proved", "What it does not prove")
_MADE = (
    "Made from the task's own files, its record of gates and the log of measurements; not edited."
)


@dataclass(frozen=True)
class Sources:
    """Where the pages are read from: the folders of a checkout."""

    checkout: Path

    @property
    def topics(self) -> Path:
        """Explanations, a page a topic."""
        return self.checkout / "docs/families"

    def trials(self) -> list[Record]:
        """All measured attempts."""
        return list(collect(sorted((self.checkout / "results").glob("*.jsonl"))).records)

    def log(self, task: Task) -> list[log.Entry]:
        """What was measured of the task itself."""
        return log.read(self.checkout / "benchmarks/log" / f"{task.slug}.jsonl")

    def explained(self, task: Task) -> str:
        """The author's explanation, headings at the third level; "" where there is none."""
        own = task.path / "README.md"
        if own.is_file():
            return deeper(own.read_text(encoding="utf-8"), 1)
        page = self.topics / f"{task.topic}.md"
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        return sections(text, 2).get(task.name, "")


def pages(checkout: Path) -> dict[str, str]:
    """Every page of the catalogue, by its path below the catalogue's folder."""
    sources = Sources(checkout)
    tasks = catalogue(checkout / "tasks")
    trials = sources.trials()
    found = {"index.md": _index(tasks)}
    for task in tasks:
        found[f"{task.name}.md"] = page(task, sources, trials)
    return found


def _index(tasks: list[Task]) -> str:
    rows = []
    for task in tasks:
        found = standing(task)
        rows.append(
            [
                f"[{task.name}]({task.name}.md)",
                task.description,
                f"{task.arch} {task.firmware}",
                str(len(task.milestones)),
                str(task.n_checks),
                duration(task.expert_minutes * 60),
                _archive_mb(found),
                str(found or "no gates recorded"),
            ]
        )
    header = ["task", "in one sentence", "machine", "milestones", "checks", "expert"]
    return (
        "# All tasks\n\nFor readers who look for a task. Made from the tasks' own files.\n\n"
        + table([*header, "MiB to carry", "gates"], rows)
        + "\nAn expert's time is an estimate unless the task's page says that somebody was timed. "
        "*MiB to carry*: what the oracle delivered, as the one archive in which exported tasks "
        f"carry it; verifiers takes {size.TRAINERS_MB} MiB unless told otherwise.\n"
    )


def _archive_mb(found: Standing | None) -> str:
    result = found.held("size") if found else None
    figure = result.figures.get("delivered_packed_mb") if result else None
    return "not measured" if figure is None else f"{figure:.1f}"


def page(task: Task, sources: Sources, trials: list[Record]) -> str:
    """The page of one task."""
    told = sources.explained(task)
    parts = sections(told, 3)
    entries = sources.log(task)
    mine = [record for record in trials if record.task == task.name]
    blocks = [
        f"# {task.name}\n\nFor readers who consider this task, or a score on it. {_MADE}",
        f"{task.description}\n\n{before_sections(told, 3)}".strip(),
        table(["", ""], _facts(task)),
        *[f"## {name}\n\n{parts[name]}" for name in _EXPLAINED[:2] if name in parts],
        f"## Milestones\n\n{table(*_milestones(task))}",
        *[f"## {name}\n\n{parts[name]}" for name in _EXPLAINED[2:] if name in parts],
        _section("Not verified", task.unverified),
        _section("Exploits", _exploits(task, entries)),
        _section("Variants", _variants(task, entries)),
        f"## Gates\n\n{_gates(task)}",
        _section("Measured attempts", table(*_attempts(mine))),
        _section("Reviews", _reviews(task)),
        _section("Measured by its authors", table(*_measured(entries))),
        _section("What was found on the way", _findings(entries)),
        f"## What the customer wants\n\nThe instruction, as the agent gets it.\n\n{_letter(task)}",
    ]
    return "\n\n".join(block.rstrip() for block in blocks if block) + "\n"


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""


def _letter(task: Task) -> str:
    path = task.path / "instruction.md"
    return deeper(path.read_text(encoding="utf-8"), 2)


def _facts(task: Task) -> list[list[str]]:
    rows = [
        ["version", task.version],
        ["topic", task.topic],
        ["skills", ", ".join(task.skills)],
        ["authors", credited(task.contributions, of_authors=True)],
        ["reviewers", credited(task.contributions, of_authors=False)],
        ["machine", f"{task.arch}, {task.firmware}, {task.machine_memory_mb} MiB of memory"],
        ["the agent's time limit", duration(task.agent_timeout_sec)],
        ["an expert needs", f"{duration(task.expert_minutes * 60)} ({task.expert_minutes_basis})"],
        ["the oracle works for", duration(task.oracle_minutes * 60)],
        ["the verifier's time limit", duration(task.verifier_timeout_sec)],
        [
            "deliverables",
            "; ".join(f"`{d.path}` ({d.kind}, ≤ {d.max_mb:,} MiB)" for d in task.deliverables),
        ],
        ["needs", ", ".join(task.needs)],
        ["hints", str(len(task.hints)) if task.hints else ""],
        ["try it", f"`benchflow run {task.name} --agent AGENT`"],
    ]
    return [row for row in rows if row[1]]


def _milestones(task: Task) -> tuple[list[str], list[list[str]]]:
    header = ["milestone", "what it proves", "weight", "requires", "checks", "demands"]
    rows = []
    for milestone in task.milestones:
        demands = sorted({r for check in milestone.checks for r in check.proves}, key=_number)
        rows.append(
            [
                f"`{milestone.id}`",
                milestone.title,
                f"{milestone.weight:g}",
                ", ".join(milestone.requires),
                str(len(milestone.checks)),
                ", ".join(demands),
            ]
        )
    return header, rows


def _number(requirement: str) -> tuple[int, str]:
    digits = "".join(c for c in requirement if c.isdigit())
    return int(digits or 0), requirement


def _exploits(task: Task, entries: list[log.Entry]) -> str:
    seen = _last(entries, "exploit")
    rows = [
        [f"`{e.name}`", script_says(e.path), _gain(task, e), _outcome(seen.get(e.name))]
        for e in task.exploits
    ]
    common = [
        f"- `{exploit.name}` may gain {', '.join(exploit.allowed)}: {exploit.why}"
        for exploit in task.common_exploits
    ]
    text = table(["exploit", "what it tries", "what it may gain", "measured"], rows)
    if common:
        text += "\nOf the exploits that every task is tried with:\n\n" + "\n".join(common) + "\n"
    return text


def _gain(task: Task, exploit: Exploit) -> str:
    """What it is declared to gain; the shorter list, of what it may pass or of what it may not."""
    if not exploit.allowed:
        return "nothing"
    lost = [m.id for m in task.milestones if m.id not in exploit.allowed]
    gained = ", ".join(exploit.allowed)
    short = f"all but {', '.join(lost)}" if len(lost) < len(exploit.allowed) else gained
    return f"{short}: {exploit.why}"


def _variants(task: Task, entries: list[log.Entry]) -> str:
    seen = _last(entries, "variant")
    rows = [[f"`{v.name}`", _what(v), _outcome(seen.get(v.name))] for v in task.variants]
    return table(["variant", "what it does otherwise", "measured"], rows)


def _what(variant: Variant) -> str:
    return variant.what or "(its script does not say)"


def _last(entries: list[log.Entry], what: str) -> dict[str, log.Entry]:
    """The latest record of each name."""
    return {str(e.values.get("name", "")): e for e in entries if e.what == what}


def _outcome(entry: log.Entry | None) -> str:
    if entry is None:
        return ""
    values, parts = entry.values, []
    if "reward" in values:
        parts.append(f"reward {values['reward']:g}")
    if "reckoned" in values:
        parts.append(f"reward {values['reckoned']:g}, reckoned")
    if "resolved" in values:
        parts.append("resolved" if values["resolved"] else "not resolved")
    words = {
        "passes": "passes",
        "passes_up_to": "passes up to",
        "loses": "loses",
        "stopped_at": "stopped at",
        "stopped_by": "stopped by",
    }
    parts += [f"{word} {values[key]}" for key, word in words.items() if key in values]
    if entry.note:
        parts.append(entry.note)
    return f"{'; '.join(parts)} (version {entry.version}, {entry.date})"


def _gates(task: Task) -> str:
    found = standing(task)
    if found is None:
        return "None is recorded."
    when = dates(task)
    rows = [
        [name, str(result.status), result.summary, when.get(name, "")]
        for name, result in sorted(found.gates.items(), key=lambda item: GATES.index(item[0]))
    ]
    missing = [gate for gate in GATES if gate not in found.gates]
    lines = [table(["gate", "outcome", "seen", "on"], rows)]
    if missing:
        lines.append(f"Not recorded as the task is now: {', '.join(missing)}.")
    if found.stale:
        lines.append(
            f"The record is of another state: {plural(len(found.changed), 'part')} changed in "
            f"meaning since ({', '.join(found.changed)}), so these gates are due again."
        )
    return "\n".join(lines)


def _attempts(trials: list[Record]) -> tuple[list[str], list[list[str]]]:
    header = ["agent", "of version", "verdict", "milestones", "reward", "minutes", "commands"]
    rows = []
    for trial in trials:
        seconds = trial.phases.agent
        rows.append(
            [
                trial.who,
                trial.task_version,
                str(trial.verdict),
                f"{trial.n_passed} of {len(trial.milestones)}",
                "" if trial.reward is None else f"{trial.reward:.2f}",
                "" if seconds is None else f"{seconds / 60:.0f}",
                "" if trial.steps is None else str(trial.steps),
            ]
        )
    return header, rows


def _reviews(task: Task) -> str:
    """Blind attempts and attacks, as reviews.toml has them; "" where there is none."""
    found = read(task.path)
    lines = [_attempted(one) for one in found.attempts]
    for attack in found.attacks:
        lines.append(
            f"- *Attack* on {attack.version} ({attack.date}, {attack.minutes:g} minutes) by "
            f"{attack.who}"
        )
        lines += [f"    - worked, and is stopped since: {one}" for one in attack.worked]
        lines += [f"    - gained nothing: {one}" for one in attack.held]
    return "\n".join(lines)


def _attempted(one: Attempt) -> str:
    first = f", at first {one.first}" if one.first else ""
    lines = [
        f"- *Blind attempt* at {one.versions} ({one.date}) by {one.who}: {one.verdict}{first}, "
        f"reward {one.reward:g}, {one.minutes:g} minutes, {plural(one.calls, 'call')}"
    ]
    lines += [
        f"    - `{failure.check}` failed, the fault of the {failure.fault}: {failure.why}"
        for failure in one.failures
    ]
    return "\n".join(lines)


_TIMED = ("oracle", "ladder", "exploits", "common exploits", "determinism", "gates", "verification")


def _measured(entries: list[log.Entry]) -> tuple[list[str], list[list[str]]]:
    header = ["what", "outcome", "times", "conditions", "version", "written down"]
    rows = [
        [e.what, _numbers(e), _times(e), e.conditions, e.version, e.date]
        for e in entries
        if e.what in _TIMED
    ]
    return header, rows


def _numbers(entry: log.Entry) -> str:
    v = entry.values
    parts = []
    if "runs" in v and "resolved" in v:
        parts.append(f"{v['resolved']} of {v['runs']} resolved")
    if "runs" in v and "agree" in v:
        parts.append(f"{v['agree']} of {v['runs']} agree")
    if v.get("exact"):
        parts.append("exact at each milestone")
    if "as_declared" in v:
        parts.append("each as declared" if v["as_declared"] else "not as declared")
    if "gained" in v:
        parts.append("nothing gained" if not v["gained"] else f"gained {v['gained']}")
    parts += [str(v[key]) for key in ("passed", "names") if key in v]
    parts += [f"milestones: {v['milestones']}"] if isinstance(v.get("milestones"), str) else []
    if entry.note:
        parts.append(entry.note)
    return "; ".join(parts)


def _times(entry: log.Entry) -> str:
    words = {
        "work_s": "work",
        "verification_s": "verification",
        "processor_s": "of processor time",
        "build_s": "building",
        "trial_s": "for the trial",
        "seconds": "in all",
    }
    v = entry.values
    return ", ".join(f"{log.span(v[key], 's')} {word}" for key, word in words.items() if key in v)


def _findings(entries: list[log.Entry]) -> str:
    return "\n".join(_told(entries))


def _told(entries: list[log.Entry]) -> Iterator[str]:
    for entry in entries:
        if entry.what in ("fault", "changed", "tested", "due", "observation", "wanted", "attempt"):
            where = f" in the {entry.values['where']}" if "where" in entry.values else ""
            yield f"- *{entry.what}{where}* (version {entry.version}): {entry.note}"
