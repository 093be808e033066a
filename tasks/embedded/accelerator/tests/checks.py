"""The questions that a station has to answer, in three machines.

The first has two cards in slots drawn at random and is asked nearly everything; its last questions
come after a warm restart. The second has no card, the third one behind a bridge. What the cards'
registers saw is read from the analyser (bus.py), outside the guest.
"""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass, field

import bus
import programs
import pytest
from unit import (
    ANNA,
    BAD,
    BERT,
    DENIED,
    NO_CARD,
    Station,
    by_card,
    factorial,
    make_text,
    sha,
    station,
    text,
)

from benchflow.boot import Disk, Elf, check, milestone

LENGTH_MB, STORED_MB = 2048, 768
LONG = 2_900_000_000  # an operand that takes a card seconds
DRIVER = "/sys/bus/pci/drivers/kvarn"
JOBS = 32


@dataclass
class Story:
    """What earlier questions left for later ones."""

    shelves: dict[str, tuple[int, str]] = field(default_factory=dict)
    long_seconds: float = 0.0
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def story() -> Story:
    return Story()


@pytest.fixture(scope="session")
def two(machines, deliverable, work) -> Station:
    """Two cards, in slots drawn at random."""
    first = secrets.randbelow(10) + 0x10
    second = first + 1 + secrets.randbelow(4)
    return station(
        machines,
        "two-cards",
        Disk(deliverable()),
        work / "two.bus",
        [f"{first:02x}", f"{second:02x}"],
    )


def long_operand() -> int:
    """One that nobody has computed before, worth seconds of a card's time; its factorial is 0."""
    return LONG + secrets.randbelow(1 << 20)


def compile_in(unit: Station, name: str, source: bytes, library: bool = True) -> str:
    """Compile a program on the station as a technician would; returns its path."""
    unit.root().write_file(f"/tmp/{name}.c", source)
    link = " -lkvarn" if library else ""
    unit.say(f"cd /tmp && tcc -o {name} {name}.c{link}", 90)
    return f"/tmp/{name}"


# ---- boots ------------------------------------------------------------------------------------


@milestone("boots", weight=1, proves=["R1"], title="Starts from the disk")
def test_image_has_an_ext4_root(deliverable, image, metric):
    status = deliverable().stat()
    stored = status.st_blocks * 512 / (1 << 20)
    metric("stored_mb", round(stored, 1))
    assert status.st_size <= LENGTH_MB << 20, f"{status.st_size >> 20} MiB long"
    assert stored <= STORED_MB, f"{stored:.0f} MiB are stored"
    disk = image()
    roots = [p for p in disk.partitions() if disk.filesystem(p) == "ext4"]
    files = [disk.ext4(p) for p in roots]
    assert any(f.exists("/var/lib/dpkg/status") for f in files), "no ext4 with Debian in it"


@check("boots", proves=["R1", "R3"])
def test_starts_and_root_logs_in(two, metric):
    two.machine.boot()
    two.root(150)
    metric("login_seconds", round(two.machine.elapsed, 1))
    assert two.say("id -un") == "root"
    assert two.say("findmnt -n -o FSTYPE /") == "ext4"


@check("boots", proves=["R2"])
def test_is_debian_with_systemd(two, nonce):
    two.come_up()
    name = f"question-{nonce()[:12]}"
    two.say(f"systemd-run --quiet --unit={name} sh -c 'cat /proc/self/cgroup >/run/{name}'")
    written = f"for i in $(seq 60); do [ -s /run/{name} ] && break; sleep 0.5; done"
    assert f"{name}.service" in two.say(f"{written}; cat /run/{name}")
    assert two.say("cat /etc/debian_version").startswith("12.")
    owner = two.say("dpkg-query -S /boot/vmlinuz-$(uname -r)")
    assert owner.startswith(f"linux-image-{two.say('uname -r')}:"), owner


@check("boots", proves=["R4"])
def test_technicians_can_compile(two, nonce):
    word = nonce()
    source = f'#include <stdio.h>\nint main(void) {{ puts("{word}"); return 0; }}\n'.encode()
    assert two.say(compile_in(two, "hello", source, library=False)) == word


# ---- loads ------------------------------------------------------------------------------------


@milestone("loads", weight=2, requires=["boots"], proves=["R5"], title="The driver takes its cards")
def test_driver_took_both_cards(two):
    found = two.say(f"ls {DRIVER}").split()
    assert set(two.slots) <= set(found), found
    assert two.say("test -d /sys/module/kvarn && modinfo -F name kvarn") == "kvarn"
    seen = {a.card for a in two.bus.all()}
    assert len(seen) == len(two.slots), f"the analysers of {len(seen)} slots saw an access"


@check("loads", proves=["R6"])
def test_kernel_is_not_tainted_further(two):
    assert two.taints() == 0


# ---- alive ------------------------------------------------------------------------------------


@milestone("alive", weight=1, requires=["loads"], proves=["R13"], title="The cards answer")
def test_list(two):
    assert two.say("kvarn list").split("\n") == list(two.slots)


