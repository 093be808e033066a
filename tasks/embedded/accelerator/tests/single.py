"""One job at a time: what it says, what its card saw of it, and what it cost."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable

import bus
import programs
from unit import BAD, Station, by_card, compile_in, factorial, long_operand, make_text, sha, text


def alive(unit: Station) -> None:
    for slot in unit.slots:
        word = secrets.randbelow(1 << 32) | 0xA << 28
        mark = unit.bus.mark()
        said = unit.say(f"kvarn -c {slot} alive {secrets.choice((f'{word:08x}', f'{word:08X}'))}")
        wanted = f"{word ^ 0xFFFFFFFF:08x}"
        assert said == wanted, f"[R14] prints the answer: {said!r} to {word:08x}, not {wanted}"
        seen = unit.bus.since(mark)
        sent, back = bus.writes(seen, bus.ECHO), bus.reads(seen, bus.ECHO)
        assert word in [a.value for a in sent], f"[R14] sends the word to ECHO: {sent}"
        assert word ^ 0xFFFFFFFF in [a.value for a in back], f"[R14] the answer of ECHO: {back}"
    cards = {unit.card(slot) for slot in unit.slots}
    assert len(cards) == len(unit.slots), "[R19] -c names the card: one card answered for two"


def calculations(unit: Station) -> None:
    numbers = [secrets.randbelow(34) for _ in range(14)] + [0, 1, 100_000 + secrets.randbelow(9999)]
    mark = unit.bus.mark()
    said = unit.say(f"kvarn fact {' '.join(map(str, numbers))}").split()
    seen = unit.bus.since(mark)
    wanted = [str(factorial(n)) for n in numbers]
    assert said == wanted, f"[R15] N! modulo 2^32, in order: {numbers} gave {said}"
    begun = Counter(a.value for a in bus.writes(seen, bus.OPERAND))
    assert begun == Counter(numbers), (
        f"[R15] by a card, anew and once: {numbers}, cards did {begun}"
    )
    answered = Counter(a.value for a in bus.reads(seen, bus.OPERAND))
    missing = Counter(factorial(n) for n in numbers) - answered
    assert not missing, f"[R15] calculated by a card: {missing} no card has said"


def calculations_of(unit: Station, slot: str) -> None:
    numbers = [secrets.randbelow(34) for _ in range(3)]
    mark = unit.bus.mark()
    said = unit.say(f"kvarn -c {slot} fact {' '.join(map(str, numbers))}").split()
    assert said == [str(factorial(n)) for n in numbers], f"[R15] {numbers} gave {said}"
    seen = by_card(bus.writes(unit.bus.since(mark), bus.OPERAND))
    assert seen == {unit.card(slot): len(numbers)}, f"[R19] -c names the card: {seen} for {slot}"


def refused(unit: Station, bad: dict[str, int]) -> None:
    """Commands with the status that each has to end with; nothing of them reaches a card."""
    mark = unit.bus.mark()
    said = unit.say("; ".join(f"{command} >/dev/null 2>&1; echo $?" for command in bad)).split()
    wrong = {command: got for (command, want), got in zip(bad.items(), said, strict=True)
             if got != str(want)}  # fmt: skip
    assert not wrong, f"[R19] status {set(bad.values())} wanted: {wrong}"
    reached = bus.orders(unit.bus.since(mark))
    assert not reached, f"[R19] nothing of it has reached a card: {reached[:3]}"


def bad_requests(unit: Station) -> None:
    bad = ["fact", "fact 5 x", "fact 4294967296", "fact 3 -1", "fact 0x5", "alive 123",
           "alive 123456789", "alive 1234567g", "alive", "weigh 5", "", "list 5",
           f"-c {unit.slots[0]}", f"-c {unit.slots[0]} ping 00000000",
           f"-c {unit.slots[0]} ping 10", "ping 00000010"]  # fmt: skip
    refused(unit, {f"kvarn {words}": BAD for words in bad})


def shelf_requests(unit: Station) -> None:
    card = f"kvarn -c {unit.slots[0]}"
    bad = [f"printf 12345 | {card} put 1020", f"printf 1 | {card} put 1024",
           f"head -c 1025 /dev/zero | {card} put 0", f"{card} put 0 </dev/null",
           "printf 1 | kvarn put 0", f"{card} get 1000 25", f"{card} get 0 0",
           f"{card} get 4294967295 2", "kvarn get 0 1"]  # fmt: skip
    refused(unit, dict.fromkeys(bad, BAD))


# ---- interrupts -------------------------------------------------------------------------------


def interrupt_lines(unit: Station) -> None:
    table = unit.say("cat /proc/interrupts").splitlines()
    lines = [line for line in table if "kvarn" in line]
    assert len(lines) == len(unit.slots) and all("MSI" in line for line in lines), (
        f"[R8] a line with `kvarn` for each, message-signalled: {lines}"
    )
    numbers = {line.split(":")[0] for line in lines}
    assert len(numbers) == len(lines), f"[R8] its own interrupt: {numbers}"


def every_calculation(unit: Station) -> None:
    numbers = [secrets.randbelow(34) for _ in range(20)]
    before, mark = unit.interrupts(), unit.bus.mark()
    unit.say(f"kvarn fact {' '.join(map(str, numbers))}")
    seen, came = unit.bus.since(mark), unit.interrupts() - before
    assert came >= len(numbers), f"[R8] from the card's interrupt: {came} for {len(numbers)}"
    asked = bus.questions(seen)
    assert asked <= 2 * len(numbers), f"[R8] at most two reads each: {asked} for {len(numbers)}"


def a_long_one(unit: Station) -> float:
    """Returns the seconds that it took."""
    n, slot = long_operand(), unit.slots[0]
    before, mark = unit.interrupts(), unit.bus.mark()
    timed = f"TIMEFORMAT='%R %U %S'; time kvarn -c {slot} fact {n}"
    said = unit.say(f'bash -c "{timed}" 2>&1', 300).split()
    seen, came = unit.bus.since(mark), unit.interrupts() - before
    assert said[0] == "0", f"[R15] {n}! is 0 modulo 2^32: {said[0]!r}"
    took, *used = (float(word) for word in said[1:])
    assert sum(used) < 0.5 * max(1.0, took), (
        f"[R8] who waits uses no processor time: {sum(used)} of {took} s"
    )
    begun = [a.value for a in bus.writes(seen, bus.OPERAND)]
    assert begun == [n], f"[R15] anew and once: {begun}"
    asked = bus.questions(seen)
    assert asked <= 2 and came > 0, f"[R8] {asked} reads of STATUS or GO, {came} interrupts"
    return took


def registers_are_the_drivers(unit: Station) -> None:
    program = compile_in(unit, "map", programs.MAP.encode(), library=False)
    for slot in unit.slots:
        device = f"/sys/bus/pci/devices/{slot}"
        start = unit.say(f"awk 'NR == 1 {{print $1}}' {device}/resource")
        bus_file = f"/proc/bus/pci/{slot[5:7]}/{slot[8:]}"
        said = unit.say(f"{program} {device}/resource0 {start} {bus_file}").split()
        assert said == ["refused"] * 3, (
            f"[R9] nobody else, not even root: through sysfs, /dev/mem and {bus_file}: {said}"
        )


# ---- transfers --------------------------------------------------------------------------------


def copies(unit: Station, nonce: Callable[[], str]) -> None:
    for lines in (1, secrets.randbelow(60) + 60, 420):
        word = nonce()
        wanted = text(word, lines)
        mark = unit.bus.mark()
        said = unit.say(f"{make_text(word, lines)} | kvarn copy | sha256sum", 120)
        assert said.split()[0] == sha(wanted), f"[R16] {len(wanted)} bytes came out as others"
        moves = bus.transfers(unit.bus.since(mark))
        for to_store in (True, False):
            moved = sum(t.count for t in moves if t.to_store == to_store)
            assert moved >= len(wanted), (
                f"[R16] every byte through a card's store and back: {moved} of {len(wanted)} moved"
            )
    size = unit.say("kvarn copy </dev/null | wc -c")
    assert size == "0", f"[R16] of whatever length: nothing was copied to {size} bytes"


def every_transfer(unit: Station, nonce: Callable[[], str]) -> None:
    slot = unit.slots[1]
    before, mark = unit.interrupts(), unit.bus.mark()
    unit.say(f"{make_text(nonce(), 300)} | kvarn -c {slot} copy >/dev/null", 120)
    seen, came = unit.bus.since(mark), unit.interrupts() - before
    moves = bus.transfers(seen)
    used = {t.card for t in moves}
    assert used == {unit.card(slot)}, f"[R19] -c names the card: {used} for {slot}"
    asked = bus.questions(seen)
    assert came >= len(moves), f"[R8] from the card's interrupt: {came} for {len(moves)} transfers"
    assert asked <= 2 * len(moves), f"[R8] at most two reads each: {asked} for {len(moves)}"


# ---- the shelves ------------------------------------------------------------------------------


def put_on_shelves(unit: Station, nonce: Callable[[], str]) -> dict[str, tuple[int, str]]:
    """Puts a word on each card's shelf; returns where, by slot."""
    shelves = {}
    for slot in unit.slots:
        offset, word = secrets.randbelow(990), nonce()
        mark = unit.bus.mark()
        unit.say(f"printf %s {word} | kvarn -c {slot} put {offset}")
        moves = [t for t in bus.transfers(unit.bus.since(mark)) if t.to_store]
        assert moves and {t.card for t in moves} == {unit.card(slot)}, (
            f"[R17] the shelf of {slot} is the first 1024 bytes of its store: {moves}"
        )
        near = [t for t in moves if t.store <= bus.STORE + offset < t.store + t.count]
        assert near, f"[R17] put {offset}: what was moved to the store is {moves}"
        shelves[slot] = (offset, word)
    return shelves


def on_shelves(unit: Station, shelves: dict[str, tuple[int, str]]) -> None:
    for slot, (offset, word) in shelves.items():
        mark = unit.bus.mark()
        said = unit.say(f"kvarn -c {slot} get {offset} {len(word)}")
        assert said == word, (
            f"[R17] nothing but `put` changes a shelf: {slot} at {offset}: {said!r}"
        )
        moves = [t for t in bus.transfers(unit.bus.since(mark)) if not t.to_store]
        near = [t for t in moves if t.store <= bus.STORE + offset < t.store + t.count]
        assert near and {t.card for t in moves} == {unit.card(slot)}, (
            f"[R17] get prints what is there: of {slot} there came {moves}"
        )
