"""Repositories and sequences of commands that are drawn for each verification."""

from __future__ import annotations

import random
import time

import versions
from bench import Bench
from forms import Package
from model import Unspecified, summed
from ordered import has
from station import TOPS, WITHOUT

from benchflow.boot import Image


class Mix:
    """About twenty packages that change from index to index; what one draws hangs together in all
    ways that were ordered, and in no way that was not."""

    def __init__(self, bench: Bench, draw: random.Random, count: int = 14) -> None:
        self.bench, self.draw = bench, draw
        self.names = sorted(bench.word("mx") for _ in range(count))
        self.roles = [bench.word("role") for _ in range(2)]
        self.top = bench.word("mixed")
        self.at = dict.fromkeys(self.names, 0)
        self.versions = {name: versions.rising(draw, 6) for name in self.names}
        self.moving = 0
        self.same: dict[str, str] = {}
        accounts = [bench.word("acc") for _ in range(3)]
        self.accounts = accounts if has("accounts") else []

    def package(self, name: str) -> Package:
        bench, draw = self.bench, self.draw
        place = self.names.index(name)
        one = bench.package(name, self.versions[name][self.at[name]])
        one.needs = self.needs(place)
        if has("provides") and place % 3 == 0:
            one.provides = [draw.choice(self.roles)]
        if has("conflicts") and draw.random() < 0.2 and place > 2:
            one.conflicts = [draw.choice(self.names[:place])]
        if has("replaces") and place == len(self.names) - 1 and self.at[name] > 0:
            one.replaces = [self.names[place - 1]]
        for number in range(draw.randrange(1, 4)):
            one.file(f"srv/{self.top}/{name}/{number}", bench.text(), draw.choice((0o644, 0o755)))
        if draw.random() < 0.5:
            one.link(f"srv/{self.top}/links/{name}", draw.choice(("a", "/opt", "../x y")))
        # Between two packages a file moves with each index.
        if place == self.moving:
            one.file(f"srv/{self.top}/moves", bench.text())
        self.particular(one, place)
        if has("priorities") and place % 4 == 1:
            one.repository = 1
        return one

    def needs(self, place: int) -> list[str]:
        draw, found = self.draw, []
        for other in self.names[max(0, place - 6) : place]:
            if draw.random() < 0.22:
                found.append(other)
                if has("versions") and draw.random() < 0.5:
                    sign = draw.choice((">=", ">=", "<"))
                    found[-1] += sign + draw.choice(self.versions[other])
        if has("provides") and place > 6 and draw.random() < 0.3:
            found.append(draw.choice(self.roles))
        if has("alternatives") and place > 3 and draw.random() < 0.4:
            found.append("|".join(draw.sample(self.names[:place], 2)))
        return found

    def particular(self, one: Package, place: int) -> None:
        """What packages have besides, as far as it was ordered."""
        bench, draw, name = self.bench, self.draw, one.name
        if (has("config-files") or has("config-saved")) and place % 2:
            text = self.same.setdefault(name, bench.text()) if place % 4 == 1 else bench.text()
            one.conf(f"etc/{self.top}/{name}.conf", text)
        if has("after-script") and place % 3 == 1:
            one.mark = f"/var/marks/{name}"
            one.after = f'#!/bin/sh\necho "{name} $*" >> {one.mark}\n'.encode()
        if has("triggers") and place in (0, 5):
            one.trigger = [f"srv/{self.top}/{('links', name)[place == 5]}"]
            one.triggered = f"#!/bin/sh\necho x >> /var/marks/t-{name}\n".encode()
        if self.accounts and place % 4 == 2:
            one.accounts = [draw.choice(self.accounts)]
            one.file(f"srv/{self.top}/{name}/own", bench.text(), 0o640)
            one.owned = {f"srv/{self.top}/{name}/own": one.accounts[0]}

    def next_index(self) -> None:
        """Some packages have a later version; the file that moves is another's, and both have."""
        before = self.moving
        while self.moving == before:
            self.moving = self.draw.randrange(4)
        move = {self.names[before], self.names[self.moving]}
        for name in self.names:
            if self.at[name] < 5 and (name in move or self.draw.random() < 0.35):
                self.at[name] += 1
                self.bench.repositories.withdraw(name)
                self.bench.repositories.offer(self.package(name))
        self.bench.refresh()

    def begin(self) -> None:
        for name in self.names:
            self.bench.repositories.offer(self.package(name))
        self.bench.refresh()

    def commands(self) -> list[tuple[str, ...]]:
        """What may come next, as often as it is to come."""
        model, draw = self.bench.model, self.draw
        installed = sorted(name for name in model.installed if name in self.names)
        some = draw.sample(self.names, draw.randrange(1, 3))
        found = [("install", *some)] * 5 + [("upgrade",)] * 2
        if installed:
            found += [("remove", *draw.sample(installed, 1))] * 3
            if has("holds"):
                found += [("hold", draw.choice(installed))]
        if model.holds and has("holds"):
            found += [("release", draw.choice(sorted(model.holds)))] * 2
        found += [("sweep",)] if has("sweep") else []
        found += [("verify",)] if has("verify") else []
        return found

    def step(self) -> None:
        """One command of which the order says what comes of it."""
        bench = self.bench
        for _ in range(40):
            words = self.draw.choice(self.commands())
            trial = bench.model.copy()
            try:
                status = 0 if words[0] == "verify" else trial.do(*words)[0]
            except Unspecified:
                continue
            if status and self.draw.random() < 0.5:  # few refusals say enough
                continue
            before = bench.model.last
            bench.do(*words)
            is_new = has("rollback") and bench.model.last not in (None, before)
            if is_new and self.draw.random() < 0.25:
                bench.do("rollback")
            return

    def edits(self) -> None:
        """Somebody changes a configuration file."""
        there = [
            path for path in sorted(self.bench.model.files)
            if path.startswith(f"/etc/{self.top}/") and path.endswith(".conf")
        ]  # fmt: skip
        if there:
            self.bench.edit(self.draw.choice(there), self.bench.text())
            self.bench.model.last = None