@check("alive", proves=["R14", "R19"])
def test_each_card_answers(two):
    for slot in two.slots:
        word = secrets.randbelow(1 << 32)
        mark = two.bus.mark()
        assert two.say(f"kvarn -c {slot} alive {word:08x}") == f"{word ^ 0xFFFFFFFF:08x}"
        seen = two.bus.since(mark)
        assert word in [a.value for a in bus.writes(seen, bus.ECHO)]
        assert word ^ 0xFFFFFFFF in [a.value for a in bus.reads(seen, bus.ECHO)]
    assert len({two.card(slot) for slot in two.slots}) == len(two.slots), "one card answered twice"


# ---- access -----------------------------------------------------------------------------------


@milestone("access", weight=1, requires=["alive"], proves=["R11"], title="The right people only")
def test_nodes(two):
    for slot in two.slots:
        shown = two.say(f"stat -c '%F %U %G %a' /dev/kvarn-{slot}")
        assert shown == "character special file root kvarn 660"


@check("access", proves=["R3", "R12", "R14"])
def test_anna_works(two):
    word = secrets.randbelow(1 << 32)
    shell = two.as_user(*ANNA)
    done = shell.run(f"id -u; kvarn -c {two.slots[1]} alive {word:08x}")
    user, answer = done.stdout.split()
    assert int(user) != 0 and answer == f"{word ^ 0xFFFFFFFF:08x}"


@check("access", proves=["R3", "R12"])
def test_bert_is_refused(two):
    mark = two.bus.mark()
    shell = two.as_user(*BERT)
    assert shell.run("kvarn list", check=True).stdout.split() == list(two.slots)
    for command in ("alive 00000000", f"-c {two.slots[0]} alive 00000000"):
        assert shell.run(f"kvarn {command}").status == DENIED, command
    assert not bus.orders(two.bus.since(mark))


@check("access", proves=["R12"])
def test_no_helpers_with_more_rights(two):
    files = "$(dpkg -L $(dpkg-query -W -f '${Package}\\n' '*kvarn*') | sort -u)"
    marked = two.say(f"for f in {files}; do [ ! -f $f ] || stat -c '%a %n' $f; done")
    assert [line for line in marked.splitlines() if len(line.split()[0]) > 3] == []
    assert two.say("find /proc/[0-9]*/fd -lname '/dev/kvarn*' 2>/dev/null; :") == ""
    assert two.say("find /proc/[0-9]*/exe -lname '*kvarn*' 2>/dev/null; :") == ""


# ---- calculates -------------------------------------------------------------------------------


@milestone("calculates", weight=2, requires=["alive"], proves=["R15"], title="Calculations")
def test_factorials_come_from_a_card(two):
    numbers = [secrets.randbelow(34) for _ in range(14)] + [0, 1, 100_000 + secrets.randbelow(9999)]
    mark = two.bus.mark()
    said = two.say(f"kvarn fact {' '.join(map(str, numbers))}").split()
    seen = two.bus.since(mark)
    assert [int(word) for word in said] == [factorial(n) for n in numbers]
    assert [a.value for a in bus.writes(seen, bus.OPERAND)] == numbers
    answered = Counter(a.value for a in bus.reads(seen, bus.OPERAND))
    assert not Counter(factorial(n) for n in numbers) - answered, "results that no card gave"


@check("calculates", proves=["R19"])
def test_the_named_card_calculates(two):
    for slot in reversed(two.slots):
        numbers = [secrets.randbelow(34) for _ in range(3)]
        mark = two.bus.mark()
        said = two.say(f"kvarn -c {slot} fact {' '.join(map(str, numbers))}").split()
        assert [int(word) for word in said] == [factorial(n) for n in numbers]
        seen = bus.writes(two.bus.since(mark), bus.OPERAND)
        assert by_card(seen) == {two.card(slot): len(numbers)}


@check("calculates", proves=["R15", "R19"])
def test_bad_requests_reach_no_card(two):
    bad = ["fact", "fact 5 x", "fact 4294967296", "fact 3 -1", "fact 0x5", "alive 123",
           "alive 123456789", "alive 1234567g", "alive", "weigh 5", "", "list 5",
           f"-c {two.slots[0]}"]  # fmt: skip
    mark = two.bus.mark()
    script = "; ".join(f"kvarn {words} >/dev/null 2>&1; echo $?" for words in bad)
    said = [int(word) for word in two.say(script).split()]
    assert dict(zip(bad, said, strict=True)) == dict.fromkeys(bad, BAD)
    assert not bus.orders(two.bus.since(mark))


# ---- interrupts -------------------------------------------------------------------------------


@milestone(
    "interrupts", weight=2, requires=["calculates"], proves=["R8"], title="Interrupts, not polling"
)
def test_each_card_has_a_message_signalled_interrupt(two):
    lines = [line for line in two.say("cat /proc/interrupts").splitlines() if "kvarn" in line]
    assert len(lines) == len(two.slots) and all("MSI" in line for line in lines), lines
    assert len({line.split(":")[0] for line in lines}) == len(lines)


