"""The first rungs: what the kernel does by itself, and with its first programs."""

from __future__ import annotations

import hashlib
import re
import time

from builder import BENCH, executable_at
from exam import Bench, Sitting, Start, proof
from memory_words import words_in
from rootfs import Root, word

MOST_WORDS = 8  # messages of other kernels in a memory of which none has any
START = 20  # reference seconds in which it says its first lines


def greets(bench: Bench) -> None:
    """Two words in two starts, in different places of the command line."""
    for append in ("greet={}", "quiet greet={} other=1"):
        said = "".join(word(bench.rng) for _ in range(2))
        start = bench.start(append.format(said), "[R5] the word of `greet=`")
        try:
            start.hears(rf"{said}.*\n", START)
        finally:
            start.close()


def has_no_other_kernel_in_memory(bench: Bench) -> None:
    """What lies in the machine's memory once it has started."""
    memory = bench.path("memory")
    words = (BENCH / "known-words.txt").read_text().splitlines()
    said = word(bench.rng)
    start = bench.start(
        f"greet={said}",
        "[R5] the word of `greet=`",
        memory_mb=160,
        extra_args=[
            "-object",
            f"memory-backend-file,id=ram,size=160M,mem-path={memory},share=on",
            "-machine",
            "memory-backend=ram",
        ],
    )
    try:
        start.hears(rf"{said}.*\n", START)
        time.sleep(1)
        found = words_in(memory, words)
    finally:
        start.close()
        memory.unlink(missing_ok=True)
    assert len(found) < MOST_WORDS, f"[R3] another kernel's messages are in its memory: {found[:4]}"


def knows_its_memory(bench: Bench) -> None:
    """Sizes that nobody expects."""
    for megabytes in (
        bench.rng.randint(50, 90),
        bench.rng.randint(100, 250),
        bench.rng.randint(300, 511),
    ):
        start = bench.start(
            f"greet={word(bench.rng)}", "[R6] `memory: N KiB usable`", memory_mb=megabytes
        )
        try:
            found = start.hears(r"^memory: (\d+) KiB usable\n", START)
        finally:
            start.close()
        due = megabytes * 1024 - 384
        assert abs(int(found[1]) - due) <= due / 100, (
            f"[R6] {found[1]} KiB of {megabytes} MiB; some {due} are usable"
        )


def panics(bench: Bench, what: str, vector: int, right, address: int | None = None) -> None:
    """A fault of the kernel's own: one line about it, then nothing, and no restart."""
    said = word(bench.rng)
    start = bench.start(f"greet={said} selftest={what}", f"[R7] the panic of selftest={what}")
    try:
        found = start.hears(
            r"^panic: vector (\d+) rip (0x[0-9a-f]+)(?: address (0x[0-9a-f]+))?[^\n]*\n", START
        )
        assert re.search(rf"{said}.*\n[^$]*memory: ", start.text), "[R7] after the first two lines"
        assert int(found[1]) == vector, f"[R7] vector {found[1]}, not {vector}"
        code = executable_at(bench.kernel.read_bytes(), int(found[2], 16), 16)
        assert code is not None, f"[R7] rip {found[2]} is in no executable segment of kernel.elf"
        assert right(code), (
            f"[R7] at rip {found[2]} of kernel.elf there is "
            f"{code[:4].hex()}, which cannot have done it"
        )
        if address is not None:
            assert found[3] and int(found[3], 16) == address, (
                f"[R7] address {found[3]}, not {address:#x}"
            )
        length, boots = len(start.text), start.machine.boots
        deadline = start.machine.deadline(3)
        while deadline.remaining() > 0:
            assert start.machine.alive, "[R7] it switched itself off"
            time.sleep(0.1)
        assert start.machine.boots == boots, "[R7] it restarted"
        assert len(start.text) == length, f"[R7] it goes on: {start.text[length:][:200]!r}"
    finally:
        start.close()


def powers_off(bench: Bench) -> None:
    """Told to by its command line."""
    said = word(bench.rng)
    start = bench.start(f"greet={said} selftest=poweroff", "[R8] selftest=poweroff")
    try:
        start.off(START)
        assert said in start.text, "[R8] after the first two lines"
        assert start.machine.boots == 1, "[R8] it was reset before"
    finally:
        start.close()


def resets(bench: Bench) -> None:
    """The machine starts again, and says its word again."""
    said = word(bench.rng)
    start = bench.start(f"greet={said} selftest=reset", "[R8] selftest=reset")
    try:
        deadline = start.machine.deadline(START)
        while start.machine.boots < 2:
            assert start.machine.alive, "[R8] it is off, or made the processor shut down"
            assert deadline.remaining() > 0, (
                f"[R8] it was not reset; the console ends: {start.end()}"
            )
            time.sleep(0.05)
    finally:
        start.close()


