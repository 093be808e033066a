"""Puts pages and their files below a folder, from one process or from as many as there are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchflow.results.model import Check
from benchflow.results.parallel import processors, spread
from benchflow.results.records import Kept, Record, Step
from benchflow.site.attempt_dots import attempts
from benchflow.site.html import Shell
from benchflow.site.markdown_json import to_json, to_markdown
from benchflow.site.page_model import Page
from benchflow.site.pages import trial, trial_folder
from benchflow.site.urls import Addresses, steps_of

#: Starting further processes takes a second or two; below so many trials they are not worth it.
_ALONE_BELOW = 1500
_A_TIME = 250

Cell = Sequence[Record]


@dataclass(frozen=True)
class Written:
    """How many pages, files and bytes."""

    pages: int = 0
    files: int = 0
    size: int = 0

    def __add__(self, other: Written) -> Written:
        return Written(self.pages + other.pages, self.files + other.files, self.size + other.size)


class Writer:
    """Puts files below a folder and counts them; folders are made where they are missing."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.written = Written()

    def put(self, path: str, text: str) -> None:
        """Writes one file; `path` is from the site's root."""
        data = text.encode("utf-8", "replace")
        _write(f"{self._root}/{path}", data)
        self.written += Written(0, 1, len(data))

    def page(self, shell: Shell, page: Page) -> None:
        """Writes a page and its twins."""
        stem = page.path.removesuffix(".html")
        self.put(page.path, shell.render(page))
        self.put(f"{stem}.md", to_markdown(page))
        self.put(f"{stem}.json", to_json(page))
        self.written += Written(1)


@dataclass(frozen=True)
class TrialFiles:
    """A `Keeper`: writes what the pages of trials load to where they do so in the site at `root`,
    and keeps what their pages say of their folders."""

    root: Path

    def keep(
        self, record: Record, checks: Mapping[str, tuple[Check, ...]], steps: Iterator[Step]
    ) -> Kept | None:
        """Takes all that the page of `record` needs of its folder."""
        writer = Writer(self.root)
        rest = trial_folder.taken(record, checks, steps, writer.put).packed()
        return None if rest is None else Kept(writer.written.files, writer.written.size, rest)

    def drop(self, uid: str) -> None:
        """Removes what lies beside the page."""
        for path in (self.root / steps_of(uid)).parent.glob(f"{uid}.*"):
            path.unlink()


def _write(path: str, data: bytes) -> None:
    # Without Python's file objects: a large site has 400,000 files.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o666)
    try:
        written = os.write(descriptor, data)
        while written < len(data):
            written += os.write(descriptor, data[written:])
    finally:
        os.close(descriptor)


@contextmanager
def trial_pages(
    root: Path, shell: Shell, at: Addresses, cells: Sequence[Cell]
) -> Iterator[Iterator[Written]]:
    """Writes the pages of all trials of `cells` while the block runs, some at a time; each
    `Written` is what came since the one before. All are written when the last one was asked for."""
    with spread(partial(_write_cells, root, shell, at), _batches(cells), processors()) as written:
        yield written


def _batches(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells together so that a batch has some `_A_TIME` trials; one batch where they are few."""
    size = _A_TIME if sum(map(len, cells)) >= _ALONE_BELOW else _ALONE_BELOW
    batches: list[list[Cell]] = []
    room = 0
    for cell in cells:
        if room <= 0:
            batches.append([])
            room = size
        batches[-1].append(cell)
        room -= len(cell)
    return batches


def _write_cells(root: Path, shell: Shell, at: Addresses, cells: list[Cell]) -> Written:
    writer = Writer(root)
    for cell in cells:
        tried = attempts(cell)
        for record in cell:
            writer.page(shell, trial.make(at, tried, record, writer.put))
            if record.kept:
                writer.written += Written(0, record.kept.files, record.kept.size)
    return writer.written
