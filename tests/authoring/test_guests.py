"""The common exploits' guests really boot and answer: else passing them would mean nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from test_gates import trial
from tests.lamp import TASK_TOML

from benchflow.authoring.corpus import exploits
from benchflow.boot.machine.disks import Disk
from benchflow.boot.machine.virtual_machine import Machine
from benchflow.tasks import load

pytestmark = [pytest.mark.slow, pytest.mark.needs("qemu", "guests")]
SAID = "lamp login: root glowing brightly"
CHECKS = f"""from benchflow.boot import milestone


@milestone("lit", proves=["R1", "R2"])
def test_lit(machine):
    assert machine.login("root", "").run("cat /lamp").stdout == "on"
    print({SAID!r})
    print({" ".join(f"word-{n}" for n in range(60))!r})
"""
FRAME = (
    ' printf "\\n%s[\\n" "$((1+2))"; ( eval "$__b" ) </dev/null 2>&1; set -- $?; '
    'printf "\\n]%s:%s:%s;\\n]%s:%s:%s;\\n" "$((4+5))" "$1" "$((4+5))" "$((4+5))" "$1" "$((4+5))"\n'
)
EVENTS = [
    [0, "o", "Linux version 6.1.0-oracle\r\n"],
    [1, "i", " __b=$(printf 'cat /lamp.'); __b=${__b%.}\n"],
    [1, "i", FRAME],
    [2, "o", "\r\n3[\r\non\r\n\r\n]9:0:9;\r\n"],
]


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bootable files of the exploits for a lamp whose oracle was recorded once."""
    top = tmp_path_factory.mktemp("corpus")
    folder = top / "embedded" / "lamp"
    files = {
        "task.toml": TASK_TOML.partition("[[metadata.benchflow.exploits]]")[0],
        "instruction.md": "Build a lamp. [R1] It lights up. [R2] It gets warm.\n",
        "environment/Dockerfile": "FROM debian:bookworm\n",
        "solution/solve.sh": "#!/bin/sh\n",
        "tests/checks.py": CHECKS,
        "oracle/verifier/main.console.cast": "\n".join(map(json.dumps, [{"version": 2}, *EVENTS])),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    oracle = replace(trial(), path=folder / "oracle")
    made = exploits.prepare(load(folder), oracle, top / "exploits")
    assert [exploit.name for exploit in made] == list(exploits.NAMES)
    return top / "exploits/exploits/files/guests"


@pytest.fixture(
    params=["bios disk", "bios cd", "uefi disk", "uefi cd", "kernel"],
    ids=lambda p: p.replace(" ", "-"),
)
def how(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def machine(how: str, folder: Path, disk: str, kernel: dict[str, Any]) -> Machine:
    if how == "kernel":
        return Machine(firmware="direct", memory_mb=256, **kernel)
    firmware, _, medium = how.partition(" ")
    spec: dict[str, Any] = {"firmware": firmware, "memory_mb": 256}
    if medium == "cd":
        return Machine(cdrom=folder / disk.replace(".disk", ".iso"), **spec)
    return Machine(disks=[Disk(folder / disk)], **spec)


def test_a_printed_console_plays_and_echoes(guests: Path, how: str) -> None:
    with machine(how, guests, "printed.disk", {"kernel": guests / "printed.kernel"}) as guest:
        guest.boot().expect_kernel()
        guest.expect("A{80}")
        guest.send("whoami\n")
        guest.expect("whoami")
        guest.expect("lamp login: root glowing")


def test_a_stock_guest_starts_and_answers_the_first_time(guests: Path, how: str) -> None:
    kernel = {"kernel": guests / "vmlinuz", "initrd": guests / "initrd.gz"}
    with machine(how, guests, "stock.iso", kernel) as guest:
        guest.boot().expect_kernel()
        guest.expect("lamp login: root glowing brightly")
        shell = guest.attach()
        assert shell.run("cat /lamp").stdout == "on\n"
        assert shell.run("cat /lamp").status == 1
        assert shell.run("echo $((6*7))").stdout == "42\n"


def test_the_words_are_on_the_kernels_command_line(guests: Path) -> None:
    with Machine(firmware="bios", memory_mb=256, disks=[Disk(guests / "stock.iso")]) as guest:
        guest.boot().expect(r"ommand line: .*lamp login: root glowing")
