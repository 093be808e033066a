"""Going down in order, and coming back from what was none; both boards."""

from __future__ import annotations

import re

import seal
from unit import (
    ORDER,
    ROOT,
    SERVICES,
    Lan,
    Ledger,
    board_a,
    board_b,
    clerk,
    logged,
    messages,
    mounts,
    root,
    running,
    until,
)

from benchflow.boot import Image
from benchflow.boot.inspect.bounded_run import run_tool


def text_base(machine) -> str:
    """Where the running kernel lies in memory."""
    return root(machine).run("grep -m1 ' _text$' /proc/kallsyms", check=True).stdout.split()[0]


LEDGER_LINES = "ledgerd.*(closed|opened) with"


def fsck(machine, work) -> None:
    """Every ext4 file system of a machine that is off is clean, with nothing to be replayed."""
    flat = Image(machine.flatten())
    checked = 0
    for partition in flat.partitions():
        if flat.filesystem(partition) != "ext4":
            continue
        piece = work / "partition"
        with flat.path.open("rb") as source, piece.open("wb") as target:
            source.seek(partition.start)
            target.write(source.read(partition.size))
        state = run_tool(["dumpe2fs", "-h", str(piece)]).stdout.decode(errors="replace")
        assert re.search(r"Filesystem state: +clean$", state, re.MULTILINE), "not unmounted"
        assert "needs_recovery" not in state, f"partition {partition.number} was not unmounted"
        done = run_tool(["e2fsck", "-f", "-n", str(piece)])
        assert done.status == 0, f"partition {partition.number}: {done.complaint}"
        checked += 1
    flat.path.unlink()
    assert checked >= 2


def off(machine, seconds: float) -> None:
    until(machine, seconds, lambda: not machine.alive)
    assert not machine.alive, f"still running after {seconds:g} seconds"


def a_restart_is_in_order(unit, nonce, shared) -> None:
    shared["base"] = {text_base(unit)}
    ledger = Ledger(unit)
    shared["key"], shared["value"], shared["log"] = nonce(), nonce(), nonce()
    assert ledger.ask(f"PUT {shared['key']} {shared['value']}").startswith("OK ")
    shared["count"] = int(ledger.ask("COUNT").split()[1])
    ledger.close()
    logged(root(unit), shared["log"])
    before = len(messages(unit, "closed with"))
    unit.reboot(timeout=60)
    unit.login(*ROOT, timeout=300)
    assert messages(unit, shared["log"]), "the log did not survive"
    # A login can be there before the service is.
    started = until(unit, 60, lambda: "opened" in messages(unit, LEDGER_LINES)[-1])
    last = messages(unit, LEDGER_LINES)
    assert started, f"ledgerd did not start again: {last[-1]}"
    assert len(messages(unit, "closed with")) > before, "ledgerd was not stopped before syslogd"
    assert "(clean)" in last[-1] and f"closed with {shared['count']} records" in last[-2]
    shared["base"].add(text_base(unit))


def the_power_button_works_while_people_work(unit, work, nonce) -> None:
    shell = clerk(unit)
    shell.run(f"nohup sh -c 'while :; do echo {nonce()}; sleep 1; done' > ~/busy 2>&1 & sleep 2")
    shell.run("cd; exec 9>~/open; (trap '' TERM HUP; exec sleep 1000 >&9) & :")
    assert unit.shutdown(timeout=40), "the power button did not switch the unit off"
    fsck(unit, work)


def poweroff_works_with_files_open(unit, work, shared) -> None:
    unit.boot()
    shell = unit.login(*ROOT, timeout=300)
    shared["base"].add(text_base(unit))
    assert until(unit, 60, lambda: messages(unit, LEDGER_LINES)[-1].endswith("(clean)"))
    shell.run("(trap '' TERM; cd /data/log; exec sleep 1000 > /data/held) & :", check=True)
    shell.leave("cd /data && poweroff")
    off(unit, 40)
    fsck(unit, work)