@check("interrupts", proves=["R8"])
def test_every_calculation_interrupts(two):
    numbers = [secrets.randbelow(34) for _ in range(20)]
    before, mark = two.interrupts(), two.bus.mark()
    two.say(f"kvarn fact {' '.join(map(str, numbers))}")
    seen, after = two.bus.since(mark), two.interrupts()
    assert after - before >= len(numbers), f"{after - before} interrupts"
    causes = [a for a in bus.reads(seen, bus.CAUSE) if a.value & bus.MILL]
    assert len(causes) >= len(numbers), f"{len(causes)} causes were read"
    assert bus.questions(seen) <= 2 * len(numbers)


@check("interrupts", proves=["R8"])
def test_a_long_calculation_is_waited_for_in_sleep(two, story, metric):
    n = long_operand()
    before, mark = two.interrupts(), two.bus.mark()
    said = two.say(f"TIMEFORMAT='%R %U %S'; time kvarn -c {two.slots[0]} fact {n}", 300).split()
    seen, after = two.bus.since(mark), two.interrupts()
    assert said[0] == "0"
    story.long_seconds, *used = (float(word) for word in said[1:])
    metric("long_calculation_seconds", story.long_seconds)
    assert sum(used) < 0.5 * max(1.0, story.long_seconds), f"{sum(used)} s of processor time"
    assert [a.value for a in bus.writes(seen, bus.OPERAND)] == [n]
    assert bus.questions(seen) <= 2, f"the card was asked {bus.questions(seen)} times"
    assert after > before


@check("interrupts", proves=["R9"])
def test_nobody_else_maps_the_registers(two):
    program = compile_in(two, "map", programs.MAP.encode(), library=False)
    for slot in two.slots:
        device = f"/sys/bus/pci/devices/{slot}"
        start = two.say(f"awk 'NR == 1 {{print $1}}' {device}/resource")
        said = two.say(f"{program} {device}/resource0 {start}").split()
        assert said == ["refused", "refused"], said


# ---- transfers --------------------------------------------------------------------------------


@milestone("transfers", weight=2, requires=["alive"], proves=["R16"], title="Transfers")
def test_copies_go_through_a_card(two, nonce):
    for lines in (1, secrets.randbelow(60) + 60, 420):
        word = nonce()
        wanted = text(word, lines)
        mark = two.bus.mark()
        said = two.say(f"{make_text(word, lines)} | kvarn copy | sha256sum", 120)
        assert said.split()[0] == sha(wanted)
        moves = bus.transfers(two.bus.since(mark))
        for to_store in (True, False):
            moved = sum(t.count for t in moves if t.to_store == to_store)
            assert moved >= len(wanted), f"{moved} of {len(wanted)} bytes moved"
    assert two.say("kvarn copy </dev/null | wc -c") == "0"


@check("transfers", proves=["R8"])
def test_every_transfer_interrupts(two, nonce):
    word = nonce()
    before, mark = two.interrupts(), two.bus.mark()
    two.say(f"{make_text(word, 300)} | kvarn -c {two.slots[1]} copy >/dev/null", 120)
    seen, after = two.bus.since(mark), two.interrupts()
    moves = bus.transfers(seen)
    assert {t.card for t in moves} == {two.card(two.slots[1])}
    assert after - before >= len(moves), f"{after - before} interrupts"
    assert bus.questions(seen) <= 2 * len(moves), f"{bus.questions(seen)} for {len(moves)}"


@check("transfers", proves=["R7", "R10"])
def test_transfers_keep_the_rules(two):
    assert bus.transfers(two.bus.all())
    assert two.broken_rules()[:5] == []
    assert int(two.say("awk '/MemTotal/ {print $2}' /proc/meminfo")) > 400 << 10


# ---- shelf ------------------------------------------------------------------------------------


def shelf_command(slot: str, offset: int) -> str:
    return f"kvarn -c {slot} get {offset} 32"


@milestone("shelf", weight=1, requires=["transfers"], proves=["R17"], title="The shelves")
def test_each_card_keeps_its_own_shelf(two, story, nonce):
    for slot in two.slots:
        offset, word = secrets.randbelow(990), nonce()
        mark = two.bus.mark()
        two.say(f"printf %s {word} | kvarn -c {slot} put {offset}")
        moves = bus.transfers(two.bus.since(mark))
        assert {t.card for t in moves} == {two.card(slot)}
        assert any(t.to_store and t.store <= bus.STORE + offset for t in moves)
        story.shelves[slot] = (offset, word)
    two.say(f"printf A | kvarn -c {two.slots[0]} put 1023")
    assert two.say(f"kvarn -c {two.slots[0]} get 1023 1") == "A"
    assert_shelves(two, story)


def assert_shelves(unit: Station, story: Story) -> None:
    for slot, (offset, word) in story.shelves.items():
        mark = unit.bus.mark()
        assert unit.say(shelf_command(slot, offset)) == word, f"the shelf of {slot}"
        moves = [t for t in bus.transfers(unit.bus.since(mark)) if not t.to_store]
        assert {t.card for t in moves} == {unit.card(slot)}
        assert any(t.store <= bus.STORE + offset for t in moves)


