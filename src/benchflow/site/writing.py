"""Puts pages and their files below a folder, from one process or from as many as there are."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchflow.results.records import Record
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


def write_trials(
    root: Path,
    shell: Shell,
    at: Addresses,
    cells: Sequence[Cell],
    on_pages: Callable[[int], None] = lambda n: None,
) -> Written:
    """The pages of all trials of `cells`; `on_pages` is told how many more were written."""
    total = Written()
    n_trials = sum(map(len, cells))
    workers = os.cpu_count() or 1
    write = partial(_write_cells, root, shell, at)
    if n_trials < _ALONE_BELOW or workers == 1:
        for batch in _batches(cells):
            done = write(batch)
            on_pages(done.pages)
            total += done
        return total
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=gc.disable
    ) as pool:
        for done in pool.map(write, _batches(cells)):
            on_pages(done.pages)
            total += done
    return total


def _batches(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    held: list[Cell] = []
    for cell in cells:
        held.append(cell)
        if sum(map(len, held)) >= _A_TIME:
            yield held
            held = []
    if held:
        yield held


def _write_cells(root: Path, shell: Shell, at: Addresses, cells: list[Cell]) -> Written:
    writer = Writer(root)
    for cell in cells:
        for record in cell:
            writer.page(shell, trial.make(at, cell, record, writer.put))
    return writer.written
