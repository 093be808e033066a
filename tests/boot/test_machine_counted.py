"""QEMU counts instructions outside the guest; a busy host does not change the count."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from benchflow.boot.errors import CheckMisuse, GuestExited
from benchflow.boot.machine.virtual_machine import Machine

BASE = 0x8000_0000
#: csrw minstret,zero; li t1,ROUNDS (lui); loop: addi t1,t1,-1; bnez t1,loop; print "K\\n"; sleep.
PROGRAM = (
    0xB020_1073, 0x0000_0337, 0xFFF3_0313, 0xFE03_1EE3, 0x1000_02B7, 0x04B0_0393, 0x0072_8023,
    0x00A0_0393, 0x0072_8023, 0x1050_0073, 0xFFDF_F06F,
)  # fmt: skip


def counted(path: Path, rounds: int) -> Machine:
    """A machine whose guest loops `rounds` times (a multiple of 4096), two instructions each."""
    code = list(PROGRAM)
    code[1] |= rounds
    data = struct.pack(f"<{len(code)}I", *code)
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 243, 1, BASE, 64, 0, 0, 64, 56, 1, 64, 0, 0
    )
    head += struct.pack("<IIQQQQQQ", 1, 7, 120, BASE, BASE, len(data), len(data), 4)
    path.write_bytes(head + data)
    return Machine(
        path.name, arch="riscv64", firmware="direct", kernel=path, rng=False, memory_mb=32,
        extra_args=["-bios", "none"], scratch=path.parent,
    )  # fmt: skip


def executed(machine: Machine) -> int:
    machine.boot().expect("K\n", 60)
    deadline = machine.deadline(20)
    last = -1
    while last != (last := machine.instructions()) and deadline.remaining() > 0:
        time.sleep(0.2)
    return last


@pytest.mark.needs("qemu")
def test_the_count_follows_the_work_and_nothing_else(tmp_path: Path) -> None:
    with counted(tmp_path / "short", 4096) as short, counted(tmp_path / "long", 409_600) as long:
        short.count_instructions()
        long.count_instructions()
        first = executed(short)
        assert 2 * 4096 < first < 2 * 4096 + 40, "minstret, which it cleared, is not believed"
        short.power_cut()
        assert executed(short) == first, "another start of the same"
        assert executed(long) == first + 2 * (409_600 - 4096)


@pytest.mark.needs("qemu")
def test_who_did_not_ask_for_a_count_is_told(tmp_path: Path) -> None:
    with counted(tmp_path / "plain", 4096) as machine:
        machine.boot().expect("K\n", 60)
        with pytest.raises(CheckMisuse, match="count_instructions"):
            machine.instructions()
        with pytest.raises(CheckMisuse, match="running"):
            machine.count_instructions()
        machine.power_cut()
        machine.count_instructions()
        with pytest.raises(GuestExited):
            machine.instructions()
