"""What a test needs of the machine, said by the test, by its file or by a fixture that it uses:

    @pytest.mark.needs("sandbox")            one test
    pytestmark = pytest.mark.needs("qemu")   all of a file
    @pytest.fixture
    @needs("qemu")                           all that use the fixture
    def start(): ...

A need is a name of `CHECKS`, or else a program. Where it is not to be had, the test is skipped and
the reason is told. `--quick` takes the tests that need nothing and are not slow, and holds them to
it (tests/quick_guard.py).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests import quick_guard, warm_command

from benchflow.errors import BenchflowError


def needs[F: Callable[..., Any]](*what: str) -> Callable[[F], F]:
    """For a fixture: whoever uses it needs this."""

    def say(function: F) -> F:
        function.needs = what  # type: ignore[attr-defined]
        return function

    return say


def of(item: pytest.Item) -> list[str]:
    """All that a test needs, by its marks and its fixtures."""
    found = {name for mark in item.iter_markers("needs") for name in mark.args}
    info = getattr(item, "_fixtureinfo", None)
    for definitions in info.name2fixturedefs.values() if info else ():
        found |= set(getattr(definitions[-1].func, "needs", ()))
    return sorted(found)


def is_quick(item: pytest.Item) -> bool:
    return not of(item) and item.get_closest_marker("slow") is None


def _qemu() -> str:
    return _program("qemu-system-x86_64")


def _root() -> str:
    return "" if os.geteuid() == 0 else "needs root"


def _browser() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return "" if found else "needs a browser (apt-get install chromium)"


def _ids() -> str:
    from benchflow.run.doctor import State, sandbox

    check = sandbox.id_maps()
    return "" if check.state == State.OK else f"needs a range of ids: {check.detail}"


def _sandbox() -> str:
    from benchflow.run.doctor import State, sandbox
    from benchflow.sandbox import idmap, paths

    if reason := next(filter(None, map(_program, sandbox.PROGRAMS)), ""):
        return reason
    for check in (sandbox.user_namespaces(), sandbox.id_maps(), sandbox.overlayfs()):
        if check.state != State.OK:
            return f"needs a sandbox; {check.name}: {check.detail} ({check.hint})"
    base = paths.images(idmap.current().name) / "base-debian-bookworm.json"
    return "" if base.exists() else _mirror()


def _guests() -> str:
    from tests.guests import testdata

    return "" if any(testdata().glob("packages/linux-*")) else _mirror()


def _mirror() -> str:
    """Asks as apt would: through its proxies, with its certificates."""
    from benchflow.sandbox.image import mirror

    sources = mirror.machine_sources()
    if not sources:
        return "needs a Debian mirror; apt knows none"
    url = f"{sources[0].uri.rstrip('/')}/dists/{sources[0].suite}/InRelease"
    options = [f"-oAcquire::{kind}::Timeout=20" for kind in ("http", "https")]
    with tempfile.TemporaryDirectory() as folder:
        command = ["/usr/lib/apt/apt-helper", "-oAcquire::Retries=1", "-oAPT::Sandbox::User=root"]
        done = subprocess.run(
            [*command, *options, "download-file", url, f"{folder}/release"],
            capture_output=True,
            text=True,
            check=False,
        )
    return "" if done.returncode == 0 else "needs a Debian mirror; this machine's does not answer"


def _program(name: str) -> str:
    return "" if shutil.which(name) else f"needs {name}, which is not installed"


#: need → why it cannot be had, "" where it can.
CHECKS: dict[str, Callable[[], str]] = {
    "qemu": _qemu,
    "guests": _guests,
    "ids": _ids,
    "sandbox": _sandbox,
    "mirror": _mirror,
    "root": _root,
    "browser": _browser,
    "time": lambda: "",  # more than --quick has
}


@cache
def lacking(need: str) -> str:
    """Why there is no `need` on this machine; "" where there is."""
    try:
        return CHECKS[need]() if need in CHECKS else _program(need)
    except BenchflowError as error:
        return f"needs {need}: {error}"


_record = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="only tests that need nothing of the machine; QEMU and namespaces are refused to them",
    )


def pytest_configure(config: pytest.Config) -> None:
    is_controller = bool(getattr(config.option, "dist", "no") != "no")
    if config.getoption("--quick") and not is_controller:
        folder = Path(tempfile.mkdtemp(prefix="benchflow-quick-"))
        config.stash[_record] = quick_guard.refuse_programs(folder / "refused")
        quick_guard.refuse_namespaces()
        warm_command.PACKAGES[:] = ["benchflow.cli"]  # quick tests run no job


def pytest_unconfigure(config: pytest.Config) -> None:
    if record := config.stash.get(_record, None):
        shutil.rmtree(record.parent)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        left_out = [item for item in items if not is_quick(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_quick(item)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if reason := next(filter(None, map(lacking, of(item))), ""):
        pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    yield
    record = item.config.stash.get(_record, None)
    if record is not None and (started := record.read_text()):
        record.write_text("")
        pytest.fail(f"a quick test may not do this: {started.strip()}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[pytest.TestReport]:
    """A package that cannot be had while the mirror does not answer is no failure of the code."""
    report = yield
    wanted = call.excinfo and call.excinfo.type.__name__ == "MirrorUnreachable"
    if report.failed and wanted and (reason := lacking("mirror")):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, f"Skipped: {reason}")
    return report
