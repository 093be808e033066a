"""One verification from start to end: scan, run the checks, write the files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from benchflow.boot import memory
from benchflow.boot.fault import Interrupted, reason
from benchflow.boot.milestones import Ladder, MilestoneSpec
from benchflow.boot.runner.evidence import Evidence
from benchflow.boot.runner.ladder_text import ladder_text
from benchflow.boot.runner.manifest import Manifest
from benchflow.boot.runner.manifest import load as load_manifest
from benchflow.boot.runner.partial import in_order
from benchflow.boot.runner.scan import scan
from benchflow.boot.sanitize import clean

EXIT_VERDICT = 0
EXIT_BROKEN = 3
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def verify(tests: Path, logs: Path, *, as_json: bool = False, asked: Sequence[str] = ()) -> int:
    """Run `tests`/checks.py, write the evidence into `logs`, print the ladder (or milestones.json).

    Returns 0 when a reward was written, 3 when the verifier broke (broken.json says why, and no
    reward file exists). Whatever stops the process before the end leaves no reward file either.
    `asked`: of these milestones alone, and what they require; that is never a verdict, so it
    writes partial.json and no reward.
    """
    tests, logs = tests.resolve(), logs.resolve()
    try:
        evidence = Evidence(logs)
    except OSError as error:
        print(f"the verifier broke: {logs} cannot be written: {error}", file=sys.stderr)
        return EXIT_BROKEN
    _stop_on_signals()
    try:
        return _verify(tests, evidence, as_json, asked)
    except (Exception, KeyboardInterrupt) as error:
        return _broken(evidence, reason(error), str(error))


def _verify(tests: Path, evidence: Evidence, as_json: bool, asked: Sequence[str]) -> int:
    memory.bound_own()
    manifest = load_manifest(tests / "task.json")
    specs = scan(tests / "checks.py")
    evidence.asked = in_order(specs, asked)
    scratch = Path(tempfile.mkdtemp(prefix="benchflow-boot-", dir=_scratch_root()))
    try:
        ladder = _run_checks(tests, specs, manifest, evidence, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if isinstance(ladder, int):
        return ladder
    if evidence.asked:
        evidence.finish(partial=list(evidence.asked))
    else:
        evidence.finish(reward=ladder.reward, resolved=ladder.resolved)
    milestones = evidence.milestones(ladder, manifest.task)
    print(json.dumps(milestones) if as_json else ladder_text(milestones), flush=True)
    # From here on it is the result; a signal that comes now comes too late.
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if evidence.asked:
        evidence.write_partial()
    else:
        evidence.write_reward(ladder)
    return EXIT_VERDICT


def _run_checks(
    tests: Path,
    specs: list[MilestoneSpec],
    manifest: Manifest,
    evidence: Evidence,
    scratch: Path,
) -> Ladder | int:
    import pytest

    from benchflow.boot.runner.plugin import Plugin

    plugin = Plugin(specs, manifest, evidence)
    status = pytest.main(_arguments(tests, scratch), plugins=[plugin])
    verdict = plugin.broken is None
    evidence.write_milestones(plugin.ladder, manifest.task, verdict=verdict)
    evidence.write_ctrf(plugin.ladder, pytest.__version__)
    if plugin.broken is not None:
        return _broken(evidence, plugin.broken.reason, plugin.broken.message)
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return _broken(evidence, "PytestFailed", f"pytest ended with status {status}")
    return plugin.ladder


def _arguments(tests: Path, scratch: Path) -> list[str]:
    """A pytest that knows nothing but the task's own folder."""
    isolated = [
        "-c", os.devnull, "--rootdir", str(tests), "--confcutdir", str(tests),
        "-p", "no:cacheprovider", "--basetemp", str(scratch / "pytest"),
        "--tb", "short", "--strict-markers",
    ]  # fmt: skip
    if not (tests / "conftest.py").is_file():
        isolated.append("--noconftest")
    return [*isolated, str(tests / "checks.py")]


def _scratch_root() -> str | None:
    if "TMPDIR" in os.environ:
        return None
    # Overlays of disks can become large, and /tmp is often held in memory.
    return "/var/tmp" if os.access("/var/tmp", os.W_OK) else None


def _stop_on_signals() -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise Interrupted(signal.Signals(number).name)

    for number in _SIGNALS:
        signal.signal(number, stop)


def _broken(evidence: Evidence, why: str, message: str) -> int:
    text = clean(message, 4000).strip()
    print(f"\nthe verifier broke ({why}); no reward was written\n{text}", file=sys.stderr)
    try:
        evidence.write_broken(why, text)
        evidence.finish(broken=why)
    except OSError as error:
        print(f"broken.json could not be written: {error}", file=sys.stderr)
    return EXIT_BROKEN
