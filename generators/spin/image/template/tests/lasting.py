"""Demands of what a unit makes at its first start, keeps, and comes back from."""

from __future__ import annotations

import re
import secrets

from bench import Bench
from ordered import AXES, MOUNT, has
from telling import named
from unit import Unit

from benchflow.boot import Image

_MIB = 1 << 20


def number(unit: Unit) -> str:
    said = unit.text(AXES["id"])
    assert re.fullmatch(r"[0-9a-f]{32}\n", said), f"{AXES['id']} is {said!r}"
    return said.strip()


def machine_id(bench: Bench) -> None:
    unit = bench.fresh()
    one = number(unit)
    unit.restart()
    assert number(unit) == one, "the number is another after a restart"
    unit.cut_and_start()
    assert number(unit) == one, "the number is another after the power went"
    assert number(bench.fresh()) != one, "another unit has the same number"


def key(unit: Unit) -> str:
    path = f"{MOUNT}/{AXES['key']}"
    said = unit.text(path)
    assert re.fullmatch(r"[0-9a-f]{64}\n", said), f"{path} is {said!r}"
    row = unit.say(f"ls -l {path}").split()
    assert row[0][4:10] == "------" and row[2] in ("root", "0"), f"{path} is {row[:4]}"
    return said.strip()


def unit_key(bench: Bench) -> None:
    unit = bench.as_new()
    unit.machine.boot()
    unit.serves()
    bench.off()
    files = bench.data()
    path = f"/{AXES['key']}"
    assert files.exists(path), f"{MOUNT}{path} is not there when the service answers"
    one = files.read_text(path).strip()
    unit.start()
    assert key(unit) == one, "the secret changed when the power went"
    assert key(bench.fresh()) != one, "another unit has the same secret"


def grown(bench: Bench) -> None:
    bench.up().say("sync")
    path = bench.disk()
    data, size = bench.last(path), path.stat().st_size
    path.unlink()
    assert size - data.start - data.size <= 4 * _MIB, (
        f"the data partition ends {(size - data.start - data.size) >> 20} MiB before the disk"
    )
    head = Image(bench.data_file()).bytes_at(1024, 64)
    count, power = (int.from_bytes(head[at : at + 4], "little") for at in (4, 24))
    left = data.size - (count << (10 + min(power, 6)))
    assert left <= 4 * _MIB, f"the file system ends {left >> 20} MiB before its partition"


def grow(bench: Bench) -> None:
    unit = bench.fresh()
    unit.serves()
    rows = unit.store(2)
    grown(bench)
    unit.cut_and_start()
    unit.knows(rows, what="after a start")


def reset_file(bench: Bench) -> None:
    unit = bench.up()
    unit.store(2)
    unit.say(f"echo x > {MOUNT}/bench; touch {MOUNT}/{AXES['reset']}; sync")
    unit.restart()
    unit.is_empty("after a reset")
    for name in ("bench", AXES["reset"]):
        assert not unit.has(f"{MOUNT}/{name}"), f"{MOUNT}/{name} is there after a reset"
    rows = unit.store(2)
    unit.cut_and_start()
    unit.knows(rows, what="after the start that followed a reset")


def reset_jumper(bench: Bench) -> None:
    unit = bench.up()
    before = unit.hardware
    unit.store(2)
    unit.say(f"echo x > {MOUNT}/bench; sync")
    unit = bench.moved(unit.with_(jumper=AXES["jumper"])).start()
    unit.is_empty("with the jumper")
    assert not unit.has(f"{MOUNT}/bench"), f"{MOUNT}/bench is there after a reset"
    unit.store(1)
    unit.cut_and_start()
    unit.is_empty("with the jumper, once more")
    rows = unit.store(2)
    unit = bench.moved(unit.with_(jumper=f"{AXES['jumper']}-OPEN")).start()
    unit.knows(rows, what="without the jumper")
    unit = bench.moved(before).start()
    unit.knows(rows, what="without the jumper, once more")


def counted(unit: Unit) -> int:
    path = f"{MOUNT}/{AXES['starts']}"
    said = unit.text(path)
    assert re.fullmatch(r"[0-9]+\n", said), f"{path} is {said!r}"
    return int(said)


def starts_counted(bench: Bench) -> None:
    unit = bench.fresh()
    assert counted(unit) == 1, f"{counted(unit)} starts, of the first"
    unit.serves()
    unit.restart()
    assert counted(unit) == 2, f"{counted(unit)} starts, of the second"
    unit.serves()
    unit.cut()
    unit.machine.boot()
    unit.serves()
    unit.cut_and_start()
    assert counted(unit) == 4, f"{counted(unit)} starts, of the fourth"


