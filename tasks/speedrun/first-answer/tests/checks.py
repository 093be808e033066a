"""first-answer: does the station answer rightly, and in how few instructions?"""

from __future__ import annotations

import struct
import time
import zlib

import rounds
import station as board

from benchflow.boot import check, milestone

MOST_BYTES = 256 << 10
LONGEST_QUEUE = 1 << 20


def some(rng, count: int = 40):
    """Records of which each key is there once, for queries whose answers are of no matter here."""
    return list(rounds.current(rounds.draw(rng, count)).values())


@milestone("image", weight=1, proves=["R1"], title="It is an image for this board")
def test_it_is_an_executable_for_this_processor(deliverable):
    head = deliverable("/app/out/firmware.elf").read_bytes()[:64]
    assert len(head) == 64 and head[:6] == b"\x7fELF\x02\x01", "no ELF file of 64 bits [R1]"
    assert struct.unpack_from("<HH", head, 16) == (2, 243), "no executable for RISC-V [R1]"


@check("image", proves=["R1"])
def test_it_is_small_enough(deliverable):
    size = deliverable("/app/out/firmware.elf").stat().st_size
    assert size <= MOST_BYTES, f"{size} bytes; [R1] allows {MOST_BYTES}"


@check("image", proves=["R2"])
def test_it_lies_where_it_may(deliverable):
    data = deliverable("/app/out/firmware.elf").read_bytes()
    assert len(data) >= 64, "no image [R2]"
    found = board.segments(data)
    outside = [
        f"{a:#x}+{n:#x}" for a, n in found if n and not board.START <= a <= a + n <= board.END
    ]
    assert found and not outside, f"outside of the image's memory: {outside} [R2]"
    assert any(address == board.START for address, _ in found), "nothing is where it starts [R2]"


@milestone("speaks", weight=1, requires=["image"], proves=["R8"], title="It says something")
def test_a_line_that_is_no_query_is_refused(station, rng):
    queue = rounds.queue(f"HELLO {rounds.nonce(rng)}\n")
    station.says(rounds.table(some(rng), rng), queue, "BAD LINE\n", "[R8]", chip=False)


# -- uart -----------------------------------------------------------------------------------------


@milestone("uart", weight=2, requires=["speaks"], proves=["R12"],
           title="No byte is sent before the chip has room")  # fmt: skip
def test_the_analyser_saw_no_byte_without_room(station, rng):
    words = [f"HELLO {rounds.nonce(rng)}\n" for _ in range(rng.randint(20, 25))]
    due = "BAD LINE\n" * len(words)
    station.says(rounds.table(some(rng), rng), rounds.queue(*words), due, "[R8]")


@check("uart", proves=["R3"])
def test_nothing_but_replies_is_printed(station, rng):
    made = rounds.table(some(rng), rng)
    start = station.start(made, rounds.queue(), counted=not station.restless)
    try:
        start.hears("", "[R3]")
        deadline = start.machine.deadline(1)
        while deadline.remaining() > 0:
            assert start.machine.alive and not start.said, "words without a question [R3]"
            time.sleep(0.1)
    finally:
        start.off()


# -- answers --------------------------------------------------------------------------------------


@milestone("answers", weight=4, requires=["uart"], proves=["R5"],
           title="Queries get the right answers")  # fmt: skip
def test_a_query_is_answered(station, rng):
    records = some(rng)
    ask(station, rng, records, [rng.choice(records).key], "[R5]")


@check("answers", proves=["R5"])
def test_values_of_every_length_at_every_place(station, rng):
    lengths = [*range(34), *(rng.randint(100, 3000) for _ in range(6)), 65_536]
    records = [rounds.Record(f"L-{n}", n, rng.randbytes(n)) for n in dict.fromkeys(lengths)]
    rng.shuffle(records)
    ask(station, rng, records, [record.key for record in records], "[R5]")


