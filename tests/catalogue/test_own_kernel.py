"""own/kernel: what it expects of its hidden programs and of its records."""

from __future__ import annotations

import hashlib
import os
import random
import re
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.catalogue.checkers import helpers

TASK = Path(__file__).parents[2] / "tasks/own/kernel"
MODULES = (
    *("memory_words", "builder", "rootfs", "exam", "wires", "cuts"),
    *("drawn_steps", "drawn_kinds", "drawn"),
)
DRAWN = (
    *("elf", "memory", "processes", "pipes", "signals", "demand-paging", "file-writes", "threads"),
    *("polling", "unix-sockets", "two-processors"),
)


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    with helpers("own/kernel", *MODULES) as loaded:
        yield loaded


def test_messages_in_a_memory_are_found_across_its_pieces(
    parts: dict[str, ModuleType], tmp_path: Path
) -> None:
    memory = tmp_path / "memory"
    said = b"Kernel panic - not syncing: "
    memory.write_bytes(
        bytes((1 << 16) - 10) + said + bytes(5000) + b"other words that mean a lot\0"
    )
    words = [
        "Kernel panic - not syncing:",
        "other words that mean a lot",
        "none of these here at all",
    ]
    assert parts["memory_words"].words_in(memory, words) == words[:2]


@pytest.mark.needs("gcc", "libc6-dev")
def test_a_proof_is_what_a_program_prints(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    """The program itself, run here: what it draws and hashes is what is expected."""
    program = tmp_path / "memory"
    source = TASK / "tests/image/programs/memory.c"
    subprocess.run(["gcc", "-O1", "-w", "-static", "-o", program, source], check=True)
    salt = random.Random(2).randbytes(32)
    data = program.read_bytes()
    assert data.count(parts["rootfs"].MARK) == 1
    program.write_bytes(data.replace(parts["rootfs"].MARK, salt))
    said = subprocess.run([program, "seed=7", "code"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith(f"@code ok {parts['exam'].proof(salt, 'code')}\n")


@pytest.mark.needs("gcc", "libc6-dev")
@pytest.mark.parametrize("milestone", DRAWN)
def test_a_drawn_program_comes_to_what_was_expected(
    parts: dict[str, ModuleType], tmp_path: Path, milestone: str
) -> None:
    """Run here: what it goes through is what Linux does."""
    drawn = parts["drawn"]
    if milestone == "two-processors" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processors are not to be had")
    text, due = drawn.source(random.Random(len(milestone)), milestone)
    program = tmp_path / "drawn"
    compiler = ["gcc", "-O1", "-w", "-static", f"-I{drawn.HERE}"]
    compiler += (
        ["-nostdlib", "-ffreestanding", "-fno-pie", "-no-pie", "-fno-stack-protector"]
        if milestone == "elf"
        else ["-pthread"]
    )
    moved = text.replace('"/', f'"{tmp_path}/')  # names of files at the root of a machine
    (tmp_path / "drawn.c").write_text(moved)
    subprocess.run([*compiler, "-o", program, tmp_path / "drawn.c"], check=True)
    # Whoever started the tests may ignore signals that the program sends (nohup does).
    asked = ["env", "--default-signal", program, "drawn"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=120)
    proof = parts["exam"].proof(parts["rootfs"].MARK, "drawn", due.to_bytes(8, "little"))
    assert f"@drawn ok {proof}\n" in said.stdout


#: What is asked of a kernel with nothing but itself, but for what a busy host is too slow for.
ASKED = {
    "memory": "heap mapping moving dropped many thread-local stack refusals code",
    "clocks": "overruns",
    "network": "loopback lingering",
    "pipes": "simple transfer broken halved unblocked together copies row",
    "pressure": "opened-again emptied",
    "processes": "identities",
    "races": "two-threads shot-down together families made-at-once",
    "signals": (
        "handlers information fault-addresses masks nesting restarted defaults stacks awaited "
        "rounding orphaned"
    ),
    "threads": "sums turns identities futexes others endings signalled cancelling",
    "tty": "pseudo erasing",
    "unixes": "pairs named abstract handed datagrams ends",
    "waits": "polls selects epolls circles events timer-files signal-files told-by-files",
}


@pytest.mark.needs("gcc", "libc6-dev", "root", "time")
@pytest.mark.parametrize("program", ASKED)
def test_what_is_asked_of_a_kernel_is_what_linux_does(tmp_path: Path, program: str) -> None:
    source, asked = TASK / f"tests/image/programs/{program}.c", ASKED[program].split()
    # A /tmp of its own: the programs bind and make fixed names there.
    own = tmp_path / "own"
    own.mkdir()
    own.chmod(0o1777)
    subprocess.run(
        ["gcc", "-O1", "-w", "-static", "-pthread", "-o", own / program, source],
        check=True,
        timeout=120,
    )
    own_mounts = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /tmp && exec "$@"', own]
    started = ["env", "--default-signal", f"/tmp/{program}", f"seed={len(program)}"]
    command = [*own_mounts, *started, *asked]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert re.findall(r"^@(\S+) ok ", said.stdout, re.MULTILINE) == asked, said.stdout


@pytest.mark.needs("gcc", "libc6-dev")
def test_a_slash_behind_a_file_is_refused_by_linux_as_it_is_asked_for(tmp_path: Path) -> None:
    program, file = tmp_path / "files", tmp_path / "file"
    file.write_text("something")
    source = TASK / "tests/image/programs/files.c"
    subprocess.run(["gcc", "-O1", "-w", "-static", "-o", program, source], check=True)
    params = [f"file={file}"] * 6 + [f"dir={tmp_path}", "errors"]
    said = subprocess.run([program, *params], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("@errors ok "), said.stdout


def test_no_two_drawn_programs_are_alike(parts: dict[str, ModuleType]) -> None:
    drawn = parts["drawn"]
    assert set(DRAWN) == set(drawn.KINDS)
    for milestone in DRAWN:
        rng = random.Random(5)
        (one, first), (two, second) = drawn.source(rng, milestone), drawn.source(rng, milestone)
        assert first != second and one != two
        assert drawn.source(random.Random(5), milestone) == (one, first)


@pytest.mark.needs("e2fsprogs")
def test_records_that_were_promised_are_wanted(
    parts: dict[str, ModuleType], tmp_path: Path
) -> None:
    cuts, salt = parts["cuts"], b"s" * 32
    assert cuts.line(salt, 5) == b"000005 %s\n" % (
        hashlib.sha256(salt + struct.pack("<Q", 5)).hexdigest()[:16].encode()
    )
    tree = tmp_path / "tree/kept"
    tree.mkdir(parents=True)
    (tree / "log").write_bytes(b"".join(cuts.line(salt, n) for n in range(1, 4)))
    image = tmp_path / "image"
    made = ["mke2fs", "-q", "-t", "ext2", "-d", tmp_path / "tree", image, "4M"]
    subprocess.run(made, check=True)
    cuts.repaired(image)
    cuts.kept(image, salt, {"folder": [0], "log": [1, 2, 3]})
    with pytest.raises(AssertionError, match="record 4 was acknowledged"):
        cuts.kept(image, salt, {"log": [3, 4]})
    with pytest.raises(AssertionError, match="not there"):
        cuts.kept(image, salt, {"state": [3]})


def test_sums_of_frames_are_the_internets(parts: dict[str, ModuleType]) -> None:
    wires = parts["wires"]
    wire = wires.Wire(random.Random(4))
    try:
        frame = wires.echo_request(wire, "52:54:00:00:00:01", "10.0.0.9", 77, b"payload")
        assert wires.checksum(frame[14:34]) == 0 and wires.checksum(frame[34:]) == 0
        assert frame[30:34] == socket.inet_aton(wire.address)
        reply = bytearray(frame)
        reply[34] = 0
        reply[36:38] = bytes(2)
        reply[36:38] = wires.checksum(bytes(reply[34:])).to_bytes(2, "big")
        assert wires.echo_reply(bytes(reply), 77) == b"payload"
        assert wires.echo_reply(bytes(reply), 78) is None and wires.echo_reply(frame, 77) is None
    finally:
        wire.close()
