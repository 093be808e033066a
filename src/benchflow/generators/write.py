"""An instance as an ordinary task folder.

In the template's text files a line `# @parts broken STAGE` becomes what brings the drawn parts of
that stage about, `# @parts repaired MILESTONE` what repairs those that bite there, `@hints` the
hints of all parts; `{{fact}}`, there and in values, becomes a fact of the instance (`_facts`). Of
demands (`demands`) there are also `# @parts checks MILESTONE`, `@demands`, `@formats` and `@spec`.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from benchflow.base import shell_pieces
from benchflow.base.numbers import plural
from benchflow.errors import TaskError
from benchflow.generators import axes, demands
from benchflow.generators.demands import Demand
from benchflow.generators.files import files
from benchflow.generators.generator import Generator
from benchflow.generators.kinds import Kind
from benchflow.generators.parts import Part
from benchflow.generators.spec import Spec
from benchflow.generators.values import replaced

_PLACE = re.compile(r"(?m)^# @parts (broken|repaired|checks) ([a-z0-9-]+)\n")
_FACT = re.compile(r"\{\{([a-z_]+)\}\}")


def write(generator: Generator, drawn: Spec, tasks: Path, folder: Path) -> None:
    """Writes the instance into the new folder `folder`; `tasks` is the catalogue of its base.

    Raises TaskError where the template names what there is not, or leaves parts without a place,
    and where a value stands for what no file has.
    """
    folder.mkdir(parents=True)
    if generator.told.base:
        base = tasks / generator.told.base.task
        for source, targets in generator.told.base.take.items():
            if not (base / source).exists():
                raise TaskError(f"{generator.name}: {generator.told.base.task} has no {source}")
            for target in [targets] if isinstance(targets, str) else targets:
                _copy(base / source, folder / target)
    template = generator.folder / "template"
    _copy(template, folder)
    ours = {folder / path.relative_to(template) for path in files(template)}
    placed: set[tuple[str, str]] = set()
    stood: set[str] = set()
    facts = _facts(generator, drawn)
    values = {old: _with_facts(new, facts, "a value") for old, new in drawn.values.items()}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            # An instance lies in no catalogue, so pieces that tasks share stand in it.
            path.write_bytes(shell_pieces.written_out(path, tasks / "lib"))
            if path in ours:
                _fill(path, generator, drawn, facts, placed)
            stood |= _put_values(path, values)
    for part in drawn.parts:
        other = ("checks", part.bites) if isinstance(part, Demand) else ("broken", part.stage)
        for kind, where in (other, ("repaired", part.bites)):
            if (kind, where) not in placed:
                raise TaskError(f"{generator.name}: the template has no place for {kind} {where}")
    scripts = [part.broken + part.repaired for part in generator.parts.values()]
    for before in drawn.values:
        if before not in stood and not any(before in script for script in scripts):
            about = f"{generator.name}: no file has what a value stands for"
            raise TaskError(f"{about}: {before[:60]!r}")


def _copy(source: Path, target: Path) -> None:
    for path in files(source):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)


def _fill(
    path: Path,
    generator: Generator,
    drawn: Spec,
    facts: dict[str, str],
    placed: set[tuple[str, str]],
) -> None:
    try:
        before = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return

    def parts(match: re.Match[str]) -> str:
        kind, where = match[1], match[2]
        placed.add((kind, where))
        here = [p for p in drawn.parts if where == (p.stage if kind == "broken" else p.bites)]
        here.sort(key=lambda p: (p.order, p.name))
        if kind == "checks":
            return "".join(demands.checks(p, asked, first) for p in asked if p in here)
        return "".join(_fragment(p, kind) for p in here)

    first = generator.told.first_requirement
    asked = [part for part in drawn.parts if isinstance(part, Demand)]
    text = before.replace("@demands\n", demands.sentences(asked, first)) if asked else before
    text = text.replace("@formats\n", demands.formats(asked)) if asked else text
    text = text.replace("@spec\n", _for_the_verifier(drawn, asked))
    text = _with_facts(text, facts, f"{path.name} in the template")
    text = _PLACE.sub(parts, text)
    hints = "".join(f"- {part.hint}\n" for part in drawn.parts)
    text = text.replace("@hints\n", hints)
    if text != before:
        path.write_text(text, encoding="utf-8")


def _for_the_verifier(drawn: Spec, asked: list[Demand]) -> str:
    told = {"axes": drawn.axes, "demands": {one.name: one.spec for one in asked}}
    return json.dumps(told, indent=1, sort_keys=True) + "\n"


def _put_values(path: Path, values: dict[str, str]) -> set[str]:
    """Returns what they stand for of which the file has any."""
    try:
        before = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return set()
    stood = {each for each in values if each in before}
    if stood:
        path.write_text(replaced(before, values), encoding="utf-8")
    return stood


def _with_facts(text: str, facts: dict[str, str], where: str) -> str:
    def fact(match: re.Match[str]) -> str:
        if match[1] not in facts:
            raise TaskError(f"{where} asks for {match[0]}: no such fact")
        return facts[match[1]]

    return _FACT.sub(fact, text)


def _fragment(part: Part, kind: str) -> str:
    if kind == "broken":  # by itself: its variables are nobody else's
        return f"(\n{part.broken})\n"
    return f"# {part.title}\n{part.repaired}"


def _facts(generator: Generator, drawn: Spec) -> dict[str, str]:
    told = generator.told
    unbroken = [name for name in told.ladder if name not in drawn.broken]
    minutes = told.minutes_around + told.minutes_a_part * len(drawn.parts)
    chosen = axes.facts(told.axes, drawn.axes)
    return {
        "topic": generator.name.split("/")[0],
        "name": drawn.name.split("/")[1],
        "generator": generator.name,
        "version": f"{drawn.version}.0.0",
        "generator_version": str(drawn.version),
        "level": str(drawn.level),
        "seed": str(drawn.seed),
        "spec": drawn.digest,
        "as_it_came": _as_it_came(generator.kind, unbroken),
        "layers": ", ".join(sorted({part.layer for part in drawn.parts})),
        "count": str(len(drawn.parts)),
        "minutes": f"{minutes:g}",
        **{name: _with_facts(text, chosen, name) for name, text in chosen.items()},
    }


def _as_it_came(kind: Kind, unbroken: list[str]) -> str:
    """The gain of handing in what was handed out, where there is one; of demands, of work that
    meets none of those that were drawn."""
    if not unbroken:
        return ""
    return (
        f'[[metadata.benchflow.exploits]]\nscript = "{kind.bare}"\n'
        f"allowed = {json.dumps(unbroken)}\n"
        f'why = "{kind.bare_why}"\n'
    )


def explanation(generator: Generator, drawn: Spec) -> str:
    """Which parts an instance has and why, as a Markdown list; for authors, no agent sees it."""
    of = f"{generator.name}, version {drawn.version}"
    about = f"The parts of {of}, that were named."
    if drawn.level:
        level = generator.levels[drawn.level]
        about = (
            f"Level {drawn.level} of {of}: {plural(level.parts, 'part')}, of at least "
            f"{plural(level.layers, 'layer')}; at least {level.silent} silent, "
            f"{plural(level.pairs, 'pair')}, {level.blocking} blocking."
        )
    lines = [f"# {drawn.name}", "", about, ""]
    for one in drawn.chosen:
        part = one.part
        silent = ", silent" if part.silent else ""
        fails = ", ".join(_shortened(generator.told.ladder, part.breaks))
        lines.append(f"- {part.name} ({part.layer}{silent}): {part.title}")
        lines.append(f"  alone it fails {fails}; drawn for: {one.why}")
        if isinstance(part, Demand):
            lines.append(f"  left to the agent: {part.tolerance}")
    return "\n".join(lines) + "\n"


def _shortened(ladder: list[str], breaks: tuple[str, ...]) -> list[str]:
    """`breaks`, its end as "NAME and all after it" where it goes to the end of the ladder."""
    whole = 0
    while whole < len(breaks) and breaks[-1 - whole] == ladder[-1 - whole]:
        whole += 1
    if whole < 2:
        return [*breaks]
    kept = len(breaks) - whole
    return [*breaks[:kept], f"{breaks[kept]} and all after it"]
