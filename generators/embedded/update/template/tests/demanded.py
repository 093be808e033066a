"""Demands of who a bundle is for and whom it is of, and of what is told and kept."""

from __future__ import annotations

import hashlib
import secrets

import bundles
from bench import START, Bench
from bundles import Version
from core import ends_with
from model import EVENTS
from ordered import AXES, NO_SIGNATURE, PATIENCE, SLOTS, STATUS, TRIES, WRITTEN, has, verb

# -- trust ----------------------------------------------------------------------------------------


def keyring(bench: Bench) -> None:
    bench.open = True
    for name in ("main", "spare"):
        bench.vendor.signer = name
        one = bench.version()
        path = bench.station.bring({"x": bench.vendor.bundle(one)}) + "/x"
        status, _ = bench.ask("install", path)
        assert status != STATUS["distrusted"], f"a bundle signed by {name} is not believed"
    spare = bench.vendor.keys["spare"]
    signs = (spare, *((bench.vendor.keys["second"],) if has("two-signatures") else ()))
    for what, name, reasons in (
        ("the name of another key", "main", "distrusted"),
        ("the name of no key", "nobody", "distrusted"),
        ("a name that is a path", "../keys/spare", NO_SIGNATURE),
    ):
        distrusted(bench, what, reasons, fields={"signer": name}, signs=signs)


def distrusted(bench: Bench, what: str, reasons: str | tuple[str, ...], **how) -> None:
    """A bundle that is not ours, whatever else is wrong with it."""
    data = bench.vendor.bundle(bench.version(), **how)
    ends_with(bench, data, reasons, f"a bundle with {what}")


def two_signatures(bench: Bench) -> None:
    first = bench.vendor.keys[bench.vendor.signer]
    second, stranger = bench.vendor.keys["second"], bench.vendor.keys["stranger"]
    for what, signs in (
        ("a second signature by a stranger", (first, stranger)),
        ("a first signature by a stranger", (stranger, second)),
        ("both the other way round", (second, first)),
        ("the same signature twice", (first, first)), ("one signature", (first,)),
        ("three signatures", (first, second, second)),
    ):  # fmt: skip
        reasons = "distrusted" if len(signs) == 2 else NO_SIGNATURE
        distrusted(bench, what, reasons, signs=signs)


def context(bench: Bench) -> None:
    one = bench.version()
    data, how = bench.vendor.payload(one, None)
    said = {"version": one.version, "size": str(len(one.image))}
    said |= {"digest": bundles.digest_of(one.image)} | one.more | how
    said |= {"signer": bench.vendor.signer} if has("keyring") else {}
    text = bundles.manifest(said)
    for what, signed in (
        ("the manifest alone", text),
        ("another prefix", AXES["prefix"].upper().encode() + b"\0" + text),
    ):
        bundle = bundles.container(text, bench.vendor.signature(text, signed=signed), data)
        path = bench.station.bring({"x": bundle}) + "/x"
        status, _ = bench.ask("install", path)
        assert status == STATUS["distrusted"], f"a signature of {what}: {status}"


# -- what an image is -----------------------------------------------------------------------------


def tree(bench: Bench) -> None:
    size = int(AXES["piece"])
    one = bench.version()
    pad = -len(one.image) % size
    whole = Version(one.version, one.image + bytes(pad), more=one.more)
    bench.begin(whole)
    bench.do("confirm")
    other = bench.version()
    bench.install(
        other, "the digest of the whole", "damaged", fields={"digest": bundles.digest(other.image)}
    )


def enciphered(bench: Bench) -> None:
    bench.begin(bench.version())
    bench.do("confirm")
    one = bench.version()
    bench.install(one, "another iv", "unreadable", fields={"iv": secrets.token_hex(16)})


def trailer(bench: Bench) -> None:
    for _ in range(2):
        bench.adopt(bench.version())
    bench.off("two versions")
    bench.started("a start")
    room = min(SLOTS[name][1] for name in WRITTEN)
    one = bench.version()
    one.image += bytes(room - 11 - len(one.image))
    bench.install(one, "no room for the seal", "too_large")


# -- who it is for --------------------------------------------------------------------------------


def hold(bench: Bench) -> None:
    bench.due.add("held")
    bench.do("hold")
    bench.install(bench.version(), "while the unit is held")
    bench.restart()
    bench.install(bench.version(), "while the unit is held")
    bench.do("free")
    assert bench.install(bench.version()) == 0


def without(bench: Bench, *names: str) -> None:
    """Manifests that lack what each has to have."""
    for name in names:
        bench.install(bench.version(), f"without {name}", "form", without=(name,))


