"""What is asked of a unit that runs, where it takes more than a line."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from media import Media
from unit import (
    GIVEN_UP_SECONDS,
    SCRIPT_SECONDS,
    TRIAL_SECONDS,
    Unit,
    in_trial,
    same,
)


def what_is_mounted_where(unit: Unit, media: Media) -> None:
    """The contract's "Starting", by the kernel's own tables."""
    same(unit.say("head -n 1 /media/word"), media.word, "the second disk's word [R11]")
    rows = [line.split() for line in unit.say("cat /proc/mounts").splitlines()]
    mounts = {row[1]: (row[2], row[3].split(",")) for row in rows if len(row) > 3}
    for place, kinds, option in (("/", ["ext4"], "ro"), ("/data", ["ext4"], "rw"),
                                 ("/media", ["ext2", "ext3", "ext4"], "ro")):  # fmt: skip
        kind, options = mounts.get(place, ("nothing", []))
        assert kind in kinds and option in options, (
            f"{place} is {kind} {options}; {kinds} and {option} are due [R11]"
        )
    for place in ("/tmp", "/run"):
        unit.say(f"echo word >{place}/bench && rm {place}/bench")
        real = PurePosixPath(unit.say(f"readlink -f {place}"))
        kind = next(mounts[f"{one}"][0] for one in (real, *real.parents) if f"{one}" in mounts)
        assert kind in ("tmpfs", "ramfs"), f"{place} lies in {kind}; memory is due [R11]"
    assert unit.code("echo word >/bench") != 0, "a file could be made in / [R11]"
    _partitions_are_right(unit)


def _partitions_are_right(unit: Unit) -> None:
    numbers = [line.split() for line in unit.say("cat /proc/partitions").splitlines()]
    names = {f"{row[0]}:{row[1]}": row[3] for row in numbers if len(row) == 4}
    due = {"/": f"slot-{unit.status()['slot']}", "/data": "data"}
    for line in unit.say("cat /proc/self/mountinfo").splitlines():
        device, root, place = line.split()[2:5]
        # What else lies between, such as a mapped device, has another name.
        part = re.fullmatch(r"(?:vd|sd|hd)[a-z](\d+)", names.get(device, ""))
        if place in due and part is not None:
            found = int(part[1]), root
            same(
                found,
                (unit.layout.numbers[due[place]], "/"),
                f"partition of which {place} is [R11]",
            )


def installs_beside_another(unit: Unit, what: str, media: Media) -> None:
    """Of two at once one is refused."""
    done, install = "/run/bench", f"update install {media.path(what)} >/dev/null 2>&1; echo $?"
    said = unit.say(
        f"{{ {install} >{done}-1; }} & {{ {install} >{done}-2; }} & wait; cat {done}-1 {done}-2", 90
    )
    same(sorted(said.split()), ["0", "15"], "two installations at once [R8]")


def installs_beside_a_rollback(unit: Unit, what: str, media: Media) -> None:
    """While the other slot is written it holds no whole version, and nobody goes back to it."""
    done = "/run/bench-done"
    said = unit.say(
        f"rm -f {done}; {{ update install {media.path(what)} >/dev/null 2>&1; echo $? >{done}; }} &"
        f" until [ -s {done} ] || update status | grep -qx other=none; do :; done;"
        f" update rollback >/dev/null 2>&1; echo $?;"
        f" [ ! -s {done} ]; echo $?; until [ -s {done} ]; do sleep 1; done; cat {done}", 120,
    ).split()  # fmt: skip
    same((len(said), said[-1]), (3, "0"), f"an installation with a rollback beside it: {said}")
    # Where it was over before that, nothing is proved.
    assert said[1] != "0" or said[0] == "15", (
        f"update rollback while an installation is at work ended with {said[0]}, 15 is due [R8]"
    )


def told_on_trial(unit: Unit, media: Media, what: str, before: dict[str, str]) -> None:
    """What a version has found while it was on trial; `before`: the status before that."""
    same(unit.say(f"cat {media.place}/media"), media.word, "/media on trial [R8]")
    same(unit.say(f"cat {media.place}/order"), "first\nsecond", "the order of its scripts [R8]")
    [told] = unit.statuses(f"cat {media.place}/status")
    assert told["try"] in ("1", "2", "3"), f"try of a version on trial: {told} [R8]"
    due = in_trial(media.releases[what].version, int(told["try"]), before)
    same(told, due, "status on trial [R8]")
    refused = unit.say(f"cat {media.place}/refused").split()
    same(refused, ["15", "15"], "install and rollback of a version on trial [R8]")


def a_refusal_leaves(unit: Unit, media: Media) -> None:
    """Nothing changes, whatever the other slot holds, where only the last byte says no."""
    before = unit.status()
    found = {what: unit.install(media.path(what)) for what in ("content", "signature-other")}
    same(found, {"content": 14, "signature-other": 11}, "status for what is none to take [R8]")
    same(unit.status(), before, "a refusal changes nothing [R8]")
    unit.whole(before)


def gives_up_a_sick_one(unit: Unit, media: Media) -> None:
    """One whose scripts fail, the first by having no end. It is installed after `update rollback`,
    which has not come to a restart: what runs is what the unit comes back to."""
    runs, word = unit.releases[int(unit.status()["version"])], media.words["sick"]

    def given_up() -> None:
        unit.say(f"rm -f {media.place}/tries")
        unit.code("update rollback")
        installs_beside_a_rollback(unit, "sick", media)
        unit.leave()
        unit.await_word(word, TRIAL_SECONDS)
        unit.awaits_restart(SCRIPT_SECONDS, "a script that does not end [R8]")
        unit.enter(GIVEN_UP_SECONDS)
        unit.runs(runs)
        same(unit.say(f"cat {media.place}/tries"), "3", "tries of an unhealthy version [R8]")

    unit.unspoilt(given_up)
