"""What an updater as ordered does: a call on a state gives a status, an output, and a state.

It shares nothing with any updater: versions are as they were made (`bundles.Version`), and what
stands in the flash is left to the bench, which compares it with `slots`.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, replace

from bundles import Key, Version
from ordered import FIRST, GOLDEN, LAYOUT, SLOTS, STATUS, TRIES, WRITTEN, has, key_of, kind

#: How many events and versions that failed are told of, and how many settings there may be.
EVENTS, BAD, SETTINGS = 12, 8, 8


class No(Exception):
    """The call is refused; reasons in `also` are as right: the order does not tell them apart."""

    def __init__(self, reason: str, *also: str) -> None:
        super().__init__(reason)
        self.reason, self.also = reason, also


@dataclass
class Offer:
    """A bundle. `fault`: what is wrong with it for any unit; `key`: the main key that signed
    it; `base`: of which version it is a delta."""

    one: Version
    fault: str = ""
    key: Key | None = None
    base: str = ""


@dataclass
class Slot:
    """`state` is one of none, ready, good, failed."""

    state: str
    one: Version | None = None


class Model:
    """`now` is the unit's clock; `about` what /etc/unit says; `up` the slot whose system runs."""

    def __init__(self, first: Version, about: dict[str, str], key: Key) -> None:
        self.about, self.key = about, key
        self.slots = {name: Slot("none") for name in SLOTS}
        self.slots[FIRST] = Slot("good", first)
        self.due = self.running = FIRST
        self.tries = 0
        self.floor, self.epoch = first.version, 1
        self.made, self.now = 0, 0
        self.bad: list[str] = []
        self.events: list[str] = []
        self.count = self.installs = 0
        self.settings: dict[str, str] = {}
        self.before: dict[str, str] = {}
        self.held = False
        self.staged: Offer | None = None
        self.lost: set[str] = set()
        self.also: set[int] = set()
        self.writes = ""

    def copy(self) -> Model:
        other = copy.copy(self)
        other.slots = {name: copy.copy(one) for name, one in self.slots.items()}
        other.bad, other.events = [*self.bad], [*self.events]
        other.settings, other.before = dict(self.settings), dict(self.before)
        other.lost = set(self.lost)
        return other

    def do(self, word: str, *names, offer: Offer | None = None) -> tuple[int, str]:
        """Status and standard output of a call; a refused one changes nothing. `also` has other
        statuses that are as right."""
        before = self.copy()
        self.also = set()
        try:
            more = (offer,) if word in ("install", "stage", "scan") else ()
            return 0, getattr(self, f"_{word}")(*names, *more) or ""
        except No as no:
            self.__dict__.update(before.__dict__)
            self.also = {STATUS[reason] for reason in no.also}
            return STATUS[no.reason], ""

    # -- what there is ------------------------------------------------------------------------

    @property
    def waits(self) -> str:
        """The slot with a version that waits to be tried or is on trial."""
        return next((name for name, one in self.slots.items() if one.state == "ready"), "")

    @property
    def on_trial(self) -> bool:
        return self.running == self.waits and self.tries > 0

    @property
    def target(self) -> str:
        """Where a version is installed."""
        if LAYOUT == "three" and self.waits:
            return self.waits
        free = [name for name in WRITTEN if name != self.running]
        if LAYOUT == "three":
            return [*(name for name in free if self.slots[name].state != "good"), *free][0]
        return free[0] if LAYOUT == "pair" else WRITTEN[0]

    def good(self) -> str:
        """The slot that is due, as things are."""
        others = [name for name in SLOTS if name != GOLDEN or LAYOUT == "pair"]
        for name in (self.due, *others, *([GOLDEN] if LAYOUT != "pair" else [])):
            if self.slots[name].state == "good":
                return name
        raise No("nothing")

    def next(self) -> str:
        if self.waits and self.tries < TRIES:
            return self.waits
        return self.good()

    def tell(self) -> dict[str, str]:
        told = {
            "running": self.running, "trial": str(self.tries if self.on_trial else 0),
            "next": self.next(),
        }  # fmt: skip
        for name, one in self.slots.items():
            version = one.one.version if one.one and one.state != "none" else "-"
            told[name] = f"{kind(one.state)} {version}"
        if has("floor"):
            told["floor"] = self.floor
        if has("epoch"):
            told["epoch"] = str(self.epoch)
        if has("counter"):
            told["installs"] = str(self.installs)
        if has("hold"):
            told["held"] = "yes" if self.held else "no"
        if has("staged"):
            told["staged"] = self.staged.one.version if self.staged else "-"
        return told

    def _event(self, word: str, version: str) -> None:
        self.count += 1
        self.events = [*self.events, f"{self.count} {word} {version}"][-EVENTS:]

    # -- installing ---------------------------------------------------------------------------

    def judge(self, offer: Offer) -> None:
        """Refuse a bundle, for the first reason that applies."""
        if offer.fault != "unreadable":
            self._judge(offer)
            return
        # A payload that cannot be read has another form, or is not what the manifest says.
        try:
            self._judge(replace(offer, fault="damaged"))
        except No as no:
            raise No(no.reason, "form") from None

    def _judge(self, offer: Offer) -> None:
        one, more = offer.one, offer.one.more
        if offer.fault == "form":
            raise No("form")
        if offer.fault == "distrusted" or (offer.key or self.key) is not self.key:
            raise No("distrusted")
        if has("board") and more["board"] != self.about["board"]:
            raise No("not_this_board")
        if has("serials") and not self._addressed(more["units"]):
            raise No("not_this_unit")
        if has("wave"):
            said = f"{self.about['serial']}:{one.version}".encode()
            if int(hashlib.sha256(said).hexdigest()[:8], 16) % 100 >= int(more["wave"]):
                raise No("not_yet")
        if has("expiry") and max(self.now, self.made) > int(more["until"]):
            raise No("expired")
        good = [s.one for s in self.slots.values() if s.state == "good" and s.one]
        if has("needs") and more.get("needs"):
            wanted = key_of(more["needs"])
            if all(key_of(other.version) < wanted for other in good):
                raise No("needs_first")
        if has("floor") and key_of(one.version) <= key_of(self.floor):
            raise No("too_low")
        if has("epoch") and int(more["epoch"]) < self.epoch:
            raise No("epoch_low")
        if has("quarantine") and one.version in self.bad:
            raise No("known_bad")
        if offer.base and all(other.version != offer.base for other in good):
            raise No("no_base")
        if offer.fault:
            raise No(offer.fault)

    def _addressed(self, units: str) -> bool:
        serial = int(self.about["serial"])
        for part in units.split(","):
            low, _, high = part.partition("-")
            if int(low) <= serial <= int(high or low):
                return True
        return False

    def _install(self, offer: Offer) -> None:
        self._may()
        self.judge(offer)
        self.overwritten()
        self.written(offer)

    def _may(self) -> None:
        if self.on_trial:
            raise No("on_trial")
        if self.held:
            raise No("held")

    def overwritten(self) -> None:
        """The slot begins to be written."""
        target = self.target
        self.slots[target] = Slot("none")
        self.lost.discard(target)
        self.tries = 0
        if self.due == target:
            self.due = self.running if self.running != target else GOLDEN
        self.writes = target

    def written(self, offer: Offer) -> None:
        self.slots[self.writes] = Slot("ready", offer.one)
        self.installs += 1
        if has("expiry"):
            self.made = max(self.made, int(offer.one.more["made"]))
        self._event("installed", offer.one.version)

    def _scan(self, offer: Offer | None) -> None:
        """`offer`: the one that is due of those in the folder."""
        self._may()
        if not offer:
            raise No("nothing")
        self._install(offer)

    def _stage(self, offer: Offer) -> None:
        self.judge(offer)
        self.staged = offer

    def _apply(self) -> None:
        self._may()
        if not self.staged:
            raise No("nothing")
        offer = self.staged
        self._install(offer)
        self.staged = None

    # -- starting -----------------------------------------------------------------------------

    def given_up(self, name: str) -> None:
        one = self.slots[name]
        one.state = "failed"
        assert one.one
        self._event("failed", one.one.version)

    def _boot(self) -> str:
        """With `spoilt-slot`, the slots in `lost` hold what is no image any more."""
        waits = self.waits
        if waits and has("spoilt-slot") and waits in self.lost:
            self.given_up(waits)
            self.tries, waits = 0, ""
        if waits and self.tries < TRIES:
            if self.tries == 0:
                self.before = dict(self.settings)
            self.tries += 1
            self.running = waits
            return self._started(waits)
        if waits:
            self.given_up(waits)
            self.tries = 0
            version = self.slots[waits].one.version
            self.bad = [*(one for one in self.bad if one != version), version][-BAD:]
            if has("settings-of-version"):
                self.settings = dict(self.before)
        name = self.good()
        while has("spoilt-slot") and name in self.lost and (name != GOLDEN or LAYOUT == "pair"):
            self.given_up(name)
            name = self.good()
        self.due = self.running = name
        return self._started(name)

    def _started(self, name: str) -> str:
        return f"{name}\n"

    def _confirm(self) -> None:
        if not self.on_trial:
            return
        slot = self.slots[self.running]
        slot.state, self.due, self.tries = "good", self.running, 0
        one = slot.one
        assert one
        if key_of(one.version) > key_of(self.floor):
            self.floor = one.version
        if has("epoch"):
            self.epoch = max(self.epoch, int(one.more["epoch"]))
        if one.next_key:
            self.key = one.next_key
        self._event("confirmed", one.version)

    def _health(self, good: bool) -> None:
        if self.on_trial and not good:
            raise No("unhealthy")
        self._confirm()

    # -- words --------------------------------------------------------------------------------

    def _rollback(self) -> None:
        if self.on_trial:
            raise No("on_trial")
        if self.waits:
            raise No("nothing")
        others = [name for name in SLOTS if name != self.running]
        if LAYOUT == "three":
            others = [name for name in others if name != GOLDEN]
        also: tuple[str, ...] = ()
        for name in others:
            slot = self.slots[name]
            if slot.state != "good" or not slot.one:
                continue
            if has("epoch") and int(slot.one.more.get("epoch", "1")) < self.epoch:
                also = ("epoch_low",)
                continue
            self.due = name
            self._event("back", slot.one.version)
            return
        raise No("nothing", *also)

    def _hold(self) -> None:
        self.held = True

    def _free(self) -> None:
        self.held = False

    def _set(self, name: str, value: str) -> None:
        self.settings[name] = value

    def _get(self, name: str) -> str:
        if name not in self.settings:
            raise No("nothing")
        return f"{self.settings[name]}\n"

    def _reset(self) -> None:
        if self.on_trial:
            raise No("on_trial")
        self.settings, self.held, self.staged = {}, False, None
        for name in WRITTEN:
            if name != self.running or self.slots[name].state == "ready":
                self.slots[name] = Slot("none")
        self.tries = 0
        self.due = self.running if self.slots[self.running].state == "good" else GOLDEN

    def _log(self) -> str:
        return "".join(f"{row}\n" for row in self.events)
