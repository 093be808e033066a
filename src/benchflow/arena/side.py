"""What of a trial is shown to voters, and what is only counted: its consoles, screens and words.

All of it is hostile. Nothing that says who made it is taken over: no folder, no time of day, no
ladder, no marker of a check that passed; names in texts are made unreadable.
"""

from __future__ import annotations

import base64
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from benchflow.arena import picture
from benchflow.arena.names import hidden
from benchflow.base.text import one_line, printable
from benchflow.results import collect, recording
from benchflow.results.jobs import evidence
from benchflow.results.records import Record
from benchflow.results.safe_files import UnreadableRecord, read_bytes

MOST_CONSOLES = 4
_MOST_LINES = 2500
_MOST_CHARS = 200_000
_MOST_LINE = 600
#: Both consoles of a pair are cut to the shorter of them, but to no less than this.
_LEAST_LINES = 400
_GAP = "… lines are left out here …"
_CUT = " … (cut here)"
_MOST_SCREENS = 4
_MOST_SCREEN_BYTES = 600_000
_MOST_WORDS = 6000
_MOST_DOCUMENTS = 3
_MOST_FILES = 20_000
_DOCUMENT = re.compile(r"(readme|install|manual|handbook|notes)[\w.-]*|.*\.(md|txt|rst)", re.I)
#: Answers to what a verifier types around its commands, and the bracket that a narrow terminal
#: broke off from it.
_FRAME = re.compile(r"\]?\d{6,10}(:\d+:\d{6,10};)?\[?|\)")
#: What a login sends first, for the frames; of it the terminal may show any part.
_TYPED = re.compile(r"\s*stty -echo 2>/dev/null; PS1= PS2=; echo \$?\S*\s*|^\(\(\d+\+\d+\)\)$")
_MACHINE = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class Console(Struct, frozen=True):
    """One machine: what it printed, as (seconds, line); `cut`: it printed more."""

    machine: str
    lines: tuple[tuple[float, str], ...]
    seconds: float
    cut: bool = False


class Screen(Struct, frozen=True):
    """One screenshot, as the base64 of a PNG; `machine` is what its check called it."""

    machine: str
    png: str


