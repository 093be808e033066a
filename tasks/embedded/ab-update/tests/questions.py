"""What is asked of a unit that runs, where it takes more than a line."""

from __future__ import annotations

import re
import secrets
from pathlib import PurePosixPath
from types import SimpleNamespace

from unit import parse_status, same

from benchflow.bench.account_files import ways_in
from benchflow.bench.guest import SPOILT

#: A script's ten seconds, and what a restart may take that begins then. [R20]
SCRIPT_SECONDS, RESTART_SECONDS = 10, 10
#: Three tries, each at most 60 s from its kernel's start to its confirmation [R18], and a start.
TRIALS_SECONDS = 240


#: Where a slot's system lies; and where its programs do, of which nothing may come from elsewhere.
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib64", "/usr", "/etc", "/boot", "/opt")
_PROGRAMS = ("/bin", "/sbin", "/lib", "/lib64", "/usr", "/usr/bin", "/usr/sbin", "/usr/lib",
             "/boot", "/boot/vmlinuz", "/sbin/init", "/bin/sh")  # fmt: skip


class Mounts:
    """What is mounted where on a unit, by the kernel's own tables."""

    def __init__(self, unit) -> None:
        self._unit = unit
        numbers = [line.split() for line in unit.say("cat /proc/partitions").splitlines()]
        self._names = {f"{row[0]}:{row[1]}": row[3] for row in numbers if len(row) == 4}
        rows = [line.split() for line in unit.say("cat /proc/self/mountinfo").splitlines()]
        #: Place to (name of the device, folder in it); of several at a place the last is seen.
        self.at = {row[4]: (self._names.get(row[2], row[2]), row[3]) for row in rows}

    def partition(self, name: str) -> int | None:
        """The number of the unit's partition that is a device, or that lies under it."""
        if found := re.fullmatch(r"vda(\d+)", name):
            return int(found[1])
        block = f"/sys/class/block/{name}"
        if re.fullmatch(r"dm-\d+", name):
            under = {self.partition(one) for one in self._unit.say(f"ls {block}/slaves").split()}
            return under.pop() if len(under) == 1 else None
        if re.fullmatch(r"loop\d+", name):
            return self.partition(self.under(self._unit.say(f"cat {block}/loop/backing_file")))
        return None

    def under(self, path: str) -> str:
        """The name of the device on which a path without links lies."""
        places = (f"{one}" for one in (PurePosixPath(path), *PurePosixPath(path).parents))
        return next((self.at[place][0] for place in places if place in self.at), "nothing")


def the_system_is_the_slots(unit) -> None:
    """[R6], [R8], by the kernel's own table of mounts and of partitions."""
    mounts, numbers = Mounts(unit), unit.layout.numbers
    slot = numbers.get(f"slot-{unit.status()['slot']}")
    for place, due in (("/", slot), ("/data", numbers.get("data"))):
        name, root = mounts.at.get(place, ("nothing", "/"))
        found = (mounts.partition(name), root)
        same(found, (due, "/"), f"partition, and folder in it, of which {place} is [R6]")
    for place, (name, _) in mounts.at.items():
        inside = any(place == one or place.startswith(f"{one}/") for one in _SYSTEM)
        if inside and name.startswith("vda"):
            same(mounts.partition(name), slot, f"partition from which {place} comes [R8]")
    look = f"for one in {' '.join(_PROGRAMS)} $(command -v update) $(command -v record)"
    for path in unit.say(f"{look}; do [ ! -e $one ] || readlink -f $one; done").splitlines():
        name = mounts.under(path)
        same(mounts.partition(name), slot, f"partition from which {path} comes, by {name} [R8]")


def nobody_else_can_log_in(unit) -> None:
    """By the accounts that a unit has when it runs: they may be made when it starts."""

    def text(path: str) -> str:
        return unit.machine.shell.run(f"cat {path} 2>/dev/null").stdout

    running = SimpleNamespace(
        exists=text, stat=lambda path: SimpleNamespace(kind="file"), read_text=text
    )
    found = ways_in(running)
    assert not found, f"on the running unit: {found}; root alone, with the one password [R5]"


def odd_records(unit) -> None:
    """One with blanks at its ends, and four at once: each that is acknowledged is there, by its
    number. What comes of them is what is kept from then on: later checks ask for other things."""
    try:
        unit.add(f"  {secrets.token_hex(4)}  ")
        _records_at_once(unit)
        unit.keeps_records()
    finally:
        unit.records[:] = [line.partition(" ")[2] for line in unit.listed()]


