"""Values that finished work is read into. Seconds are floats; None means "not recorded"."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from benchflow.base.text import one_line


class Verdict(StrEnum):
    """What a trial came to. `error` is infrastructure: it never counts against an agent."""

    RESOLVED = "resolved"
    FAILED = "failed"
    ERROR = "error"


class Check(Struct, frozen=True, gc=False):
    """One assertion of a verifier. status: passed, failed, crashed, not run."""

    name: str
    status: str
    proves: tuple[str, ...] = ()
    seconds: float | None = None
    message: str = ""


class Milestone(Struct, frozen=True, gc=False):
    """One milestone. status: passed, failed, not reached. With steps, ids are `<step>/<id>`."""

    id: str
    status: str
    title: str = ""
    weight: float = 1.0
    requires: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def first_failure(self) -> Check | None:
        """The first check that failed or crashed, which is where to look first."""
        return next((c for c in self.checks if c.status in ("failed", "crashed")), None)


class Phases(Struct, frozen=True, gc=False):
    """Seconds spent per phase; `hand_over` is from the agent's end to the verifier's start.

    `parts`: in how many the agent worked; more than 1 where the trial was cut off and resumed.
    """

    environment: float | None = None
    agent_setup: float | None = None
    agent: float | None = None
    hand_over: float | None = None
    verifier: float | None = None
    total: float | None = None
    parts: int = 1


class Usage(Struct, frozen=True, gc=False):
    """What the agent says it used: unmetered, so for orientation only."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class Host(Struct, frozen=True):
    """The machine that a trial ran on; texts are empty where nothing was recorded.

    `id`: the same for one machine always, and anonymous. `flags`: a digest of the processor's.
    `qemu`, `accelerator`, `speed`: of the verifier, by booting. `speed_before`, `speed_after`: of a
    fixed piece of arithmetic around the trial. All speeds are in times of the reference host.
    `steal`: the share of its processors' time that the machine's own host took meanwhile.
    """

    id: str = ""
    cores: int | None = None
    cpu: str = ""
    flags: str = ""
    kernel: str = ""
    qemu: str = ""
    accelerator: str = ""
    speed: float | None = None
    speed_before: float | None = None
    speed_after: float | None = None
    load_before: float | None = None
    load_after: float | None = None
    steal: float | None = None

    @property
    def name(self) -> str:
        """What tells hosts apart: the machine and the verifier's QEMU; empty where unknown."""
        if not self.id:
            return ""
        return f"{self.id}, QEMU {self.qemu}" if self.qemu else self.id


class Trial(Struct, frozen=True):
    """One finished attempt. `cause` names why a trial is an error, or what ended its agent.

    `exception` is the class that Harbor recorded, whatever came of it. `task_folder`: the task as
    the trial was given it; the folder need not be there any more. `task_checksum`: Harbor's, of
    what was in it.
    """

    name: str
    path: Path
    task: str
    agent: str
    model: str
    verdict: Verdict
    reward: float | None
    cause: str = ""
    cause_message: str = ""
    exception: str = ""
    started_at: str = ""
    agent_version: str = ""
    task_folder: str = ""
    task_checksum: str = ""
    milestones: tuple[Milestone, ...] = ()
    metrics: dict[str, float] = {}
    phases: Phases = Phases()
    usage: Usage = Usage()
    evidence: dict[str, Path] = {}
    host: Host = Host()

    @property
    def n_passed(self) -> int:
        """How many milestones passed."""
        return sum(m.status == "passed" for m in self.milestones)

    @property
    def furthest(self) -> str:
        """Id of the last milestone, in ladder order, that passed; empty when none did."""
        passed = [m.id for m in self.milestones if m.status == "passed"]
        return passed[-1] if passed else ""


@dataclass(frozen=True)
class Problem:
    """A file or folder that could not be read as what it should be. Never dropped silently.

    As a string it is one line that is safe to print, whatever the file is called.
    """

    path: Path
    message: str

    def __str__(self) -> str:
        return f"{one_line(str(self.path), 4096)}: {one_line(self.message, 1000)}"


@dataclass(frozen=True)
class Job:
    """A job folder. `unfinished`: trial folders without a result; `running`: someone holds it."""

    path: Path
    trials: tuple[Trial, ...]
    unfinished: tuple[Path, ...] = ()
    planned: int | None = None
    running: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    def count(self, verdict: Verdict) -> int:
        """How many finished trials came to `verdict`."""
        return sum(trial.verdict is verdict for trial in self.trials)
