"""A task's datasheet: what is proved of it, what is not, and how each line is computed again.

Made from records: the task's own files, its catalogue's `gates.json`, its `reviews.toml`, and the
trials in `results/` beside the catalogue. It has no date of its own, so that equal records are an
equal sheet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import benchflow
from benchflow.authoring import size
from benchflow.authoring.check import GATES
from benchflow.authoring.gate_record import Standing, dates, standing
from benchflow.authoring.publish.markdown import cell
from benchflow.base import atomic
from benchflow.base.home import home
from benchflow.base.numbers import duration, plural
from benchflow.results.collect import collect
from benchflow.results.records import Record
from benchflow.tasks import Exploit, Task, reviews
from benchflow.tasks.contributors import credited
from benchflow.tasks.stage import boot_zipapp


def datasheet(task: Task) -> str:
    """The datasheet as Markdown. Raises UsageError where a record cannot be read, TaskError for
    wrong reviews.

    Whether gates hold takes seconds to compute, so a sheet is kept (`<home>/datasheets`) for as
    long as nothing that it is made from has changed.
    """
    kept = home() / "datasheets" / f"{_key(task)}.md"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    text = _made(task)
    kept.parent.mkdir(exist_ok=True)
    atomic.write(kept, text, lasting=False)
    return text


def _key(task: Task) -> str:
    """Names all that a sheet is made from: the task, its records, and our own sources."""
    beside = task.path.parents[2]
    around = "".join(
        _stamps(one)
        for one in (Path(benchflow.__file__).parent, beside / "results", beside / "ratings")
    )
    own = _stamped([task.path.parents[1] / "gates.json", *task.path.rglob("*")])
    made_from = f"{task.name} {task.digest} {boot_zipapp().stem}\n{around}{own}"
    return hashlib.sha256(made_from.encode()).hexdigest()[:32]


@cache
def _stamps(folder: Path) -> str:
    """Sizes and times of all files below, which no process changes that makes sheets."""
    return _stamped([path for path in folder.rglob("*") if "__pycache__" not in path.parts])


def _stamped(paths: list[Path]) -> str:
    lines = []
    for path in sorted(paths):
        with suppress(FileNotFoundError):
            info = path.stat()
            lines.append(f"{path} {info.st_size} {info.st_mtime_ns}\n")
    return "".join(lines)


def _made(task: Task) -> str:
    name = cell(task.name).replace("`", "")  # a plain Harbor folder may be called anything
    found = standing(task) if task.is_benchflow else None
    parts = [
        f"# {name} {cell(task.version)}\n\n{cell(task.description, 500)}\n\nMade by "
        f"`benchflow tasks datasheet {name}` from records; nothing in it is kept by hand.",
        _facts(task, found),
    ]
    if task.is_benchflow:
        parts += [
            _gates(task, found),
            _exploits(task),
            _variants(task),
            _attempts(task),
            *_experts(task),
            _trials(task),
        ]
    return "\n\n".join(parts) + "\n"


def _facts(task: Task, found: Standing | None) -> str:
    show = f"benchflow tasks show {task.name}"
    limits = [
        f"agent {duration(task.agent_timeout_sec)}" if task.agent_timeout_sec else "",
        f"verifier {duration(task.verifier_timeout_sec)}" if task.verifier_timeout_sec else "",
    ]
    granted = task.resources
    sizes = size.delivered(found.held("size") if found else None)
    rows = [
        ["task digest", f"`{task.digest}`", show],
        ["authors", credited(task.contributions, of_authors=True), show],
        ["reviewers", credited(task.contributions, of_authors=False) or "none named yet", show],
        ["machine", f"{task.arch} {task.firmware}, {task.machine_memory_mb} MiB", show],
        ["proof", f"{plural(len(task.milestones), 'milestone')}, {task.n_checks} checks", show],
        ["time limits", ", ".join(part for part in limits if part), show],
        ["agent's sandbox", f"{granted.cpus} cores, {granted.memory_mb} MiB of memory, "
         f"{granted.storage_mb} MiB of disk", show],
        *([f"deliverable `{one.path}`", f"{one.kind}, at most {one.max_mb} MiB, "
           f"{one.max_stored_mb} MiB stored", show] for one in task.deliverables),
        *([["the oracle's deliverables", sizes, f"benchflow check --gate size {task.name}"]]
          if sizes else []),
        ["expert's time", f"{duration(task.expert_minutes * 60)} ({task.expert_minutes_basis})",
         show],
        ["oracle's time", duration(task.oracle_minutes * 60), "benchflow check --gate budget "
         f"{task.name}"],
        ["needs", ", ".join(task.needs) or "nothing more", show],
        ["not verified", task.unverified or "nothing is declared", show],
    ]  # fmt: skip
    return "## What it is\n" + _table(["fact", "value", "command"], rows)


def _gates(task: Task, found: Standing | None) -> str:
    when = dates(task)
    rows = []
    for gate in GATES:
        result = found.gates.get(gate) if found else None
        state = "not proved: no record" if result is None else str(result.status)
        if result and found and found.stale:
            state = f"not proved: {state} for an older state of the task or its verifier"
        told = [result.summary, *result.findings] if result else []
        day = when.get(gate, "") if result else ""
        again = f"benchflow check --gate {gate} {task.name}"
        rows.append([gate, state, "; ".join(told), day, again])
    header = ["gate", "state", "what was found", "day", "command"]
    return f"## What is proved\n{_lapsed(found)}" + _table(header, rows)


def _lapsed(found: Standing | None) -> str:
    if found is None:
        return "No gates are recorded for this task.\n\n"
    if not found.stale:
        return f"{found.good} of {len(GATES)} gates hold for the task as it is.\n\n"
    named = ", ".join(found.changed[:5])
    more = f" and {len(found.changed) - 5} more" if len(found.changed) > 5 else ""
    return f"No gate holds for the task as it is. Changed since they ran: {cell(named)}{more}.\n\n"


def _exploits(task: Task) -> str:
    ids = [milestone.id for milestone in task.milestones]

    def gain(exploit: Exploit) -> str:
        return ", ".join(one for one in ids if one in exploit.allowed) or "nothing"

    rows = [
        [one.name, gain(one), one.why, f"benchflow check --gate {gate} {task.name}"]
        for gate, group in (("exploits", task.exploits), ("corpus", task.common_exploits))
        for one in group
    ]
    about = (
        "What each gains as declared; the gates `exploits` and `corpus` above say whether that was "
        "seen to be exact. Exploits common to all tasks are listed where a gain is declared.\n\n"
    )
    return f"## Exploits tried\n{about}" + _table(["exploit", "gains", "why", "command"], rows)


def _variants(task: Task) -> str:
    again = f"benchflow check --gate variants {task.name}"
    rows = [[one.name, one.what, again] for one in task.variants]
    about = "Other honest solutions; the gate `variants` above says whether they resolve it.\n\n"
    return f"## Variants\n{about}" + _table(["variant", "what it does otherwise", "command"], rows)


def _attempts(task: Task) -> str:
    found = reviews.read(task.path)
    rows = []
    for one in found.attempts:
        before = f" ({one.first} before adjudication)" if one.first else ""
        faults = "; ".join(f"{f.check}: fault of the {f.fault}" for f in one.failures)
        told = f"{one.verdict}{before}, {one.minutes:g} min, {plural(one.calls, 'command')}"
        rows.append([one.versions, str(one.date), "attempt", told, faults])
    for attack in found.attacks:
        told = f"{len(attack.held)} held, {len(attack.worked)} worked and were stopped"
        rows.append([attack.version, str(attack.date), "attack", told, "; ".join(attack.worked)])
    header = ["version", "day", "kind", "what came of it", "what failed, or worked"]
    now = found.at(task.version)
    about = (
        f"By somebody who was not its author; of version {task.version}: "
        f"{plural(len(now.attempts), 'attempt')}, {plural(len(now.attacks), 'attack')}. Kept in "
        f"the task's `reviews.toml`; `benchflow tasks show {task.name}` prints them.\n\n"
    )
    return f"## Attempts and attacks\n{about}" + _table(header, rows)


def _experts(task: Task) -> list[str]:
    """What experts say of it; nothing at all where no ratings of its content are recorded."""
    if find_spec("statsmodels") is None or find_spec("krippendorff") is None:
        return []
    from benchflow.people import said_words

    again = f"benchflow tasks show {task.name}"
    rows = [[label, words, again] for label, words in said_words.of_task(task)]
    about = (
        "Ratings by people who say that such work is theirs, of this content of the task, checked "
        "again from `ratings/` (docs/people.md). Intervals at 95 %.\n\n"
    )
    return [f"## Experts\n{about}" + _table(["what", "answer", "command"], rows)] if rows else []


def _trials(task: Task) -> str:
    folder = task.path.parents[2] / "results"
    again = f"benchflow report {folder.name}/"
    rows = [
        [_versions(one), one.agent, one.model, one.verdict, _reward(one.reward), again]
        for one in _records(folder)
        if one.task == task.name
    ]
    header = ["version", "agent", "model", "verdict", "reward", "command"]
    about = "" if rows else "None.\n\n"
    return f"## Measured trials\n{about}" + _table(header, rows)


def _versions(record: Record) -> str:
    found = record.adjudication
    later = found.verified_version if found else ""
    return f"{record.task_version}, verified again at {later}" if later else record.task_version


def _reward(reward: float | None) -> str:
    return "" if reward is None else f"{reward:.2f}"


@cache
def _records(folder: Path) -> Sequence[Record]:
    """The trials in the results beside a catalogue; none where there is no such folder."""
    found = [path for path in sorted(folder.glob("*")) if path.suffix == ".jsonl" or path.is_dir()]
    return collect(found, trajectories=False).records if found else ()


def _table(header: list[str], rows: Iterable[list[str]]) -> str:
    commands = header[-1] == "command"
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for row in rows:
        cells = [cell(text, 600) for text in row]
        if commands:
            cells[-1] = f"`{cells[-1].replace('`', '')}`"
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else "None."
