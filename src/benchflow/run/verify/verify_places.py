"""Two places to run a task's verifier in without Harbor: a sandbox, and this very host."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from benchflow.errors import MissingTool, UsageError
from benchflow.results.jobs.progress_events import Phase
from benchflow.results.jobs.sandboxes import NAME
from benchflow.results.jobs.tail import Tail
from benchflow.run.live.follow import apply_progress
from benchflow.run.live.progress import Board, Listener, TrialState
from benchflow.tasks import Task
from benchflow.tasks.stage import verifier_resources

if TYPE_CHECKING:
    from benchflow.sandbox import Limits, Sandbox

_TICK_SECONDS = 0.1
#: Top-level folders that the programs of a verifier on the host come from or work in.
_NEEDED = {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr"}


@dataclass
class Attempt:
    """One verification under way. `status`: how the verifier exited; `seconds` per phase."""

    task: Task
    tests: Path
    given: dict[str, Path]
    logs: Path
    board: Board
    state: TrialState
    listener: Listener
    #: Of the verifier's own command.
    arguments: tuple[str, ...] = ()
    keep: bool = False
    status: int = -1
    seconds: dict[Phase, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kept: Path | None = None

    def enter(self, phase: Phase, limit: float = 0.0) -> None:
        """Moves to `phase`; the time of the one before is kept."""
        self.leave()
        self.state.enter(phase, limit)
        self.listener.phase(self.board, self.state)

    def leave(self) -> None:
        """Keeps the time that the present phase has taken so far."""
        self.seconds[self.state.phase] = self.state.elapsed


def sandboxed(attempt: Attempt) -> None:
    """Runs the verifier in a fresh sandbox without a network. Raises InfrastructureError."""
    from benchflow import sandbox
    from benchflow.sandbox import trial_files

    sandbox.gc()
    image = sandbox.build(attempt.tests)
    with (attempt.logs / "test-stdout.txt").open("xb") as output:
        attempt.logs.chmod(0o777)  # the sandbox's ids are nobody's here
        granted = _limits(attempt.task)
        box = sandbox.Sandbox.start(
            image,
            mounts=[sandbox.Mount(attempt.logs, "/logs/verifier", read_only=False)],
            limits=granted,
            workdir="/tests",
        )
        report = trial_files.report(box, granted, "no-network")
        try:
            attempt.enter(Phase.HAND_OVER)
            room = int(trial_files.FOR_DELIVERABLES * (granted.disk_mb or 0) * (1 << 20))
            for inside, file in attempt.given.items():
                with trial_files.within(file, room) as whole:
                    if note := _hand_over(box, whole, inside):
                        attempt.notes.append(note)
                    if whole != file:
                        attempt.notes.append(f"{file} has no room in the verifier: too large")
                    room -= trial_files.stored(whole)[0]
            attempt.enter(Phase.BOOT, attempt.task.verifier_timeout_sec)

            def question() -> None:
                def keep(stream: str, data: bytes) -> None:
                    output.write(data)

                command = ["sh", "/tests/test.sh", *attempt.arguments]
                timeout = attempt.task.verifier_ended_sec or None
                attempt.status = box.exec(command, timeout=timeout, on_output=keep).status

            _follow(attempt, question)
        finally:
            attempt.leave()
            box.kill()
            report["used"] = trial_files.used(box)
            box.stop(delete=not attempt.keep)
            trial_files.write_report(attempt.logs.parent / NAME, "verifier", report)
            attempt.logs.chmod(0o755)
            attempt.kept = box.state if attempt.keep else None


def on_host(attempt: Attempt) -> None:
    """Runs the verifier as a process of this host, which only sees the deliverables in place.

    No protection at all against what is delivered: for authors, with files of their own.
    Raises MissingTool and UsageError.
    """
    attempt.enter(Phase.HAND_OVER)
    boot = [sys.executable, str(attempt.tests / "boot.pyz"), "verify"]
    command = [
        *_in_place(attempt.given),
        *(*boot, "--tests", str(attempt.tests), "--logs", str(attempt.logs.resolve())),
        *attempt.arguments,
    ]
    attempt.enter(Phase.BOOT, attempt.task.verifier_timeout_sec)
    with (attempt.logs / "test-stdout.txt").open("xb") as output:
        try:
            process = subprocess.Popen(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )
        except FileNotFoundError:
            raise MissingTool("bwrap is missing", hint="apt-get install bubblewrap") from None
        try:
            timeout = attempt.task.verifier_ended_sec or None
            _follow(attempt, lambda: process.wait(timeout))
        finally:
            # bwrap takes everything that it started with it.
            process.terminate()
            attempt.status = process.wait()
            attempt.leave()


def _in_place(given: dict[str, Path]) -> list[str]:
    """A bubblewrap prefix: this host, with each file bound where the task expects it.

    The root is a new tmpfs over which the host's top-level folders are bound, because a bind
    needs its target to exist and the host is not ours to make folders on.
    """
    command = ["bwrap", "--die-with-parent", "--unshare-pid", "--tmpfs", "/"]
    hidden = {PurePosixPath(inside).parts[1] for inside in given}
    if clash := hidden & _NEEDED:
        raise UsageError(
            f"/{min(clash)} of this host is needed to verify", hint="use --sandbox namespace"
        )
    for top in sorted(Path("/").iterdir()):
        if top.name in hidden:
            continue
        if top.is_symlink():
            command += ["--symlink", str(top.readlink()), str(top)]
        elif top.name == "proc":
            command += ["--proc", "/proc"]
        elif top.is_dir():
            command += ["--dev-bind", str(top), str(top)]
    for inside, file in given.items():
        mode = file.lstat().st_mode
        if stat.S_ISLNK(mode):
            command += ["--symlink", str(file.readlink()), inside]
        else:
            command += ["--ro-bind", str(file.resolve()), inside]
    return command


def _hand_over(box: Sandbox, file: Path, inside: str) -> str:
    """Hands one file over as it is; returns what is odd about it, "" for nothing."""
    mode = file.lstat().st_mode
    box.exec(["mkdir", "-p", str(PurePosixPath(inside).parent)], user="root", cwd="/")
    if stat.S_ISLNK(mode):
        box.exec(["ln", "-s", "--", str(file.readlink()), inside], user="root", cwd="/")
        return f"{file} is a symbolic link and was handed over as one"
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        box.put(file, inside)
        return ""
    return f"{file} is neither a file nor a directory and was not handed over"


def _limits(task: Task) -> Limits:
    from benchflow.sandbox import Limits

    granted = verifier_resources(task)
    return Limits(memory_mb=granted.memory_mb, disk_mb=granted.storage_mb, cpus=granted.cpus)


def _follow(attempt: Attempt, work: Callable[[], object]) -> None:
    """Does `work` in a thread and shows the verifier's progress from this one, until it ends.

    Raises what `work` raised. An exception here (Ctrl-C) leaves the thread to the end of the
    process that it waits for.
    """
    failures: list[BaseException] = []

    def worker() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=worker, daemon=True)
    tail = Tail(attempt.logs / "progress.jsonl")
    thread.start()
    while thread.is_alive():
        apply_progress(tail, attempt.board, attempt.state, attempt.listener)
        attempt.listener.tick(attempt.board)
        thread.join(_TICK_SECONDS)
    apply_progress(tail, attempt.board, attempt.state, attempt.listener)
    for failure in failures:
        if isinstance(failure, subprocess.TimeoutExpired):
            attempt.notes.append("the verifier did not end in time and was stopped")
        else:
            raise failure
