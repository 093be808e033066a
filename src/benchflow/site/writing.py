"""Puts pages and their files below a folder, from one process or from as many as there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchflow.results.records import Record
from benchflow.results.workers import processors, spread
from benchflow.site.addresses import Addresses
from benchflow.site.content import Page
from benchflow.site.html import Shell
from benchflow.site.pages import trial
from benchflow.site.twins import to_json, to_markdown

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
    """Puts files below a folder and counts them; folders are made once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: set[str] = set()
        self.written = Written()

    def put(self, path: str, text: str) -> None:
        """Writes one file; `path` is from the site's root."""
        above = path.rpartition("/")[0]
        if above not in self._made:
            (self._root / above).mkdir(parents=True, exist_ok=True)
            self._made.add(above)
        data = text.encode("utf-8", "replace")
        (self._root / path).write_bytes(data)
        self.written += Written(0, 1, len(data))

    def page(self, shell: Shell, page: Page) -> None:
        """Writes a page and its twins."""
        stem = page.path.removesuffix(".html")
        self.put(page.path, shell.render(page))
        self.put(f"{stem}.md", to_markdown(page))
        self.put(f"{stem}.json", to_json(page))
        self.written += Written(1)


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
        for record in cell:
            writer.page(shell, trial.make(at, cell, record, writer.put))
    return writer.written