@check("answers", proves=["R6"])
def test_of_equal_keys_the_highest_issue_counts(station, rng):
    issues = {"UP": (1, 2, 3), "DOWN": (3, 2, 1), "HALF": (0x7FFF_FFFF, 0x8000_0000, 5),
              "TOP": (0xFFFF_FFFF, 0, 1), "NULL": (0,)}  # fmt: skip
    records = [rounds.Record(k, n, rng.randbytes(20)) for k, held in issues.items() for n in held]
    ask(station, rng, records, list(issues), "[R6]")


@check("answers", proves=["R7"])
def test_keys_that_are_not_there(station, rng):
    there = ["A", "BUOY-77", "ABCDEFGH", "ABCDEFGHI", "ABCDEFGH-IJKLMNO"]
    near = ["B", "AA", "BUOY-7", "BUOY-777", "ABCDEFG", "ABCDEFGHJ", "ABCDEFGH-IJKLMN",
            "ABCDEFGH-IJKLMNP", "ZBCDEFGH-IJKLMNO", "-"]  # fmt: skip
    records = [rounds.Record(key, 1, rng.randbytes(9)) for key in there]
    asked = [*there, *near]
    rng.shuffle(asked)
    ask(station, rng, records, asked, "[R7]")


@check("answers", proves=["R4"])
def test_a_long_queue_is_answered_in_its_order(station, rng):
    records = some(rng)
    asked = [rng.choice((rng.choice(records).key, rounds.word(rng))) for _ in range(200)]
    ask(station, rng, records, asked, "[R4]")


def ask(station, rng, records, keys, why, **more) -> None:
    asked = [(key, rounds.nonce(rng)) for key in keys]
    queue = rounds.queue(*(rounds.get(*query) for query in asked))
    station.says(rounds.table(records, rng), queue, rounds.replies(records, asked), why, **more)


# -- refuses --------------------------------------------------------------------------------------


@milestone("refuses", weight=3, requires=["answers"], proves=["R8"],
           title="What is no query is refused")  # fmt: skip
def test_lines_that_are_nearly_queries(station, rng):
    records = some(rng)
    key, digits = records[0].key, rounds.nonce(rng)
    bad = [
        "", " ", "GET", "GET ", f"GET {key}", f"GET {key} ", f"get {key} {digits}",
        f"GET  {key} {digits}", f"GET {key}  {digits}", f" GET {key} {digits}",
        f"GET {key} {digits} ", f"GET {key} {digits}0", f"GET {key} {digits[1:]}",
        f"GET {key} {digits[:15]}G", f"GET {key} {digits[:15]}A", f"GET {key} 0x{digits[2:]}",
        f"GET {key.lower()}a {digits}", f"GET {'K' * 17} {digits}", f"GET {key[:9]}_ {digits}",
        f"GET\t{key} {digits}", f"GET {key}\t{digits}", f"GET {key} {digits}\r", f"GET  {digits}",
        f"PUT {key} {digits}", f"GETS{key} {digits}", f"GET {key[:8]}\x7f {digits}",
        f"GET {key[:8]}/ {digits}", f"GET {key[:8]}: {digits}", f"GET {key[:8]}@ {digits}",
        f"GET {key[:8]}[ {digits}", f"GET {key} {digits[:15]}/", f"GET {key} {digits[:15]}:",
        f"GET {key} {digits[:15]}`", "OF", "OFFF", "off", "OFF ", " OFF",
    ]  # fmt: skip
    rng.shuffle(bad)
    queue = rounds.queue(*(line + "\n" for line in bad), b"GET \xc9 " + digits.encode() + b"\n")
    due = "BAD LINE\n" * (len(bad) + 1)
    station.says(rounds.table(records, rng), queue, due, f"[R8] of {bad}")


