"""Guests of the boot tests. Machines are closed after each test; what they boot is built once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starting import Start
from tests.needs import needs

from benchflow.boot.machine.virtual_machine import Machine
from guests import LOGIN_INIT, PASSWD, SHELL_INIT, build_initramfs, debian_kernel


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for guests that tests of one run share."""
    return tmp_path_factory.mktemp("guests")


@pytest.fixture(scope="session")
@needs("guests")
def shell_initrd(built: Path) -> Path:
    """Boots into a busybox shell on the console."""
    return build_initramfs(built / "shell.gz", SHELL_INIT)


@pytest.fixture(scope="session")
@needs("guests")
def login_initrd(built: Path) -> Path:
    """Boots into a login prompt; root's password is toor."""
    return build_initramfs(built / "login.gz", LOGIN_INIT, files=PASSWD)


@pytest.fixture
@needs("qemu", "guests")
def start(tmp_path: Path) -> Iterator[Start]:
    """`start(init or initrd, **spec)`: a booting machine with a Debian kernel."""
    machines: list[Machine] = []

    def make(init: str | Path, arch: str = "x86_64", files: Any = None, **spec: Any) -> Machine:
        name = f"m{len(machines)}"
        initrd = init
        if isinstance(init, str):
            initrd = build_initramfs(tmp_path / f"{name}.gz", init, arch=arch, files=files)
        machine = Machine(
            name,
            arch=arch,
            firmware="direct",
            kernel=debian_kernel(arch),
            initrd=initrd,
            memory_mb=spec.pop("memory_mb", 256),
            scratch=tmp_path,
            **spec,
        )
        machines.append(machine)
        return machine.boot()

    yield make
    for machine in machines:
        machine.close()


@pytest.fixture(scope="session")
@needs("qemu", "guests")
def console_machine(shell_initrd: Path, built: Path) -> Iterator[Machine]:
    """One running machine with a shell, for tests that leave it as it was."""
    with Machine(
        "shared",
        firmware="direct",
        kernel=debian_kernel(),
        initrd=shell_initrd,
        memory_mb=256,
        scratch=built,
    ) as machine:
        machine.boot().attach()
        yield machine