@check("shelf", proves=["R17"])
def test_work_leaves_the_shelves_alone(two, story, nonce):
    for slot in two.slots:
        two.say(f"{make_text(nonce(), 200)} | kvarn -c {slot} copy | tail -n 1; kvarn fact 9", 120)
    assert_shelves(two, story)


@check("shelf", proves=["R19"])
def test_what_is_not_on_the_shelf_is_refused(two):
    slot = two.slots[0]
    bad = {
        f"printf 12345 | kvarn -c {slot} put 1020": BAD,
        f"printf 1 | kvarn -c {slot} put 1024": BAD,
        f"head -c 1025 /dev/zero | kvarn -c {slot} put 0": BAD,
        f"kvarn -c {slot} put 0 </dev/null": BAD,
        "printf 1 | kvarn put 0": BAD,
        f"kvarn -c {slot} get 1000 25": BAD,
        f"kvarn -c {slot} get 0 0": BAD,
        f"kvarn -c {slot} get 4294967295 2": BAD,
        "kvarn get 0 1": BAD,
    }
    mark = two.bus.mark()
    script = "; ".join(f"{command} >/dev/null 2>&1; echo $?" for command in bad)
    said = [int(word) for word in two.say(script).split()]
    assert dict(zip(bad, said, strict=True)) == bad
    assert not bus.orders(two.bus.since(mark))


# ---- together ---------------------------------------------------------------------------------


@milestone(
    "together",
    weight=2,
    requires=["access", "interrupts", "shelf"],
    proves=["R20"],
    title="Many jobs at once",
)
def test_32_jobs_of_all_kinds(two, nonce):
    jobs, wanted = [], []
    for i in range(JOBS):
        card = f"-c {two.slots[i // 4 % 2]} " if i % 4 > 1 else ""
        if i % 2:
            n = secrets.randbelow(34)
            jobs.append(f"kvarn {card}fact {n} {n + 1}")
            wanted.append(f"{factorial(n)}\n{factorial(n + 1)}\n".encode())
        else:
            word, lines = nonce(), 20 + secrets.randbelow(70)
            jobs.append(f"{make_text(word, lines)} | kvarn {card}copy")
            wanted.append(text(word, lines))
    script = "\n".join(f"( {job} ) >/tmp/jobs/{i} &" for i, job in enumerate(jobs))
    two.root().write_file("/tmp/jobs.sh", f"{script}\nwait\n".encode())
    two.say("rm -rf /tmp/jobs; mkdir -m 777 /tmp/jobs")
    two.anna("bash /tmp/jobs.sh", 300)
    said = two.say(f"cd /tmp/jobs; sha256sum $(seq 0 {JOBS - 1})").splitlines()
    sums = [line.split()[0] for line in said]
    assert [i for i in range(JOBS) if sums[i] != sha(wanted[i])] == []


@check("together", proves=["R20"])
def test_the_cards_share_the_work(two):
    for job, register in (("kvarn fact 20", bus.OPERAND), ("echo x | kvarn copy", bus.GO)):
        mark = two.bus.mark()
        two.anna(f"for i in $(seq {JOBS}); do {job} & done >/dev/null; wait", 300)
        counts = by_card(bus.writes(two.bus.since(mark), register))
        least = min(counts.get(two.card(slot), 0) for slot in two.slots)
        assert least >= sum(counts.values()) / 4, f"{job}: {sorted(counts.values())}"
        assert sum(counts.values()) >= JOBS


@check("together", proves=["R21"])
def test_the_units_do_not_wait_for_each_other(two):
    slot = two.slots[0]
    said = two.anna(
        f"kvarn -c {slot} fact {long_operand()} {long_operand()} >/tmp/jobs/long & "
        f"sleep 0.5; echo x | kvarn -c {slot} copy; "
        "kill -0 $! && echo still; wait $!; cat /tmp/jobs/long",
        300,
    )
    assert said.split() == ["x", "still", "0", "0"]


@check("together", proves=["R21"])
def test_a_long_copy_holds_up_nobody(two, nonce):
    slot, word = two.slots[1], nonce()
    said = two.anna(
        f"{make_text(word, 2000)} | kvarn -c {slot} copy >/tmp/jobs/long & "
        f"sleep 0.5; echo x | kvarn -c {slot} copy; kvarn -c {slot} fact 7; "
        "kill -0 $! && echo still; wait $!; sha256sum </tmp/jobs/long",
        300,
    )
    assert said.split()[:-1] == ["x", "5040", "still", sha(text(word, 2000))]


# ---- library ----------------------------------------------------------------------------------


