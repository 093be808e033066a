"""Staging: a task folder becomes a self-contained Harbor folder that also runs without us.

The staged folder holds what the agent's and the verifier's images are built from, `boot` as one
file included. It is content-addressed (`<home>/staged/<key>/<slug>`), so that equal inputs are
staged once, and what `benchflow run` runs is byte for byte what `benchflow tasks export` writes;
with --images the latter carries deliverables over as one archive (`packing`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchflow.base import shell_pieces
from benchflow.base.home import home
from benchflow.base.numbers import plural
from benchflow.boot.memory import OWN_MB, QEMU_MB, TOOL_MB
from benchflow.boot.runner.debian_packages import packages
from benchflow.errors import UsageError
from benchflow.tasks import packing, sequels
from benchflow.tasks.digest import files_below
from benchflow.tasks.model import Begun, Resources, Staged, Task

_FORMAT = 4
_SUITE = "bookworm"
#: What checks themselves write at most where the task says nothing, in MiB: blank disks of theirs
#: that a guest fills, archives unpacked, partitions cut out.
_CHECKS_STORAGE_MB = 8192

_TEST_SH = """#!/bin/sh
# Boots what was delivered and writes /logs/verifier/reward.json; a status other than 0 means that
# the verifier itself broke and that no reward was written.
exec python3 -I /tests/boot.pyz verify --tests /tests --logs /logs/verifier "$@"
"""
_IMAGE_SCRIPT = "image/build.sh"
_UNPACK_FIRST = f"python3 -I /tests/{packing.UNPACK} || exit 3\nexec "


def stage(task: Task, hint: int = 0, *, packed: bool = False, begun: Begun | None = None) -> Staged:
    """`task` as a Harbor folder with hints 1..`hint` in its instruction; cached.

    `packed`: deliverables cross as one archive. A plain Harbor folder is already what Harbor runs:
    its own path is returned. `begun`: what an earlier trial delivered, for a sequel. Raises
    UsageError when the task has no hint of that level, and for one with several steps that is to
    be packed.
    """
    if not task.is_benchflow:
        if hint:
            raise UsageError(
                f"{task.name}: plain Harbor tasks have no hints", hint="leave --hint out"
            )
        return Staged(task, task.path)
    if hint > len(task.hints):
        raise UsageError(
            f"{task.name} has {plural(len(task.hints), 'hint')}",
            hint=f"use --hint 0-{len(task.hints)}",
        )
    if packed and task.steps:
        raise UsageError(f"{task.name} has several steps: its deliverables cannot be packed")
    boot = boot_zipapp()
    made_of = f"{_FORMAT} {task.digest} {boot.stem} {hint}"
    if told := [each for each in task.contributions if each.did]:
        made_of += f" {told}"  # the digest leaves them out, and what is exported has them
    if packed:
        made_of += f" {packing.pack_command(task)} {packing.unpack_script()}"
    if begun is not None:
        made_of += f" begun {begun.digest}"
    key = hashlib.sha256(made_of.encode()).hexdigest()[:20]
    final = home() / "staged" / key / task.slug
    staged = Staged(task, final, hint, begun)
    if final.is_dir():
        return staged
    final.parent.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".staging-", dir=final.parent.parent))
    try:
        write_staged(task, scratch / task.slug, boot, hint)
        sequels.write(task, scratch / task.slug, begun)
        if packed:
            _pack(task, scratch / task.slug)
        scratch.chmod(0o755)
        try:
            scratch.rename(final.parent)
        except OSError:
            if not final.is_dir():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return staged


def verifier_on(tests: Path, release: str) -> Path:
    """The staged verifier in folder `tests`, its image made of another release of Debian: for
    what must not depend on the QEMU that comes with it. Cached beside the staged one."""
    dockerfile = (tests / "Dockerfile").read_text(encoding="utf-8")
    # The last stage: that of a sequel has one before it.
    before, found, rest = dockerfile.rpartition(f"FROM debian:{_SUITE}\n")
    if not found or not re.fullmatch(r"[a-z]+", release):
        raise UsageError(
            f"no verifier of Debian {release!r} can be made here",
            hint="a task of ours, and a release by its name: bookworm, trixie",
        )
    if release == _SUITE:
        return tests
    final = tests.with_name(f"{tests.name}-{release}")
    if final.is_dir():
        return final
    scratch = Path(tempfile.mkdtemp(prefix=".staging-", dir=tests.parent))
    try:
        shutil.copytree(tests, scratch / "tests")
        (scratch / "tests" / "Dockerfile").write_text(f"{before}FROM debian:{release}\n{rest}")
        with contextlib.suppress(FileExistsError):
            (scratch / "tests").rename(final)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return final


Finish = Callable[[Task, Path], None]


def export(
    tasks: list[Task],
    destination: Path,
    hint: int = 0,
    *,
    packed: bool = False,
    finish: Finish | None = None,
    begun: Begun | None = None,
) -> list[Path]:
    """Copies the staged folders of `tasks` below `destination`; returns their paths.

    `packed` is as in `stage`; `finish` may change a task's task.toml in its copy, and add files,
    before the copy takes its name. Raises UsageError when a folder of that name exists and differs:
    nothing is overwritten.
    """
    destination.mkdir(parents=True, exist_ok=True)
    written = []
    for task in tasks:
        source, target = (
            stage(task, hint, packed=packed, begun=begun).folder,
            destination / task.slug,
        )
        if target.exists():
            # Before anything is built or pushed for it.
            own = _content(source)
            own.pop("task.toml", None)
            if not own.items() <= _content(target).items():
                raise _differs(target)
        scratch = Path(tempfile.mkdtemp(prefix=".exporting-", dir=destination))
        try:
            copy = scratch / task.slug
            shutil.copytree(source, copy)
            if finish:
                finish(task, copy)
            if not target.exists():
                copy.rename(target)
            elif _content(target) != _content(copy):
                raise _differs(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        written.append(target)
    return written


def _differs(target: Path) -> UsageError:
    return UsageError(
        f"{target} exists and is not the same", hint="choose another folder or remove it"
    )


@functools.cache
def boot_zipapp() -> Path:
    """`boot` as one file, named by its content: `<home>/boot/<sha256, 20 digits>.pyz`."""
    from benchflow.boot.runner.zipapp import build_boot_zipapp

    folder = home() / "boot"
    folder.mkdir(exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".packing-", suffix=".pyz", dir=folder)
    os.close(handle)
    scratch = Path(name)
    try:
        build_boot_zipapp(scratch)
        final = folder / f"{hashlib.sha256(scratch.read_bytes()).hexdigest()[:20]}.pyz"
        scratch.chmod(0o644)
        scratch.replace(final)
    finally:
        scratch.unlink(missing_ok=True)
    return final


def write_staged(task: Task, target: Path, boot: Path, hint: int) -> None:
    """Writes the staged form of `task` into the new folder `target`."""
    target.mkdir(parents=True)
    for part in ("environment", "solution"):
        _copy(task, part, target / part)
    hints = "".join(
        f"\n### Hint {n}\n\n{path.read_text(encoding='utf-8')}"
        for n, path in enumerate(task.hints[:hint], 1)
    )
    appendix = f"\n\n## Hints\n{hints}" if hints else ""
    if task.steps:
        for step in task.steps:
            source, folder = task.path / "steps" / step.name, target / "steps" / step.name
            folder.mkdir(parents=True)
            _copy(task, f"steps/{step.name}/solution", folder / "solution")
            (folder / "instruction.md").write_text(
                (source / "instruction.md").read_text(encoding="utf-8") + appendix
            )
            _write_tests(task, f"steps/{step.name}/tests", folder / "tests", boot)
    else:
        (target / "instruction.md").write_text(
            (task.path / "instruction.md").read_text(encoding="utf-8") + appendix
        )
        _write_tests(task, "tests", target / "tests", boot)
    (target / "task.toml").write_text(_staged_toml(task))


def _write_tests(task: Task, source: str, target: Path, boot: Path) -> None:
    _copy(task, source, target)
    shutil.copyfile(boot, target / "boot.pyz")
    (target / "task.json").write_text(json.dumps(manifest(task), indent=1) + "\n")
    (target / "test.sh").write_text(_TEST_SH)
    (target / "test.sh").chmod(0o755)
    (target / "Dockerfile").write_text(
        verifier_dockerfile(
            task.arch, task.firmware, task.further_arches, more=(target / _IMAGE_SCRIPT).is_file()
        )
    )


def _pack(task: Task, folder: Path) -> None:
    import tomlkit

    tests = folder / "tests"
    (tests / packing.UNPACK).write_text(packing.unpack_script())
    told = {**manifest(task), "archive": packing.ARCHIVE}
    (tests / "task.json").write_text(json.dumps(told, indent=1) + "\n")
    (tests / "test.sh").write_text(_TEST_SH.replace("exec ", _UNPACK_FIRST))
    data: Any = tomlkit.parse((folder / "task.toml").read_text(encoding="utf-8"))
    packing.name_archive(data, task)
    (folder / "task.toml").write_text(tomlkit.dumps(data))


def manifest(task: Task) -> dict[str, Any]:
    """What `boot` needs to know of the task (`tests/task.json`, schema 1; sizes in MiB).

    `storage_mb`: what the whole verifier may write, what was delivered included.
    """
    return {
        "schema": 1,
        "name": task.name,
        "version": task.version,
        "digest": task.digest,
        "arch": task.arch,
        "firmware": task.firmware,
        "memory_mb": task.machine_memory_mb,
        "verifier_sec": task.verifier_timeout_sec,
        "storage_mb": verifier_storage_mb(task),
        "deliverables": [
            {"path": d.path, "kind": d.kind, "max_mb": d.max_mb, "max_stored_mb": d.max_stored_mb}
            for d in task.deliverables
        ],
    }


def verifier_dockerfile(
    arch: str, firmware: str, further_arches: tuple[str, ...] = (), *, more: bool = False
) -> str:
    """The verifier's image; machines of `further_arches` are started without firmware of theirs.

    The packages come first, so that tasks share that layer: all of x86_64 one, whose UEFI adds
    15 MiB; elsewhere a firmware adds hundreds, and only those who start by it pay for it.
    `more`: the task adds to it by its script `image/build.sh`, which has a network and is run
    before the rest of its tests is there, so that a change of a check makes none of it again.
    """
    shared = "uefi" if arch == "x86_64" else firmware
    named = set(packages(arch, shared))
    for other in further_arches:
        named |= set(packages(other, "direct"))
    wanted = " \\\n      ".join(sorted(named))
    added = f"COPY image /tests/image\nRUN sh /tests/{_IMAGE_SCRIPT}\n" if more else ""
    return f"""FROM debian:{_SUITE}
