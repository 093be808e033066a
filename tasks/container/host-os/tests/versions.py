"""Updates of the whole, and ways back: [R30] to [R33]."""

from __future__ import annotations

import secrets
import time

from questions import keeps, runs

from benchflow.bench.guest import SPOILT

#: [R31], and what two tries and a start may take: two scripts of ten seconds and three starts.
TRIES = 2
BACK_SECONDS = 240


def false_bundles(later, media, layout, shared) -> None:
    later.up()
    before = (later.slots(layout), later.status()[0])
    said = {name: later.code(f"hostctl update {media.path(name)}", 120) for name in media.statuses}
    wrong = {name: code for name, code in said.items() if code != media.statuses[name]}
    assert not wrong, f"other statuses than [R30]'s: {wrong}; due are {media.statuses}"
    code = later.code("hostctl update /carrier/no-such-file")
    assert code == 1, f"a missing bundle ends with {code}, 1 is due [R30]"
    assert (later.slots(layout), later.status()[0]) == before, (
        "a false bundle changed something [R30]"
    )
    assert later.status()[0]["other"] == "none", later.status()[0]


def it_is_installed(later, media, layout, vendor, shared, nonce) -> None:
    word = nonce()
    later.ask(8001, f"echo {word} >/tmp/mark")
    good = media.releases["good"]
    began = time.monotonic()
    code = later.code(f"hostctl update {media.path('good')}", 120)
    assert code == 0, f"a good bundle ended with {code}, 0 is due [R30]"
    shared["seconds"] = time.monotonic() - began
    found = later.status()[0]
    assert (found["version"], found["other"], found["other_version"]) == (
        1,
        "ready",
        good.version,
    ), found
    assert later.slots(layout) == {"a": vendor.release1.digest, "b": good.digest}, "the slots"
    assert later.ask(8001, "cat /tmp/mark") == word, "an update stopped a container [R30]"


def the_next_start_runs_it(later, media, layout, vendor, shared) -> None:
    later.machine.reboot(timeout=60)
    later.await_word(media.words["good"], 90)
    later.enter()
    good = media.releases["good"]
    runs(later, good, "b", other="good", other_version=1)
    keeps(later, shared)
    assert later.slots(layout) == {"a": vendor.release1.digest, "b": good.digest}, "the slots"


def rollback(later, media, vendor, shared) -> None:
    assert later.code("hostctl rollback") == 0, "the way back was refused [R32]"
    later.restart()
    runs(later, vendor.release1, "a", other="good", other_version=media.releases["good"].version)
    keeps(later, shared)


def the_power_goes_while_it_is_written(later, media, layout, vendor, shared) -> None:
    """At a moment drawn from the time that it takes."""
    good, dead = media.releases["good"], media.releases["dead"]
    later.machine.send(f"hostctl update {media.path('dead')}\n")
    time.sleep(max(0.5, shared["seconds"] * secrets.randbelow(900) / 1000))
    later.machine.power_cut()
    later.start(120)
    found, slots = later.status()[0], later.slots(layout)
    assert found["version"] in (1, good.version), f"after a power cut this runs: {found} [R33]"
    assert slots["a"] == vendor.release1.digest, "the slot that ran was written [R2]"
    holds = {"ready": dead, "failed": dead, "good": good}.get(found["other"])
    if holds is not None:
        said = (found["other_version"], slots["b"])
        assert said == (holds.version, holds.digest), (
            f"the other slot is not what the host says of it [R7]: {found}"
        )


def versions_that_do_not_come_up(later, media, vendor, layout, shared) -> None:
    for name in ("dead", "ill"):
        release, machine = media.releases[name], later.machine
        code = later.code(f"hostctl update {media.path(name)}", 120)
        assert code == 0, f"{name}: a good bundle ended with {code}, 0 is due [R30]"
        mark = machine.console.end
        machine.reboot(timeout=60)
        later.enter(BACK_SECONDS)
        said = machine.console.since(mark)
        tries = said.count(media.words[name])
        # A try that the host spoilt counts, and the version said nothing in it.
        assert tries == TRIES or (tries < TRIES and SPOILT in said), (
            f"{name}: {tries} tries were made, {TRIES} are due [R31]"
        )
        runs(later, vendor.release1, "a", other="failed", other_version=release.version)
        due = {"a": vendor.release1.digest, "b": release.digest}
        assert later.slots(layout) == due, f"{name}: the slots are not what was written [R2]"
    keeps(later, shared)


def no_way_back_to_what_failed(later) -> None:
    assert later.code("hostctl rollback") == 6, "a version that failed was taken back [R32]"
