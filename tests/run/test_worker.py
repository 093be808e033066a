"""The process that runs a job: what it ends with is known to the command, whatever that is."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchflow.errors import InfrastructureError, UsageError
from benchflow.results.jobs import lock
from benchflow.run.job import worker


class Odd(Exception):
    """Cannot be made again from its arguments."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


def run(job: Path, work: Callable[[], None], look: Callable[[], None] = lambda: None) -> None:
    with lock.hold(job) as held:
        worker.run(job, held, work, look)


def test_it_is_another_process_and_holds_the_lock(tmp_path: Path) -> None:
    def work() -> None:
        (tmp_path / "pid").write_text(f"{os.getpid()} {lock.holder(tmp_path)} {os.getsid(0)}")

    run(tmp_path, work)
    pid, holder, session = (tmp_path / "pid").read_text().split()
    assert pid == holder == session != str(os.getpid())
    assert not lock.is_held(tmp_path)


def test_an_error_is_raised_as_it_was(tmp_path: Path) -> None:
    def work() -> None:
        raise UsageError("no such thing", hint="take another")

    with pytest.raises(UsageError, match="no such thing") as raised:
        run(tmp_path, work)
    assert raised.value.hint == "take another"


def test_an_error_that_cannot_travel_is_named_with_its_traceback(tmp_path: Path) -> None:
    def work() -> None:
        raise Odd("this", "that")

    with pytest.raises(RuntimeError, match="Odd: this and that") as raised:
        run(tmp_path, work)
    assert "in work" in "".join(raised.value.__notes__)


@pytest.mark.parametrize(
    ("number", "kind"),
    [(signal.SIGKILL, InfrastructureError), (signal.SIGHUP, worker.Interrupted)],
)
def test_a_death_is_told(tmp_path: Path, number: signal.Signals, kind: type[Exception]) -> None:
    def work() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    with pytest.raises(kind, match=f"by {number.name}") as raised:
        run(tmp_path, work)
    assert f"benchflow resume {tmp_path.name}" in getattr(raised.value, "hint", "")


def test_a_death_in_the_middle_of_what_it_told_is_a_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_packed", lambda outcome: pickle.dumps(outcome)[:-1])
    with pytest.raises(InfrastructureError, match="was killed"):
        run(tmp_path, lambda: None)


def test_who_cannot_look_on_stops_it(tmp_path: Path) -> None:
    def work() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        (tmp_path / "begun").touch()
        time.sleep(600)

    def look() -> None:
        if (tmp_path / "begun").exists():
            raise ValueError("the screen is gone")

    with pytest.raises(ValueError, match="the screen is gone"):
        run(tmp_path, work, look)
    assert not lock.is_held(tmp_path)


def test_what_is_printed_is_in_its_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        print("to standard output")
        print("to standard error", file=sys.stderr)
        os.system("echo from a program")

    run(tmp_path, lambda: None)
    assert not (tmp_path / worker.LOG).exists()
    run(tmp_path, work)
    said = (tmp_path / worker.LOG).read_text().splitlines()
    assert sorted(said) == ["from a program", "to standard error", "to standard output"]
    assert capfd.readouterr() == ("", "")