@milestone("library", weight=1, requires=["together"], proves=["R4"], title="The library")
def test_a_technicians_program(two, story, nonce):
    word, alive, seed = nonce(), secrets.randbelow(1 << 32), secrets.randbelow(1 << 20) | 1
    n, bits, slot = secrets.randbelow(34), secrets.randbelow(1 << 7) << 16 | 0x20, two.slots[1]
    program = compile_in(
        two,
        "tour",
        programs.fill(
            programs.TOUR, WORD=word, ALIVE=f"{alive}u", SEED=f"{seed}u", FACT=n, PING=f"{bits}u"
        ),
    )
    mark = two.bus.mark()
    said = two.anna(f"{program} {slot}", 120).splitlines()
    seen = two.bus.since(mark)
    assert said == [
        f"cards 2 {' '.join(two.slots)}",
        "cards 2",
        f"alive 0 {alive ^ 0xFFFFFFFF:08x}",
        f"fact 0 {factorial(n)}",
        "copy 0 0",
        "put 0",
        f"get 0 {word}",
        f"ping 0 {bits:08x}",
        "none 1 1",
    ]
    assert sum(t.count for t in bus.transfers(seen) if t.to_store) >= 9000 + len(word)
    story.shelves[slot] = (700, word)


@check("library", proves=["R25"])
def test_header_and_library_are_what_was_asked_for(two, image):
    ours = (programs.HERE / "kvarn.h.sha256").read_text().split()[0]
    assert two.say("sha256sum /usr/include/kvarn.h").split()[0] == ours
    tool = Elf(two.root().read_file("/usr/bin/kvarn"))
    assert "libkvarn.so.1" in tool.needed
    path = two.say("ldd /usr/bin/kvarn | awk '/libkvarn.so.1/ {print $3}'")
    moved = "/tmp/libkvarn.hidden"
    two.say(f"cp -a $(readlink -f {path}) {moved} && mv {path} {path}.away")
    try:
        assert two.status("kvarn list >/dev/null 2>&1") != 0, "the tool does without its library"
    finally:
        two.say(f"mv {path}.away {path}")


@check("library", proves=["R26"])
def test_threads_share_a_handle(two, nonce):
    word, seed = nonce(), secrets.randbelow(1 << 20) | 1
    source = programs.fill(programs.THREADS, WORD=word, SEED=f"{seed}u")
    assert two.anna(compile_in(two, "threads", source), 120) == f"0 {word}"


@check("library", proves=["R27"])
def test_bad_requests_of_programs(two):
    program = compile_in(two, "bad", programs.BAD.encode())
    faults = compile_in(two, "faults", programs.FAULTS.encode())
    mark = two.bus.mark()
    assert two.anna(f"{program} {two.slots[0]}") == "11111111"
    assert not bus.orders(two.bus.since(mark))
    assert two.anna(f"{faults} {two.slots[0]}", 90) == "1111"


# ---- suspended --------------------------------------------------------------------------------


@milestone(
    "suspended",
    weight=2,
    requires=["together"],
    proves=["R22"],
    title="Suspended, killed and disturbed jobs",
)
def test_a_suspended_copy_holds_up_nobody(two, nonce):
    slot, word, lines = two.slots[0], nonce(), 1100
    two.say(f"{make_text(word, lines)} >/tmp/jobs/in")
    for pause in (0.4, 0.63):
        said = two.anna(
            f"kvarn -c {slot} copy </tmp/jobs/in >/tmp/jobs/out & "
            f"sleep {pause}; kill -STOP $!; sleep 0.3; "
            f"echo {word} | kvarn -c {slot} copy; kvarn -c {slot} fact 11; "
            "awk '/^State/ {print $2}' /proc/$!/status; kill -CONT $!; wait $!; "
            "sha256sum </tmp/jobs/out",
            240,
        )
        assert said.split()[:-1] == [word, "39916800", "T", sha(text(word, lines))]


@check("suspended", proves=["R22"])
def test_a_suspended_calculation_ends_right(two):
    slot = two.slots[1]
    said = two.anna(
        f"kvarn -c {slot} fact {long_operand()} 12 >/tmp/jobs/long & "
        f"sleep 0.5; kill -STOP $!; echo x | kvarn -c {slot} copy; kvarn -c {slot} fact 6; "
        "kill -CONT $!; wait $!; cat /tmp/jobs/long",
        300,
    )
    assert said.split() == ["x", "720", "0", "479001600"]


@check("suspended", proves=["R23"])
def test_a_killed_calculation_spoils_nothing(two):
    slot, n = two.slots[0], secrets.randbelow(20) + 5
    mark = two.bus.mark()
    # The shell says which job was killed, number and all, when it likes.
    said = two.anna(
        f"exec 2>/dev/null; kvarn -c {slot} fact {long_operand()} & "
        "sleep 1; kill -KILL $!; for i in $(seq 20); do kill -0 $! 2>/dev/null || break; "
        "sleep 0.1; done; kill -0 $! 2>/dev/null && echo lives; "
        f"kvarn -c {slot} fact {n}; kvarn -c {slot} fact {n + 1}",
        300,
    )
    assert said.split() == [str(factorial(n)), str(factorial(n + 1))]
    assert len(bus.writes(two.bus.since(mark), bus.OPERAND)) >= 2
    assert two.broken_rules()[:5] == []


