"""The values that go in and out of a sandbox."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Network = Literal["none", "user"]


@dataclass(frozen=True, slots=True)
class Mount:
    """A host directory or file shown inside. `inside` is absolute.

    Read-write (directories only): the directory is lent: while the sandbox lives it belongs to
    the sandbox's ids, and at `stop` it is given back to the caller without set-uid bits, device
    nodes or sockets. Read-only: what the host's "others" may read can be read.
    """

    host: Path
    inside: str
    read_only: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    """`None` is no limit. `cpus` may be a fraction. Which limits this machine enforces, and how,
    is said by `Sandbox.limits_report()`."""

    memory_mb: int | None = None
    pids: int | None = 4096
    disk_mb: int | None = None
    cpus: float | None = None


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """What an image says about how its processes start."""

    env: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = ""
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """A built image. `layers` are directories on the host, lowest first."""

    digest: str
    layers: tuple[Path, ...]
    config: ImageConfig = field(default_factory=ImageConfig)


@dataclass(frozen=True, slots=True)
class ExecResult:
    """`status` is the exit status, or 128 + n for a death by signal n. A command that ran into
    its timeout has `timed_out` and status 137; what it had printed is kept."""

    stdout: bytes
    stderr: bytes
    status: int
    timed_out: bool = False

    @property
    def text(self) -> str:
        """stdout as text; bytes that are not UTF-8 become U+FFFD."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        """stderr as text; bytes that are not UTF-8 become U+FFFD."""
        return self.stderr.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a sandbox used, at its peak; `None` where this machine cannot say.

    `others_share`: how much of the host's processors others had meanwhile, 0 to 1.
    """

    memory_peak_mb: float | None
    cpu_seconds: float | None
    disk_mb: float | None
    memory_kills: int | None
    others_share: float | None