def moving(bench: Bench) -> None:
    """A file moves from one package to another in one upgrade."""
    first, second = versions.rising(bench.draw, 2)
    one, other = bench.word("giver"), bench.word("taker")
    path = f"srv/{bench.word('moves')}"
    bench.refresh(bench.package(one, first).file(path, bench.text()), bench.package(other, first))
    bench.do("install", one, other)
    bench.refresh(bench.package(one, second), bench.package(other, second).file(path, bench.text()))
    bench.do("upgrade")


def sequence(bench: Bench, steps: int) -> None:
    mix = Mix(bench, random.Random(bench.draw.randrange(1 << 60)))
    mix.begin()
    bench.do("install", *mix.names[:2])
    for number in range(steps):
        if number % 5 == 4:
            mix.edits()
            mix.next_index()
        mix.step()
    bench.do("list")


def on_the_disk(bench: Bench) -> None:
    """The station is switched off in order, and its disk says what it said itself."""
    machine = bench.station.machine
    machine.shell.leave("poweroff")
    deadline = machine.deadline(120)
    while machine.alive and deadline.remaining() > 0:
        time.sleep(0.3)
    assert not machine.alive, "the station does not switch itself off"
    files = Image(machine.flatten()).ext4()
    there = {}
    for top in (top for top in TOPS if files.exists(top)):
        for one in files.walk(top):
            text = files.readlink(one.path) if one.kind == "symlink" else ""
            if one.kind == "file":
                text = summed(files.read(one.path, 1 << 26))
            mode = 0o777 if one.kind == "symlink" else one.mode & 0o7777
            kind = {"file": "f", "directory": "d", "symlink": "l"}.get(one.kind, "?")
            there[one.path] = (kind, mode, one.uid, one.gid, text)
    for path in [path for path in there if path in WITHOUT or path in TOPS]:
        del there[path]
    fault = bench.differs(bench.model, there, None)
    assert not fault, f"on the disk of the station that was switched off, {fault}"
