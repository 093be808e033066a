"""limits: each is enforced, or the environment says that it is not."""

from __future__ import annotations

from typing import Literal

from harbor.environments.base import BaseEnvironment

from benchflow.testing.sandbox_conformance.catalogue import check
from benchflow.testing.sandbox_conformance.outcome import NotApplicable, expect
from benchflow.testing.sandbox_conformance.rig import Rig, bystander, text

_MIB = 1 << 20


def _stated(environment: BaseEnvironment, kind: Literal["memory", "pids", "disk", "cpus"]) -> None:
    """Continue only if the environment says that it enforces this limit."""
    report = getattr(environment, "limits_report", None)
    if report is not None:
        said = report().get(kind)
        expect(said, f"the report says nothing about {kind}")
        if not said.startswith("enforced"):
            raise NotApplicable(said)
        return
    declared = environment.resource_capabilities()
    if declared is None or not {
        "memory": declared.memory_limit,
        "cpus": declared.cpu_limit,
    }.get(kind, False):
        raise NotApplicable(f"the environment promises no limit on {kind}")


@check
async def limits__memory(rig: Rig) -> None:
    """A program cannot take more memory than was granted, and the sandbox outlives the attempt"""
    async with rig.fresh(memory_mb=256) as environment:
        _stated(environment, "memory")
        result = await environment.exec(
            "perl -e '$x = q(m) x (600 * 1048576); print length $x'",
            timeout_sec=int(120 * rig.patience),
        )
        expect(result.return_code != 0, "600 MiB were taken where 256 were granted")
        expect((await environment.exec("echo alive")).stdout == "alive\n", "the sandbox is dead")


@check
async def limits__memory_of_many(rig: Rig) -> None:
    """Many small programs together cannot take more memory than was granted"""
    async with rig.fresh(memory_mb=256) as environment:
        _stated(environment, "memory")
        result = await environment.exec(
            "for i in $(seq 10); do "
            "perl -e '$x = q(m) x (60 * 1048576 + $$); sleep 5; print qq(ok\\n)' & done; wait",
            timeout_sec=int(120 * rig.patience),
        )
        survivors = (result.stdout or "").splitlines().count("ok")
        expect(survivors < 10, "600 MiB were taken where 256 were granted")


@check
async def limits__memory_files(rig: Rig) -> None:
    """Files on /dev/shm and /tmp in memory count as memory, or stay small"""
    async with rig.fresh(memory_mb=256) as environment:
        _stated(environment, "memory")
        result = await environment.exec(
            "head -c 600M /dev/zero 2>&- >/dev/shm/big; stat -c %s /dev/shm/big",
            timeout_sec=int(120 * rig.patience),
        )
        said = text(result).strip()
        size = int(said) if said.isdigit() else 0  # killed on the way: nothing is said
        expect(size < 600 * _MIB, "600 MiB lie in memory where 256 were granted")


@check
async def limits__processes(rig: Rig) -> None:
    """A fork bomb stops at the limit on processes, and the host keeps running"""
    async with rig.fresh(pids=256) as environment:
        _stated(environment, "pids")
        program = (
            "for(1..400){my $p=fork; last unless defined $p; if(!$p){sleep 20; exit} $n++} print $n"
        )
        result = await environment.exec(
            f"perl -e '{program}; kill 9, -$$'", timeout_sec=int(60 * rig.patience)
        )
        made = int(text(result).strip() or 0) if text(result).strip().isdigit() else 256
        expect(made <= 256, f"{made} processes were made where 256 were granted")
        other = bystander()
        other.kill()
        other.wait()
        expect((await environment.exec("echo alive")).stdout == "alive\n", "the sandbox is dead")


@check
async def limits__disk(rig: Rig) -> None:
    """Files cannot take more disk than was granted"""
    async with rig.fresh(storage_mb=64) as environment:
        _stated(environment, "disk")
        result = await environment.exec(
            "for n in 1 2 3 4; do dd if=/dev/zero of=/var/big$n bs=1M count=64 status=none "
            "|| exit 1; sync; sleep 1; done",
            timeout_sec=int(120 * rig.patience),
        )
        expect(result.return_code != 0, "256 MiB were written where 64 were granted")


@check
async def limits__processors(rig: Rig) -> None:
    """A busy program gets no more processor time than was granted"""
    async with rig.fresh(cpus=1) as environment:
        _stated(environment, "cpus")
        result = await environment.exec(
            "for i in 1 2 3 4; do timeout 3 sh -c 'while :; do :; done' & done; wait; "
            "cat /proc/self/stat > /dev/null; times",
            timeout_sec=int(60 * rig.patience),
        )
        words = text(result).split()[-2:]
        used = sum(_seconds(word) for word in words)
        expect(used < 4.5, f"{used:.1f} s of processor in 3 s, where one was granted")


def _seconds(word: str) -> float:
    minutes, _, seconds = word.rstrip("s").partition("m")
    return int(minutes) * 60 + float(seconds)