def first_program(bench: Bench) -> Sitting:
    """A program without a C library, with drawn arguments."""
    root = Root(bench.rng)
    path = root.program("first")
    words = [word(bench.rng, bench.rng.randint(1, 9)) for _ in range(bench.rng.randint(3, 7))]
    parts = ["arguments", "vector", "data", "processor"]
    told = "".join(f"{one}\0" for one in [path, *words, *parts])
    return Sitting(bench, path, parts, root, words, {"arguments": told.encode()})


def ends_with_its_status(bench: Bench) -> None:
    """By both calls that end a program."""
    for extra in ([], ["more"]):
        status = bench.rng.randint(1, 250)
        root = Root(bench.rng)
        path = root.program("first")
        image = root.image(bench.path("root.img"))
        start = bench.start(
            f"init={path} -- status={status} {' '.join(extra)}".strip(), "[R11] init's end", image
        )
        try:
            found = start.hears(r"^init exited (\d+)\b[^\n]*\n", START)
            assert int(found[1]) == status, (
                f"[R11] `init exited {found[1]}`, its status was {status}"
            )
            start.off(START)
        finally:
            start.close()


def console(
    bench: Bench, parts: list[str], params: list[str], talk, mixed: dict[str, bytes], why: str
) -> None:
    """A start of the console's program, spoken to by `talk`."""
    root = Root(bench.rng)
    path = root.program("console")
    image = root.image(bench.path("root.img"))
    start = bench.start(f"init={path} -- {' '.join([*params, *parts])}", why, image)
    try:
        extra = talk(start) or {}
        for part in parts:
            found = start.hears(rf"^@{part} (ok|no) ([^\n]*)\n", 40)
            assert found[1] == "ok", f"{why} {part}: {found[2]}"
            due = proof(root.salts[path], part, {**mixed, **extra}.get(part, b""))
            assert found[2] == due, f"{why} {part}: what it found is not what was there"
    finally:
        start.close()


def writes_much(bench: Bench) -> None:
    """Thousands of drawn letters, all of them and in their order."""
    count = bench.rng.randint(20_000, 39_000)
    state, letters = (count * 2862933555777941757 + 3037000493) & (1 << 64) - 1, []
    for at in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        letters.append("\n" if at % 73 == 72 else chr(97 + (state >> 33) % 26))
    due = "".join(letters)

    def talk(start: Start) -> None:
        start.hears(r"^<onetwothree>\n", START, "[R12] three pieces written at once")
        start.hears(r"</much>\n", 60, "[R12] many letters")
        told = start.text.partition("<much>\n")[2].partition("\n</much>")[0]
        assert told == due, "[R12] other letters were printed than were written"

    console(bench, ["writes", "much"], [f"count={count}"], talk, {"much": due.encode()}, "[R12]")


def reads_lines(bench: Bench) -> None:
    """Two typed lines; the first is read in two pieces."""
    one, two = (" ".join(word(bench.rng) for _ in range(3)) + "\n" for _ in range(2))

    def talk(start: Start) -> dict[str, bytes]:
        start.hears(r"^<ready>\n", START, "[R12] reading")
        start.machine.send(one)
        start.hears(r"<again>\n", START, "[R12] the first line")
        start.machine.send(two)
        return {"lines": (one + two).encode()}

    console(bench, ["lines"], [], talk, {}, "[R12]")


def refuses(bench: Bench) -> None:
    """Errors have Linux's numbers, and the kernel's memory is nobody's."""
    console(bench, ["refusals"], [], lambda start: None, {}, "[R13]")


DEADLY = [
    "null",
    "constant",
    "own-code",
    "data-as-code",
    "stack-as-code",
    "kernel-read",
    "kernel-write",
    "unmapped",
    "read-only",
    "no-access",
    "privileged",
    "port",
]


def protects(bench: Bench) -> None:
    """Each of these ends the program by SIGSEGV, and the kernel says so."""
    root = Root(bench.rng)
    path = root.program("memory")
    image = root.image(bench.path("root.img"))
    wrong = []
    for part in bench.rng.sample(DEADLY, len(DEADLY)):
        start = bench.start(f"init={path} -- {part}", f"[R15] {part}", image)
        try:
            found = start.hears(r"^init exited (\d+)\b[^\n]*\n|^@", START)
            if found[1] != "139":
                wrong.append(f"{part}: {found[0].strip()}")
        except AssertionError as error:
            wrong.append(f"{part}: {error}")
            if len(wrong) > 3:
                break
        finally:
            start.close()
    assert not wrong, f"[R15] `init exited 139` is due: {'; '.join(wrong)}"


def digest(data: bytes) -> str:
    """The first 16 digits of a SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]
