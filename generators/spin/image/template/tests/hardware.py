"""Demands without which nothing of a unit can be asked: its hardware, and how it is reached."""

from __future__ import annotations

import secrets

from bench import Bench
from ordered import AXES

from benchflow.bench import line_service


def bus(bench: Bench) -> None:
    """It has come up from a disk of this kind: `comes_up`, which is asked first."""
    assert bench.unit.hardware.bus == AXES["bus"] and bench.unit.machine.alive


def hash_from_board(bench: Bench) -> None:
    """Another board, another password."""
    unit = bench.up()
    before = unit.password
    bench.password, bench.hash = bench.new_password()
    unit = bench.moved(unit.with_(asset=bench.hash))
    assert unit.password != before
    unit.start()
    bench.first = bench.machine(bench.long, unit.hardware)


def card(bench: Bench) -> None:
    bench.up().serves()


def static(bench: Bench) -> None:
    unit = bench.up()
    unit.serves()
    said = unit.run("cat /proc/net/fib_trie").stdout
    assert AXES["net"].split()[1] in said, "the unit does not have its address"


def site_disk(bench: Bench) -> None:
    """Another site, another port."""
    unit = bench.up()
    unit.serves()
    port = bench.draw.randrange(10_000, 20_000)
    unit = bench.moved(unit.hardware, port, bench.site_disk(port))
    unit.start()
    unit.serves()


def service_word(bench: Bench) -> None:
    unit = bench.up()
    unit.serves()
    address = unit.machine.forward(unit.port)
    for lines in ((f"mark {secrets.token_hex(4)}",), (f"word {AXES['word']}x", "count")):
        got = line_service.exchange(address, lines, 20)
        assert got[-1:] == ["stranger"], f"without the word, {lines[-1]!r} was answered by {got}"
    number = unit.process()
    line = unit.say(f"tr '\\0' '\\n' < /proc/{number}/cmdline").splitlines()
    assert "-k" in line[:-1], "the service is not started with -k"
    row = unit.say(f"ls -lL {line[line.index('-k') + 1]}").split()
    allowed = row[3] in ("root", "0", AXES["account"])
    assert row[0][7] == "-" and (allowed or row[0][4] == "-"), f"the word's file is {row[:4]}"
