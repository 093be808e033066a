"""What this machine can do. Every check tries the thing itself where trying is cheap."""

from __future__ import annotations

from collections.abc import Iterator

from benchflow.run.doctor import host, machines, sandbox
from benchflow.run.doctor.check import Check, State, failed

__all__ = ["Check", "State", "checks", "is_fit"]


def checks(*, quick: bool = False, verbose: bool = False) -> Iterator[Check]:
    """All checks, one after another, as they are done. None of them raises."""
    yield from _guarded("python", host.python)
    yield from _guarded("host", host.machine)
    yield from _guarded("user namespaces", sandbox.user_namespaces)
    yield from _guarded("id maps", sandbox.id_maps)
    yield from _guarded("overlayfs", sandbox.overlayfs)
    yield from _guarded("sandbox network", sandbox.network)
    yield from _guarded("seccomp notify", sandbox.seccomp_notify)
    yield from _guarded("limits", sandbox.limits)
    for name in sandbox.PROGRAMS:
        yield from _guarded(name, lambda name=name: sandbox.program(name))
    for arch in machines.ARCHES:
        yield from _guarded(f"qemu {arch}", lambda arch=arch: machines.qemu(arch))
    for arch, firmware in machines.FIRMWARE:
        yield from _guarded(
            f"{firmware} {arch}",
            lambda arch=arch, firmware=firmware: machines.firmware(arch, firmware),
        )
    if not quick:
        yield from _guarded("kvm", machines.kvm)
        yield from _guarded("sandbox vm", machines.sandbox_vm)
        yield from _guarded("host speed", machines.speed)
        yield from _guarded("mirror", lambda: host.mirror(verbose=verbose))
    yield from _guarded("disk", host.disk)
    yield from _guarded("memory", host.memory)
    yield from _guarded("docker", host.docker)


def is_fit(found: list[Check]) -> bool:
    """Whether the main job can run: nothing that it needs is missing or broken."""
    return not any(c.needed and c.state in (State.MISSING, State.BROKEN) for c in found)


def _guarded(name: str, check: object) -> Iterator[Check]:
    assert callable(check)
    try:
        yield check()
    except Exception as error:
        yield failed(name, error)