def records_survive_a_restart(unit, shared) -> None:
    unit.boot()
    ledger = Ledger(unit, seconds=300)
    assert ledger.ask(f"GET {shared['key']}") == f"VALUE {shared['value']}"
    assert int(ledger.ask("COUNT").split()[1]) == shared["count"]
    assert ledger.who()["opened"] == "clean"
    ledger.close()


def records_survive_power_cuts(unit, nonce, shared) -> None:
    for _ in range(2):
        ledger = Ledger(unit, seconds=300)
        records = {nonce(): nonce() for _ in range(40)}
        answers = ledger.ask_all([f"PUT {key} {value}" for key, value in records.items()])
        assert all(answer.startswith("OK ") for answer in answers)
        unit.power_cut()
        unit.boot()
        ledger = Ledger(unit, seconds=300)
        assert ledger.who()["opened"] == "recovered"
        lost = [
            key for key, value in records.items() if ledger.ask(f"GET {key}") != f"VALUE {value}"
        ]
        assert not lost, f"{len(lost)} of {len(records)} acknowledged records are lost"
        ledger.close()
    shared["base"].add(text_base(unit))


def after_power_cuts_all_is_in_order(unit, work) -> None:
    shell = unit.login(*ROOT, timeout=300)
    assert all(running(unit, name) for name in SERVICES)
    assert shell.run("dmesg | grep -i 'ext4-fs error'").status != 0
    unit.shutdown(timeout=40)
    fsck(unit, work)


def the_kernel_never_lies_in_the_same_place(shared) -> None:
    assert len(shared["base"]) >= 3, f"the kernel's addresses repeat: {shared['base']}"


def the_second_board_starts(machines, deliverable, shared, lan) -> None:
    other = Lan.draw()
    shared["board"] = board = board_b(machines, "board-b", deliverable(), other)
    board.boot()
    shell = board.login(*ROOT, timeout=300)
    assert mounts(board)["/data"][0] == "ext4" and "ro" in mounts(board)["/"][1]
    assert until(board, 30, lambda: other.address in shell.run("ip -4 addr show").stdout)


def the_second_board_serves(shared, nonce) -> None:
    board = shared["board"]
    ledger = Ledger(board)
    text, key = nonce(), nonce()
    seal.verify(ORDER, text, ledger.ask(f"SEAL {text}"))
    assert ledger.ask(f"PUT {key} {text}").startswith("OK ")
    board.power_cut()
    board.boot()
    assert Ledger(board, seconds=300).ask(f"GET {key}") == f"VALUE {text}"
    assert board.shutdown(timeout=40), "the power button does nothing on the second board"


def an_unnamed_unit_is_called_tiny(machines, deliverable) -> None:
    nameless = Lan.draw()
    unit = board_a(machines, "nameless", deliverable(), nameless, named=False)
    unit.boot()
    shell = unit.login(*ROOT, timeout=300)
    assert until(unit, 30, lambda: nameless.address in shell.run("ip -4 addr show").stdout)
    assert until(unit, 15, lambda: shell.run("hostname").stdout.strip() == "tiny")
    unit.power_cut()


def the_unit_comes_back_from_a_crash(unit, nonce, shared) -> None:
    unit.boot()
    ledger = Ledger(unit, seconds=300)
    shared["last"] = nonce(), nonce()
    assert ledger.ask("PUT {} {}".format(*shared["last"])).startswith("OK ")
    shell = unit.login(*ROOT, timeout=300)
    boots = unit.boots
    shell.leave("echo c > /proc/sysrq-trigger")
    came_back = until(unit, 30, lambda: unit.boots > boots)
    assert came_back, "the unit stands still after a crash of its kernel"


def after_a_crash_it_serves_again(unit, shared) -> None:
    ledger = Ledger(unit, seconds=300)
    key, value = shared["last"]
    assert ledger.ask(f"GET {key}") == f"VALUE {value}"
    assert ledger.who()["opened"] == "recovered"
    unit.login(*ROOT, timeout=300)
    assert unit.shutdown(timeout=40)
