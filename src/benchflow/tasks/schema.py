"""`task.toml` as its author writes it: Harbor's schema 1.4 and our `[metadata.benchflow]`.

Strict on purpose: an unknown key is most often a typing error that would silently change what a
task asks. Plain Harbor tasks do not pass through here; Harbor validates those itself.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
AbsolutePath = Annotated[str, StringConstraints(pattern=r"^/[^/\x00\n]+(/[^/\x00\n]+)*$")]
Arch = Literal["x86_64", "aarch64", "riscv64"]
Firmware = Literal["bios", "uefi", "direct"]
AuthorRole = Literal[
    "idea", "instruction", "environment", "oracle", "checks", "exploits", "generator"
]
ReviewerRole = Literal["reading", "attempt", "attack", "timing", "rating", "gates"]
Person = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,120}$")]
Orcid = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{4}-\d{4}-\d{3}[\dX]$")]
Kind = Literal["disk", "iso", "kernel", "initramfs", "archive", "directory", "file"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Author(_Strict):
    name: str
    """A person or an organisation."""
    email: str | None = None
    """Where to reach them."""


class Package(_Strict):
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")]
    """Org/name, as Harbor has it."""
    version: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")]
    """Of the scores: what can move a score raises it (CONTRIBUTING.md)."""
    description: Annotated[str, StringConstraints(min_length=10)]
    """One sentence for the catalogue."""
    authors: list[Author] = Field(min_length=1)
    """Shown wherever the task is."""
    keywords: list[str] = []
    """Words for a search; no verdict reads them."""


class Agent(_Strict):
    timeout_sec: float = Field(gt=0)
    """Seconds that an agent has."""
    user: str | int | None = None
    """Who it works as; root where it is not set."""
    network_mode: Literal["public", "no-network"] | None = None
    """The agent's own, where it is not the environment's."""


class Verifier(_Strict):
    timeout_sec: float = Field(gt=0)
    """Reference seconds for all checks together; the runner ends a verifier after four times
    that."""
    env: dict[str, str] = {}
    """Variables of the verifier."""


class Environment(_Strict):
    cpus: int = Field(2, ge=1)
    """Processors."""
    memory_mb: int = Field(4096, ge=64)
    """Memory of the agent's sandbox, in MiB."""
    storage_mb: int = Field(20480, ge=64)
    """What the agent may write, in MiB."""
    build_timeout_sec: float = Field(1800, gt=0)
    """Seconds for building the image."""
    network_mode: Literal["public", "no-network"] = "public"
    """Whether the agent's sandbox has a network."""
    workdir: str | None = None
    """Folder in which commands start, where the image's own is not wanted."""
    env: dict[str, str] = {}
    """Variables of the agent's sandbox."""


class Deliverable(_Strict):
    path: AbsolutePath
    """Absolute, the same in the agent's sandbox and in the verifier's."""
    kind: Kind
    """How it is validated, and whether it is booted by default."""
    max_mb: int = Field(ge=1)
    """Apparent size that is allowed, in MiB."""
    max_stored_mb: int | None = Field(None, ge=1)
    """Bytes really allocated, in MiB; `max_mb` where it is not set."""


class Exploit(_Strict):
    script: Name
    """`exploits/NAME.sh`."""
    allowed: list[str] = Field(min_length=1)
    """Milestones that it may gain, and has to."""
    why: Annotated[str, StringConstraints(min_length=10)]
    """The reason, which a reviewer judges."""
    incremental: bool = False
    """`true`: it may run in a sandbox in which other exploits have built."""


class CommonExploit(_Strict):
    exploit: Name
    """`poisoned-machine`, `hostile-file`, `known-text` or `stock-guest`."""
    allowed: list[str] = Field(min_length=1)
    """Milestones that it may gain, and has to."""
    why: Annotated[str, StringConstraints(min_length=10)]
    """The reason, which a reviewer judges."""


class Variant(_Strict):
    script: Name
    """`variants/NAME.sh`."""
    incremental: bool
    """`true`: it may run in a sandbox in which other variants have built."""


class Generated(_Strict):
    """Which draw a task is: `spec` is the digest of what was drawn."""

    generator: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+/[a-z0-9-]+$")]
    """Its name, TOPIC/NAME."""
    version: str
    """Its version."""
    seed: int = Field(ge=0)
    """The number that the task was drawn from."""
    spec: str
    """The digest of what was drawn."""
    level: int = Field(0, ge=0, le=5)
    """How much it asks for, 1 to 5; 0 where its parts were named."""