@check("refuses", proves=["R8"])
def test_single_lines_beside_large_tables(station, rng):
    records = rounds.some_2000(rng)
    made = rounds.table(records, rng)
    key, digits = rng.choice(records).key, rounds.nonce(rng)
    for line in (
        f"GET {changed(key, rng, 'abz_/:@[.,')} {digits}",
        f"GET {key} {changed(digits, rng, 'GAFZ/:`-')}",
        f"{changed('GET', rng, 'ADOPSZ')} {key} {digits}",
    ):
        station.says(made, rounds.queue(line + "\n"), "BAD LINE\n", f"[R8] of {line!r}")


@check("refuses", proves=["R9"])
def test_lines_that_are_too_long(station, rng):
    key, digits = "K" * 16, rounds.nonce(rng)
    lengths = [63, 64, 65, 66, 127, 128, 129, 255, 256, 257, rng.randint(300, 70_000)]
    lines = [("X" * n + "\n", "LONG LINE\n" if n > 64 else "BAD LINE\n") for n in lengths]
    lines += [
        (f"GET {key} {digits}{'0' * 40}\n", "LONG LINE\n"),
        ("OFF" * 22 + "\n", "LONG LINE\n"),
    ]
    rng.shuffle(lines)
    queue = rounds.queue(*(line for line, _ in lines))
    due = "".join(reply for _, reply in lines)
    station.says(rounds.table(some(rng), rng), queue, due, "[R9]")


@check("refuses", proves=["R4", "R9"])
def test_a_queue_as_long_as_it_may_be(station, rng):
    records = some(rng)
    asked = [(record.key, rounds.nonce(rng)) for record in rng.choices(records, k=60)]
    lines, due = [], ""
    for query in asked:
        lines += ["Z" * rng.randint(10_000, 17_000) + "\n", rounds.get(*query)]
        due += "LONG LINE\n" + rounds.replies(records, [query])
    left = LONGEST_QUEUE - len(rounds.queue(*lines))
    lines.insert(0, "Y" * (left - 1) + "\n")
    station.says(
        rounds.table(records, rng), rounds.queue(*lines), "LONG LINE\n" + due, "[R4] 1 MiB of lines"
    )


@check("refuses", proves=["R4", "R8"])
def test_good_lines_between_bad_ones(station, rng):
    records = some(rng)
    lines, due = [], ""
    for record in rng.choices(records, k=20):
        query = (record.key, rounds.nonce(rng))
        lines += [rounds.get(*query), rounds.get(*query)[1:], "Y" * 80 + "\n"]
        due += rounds.replies(records, [query]) + "BAD LINE\nLONG LINE\n"
    station.says(rounds.table(records, rng), rounds.queue(*lines), due, "[R4]")


# -- tables ---------------------------------------------------------------------------------------


@milestone("tables", weight=3, requires=["answers"], proves=["R10"],
           title="Tables of every size are served")  # fmt: skip
def test_a_large_table(station, rng):
    records = rounds.draw(rng, 20_000, 120)
    keys = [records[n].key for n in (0, 999, 1000, 9_999, 19_998, 19_999)]
    ask(station, rng, records, [*keys, *(rng.choice(records).key for _ in range(9))], "[R10]")


@check("tables", proves=["R10"])
def test_a_table_as_long_and_full_as_it_may_be(station, rng):
    room = rounds.LONGEST_TABLE - rounds.HEAD - rounds.FOOT
    count, left = divmod(room, rounds.ENTRY)
    keys = [f"{n:X}-{rng.getrandbits(36):X}" for n in range(count)]
    rng.shuffle(keys)
    holder = rng.randrange(count)
    records = [
        rounds.Record(key, rng.getrandbits(32), rng.randbytes(left) if n == holder else b"")
        for n, key in enumerate(keys)
    ]
    made = rounds.table(records, rng, most=0)
    assert len(made) == rounds.LONGEST_TABLE
    asked = [(key, rounds.nonce(rng)) for key in (keys[0], keys[holder], keys[-1], "NOT-THERE")]
    queue = rounds.queue(*(rounds.get(*query) for query in asked))
    station.says(made, queue, rounds.replies(records, asked), f"[R10] {count} records")


