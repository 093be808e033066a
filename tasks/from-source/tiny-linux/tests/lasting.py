"""Going down in order, and coming back from what was none; both boards; what the disk tells."""

from __future__ import annotations

import contextlib
import itertools
import re
import secrets

import closed
import seal
import serving
import watched
from accounts import loose_files
from serving import addresses, name_of
from unit import (
    ORDER,
    SERVICES,
    Lan,
    Ledger,
    board_a,
    clerk,
    logged,
    messages,
    mounts,
    on,
    root,
    running,
    services,
    until,
)

from benchflow.boot import GuestError, Image
from benchflow.boot.inspect.bounded_run import run_tool

DOWN_SECONDS = 30
#: Ten, and the machine's own way to its first word.
CRASH_SECONDS = 13
LEDGER_LINES = "(closed|opened) with [0-9]+ records"
#: Enough starts for addresses that are drawn not to be the same by chance.
STARTS = 4


def note_base(machine, shared) -> None:
    """Where the running kernel lies in memory, noted once for each start."""
    text = root(machine).run("grep -m1 ' _text$' /proc/kallsyms").stdout
    shared.setdefault("base", {})[(machine.name, machine.boots)] = text.split()[:1]


def offline(machine):
    """The disk of a machine that is off, and its ext4 partitions."""
    flat = Image(machine.flatten())
    return flat, [p for p in flat.partitions() if flat.filesystem(p) == "ext4"]


def fsck(machine, work) -> None:
    """Every ext4 file system of a machine that is off is clean, with nothing to be replayed."""
    flat, systems = offline(machine)
    for partition in systems:
        piece = work / "partition"
        with flat.path.open("rb") as source, piece.open("wb") as target:
            source.seek(partition.start)
            target.write(source.read(partition.size))
        state = run_tool(["dumpe2fs", "-h", str(piece)]).stdout.decode(errors="replace")
        said = re.search(r"Filesystem state: +(.*)$", state, re.MULTILINE)
        assert said and said[1] == "clean" and "needs_recovery" not in state, (
            f"partition {partition.number} is {said and said[1]!r}"
            f"{', its journal to be replayed' * ('needs_recovery' in state)}: unmounted [R35]"
        )
        done = run_tool(["e2fsck", "-f", "-n", str(piece)])
        assert done.status == 0, f"partition {partition.number}: {done.complaint} [R35]"
    flat.path.unlink()
    assert len(systems) >= 2, f"{len(systems)} ext4 file systems are left [R35]"


def off(machine, seconds: float) -> None:
    until(machine, seconds, lambda: not machine.alive)
    assert not machine.alive, f"poweroff: still running after {seconds:g} seconds [R34] [R36]"


def presses(machine, work, when: str) -> None:
    """The power button switches it off in time and in order."""
    done = machine.shutdown(timeout=DOWN_SECONDS)
    assert done, f"the power button, {when}: not off in {DOWN_SECONDS} seconds [R34] [R36]"
    fsck(machine, work)


# -- going down ------------------------------------------------------------------------------------


#: Who is alive, asked ten times a second until the end: ledgerd first, syslogd last. What nobody
#: lets run to the end has nothing to tell.
WATCH = """
set -- {pids}
while :; do
    s=; for p; do kill -0 $p 2>/dev/null && s=${{s}}1 || s=${{s}}0; done
    [ "$s" = 11111 ] || echo $s
    sleep 0.1 2>/dev/null || sleep 1
done
"""
ORDERLY = ("ledgerd", "dhcp", "klogd", "power", "syslogd")


def watched_going_down(unit) -> None:
    pids = {name: pid for name, (_, pid) in services(unit).items()}
    script = WATCH.format(pids=" ".join(str(pids[name]) for name in ORDERLY))
    root(unit).run(f"(trap '' TERM HUP; {script}) > /data/order 2>&1 < /dev/null & :", check=True)


