"""Many jobs at once: shared out, suspended, killed and disturbed."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import bus
from unit import BAD, Station, by_card, factorial, long_operand, make_text, sha, text

JOBS = 32
Nonce = Callable[[], str]


def all_kinds(unit: Station, nonce: Nonce) -> None:
    jobs, wanted = [], []
    for i in range(JOBS):
        card = f"-c {unit.slots[i // 4 % 2]} " if i % 4 > 1 else ""
        if i % 2:
            n = secrets.randbelow(34)
            jobs.append(f"kvarn {card}fact {n} {n + 1}")
            wanted.append(f"{factorial(n)}\n{factorial(n + 1)}\n".encode())
        else:
            word, lines = nonce(), 20 + secrets.randbelow(70)
            jobs.append(f"{make_text(word, lines)} | kvarn {card}copy")
            wanted.append(text(word, lines))
    script = "\n".join(f"( {job} ) >/tmp/jobs/{i} &" for i, job in enumerate(jobs))
    unit.root().write_file("/tmp/jobs.sh", f"{script}\nwait\n".encode())
    unit.say("rm -rf /tmp/jobs; mkdir -m 777 /tmp/jobs; chmod 644 /tmp/jobs.sh")
    unit.anna("bash /tmp/jobs.sh", 300)
    said = unit.say(f"cd /tmp/jobs; sha256sum $(seq 0 {JOBS - 1})").splitlines()
    sums = [line.split()[0] for line in said]
    wrong = [jobs[i] for i in range(JOBS) if sums[i] != sha(wanted[i])]
    assert not wrong, f"[R20] each gets the right result: {len(wrong)} did not: {wrong[:3]}"


def shared_out(unit: Station) -> None:
    for job, register in (("kvarn fact 20", bus.OPERAND), ("echo x | kvarn copy", bus.GO)):
        mark = unit.bus.mark()
        unit.anna(f"for i in $(seq {JOBS}); do {job} & done >/dev/null; wait", 300)
        counts = by_card(bus.writes(unit.bus.since(mark), register))
        shares, all_of_them = sorted(counts.values()), sum(counts.values())
        least = min(counts.get(unit.card(slot), 0) for slot in unit.slots)
        assert least >= all_of_them / 4, f"[R20] neither less than a quarter: `{job}`: {shares}"
        assert all_of_them >= JOBS, f"[R20] {JOBS} jobs: the cards saw {all_of_them}"


def units_do_not_wait(unit: Station) -> None:
    slot = unit.slots[0]
    said = unit.anna(
        f"kvarn -c {slot} fact {long_operand()} {long_operand()} >/tmp/jobs/long & "
        f"sleep 0.5; echo x | kvarn -c {slot} copy; "
        "kill -0 $! && echo still; wait $!; cat /tmp/jobs/long",
        300,
    )
    assert said.split() == ["x", "still", "0", "0"], (
        f"[R21] a calculation does not hold up transfers: {said!r}"
    )


def short_before_long(unit: Station, nonce: Nonce) -> None:
    slot, word = unit.slots[1], nonce()
    said = unit.anna(
        f"{make_text(word, 2000)} | kvarn -c {slot} copy >/tmp/jobs/long & "
        f"sleep 0.5; echo x | kvarn -c {slot} copy; kvarn -c {slot} fact 7; "
        "kill -0 $! && echo still; wait $!; sha256sum </tmp/jobs/long",
        300,
    )
    wanted = ["x", "5040", "still", sha(text(word, 2000))]
    assert said.split()[:-1] == wanted, f"[R21] not kept waiting for a long copy to end: {said!r}"


# ---- stopped and killed -----------------------------------------------------------------------


def input_for_jobs(unit: Station, nonce: Nonce) -> tuple[str, int]:
    """Writes /tmp/jobs/in, worth seconds of a copy; returns its word and number of lines."""
    word, lines = nonce(), 1100
    unit.say(f"{make_text(word, lines)} >/tmp/jobs/in; chmod 644 /tmp/jobs/in")
    return word, lines


def a_stopped_copy(unit: Station, nonce: Nonce) -> None:
    slot = unit.slots[0]
    word, lines = input_for_jobs(unit, nonce)
    for _ in range(2):
        pause = f"0.{secrets.randbelow(600) + 300}"
        said = unit.anna(
            f"kvarn -c {slot} copy </tmp/jobs/in >/tmp/jobs/out & "
            f"sleep {pause}; kill -STOP $!; sleep 0.3; "
            f"echo {word} | kvarn -c {slot} copy; kvarn -c {slot} fact 11; "
            "awk '/^State/ {print $2}' /proc/$!/status; kill -CONT $!; wait $!; "
            "sha256sum </tmp/jobs/out",
            240,
        )
        wanted = [word, "39916800", "T", sha(text(word, lines))]
        assert said.split()[:-1] == wanted, (
            f"[R22] suspended, it holds up nobody; continued, its result is right: stopped after "
            f"{pause} s: {said!r}"
        )


def a_stopped_calculation(unit: Station) -> None:
    slot = unit.slots[1]
    said = unit.anna(
        f"kvarn -c {slot} fact {long_operand()} 12 >/tmp/jobs/long & "
        f"sleep 0.5; kill -STOP $!; echo x | kvarn -c {slot} copy; kvarn -c {slot} fact 6; "
        "kill -CONT $!; wait $!; cat /tmp/jobs/long",
        300,
    )
    assert said.split() == ["x", "720", "0", "479001600"], (
        f"[R22] suspended, it holds up nobody; continued, its result is right: {said!r}"
    )


def a_killed_calculation(unit: Station) -> None:
    slot, n = unit.slots[0], secrets.randbelow(20) + 5
    mark = unit.bus.mark()
    # The shell says which job was killed, number and all, when it likes.
    said = unit.anna(
        f"exec 2>/dev/null; kvarn -c {slot} fact {long_operand()} & "
        "sleep 1; kill -KILL $!; for i in $(seq 20); do kill -0 $! 2>/dev/null || break; "
        "sleep 0.1; done; kill -0 $! 2>/dev/null && echo lives; "
        f"kvarn -c {slot} fact {n}; kvarn -c {slot} fact {n + 1}",
        300,
    )
    assert said.split() == [str(factorial(n)), str(factorial(n + 1))], (
        f"[R23] gone within 2 seconds, and whoever is next gets the right result: {said!r}"
    )
    begun = bus.writes(unit.bus.since(mark), bus.OPERAND)
    assert len(begun) >= 2, f"[R15] calculated by a card: {begun}"
    broken = unit.broken_rules(mark)
    assert not broken, f"[R7] every rule of the data sheet: {broken}"


def killed_copies(unit: Station, nonce: Nonce) -> None:
    slot, mark = unit.slots[1], unit.bus.mark()
    word, _ = input_for_jobs(unit, nonce)
    pauses = [f"0.{secrets.randbelow(300) + 10:03}" for _ in range(6)]
    said = unit.anna(
        "exec 2>/dev/null; "
        f"for t in {' '.join(pauses)}; do kvarn -c {slot} copy </tmp/jobs/in "
        f">/dev/null & sleep $t; kill -KILL $!; echo {word}$t | kvarn -c {slot} copy; done",
        240,
    )
    wanted = [f"{word}{t}" for t in pauses]
    assert said.split() == wanted, f"[R23] whoever is next gets the right result: {said!r}"
    broken = unit.broken_rules(mark)
    assert not broken, f"[R7] every rule of the data sheet: {broken}"


# ---- pings ------------------------------------------------------------------------------------


def a_ping(unit: Station) -> None:
    for slot in unit.slots:
        bits = secrets.randbelow(1 << 31) & ~0x101 | 0x2
        before, mark = unit.interrupts(), unit.bus.mark()
        said = unit.anna(f"kvarn -c {slot} ping {bits:08x}")
        assert said == f"{bits:08x}", f"[R18] prints those that came: {said!r} of {bits:08x}"
        seen = unit.bus.since(mark)
        raised, cleared = 0, 0
        for access in bus.writes(seen, bus.RAISE):
            raised |= access.value
            assert access.card == unit.card(slot), f"[R18] on the card: {access} for {slot}"
        for access in bus.writes(seen, bus.CLEAR):
            cleared |= access.value
        assert raised == bits, f"[R18] raises those causes: {raised:#x} of {bits:#x}"
        assert cleared & bits == bits, f"[R7] all bits have to be cleared: {cleared:#x}, {bits:#x}"
        assert unit.interrupts() > before, "[R18] waits for the interrupt: there was none"
    status = unit.anna_status(f"kvarn -c {unit.slots[0]} ping 00000000 2>/dev/null")
    assert status == BAD, f"[R18] not 0: status {status}"


def pings_during_work(unit: Station, nonce: Nonce) -> None:
    slot, mark = unit.slots[0], unit.bus.mark()
    word, _ = input_for_jobs(unit, nonce)
    said = unit.anna(
        f"kvarn -c {slot} fact {long_operand()} {long_operand()} >/tmp/jobs/long & long=$!; "
        f"kvarn -c {slot} copy </tmp/jobs/in >/tmp/jobs/out & copy=$!; sleep 0.4; "
        f"for i in 1 2 3 4 5 6 7 8; do kvarn -c {slot} ping 00000101 >/dev/null; done; "
        f"kill -0 $long && echo still; echo {word} | kvarn -c {slot} copy; "
        "wait $long; wait $copy; cat /tmp/jobs/long; cmp /tmp/jobs/in /tmp/jobs/out && echo same",
        300,
    )
    assert said.split() == ["still", word, "0", "0", "same"], f"[R24] a ping harms no job: {said!r}"
    broken = unit.broken_rules(mark)
    assert not broken, f"[R7] every rule of the data sheet: {broken}"
