"""speedrun/first-answer: its tables, its par, its analyser, the script that agents measure by."""

from __future__ import annotations

import importlib.util
import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from tests.catalogue.checkers import helpers

from benchflow.boot.machine.console import Console

TASK = Path(__file__).parents[2] / "tasks/speedrun/first-answer"


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    with helpers("speedrun/first-answer", "rounds", "analyser", "station") as loaded:
        yield loaded


def measure() -> ModuleType:
    spec = importlib.util.spec_from_file_location("measure", TASK / "environment/board/measure.py")
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def read(rounds: ModuleType, made: bytes) -> list[tuple[str, int, bytes]]:
    """The records of a table, read as the order says."""
    magic, version, length, count = struct.unpack_from("<4sIII", made)
    assert (magic, version, length) == (b"OSTV", 3, len(made)) and length % 8 == 0
    assert zlib.crc32(made[:-8]) == struct.unpack_from("<I", made, length - 8)[0]
    found = []
    for n in range(count):
        key, at, size, issue = struct.unpack_from("<16sIII", made, 32 + 32 * n)
        assert 32 + 32 * count <= at <= at + size <= length - 8
        found.append((key.rstrip(b"\0").decode(), issue, made[at : at + size]))
    return found


def test_a_table_holds_what_was_drawn(parts: dict[str, ModuleType]) -> None:
    rounds = parts["rounds"]
    for seed in range(5):
        rng = random.Random(seed)
        records = rounds.draw(rng, 200)
        assert read(rounds, rounds.table(records, rng)) == [
            (record.key, record.issue, record.value) for record in records
        ]
        assert len(rounds.current(records)) < len(records), "some keys have further issues"
        assert all(1 <= len(record.key) <= 16 for record in records)


def test_a_spoilt_table_differs_in_one_bit_of_one_value(parts: dict[str, ModuleType]) -> None:
    rounds = parts["rounds"]
    for seed in range(20):
        rng = random.Random(seed)
        records = rounds.draw(rng, 30)
        made = rounds.table(records, rng)
        spoilt = rounds.spoilt_value(made, records, rng)
        changed = [at for at in range(len(made)) if made[at] != spoilt[at]]
        assert len(changed) == 1 and (made[changed[0]] ^ spoilt[changed[0]]).bit_count() == 1
        assert any(
            at <= changed[0] < at + length
            for at, length in (rounds.value_at(made, n) for n in range(len(records)))
        )


def test_what_is_tried_is_of_the_kind_that_is_measured(parts: dict[str, ModuleType]) -> None:
    rounds = parts["rounds"]
    drawn, par = rounds.first_answer(random.Random(1))
    tried = rounds.one_query(random.Random(2), rounds.some_2000(random.Random(2)), "NOT-THERE")
    assert drawn.queue.count(b"\n") == tried.queue.count(b"\n") == 1
    assert drawn.due.startswith("OK ") and tried.due.startswith("NONE ")
    assert 1900 <= len(drawn.records) <= 2100 and 1900 <= len(tried.records) <= 2100
    assert par == rounds.par(drawn.records, drawn.table, drawn.queue.split()[1].decode())


def test_the_highest_issue_answers(parts: dict[str, ModuleType]) -> None:
    rounds = parts["rounds"]
    records = [rounds.Record("A", n, bytes([n & 255])) for n in (1, 0xFFFF_FFFF, 0x7FFF_FFFF)]
    digits = "0" * 16
    due = f"OK {digits} 1 {zlib.crc32(digits.encode() + bytes([255])):08x}\nNONE {digits}\n"
    assert rounds.replies(records, [("A", digits), ("B", digits)]) == due
    assert rounds.total(records, [("A", digits), ("B", digits)]) == f"SUM 1 1 {due[22:30]}\n"