def _records_at_once(unit) -> None:
    texts = [secrets.token_hex(6) for _ in range(4)]
    adds = " ".join(f"{{ record add {text} >/run/bench-record-{text}; }} &" for text in texts)
    unit.say(f"{adds} wait", 60)
    said = {unit.say(f"cat /run/bench-record-{text}"): text for text in texts}
    first = len(unit.records) + 1
    due = [f"ok {number}" for number in range(first, first + len(texts))]
    same(sorted(said), sorted(due), "what is said to four who add at once [R21]")
    unit.records.extend(said[one] for one in due)


def what_is_mounted_where(unit, word) -> None:
    same(unit.say("head -n 1 /media/word"), word, "the second disk's word below /media [R6]")
    rows = [line.split() for line in unit.say("cat /proc/mounts").splitlines()]
    mounts = {row[1]: (row[2], row[3].split(",")) for row in rows if len(row) > 3}
    for place, kinds, option in (("/", ["ext4"], "ro"), ("/data", ["ext4"], "rw"),
                                 ("/media", ["ext2", "ext3", "ext4"], "ro")):  # fmt: skip
        kind, options = mounts.get(place, ("nothing", []))
        assert kind in kinds and option in options, (
            f"{place} is {kind} {options}; {kinds} and {option} are due [R6]"
        )
    for place in ("/tmp", "/run", "/data"):
        unit.say(f"echo word >{place}/bench && rm {place}/bench")
    for place in ("/tmp", "/run"):
        real = PurePosixPath(unit.say(f"readlink -f {place}"))
        kind = next(mounts[f"{one}"][0] for one in (real, *real.parents) if f"{one}" in mounts)
        assert kind in ("tmpfs", "ramfs"), f"{place} lies in {kind}; memory is due [R6]"
    done = unit.machine.shell.run("echo word >/bench").status
    assert done != 0, "a file could be made in / [R6]"


def an_unhealthy_version(unit, media, cuts) -> None:
    """Installed after `update rollback`, without a restart: what it takes the place of is not what
    starts once it was given up."""
    unit.up()
    runs = unit.now()

    def given_up():
        unit.say(f"rm -f {media.place}/tries")
        unit.machine.shell.run("update rollback")
        unit.installs(media.path("unhealthy"))
        unit.restart(TRIALS_SECONDS)
        unit.runs(runs)
        same(unit.say(f"cat {media.place}/tries"), "3", "tries of an unhealthy version [R16]")

    unit.unspoilt(given_up)
    status = unit.status()
    found = [status[key] for key in ("other", "other_version", "floor")]
    due = ["failed", str(media.releases["unhealthy"].version), str(runs.version)]
    same(found, due, "status after three tries in vain [R13, R14]")
    unit.whole(status)


def the_tries_were_counted(unit, media) -> None:
    for number in ("1", "2", "3"):
        status = parse_status(unit.say(f"cat {media.place}/status.{number}"))
        found = (status["state"], status["try"])
        same(found, ("trial", number), f"status in try {number} [R13]")


def it_stays_with_what_it_went_back_to(unit, media) -> None:
    runs = unit.now()
    same(unit.machine.shell.run("update rollback").status, 16, "rollback to what failed [R15]")
    unit.restart()
    unit.runs(runs)
    same(unit.say(f"cat {media.place}/tries"), "3", "tries of an unhealthy version [R16]")


def a_version_that_is_healthy_at_the_third_try(unit, media) -> None:
    def at_the_third():
        unit.say(f"rm -f {media.place}/flaky")
        unit.installs(media.path("flaky"))
        unit.leave()
        for seconds, what in (
            (SCRIPT_SECONDS + RESTART_SECONDS, "a script that did not end was not stopped, or"),
            (RESTART_SECONDS, "a script ended with status 3, and"),
        ):
            boots = unit.machine.boots
            unit.await_word(media.words["flaky"], 90)
            unit.awaits_restart(seconds, f"{what} it did not restart [R20]", boots)
        unit.enter(TRIALS_SECONDS)
        unit.runs(media.releases["flaky"])
        same(unit.say(f"cat {media.place}/flaky"), "3", "tries that it took [R16]")

    unit.unspoilt(at_the_third)
    status = unit.status()
    same((status["try"], status["other"]), ("0", "good"), "status after its third try [R13]")
    unit.whole(status)


def what_a_trial_says_of_itself(unit, media) -> None:
    status = parse_status(unit.say(f"cat {media.place}/status"))
    first = status["try"] if SPOILT in unit.machine.console.since(0) else "1"
    expected = {"slot": "b", "version": str(media.releases["second"].version), "state": "trial",
                "try": first, "other": "good", "other_version": "1", "floor": "1"}  # fmt: skip
    same(status, expected, "update status during a trial [R13]")
    same(unit.say(f"cat {media.place}/media"), media.word, "/media during a trial [R20]")


