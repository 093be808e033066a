"""The library, as the customer's technicians use it."""

from __future__ import annotations

import secrets

import bus
import programs
from unit import Station, compile_in, factorial


def a_tour(unit: Station, word: str) -> None:
    """Every function once; leaves `word` at 700 of the second card's shelf."""
    alive, seed = secrets.randbelow(1 << 32), secrets.randbelow(1 << 20) | 1
    n, bits, slot = secrets.randbelow(34), secrets.randbelow(1 << 7) << 16 | 0x20, unit.slots[1]
    source = programs.fill(
        programs.TOUR, WORD=word, ALIVE=f"{alive}u", SEED=f"{seed}u", FACT=n, PING=f"{bits}u"
    )
    program = compile_in(unit, "tour", source)
    mark = unit.bus.mark()
    said = unit.anna(f"{program} {slot}", 120).splitlines()
    wanted = [
        f"cards 2 {' '.join(unit.slots)}",
        "cards 2",
        f"alive 0 {alive ^ 0xFFFFFFFF:08x}",
        f"fact 0 {factorial(n)}",
        "copy 0 0",
        "put 0",
        f"get 0 {word}",
        f"ping 0 {bits:08x}",
        "none 1 1",
    ]
    assert said == wanted, f"[R25] the functions of kvarn.h: {said} instead of {wanted}"
    moved = sum(t.count for t in bus.transfers(unit.bus.since(mark)) if t.to_store)
    assert moved >= 9000 + len(word), f"[R16] through a card's store: {moved} bytes of 9032 were"


def header_and_tool(unit: Station) -> None:
    ours = (programs.HERE / "kvarn.h.sha256").read_text().split()[0]
    theirs = unit.say("sha256sum /usr/include/kvarn.h").split()[0]
    assert theirs == ours, "[R25] kvarn.h is installed as it is: /usr/include/kvarn.h is another"
    path = unit.say("ldconfig -p | awk '/libkvarn.so.1 / {print $NF; exit}'")
    assert path, "[R25] libkvarn.so.1: the loader knows of none"
    unit.say(f"mv {path} {path}.away")
    try:
        status = unit.status("kvarn list >/dev/null 2>&1")
    finally:
        unit.say(f"mv {path}.away {path}")
    assert status != 0, "[R25] the tool is built on it: it does without the library"


def threads(unit: Station, word: str) -> None:
    seed = secrets.randbelow(1 << 20) | 1
    source = programs.fill(programs.THREADS, WORD=word, SEED=f"{seed}u")
    said = unit.anna(compile_in(unit, "threads", source), 120)
    assert said == f"0 {word}", f"[R26] used by many threads at once: {said!r} (wrong ones, word)"


def bad_requests(unit: Station) -> None:
    program = compile_in(unit, "bad", programs.BAD.encode())
    faults = compile_in(unit, "faults", programs.FAULTS.encode())
    mark = unit.bus.mark()
    said = unit.anna(f"{program} {unit.slots[0]}")
    assert said == "11111111", f"[R27] that break a limit are answered by -EINVAL: {said!r}"
    reached = bus.orders(unit.bus.since(mark))
    assert not reached, f"[R27] nothing of them reaches a card: {reached[:3]}"
    said = unit.anna(f"{faults} {unit.slots[0]}", 90)
    assert said == "1111", f"[R27] memory that the process does not have, -EFAULT: {said!r}"