def give_name(unit: Unit, text: str) -> None:
    unit.write(f"{MOUNT}/{AXES['name_file']}", text)
    unit.say("sync")


def owner_name(bench: Bench) -> None:
    unit = bench.fresh()
    assert named(unit) == "unit", f"the host name of a unit as new is {named(unit)!r}"
    first = f"a{secrets.token_hex(3)}"
    give_name(unit, f"{first}\n")
    unit.restart()
    assert named(unit) == first, f"the host name is {named(unit)!r}, not {first!r}"
    bad = ["two words", "Capital", "9lives", "x", "under_score", "ends-", "a" * 17]
    for text in bench.draw.sample(bad, 2):
        give_name(unit, f"{text}\n")
        unit.cut_and_start()
        assert named(unit) == first, f"{text!r}: the host name is {named(unit)!r}, not {first!r}"
    unit.say(f"rm {MOUNT}/{AXES['name_file']}; sync")
    unit.cut_and_start()
    assert named(unit) == first, f"without the file the host name is {named(unit)!r}"


def seconds(unit: Unit) -> int:
    return int(unit.say("date +%s"))


def clock(bench: Bench) -> None:
    unit = bench.up()
    before = unit.hardware
    year = bench.draw.randrange(2031, 2037)
    unit = bench.moved(unit.with_(clock=f"{year}-05-06T07:08:09")).start()
    unit.serves()
    last = seconds(unit)
    unit.go_off()
    unit = bench.moved(unit.with_(clock="2009-01-02T03:04:05")).start()
    assert seconds(unit) >= last, f"the clock went back by {last - seconds(unit)} s"
    unit.serves()
    last = seconds(unit)
    unit.cut_and_start()
    assert seconds(unit) >= last - 120, f"the clock went back by {last - seconds(unit)} s"
    bench.moved(before)


def any_hardware(bench: Bench) -> None:
    unit = bench.up()
    before, rows = unit.hardware, unit.store(2)
    for bus in bench.draw.sample(("nvme", "scsi"), 2):
        unit = bench.moved(unit.with_(bus=bus)).start()
        unit.knows(rows, what=f"on {bus}")
        rows |= unit.store(1)
    unit = bench.moved(before).start()
    unit.knows(rows, what="back in the first unit")


def spoilt_data(bench: Bench) -> None:
    unit = bench.up()
    unit.store(1)
    before = unit.hardware
    unit.cut()
    path = bench.disk().rename(bench.work / f"spoilt-{bench.made}.img")
    with path.open("r+b") as file:
        file.seek(bench.last(path).start)
        file.write(bench.draw.randbytes(_MIB))
    unit = bench.with_disk(path, before).start()
    kind, _ = unit.mounted(MOUNT)
    assert kind == "ext4", f"{MOUNT} is {kind}"
    unit.is_empty("with a data partition that was lost")
    rows = unit.store(2)
    unit.cut_and_start()
    unit.knows(rows, what="after the data partition was made again")
    if has("grow"):
        grown(bench)


def fill(unit: Unit) -> None:
    """Not a block is left."""
    for size in ("256k", "4k", "1k"):
        unit.run(f"dd if=/dev/zero of={MOUNT}/fill-{size} bs={size} 2> /dev/null; sync", 180)


def full_disk(bench: Bench) -> None:
    unit = bench.up()
    unit.serves()
    rows = unit.store(2)
    fill(unit)
    unit.cut_and_start()
    unit.knows(rows, what="without room")
    unit.restart()
    unit.knows(rows, what="without room, once more")
    unit.say(f"rm {MOUNT}/fill-*; sync")
    rows |= unit.store(2)
    unit.cut_and_start()
    unit.knows(rows, what="with room again")


def untouched(bench: Bench) -> None:
    unit = bench.up()
    unit.serves()
    unit.restart()
    unchanged(bench, "after starts")


def unchanged(bench: Bench, what: str) -> None:
    path = bench.disk()
    for one in bench.others():
        with bench.image.open("rb") as first, path.open("rb") as second:
            for at in range(one.start, one.start + one.size, _MIB):
                size = min(_MIB, one.start + one.size - at)
                first.seek(at)
                second.seek(at)
                same = first.read(size) == second.read(size)
                assert same, f"{what}: partition {one.number} is not what was delivered"
    path.unlink()