class Side(Struct, frozen=True):
    """What voters see of one deliverable. `words`: its documentation, else its maker's last word,
    as (title, text)."""

    consoles: tuple[Console, ...] = ()
    screens: tuple[Screen, ...] = ()
    words: tuple[tuple[str, str], ...] = ()

    @property
    def machines(self) -> set[str]:
        """The machines that are seen, on consoles or on screens."""
        return {one.machine for one in self.consoles} | {one.machine for one in self.screens}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look at."""
        lines = any(text.strip() for console in self.consoles for _, text in console.lines)
        return not (lines or self.screens or self.words)


class Counted(Struct, frozen=True):
    """Amounts that may sway a voter whatever the work is worth; None where it is not known."""

    console_lines: int
    words: int
    files: int | None


def look(record: Record, names: re.Pattern[str]) -> tuple[Side, Counted]:
    """What is shown of a trial, without the names that `names` finds, and what is counted of it."""
    consoles = tuple(_consoles(record, names))
    documents, files = _delivered(record)
    said = documents or _last_word(record)
    words = tuple((title, hidden(text, names)) for title, text in said)
    side = Side(consoles, tuple(_screens(record)), words)
    lines = sum(bool(text.strip()) for console in consoles for _, text in console.lines)
    return side, Counted(lines, sum(len(text.split()) for _, text in words), files)


def _consoles(record: Record, names: re.Pattern[str]) -> Iterator[Console]:
    casts = sorted(name for name in record.evidence if name.endswith(".console.cast"))
    for name in casts:
        machine = name.rpartition("/")[2].removesuffix(".console.cast")
        found = recording.read(record.evidence[name])
        if found is None or not _MACHINE.fullmatch(machine):
            continue
        kept = _without_frames(found.lines)
        shown = _thinned(kept)
        lines = tuple((round(at, 1), _line(hidden(text, names))) for at, text in shown)
        cut = found.truncated or len(lines) < len(kept)
        yield Console(machine, lines, round(found.seconds, 1), cut)


def _without_frames(lines: tuple[tuple[float, str], ...]) -> tuple[tuple[float, str], ...]:
    """Without the numbers by which a verifier finds the answers to its commands, and with one
    empty line where there were several."""
    kept: list[tuple[float, str]] = []
    for at, whole in lines:
        text = _TYPED.sub("", whole)
        if _FRAME.fullmatch(text) or (not text and kept and not kept[-1][1]):
            continue
        kept.append((at, text))
    return tuple(kept)


def _line(text: str) -> str:
    """A line that is too long says so: else its maker seems to have printed half of it."""
    return text if len(text) <= _MOST_LINE else text[:_MOST_LINE] + _CUT


def _thinned(
    lines: tuple[tuple[float, str], ...], most: int = _MOST_LINES
) -> tuple[tuple[float, str], ...]:
    """A console that is too long without its middle: how it begins and how it ends is kept."""
    while most > 10 and sum(min(len(text), _MOST_LINE) for _, text in lines[:most]) > _MOST_CHARS:
        most //= 2
    if len(lines) <= most:
        return lines
    begin, end = lines[: most // 3], lines[len(lines) - (most - most // 3 - 1) :]
    # A gap that was there already lies in what is left out now, or is the only one.
    return (*begin, (begin[-1][0], _GAP), *(line for line in end if line[1] != _GAP))


def alike(two: Sequence[Console]) -> tuple[Console, ...]:
    """The consoles of one machine on both sides, the longer cut to the other's length: how much
    somebody's machine prints is not to be seen, beyond what it says."""
    shorter = min(len(one.lines) for one in two)
    shown = [_thinned(one.lines, max(shorter, _LEAST_LINES)) for one in two]
    return tuple(
        replace(one, lines=lines, cut=one.cut or len(lines) < len(one.lines))
        for one, lines in zip(two, shown, strict=True)
    )


def _screens(record: Record) -> Iterator[Screen]:
    pictures = evidence.screenshots(record.folder) if record.folder else []
    for path in pictures[:_MOST_SCREENS]:
        machine = path.name.partition(".")[0]
        try:
            png = picture.clean(read_bytes(path, _MOST_SCREEN_BYTES))
        except UnreadableRecord:
            continue
        if png is not None and _MACHINE.fullmatch(machine):
            yield Screen(machine, base64.b64encode(png).decode())


def _delivered(record: Record) -> tuple[list[tuple[str, str]], int | None]:
    """Documents among what was delivered, and how many files there are; None where it is gone."""
    top = record.folder / "artifacts" if record.folder else None
    found: list[Path] = []
    for folder, _, names in os.walk(top or "/nonexistent", followlinks=False):
        found += [Path(folder) / name for name in names]
        if len(found) > _MOST_FILES:
            break
    delivered = [path for path in found if path.name != "manifest.json"]
    if top is None or not delivered:
        return [], None
    documents = []
    for path in sorted(path for path in delivered if _DOCUMENT.fullmatch(path.name)):
        try:
            text = read_bytes(path, 1 << 20).decode()
        except (UnreadableRecord, ValueError):
            continue
        if text.strip():
            documents.append((one_line(path.name, 60), printable(text, _MOST_WORDS)))
        if len(documents) == _MOST_DOCUMENTS:
            break
    return documents, len(delivered)


def _last_word(record: Record) -> list[tuple[str, str]]:
    """What the agent said last, with words and without a call."""
    spoken = deque(
        (
            step.text
            for step in collect.steps(record)
            if step.role == "agent" and step.text.strip() and not step.subagent
        ),
        maxlen=1,
    )
    return (
        [("What its maker said on handing it over", printable(spoken[0], _MOST_WORDS))]
        if (spoken)
        else []
    )
