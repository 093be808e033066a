"""What a trial ran on: sandboxes granted and used, and each boot's exact command and versions."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchflow.base import numbers
from benchflow.base.text import one_line, printable
from benchflow.results.jobs import sandboxes
from benchflow.results.jobs.evidence import qemu_records
from benchflow.results.records import FROM_ORACLE, Record
from benchflow.results.safe_files import Absent, UnreadableRecord, read_object
from benchflow.site.page_model import Block, Cell, Column, Command, Facts, Prose, Table
from benchflow.site.pages.common import number, text

_MAX_BOOTS = 40
_NAMES = {"env": "the agent's", "verifier__trial": "the verifier's"}


def resources(record: Record) -> tuple[Block, ...]:
    """`sandbox.json` as a table; nothing where the source has none."""
    if record.folder is None:
        return ()
    try:
        reports = sandboxes.reports(record.folder)
    except Absent:
        return ()
    except UnreadableRecord as error:
        return (Prose(((f"{sandboxes.NAME} {error}.",),), "note"),)
    return (
        Table(
            "resources",
            "",
            (
                Column("sandbox", "Sandbox"),
                Column("resource", "Resource"),
                Column("granted", "Granted", numeric=True),
                Column("used", "Used", numeric=True),
                Column("enforced", "How it was enforced"),
            ),
            tuple(row for name, box in reports.items() for row in _sandbox(name, _object(box))),
        ),
    )


def _sandbox(name: str, box: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    granted, used = _object(box.get("granted")), _object(box.get("used"))
    enforced = _object(box.get("enforced"))
    title = text(_NAMES.get(name, one_line(name, 60)))
    for label, grant, use, how in (
        ("memory", "memory_mb", "memory_peak_mb", "memory"),
        ("disk", "disk_mb", "disk_mb", "disk"),
    ):
        yield (
            title,
            text(label),
            _amount(granted.get(grant)),
            _amount(used.get(use)),
            text(one_line(str(enforced.get(how, "")), 120)),
        )
    seconds = _number(used.get("cpu_seconds"))
    yield (
        title,
        text("processors"),
        Cell(_number(granted.get("cpus")), _shown(granted.get("cpus"))),
        Cell(seconds, f"{seconds:,.0f} CPU-seconds" if seconds is not None else numbers.MISSING),
        text(one_line(str(enforced.get("cpus", "")), 120)),
    )
    others = _number(used.get("others_share"))
    if others is not None:
        yield (
            title,
            text("others' share of the host's processors"),
            text(""),
            Cell(others, f"{others:.0%}"),
            text(""),
        )
    yield (
        title,
        text("processes"),
        Cell(_number(granted.get("pids")), _shown(granted.get("pids"))),
        text(""),
        text(one_line(str(enforced.get("pids", "")), 120)),
    )
    yield (
        title,
        text("network"),
        text(one_line(str(box.get("network", "")), 40)),
        text(""),
        text(""),
    )


def began(record: Record) -> str:
    """What a sequel began with, in words; empty where the task is none."""
    if not record.began_from:
        return ""
    what = (
        "the authors' earlier deliverable"
        if record.began_from == FROM_ORACLE
        else f"the deliverable of {record.began_from}"
    )
    return f"{what}, digest {record.began_digest[:16]}"


def versions(record: Record) -> tuple[Facts]:
    """Who and what took part."""
    facts = (
        ("Agent", text(" ".join((record.agent, record.agent_version)).strip())),
        ("Model", text(record.model)),
        ("Task's version", text(record.task_version)),
        ("Task's digest", text(record.task_digest[:16])),
        ("Hint level", number(record.hint) if record.hint else text("")),
        ("Began from", text(began(record))),
        ("Job", text(record.job)),
        ("Read from", text(record.format.value)),
    )
    known = tuple((label, cell) for label, cell in facts if cell.value)
    return (Facts(known),)


def boots(record: Record) -> Iterator[Block]:
    """The QEMU command of each boot, letter by letter."""
    if record.folder is None:
        return
    for path in qemu_records(record.folder):
        yield from _machine(path)


def _machine(path: Path) -> Iterator[Block]:
    name = one_line(path.name.removesuffix(".qemu.json"), 60)
    try:
        boots = read_object(path).get("boots")
    except UnreadableRecord as error:
        yield Prose(((f"{path.name} {error}.",),), "note")
        return
    for at, boot in enumerate(boots[:_MAX_BOOTS] if isinstance(boots, list) else [], 1):
        record = _object(boot)
        told = ", ".join(
            f"{one_line(str(key), 30)} {one_line(str(value), 40)}"
            for key, value in _object(record.get("versions")).items()
        )
        command = record.get("command")
        arguments = [str(part) for part in command] if isinstance(command, list) else []
        yield Command(f"{name}, boot {at}: {told}", printable(_wrapped(arguments), 20000))


def _wrapped(arguments: list[str]) -> str:
    lines: list[str] = []
    for argument in arguments:
        quoted = shlex.quote(argument)
        if argument.startswith("-") or not lines:
            lines.append(quoted)
        else:
            lines[-1] += f" {quoted}"
    return " \\\n  ".join(lines)


def _amount(value: Any) -> Cell:
    return Cell(_number(value), numbers.megabytes(_number(value)))


def _shown(value: Any) -> str:
    known = _number(value)
    return numbers.MISSING if known is None else f"{known:,g}"


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
