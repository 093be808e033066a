"""What is asked of a unit that runs, where it takes more than a line."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from unit import parse_status, same

from benchflow.bench.guest import SPOILT

#: A script's ten seconds, and what a restart may take that begins then. [R20]
SCRIPT_SECONDS, RESTART_SECONDS = 10, 10
#: Three tries, each at most 60 s from its kernel's start to its confirmation [R18], and a start.
TRIALS_SECONDS = 240


#: Where a slot's system lies.
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib64", "/usr", "/etc", "/boot", "/opt")


def the_system_is_the_slots(unit) -> None:
    """[R6], [R8], by the kernel's own table of mounts and of partitions."""
    numbers = [line.split() for line in unit.say("cat /proc/partitions").splitlines()]
    names = {f"{row[0]}:{row[1]}": row[3] for row in numbers if len(row) == 4}
    slot = unit.layout.numbers.get(f"slot-{unit.status()['slot']}")
    for line in unit.say("cat /proc/self/mountinfo").splitlines():
        device, root, place = line.split()[2:5]
        disk = re.fullmatch(r"[a-z]+(\d+)", names.get(device, ""))
        if disk is None or not names[device].startswith("vda"):
            continue
        if place == "/":
            found = (int(disk[1]), root)
            same(found, (slot, "/"), "partition, and folder in it, of which / is [R6]")
        elif int(disk[1]) != slot:
            inside = any(place == one or place.startswith(f"{one}/") for one in _SYSTEM)
            assert not inside, f"{place} comes from {names[device]}, not from the slot [R8]"


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
        unit.await_word(media.words["flaky"], 90)
        what = "a script that did not end was not stopped, or it did not restart [R20]"
        unit.awaits_restart(SCRIPT_SECONDS + RESTART_SECONDS, what)
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


def one_at_a_time(unit, media, shared) -> None:
    shared["before next"] = unit.now()
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
