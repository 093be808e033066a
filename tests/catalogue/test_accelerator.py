"""embedded/accelerator: its parts agree with each other, and the analyser can tell yes from no."""

from __future__ import annotations

import hashlib
import math
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from tests.catalogue.checkers import helper

from benchflow.tasks import Task, find

TASK = Path(__file__).parents[2] / "tasks/embedded/accelerator"
CARD, OTHER = "0x55f5", "0x66a6"


@pytest.fixture(scope="module")
def task() -> Task:
    return find("embedded/accelerator")


@pytest.fixture(scope="module")
def bus() -> ModuleType:
    return helper("embedded/accelerator", "bus")


def line(what: str, register: int, value: int, size: int = 4, card: str = CARD) -> bytes:
    return (
        f"memory_region_ops_{what} cpu 0 mr {card} addr {0xFEB00000 + register:#x} "
        f"value {value:#x} size {size} name 'edu-mmio'\n"
    ).encode()


def transfer(memory: int, store: int, count: int) -> list[bytes]:
    return [
        line("write", 0x80, memory),
        line("write", 0x88, store),
        line("write", 0x90, count),
        line("write", 0x98, 5),
    ]


def test_what_the_letter_says_is_what_the_checks_use() -> None:
    letter = (TASK / "instruction.md").read_text()
    checks = (TASK / "tests/unit.py").read_text()
    passwords = re.findall(r'^[A-Z]+ = \("\w+", "(.*)"\)$', checks, re.MULTILINE)
    assert len(passwords) == 3 and all(f"`{word}`" in letter for word in passwords)
    header = (TASK / "environment/card/kvarn.h").read_bytes()
    known = (TASK / "tests/kvarn.h.sha256").read_text().split()[0]
    assert hashlib.sha256(header).hexdigest() == known


