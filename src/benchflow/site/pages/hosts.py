"""The machines that trials ran on, and whether verdicts depend on them."""

from __future__ import annotations

from collections.abc import Iterator

from benchflow.analysis.within import Effects
from benchflow.base import numbers
from benchflow.results.records import Record
from benchflow.site.page_model import Block, Cell, Column, Facts, Page, Section, Table
from benchflow.site.pages.common import Put, known_columns, nothing, number, share_cell, text
from benchflow.site.study import Study
from benchflow.study.hosts import Hosts, Seen, hosts
from benchflow.study.statistics import Refused


def make(study: Study, put: Put) -> Page:
    """Which hosts there were, and shares resolved by host at the same task and agent."""
    found = hosts(study.trials, study.level)
    return Page(
        path="hosts.html",
        title="Hosts",
        lede=(
            "A verdict should be the same on every machine. A host here is a machine with one "
            "QEMU; its id tells nothing about whose it is.",
        ),
        sections=(
            Section("seen", "Where trials were judged", tuple(_seen(found))),
            Section("verdicts", "Do verdicts depend on the host?", tuple(_verdicts(found))),
        ),
        nav="hosts.html",
    )


def _seen(found: Hosts) -> Iterator[Block]:
    if not found.seen:
        yield nothing("No trial here says which machine it ran on.")
        return
    columns = (
        Column("host", "Host"),
        Column("cpu", "Processor"),
        Column("cores", "Cores", numeric=True),
        Column("kernel", "Kernel"),
        Column("accelerator", "Guests ran under"),
        Column("slowest", "Slowest", numeric=True),
        Column("fastest", "Fastest", numeric=True),
        Column("stolen", "Most stolen", numeric=True),
        Column("trials", "Trials", numeric=True),
        Column("tasks", "Tasks", numeric=True),
        Column("resolved", "Resolved", numeric=True),
    )
    about = (
        "Slowest and fastest: speeds of booting that verifiers measured, in times of the reference "
        "host. Stolen: the share of its processors' time that the machine's own host took."
    )
    rows = tuple(map(_row, found.seen))
    yield known_columns(Table("hosts", about, columns, rows))
    if found.unknown:
        yield nothing(f"{numbers.plural(found.unknown, 'judged trial')} say nothing of their host.")


def _row(seen: Seen) -> tuple[Cell, ...]:
    return (
        text(seen.name),
        text(seen.host.cpu),
        number(seen.host.cores),
        text(seen.host.kernel),
        text(seen.host.accelerator),
        _speed(seen.slowest),
        _speed(seen.fastest),
        share_cell(seen.most_stolen),
        number(seen.n_trials),
        number(seen.n_tasks),
        number(seen.resolved),
    )


def _verdicts(found: Hosts) -> Iterator[Block]:
    if found.cells:
        pairs = numbers.plural(found.cells, "pair")
        yield nothing(
            f"{found.alike} of {pairs} of a task with an agent that two hosts or more judged came "
            "to the same share on each."
        )
    if found.missed is not None:
        yield nothing(
            f"No difference was seen; up to {numbers.percent(found.missed)} of other tasks of "
            "their kind may still show one."
        )
    elif isinstance(found.effect, Refused):
        yield nothing(f"Not known: {found.effect.refused}.")
    else:
        yield _effects(found.effect.effects)


def _effects(found: Effects) -> Table:
    columns = (
        Column("host", "Host"),
        Column("effect", "Against the mean host, points", numeric=True),
        Column("interval", "Interval", numeric=True),
        Column("p", "p, corrected", numeric=True),
        Column("least", "Detectable, points", numeric=True),
    )
    rows = tuple(
        (
            text(name),
            Cell(float(found.effect[at]), numbers.points(float(found.effect[at]))),
            _interval(float(found.low[at]), float(found.high[at])),
            Cell(float(found.p_corrected[at]), f"{found.p_corrected[at]:.2g}"),
            Cell(*_detectable(float(found.smallest_detectable[at]))),
        )
        for at, name in enumerate(found.names)
    )
    about = "Shares resolved, at the same task by the same agent; errors clustered by task."
    return Table("effects", about, columns, rows)


def _interval(low: float, high: float) -> Cell:
    if low != low:  # nothing to make one of
        return Cell(None, numbers.MISSING)
    return Cell([low, high], f"{numbers.points(low)} to {numbers.points(high)}")


def _detectable(least: float) -> tuple[float | None, str]:
    return (None, numbers.MISSING) if least != least else (least, f"{100 * least:.0f}")


def _speed(value: float | None) -> Cell:
    return Cell(value, numbers.MISSING if value is None else f"{value:.2f}")


def of_trial(record: Record) -> tuple[Block, ...]:
    """What one trial recorded of its machine; nothing where it recorded nothing."""
    host = record.host
    facts = (
        ("Host", text(host.id)),
        ("Processor", text(host.cpu)),
        ("Cores", number(host.cores)),
        ("Processor's flags, digest", text(host.flags)),
        ("Kernel", text(host.kernel)),
        ("Verifier's QEMU", text(host.qemu)),
        ("Guests ran under", text(host.accelerator)),
        ("Speed of booting", _speed(host.speed)),
        ("Speed of arithmetic before", _speed(host.speed_before)),
        ("Speed of arithmetic after", _speed(host.speed_after)),
        ("Load before", _speed(host.load_before)),
        ("Load after", _speed(host.load_after)),
        ("Stolen by its own host", share_cell(host.steal)),
    )
    known = tuple((label, cell) for label, cell in facts if cell.value not in (None, ""))
    return (Facts(known),) if known else ()