def went_down_in_order(unit) -> None:
    text = root(unit).run("cat /data/order; rm -f /data/order").stdout
    seen = re.findall(r"^([01]{5})\s*$", text, re.MULTILINE)
    # Twice, since one look is not one moment.
    for one, two in itertools.pairwise(seen):
        wrong = [word[0] == "1" and "0" in word[1:] for word in (one, two)]
        assert not all(wrong), f"{ORDERLY} were alive: {seen}; ledgerd stops first [R34]"
        wrong = [word[4] == "0" and "1" in word[:4] for word in (one, two)]
        assert not all(wrong), f"{ORDERLY} were alive: {seen}; the system log stops last [R34]"


def a_restart_is_in_order(unit, nonce, shared) -> None:
    note_base(unit, shared)
    ledger, mark = Ledger(unit), nonce()
    assert ledger.ask(f"PUT {nonce()} {nonce()}").startswith("OK "), "PUT is not OK [R30]"
    count = int(ledger.ask("COUNT").split()[1])
    ledger.close()
    logged(root(unit), mark)
    before = len(messages(unit, "closed with"))
    watched_going_down(unit)
    unit.reboot(timeout=DOWN_SECONDS)
    assert root(unit).run("dmesg | grep -i -e 'recovery complete' -e 'orphan inode'").status, (
        "the start after a restart repairs a file system: nothing to be replayed [R35]"
    )
    assert messages(unit, mark), "what was logged before a restart is not in the log [R32]"
    # A login can be there before the service is.
    until(unit, 60, lambda: "opened" in "".join(messages(unit, LEDGER_LINES)[-1:]))
    last = messages(unit, LEDGER_LINES)[-2:]
    assert len(last) == 2 and "(clean)" in last[1], f"after a restart: {last} [R34] [R38]"
    closed = len(messages(unit, "closed with"))
    assert closed > before and f"closed with {count} records" in last[0], (
        f"the log does not tell that ledgerd was closed with {count} records: {last} [R34]"
    )
    assert f"opened with {count} records" in last[1], f"it held {count} records: {last} [R30]"
    went_down_in_order(unit)
    first = [line for line in root(unit).run("dmesg").stdout.splitlines() if "init process" in line]
    text = re.sub(r"^(<\d+>)?\[[^]]*\] ", "", "".join(first[:1])).strip()
    found = until(unit, 20, lambda: messages(unit, text))
    assert found, f"the kernel's {text!r} of this start is not in the log [R32]"
    note_base(unit, shared)


def the_power_button_works_while_people_work(unit, work, nonce) -> None:
    shell = clerk(unit)
    shell.run("sleep 2000 > /dev/null 2>&1 & kill -STOP $!")
    shell.run(f"nohup sh -c 'while :; do echo {nonce()}; sleep 1; done' > ~/busy 2>&1 & sleep 2")
    shell.run("cd; exec 9>~/open; (trap '' TERM HUP; exec sleep 1000 >&9) & :")
    presses(unit, work, "while people work")


def poweroff_works_with_files_open(unit, work, shared) -> None:
    shell = root(unit)
    note_base(unit, shared)
    clean = until(unit, 60, lambda: "(clean)" in "".join(messages(unit, LEDGER_LINES)[-1:]))
    assert clean, f"after the power button: {messages(unit, LEDGER_LINES)[-2:]} [R34] [R38]"
    shell.run("(trap '' TERM; cd /data/log; exec sleep 1000 > /data/held) & :", check=True)
    shell.leave("cd /data && poweroff")
    off(unit, DOWN_SECONDS)
    fsck(unit, work)


def power_minds_the_button(unit) -> None:
    opened = Ledger(unit).who()["opened"]
    assert opened == "clean", f"after poweroff ledgerd says {opened!r} [R34] [R38]"
    root(unit).run("svc stop power", timeout=60, check=True)
    assert not unit.shutdown(timeout=8), (
        "the service power is stopped, and the button works: `power` minds it [R26] [R29]"
    )


# -- keeping ---------------------------------------------------------------------------------------


def lost(ledger: Ledger, records: dict[str, str]) -> list[str]:
    """Which acknowledged records a ledger does not have."""
    return [key for key, value in records.items() if ledger.ask(f"GET {key}") != f"VALUE {value}"]