RUN apt-get update \\
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \\
      {wanted} \\
 && apt-get clean && rm -rf /var/lib/apt/lists/*
{added}COPY . /tests
WORKDIR /tests
"""


def verifier_resources(task: Task) -> Resources:
    """What the verifier is granted. Memory: each part of `boot` as much as it may have, at once."""
    machines = task.machines_at_once * (task.machine_memory_mb + QEMU_MB)
    return Resources(
        cpus=task.resources.cpus,
        memory_mb=OWN_MB + TOOL_MB + machines,
        storage_mb=verifier_storage_mb(task),
        build_timeout_sec=task.resources.build_timeout_sec,
    )


def verifier_storage_mb(task: Task) -> int:
    """What the verifier may write: as the task says, or for anything that may be delivered.

    What was delivered, each disk filled to its end by the guest that has it, a copy of each, and
    what checks write. Who knows of machines that write more says so (`verifier_storage_mb`).
    """
    delivered = sum(d.max_stored_mb for d in task.deliverables)
    disks = sum(d.max_mb for d in task.deliverables if d.kind == "disk")
    return task.verifier_storage_mb or delivered + 2 * disks + _CHECKS_STORAGE_MB


def _staged_toml(task: Task) -> str:
    import tomlkit

    data: Any = tomlkit.parse((task.path / "task.toml").read_text(encoding="utf-8"))
    granted = verifier_resources(task)
    # Consumers look for results by the folder's name, and Harbor writes them under this one.
    data["task"]["name"] = f"{data['task']['name'].rpartition('/')[0]}/{task.slug}".lstrip("/")
    data["verifier"]["timeout_sec"] = task.verifier_ended_sec
    data["verifier"]["environment_mode"] = "separate"
    data["verifier"]["environment"] = {
        "network_mode": "no-network",
        "build_timeout_sec": granted.build_timeout_sec,
        "cpus": granted.cpus,
        "memory_mb": granted.memory_mb,
        "storage_mb": granted.storage_mb,
    }
    data["environment"].setdefault("build_timeout_sec", task.resources.build_timeout_sec)
    data["artifacts"] = [d.path for d in task.deliverables]
    data["metadata"]["benchflow"]["digest"] = task.digest
    return tomlkit.dumps(data)


def _copy(task: Task, part: str, target: Path) -> None:
    source = task.path / part
    for path in files_below(source):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(shell_pieces.read(path, task.path))
        copy.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def _content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).digest()
        for path in files_below(folder)
    }
