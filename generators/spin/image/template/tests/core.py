"""What every unit is asked, whatever else was ordered."""

from __future__ import annotations

import re
import secrets
import time

from bench import Bench
from ordered import AXES, FOLDERS, MOUNT
from unit import START, new_mac

from benchflow.bench.wrong_passwords import let_in, near
from benchflow.boot import Image

_MIB = 1 << 20
TOOLS = (
    "sh cat cp date dd df find grep head hostname kill ls mkdir mount od readlink rm sleep sync "
    "touch tr wc"
)


def comes_up(bench: Bench) -> None:
    unit = bench.as_new()
    unit.machine.boot()
    unit.machine.expect(r"login:", timeout=START)


def root_enters(bench: Bench) -> None:
    unit = bench.up()
    assert unit.say("id -u 2> /dev/null || echo 0") == "0", "root is not root"


def tools(bench: Bench) -> None:
    unit = bench.up()
    said = unit.say(f"for one in {TOOLS}; do command -v $one > /dev/null || echo $one; done")
    assert not said.split(), f"root does not find {said.split()}"


def others_do_not(bench: Bench) -> None:
    unit = bench.up()
    words = [word for word in near(unit.password) if word]
    found = let_in(unit.machine, "root", ["", *bench.draw.sample(words, 2)])
    assert not found, f"root is let in with {found}, which is not the password"
    for user in (AXES["account"], "nobody"):
        found = let_in(unit.machine, user, ["", unit.password])
        assert not found, f"{user} is let in at the console with {found}"
    unit.enter()


def nobody_by_file(bench: Bench) -> None:
    """Where there are such files, they say who has a password."""
    unit = bench.up()
    rows = unit.run("cat /etc/shadow").stdout.splitlines()
    for name, secret, *_ in (row.split(":") for row in rows if row.count(":") > 1):
        assert name == "root" or secret[:1] in ("*", "!"), f"{name} has the password {secret[:9]!r}"


def serves(bench: Bench) -> None:
    unit = bench.up()
    unit.serves()


def is_ours(bench: Bench) -> None:
    unit = bench.up()
    unit.serves()
    unit.process()


def is_whole(bench: Bench) -> None:
    """It answers as the source says, and stays."""
    unit = bench.up()
    before = unit.process()
    got = unit.ask("get nothing-here", "tell me more", f"get {'x' * 100}", "count 3")
    assert got == ["none", "unknown", "none", "unknown"], f"it answers {got}"
    assert unit.process() == before, "another process answers after that"


def records_stay(bench: Bench) -> None:
    unit = bench.up()
    rows = unit.store(4)
    said = unit.text(f"{FOLDERS['main']}/records")
    missing = [key for key in rows if key not in said]
    assert not missing, f"{FOLDERS['main']}/records lacks {missing}"
    rows |= unit.store(2)
    unit.cut_and_start()
    unit.knows(rows, what="after the power went")


def laid_out(bench: Bench) -> None:
    image = Image(bench.image)
    found = image.partitions()
    assert found, "the disk has no partition table"
    kinds = {one.table for one in found}
    assert kinds == {AXES["table"]}, f"the table is {kinds}, not {AXES['table']}"
    if AXES["table"] == "dos":
        assert all(one.number < 5 for one in found), "a partition is not a primary one"
    data = bench.last(bench.image)
    assert image.filesystem(data) == "ext4", "the last partition is no ext4"
    head = image.bytes_at(data.start + 1024, 256)
    incompatible = int.from_bytes(head[96:100], "little")
    label = head[0x78:0x88].rstrip(b"\0").decode(errors="replace")
    assert incompatible & 0x40, "the last partition is ext2 or ext3, not ext4"
    assert label == AXES["label"], f"the last partition has the label {label!r}"
    assert data.size >= 16 * _MIB, "the last partition has less than 16 MiB"


def is_mounted(bench: Bench) -> None:
    unit = bench.up()
    kind, words = unit.mounted(MOUNT)
    assert kind == "ext4" and "rw" in words, f"{MOUNT} is {kind}, {','.join(sorted(words))}"