def test_the_agent_s_script_means_the_same(parts: dict[str, ModuleType]) -> None:
    rounds, script = parts["rounds"], measure()
    for queries in (1, 30):
        made, queue, due, par = script.drawn(7, 300, queries)
        records = [rounds.Record(*record) for record in read(rounds, made)]
        lines = queue.rstrip(b"\0").decode().splitlines()
        asked = [(key, digits) for _, key, digits in map(str.split, lines[:queries])]
        if queries == 1:
            assert due == rounds.replies(records, asked)
            assert abs(par - rounds.par(records, made, asked[0][0])) <= 1
        else:
            assert lines[-1] == "SUM" and due == rounds.total(records, asked)
            assert abs(par - rounds.par_of_round(records, made, queries)) <= 1


def test_par_is_what_the_order_says(parts: dict[str, ModuleType]) -> None:
    order = (TASK / "instruction.md").read_text()
    rounds = parts["rounds"]
    records = [rounds.Record("A", 1, b"12345")]
    assert "1,000 + 0.54 × the table's length + 4 × the number of records + the length" in order
    assert rounds.par(records, bytes(1000), "A") == 1000 + 540 + 4 + 5
    assert "1,000 + 0.54 × the table's length + 40 × the number of records + 500 ×" in order
    assert rounds.par_of_round(records, bytes(1000), 2) == 1000 + 540 + 40 + 1000


def accesses(text: str) -> bytes:
    """`r5=60 w0=41` as QEMU tells it."""
    words = {"r": "serial_read read", "w": "serial_write write"}
    return "".join(
        f"{words[one[0]]} addr 0x{int(one[1]):02x} val 0x{one[3:]}\n" for one in text.split()
    ).encode()


@pytest.mark.parametrize(
    "text",
    ["r5=60 w0=41", "w2=01 r5=60" + " w0=41" * 16, "w3=83 w0=01 w3=03 r5=60 w0=41",
     "r5=00 r5=20 w0=41", "w1=02 r2=02 w0=41"],
)  # fmt: skip
def test_who_asked_for_room_may_send(parts: dict[str, ModuleType], text: str) -> None:
    assert parts["analyser"].violation(accesses(text)) == ""


@pytest.mark.parametrize(
    "text",
    ["", "w0=41", "r5=00 w0=41", "r5=60 w0=41 w0=42", "w2=01 r5=60" + " w0=41" * 17,
     "r2=01 w0=41", "r2=06 w0=41", "r1=20 w0=41"],
)  # fmt: skip
def test_who_did_not_ask_is_seen(parts: dict[str, ModuleType], text: str) -> None:
    assert parts["analyser"].violation(accesses(text))


def test_the_analyser_lets_its_pipe_go(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    analyser = parts["analyser"].Analyser(tmp_path / "trace")
    (tmp_path / "trace").write_bytes(accesses("r5=60 w0=41"))
    assert parts["analyser"].violation(analyser.record(1)) == ""
    analyser.close()
    analyser.close()
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("more", [b"", b"\0", b"\r", b"\x1b[0m", b"OK\n"])
def test_each_byte_that_is_sent_counts(parts: dict[str, ModuleType], more: bytes) -> None:
    machine = SimpleNamespace(console=Console())
    start = parts["station"].Start(machine, None, [])
    start._due = b"NONE 0\n"
    machine.console.feed(b"NONE 0")
    machine.console.feed(more + b"\n")
    if more:
        with pytest.raises(AssertionError, match="after 6 bytes"):
            start.said_nothing_more()
    else:
        start.said_nothing_more()


def test_the_free_memory_is_what_the_image_leaves(parts: dict[str, ModuleType]) -> None:
    station = parts["station"]
    loads = [(0x8000_0000, 5000), (0x8040_0000, 10)]
    image = bytes(32) + struct.pack("<Q14xHH", 64, 56, len(loads)) + bytes(6)
    assert len(image) == 64
    for address, size in loads:
        image += struct.pack("<IIQQQQQQ", 1, 5, 0, address, address, size, size, 8)
    assert station.segments(image) == loads
    assert station.free(image) == [
        (0x8000_2000, 0x3F_E000),
        (0x8040_1000, 0x80FF_0000 - 0x8040_1000),
    ]
