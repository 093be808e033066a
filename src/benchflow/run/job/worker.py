"""The process that runs a job, apart from the command that asked for it.

Sandboxes end with the process that opened them. So that one is not the command's, which a closed
terminal or a kill -9 may end: it is a session of its own, holds the job's lock, and says in the
job's files how far it is. The command follows it and passes signals on; who resumes the job
meanwhile does the same.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from benchflow.errors import BenchflowError, InfrastructureError
from benchflow.results.jobs import lock

#: What libraries printed while the job ran; absent when that was nothing.
LOG = "worker.log"
_LOOK_SECONDS = 0.2


class Interrupted(BenchflowError):
    """A signal asked us to stop; finished trials are kept."""

    exit_code = 130


def run(job: Path, held: int, work: Callable[[], None], look: Callable[[], None]) -> None:
    """Do `work` in a worker, which takes over the job's lock `held`; `look` is called several times
    a second meanwhile. Raises what `work` raised.

    When `look` raises, the worker is stopped; not so for an OSError: who can show nothing any more
    (a full or closed output) loses no trial by it, and is told at the end. Raises
    InfrastructureError when the worker was killed, Interrupted when a signal ended it before it
    could tidy up.
    """
    hear, tell = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.close(hear)
        _work(job, held, work, tell)
    os.close(tell)
    try:
        with os.fdopen(hear, "rb") as pipe, _passing_on(lambda: pid):
            looker = _Looker(look, job)
            try:
                while not select.select([pipe], [], [], _LOOK_SECONDS)[0]:
                    looker.look()
                told = pipe.read()
                looker.look()
            except BaseException:
                os.kill(pid, signal.SIGTERM)
                pipe.read()
                raise
    finally:
        _, status = os.waitpid(pid, 0)
    _raise(told, status, job)
    if looker.broken is not None:
        raise looker.broken


class _Looker:
    """Looks for as long as there is somewhere to show it; `broken`: why there is not any more."""

    def __init__(self, look: Callable[[], None], job: Path) -> None:
        self._look = look
        self._job = job
        self.broken: OSError | None = None

    def look(self) -> None:
        if self.broken is not None:
            return
        try:
            self._look()
        except OSError as error:
            self.broken = error
            with suppress(OSError):
                print(
                    f"note: nothing can be shown any more ({error.strerror}); the job runs on: "
                    f"benchflow watch {self._job.name}",
                    file=sys.stderr,
                )


def look_on(job: Path, begin: Callable[[], Callable[[], None]]) -> None:
    """Follow the job until nobody works on it any more; signals are passed on to that process.

    `begin` gives what looks; it is called when signals are passed on already, because it may show
    something, and who sees that may want to stop the job.
    """
    with _passing_on(lambda: lock.holder(job)):
        look = begin()
        while lock.is_held(job):
            look()
            time.sleep(_LOOK_SECONDS)
        look()


def _work(job: Path, held: int, work: Callable[[], None], tell: int) -> NoReturn:
    outcome: BaseException | None = None
    try:
        os.setsid()
        lock.take_over(held)
        _leave_terminal(job)
        work()
    except BaseException as error:  # raised again where the command hears it
        outcome = error
    with suppress(BaseException):
        if outcome is not None and not isinstance(outcome, BenchflowError):
            outcome.add_note("".join(traceback.format_exception(outcome)))
        sys.stderr.flush()
        if (job / LOG).stat().st_size == 0:
            (job / LOG).unlink()
    with suppress(BaseException), os.fdopen(tell, "wb") as pipe:
        pipe.write(_packed(outcome))
    os._exit(0)  # what the command would tidy up at its end is not ours


def _leave_terminal(job: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        log = os.open(job / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError:
        log = nothing
    for number, descriptor in enumerate((nothing, log, log)):
        os.dup2(descriptor, number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115


def _packed(outcome: BaseException | None) -> bytes:
    try:
        packed = pickle.dumps(outcome)
        pickle.loads(packed)
    except Exception:  # an exception of anybody's may refuse in any way
        named = RuntimeError(f"{type(outcome).__name__}: {outcome}")
        for note in getattr(outcome, "__notes__", ()):
            named.add_note(note)
        return pickle.dumps(named)
    return packed


def _raise(told: bytes, status: int, job: Path) -> None:
    try:
        outcome: BaseException | None = pickle.loads(told)
    except Exception:  # nothing, or half of it: it was killed
        raise _death(status, job) from None
    if outcome is not None:
        raise outcome


def _death(status: int, job: Path) -> BenchflowError:
    hint = f"continue with: benchflow resume {job.name}"
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        return Interrupted(
            f"stopped by {signal.Signals(number).name}; finished trials are kept", hint=hint
        )
    why = f" by {signal.Signals(number).name}" if number else ""
    return InfrastructureError(f"{job}: the process that ran the job was killed{why}", hint=hint)


@contextmanager
def _passing_on(pid: Callable[[], int | None]) -> Iterator[None]:
    """SIGINT and SIGTERM go to a process, as often as they come. SIGHUP ends the command alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def pass_on(number: int, _frame: object) -> None:
        to = pid()
        try:
            if to is not None:
                os.kill(to, number)
        except ProcessLookupError:
            pass  # it has ended; we notice in a moment

    before = {n: signal.signal(n, pass_on) for n in (signal.SIGINT, signal.SIGTERM)}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