def board(bench: Bench) -> None:
    without(bench, "board")
    mine = bench.about["board"]
    for other in (mine + "0", mine[:-1], mine.upper()):
        bench.install(bench.version().but(board=other), f"for the board {other}")
    assert bench.install(bench.version()) == 0


def serials(bench: Bench) -> None:
    without(bench, "units")
    mine = int(bench.about["serial"])
    for units in (
        f"{mine + 1}-{mine + 50}",
        f"1-{mine - 1}",
        f"{mine}0,1{mine}",
        f"{mine + 1},7-9",
    ):
        bench.install(bench.version().but(units=units), f"for the units {units}")
    for units in (f"{mine}", f"3,{mine}-{mine + 1}", f"7-9,{mine - 1}-{mine},100000"):
        assert bench.install(bench.version().but(units=units), f"for the units {units}") == 0


def wave(bench: Bench) -> None:
    without(bench, "wave")
    one = bench.version()
    while True:
        said = f"{bench.about['serial']}:{one.version}".encode()
        turn = int(hashlib.sha256(said).hexdigest()[:8], 16) % 100
        if 3 < turn < 96:
            break
        one = bench.version()
    bench.install(one.but(wave=str(turn)), f"in wave {turn}, which is one too early")
    assert bench.install(one.but(wave=str(turn + 1)), f"in wave {turn + 1}, which is its own") == 0


def expiry(bench: Bench) -> None:
    without(bench, "made", "until")
    day = 86400
    one = bench.version().but(until=str(START - day))
    bench.install(one, "that expired yesterday")
    late = bench.version().but(made=str(START + 300 * day))
    assert bench.install(late) == 0
    bench.clock(START - 400 * day)
    one = bench.version().but(until=str(START + 200 * day))
    bench.install(one, "that expired before another was made, with a clock that is behind")
    bench.restart()
    bench.do("confirm")
    bench.install(one, "that expired before another was made, after a start")
    assert bench.install(bench.version().but(until=str(START + 400 * day))) == 0


def needs(bench: Bench) -> None:
    mine = bench.first.version
    middle = bench.version()
    one = bench.version()
    one.more["needs"] = middle.version
    bench.install(one, f"that needs {middle.version} beside {mine}")
    assert bench.install(middle) == 0
    bench.install(one, f"that needs {middle.version}, which waits")
    bench.restart()
    bench.do("confirm")
    assert bench.install(one, f"that needs {middle.version}, which is there") == 0
    other = bench.version()
    other.more["needs"] = mine
    assert bench.install(other, f"that needs {mine}, which is long past") == 0


def floor(bench: Bench) -> None:
    bench.due.add("floor")
    mine = bench.first
    low, high = bench.version(), bench.version()
    bench.install(Version(mine.version, low.image, more=low.more), "of the first version")
    bench.begin(high)
    bench.restart()
    bench.do("confirm")
    bench.install(low, "below the floor")
    bench.install(high, "at the floor")
    bench.restart()
    bench.install(low, "below the floor, after a start")
    lower, dead = bench.version(), bench.version(lives=False)
    bench.begin(dead)
    for _ in range(TRIES):
        bench.restart("a start after a try in vain")
    assert bench.install(lower, "above the floor, below one that was tried in vain") == 0


def epoch(bench: Bench) -> None:
    bench.due.add("epoch")
    without(bench, "epoch")
    bench.adopt(bench.version())
    high = bench.version().but(epoch="3")
    bench.begin(high)
    bench.do("confirm")
    bench.install(bench.version().but(epoch="2"), "of an epoch that is over")
    bench.restart()
    assert bench.install(bench.version().but(epoch="3")) == 0


def quarantine(bench: Bench) -> None:
    dead = bench.version(lives=False)
    bench.begin(dead)
    for _ in range(TRIES):
        bench.restart("a start after a try in vain")
    bench.install(dead, "of a version that was tried in vain")
    other = bench.version()
    bench.adopt(other)
    bench.install(dead, "of a version that was tried in vain, two updates later")


# -- starting -------------------------------------------------------------------------------------


def watchdog(bench: Bench) -> None:
    bench.due.add("watchdog")
    bench.begin(bench.version())
    bench.restart("another try")
    bench.do("confirm")
    bench.restart("a start of what was confirmed")


_GOOD = "#!/bin/sh\ntouch /run/board-mark\n"
_LATE = "#!/bin/sh\ntouch /run/board-late\n"
_BAD = "#!/bin/sh\necho no\nexit 3\n"
_SLOW = "#!/bin/sh\ntrap '' TERM INT HUP\n(trap '' TERM; sleep 300) &\nsleep 300\nexit 0\n"


