"""What a test needs of the machine, said by the test, by its file or by a fixture that it uses:

    @pytest.mark.needs("sandbox")            one test
    pytestmark = pytest.mark.needs("qemu")   all of a file
    @pytest.fixture
    @needs("qemu")                           all that use the fixture
    def start(): ...

A need is a name of `CHECKS` or `AT_HAND`, a Debian package of scripts/setup.sh, or else a program.
Where it is not to be had, the test is skipped and the reason is told. `--quick` takes the tests
that are not slow and need no more than programs and what is `AT_HAND`, and holds them to what they
say (tests/quick_guard.py).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests import debian_packages, quick_guard, warm_command

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
    return item.get_closest_marker("slow") is None and all(map(_is_small, of(item)))


def _is_small(need: str) -> bool:
    """A quick test may have it, where the machine has it already."""
    if need in AT_HAND:
        return True
    refused = quick_guard.REFUSED.intersection(debian_packages.programs(need) or (need,))
    return need not in CHECKS and not refused


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
    return "" if debian_packages.program(name) else f"needs {name}, which is not installed"


def _busybox() -> str:
    from tests import guests

    if guests.busybox_at_hand() is not None:
        return ""
    return "needs a static busybox, which is not installed (apt-get install busybox-static)"


def _kernel() -> str:
    from tests import guests

    return "" if guests.kernel_at_hand() else "needs a kernel that another test has fetched"


def _ray() -> str:
    found = importlib.util.find_spec("ray") and shutil.which(
        "ray", path=Path(sys.executable).parent
    )
    return "" if found else "needs Ray, which is not installed (uv sync --extra ray)"


#: need → why it cannot be had, "" where it can.
CHECKS: dict[str, Callable[[], str]] = {
    "qemu": _qemu,
    "guests": _guests,
    "ids": _ids,
    "sandbox": _sandbox,
    "mirror": _mirror,
    "root": _root,
    "ray": _ray,
    "browser": _browser,
    "time": lambda: "",  # more than --quick has
}
#: The same, of what a quick test may need: they look and fetch nothing.
AT_HAND: dict[str, Callable[[], str]] = {"busybox-static": _busybox, "guest-kernel": _kernel}


@cache
def lacking(need: str) -> str:
    """Why there is no `need` on this machine; "" where there is."""
    try:
        if check := CHECKS.get(need) or AT_HAND.get(need):
            return check()
        return debian_packages.lacking(need) if need in debian_packages.PACKAGES else _program(need)
    except BenchflowError as error:
        return f"needs {need}: {error}"


_folder = pytest.StashKey[Path]()
_programs = pytest.StashKey[quick_guard.Programs]()
_LACKING = "lacking"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="only tests that need no more than Debian's packages and run where these are "
        "installed; QEMU, namespaces and the network are refused to them",
    )


def pytest_configure(config: pytest.Config) -> None:
    is_controller = bool(getattr(config.option, "dist", "no") != "no")
    if config.getoption("--quick") and not is_controller:
        config.stash[_folder] = Path(tempfile.mkdtemp(prefix="benchflow-quick-"))
        config.stash[_programs] = quick_guard.Programs(config.stash[_folder])
        quick_guard.refuse_namespaces()
        warm_command.PACKAGES[:] = ["benchflow.cli"]  # quick tests run no job


def pytest_unconfigure(config: pytest.Config) -> None:
    if folder := config.stash.get(_folder, None):
        shutil.rmtree(folder)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        left_out = [item for item in items if not is_quick(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_quick(item)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    needed = of(item)
    programs = item.config.stash.get(_programs, None)
    if programs is not None:
        programs.allow(
            {name for need in needed for name in debian_packages.programs(need) or (need,)}
        )
    if missing := [need for need in needed if lacking(need)]:
        item.user_properties.append((_LACKING, missing))
        pytest.skip(lacking(missing[0]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    yield
    programs = item.config.stash.get(_programs, None)
    if programs is not None and (started := programs.started()):
        pytest.fail(f"a quick test may not do this: {started.strip()}", pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    yield  # what others say comes first: this is the last line but one
    if not terminalreporter.config.getoption("--quick"):
        return
    told = [dict(report.user_properties) for report in terminalreporter.getreports("skipped")]
    missing = [properties[_LACKING] for properties in told if _LACKING in properties]
    if missing:
        each = Counter(need for needs in missing for need in needs).most_common()
        counts = ", ".join(f"{need} ({count})" for need, count in each)
        terminalreporter.line(
            f"{len(missing)} tests were skipped for want of {counts}; "
            "scripts/test without --quick installs these packages"
        )


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