@check("suspended", proves=["R23"])
def test_killed_copies_spoil_nothing(two, nonce):
    slot, word = two.slots[1], nonce()
    said = two.anna(
        "exec 2>/dev/null; "
        f"for t in 0.02 0.07 0.11 0.16 0.21 0.28; do kvarn -c {slot} copy </tmp/jobs/in "
        f">/dev/null & sleep $t; kill -KILL $!; echo {word}$t | kvarn -c {slot} copy; done",
        240,
    )
    assert said.split() == [f"{word}{t}" for t in ("0.02", "0.07", "0.11", "0.16", "0.21", "0.28")]
    assert two.broken_rules()[:5] == []


@check("suspended", proves=["R18"])
def test_a_ping_comes_back(two):
    for slot in two.slots:
        bits = secrets.randbelow(1 << 31) & ~0x101 | 0x2
        before, mark = two.interrupts(), two.bus.mark()
        assert two.anna(f"kvarn -c {slot} ping {bits:08x}") == f"{bits:08x}"
        seen = two.bus.since(mark)
        assert [a.value for a in bus.writes(seen, bus.RAISE)] == [bits]
        assert {a.card for a in bus.writes(seen, bus.RAISE)} == {two.card(slot)}
        cleared = 0
        for access in bus.writes(seen, bus.CLEAR):
            cleared |= access.value
        assert cleared & bits == bits, f"{cleared:#x} of {bits:#x} were cleared"
        assert two.interrupts() > before
    assert two.anna_status(f"kvarn -c {two.slots[0]} ping 00000000 2>/dev/null") == BAD


@check("suspended", proves=["R24"])
def test_pings_harm_no_job(two, nonce):
    slot, word = two.slots[0], nonce()
    said = two.anna(
        f"kvarn -c {slot} fact {long_operand()} {long_operand()} >/tmp/jobs/long & long=$!; "
        f"kvarn -c {slot} copy </tmp/jobs/in >/tmp/jobs/out & copy=$!; sleep 0.4; "
        f"for i in 1 2 3 4 5 6 7 8; do kvarn -c {slot} ping 00000101 >/dev/null; done; "
        f"kill -0 $long && echo still; echo {word} | kvarn -c {slot} copy; "
        "wait $long; wait $copy; cat /tmp/jobs/long; cmp /tmp/jobs/in /tmp/jobs/out && echo same",
        300,
    )
    assert said.split() == ["still", word, "0", "0", "same"]
    assert two.broken_rules()[:5] == []


# ---- reload -----------------------------------------------------------------------------------


@milestone(
    "reload", weight=3, requires=["suspended"], proves=["R28"], title="Drivers and cards that go"
)
def test_the_driver_is_not_taken_from_a_job(two):
    said = two.say(
        f"kvarn fact {long_operand()} {long_operand()} >/tmp/jobs/long & sleep 1.5; "
        "rmmod kvarn 2>/dev/null && echo gone; wait $!; cat /tmp/jobs/long",
        300,
    )
    assert said.split() == ["0", "0"]


@check("reload", proves=["R28"])
def test_an_idle_handle_does_not_hold_the_driver(two):
    n = secrets.randbelow(30)
    program = compile_in(two, "idle", programs.fill(programs.IDLE, FACT=n))
    two.say("rm -f /tmp/go /tmp/idle.out")
    said = two.say(
        f"{program} {two.slots[0]} /tmp/go >/tmp/idle.out & "
        "for i in $(seq 100); do grep -q ready /tmp/idle.out && break; sleep 0.1; done; "
        "rmmod kvarn && echo away; ls -d /sys/module/kvarn /dev/kvarn* 2>/dev/null; "
        "kvarn fact 5 2>/dev/null || echo none; "
        "modprobe kvarn; udevadm settle; touch /tmp/go; wait $!; cat /tmp/idle.out",
        120,
    )
    wanted = f"0 {factorial(n)}"
    assert said.splitlines() == ["away", "none", "ready 0", wanted, wanted]
    assert two.say("kvarn list").split("\n") == list(two.slots)


CROWD = r"""
card=$1; other=$2; action=$3
cd /tmp/jobs; rm -f free.* named.* other.*
for i in 1 2 3 4 5 6 7 8; do
	( kvarn copy <in >free.$i 2>/dev/null; echo $? >free.$i.status ) &
done
kvarn -c $other copy <in >other.1 2>/dev/null &
for i in 1 2; do
	( cat in in in in | kvarn -c $card copy >named.$i 2>/dev/null; echo $? >named.$i.status ) &
done
( kvarn -c $card fact @LONG@ @LONG@ @LONG@ >named.3 2>/dev/null; echo $? >named.3.status ) &
sleep 1
echo $action >@FILE@
for i in $(seq 20); do [ "$(ls named.*.status 2>/dev/null | wc -l)" = 3 ] && break; sleep 0.5; done
cat named.*.status
[ -e /dev/kvarn-$card ] && echo node
kvarn list
wait
cat free.*.status
sha256sum free.? other.1 | cut -d ' ' -f 1 | uniq -c
"""


