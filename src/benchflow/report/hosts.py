"""Whether verdicts depend on the machine that they were made on."""

from __future__ import annotations

import math

from benchflow.base.numbers import MISSING, p_value, percent, plural, points
from benchflow.report.figures import basis
from benchflow.report.section import Section, Table
from benchflow.study.findings import Findings
from benchflow.study.hosts import Hosts, Seen
from benchflow.study.statistics import Refused


def hosts(found: Findings) -> Section:
    """Which hosts judged, and how far they differ at the same task and agent."""
    part = found.hosts
    if not part.seen:
        return Section("", essential=False)
    columns = ("host", "processor", "kernel", "guests under", "speed", "stolen", "trials", "tasks")
    notes = [
        "A host is a machine with one QEMU. Speed: of booting, as the verifier measured it, in "
        "times of the reference host. Stolen: the most of its processors' time that the machine's "
        "own host took in one trial.",
        *([f"{plural(part.unknown, 'trial')} say nothing of their host."] if part.unknown else []),
    ]
    if not isinstance(part.effect, Refused):
        notes.append(basis(**vars(part.effect.basis)))
    return Section(
        "Do verdicts depend on the host?",
        tuple(said(part)),
        Table(columns, tuple(map(_row, part.seen)), frozenset({0, 1, 2, 3})),
        tuple(notes),
        essential=len(part.seen) > 1,
    )


def said(part: Hosts) -> list[str]:
    """The answer in sentences, or why there is none."""
    lines = []
    if part.cells:
        lines.append(
            f"{part.alike} of {plural(part.cells, 'pair')} of a task with an agent that two hosts "
            "or more judged came to the same share on each"
        )
    if part.missed is not None:
        unit = plural(part.n_units, "task or generator", "tasks or generators")
        lines.append(
            f"no difference was seen in {unit}: up to {percent(part.missed)} of others of their "
            "kind may still show one"
        )
    elif isinstance(part.effect, Refused):
        lines.append(f"not known: {part.effect.refused}")
    else:
        lines += _effects(part)
    return lines


def _effects(part: Hosts) -> list[str]:
    if isinstance(part.effect, Refused):
        return []
    found = part.effect.effects
    lines = []
    for at, name in enumerate(found.names):
        value, low, high = (float(each[at]) for each in (found.effect, found.low, found.high))
        if not math.isfinite(low):
            lines.append(f"{name}: {points(value)} points; nothing to make an interval of")
            continue
        decided = "it differs" if found.decided()[at] else "no difference is shown"
        least = 100 * float(found.smallest_detectable[at])
        lines.append(
            f"{name}: {points(value)} points against the mean host ({points(low)} to "
            f"{points(high)}; corrected {p_value(float(found.p_corrected[at]))}): {decided}; such "
            f"data sees differences from {least:.0f} points on"
        )
    return lines


def _row(seen: Seen) -> tuple[str, ...]:
    slow, fast = seen.slowest, seen.fastest
    speed = MISSING if slow is None or fast is None else f"{slow:.2f} to {fast:.2f}"
    resolved = f"{seen.resolved} of {seen.n_trials} resolved"
    return (
        seen.name,
        seen.host.cpu or MISSING,
        seen.host.kernel or MISSING,
        seen.host.accelerator or MISSING,
        speed,
        percent(seen.most_stolen),
        resolved,
        str(seen.n_tasks),
    )