def data_is_there(bench: Bench) -> None:
    """What is written where the data partition is to be mounted lies in it."""
    unit = bench.up()
    told = secrets.token_bytes(600).hex().encode()
    unit.write(f"{MOUNT}/bench", told)
    unit.say(f"sync; rm {MOUNT}/bench.not 2> /dev/null; sync")
    path = bench.disk()
    data = bench.last(path)
    with path.open("rb") as file:
        file.seek(data.start)
        left, found, tail = data.size, False, b""
        while left > 0 and not found:
            piece = file.read(min(left, 4 * _MIB))
            if not piece:
                break
            found, left = told in tail + piece, left - len(piece)
            tail = piece[-len(told) :]
    path.unlink()
    assert found, f"what is written to {MOUNT} is not on the data partition"
    unit.say(f"rm {MOUNT}/bench; sync")


def as_new_empty(bench: Bench) -> None:
    unit = bench.as_new()
    unit.machine.boot()
    unit.serves()
    bench.takes = unit.machine.elapsed
    unit.is_empty("a unit as new")


def console_is_closed(bench: Bench) -> None:
    """What is typed where nobody has logged in is no command."""
    unit = bench.up()
    unit.machine.shell.close()
    unit.machine.expect(r"login:", timeout=60)
    one, two = secrets.randbelow(10**8), secrets.randbelow(10**8)
    mark = unit.machine.console.end
    for text in ("", "\x03", "\x1c\n", "\x1a\n", "\x04\n"):
        unit.machine.send(text)
        time.sleep(0.5)
        unit.machine.send(f"echo $(({one}+{two}))\n")
        time.sleep(1)
    time.sleep(3)
    said = unit.machine.console.since(mark)
    assert str(one + two) not in said, "what is typed before a login is run by a shell"
    bench.up()


def another_card(bench: Bench) -> None:
    unit = bench.up()
    rows = unit.store(2)
    unit = bench.moved(unit.with_(mac=new_mac()))
    unit.machine.boot()
    unit.serves()
    unit.knows(rows, what="with another card")
    unit.enter()


def release(bench: Bench) -> None:
    said = bench.up().text("/etc/os-release")
    rows = dict(re.findall(r"(?m)^([A-Z_]+)=[\"']?(.*?)[\"']?\s*$", said))
    for key, wanted in (("NAME", AXES["product"]), ("VERSION_ID", AXES["version"])):
        assert rows.get(key) == wanted, f"/etc/os-release: {key} is {rows.get(key)!r}"


def restarts_and_goes_off(bench: Bench) -> None:
    unit = bench.up()
    rows = unit.store(2)
    unit.restart()
    unit.knows(rows, what="after a restart")
    rows |= unit.store(1)
    unit.go_off()
    unit.start()
    unit.knows(rows, what="after it was switched off")


def first_start_cut(bench: Bench) -> None:
    """At a drawn moment of the time that a first start takes here, most often late in it."""
    unit = bench.as_new()
    unit.machine.boot()
    wait(bench, bench.takes * (1 - 0.7 * bench.draw.random() ** 2))
    unit.cut()
    unit.start()
    unit.serves()
    unit.is_empty("a unit whose first start was cut")


def wait(bench: Bench, seconds: float) -> None:
    """Reference seconds, of a unit that runs."""
    deadline = bench.unit.machine.deadline(seconds)
    while deadline.remaining() > 0 and bench.unit.machine.alive:
        time.sleep(min(0.2, deadline.remaining()))


def written_stays(bench: Bench) -> None:
    unit = bench.up()
    told = secrets.token_hex(20)
    unit.say(f"echo {told} > {MOUNT}/bench; sync")
    unit.cut_and_start()
    assert unit.text(f"{MOUNT}/bench").strip() == told
    unit.say(f"rm {MOUNT}/bench; sync")


def cut_in_starts(bench: Bench) -> None:
    unit = bench.up()
    rows = unit.store(2)
    unit.cut()
    unit.machine.boot()
    wait(bench, (bench.takes or 10) * bench.draw.random())
    unit.cut()
    unit.start()
    unit.knows(rows, what="after a start that was cut")