def put(unit, nonce, many: int) -> dict[str, str]:
    """Records that were acknowledged, all sent at once."""
    ledger = Ledger(unit, seconds=300)
    records = {nonce(): nonce() for _ in range(many)}
    twice = secrets.choice(list(records))
    lines = [f"PUT {twice} {nonce()}", *(f"PUT {key} {value}" for key, value in records.items())]
    answers = ledger.ask_all(lines)
    wrong = [answer for answer in answers if not answer.startswith("OK ")]
    assert not wrong, f"PUT is answered by {wrong[:2]} [R30]"
    return records


def still_has(unit, records: dict[str, str], opened: str, after: str) -> None:
    """It says how it was opened, and has lost nothing."""
    ledger = Ledger(unit, seconds=300)
    gone, said = lost(ledger, records), ledger.who()["opened"]
    ledger.close()
    assert not gone, (
        f"after {after} {len(gone)} of {len(records)} acknowledged records are lost [R37]"
    )
    assert said == opened, f"after {after} ledgerd says {said!r}, not {opened!r} [R38]"


def records_survive_a_restart(unit, nonce) -> None:
    records = put(unit, nonce, 5)
    root(unit)
    unit.reboot(timeout=DOWN_SECONDS)
    still_has(unit, records, "clean", "a restart in order")


def records_survive_power_cuts(unit, nonce) -> None:
    for many in (40, 3):
        records = put(unit, nonce, many)
        unit.power_cut()
        still_has(on(unit), records, "recovered", "a power cut")


def after_power_cuts_all_is_in_order(unit, work, shared) -> None:
    shell = root(unit)
    note_base(unit, shared)
    up = until(unit, 60, lambda: all(running(unit, name) for name in SERVICES))
    assert up, f"not all services are up after power cuts: {SERVICES} [R37]"
    errors = shell.run("dmesg | grep -i 'ext4-fs error'").stdout
    assert not errors.strip(), f"the kernel reports {errors[:200]!r} after power cuts [R37]"
    presses(unit, work, "after power cuts")


# -- both boards -----------------------------------------------------------------------------------


def the_second_board_starts(board, shared) -> None:
    machine, lan = board
    root(machine)
    note_base(machine, shared)
    table = mounts(machine)
    assert table["/data"][0] == "ext4" and "ro" in table["/"][1], f"on board B: {table} [R3]"
    until(machine, 30, lambda: lan.address in addresses(machine))
    assert lan.address in addresses(machine), (
        f"board B has {addresses(machine)}; DHCP offers {lan.address} [R3] [R23]"
    )


def the_second_board_keeps_the_rules(board, nonce, root_number) -> None:
    """What may hang on the kind of disk and card, and on what a start finds there."""
    machine, lan = board
    serving.the_address_comes_by_dhcp(machine, lan)
    serving.the_name_server_comes_by_dhcp(machine, lan)
    serving.the_name_comes_by_dhcp(machine, lan)
    serving.nothing_else_listens(machine)
    closed.the_root_is_read_only(machine, root_number)
    closed.writable_places_run_no_programs(machine)
    closed.the_clerk_sees_only_what_is_his(machine, nonce)
    closed.only_the_trusted_may_ask(machine)
    watched.all_services_are_up(machine)
    serving.messages_arrive_from_everywhere(machine, nonce)
    watched.killed(machine, secrets.choice(SERVICES), "KILL")


def the_second_board_serves(board, work, nonce) -> None:
    machine, _ = board
    records = put(machine, nonce, 2)
    root(machine)
    machine.reboot(timeout=DOWN_SECONDS)
    still_has(machine, records, "clean", "a restart of board B")
    boots = machine.boots
    root(machine).leave("echo c > /proc/sysrq-trigger")
    came_back = until(machine, CRASH_SECONDS, lambda: machine.boots > boots)
    assert came_back, f"{CRASH_SECONDS} s after a crash board B stands still [R3] [R19]"
    still_has(machine, records, "recovered", "a crash of board B")
    ledger, text = Ledger(machine), nonce()
    seal.verify(ORDER, text, ledger.ask(f"SEAL {text}"))
    records = put(machine, nonce, 3)
    machine.power_cut()
    still_has(on(machine), records, "recovered", "a power cut of board B")
    root(machine)
    presses(machine, work, "on board B")


