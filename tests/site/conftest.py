"""One site for all tests of the pages: made-up trials, a hostile job and a very long trajectory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import browser
from hostile_job import write_hostile_job
from made_up import LONG
from playwright.sync_api import Browser
from tests.needs import needs

from benchflow.results.collect import collect
from benchflow.results.synthetic import Design, write_job
from benchflow.site.build import Built, build
from benchflow.site.study import Study


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A plain made-up job, one with a trajectory of 50,000 steps, and a hostile one."""
    folder = tmp_path_factory.mktemp("jobs")
    return [
        write_job(folder / "plain", Design(agents=3, tasks=4, attempts=3)),
        write_job(folder / "long", Design(agents=1, tasks=1, attempts=1, steps=LONG, seed=4)),
        write_hostile_job(folder / "hostile"),
    ]


@pytest.fixture(scope="session")
def study(sources: list[Path]) -> Study:
    return Study("Trials <b>of</b> tests", collect(sources))


@pytest.fixture(scope="session")
def built(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(study, tmp_path_factory.mktemp("out") / "site")


@pytest.fixture(scope="session")
def site(built: Built) -> Path:
    return built.folder


# Not of the session: as long as it is open, its event loop is this process's, and what calls
# asyncio.run in another file fails.
@pytest.fixture(scope="module")
@needs("browser")
def opened() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture(scope="session")
def has_player(site: Path) -> None:
    if not (site / "assets" / "vendor").is_dir():
        why = "the player could not be fetched" if shutil.which("npm") else "npm is not installed"
        pytest.skip(f"{why}: the site has no console player")