def an_interrupted_installation(unit, media) -> None:
    """Killed while it writes: there is no whole version then, and no other is at work."""
    unit.say(
        f"update install {media.path('next')} >/dev/null 2>&1 & p=$!;"
        " until update status | grep -qx other=none || ! kill -0 $p 2>/dev/null; do :; done;"
        " kill -9 $p 2>/dev/null; wait $p 2>/dev/null; sleep 10", 120,
    )  # fmt: skip
    status = unit.status()
    assert status["other"] in ("none", "ready"), f"killed while it wrote [R13]: {status}"
    unit.whole(status)
    said = unit.install(media.path("next"))
    if said:
        unit.restart()  # What was left behind is not asked for again.
    same(said, 0, "status of an installation after one that was killed [R10, R12]")


def one_at_a_time(unit, media, shared) -> None:
    shared["before next"] = unit.now()
    an_interrupted_installation(unit, media)
    done = "/run/bench-done"
    install = f"update install {media.path('next')} >/dev/null 2>&1; echo $?"
    both = unit.say(
        f"{{ {install} >{done}-1; }} & {{ {install} >{done}-2; }} & wait; cat {done}-1 {done}-2", 90
    )
    same(sorted(both.split()), ["0", "15"], "two installations at once [R12]")
    # Asked as soon as the status says that the other slot is being written.
    said = unit.say(
        f"{{ {install} >{done}; }} &"
        f" until [ -s {done} ] || update status | grep -qx other=none; do :; done;"
        f" update rollback >/dev/null 2>&1; echo $?; [ ! -s {done} ]; echo $?;"
        f" until [ -s {done} ]; do sleep 1; done; cat {done}", 90,
    ).split()  # fmt: skip
    same((len(said), said[-1]), (3, "0"), f"an installation with a rollback beside it: {said}")
    assert said[1] != "0" or said[0] == "15", (
        f"update rollback while an installation is at work ended with {said[0]}, 15 is due [R12]"
    )
    status = unit.status()
    found = (status["other"], status["other_version"])
    same(found, ("ready", str(media.releases["next"].version)), "what was installed [R12, R13]")
    unit.whole(status)


def back_to_the_version_before(unit, media, runs) -> None:
    """With the next start: that it comes of a power cut makes no difference, nor does it that
    somebody says it twice, or that a bundle is refused after it."""
    unit.say("update rollback")
    unit.say("update rollback")
    same(unit.install(media.path("late")), 14, "status for a new version of other content [R11]")
    unit.cut()
    status = unit.runs(runs)
    found = (status["other"], status["try"], status["other_version"])
    due = ("good", "0", str(media.releases["next"].version))
    same(found, due, "status after going back [R13, R15]")
    if runs is media.releases["flaky"]:
        same(unit.say(f"cat {media.place}/flaky"), "3", "runs of its health script [R15, R20]")
    the_system_is_the_slots(unit)
    unit.whole(status)
    unit.keeps_records()


def the_data_are_lost(unit, media, due) -> None:
    """Slots, floor and tries are as if nothing had been, though a version waited."""
    unit.start(TRIALS_SECONDS)
    same(unit.status(), due, "status after the data were lost [R14, R16, R24]")
    spoilt = SPOILT in unit.machine.console.since(0)
    tries = unit.say(f"cat {media.place}/sick")
    assert spoilt or tries == "3", f"{tries} tries of the version that waited [R16, R24]"
    same(unit.say("hostname"), "unit", "the host name without a configuration [R22, R24]")
    unit.whole(due)
    unit.keeps_records()
    unit.add(secrets.token_hex(8))


def refused(unit, media, status: int, kind: str) -> None:
    """Each bundle whose kind begins with `kind` is refused with this exit status."""
    names = [name for name in media.names if name.startswith(kind)]
    assert names
    said = {name: unit.install(media.path(name)) for name in names}
    wrong = {name: code for name, code in said.items() if code != status}
    assert not wrong, f"{status} was to be said [R11], and this was: {wrong}"


def sound(one, media, floor) -> None:
    """Assert that a unit runs one of the last two versions, whole and with its records."""
    status = one.status()
    found = one.now()
    due = [media.releases[name] for name in ("third", "cuts")]
    assert found in due, f"one of {[each.version for each in due]} is due [R26]: {status}"
    assert int(status["floor"]) >= floor, f"the floor fell below {floor} [R14]: {status}"
    one.whole(status)
    one.keeps_records()
