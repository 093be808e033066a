"""Sequences of calls that are drawn for each verification, with cuts in them."""

from __future__ import annotations

import core
from bench import Bench
from model import SETTINGS
from ordered import TRIES, has, key_of


class Mix:
    """What may come next hangs together in all ways that were ordered."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.draw = bench, bench.draw
        self.old: list = []

    def version(self):
        """A version that lives or does not, with whatever manifests may say here."""
        bench, draw = self.bench, self.draw
        if self.old and draw.random() < 0.2:
            return draw.choice(self.old[-3:])
        one = bench.version(lives=draw.random() < 0.75)
        if has("needs") and draw.random() < 0.5:
            one.more["needs"] = (
                bench.model.floor if draw.random() < 0.7 else bench.above(one.version)
            )
        if has("epoch") and draw.random() < 0.4:
            one.more["epoch"] = str(max(1, bench.model.epoch + draw.choice((-1, 1, 1))))
        if has("board") and draw.random() < 0.1:
            one.more["board"] = "other"
        if has("serials") and draw.random() < 0.15:
            one.more["units"] = "1-99,100000"
        if has("wave") and draw.random() < 0.4:
            one.more["wave"] = str(draw.randrange(1, 100))
        self.old.append(one)
        return one

    def install(self) -> None:
        bench, draw, one = self.bench, self.draw, self.version()
        dice, how, fault = draw.random(), {}, ""
        if dice < 0.12:
            how, fault = {"payload": draw.randbytes(900)}, "unreadable"
        elif dice < 0.2:
            stranger = bench.vendor.keys["stranger"]
            how, fault = {"signs": (stranger, stranger)[: 1 + has("two-signatures")]}, "distrusted"
        elif has("delta") and dice < 0.5:
            good = [s.one for s in bench.model.slots.values() if s.state == "good" and s.one]
            how = {"base": draw.choice(good)}
        offer = bench.offer(one, fault, **how)
        trial = bench.model.copy()
        if not fault and trial.do("install", offer=offer)[0] == 0 and draw.random() < 0.35:
            bench.cuts(
                f"the installation of {one.version}", lambda: bench.install(one, **how),
                lambda model: model.do("install", offer=offer),
                lambda model: model.overwritten(), 2,
            )  # fmt: skip
        else:
            bench.install(one, fault=fault, **how)

    def scan(self) -> None:
        bench = self.bench
        some = [self.version() for _ in range(2)]
        if some[0].version == some[1].version:
            del some[0]
        files = {f"{n}.{bench.ending}": bench.vendor.bundle(one) for n, one in enumerate(some)}
        best = None
        for one in some:
            trial = bench.model.copy()
            offer = bench.offer(one)
            if trial.do("install", offer=offer)[0] == 0 and (
                not best or key_of(one.version) > key_of(best.one.version)
            ):
                best = offer
        bench.scan(files, best)

    def step(self) -> None:
        bench, draw, model = self.bench, self.draw, self.bench.model
        if model.on_trial:
            dice = draw.random()
            slot = model.slots[model.running]
            if dice < 0.15:
                self.install()
            elif dice < 0.6 and slot.one and slot.one.lives:
                bench.do("confirm")
            else:
                bench.restart()
            return
        found = [self.install] * 4 + [self.start] * 4
        if has("rollback"):
            found += [lambda: bench.do("rollback")] * 2
        if has("medium"):
            found += [self.scan]
        if has("staged"):
            found += [lambda: bench.install(self.version(), word="stage")]
            found += [lambda: bench.do("apply")] * 2
        if has("hold"):
            found += [lambda: bench.do("free" if model.held else "hold")]
        if has("settings") or has("settings-of-version"):
            found += [self.set]
        if has("reset"):
            found += [lambda: bench.do("reset")]
        draw.choice(found)()

    def start(self) -> None:
        bench, model = self.bench, self.bench.model
        if model.waits and self.draw.random() < 0.4:
            bench.off()
            bench.cuts(
                "a start", lambda: bench.started("a start", same=False),
                lambda one: one.do("boot"), count=2,
            )  # fmt: skip
        else:
            bench.restart()

    def set(self) -> None:
        names = ["tone", "level", "name", "zone"]
        assert len(names) <= SETTINGS
        self.bench.do("set", self.draw.choice(names), f"{self.draw.randrange(16**8):x} is it")


def pairs(bench: Bench) -> None:
    """Demands that are easily met one by one, and not together."""
    bench.asks_for_all()
    sets = has("settings") or has("settings-of-version")
    for _ in range(2):
        bench.adopt(bench.version())
    if has("staged"):
        bench.install(bench.version(), word="stage")
    if sets:
        bench.do("set", "tone", "a b")
    if has("hold"):
        bench.do("hold")
        if has("staged"):
            bench.do("apply", what="while the unit is held")
    if has("rollback"):
        bench.do("rollback")
    if has("reset"):
        bench.do("reset", what="when all sorts of things were asked of the unit")
        if sets:
            bench.do("get", "tone", what="after a reset")
    bench.restart()
    if has("hold"):
        bench.do("free")
    high = bench.version()
    if has("epoch"):
        high.more["epoch"] = str(bench.model.epoch + 2)
    bench.adopt(high)
    if has("rollback"):
        bench.do("rollback", what="beside an epoch that has begun" if has("epoch") else "")
    if has("staged"):
        bench.do("apply", what="of what was kept all the while")
    bench.restart()
    bench.deep()


def sequence(bench: Bench, steps: int) -> None:
    bench.asks_for_all()
    mix = Mix(bench)
    for number in range(steps):
        mix.step()
        if number % 5 == 4:
            bench.deep()
    for _ in range(TRIES + 1 if bench.model.waits and not bench.model.on_trial else 1):
        bench.restart()
    bench.deep()


def after_all(bench: Bench) -> None:
    """Cuts in one update after the other, until each slot was written."""
    bench.asks_for_all()
    for number in range(3):
        one = bench.version()
        if number % 2:
            core.cut_install(bench, one, 3)
        else:
            bench.begin(one)
        bench.do("confirm")
        bench.restart()
