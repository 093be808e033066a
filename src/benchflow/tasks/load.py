"""Reads a task folder. Every problem is named at once: file, key, what is wrong, what fixes it."""

from __future__ import annotations

import difflib
import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.base import shell_pieces
from benchflow.boot.milestones import ChecksError, MilestoneSpec
from benchflow.boot.runner.scan import scan
from benchflow.errors import TaskError, UsageError
from benchflow.tasks import sequels
from benchflow.tasks.contributors import Contribution, contradictions, contributions
from benchflow.tasks.digest import digest_of
from benchflow.tasks.model import Deliverable, Exploit, Resources, Sequel, Step, Task, Variant

if TYPE_CHECKING:
    from benchflow.tasks.schema import TaskFile

#: What a task's content address covers: all that can move a score.
SCORED_PARTS = ("task.toml", "instruction.md", "hints", "environment", "solution", "tests", "steps")
_REQUIREMENT = re.compile(r"\[(R\d+[a-z]?)\]")
_HARBOR_SCHEMAS = {"1.0", "1.1", "1.2", "1.3", "1.4"}

#: Rewards have six decimals: what a smaller milestone is worth could not be told from nothing.
_LEAST_SHARE = 1e-5


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a task, placed and with its remedy."""

    file: str
    key: str
    message: str
    fix: str

    def __str__(self) -> str:
        where = f"{self.file}: {self.key}" if self.key else self.file
        return f"{where}: {self.message} — {self.fix}"


def load(path: Path | str) -> Task:
    """The task in folder `path`: ours when it has [metadata.benchflow], else plain Harbor.

    Raises UsageError when there is no task at `path`, TaskError listing every problem otherwise.
    """
    return _load(path, may_be_sequel=True)


def _load(path: Path | str, *, may_be_sequel: bool) -> Task:
    folder = Path(path).resolve()
    config = folder / "task.toml"
    if not config.is_file():
        raise UsageError(f"{path}: no task here (task.toml is missing)", hint="see benchflow tasks")
    data = _read_toml(config)
    metadata = data.get("metadata")
    if not isinstance(metadata, dict) or "benchflow" not in metadata:
        return _load_plain(folder, data)
    parsed, problems = _parse(data)
    problems += list(_missing_files(folder, data))
    problems += [
        Problem(path.relative_to(folder).as_posix(), "", message, fix)
        for path, message, fix in shell_pieces.problems(folder)
    ]
    if parsed is None or problems:
        raise _error(folder, problems)
    milestones = _scan(folder, folder / "tests" / "checks.py", problems)
    steps = tuple(
        Step(s.name, _scan(folder, folder / "steps" / s.name / "tests" / "checks.py", problems))
        for s in parsed.steps
    )
    sequel = _sequel(folder, parsed, problems, allowed=may_be_sequel)
    task = _assemble(folder, parsed, milestones, steps, sequel)
    if problems or (problems := list(_inconsistencies(task, parsed))):
        raise _error(folder, problems)
    return task


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: not UTF-8: {error}", hint="write it as UTF-8") from None


def _error(folder: Path, problems: list[Problem]) -> TaskError:
    lines = "\n".join(f"  {problem}" for problem in problems)
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return TaskError(
        f"{folder}: {count}\n{lines}", hint="docs/reference/task-toml.md has every key"
    )


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        if text.startswith("\N{BYTE ORDER MARK}"):
            raise TaskError(
                f"{path}: not valid TOML: it begins with a byte order mark",
                hint="save it as UTF-8 without one",
            )
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskError(f"{path}: not valid TOML: {error}", hint="fix the line it names") from None
    except RecursionError:
        raise TaskError(
            f"{path}: lists within lists, deeper than can be read", hint="write them flat"
        ) from None


def _load_plain(folder: Path, data: dict[str, Any]) -> Task:
    schema = str(data.get("schema_version", data.get("version", "1.0")))
    if schema not in _HARBOR_SCHEMAS:
        raise TaskError(
            f"{folder / 'task.toml'}: schema_version: {schema!r} is not one that we know",
            hint=f"use one of {', '.join(sorted(_HARBOR_SCHEMAS))}",
        )
    if not data.get("steps") and not (folder / "instruction.md").is_file():
        raise TaskError(
            f"{folder / 'instruction.md'}: the file is missing", hint="write the instruction"
        )
    for instruction in (folder / "instruction.md", *folder.glob("steps/*/instruction.md")):
        if instruction.is_file():
            _text(instruction)
    package = data.get("task") if isinstance(data.get("task"), dict) else {}
    assert isinstance(package, dict)
    return Task(
        path=folder,
        name=folder.name,
        version=str(package.get("version", "")),
        digest=digest_of(folder, SCORED_PARTS, links=True),
        is_benchflow=False,
        description=str(package.get("description", "")),
        authors=(authors := _names(package.get("authors"))),
        contributions=contributions(authors, ()),
        agent_timeout_sec=_seconds(data, "agent"),
        verifier_timeout_sec=_seconds(data, "verifier"),
        resources=Resources(memory_mb=_whole(data.get("environment"), "memory_mb")),
        artifacts=_artifacts(data),
    )


def _whole(table: object, key: str) -> int:
    value = table.get(key) if isinstance(table, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def _artifacts(data: dict[str, Any]) -> tuple[str, ...]:
    steps = data.get("steps")
    tables = [data, *(steps if isinstance(steps, list) else [])]
    lists = [table.get("artifacts") for table in tables if isinstance(table, dict)]
    entries = [entry for found in lists if isinstance(found, list) for entry in found]
    paths = [entry.get("source") if isinstance(entry, dict) else entry for entry in entries]
    absolute = [path.rstrip("/") for path in paths if isinstance(path, str) and path[:1] == "/"]
    return tuple(dict.fromkeys(absolute))


def _names(people: object) -> tuple[str, ...]:
    entries = people if isinstance(people, list) else []
    return tuple(
        str(person["name"]) for person in entries if isinstance(person, dict) and "name" in person
    )


def _seconds(data: dict[str, Any], section: str) -> float:
    table = data.get(section)
    value = table.get("timeout_sec") if isinstance(table, dict) else None
    try:
        return float(value) if isinstance(value, int | float) else 0.0
    except OverflowError:  # more than a float holds is no limit, and is told where it is run
        return math.inf


def _parse(data: dict[str, Any]) -> tuple[TaskFile | None, list[Problem]]:
    from pydantic import ValidationError

    from benchflow.tasks.schema import TaskFile

    try:
        return TaskFile.model_validate(data), []
    except ValidationError as error:
        return None, [_from_pydantic(dict(item), TaskFile) for item in error.errors()]


def _from_pydantic(item: dict[str, Any], root: Any) -> Problem:
    location = tuple(item["loc"])
    key = ".".join(str(part) for part in location)
    if item["type"] == "extra_forbidden":
        known = _fields_at(root, location[:-1])
        close = difflib.get_close_matches(str(location[-1]), known, n=1)
        fix = f"did you mean {close[0]!r}?" if close else f"remove it; known: {', '.join(known)}"
        return Problem("task.toml", key, "unknown key", fix)
    if item["type"] == "missing":
        return Problem("task.toml", key, "the key is missing", "add it")
    given = repr(item["input"])
    shown = given if len(given) <= 60 else given[:57] + "..."
    return Problem("task.toml", key, f"{shown} is not right", item["msg"])


def _fields_at(model: Any, location: tuple[str | int, ...]) -> list[str]:
    from pydantic import BaseModel

    current: Any = model
    for part in location:
        if isinstance(part, int):
            continue
        annotation = current.model_fields[part].annotation
        arguments = getattr(annotation, "__args__", ())
        models = [a for a in (annotation, *arguments) if isinstance(a, type)]
        current = next(a for a in models if issubclass(a, BaseModel))
    return sorted(current.model_fields)


def _missing_files(folder: Path, data: dict[str, Any]) -> Iterator[Problem]:
    wanted = {
        "instruction.md": "write what a customer would write, demands numbered [R1], [R2] …",
        "environment/Dockerfile": "start it with FROM debian:bookworm",
        "solution/solve.sh": "write the oracle; it honours STOP_AFTER",
        "tests/checks.py": "write the checks (docs/checks.md)",
    }
    steps = data.get("steps")
    names = [s.get("name") for s in steps if isinstance(s, dict)] if isinstance(steps, list) else []
    for name in names:
        for part in ("instruction.md", "solution/solve.sh", "tests/checks.py"):
            wanted[f"steps/{name}/{part}"] = "every step has its own"
    if names:
        for part in ("instruction.md", "solution/solve.sh", "tests/checks.py"):
            del wanted[part]
    for relative, fix in wanted.items():
        path = folder / relative
        if not path.is_file():
            yield Problem(relative, "", "the file is missing", fix)
        elif path.stat().st_size == 0:
            yield Problem(relative, "", "the file is empty", fix)


def _scan(folder: Path, path: Path, problems: list[Problem]) -> tuple[MilestoneSpec, ...]:
    if not path.is_file():
        return ()
    relative = str(path.relative_to(folder))
    try:
        milestones = tuple(scan(path))
    except ChecksError as error:
        where = f"line {error.line}" if error.line else ""
        problems.append(Problem(relative, where, error.problem, error.fix or "fix it"))
        return ()
    total = sum(milestone.weight for milestone in milestones)
    problems += [
        Problem(
            relative,
            milestone.id,
            f"weight {milestone.weight:g} of {total:g} is lost when the reward is rounded",
            f"make it at least {_LEAST_SHARE * total:g}",
        )
        for milestone in milestones
        if milestone.weight < _LEAST_SHARE * total
    ]
    return milestones


def _assemble(
    folder: Path,
    parsed: TaskFile,
    milestones: tuple[MilestoneSpec, ...],
    steps: tuple[Step, ...],
    sequel: Sequel | None,
) -> Task:
    ours = parsed.metadata.benchflow
    declared = {e.script: e for e in ours.exploits}
    exploits = tuple(
        Exploit(
            name=path.stem,
            path=path,
            allowed=tuple(declared[path.stem].allowed) if path.stem in declared else (),
            why=declared[path.stem].why if path.stem in declared else "",
            incremental=path.stem in declared and declared[path.stem].incremental,
        )
        for path in sorted((folder / "exploits").glob("*.sh"))
    )
    variants_on = {e.script for e in ours.variants if e.incremental}
    instructions = [folder / "instruction.md"]
    instructions += [folder / "steps" / step.name / "instruction.md" for step in steps]
    text = "\n".join(_text(p) for p in instructions if p.is_file())
    return Task(
        path=folder,
        name=f"{ours.topic}/{ours.name}",
        version=parsed.task.version,
        digest=sequels.with_recipe(digest_of(folder, SCORED_PARTS), sequel),
        is_benchflow=True,
        description=parsed.task.description,
        authors=(authors := tuple(author.name for author in parsed.task.authors)),
        contributions=contributions(authors, _told_of(parsed)),
        topic=ours.topic,
        generator=ours.generated.generator if ours.generated else "",
        skills=tuple(ours.skills),
        arch=ours.arch,
        further_arches=tuple(ours.further_arches),
        firmware=ours.firmware,
        machine_memory_mb=ours.machine_memory_mb,
        machines_at_once=ours.machines_at_once,
        expert_minutes=ours.expert_minutes,
        expert_minutes_basis=ours.expert_minutes_basis,
        oracle_minutes=ours.oracle_minutes,
        oracle_incremental=ours.oracle_incremental,
        image_mb=ours.image_mb,
        verifier_storage_mb=ours.verifier_storage_mb or 0,
        needs=tuple(ours.needs),
        unverified=ours.unverified,
        agent_timeout_sec=parsed.agent.timeout_sec,
        verifier_timeout_sec=parsed.verifier.timeout_sec,
        milestones=milestones,
        requirements=tuple(dict.fromkeys(_REQUIREMENT.findall(text))),
        deliverables=tuple(
            Deliverable(d.path, d.kind, d.max_mb, d.max_stored_mb or d.max_mb)
            for d in ours.deliverables
        ),
        exploits=exploits,
        common_exploits=tuple(
            Exploit(name=e.exploit, path=Path(), allowed=tuple(e.allowed), why=e.why)
            for e in ours.common_exploits
        ),
        variants=tuple(
            Variant(path.stem, path, script_says(path), path.stem in variants_on)
            for path in sorted((folder / "variants").glob("*.sh"))
        ),
        steps=steps,
        sequel=sequel,
        resources=Resources(
            cpus=parsed.environment.cpus,
            memory_mb=parsed.environment.memory_mb,
            storage_mb=parsed.environment.storage_mb,
            build_timeout_sec=parsed.environment.build_timeout_sec,
        ),
        hints=tuple(path for n in (1, 2, 3) if (path := folder / "hints" / f"{n}.md").is_file()),
    )


def _sequel(
    folder: Path, parsed: TaskFile, problems: list[Problem], *, allowed: bool
) -> Sequel | None:
    """What the task begins from; the earlier task is loaded, too."""
    told = parsed.metadata.benchflow.sequel
    if told is None:
        return None
    key = "metadata.benchflow.sequel"
    where = sequels.earlier_folder(folder, told.of)
    if not allowed or not (where / "task.toml").is_file() or parsed.steps:
        message, fix = (
            ("a sequel has one step", "take the steps out")
            if parsed.steps
            else (f"no task {told.of!r} beside it", "name one of the same catalogue")
            if allowed
            else ("it is a sequel itself", "begin from a task that is none")
        )
        problems.append(Problem("task.toml", key, message, fix))
        return None
    earlier = _load(where, may_be_sequel=False)
    problems += [Problem("task.toml", key, *found) for found in sequels.problems(earlier, folder)]
    return Sequel(earlier, told.place)


def _told_of(parsed: TaskFile) -> list[Contribution]:
    ours = parsed.metadata.benchflow
    return [
        Contribution(one.name, is_author, tuple(dict.fromkeys(one.did)), one.orcid or "")
        for is_author, people in ((True, ours.authors), (False, ours.reviewers))
        for one in people
    ]


def script_says(script: Path) -> str:
    """The comment that a script begins with, as one line."""
    lines = _text(script).splitlines()
    lines = lines[1:] if lines and lines[0].startswith("#!") else lines
    comment = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return " ".join(" ".join(line.lstrip("#") for line in comment).split())


def _inconsistencies(task: Task, parsed: TaskFile) -> Iterator[Problem]:
    parts = task.path.parts
    if parts[-2:] != tuple(task.name.split("/")):
        yield Problem(
            "task.toml",
            "metadata.benchflow.topic/name",
            f"says {task.name!r}, the folder says {'/'.join(parts[-2:])!r}",
            "make them equal",
        )
    for table, message, fix in contradictions(task.authors, _told_of(parsed)):
        yield Problem("task.toml", f"metadata.benchflow.{table}", message, fix)
    milestones = list(task.milestones)
    for step in task.steps:
        milestones += step.milestones
    known = set(task.requirements)
    for milestone in milestones:
        for check in milestone.checks:
            for name in check.proves:
                if name not in known:
                    yield Problem(
                        "tests/checks.py",
                        f"{check.name} (line {check.line})",
                        f"proves {name}, which the instruction does not ask for",
                        f"write [{name}] into instruction.md, or take it out of proves",
                    )
    ids = {milestone.id for milestone in milestones}
    ours = parsed.metadata.benchflow
    yield from _absent("exploits", [e.script for e in ours.exploits], task.exploits)
    yield from _absent("variants", [v.script for v in ours.variants], task.variants)
    for declared in ours.exploits:
        yield from _unknown(declared.allowed, ids, "exploits")
    for exploit in task.common_exploits:
        yield from _unknown(exploit.allowed, ids, "common_exploits")


def _absent(
    folder: str, declared: list[str], shipped: Iterable[Exploit | Variant]
) -> Iterator[Problem]:
    names = {script.name for script in shipped}
    for script in declared:
        if script not in names:
            yield Problem(
                "task.toml",
                f"metadata.benchflow.{folder}",
                f"{folder}/{script}.sh does not exist",
                "add the script or remove the entry",
            )


def _unknown(names: Iterable[str], ids: set[str], table: str) -> Iterator[Problem]:
    for name in names:
        if name not in ids:
            yield Problem(
                "task.toml",
                f"metadata.benchflow.{table}.allowed",
                f"no milestone {name!r}",
                f"use one of {', '.join(sorted(ids))}",
            )
