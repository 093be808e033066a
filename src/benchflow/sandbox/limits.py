"""Limits on memory, processes, processors and disk: enforced where the machine lets us, and said
to be `not enforced` where it does not."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchflow.sandbox.model import Limits

_ROOT = Path("/sys/fs/cgroup")
_MIB = 1024 * 1024
_PERIOD = 100_000


@dataclass(slots=True)
class Groups:
    """The control groups of one sandbox. `report` says for each limit how it is enforced."""

    paths: dict[str, Path] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    unified: bool = False
    report: dict[str, str] = field(default_factory=dict)

    def attach(self, pid: int) -> None:
        """Put a process, and all that it starts from now on, under the limits. A plain user may
        make groups where it may not move processes: that is reported like any other refusal."""
        for path in set(self.paths.values()):
            try:
                (path / "cgroup.procs").write_text(str(pid))
            except PermissionError as error:
                for kind in [kind for kind, used in self.paths.items() if used == path]:
                    _refused(self, kind, error)
                remove_groups([path])

    def remove(self) -> None:
        """Remove the groups; their processes must be dead or dying."""
        remove_groups(list(set(self.paths.values())))


def remove_groups(paths: list[Path]) -> None:
    """Remove control groups, waiting a moment for their last process to be gone."""
    for path in paths:
        deadline = time.monotonic() + 5
        while path.is_dir():
            try:
                path.rmdir()
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.005)


def create_groups(name: str, limits: Limits) -> Groups:
    """Make the groups of sandbox `name`. Never fails: what cannot be enforced is reported."""
    groups = Groups(limits=limits)
    if (_ROOT / "cgroup.controllers").is_file():
        _create_unified(groups, name, limits)
    else:
        _create_v1(groups, name, limits)
    return groups


def _create_v1(groups: Groups, name: str, limits: Limits) -> None:
    for kind, controller in (
        ("memory", "memory"),
        ("pids", "pids"),
        ("cpus", "cpu"),
        ("cpuacct", "cpuacct"),
    ):
        parent = _ROOT / controller
        try:
            if not (parent / "cgroup.procs").is_file():
                raise FileNotFoundError(2, f"no cgroup controller {controller}")
            path = parent / "benchflow" / name
            path.mkdir(parents=True, exist_ok=True)
            if controller == "cpu":
                (path.parent / "cpu.shares").write_text(str(1024 * _fair_share()))
            groups.paths[kind] = path
            for file, value in _v1_settings(kind, limits):
                (path / file).write_text(value)
            # Memory and swap together, where the kernel counts that: what is swapped out is used.
            both = path / "memory.memsw.limit_in_bytes"
            if kind == "memory" and limits.memory_mb is not None and both.is_file():
                both.write_text(str(limits.memory_mb * _MIB))
        except OSError as error:
            _refused(groups, kind, error)
            continue
        if _wanted(kind, limits):
            groups.report[kind] = f"enforced: cgroup v1 {controller}"


def _fair_share() -> int:
    """How many ordinary processes all sandboxes together weigh as.

    Without it the group of all of them weighs as one process against each other one of the host.
    """
    return 4 * (os.cpu_count() or 1)


def _v1_settings(kind: str, limits: Limits) -> list[tuple[str, str]]:
    if kind == "memory" and limits.memory_mb is not None:
        return [("memory.limit_in_bytes", str(limits.memory_mb * _MIB))]
    if kind == "pids" and limits.pids is not None:
        return [("pids.max", str(limits.pids))]
    if kind == "cpus" and limits.cpus is not None:
        return [
            ("cpu.cfs_period_us", str(_PERIOD)),
            ("cpu.cfs_quota_us", str(int(limits.cpus * _PERIOD))),
        ]
    return []


def _create_unified(groups: Groups, name: str, limits: Limits) -> None:
    groups.unified = True
    parent = _unified_parent()
    path = parent / "benchflow" / name
    try:
        _enable_controllers(parent)
        path.parent.mkdir(exist_ok=True)
        _enable_controllers(path.parent)
        path.mkdir(exist_ok=True)
        if (path.parent / "cpu.weight").is_file():
            (path.parent / "cpu.weight").write_text(str(min(10_000, 100 * _fair_share())))
    except OSError as error:
        for kind in ("memory", "pids", "cpus"):
            _refused(groups, kind, error)
        return
    # What is swapped out counts for nothing. There is no such file where the kernel has no swap.
    swap = "0" if limits.memory_mb and (path / "memory.swap.max").is_file() else None
    for kind, file, value in (
        ("memory", "memory.swap.max", swap),
        ("memory", "memory.max", limits.memory_mb and str(limits.memory_mb * _MIB)),
        ("pids", "pids.max", limits.pids and str(limits.pids)),
        ("cpus", "cpu.max", limits.cpus and f"{int(limits.cpus * _PERIOD)} {_PERIOD}"),
    ):
        groups.paths[kind] = path
        if not value:
            continue
        try:
            (path / file).write_text(value)
        except OSError as error:
            _refused(groups, kind, error)
            continue
        groups.report[kind] = f"enforced: cgroup v2 {file}"


def _unified_parent() -> Path:
    """The top as root; else the group that the caller was given to manage, if any."""
    if os.geteuid() == 0:
        return _ROOT
    own = Path("/proc/self/cgroup").read_text().rpartition("::")[2].strip().lstrip("/")
    best = _ROOT / own
    for candidate in (best, *best.parents):
        if candidate == _ROOT or not os.access(candidate / "cgroup.procs", os.W_OK):
            break
        best = candidate
    return best


def _enable_controllers(path: Path) -> None:
    available = (path / "cgroup.controllers").read_text().split()
    wanted = " ".join(f"+{name}" for name in ("memory", "pids", "cpu") if name in available)
    if wanted:
        (path / "cgroup.subtree_control").write_text(wanted)


def _wanted(kind: str, limits: Limits) -> bool:
    values = {"memory": limits.memory_mb, "pids": limits.pids, "cpus": limits.cpus}
    return values.get(kind) is not None


def _refused(groups: Groups, kind: str, error: OSError) -> None:
    groups.paths.pop(kind, None)
    if kind != "cpuacct" and (kind in groups.report or _wanted(kind, groups.limits)):
        groups.report[kind] = f"not enforced: {error.strerror or error}"


def memory_peak(groups: Groups) -> int | None:
    """Bytes at the peak, or None where the machine does not count."""
    names = ("memory.peak",) if groups.unified else ("memory.max_usage_in_bytes",)
    return _number(groups.paths.get("memory"), names[0])


def memory_kills(groups: Groups) -> int | None:
    """How many of its processes the kernel killed for memory, or None where it does not count."""
    file = "memory.events" if groups.unified else "memory.oom_control"
    for line in _read(groups.paths.get("memory"), file).splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return None


def cpu_seconds(groups: Groups) -> float | None:
    """Processor seconds used, or None where the machine does not count."""
    if not groups.unified:
        used = _number(groups.paths.get("cpuacct"), "cpuacct.usage")
        return None if used is None else used / 1e9
    for line in _read(groups.paths.get("cpus"), "cpu.stat").splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) / 1e6
    return None


def _number(path: Path | None, file: str) -> int | None:
    text = _read(path, file)
    return int(text) if text else None


def _read(path: Path | None, file: str) -> str:
    """Nothing where the machine does not count, or while somebody removes the group (ENODEV)."""
    try:
        return (path / file).read_text() if path else ""
    except OSError:
        return ""