def test_accesses_are_read_from_a_trace(bus: ModuleType, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    analyser = bus.Bus(trace)
    assert analyser.all() == [] and str(trace) in analyser.arguments
    other = line("write", 0, 1).replace(b"edu-mmio", b"hpet")
    first = line("write", 0x08, 10) + other + line("read", 0x20, 1, card=OTHER)
    trace.write_bytes(first[:-7])
    assert [(a.card, a.write, a.register, a.value) for a in analyser.all()] == [(CARD, True, 8, 10)]
    mark = analyser.mark()
    trace.write_bytes(first[-7:])  # opened anew, as by a machine that starts again
    assert [(a.card, a.write, a.register) for a in analyser.since(mark)] == [(OTHER, False, 0x20)]


def test_a_flooded_record_is_the_guests_fault(bus: ModuleType, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    bus.MOST = 10
    try:
        analyser = bus.Bus(trace)
        trace.write_bytes(line("write", 0x08, 10) * 20)
        with pytest.raises(AssertionError, match="flooded"):
            analyser.all()
    finally:
        bus.MOST = 500_000


def test_a_guest_that_waits_in_a_loop_fills_nothing(bus: ModuleType, tmp_path: Path) -> None:
    """Its keyboard's controller is asked without end, and each time is a line of the trace."""
    trace = tmp_path / "trace"
    analyser = bus.Bus(trace)
    asked = line("read", 0x64, 0x1C, size=1).replace(b"edu-mmio", b"i8042-cmd")
    for _ in range(64):
        trace.write_bytes(asked * 8192)
    trace.write_bytes(line("write", 0x08, 10))
    assert [a.register for a in analyser.all()] == [0x08]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 0


def test_transfers_are_put_together(bus: ModuleType) -> None:
    trace = [
        *transfer(0x1000, 0x40010, 7),
        line("read", 0x24, 0x100),
        line("write", 0x80, 0x40400),
        line("write", 0x88, 0x2000),
        line("write", 0x98, 7),
    ]
    inward, outward = bus.transfers(bus.parse(b"".join(trace)))
    assert inward == bus.Transfer(CARD, True, 0x1000, 0x40010, 7)
    assert outward == bus.Transfer(CARD, False, 0x2000, 0x40400, 7)


GOOD = [
    line("read", 0x00, 0x010000ED),
    line("write", 0x08, 5),
    line("read", 0x24, 1),
    line("write", 0x64, 1),
    line("write", 0x08, 6),
    line("write", 0x08, 7, card=OTHER),
    line("read", 0x20, 0x80),
    line("write", 0x08, 7),
    *transfer((1 << 28) - 3071, 0x40400, 3071),
    line("read", 0x98, 4),
    *[row.replace(b"size 4", b"size 8") for row in transfer(0x1000, 0x40000, 1)],
]


def test_a_driver_that_keeps_the_rules_is_not_accused(bus: ModuleType) -> None:
    assert bus.violations(bus.parse(b"".join(GOOD))) == []


@pytest.mark.parametrize(
    ("trace", "word"),
    [
        ([line("write", 0x08, 5), line("write", 0x08, 6)], "mill works"),
        ([line("write", 0x08, 5), line("read", 0x20, 1), line("write", 0x08, 6)], "mill works"),
        ([line("write", 0x08, 5), line("read", 0x24, 0x100), line("write", 0x08, 6)], "mill works"),
        ([*transfer(0x1000, 0x40000, 1), line("write", 0x90, 2)], "carrier works"),
        (transfer(0x1000, 0x40000, 4096), "4096 bytes"),
        (transfer(0x1000, 0x40000, 0), "0 bytes"),
        (transfer(0x1000, 0x3FFFF, 1), "0x3ffff"),
        (transfer(0x10000000, 0x40000, 1), "memory"),
        (transfer((1 << 28) - 1, 0x40000, 2), "memory"),
        ([line("read", 0x84, 0)], "not such a register"),
        ([line("write", 0x24, 0)], "not such a register"),
        ([line("write", 0x64, 1, size=8)], "not such an access"),
        ([line("read", 0x04, 1, size=1)], "not such an access"),
    ],
)
def test_each_rule_that_is_broken_is_named(bus: ModuleType, trace: list[bytes], word: str) -> None:
    (wrong,) = bus.violations(bus.parse(b"".join(trace)))
    assert word in wrong


def test_questions_are_reads_of_status_and_go(bus: ModuleType) -> None:
    trace = [line("read", 0x20, 1), line("read", 0x98, 0), line("read", 0x24, 1), *GOOD[1:2]]
    assert bus.questions(bus.parse(b"".join(trace))) == 2


def test_the_verifier_knows_factorials() -> None:
    source = (TASK / "tests/unit.py").read_text()
    start = source.index("def factorial")
    facts: dict[str, object] = {}
    exec(source[start : source.index("\ndef ", start + 1)], facts)  # the rest needs the verifier
    factorial = facts["factorial"]
    assert callable(factorial)
    for n in (0, 1, 2, 12, 13, 20, 33, 34, 41):
        assert factorial(n) == math.factorial(n) % 2**32
    assert factorial(4_000_000_000) == 0


@pytest.mark.needs("gcc", "libc6-dev")
def test_the_library_and_the_tool_compile(tmp_path: Path) -> None:
    include = ["-I", str(TASK / "environment/card"), "-I", str(TASK / "solution/driver")]
    for name in ("libkvarn.c", "kvarn.c"):
        subprocess.run(
            ["gcc", "-std=gnu11", "-Wall", "-Werror", "-fPIC", *include, "-c",
             str(TASK / "solution/user" / name), "-o", str(tmp_path / name)],
            check=True,
        )  # fmt: skip


@pytest.mark.needs("gcc", "libc6-dev")
@pytest.mark.parametrize("name", ["TOUR", "THREADS", "BAD", "FAULTS", "IDLE"])
def test_the_checks_programs_compile_against_the_header(name: str, tmp_path: Path) -> None:
    programs = helper("embedded/accelerator", "programs")
    values = {"ALIVE": "1u", "FACT": 5, "SEED": "3u", "WORD": "0" * 32, "PING": "16u"}
    source = tmp_path / "program.c"
    source.write_bytes(programs.fill(getattr(programs, name), **values))
    assert "@" not in source.read_text()
    subprocess.run(
        ["gcc", "-Wall", "-Wno-pointer-to-int-cast", "-I",
         str(TASK / "environment/card"), "-fsyntax-only", str(source)],
        check=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "against"),
    [
        ("<4>[    4.211000] kvarn: loading out-of-tree module taints kernel.", False),
        ("<3>[    0.020000] ..MP-BIOS bug: 8254 timer not connected to IO-APIC", False),
        ("<4>[    0.500000] Failed to access perfctr msr (MSR c0010007 is 0)", False),
        ("<3>[    9.020000] ..MP-BIOS bug: 8254 timer not connected to IO-APIC", True),
        ("<4>[    9.020000] kvarn 0000:00:13.0: the card does not answer", True),
        ("<1>[   12.345678] BUG: kernel NULL pointer dereference, address: 0000000000000000", True),
    ],
)
def test_a_late_timer_of_the_board_is_not_held_against_the_driver(line: str, against: bool) -> None:
    kernel_log = helper("embedded/accelerator", "kernel_log")
    assert bool(kernel_log.against_the_driver(line)) == against
