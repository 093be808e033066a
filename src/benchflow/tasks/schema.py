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
Kind = Literal["disk", "iso", "kernel", "initramfs", "archive", "directory", "file"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Author(_Strict):
    name: str
    email: str | None = None


class Package(_Strict):
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")]
    version: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")]
    description: Annotated[str, StringConstraints(min_length=10)]
    authors: list[Author] = Field(min_length=1)
    keywords: list[str] = []


class Agent(_Strict):
    timeout_sec: float = Field(gt=0)
    user: str | int | None = None
    network_mode: Literal["public", "no-network"] | None = None


class Verifier(_Strict):
    timeout_sec: float = Field(gt=0)
    env: dict[str, str] = {}


class Environment(_Strict):
    cpus: int = Field(2, ge=1)
    memory_mb: int = Field(4096, ge=64)
    storage_mb: int = Field(20480, ge=64)
    build_timeout_sec: float = Field(1800, gt=0)
    network_mode: Literal["public", "no-network"] = "public"
    workdir: str | None = None
    env: dict[str, str] = {}


class Deliverable(_Strict):
    path: AbsolutePath
    kind: Kind
    max_mb: int = Field(ge=1)
    max_stored_mb: int | None = Field(None, ge=1)


class Exploit(_Strict):
    script: Name
    allowed: list[str] = Field(min_length=1)
    why: Annotated[str, StringConstraints(min_length=10)]
    goes_on: bool = False


class CommonExploit(_Strict):
    cheat: Name
    allowed: list[str] = Field(min_length=1)
    why: Annotated[str, StringConstraints(min_length=10)]


class Variant(_Strict):
    script: Name
    goes_on: bool


class Generated(_Strict):
    """Which draw a task is: `spec` is the digest of what was drawn."""

    generator: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+/[a-z0-9-]+$")]
    version: str
    seed: int = Field(ge=0)
    spec: str


class Benchflow(_Strict):
    topic: Name
    name: Name
    generated: Generated | None = None
    skills: list[Name] = Field(min_length=1)
    arch: Arch
    further_arches: list[Arch] = []
    firmware: Firmware
    machine_memory_mb: int = Field(512, ge=16)
    machines_at_once: int = Field(1, ge=1)
    expert_minutes: float = Field(gt=0)
    expert_minutes_basis: str
    oracle_minutes: float = Field(gt=0)
    oracle_goes_on: bool = False
    image_mb: int = Field(2048, ge=1)
    verifier_storage_mb: int | None = Field(None, ge=1024)
    needs: list[str] = []
    unverified: str = ""
    deliverables: list[Deliverable] = Field(min_length=1)
    exploits: list[Exploit] = []
    common_exploits: list[CommonExploit] = []
    variants: list[Variant] = []


class Metadata(BaseModel):
    model_config = ConfigDict(extra="allow")

    benchflow: Benchflow


class Step(_Strict):
    name: Name
    min_reward: float | None = None
    agent: Agent | None = None
    verifier: Verifier | None = None


class TaskFile(_Strict):
    schema_version: Literal["1.4"]
    task: Package
    agent: Agent
    verifier: Verifier
    environment: Environment
    metadata: Metadata
    solution: dict[str, Any] = {}
    steps: list[Step] = []
    multi_step_reward_strategy: Literal["mean", "final"] | None = None