@check("tables", proves=["R10"])
def test_an_empty_table_and_one_of_one(station, rng):
    ask(station, rng, [], ["A", "BUOY-77"], "[R10] of no record")
    ask(station, rng, [rounds.Record("ONLY", 0, b"")], ["ONLY", "ONL", "ONLY-1"], "[R10] of one")


@check("tables", proves=["R10"])
def test_sizes_around_which_loops_are_made(station, rng):
    for count in (2, 3, 4, 5, 7, 9):
        keys = [f"{n}{rounds.word(rng, 1, 12)}" for n in range(count)]
        records = [rounds.Record(key, n, b"v" * n) for n, key in enumerate(keys)]
        ask(station, rng, records, keys, f"[R10] of {count}")


@check("tables", proves=["R6", "R7", "R10"])
def test_single_queries_of_large_tables(station, rng):
    """Of the kind that is measured: what a measured one has by chance only."""
    for last in (True, False):
        records, key = rounds.some_2000(rng), rounds.word(rng, 16)
        issues = sorted(rng.sample(range(1 << 32), 2), reverse=not last)
        places = sorted(rng.sample(range(len(records)), 2))
        for place, issue in zip(places, issues, strict=True):
            records.insert(place, rounds.Record(key, issue, rng.randbytes(20)))
        single(station, rounds.one_query(rng, records, key), "[R6] in a large table")
    records = rounds.some_2000(rng)
    known = rounds.current(records)
    near = changed(rng.choice(records).key, rng, rounds.LETTERS, last=True)
    while near in known:
        near = changed(near, rng, rounds.LETTERS)
    single(station, rounds.one_query(rng, records, near), "[R7] in a large table")


def changed(word: str, rng, letters: str, last: bool = False) -> str:
    """The word with one of its letters (the last one) replaced by one of these."""
    at = len(word) - 1 if last else rng.randrange(len(word))
    return word[:at] + rng.choice(letters) + word[at + 1 :]


def single(station, drawn, why) -> None:
    station.says(drawn.table, drawn.queue, drawn.due, why)


# -- damaged --------------------------------------------------------------------------------------


@milestone("damaged", weight=4, requires=["answers"], proves=["R11"],
           title="No answer comes from a damaged table")  # fmt: skip