def crowd(unit: Station, gone: str, other: str, path: str, action: str, nonce) -> None:
    """Jobs of all kinds while a card goes away, and what is to become of them."""
    word, lines = nonce(), 250
    unit.say(f"{make_text(word, lines)} >/tmp/jobs/in")
    script = programs.fill(CROWD, LONG=long_operand(), FILE=path)
    unit.root().write_file("/tmp/crowd.sh", script)
    said = unit.say(f"bash /tmp/crowd.sh {gone} {other} {action}", 300).split()
    assert said[:3] == ["3", "3", "3"], f"jobs of the card that went ended with {said[:3]}"
    assert said[3] == other, f"the list says {said[3]}"
    assert said[4:12] == ["0"] * 8, f"other jobs ended with {said[4:12]}"
    assert said[12:] == ["9", sha(text(word, lines))]


@check("reload", proves=["R29"])
def test_a_card_is_taken_from_the_driver(two, nonce):
    here, gone = two.slots
    crowd(two, gone, here, f"{DRIVER}/unbind", gone, nonce)
    two.say(f"echo {gone} >{DRIVER}/bind; udevadm settle")
    assert two.say("kvarn list").split("\n") == list(two.slots)
    assert two.anna(f"kvarn -c {gone} fact 10") == "3628800"


@check("reload", proves=["R11", "R30"])
def test_a_card_is_removed_and_found_again(two, nonce):
    gone, here = two.slots
    crowd(two, gone, here, f"/sys/bus/pci/devices/{gone}/remove", "1", nonce)
    two.say("echo 1 >/sys/bus/pci/rescan; udevadm settle")
    assert two.say("kvarn list").split("\n") == list(two.slots)
    assert two.say(f"stat -c '%U %G %a' /dev/kvarn-{gone}") == "root kvarn 660"
    assert two.anna(f"kvarn -c {gone} fact 11") == "39916800"


@check("reload", proves=["R31"])
def test_a_driver_that_finds_the_card_calculating(two):
    slot, n = two.slots[0], secrets.randbelow(20) + 5
    said = two.say(
        f"exec 2>/dev/null; kvarn -c {slot} fact {long_operand()} & sleep 1; kill -KILL $!; "
        "for i in $(seq 50); do rmmod kvarn 2>/dev/null && break; sleep 0.1; done; "
        f"modprobe kvarn; udevadm settle; kvarn -c {slot} fact {n} {n + 1}",
        300,
    )
    assert said.split() == [str(factorial(n)), str(factorial(n + 1))]
    assert two.broken_rules()[:5] == []


# ---- package ----------------------------------------------------------------------------------

OURS = "$(dpkg-query -W -f '${Package}\\n' '*kvarn*')"


@milestone(
    "package",
    weight=2,
    requires=["library"],
    proves=["R34"],
    title="Packages",
)
def test_every_file_belongs_to_a_package(two):
    found = two.say(
        "find /usr/bin /usr/lib /usr/include -name '*kvarn*' ! -type d -printf '%y %p\\n'"
    )
    kinds = {path: kind for kind, path in (line.split() for line in found.splitlines())}
    assert any(path.endswith("kvarn.ko") or "/kvarn.ko." in path for path in kinds), found
    assert {"/usr/bin/kvarn", "/usr/include/kvarn.h"} <= set(kinds)
    info = two.say(
        f"cd /var/lib/dpkg/info; for p in {OURS}; do cat $p.list $p.md5sums $p:amd64.list "
        "$p:amd64.md5sums; done 2>/dev/null; :"
    )
    # /lib is a link to /usr/lib, and packages may name either.
    listed = {line.removeprefix("/usr") for line in info.splitlines() if line.startswith("/")}
    known = {"/" + line[34:].removeprefix("usr/") for line in info.splitlines()}
    for path, kind in kinds.items():
        short = path.removeprefix("/usr")
        assert short in listed, f"{path} belongs to no package of yours"
        assert kind == "l" or short in known, f"no checksum of {path}"
    assert two.say(f"dpkg --verify {OURS}") == ""


@check("package", proves=["R34"])
def test_purged_and_installed_again(two, story):
    assert two.status("ls /srv/kvarn/*.deb") == 0, "no packages in /srv/kvarn"
    two.say(f"dpkg --purge {OURS} >/tmp/purge.log 2>&1; udevadm settle", 120)
    left = two.say(
        "ls -d /sys/module/kvarn /dev/kvarn* /usr/bin/kvarn /usr/lib/*/libkvarn* "
        "/usr/lib/libkvarn* 2>/dev/null; find /lib/modules -name 'kvarn.ko*'; :"
    )
    assert left == "", f"left behind: {left}"
    assert "anna" in two.say("getent group kvarn")
    two.say("dpkg --install /srv/kvarn/*.deb >/tmp/install.log 2>&1; udevadm settle", 180)
    for slot in two.slots:
        assert two.say(f"stat -c '%U %G %a' /dev/kvarn-{slot}") == "root kvarn 660"
        n = secrets.randbelow(30)
        assert two.anna(f"kvarn -c {slot} fact {n}") == str(factorial(n))


