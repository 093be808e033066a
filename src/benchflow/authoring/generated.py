"""Gates of a generator: its draws, each of its parts alone, and instances of each level.

What was found of a part is kept in `tried.json` beside the generator, for as long as the task that
has that part alone stays the same bytes, the generator's version aside: a part that is added makes
no other one due again.
"""

from __future__ import annotations

import datetime
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchflow.authoring import gate_rules
from benchflow.authoring.check import check
from benchflow.authoring.gate import GateResult, Status, judged
from benchflow.authoring.trials import Trials
from benchflow.base import atomic
from benchflow.base.home import home
from benchflow.base.numbers import plural
from benchflow.errors import BenchflowError
from benchflow.generators import Generator, Instance, files
from benchflow.generators.spec import Spec, chosen, spec
from benchflow.generators.write import write
from benchflow.results.model import Trial, Verdict
from benchflow.run.live.progress import Listener
from benchflow.tasks import load

GATES = ("seeds", "parts", "sample")
_SEEDS = 100
AS_IT_CAME = "as-it-came"
Report = Callable[[GateResult], None]


@dataclass(frozen=True)
class Tried:
    """A part alone. `broken`: what handing in what was handed out earned; `repaired`: what the
    oracle came to. Both are "" where it was not tried, "exact" and "resolved" where all is well."""

    digest: str
    broken: str
    repaired: str
    day: str

    @property
    def good(self) -> bool:
        """Whether the part does what it says."""
        return (self.broken, self.repaired) == ("exact", "resolved")


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
        if found and _bytes(generator, found[0], tasks) != _bytes(generator, found[0], tasks):
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
    begin: Callable[[str], None] = lambda name: None,
    again: bool = False,
) -> GateResult:
    """Each of `names` alone: what is handed out earns exactly what the part leaves whole, and the
    oracle resolves. What is recorded for the same bytes is taken, unless `again`."""
    known = tried(generator)
    findings, trials, ran = [], [], 0
    for name in names or sorted(generator.parts):
        digest = digest_of_part(generator, name, tasks)
        before = known.get(name)
        if again or before is None or before.digest != digest or not before.good:
            begin(name)
            before, found = _try(generator, name, digest, tasks, listener)
            trials += found
            ran += 1
            if before:
                _record(generator, name, before)
        if before and not before.good:
            findings += [
                f"{name}: {what}"
                for what, well in ((before.broken, "exact"), (before.repaired, "resolved"))
                if what != well
            ]
    summary = f"{plural(len(names or generator.parts), 'part')} alone, {ran} run now"
    return gate_rules.errors("parts", trials) or judged("parts", summary, findings)


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


def tried(generator: Generator) -> dict[str, Tried]:
    """What is recorded, by part; of bytes that may be others today (`Tried.digest`)."""
    path = generator.folder / "tried.json"
    if not path.is_file():
        return {}
    told = json.loads(path.read_text(encoding="utf-8"))["parts"]
    return {name: Tried(**one) for name, one in told.items()}


def holding(generator: Generator, tasks: Path) -> set[str]:
    """The parts whose record is good and about what they are today."""
    return {
        name
        for name, one in tried(generator).items()
        if one.good
        and name in generator.parts
        and one.digest == digest_of_part(generator, name, tasks)
    }


def _record(generator: Generator, name: str, found: Tried) -> None:
    entries = {**tried(generator), name: found}
    told = {one: asdict(entries[one]) for one in sorted(entries) if one in generator.parts}
    text = json.dumps({"schema": 1, "parts": told}, indent=1)
    atomic.write(generator.folder / "tried.json", text + "\n")


def digest_of_part(generator: Generator, name: str, tasks: Path) -> str:
    """SHA-256 of all files of the task that has this part alone, 16 digits.

    The same in each version of the generator that leaves them as they are."""
    alone = replace(chosen(generator, [name]), version=0)
    return _bytes(generator, alone, tasks)[:16]


def _bytes(generator: Generator, drawn: Spec, tasks: Path) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / drawn.name
        write(generator, drawn, tasks, folder)
        return files.digest(folder, [folder])


def _try(
    generator: Generator, name: str, digest: str, tasks: Path, listener: Listener
) -> tuple[Tried | None, list[Trial]]:
    drawn = chosen(generator, [name])
    # It stays: a job that was interrupted goes on with the task where it lay.
    folder = home() / "generated" / f"part-{digest}" / drawn.name
    if not folder.is_dir():
        write(generator, drawn, tasks, folder)
    task = load(folder)
    trials = Trials(task, listener)
    handed_out = trials.shipped("exploits", [AS_IT_CAME])[AS_IT_CAME]
    oracle = trials.reference()
    found = [handed_out, *([oracle] if oracle else [])]
    if oracle is None or any(trial.verdict is Verdict.ERROR for trial in found):
        return None, found
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    broken = gain(generator.told.ladder, handed_out, drawn)
    return Tried(digest, broken, _came_to(oracle), day), found


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