def test_a_flipped_bit_anywhere(station, rng):
    records = some(rng, 60)
    made = rounds.table(records, rng)
    places = [16, 31, rounds.HEAD, rounds.HEAD + 24, len(made) - 8, len(made) - 9, len(made) - 16]
    places += [rng.randrange(4, len(made) // 2), rng.randrange(len(made) // 2, len(made) - 8)]
    for place in places:
        refused(station, rng, rounds.flipped(made, place, rng), records, f"a bit of byte {place}")


@check("damaged", proves=["R11"])
def test_tables_as_they_are_measured(station, rng):
    for spoil in (anywhere, rounds.spoilt_value, anywhere, rounds.spoilt_value):
        drawn, _ = rounds.first_answer(rng)
        spoilt = spoil(drawn.table, drawn.records, rng)
        station.counts(spoilt, drawn.queue, "TABLE BAD\n", "[R11] a bit of a large table")


@check("damaged", proves=["R11"])
def test_words_that_changed_places(station, rng):
    records = some(rng, 60)
    made = rounds.table(records, rng)
    for apart in (8, 64):
        at = 8 * rng.randrange(len(made) // 16, len(made) // 8 - 20)
        a, b = made[at : at + 8], made[at + apart : at + apart + 8]
        assert a != b
        middle = made[at + 8 : at + apart]
        spoilt = made[:at] + b + middle + a + made[at + apart + 8 :]
        refused(station, rng, spoilt, records, f"words {apart} bytes apart")


@check("damaged", proves=["R11"])
def test_another_kind_or_version_of_table(station, rng):
    records = some(rng)
    body = rounds.table(records, rng)[:-8]
    for other in (
        b"OSTW" + body[4:],
        body[:4] + struct.pack("<I", 4) + body[8:],
        b"\0" * len(body),
    ):
        refused(station, rng, rounds.seal(other), records, f"head {other[:8].hex()}")


@check("damaged", proves=["R11"])
def test_a_length_or_count_that_cannot_be(station, rng):
    records = some(rng)
    body = rounds.table(records, rng)[:-8]
    too_many = (len(body) - rounds.HEAD) // rounds.ENTRY + 1
    heads = [(len(body) + 8, too_many), (len(body) + 8, 0x0800_0000), (len(body) + 8, 0xFFFF_FFFF)]
    heads += [(32, 0), (0, 0), ((4 << 20) + 8, 1), (0xFFFF_FFF8, 0), (len(body) + 4, len(records))]
    for length, count in heads:
        other = body[:8] + struct.pack("<II", length, count) + body[16:]
        whole = rounds.seal(other)
        if length in (32, len(body) + 4):  # the sum is where the length says, and right
            whole = other[: length - 8] + struct.pack("<I", zlib.crc32(other[: length - 8]))
            whole += other[len(whole) :] + b"\0" * 8
        refused(station, rng, whole, records, f"length {length}, count {count}")


def anywhere(made, records, rng) -> bytes:
    """The table with one bit changed, the CRC's own among them."""
    return rounds.flipped(made, rng.randrange(len(made) - 4), rng)


def refused(station, rng, made, records, why) -> None:
    query = rounds.get(records[0].key, rounds.nonce(rng))
    queue = rounds.queue(query, *rng.choice(((), ("NONSENSE\n",))))
    station.counts(made, queue, "TABLE BAD\n", f"[R11] {why}", step=0.1)


# -- memory ---------------------------------------------------------------------------------------


@milestone("memory", weight=2, requires=["answers"], proves=["R13"],
           title="Whatever memory holds, every start is a first one")  # fmt: skip
def test_memory_holds_anything_at_power_on(station, rng):
    records = rounds.draw(rng, 300)
    keys = [rng.choice(records).key for _ in range(20)]
    for memory in (rng.randbytes(4093), b"\xff" * 64, b"\0" * 64):
        ask(station, rng, records, keys, "[R13]", memory=memory)


@check("memory", proves=["R14"])
def test_the_next_start_finds_another_table(station, rng):
    start = None
    try:
        for _ in range(3):
            records = some(rng)
            asked = [(record.key, rounds.nonce(rng)) for record in records[:3]]
            made, queue = rounds.table(records, rng), rounds.queue(*(rounds.get(*q) for q in asked))
            start = start or station.start(made, queue, counted=not station.restless)
            station.write(start.machine.name, made, queue)
            start.hears(rounds.replies(records, asked), "[R14]")
            start.cut()
    finally:
        if start is not None:
            start.off()


# -- rests ----------------------------------------------------------------------------------------


@milestone("rests", weight=2, requires=["answers"], proves=["R15"],
           title="It sleeps, and switches itself off when told")  # fmt: skip
def test_it_sleeps_when_all_is_said(station, rng):
    records = some(rng)
    query = (records[0].key, rounds.nonce(rng))
    due = rounds.replies(records, [query])
    made = rounds.table(records, rng)
    queue = rounds.queue(rounds.get(*query))
    assert station.counts(made, queue, due, "[R15]", late=board.LATE) > 0
    assert not station.restless, "in an earlier check it went on executing [R15]"


@check("rests", proves=["R11", "R15"])
def test_it_sleeps_beside_a_damaged_table(station, rng):
    made = bytearray(rounds.table(some(rng), rng))
    made[-20] ^= 4
    assert station.counts(bytes(made), rounds.queue("OFF\n"), "TABLE BAD\n", "[R15]") > 0


@check("rests", proves=["R16"])
def test_it_switches_itself_off(station, rng):
    records = some(rng)
    asked = [(record.key, rounds.nonce(rng)) for record in records[:2]]
    first, later = (rounds.get(*query) for query in asked)
    queue, due = rounds.queue(first, "OFF\n", later), rounds.replies(records, asked[:1])
    start = board.quick(station, rounds.table(records, rng), queue, due, "[R16]")
    try:
        deadline = start.machine.deadline(board.SECONDS)
        while (on := start.machine.alive) and start.said == due.encode():
            assert deadline.remaining() > 0, "it is on after OFF [R16]"
            time.sleep(0.1)
        assert start.said == due.encode(), "it said something after OFF [R16]"
        assert not on, "it is on after OFF [R16]"
    finally:
        start.off()


# -- budgets --------------------------------------------------------------------------------------


@milestone("within-100", weight=1, proves=["R17"],
           requires=["refuses", "tables", "damaged", "memory", "rests"],
           title="The first answer within 100 times par")  # fmt: skip
def test_the_first_answer_within_100_times_par(first):
    first.holds(100, "[R17]")


@milestone("within-10", weight=2, requires=["within-100"], proves=["R17"],
           title="The first answer within 10 times par")  # fmt: skip
def test_the_first_answer_within_10_times_par(first):
    first.holds(10, "[R17]")


@milestone("within-3", weight=2, requires=["within-10"], proves=["R17"],
           title="The first answer within 3 times par")  # fmt: skip
def test_the_first_answer_within_3_times_par(first):
    first.holds(3, "[R17]")


@milestone("within-par", weight=2, requires=["within-3"], proves=["R17"],
           title="The first answer within 1.2 times par")  # fmt: skip
def test_the_first_answer_within_1_2_times_par(first):
    first.holds(1.2, "[R17]")


# -- round ----------------------------------------------------------------------------------------


@milestone("round", weight=2, requires=["within-100"], proves=["R18"],
           title="A whole round is added up, within 3 times par")  # fmt: skip
def test_additions_are_summed(station, rng):
    records = rounds.draw(rng, 300)
    keys = [*(record.key for record in records), "NOT-THERE", "NEITHER"]
    lines, due = [], ""
    for many in (0, 1, 2, rng.randint(40, 60)):
        asked = [(rng.choice(keys), rounds.nonce(rng)) for _ in range(many)]
        lines += [*(rounds.get(*query, verb="ADD") for query in asked), "SUM\n"]
        due += rounds.total(records, asked)
        query = (rng.choice(keys), rounds.nonce(rng))
        bad = [
            "ADD X 0",
            "SUM ",
            " SUM",
            "sum",
            "SUMS",
            "SU",
            "ADD",
            f"ADD  {query[1]}",
            f"add {' '.join(query)}",
            f"ADD {' '.join(query)} ",
            f"ADD {query[0]}  {query[1]}",
            f"ADD {query[0].lower()}a {query[1]}",
            f"ADD {query[0]} {query[1][1:]}",
            f"ADD {query[0]} {query[1][1:]}G",
            f"SUM {' '.join(query)}",
        ]
        lines += [rounds.get(*query), *(f"{line}\n" for line in bad)]
        due += rounds.replies(records, [query]) + "BAD LINE\n" * len(bad)
    station.says(rounds.table(records, rng), rounds.queue(*lines), due, "[R18]")


@check("round", proves=["R19"])
def test_a_whole_round_within_3_times_par(additions):
    additions.holds(3, "[R19]")


@check("round", proves=["R11"])
def test_nothing_is_summed_from_a_damaged_table(station, rng):
    drawn, _ = rounds.additions(rng)
    spoilt = rounds.spoilt_value(drawn.table, drawn.records, rng)
    station.counts(spoilt, drawn.queue, "TABLE BAD\n", "[R11] of a round of additions")
