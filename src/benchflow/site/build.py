"""Writes a whole site into a folder: pages, their twins, what they load, and a list of it all."""

from __future__ import annotations

import gc
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchflow import __version__
from benchflow.errors import UsageError
from benchflow.results.records import Keeper
from benchflow.site.charts import available
from benchflow.site.html import EXPERTS, VOTES, Shell
from benchflow.site.page_list import plan
from benchflow.site.study import Study
from benchflow.site.vendor import Vendor, own_files, vendor
from benchflow.site.writer import TrialFiles, Writer, trial_pages

MARKER = "site.json"


@dataclass(frozen=True)
class Built:
    """`seconds`: since the site was begun. `notes`: what this machine could not add, in words."""

    folder: Path
    n_pages: int
    n_files: int
    n_bytes: int
    seconds: float
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """A site on its way to `folder`; it is made in `new`, beside it."""

    folder: Path
    new: Path
    began: float

    @property
    def keeper(self) -> Keeper:
        """For `collect`: what pages need of trials' folders is taken when these are read."""
        return TrialFiles(self.new)


@contextmanager
def begin(folder: Path) -> Iterator[Site]:
    """A place to make a site in, before its trials are read; see `finish`.

    A folder that is neither empty nor a site is refused with UsageError. What was not finished
    when the block ends is removed.
    """
    began = time.monotonic()
    folder = folder.absolute()
    _refuse_foreign(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as name:
        yield Site(folder, Path(name) / "site", began)


def build(study: Study, folder: Path) -> Built:
    """Writes the site of `study` to `folder`; see `begin` and `finish`."""
    with begin(folder) as site:
        return finish(site, study)


def finish(site: Site, study: Study) -> Built:
    """Writes the site of `study`, whole or not at all: an older one is replaced when the new one is
    complete. What the trials of `study` say was kept is with `site.keeper`."""
    new, folder = site.new, site.folder
    third = vendor()
    copy_assets(new, third)
    shell = shell_of(study, third)
    writer = Writer(new)
    with (
        _without_looking_for_cycles(),
        trial_pages(new, shell, study.at, list(study.cells.values())) as trials,
    ):
        for _, make in plan(study):
            writer.page(shell, make(writer.put))
        written = writer.written
        for some in trials:
            written += some
    writer.put(MARKER, _manifest(study, written.pages))
    if folder.exists():
        folder.rename(new.parent / "old")
    new.rename(folder)
    notes = [third.why] if third.why else []
    if not available():
        notes.append("vl-convert-python is not installed: charts are shown as tables")
    return Built(
        folder=folder,
        n_pages=written.pages,
        n_files=written.files,
        n_bytes=written.size,
        seconds=time.monotonic() - site.began,
        notes=tuple(notes),
    )


@contextmanager
def _without_looking_for_cycles() -> Iterator[None]:
    """What was read so far stays to the end: the collector need not go through millions of it."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def shell_of(study: Study, third: Vendor, *, live: bool = False) -> Shell:
    """What all pages of `study` share."""
    return Shell(
        title=study.title,
        footer=f"benchflow {__version__}. Intervals at {100 * study.level:.0f} %; the unit is the "
        "task; infrastructure errors never count against an agent.",
        has_player=third.folder is not None,
        further=(
            *((EXPERTS,) if study.said is not None else ()),
            *((VOTES,) if study.voted is not None else ()),
        ),
        live=live,
    )


def copy_assets(site: Path, third: Vendor) -> None:
    """The site's own files and the third-party ones, into `site`/assets."""
    target = site / "assets"
    target.mkdir(parents=True, exist_ok=True)
    for path in own_files():
        shutil.copyfile(path, target / path.name)
    if third.folder is not None:
        shutil.copytree(third.folder, target / "vendor")


def _manifest(study: Study, n_pages: int) -> str:
    value = {
        "schema": 1,
        "benchflow": __version__,
        "title": study.title,
        "sources": sorted({str(record.source) for record in study.records}),
        "n_trials": len(study.records),
        "n_problems": len(study.problems),
        "n_pages": n_pages,
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _refuse_foreign(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder}: is a file", hint="name a folder for the site")
    if any(folder.iterdir()) and not (folder / MARKER).exists():
        raise UsageError(
            f"{folder}: is not empty and holds no site", hint="name a new or an empty folder"
        )
