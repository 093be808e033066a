"""The pytest plugin: runs the checks of a task in order and keeps the ladder.

Works with pytest 7.2 (Debian 12's, in the verifier) and with current ones.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import pytest
from _pytest.assertion import util as assertion_util

from benchflow.boot.fault import Interrupted, fault, reason
from benchflow.boot.milestones import (
    DECLARATION,
    CheckRun,
    ChecksError,
    CheckSpec,
    CheckStatus,
    Ladder,
    MilestoneSpec,
)
from benchflow.boot.runner.evidence import Evidence
from benchflow.boot.runner.fixtures import Fixtures
from benchflow.boot.runner.manifest import Manifest
from benchflow.boot.runner.partial import required
from benchflow.boot.runner.time_budget import Budget
from benchflow.boot.sanitize import clean


class Broken(Exception):
    """The run stopped without a verdict; `reason` and the message go to broken.json."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Plugin(Fixtures):
    """One verification: collects, runs, records. `broken` is set when there is no verdict."""

    def __init__(self, specs: list[MilestoneSpec], manifest: Manifest, evidence: Evidence) -> None:
        super().__init__(manifest, evidence)
        self.ladder = Ladder(specs)
        self.broken: Broken | None = None
        self.budget = Budget(manifest.verifier_sec)
        self._checks = {check.name: check for spec in specs for check in spec.checks}
        self._runs: dict[str, CheckRun] = {}
        self._ended: set[str] = set()
        self._problem: tuple[CheckStatus, str] | None = None

    # Collection ---------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            config.pluginmanager.unregister(reporter)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.broken is None:
            self.broken = Broken("CollectionError", clean(str(report.longrepr), 4000))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.broken is not None:
            return
        try:
            for item in items:
                spec = self._spec(item)
                self._runs[item.nodeid] = self.ladder.add(item.name, spec)
            found = {run.spec.name for run in self._runs.values()}
            for name, spec in self._checks.items():
                if name not in found:
                    raise ChecksError(
                        f"{name} was declared but is not there any more when the file is run",
                        file="checks.py",
                        line=spec.line,
                        fix="declare checks as plain top-level functions",
                    )
        except ChecksError as error:
            self.broken = Broken(reason(error), str(error))
            items.clear()
            return
        line = {check.name: check.line for check in self._checks.values()}
        items.sort(key=lambda item: line[self._runs[item.nodeid].spec.name])

    def _spec(self, item: pytest.Item) -> CheckSpec:
        function = getattr(item, "function", None)
        name = getattr(item, "originalname", None) or item.name
        if getattr(function, DECLARATION, None) is None or name not in self._checks:
            raise ChecksError(f"{item.name} belongs to no milestone", file="checks.py")
        return self._checks[name]

    # Running ------------------------------------------------------------------------------------

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Runs the checks one after the other; the ladder decides which are reached."""
        items = session.items
        if self.evidence.asked:
            self._run_asked(items)
            return True
        for index, item in enumerate(items):
            if self.broken is not None:
                break
            run = self._runs[item.nodeid]
            blocker = self.ladder.blocked_by(run.spec.milestone)
            if blocker is not None:
                run.message = f"milestone {blocker} did not pass"
                self._end_milestone(run.spec.milestone, force=True)
                continue
            self._run(item, run, items[index + 1] if index + 1 < len(items) else None)
        return True

    def _run_asked(self, items: list[pytest.Item]) -> None:
        """Milestone by milestone: what it requires, then it, until one check of these fails."""
        for id in self.evidence.asked:
            group = required(self.ladder.milestones, id)
            for item in items:
                run = self._runs[item.nodeid]
                if run.spec.milestone not in group or run.status != "not run":
                    continue
                if self.broken or any(self.ladder.status(each) == "failed" for each in group):
                    break
                # Any other item: with none, what all checks share would be torn down.
                self._run(item, run, next((other for other in items if other is not item), None))
            for each in group:
                self._end_milestone(each, force=True)
        for run in self._runs.values():
            if run.status == "not run":
                run.message = f"left out: only {', '.join(self.evidence.asked)} had to be known"

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, Any, None]:
        # Fixtures torn down here belong to no check any more: only a broken verifier counts.
        outcome = yield
        if outcome.excinfo is None:
            return
        error = outcome.excinfo[1]
        message = clean(f"{type(error).__name__}: {error}")
        if fault(error) == "broken":
            self.broken = self.broken or Broken(reason(error), f"while tearing down: {message}")
        else:
            self.evidence.event("teardown", message=message)
        outcome.force_result([])

    def _run(self, item: pytest.Item, run: CheckRun, following: pytest.Item | None) -> None:
        run.started = time.time()
        start = time.monotonic()
        self.evidence.check_started(run)
        self._problem = None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        run.seconds = round(time.monotonic() - start, 3)
        if self.broken is not None:
            return
        run.status, run.message = self._problem or ("passed", "")
        self.evidence.check_ended(run)
        self._end_milestone(run.spec.milestone)

    def _end_milestone(self, id: str, *, force: bool = False) -> None:
        if id not in self._ended and (force or self.ladder.complete(id)):
            self._ended.add(id)
            self.evidence.milestone_ended(id, self.ladder.status(id))

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        # The explanations that pytest makes for == compare the two sides line by line, which takes
        # hours for what a hostile guest can print. Without them the plain values are shown, cut.
        saved = assertion_util._reprcompare
        assertion_util._reprcompare = None
        try:
            with self.budget.check(self._speed):
                yield
        finally:
            assertion_util._reprcompare = saved

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, None]:
        with self.budget.check(self._speed):
            yield

    @property
    def _speed(self) -> float:
        return float(self.evidence.host["speed"] or 1.0)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        yield
        if call.excinfo is None:
            return
        run = self._runs[item.nodeid]
        error = call.excinfo.value
        unknown_fixture = isinstance(error, pytest.FixtureLookupError)
        verdict = "broken" if unknown_fixture else fault(error)
        message = self._message(call.excinfo, verdict)
        if verdict == "broken":
            self.broken = self.broken or Broken(reason(error), f"{run.name}: {message}")
        elif self._problem is None:
            skipped = isinstance(error, pytest.skip.Exception)
            self._problem = ("failed" if skipped else verdict, message)

    def _message(self, excinfo: pytest.ExceptionInfo[BaseException], verdict: str) -> str:
        error = excinfo.value
        try:
            text = str(error)
        except Exception as failed:  # of a KeyError, it holds what the guest said
            text = f"(cannot be shown: {type(failed).__name__})"
        head, newline, rest = clean(text).strip().partition("\n")
        if isinstance(error, pytest.skip.Exception):
            head = f"skipped: {head}"
        elif verdict == "failed":
            head = head or type(error).__name__
        else:
            head = f"{type(error).__name__}: {head}"
        return f"{head}{self._where(excinfo)}{newline}{rest}"

    def _where(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:
        entries = [e for e in excinfo.traceback if e.path and str(e.path).endswith("checks.py")]
        return f" (checks.py:{entries[-1].lineno + 1})" if entries else ""

    def pytest_internalerror(self, excrepr: object) -> bool:
        self.broken = self.broken or Broken("InternalError", clean(str(excrepr), 4000))
        return True

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        error = excinfo.value
        text = str(error) if isinstance(error, Interrupted) else type(error).__name__
        self.broken = self.broken or Broken("Interrupted", f"the run was stopped: {text}")