class Sequel(_Strict):
    """What the task begins from, where it is a sequel (docs/authoring.md)."""

    of: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*$")]
    """The earlier task, TOPIC/NAME in the same catalogue; no sequel itself."""
    place: AbsolutePath
    """The folder, in the agent's sandbox and in the verifier, in which the earlier task's
    deliverables lie, each under the name of its file."""


class AuthorDid(_Strict):
    name: Person
    """As in `[task] authors`."""
    did: list[AuthorRole] = Field(min_length=1)
    """Which parts of the task are theirs (docs/contributors.md explains each)."""
    orcid: Orcid | None = None
    """Their ORCID iD."""


class Reviewer(_Strict):
    name: Person
    """As they want to be named, with their consent; nobody of `[task] authors`."""
    did: list[ReviewerRole] = Field(min_length=1)
    """What they did with the task (docs/contributors.md explains each)."""
    orcid: Orcid | None = None
    """Their ORCID iD."""


class Benchflow(_Strict):
    topic: Name
    """The folder of the catalogue in which the task's folder lies."""
    name: Name
    """The task's folder."""
    generated: Generated | None = None
    """Which draw of which generator it is; only of a task that a generator wrote."""
    sequel: Sequel | None = None
    """What it begins from; only of a sequel."""
    skills: list[Name] = Field(min_length=1)
    """Words of the vocabulary (`src/benchflow/tasks/skills.py`)."""
    arch: Arch
    """Of the machine that is booted."""
    further_arches: list[Arch] = []
    """Of machines that the verifier makes besides."""
    firmware: Firmware
    """Of the machine that is booted; `direct` starts a kernel without any."""
    machine_memory_mb: int = Field(512, ge=16)
    """Default memory of a guest in the verifier, in MiB."""
    machines_at_once: int = Field(1, ge=1)
    """Guests with that much that run side by side."""
    expert_minutes: float = Field(gt=0)
    """Minutes that an expert needs."""
    expert_minutes_basis: str
    """Who was timed, or that it is estimated, and how."""
    oracle_minutes: float = Field(gt=0)
    """Minutes of the oracle's work, as measured, without its verification."""
    oracle_incremental: bool = False
    """`true`: solve.sh may run again in its own sandbox, to a later milestone."""
    image_mb: int = Field(2048, ge=1)
    """What the agent's image may take, in MiB."""
    verifier_storage_mb: int | None = Field(None, ge=1024)
    """What the verifier may write, in MiB; only where what follows from the deliverables is
    too little."""
    needs: list[str] = []
    """What the agent's sandbox must have. `loop-devices`, `kernel-modules` and `systemd` are had
    with `--sandbox vm` alone, and refused elsewhere; other words (`net:debian`) are for people."""
    unverified: str = ""
    """Why something is not proved yet; no part of the task's digest."""
    deliverables: list[Deliverable] = Field(min_length=1)
    """What is handed in."""
    exploits: list[Exploit] = []
    """Only exploits that may gain something."""
    common_exploits: list[CommonExploit] = []
    """Only where one of the exploits common to all tasks may gain something."""
    variants: list[Variant] = []
    """Only variants that may share a sandbox."""
    authors: list[AuthorDid] = []
    """What each author did; no part of the task's digest."""
    reviewers: list[Reviewer] = []
    """Who reviewed it, and how; no part of the task's digest."""


class Metadata(BaseModel):
    model_config = ConfigDict(extra="allow")

    benchflow: Benchflow
    """What is ours; other tables of [metadata] are let through."""


class Step(_Strict):
    name: Name
    """The folder below steps/."""
    min_reward: float | None = None
    """Harbor's: below it the next step is not begun."""
    agent: Agent | None = None
    """As [agent], for this step."""
    verifier: Verifier | None = None
    """As [verifier], for this step."""


class TaskFile(_Strict):
    schema_version: Literal["1.4"]
    """Harbor's."""
    task: Package
    """What the task is."""
    agent: Agent
    """Limits of the agent."""
    verifier: Verifier
    """Limits of the verifier."""
    environment: Environment
    """The agent's sandbox."""
    metadata: Metadata
    """What is ours."""
    solution: dict[str, Any] = {}
    """Harbor's; let through."""
    steps: list[Step] = []
    """Of a task in several steps, in their order."""
    multi_step_reward_strategy: Literal["mean", "final"] | None = None
    """Harbor's: how rewards of several steps become one."""
