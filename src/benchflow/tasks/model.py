"""What a task is, once read: plain values that the rest of benchflow passes around."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchflow.boot.milestones import MilestoneSpec
from benchflow.tasks.contributors import Contribution

#: In limits of the task: `Task.verifier_ended_sec`.
_ENDED_AFTER = 4


@dataclass(frozen=True)
class Deliverable:
    """A file or directory that crosses from the agent's sandbox into the verifier; sizes in MiB."""

    path: str
    kind: str
    max_mb: int
    max_stored_mb: int


@dataclass(frozen=True)
class Resources:
    """What a sandbox is granted; sizes in MiB, 0 where the task does not say."""

    cpus: int = 0
    memory_mb: int = 0
    storage_mb: int = 0
    build_timeout_sec: float = 1800.0


@dataclass(frozen=True)
class Exploit:
    """An exploit shipped with the task. `allowed`: milestones that it may reach, and `why`.

    `incremental`: it may be run where others like it have run, after what they built, and leaves
    nothing there that would change what the next one delivers.
    """

    name: str
    path: Path
    allowed: tuple[str, ...] = ()
    why: str = ""
    incremental: bool = False


@dataclass(frozen=True)
class Variant:
    """An honest other solution shipped with the task: it has to resolve it.

    `what`: one line of its author's on what it does otherwise, "" where the script does not say.
    `incremental`: as for an exploit.
    """

    name: str
    path: Path
    what: str = ""
    incremental: bool = False


@dataclass(frozen=True)
class Sequel:
    """What a task begins from: the deliverables of `earlier`, which lie in the folder `place` of
    the agent's sandbox and of the verifier, each under the name of its file."""

    earlier: Task
    place: str


@dataclass(frozen=True)
class Begun:
    """What an earlier trial delivered, with which a sequel begins in place of the authors'.

    `trial` is JOB/TRIAL, `folder` the one below which its deliverables lie, `digest` names them.
    """

    trial: str
    digest: str
    folder: Path


@dataclass(frozen=True)
class Step:
    """A follow-up of a multi-step task; its checks are in `steps/<name>/tests/checks.py`."""

    name: str
    milestones: tuple[MilestoneSpec, ...]


@dataclass(frozen=True)
class Task:
    """A task folder. `name` is `<topic>/<name>` for ours, the folder's name for plain Harbor.

    A plain Harbor folder (`is_benchflow` false) has no milestones, deliverables or skills here:
    Harbor itself knows how to run and grade it. Times are in seconds or minutes as named.
    `contributions`: its authors, then its reviewers, with what each did.
    `common_exploits`: what exploits common to all tasks may gain here (they have no path).
    `further_arches`: what else the verifier's image has QEMU for, beside `arch`.
    `oracle_incremental`: solve.sh may run again in its own sandbox, to a later milestone.
    `generator`: what drew the task from a seed; "" for one written by hand.
    `sequel`: what the task begins from, where it is one.
    `resources`: the agent's. `artifacts`: absolute paths that a plain Harbor task collects.
    `verifier_storage_mb`: what the verifier may write, where the task says so; else 0 (`staging`).
    """

    path: Path
    name: str
    version: str
    digest: str
    is_benchflow: bool
    description: str = ""
    authors: tuple[str, ...] = ()
    contributions: tuple[Contribution, ...] = ()
    topic: str = ""
    generator: str = ""
    skills: tuple[str, ...] = ()
    arch: str = ""
    further_arches: tuple[str, ...] = ()
    firmware: str = ""
    machine_memory_mb: int = 0
    machines_at_once: int = 1
    expert_minutes: float = 0.0
    expert_minutes_basis: str = ""
    oracle_minutes: float = 0.0
    oracle_incremental: bool = False
    image_mb: int = 0
    verifier_storage_mb: int = 0
    needs: tuple[str, ...] = ()
    unverified: str = ""
    agent_timeout_sec: float = 0.0
    verifier_timeout_sec: float = 0.0
    milestones: tuple[MilestoneSpec, ...] = ()
    requirements: tuple[str, ...] = ()
    deliverables: tuple[Deliverable, ...] = ()
    exploits: tuple[Exploit, ...] = ()
    common_exploits: tuple[Exploit, ...] = ()
    variants: tuple[Variant, ...] = ()
    steps: tuple[Step, ...] = ()
    sequel: Sequel | None = None
    hints: tuple[Path, ...] = field(default=())
    resources: Resources = Resources()
    artifacts: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """The name as one path component: `repair/dead-server` → `repair-dead-server`."""
        return self.name.replace("/", "-")

    @property
    def reviewers(self) -> tuple[str, ...]:
        """Names of those who reviewed it and wanted to be named."""
        return tuple(each.name for each in self.contributions if not each.is_author)

    @property
    def verifier_ended_sec(self) -> float:
        """Seconds after which a runner ends the verifier, which then leaves no verdict.

        `boot` keeps the task's own limit, in reference seconds, and judges what it has. With equal
        limits a guest that stalls could buy an `error` on any slow or busy host; with these only
        on one of less than 0.23 of the reference's speed, or 0.45 where processors are fought over.
        """
        return self.verifier_timeout_sec * (_ENDED_AFTER if self.is_benchflow else 1)

    @property
    def n_checks(self) -> int:
        """Number of checks over all milestones."""
        return sum(len(milestone.checks) for milestone in self.milestones)


@dataclass(frozen=True)
class Staged:
    """A task and the Harbor folder that is run for it, with `hint` hints in its instruction.

    `begun`: what a sequel begins with, where that is not the authors'.
    """

    task: Task
    folder: Path
    hint: int = 0
    begun: Begun | None = None