def health(bench: Bench) -> None:
    bench.begin(bench.version(files={"health/10-a": _GOOD, "health/20-b": _GOOD}))
    status(bench, True, "whose programs are content")
    for what, text in (("ends otherwise", _BAD), ("does not end", _SLOW)):
        files = {"health/10-a": _GOOD, "health/20-b": text, "health/30-c": _LATE}
        bench.begin(bench.version(files=files))
        limit = bench.station.deadline(PATIENCE + 25)
        status(bench, False, f"one of whose programs {what}")
        assert limit.remaining() > 0, f"it was waited too long for a program that {what}"
        late = bench.station.run("ls /run/board-late")[0] == 0
        assert not late, f"another program was called after one that {what}"
        left = bench.station.run("ps | grep -c '[s]leep 300'")[1].strip()
        assert left == "0", "what a program had started still runs"
        bench.do("confirm")
    status(bench, True, "that is confirmed")


def status(bench: Bench, good: bool, what: str) -> None:
    got = bench.ask("health", seconds=120)
    wanted = bench.model.do("health", good)
    bench.compare(("health",), got, wanted, f"of a version {what}")
    bench.same(verb("health"))


def report(bench: Bench) -> None:
    """Compared at each start."""
    bench.due.add("report")
    bench.begin(bench.version(lives=False))
    for _ in range(TRIES):
        bench.restart("a start after a try in vain")
    bench.restart()


# -- going back, and what is kept -----------------------------------------------------------------


def rollback(bench: Bench) -> None:
    bench.do("rollback", what="of a new unit")
    for _ in range(2):
        bench.adopt(bench.version())
    bench.do("rollback")
    bench.restart("a start after going back")
    bench.do("rollback", what="and forth")
    assert bench.install(bench.version(), "after going back, without a start between") == 0
    bench.do("rollback", what="while a version waits")
    bench.restart()
    bench.do("rollback", what="while a version is on trial")
    bench.do("confirm")
    bench.do("rollback", what="when it is confirmed")
    bench.restart()


def reset(bench: Bench) -> None:
    bench.do("reset", what="of a new unit")
    for _ in range(2):
        bench.adopt(bench.version())
    bench.do("reset")
    bench.restart()
    assert bench.install(bench.version()) == 0
    bench.do("reset", what="while a version waits")
    bench.restart()
    bench.begin(bench.version())
    bench.do("reset", what="while a version is on trial")


def settings(bench: Bench) -> None:
    bench.do("get", "tone", what="which was never set")
    bench.do("set", "tone", "deep = 7: ok")
    bench.do("set", "level", "3")
    bench.do("set", "tone", "x")
    bench.begin(bench.version(lives=False))
    bench.do("set", "level", "4")
    for _ in range(TRIES):
        bench.restart("a start after a try in vain")
    bench.deep()
    bench.cuts(
        "a call that sets", lambda: bench.do("set", "zone", "north"),
        lambda model: model.do("set", "zone", "north"), count=3,
    )  # fmt: skip


def settings_of_version(bench: Bench) -> None:
    bench.do("set", "tone", "deep = 7: ok")
    assert bench.install(bench.version(lives=False)) == 0
    bench.do("set", "level", "3")
    bench.restart("the first try")
    bench.do("set", "level", "4")
    bench.do("set", "zone", "north")
    for _ in range(TRIES):
        bench.restart("a start after a try in vain")
    bench.deep()
    bench.do("get", "zone", what="which was set on trial")
    bench.begin(bench.version())
    bench.do("set", "level", "5")
    bench.do("confirm")
    bench.restart()
    bench.deep()


def log(bench: Bench) -> None:
    bench.due.add("log")
    bench.do("log")
    bench.adopt(bench.version())
    bench.begin(bench.version(lives=False))
    for _ in range(TRIES):
        bench.restart("a start after a try in vain")
    bench.do("log")
    for _ in range(5):
        bench.adopt(bench.version())
    assert bench.model.count > EVENTS, "the first events are to be gone"
    bench.do("log")
    one = bench.version()
    offer = bench.offer(one)
    bench.cuts(
        "an installation", lambda: bench.install(one),
        lambda model: model.do("install", offer=offer), lambda model: model.overwritten(), 3,
    )  # fmt: skip


def counter(bench: Bench) -> None:
    bench.due.add("installs")
    for _ in range(2):
        bench.adopt(bench.version())
    room = min(SLOTS[name][1] for name in WRITTEN)
    one = bench.version()
    one.image += bytes(room + 1 - len(one.image))
    bench.install(one, "too large", "too_large")
    bench.restart()