def an_unnamed_unit_is_called_tiny(machines, deliverable, shared) -> None:
    nameless = Lan.draw()
    unit = board_a(machines, "nameless", deliverable(), nameless, named=False)
    root(unit)
    note_base(unit, shared)
    until(unit, 30, lambda: nameless.address in addresses(unit))
    until(unit, 15, lambda: name_of(unit) == "tiny")
    assert name_of(unit) == "tiny", f"DHCP offers no name, and it is {name_of(unit)!r} [R24]"
    unit.power_cut()


# -- a crash, and the end --------------------------------------------------------------------------


def the_unit_comes_back_from_a_crash(unit, nonce, shared) -> None:
    root(unit)
    shared["last"] = put(unit, nonce, 1)
    shell = root(unit)
    boots = unit.boots
    shell.leave("echo c > /proc/sysrq-trigger")
    came_back = until(unit, CRASH_SECONDS, lambda: unit.boots > boots)
    assert came_back, f"{CRASH_SECONDS} s after a crash of its kernel it stands still [R19]"


def after_a_crash_it_serves_again(unit, work, shared) -> None:
    still_has(unit, shared["last"], "recovered", "a crash")
    root(unit)
    presses(unit, work, "after a crash")


def the_kernel_never_lies_in_the_same_place(unit, shared) -> None:
    while len(shared.get("base", {})) < STARTS:
        if unit.alive:
            unit.power_cut()
        note_base(unit, shared)
    places = {start: base[0] for start, base in shared["base"].items() if base}
    assert len(places) >= STARTS, "root cannot see where the kernel lies [R17]"
    different = set(places.values())
    assert len(different) >= min(len(places), 5) - 1, (
        f"in {len(places)} starts the kernel lies at {sorted(different)} [R18]"
    )


def at_rest(unit, shared):
    """The unit's disk after all that has happened, in good order if that can be had."""
    if "rest" not in shared:
        if unit.alive:
            with contextlib.suppress(AssertionError, GuestError):
                root(unit).run("sync", timeout=60)
            if unit.alive:
                unit.power_cut()
        shared["rest"] = offline(unit)
    return shared["rest"]


def data_of(unit, shared):
    """Where /data lies on the disk: (partition, file system), by what it has to hold."""
    flat, systems = at_rest(unit, shared)
    for path in ("/log/messages", "/ledger/journal"):
        for part in systems:
            tree = flat.ext4(part)
            if tree.exists(path):
                return part, tree
    raise AssertionError(
        "no ext4 partition holds /data/log/messages [R32] or /data/ledger/journal [R30]"
    )


def only_data_was_written(unit, disk, shared) -> None:
    part, _ = data_of(unit, shared)
    before, after = disk.path.read_bytes(), at_rest(unit, shared)[0].path.read_bytes()
    assert len(before) == len(after), f"the disk has {len(after)} bytes after the run"
    written = [
        at // 512
        for at in range(0, len(before), 512)
        if not part.start <= at < part.start + part.size
        and before[at : at + 512] != after[at : at + 512]
    ]
    assert not written, (
        f"{len(written)} sectors outside of /data were written, the first is {written[0]}: / is "
        "read-only at all times [R4], /data the only place on the disk that is ever written to [R5]"
    )


def no_file_has_given_away_rights(unit, shared) -> None:
    flat, systems = at_rest(unit, shared)
    loose = [text for part in systems for text in loose_files(flat.ext4(part))]
    assert not loose, f"after the run {loose[:5]} give away rights [R21]"


def the_log_is_small(unit, shared) -> None:
    _, tree = data_of(unit, shared)
    sizes = {e.path: e.size for e in tree.walk("/log") if e.kind == "file"}
    total = sum(sizes.values())
    assert total <= 256 * 1024, f"/data/log holds {total} bytes at the end: {sizes} [R33]"