# ---- absent -----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def none(machines, deliverable, work) -> Station:
    """No card."""
    return station(machines, "no-card", Disk(deliverable()), work / "none.bus", [])


@milestone(
    "absent", weight=2, requires=["calculates"], proves=["R33"], title="Cards that are not there"
)
def test_without_a_card(none, story):
    none.machine.boot()
    none.come_up()
    assert none.say("kvarn list") == ""
    word = secrets.token_hex(4)
    for command in (f"alive {word}", "fact 3", "copy", "-c 0000:00:05.0 fact 3"):
        assert none.anna_status(f"echo {word} | kvarn {command} 2>/dev/null") == NO_CARD, command
    assert none.anna_status("kvarn fact x 2>/dev/null") == BAD
    story.complaints += none.complaints()


@check("absent", proves=["R5"])
def test_the_driver_is_not_loaded_without_a_card(none):
    assert none.status("test -d /sys/module/kvarn") != 0
    assert none.say("ls -d /dev/kvarn* 2>/dev/null; :") == ""
    none.machine.power_cut()


@pytest.fixture(scope="session")
def one(machines, deliverable, work) -> Station:
    """One card, behind a bridge."""
    number = f"{secrets.randbelow(20) + 4:02x}"
    return station(
        machines, "one-card", Disk(deliverable()), work / "one.bus", [f"bridge:{number}"], cpus=2
    )


@check("absent", proves=["R2", "R33"])
def test_one_card_in_another_slot(one, nonce):
    one.machine.boot()
    one.come_up()
    assert one.say("kvarn list").split() == list(one.slots)
    n, word = secrets.randbelow(30), nonce()
    assert one.anna(f"kvarn fact {n}; {make_text(word, 90)} | kvarn copy | sha256sum").split()[
        :2
    ] == [str(factorial(n)), sha(text(word, 90))]


@check("absent", proves=["R19"])
def test_the_card_that_is_not_there(one, two):
    mark = one.bus.mark()
    for command in ("alive 00000000", "fact 3"):
        assert one.status(f"kvarn -c {two.slots[0]} {command} 2>/dev/null") == NO_CARD
    assert not bus.orders(one.bus.since(mark))


# ---- restart ----------------------------------------------------------------------------------


@milestone(
    "restart",
    weight=2,
    requires=["reload", "library", "absent"],
    proves=["R32"],
    title="What a card keeps",
)
def test_shelves_outlive_the_driver(two, story):
    two.say("rmmod kvarn; modprobe kvarn; udevadm settle")
    assert_shelves(two, story)


@check("restart", proves=["R32", "R5", "R11"])
def test_shelves_outlive_a_warm_restart(two, story, nonce):
    story.complaints += two.complaints()
    assert two.taints() == 0
    for slot, (offset, _) in list(story.shelves.items()):
        word = nonce()
        two.say(f"printf %s {word} | kvarn -c {slot} put {offset}")
        story.shelves[slot] = (offset, word)
    two.machine.reboot()
    two.come_up()
    assert two.say("kvarn list").split("\n") == list(two.slots)
    assert_shelves(two, story)
    assert two.anna("kvarn fact 8") == "40320"


@check("restart", proves=["R32"])
def test_after_power_on_the_shelf_is_empty(one):
    mark = one.bus.mark()
    said = one.say(f"kvarn -c {one.slots[0]} get 0 1024 | sha256sum")
    assert said.split()[0] == sha(bytes(1024))
    assert sum(t.count for t in bus.transfers(one.bus.since(mark)) if not t.to_store) >= 1024
    card = f"kvarn -c {one.slots[0]}"
    assert one.say(f"printf full | {card} put 9; {card} get 9 4") == "full"


# ---- quiet ------------------------------------------------------------------------------------


@milestone(
    "quiet",
    weight=2,
    requires=["restart", "package"],
    proves=["R6"],
    title="Nothing to complain about",
)
def test_kernel_logs_are_clean(two, one, story):
    found = [*story.complaints, *two.complaints(), *one.complaints()]
    assert found[:5] == []
    assert two.taints() == one.taints() == 0


@check("quiet", proves=["R7"])
def test_analysers_saw_no_rule_broken(two, none, one):
    assert len(two.bus.all()) > 1000
    for unit in (two, one, none):
        assert unit.broken_rules()[:5] == []


@check("quiet", proves=["R8"])
def test_cards_were_asked_seldom(two, metric):
    seen = two.bus.all()
    work = len(bus.transfers(seen)) + len(bus.writes(seen, bus.OPERAND))
    metric("accesses", len(seen))
    metric("transfers", len(bus.transfers(seen)))
    assert bus.questions(seen) <= 2 * work + 64, f"{bus.questions(seen)} for {work} operations"
