"""The unit beside the model: what is asked of one is asked of the other, and they are compared."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from bundles import Key, Vendor, Version, digest_of, image, trailer
from model import Model, Offer
from ordered import AXES, FIRST, FLASH, SLOTS, STATE, STATUS, STORE, has, key_of, verb
from station import Station

_REASONS = {number: name for name, number in STATUS.items()}
#: How often its status is asked for after a call that is no start.
_LOOKS = 0.3
#: Lines of a status that belong to one demand each.
_DEMANDED = {"floor", "epoch", "installs", "held", "staged"}
_DAY = 86400
START = 1_800_000_000


def told(status: int) -> str:
    return f"{status} ({_REASONS.get(status, 'done' if status == 0 else 'no status of the order')})"


class Bench:
    """`station` and `model`, side by side. `vendor` signs what is offered."""

    def __init__(self, station: Station, vendor: Vendor, about: dict, first: Version) -> None:
        self.station, self.vendor, self.first = station, vendor, first
        self.draw = random.Random()
        self.about = about
        self.model = Model(first, about, vendor.keys["main"])
        self.ending = AXES["ending"]
        self.due: set[str] = set()
        """Demands that are looked for wherever they show: a check's own, and in `mixes` all."""
        self.open = False
        """What came of a call is left open: there is nothing to compare in the end."""
        self._last = first.version
        self._ground = b""

    # -- units ------------------------------------------------------------------------------------

    def fresh(self) -> None:
        """A unit as it comes from production, started for the first time."""
        self.station.off()
        self.station.tidy()
        self.vendor.keys["main"] = self.vendor.keys["first"]
        self.open, self.due = False, set()
        self.vendor.signer = "spare" if has("keyring") else "main"
        data = bytearray(self.draw.randbytes(FLASH))
        data[STATE[0] : sum(STATE)] = (b"\0", b"\xff")[AXES["erased"] == "ones"] * STATE[1]
        place = SLOTS[FIRST][0]
        data[place : place + len(self.first.image)] = self.first.image
        if has("trailer"):
            end = sum(SLOTS[FIRST])
            data[end - 12 : end] = trailer(self.first.image)
        self._ground = bytes(data)
        self.station.flash.load(self._ground)
        self.model = Model(self.first, self.about, self.vendor.keys["main"])
        self._last = self.first.version
        self.clock(START)
        self.started("its first start", same=False)

    def clock(self, seconds: int) -> None:
        self.model.now = seconds
        if has("expiry"):
            self.station.set_clock(seconds)

    def version(self, lives: bool = True, files: dict | None = None, number: str = "") -> Version:
        """The next version; `files` are in its image besides."""
        number = number or self.above(self._last)
        self._last = max(self._last, number, key=key_of)
        size = self.draw.randrange(20_000, 120_000)
        one = Version(number, image(self.draw, number, lives, size, files or {}), lives)
        if has("board"):
            one.more["board"] = self.about["board"]
        if has("serials"):
            serial = int(self.about["serial"])
            one.more["units"] = f"{serial - 3}-{serial + self.draw.randrange(9)}"
        if has("wave"):
            one.more["wave"] = "100"
        if has("expiry"):
            one.more["made"] = str(START - 90 * _DAY)
            one.more["until"] = str(START + 900 * _DAY)
        if has("epoch"):
            one.more["epoch"] = str(self.model.epoch)
        return one

    def above(self, version: str) -> str:
        """One that is a little higher, often longer or shorter than its order suggests."""
        if AXES["version"] == "number":
            return str(int(version) + self.draw.choice((1, 1, 2, 9, 90)))
        major, minor, patch = key_of(version)
        if minor > 9000 or patch > 9000:
            return f"{major + 1}.0.0"
        return self.draw.choice(
            (f"{major}.{minor}.{patch + 1}", f"{major}.{minor + 9}.0", f"{major}.{minor + 1}.2")
        )

    def asks_for_all(self) -> None:
        """What one check asks for beside its own demand, all at once."""
        self.due = {*_DEMANDED, "log", "report", "watchdog", "torn"}

    # -- what is asked ----------------------------------------------------------------------------

    def ask(self, *words: str, seconds: float = 90) -> tuple[int, str]:
        """Status and output of the program; the first word is ours, not the drawn one."""
        status, said, wrong = self.station.call(verb(words[0]), *words[1:], seconds=seconds)
        if status:
            line = " ".join((verb(words[0]), *words[1:]))
            assert wrong.strip(), f"{line} ended with {status} and said nothing on standard error"
        return status, said

    def compare(self, words: tuple, got: tuple[int, str], wanted: tuple[int, str], what: str):
        line = f"{verb(words[0])} {' '.join(words[1:])}".strip() + (f" ({what})" if what else "")
        right = got[0] == wanted[0] or got[0] in self.model.also
        assert right, f"{line} ended with {told(got[0])}, not {told(wanted[0])}"
        assert got[1] == wanted[1], f"{line} printed {got[1][-300:]!r}, not {wanted[1][-300:]!r}"
        return line

    def do(self, *words: str, what: str = "", seconds: float = 90) -> int:
        """Ask for something, and compare what came of it with the model."""
        got = self.ask(*words, seconds=seconds)
        line = self.compare(words, got, self.model.do(*words), what)
        if words[0] not in ("log", "get"):
            self.look(line)
        return got[0]

    def install(
        self, one: Version, what: str = "", fault: str = "", word: str = "install", **how
    ) -> int:
        """Offer a bundle, and compare. `how` is what `Vendor.bundle` makes otherwise."""
        offer = self.offer(one, fault, **how)
        path = self.station.bring({f"x.{AXES['ending']}": self.vendor.bundle(one, **how)})
        words = (word, f"{path}/x.{AXES['ending']}")
        got = self.ask(*words)
        line = self.compare(words, got, self.model.do(word, offer=offer), what or one.version)
        self.look(line)
        return got[0]

    def offer(self, one: Version, fault: str = "", **how) -> Offer:
        base = how["base"].version if how.get("base") else ""
        return Offer(one, fault, self.vendor.keys["main"], base)

    def scan(self, files: dict[str, bytes | str], best: Offer | None, what: str = "") -> int:
        """Have a folder looked through, of which `best` is due."""
        words = ("scan", self.station.bring(files))
        got = self.ask(*words)
        line = self.compare(words, got, self.model.do("scan", offer=best), what)
        self.look(line)
        return got[0]

    def begin(self, one: Version, **how) -> None:
        """Install a version and start it."""
        assert self.install(one, **how) == 0
        self.restart()

    def adopt(self, one: Version, **how) -> None:
        """Install a version, start it and confirm it."""
        self.begin(one, **how)
        self.do("confirm")

    # -- what there is ----------------------------------------------------------------------------

    def status(self) -> dict[str, str]:
        status, said = self.ask("status")
        assert status == 0, f"{verb('status')} ended with {status}"
        try:
            if AXES["told_form"] == "json":
                found = json.loads(said)
                assert isinstance(found, dict)
                return found
            sign = "=" if AXES["told_form"] == "equals" else ": "
            rows = [row.partition(sign) for row in said.splitlines()]
            assert all(middle for _, middle, _ in rows)
            assert len({row[0] for row in rows}) == len(rows)
            return {key: value for key, _, value in rows}
        except (ValueError, AssertionError):
            raise AssertionError(f"{verb('status')} printed {said[-400:]!r}") from None

    def look(self, after: str) -> None:
        """`same`, now and then: each start looks too."""
        if self.draw.random() < _LOOKS:
            self.same(after)

    def same(self, after: str) -> None:
        """Its status is the model's. Lines of demands may be missing where they are not `due`."""
        found, wanted = self.status(), self.model.tell()
        for key in wanted:
            if key in _DEMANDED and key not in found and key not in self.due:
                continue
            fault = f"after {after}: {key} is {found.get(key)!r}, not {wanted[key]!r}"
            assert found.get(key) == wanted[key], fault
        more = sorted(found.keys() - wanted.keys())
        assert not more, f"after {after}: {verb('status')} says {more} besides"

    def deep(self) -> None:
        """What it is asked for besides its status."""
        if has("log") and "log" in self.due:
            self.do("log")
        for key in sorted(self.model.settings):
            self.do("get", key)

    def whole(self, after: str) -> None:
        """What stands in the flash is what the model says; the unit is off."""
        data, model = bytes(self.station.flash.data), self.model
        taken = [STATE, STORE]
        for name, slot in model.slots.items():
            start, size = SLOTS[name]
            if slot.state == "none" or name in model.lost:
                taken.append((start, size))
                continue
            assert slot.one
            here = slot.one.image
            there = data[start : start + len(here)]
            assert there == here, (
                f"after {after}: slot {name} does not hold the image of {slot.one.version}"
            )
            if has("trailer"):
                end = data[start + size - 12 : start + size]
                fault = f"after {after}: slot {name} ends with {end.hex()}, which is not its seal"
                assert end == trailer(here), fault
            taken.append((start, size))
        at = 0
        for start, size in [*sorted(taken), (FLASH, 0)]:
            assert data[at:start] == self._ground[at:start], (
                f"after {after}: the flash was changed between KiB {at // 1024} and "
                f"{start // 1024}, where it is the board's"
            )
            at = start + size

    # -- starts -----------------------------------------------------------------------------------

    def off(self, after: str = "a restart") -> None:
        self.station.off()
        self.whole(after)

    def restart(self, what: str = "a start") -> None:
        """The board starts again, and does what the model does."""
        self.off()
        self.started(what)

    def started(self, what: str, same: bool = True) -> None:
        got = self.station.on()
        fault = self.start_fault(self.model, got, what)
        assert not fault, fault
        if same:
            self.same(what)

    def start_fault(self, model: Model, got: tuple[int, str, str, str], what: str) -> str:
        """What is wrong with a start, after which the model is another; "" for nothing."""
        status, said, wrong, ended = got
        events = model.count
        wanted, output = model.do("boot")
        if status != wanted:
            return f"{what}: {verb('boot')} ended with {told(status)}, not {told(wanted)}"
        if wanted:
            return ""
        due = output.strip()
        if has("watchdog") and "watchdog" in self.due:
            due += f" {int(AXES['patience']) * 10 if model.on_trial else 0}"
        elif has("watchdog"):
            said = f"{said.rstrip('|').partition(' ')[0]}|"
        if said != f"{due}|":
            return f"{what}: {verb('boot')} printed {said[:200]!r}, and {due} is due"
        slot = model.slots[model.running]
        assert slot.one
        if has("report") and "report" in self.due:
            rows = [f"starts {model.running} {slot.one.version}"]
            if model.count > events:
                gone = [row.split() for row in model.events[events - model.count :]]
                names = {s.one.version: n for n, s in model.slots.items() if s.state == "failed"}
                rows = [f"gives up {names[row[2]]} {row[2]}" for row in gone] + rows
            if wrong.splitlines() != rows:
                return f"{what}: {verb('boot')} reported {wrong[-300:]!r}, and {rows} is due"
        due = f"{0 if slot.one.lives else 1} up {slot.one.version}"
        if model.running not in model.lost and ended != due:
            return f"{what}: the started system ended with {ended!r}, and {due!r} is due"
        return ""

    # -- cuts -------------------------------------------------------------------------------------

    def cuts(
        self,
        what: str,
        call: Callable[[], object],
        after: Callable[[Model], object],
        between: Callable[[Model], object] | None = None,
        count: int = 6,
        again: Callable[[], None] | None = None,
    ) -> None:
        """Have a call made, and the power go at drawn moments of it: the unit starts as before the
        call, as after it, or as `between`. It is left as after it. `again` is tried after one."""
        before = self.model.copy()
        log = self.station.flash.keep_log()
        call()
        self.station.flash.log = None
        done = before.copy()
        after(done)
        half = before.copy()
        if between:
            between(half)
        states = [*log.cuts(self.draw, count, has("torn") and "torn" in self.due)]
        tried = self.draw.randrange(len(states))
        for number, state in enumerate(states):
            last = number == len(states) - 1
            self.station.off()
            self.station.flash.load(state)
            some = [done] if last else [done, before, half] if between else [done, before]
            where = "just after" if last else f"in moment {number + 1} of"
            self.came_back([one.copy() for one in some], f"the power went {where} {what}")
            if number == tried and again and not last:
                again()

    def came_back(self, models: list[Model], what: str) -> None:
        """The unit starts as one of these, which becomes its model."""
        got, faults = self.station.on(), []
        for one in models:
            fault = self.start_fault(one, got, what)
            if not fault:
                self.model = one
                try:
                    self.same(what)
                    self.deep()
                    self.whole(what)
                    return
                except AssertionError as error:
                    fault = str(error)
            faults.append(fault)
        raise AssertionError("; or else ".join(dict.fromkeys(faults)))


def new_vendor() -> Vendor:
    """Keys of this run."""
    first = Key()
    keys = {"first": first, "main": first}
    for name in ("second", "spare", "stranger"):
        if name == "second" or has("keyring") or name == "stranger":
            keys[name] = Key()
    return Vendor(keys, random.SystemRandom().randbytes(32))


def new_first(draw: random.Random) -> tuple[Version, dict[str, str]]:
    """The version that units come with, and what they say of themselves."""
    number = str(draw.randrange(3, 99)) if AXES["version"] == "number" else (
        f"{draw.randrange(1, 4)}.{draw.randrange(8, 12)}.{draw.randrange(8)}"
    )  # fmt: skip
    one = Version(number, image(draw, number, True, draw.randrange(20_000, 90_000), {}))
    if has("epoch"):
        one.more["epoch"] = "1"
    about = {
        "board": draw.choice(("mast", "tower", "buoy")) + str(draw.randrange(2, 90)),
        "serial": str(draw.randrange(1000, 90_000)), "version": number,
        "size": str(len(one.image)), "digest": digest_of(one.image),
    }  # fmt: skip
    return one, about
