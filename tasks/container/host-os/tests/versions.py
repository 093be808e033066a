"""Updates of the whole, and ways back: [R30] to [R33]."""

from __future__ import annotations

import json
import secrets
import time

from confinement import nothing_else_listens
from media import ILL, TRACES
from questions import keeps, root_cannot_be_written, runs

from benchflow.bench.guest import SPOILT

#: [R31], and what two tries and a start may take: two scripts of ten seconds and three starts.
TRIES = 2
BACK_SECONDS = 240


def false_bundles(later, media, layout, shared) -> None:
    later.up()
    before = (later.slots(layout), later.status()[0])
    _refused(later, media, media.statuses)
    code = later.code("hostctl update /carrier/no-such-file")
    assert code == 1, f"a missing bundle ends with {code}, 1 is due [R30]"
    assert (later.slots(layout), later.status()[0]) == before, (
        "a false bundle changed something [R30]"
    )
    assert later.status()[0]["other"] == "none", later.status()[0]


def _refused(later, media, due) -> None:
    said = {name: later.code(f"hostctl update {media.path(name)}", 120) for name in due}
    wrong = {name: code for name, code in said.items() if code != due[name]}
    assert not wrong, f"other statuses than [R30]'s: {wrong}; due are {due}"


def it_is_installed(later, media, layout, vendor, shared, nonce) -> None:
    keeps(later, shared)
    word = nonce()
    later.ask(8001, f"echo {word} >/tmp/mark")
    good = media.releases["good"]
    folder, _, name = media.path("good").rpartition("/")
    began = time.monotonic()
    code = later.code(f"cd {folder} && hostctl update {name}", 120)
    assert code == 0, f"a good bundle ended with {code}, 0 is due [R30]"
    shared["seconds"] = time.monotonic() - began
    code = later.code("hostctl rollback")
    assert code == 6, f"rollback to a version that was not tried ended with {code} [R32]"
    found = later.status()[0]
    said = (found["version"], found["other"], found["other_version"])
    assert said == (1, "ready", good.version), found
    assert later.slots(layout) == {"a": vendor.release1.digest, "b": good.digest}, "the slots"
    assert later.ask(8001, "cat /tmp/mark") == word, "an update stopped a container [R30]"


def the_next_start_runs_it(later, media, layout, vendor, shared) -> None:
    """The power goes, and comes again: what was installed is safe on the disk."""
    mark = later.machine.console.end
    later.machine.power_cut()
    later.machine.boot()
    later.await_word(media.words["good"], 90 + 10 * len(media.more))
    said = later.machine.console.since(mark).partition(media.words["good"])[0]
    assert "login:" not in said, f"on trial there is a login [R31]: {said[-300:]!r}"
    later.enter()
    good = media.releases["good"]
    runs(later, good, "b", other="good", other_version=1)
    _trial(later, media)
    # Until the next start, another declaration was in force.
    found = later.status()[1]
    assert set(found) == {"web", "eater"}, f"site.json names web and eater [R26, R31]: {set(found)}"
    keeps(later, shared)
    root_cannot_be_written(later, layout.numbers.get("slot-b", 2))
    _refused(later, media, media.stale)
    assert later.slots(layout) == {"a": vendor.release1.digest, "b": good.digest}, "the slots"


def _trial(later, media) -> None:
    """What the scripts have seen: [R31]."""
    order = later.say(f"cat {TRACES}").split()
    due = sorted(path.rpartition("/")[2] for path in media.more)
    assert order == due, f"health scripts ran as {order}, {due} is due [R31]"
    user = later.say(f"cat {TRACES}-user").split()
    assert user[1:3] == ["0", "0"], f"health scripts do not run as root: {user} [R31]"
    text = later.say(f"cat {TRACES}-status")
    try:
        found = json.loads(text)
        said = (found["host"]["state"], found["containers"]["web"]["state"])
    except (ValueError, KeyError, TypeError, RecursionError):
        said = text[:300]
    assert said == ("trial", "running"), (
        f"to a health script the state and web's are {said}, trial and running are due [R7, R31]"
    )


def _good_runs(later, media) -> None:
    """See to it, whatever earlier checks have come to."""
    later.up()
    good, found = media.releases["good"], later.status()[0]
    if found["version"] == good.version:
        return
    seconds = 60
    if (found["other"], found["other_version"]) == ("good", good.version):
        assert later.code("hostctl rollback") == 0, "the way back was refused [R32]"
    else:
        seconds += 90 + 10 * len(media.more)
        code = later.code(f"hostctl update {media.path('good')}", 120)
        assert code == 0, f"a good bundle ended with {code}, 0 is due [R30]"
    later.restart(seconds)
    assert later.status()[0]["version"] == good.version, "the good version does not start [R31]"


def _asked(later) -> int:
    """How often web was asked to end."""
    return len(later.ask(8001, "cat /keep/ends 2>/dev/null; :").split())


def rollback(later, media, layout, vendor, shared) -> None:
    """There, and back again."""
    _good_runs(later, media)
    keeps(later, shared)
    good = media.releases["good"]
    for release, slot, other in ((vendor.release1, "a", good), (good, "b", vendor.release1)):
        asked = _asked(later)
        assert later.code("hostctl rollback") == 0, "the way back was refused [R32]"
        later.restart()
        runs(later, release, slot, other="good", other_version=other.version)
        keeps(later, shared)
        assert _asked(later) > asked, "reboot did not ask web to end [R27]"
    assert later.slots(layout) == {"a": vendor.release1.digest, "b": good.digest}, "the slots"


def the_power_goes_while_it_is_written(later, media, layout, vendor, shared) -> None:
    """At a moment drawn from the time that it takes. The good one runs, so slot a is written."""
    _good_runs(later, media)
    good, dead = media.releases["good"], media.releases["dead"]
    later.machine.send(f"hostctl update {media.path('dead')}\n")
    time.sleep(max(0.5, shared.get("seconds", 5) * secrets.randbelow(900) / 1000))
    later.machine.power_cut()
    later.start(120)
    found, slots = later.status()[0], later.slots(layout)
    assert found["version"] == good.version, f"after a power cut this runs: {found} [R33]"
    assert slots["b"] == good.digest, "the slot that ran was written [R2]"
    holds = {"ready": dead, "failed": dead, "good": vendor.release1}.get(found["other"])
    if holds is not None:
        said = (found["other_version"], slots["a"])
        assert said == (holds.version, holds.digest), (
            f"the other slot is not what the host says of it [R7]: {found}"
        )


def versions_that_do_not_come_up(later, media, vendor, layout, shared) -> None:
    _good_runs(later, media)
    good = media.releases["good"]
    for name in ILL:
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
        runs(later, good, "b", other="failed", other_version=release.version)
        due = {"a": release.digest, "b": good.digest}
        assert later.slots(layout) == due, f"{name}: the slots are not what was written [R2]"
    keeps(later, shared)


def no_way_back_to_what_failed(later, media) -> None:
    assert later.code("hostctl rollback") == 6, "a version that failed was taken back [R32]"
    later.restart()
    last = media.releases[ILL[-1]]
    runs(later, media.releases["good"], "b", other="failed", other_version=last.version)
    nothing_else_listens(later, (8001,))
