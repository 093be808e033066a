"""Sequences of events that are drawn for each verification, over all demands of an instance."""

from __future__ import annotations

import secrets

import lasting
import services
import telling
from bench import Bench
from ordered import AXES, MOUNT, SECOND_PORT, has
from system import ports
from unit import new_mac


class Model:
    """What a unit has to know. None: not asked for, or not known yet."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}
        self.other: dict[str, str] = {}
        self.number = self.key = self.keys = None
        self.starts = 0
        self.name = "unit"
        self.full = False


class Mix:
    """What may happen next, and what is looked at after it."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.draw = bench, bench.draw
        self.model = Model()
        self.story: list[str] = []

    # -- what happens -----------------------------------------------------------------------------

    def events(self) -> list:
        found = [self.cut, self.restart, self.off_and_on, self.card]
        if has("restart") or has("hang"):
            found += [self.kill]
        if has("reset-file"):
            found += [self.forget]
        if has("reset-jumper"):
            found += [self.jumper]
        if has("full-disk"):
            found += [self.fill]
        if has("any-hardware"):
            found += [self.hardware]
        if has("panic"):
            found += [self.panic]
        if has("owner-name"):
            found += [self.name]
        if has("spoilt-data"):
            found += [self.spoil]
        return found

    @property
    def unit(self):
        return self.bench.unit

    def begins(self) -> None:
        self.bench.fresh()
        self.model = Model()
        self.came_up(True)

    def came_up(self, new: bool = False) -> None:
        """A start has ended; `new`: it is that of a unit as new."""
        model = self.model
        if new:
            number, key = model.number, model.key
            self.model = model = Model()
            if has("machine-id"):
                assert lasting.number(self.unit) != number, self.said("the number is the old one")
            if has("unit-key"):
                assert lasting.key(self.unit) != key, self.said("the secret is the old one")
        model.starts += 1
        self.look()

    def cut(self) -> None:
        self.unit.cut_and_start()
        self.came_up()

    def restart(self) -> None:
        self.unit.restart()
        self.came_up()

    def off_and_on(self) -> None:
        self.unit.go_off()
        if has("closes") and not self.model.full:
            services.closed(self.bench, self.said("switched off"), 1 + has("second"))
        self.unit.start()
        self.came_up()

    def card(self) -> None:
        self.bench.moved(self.unit.with_(mac=new_mac())).start()
        self.came_up()

    def hardware(self) -> None:
        bus = self.draw.choice(("virtio", "nvme", "scsi"))
        self.bench.moved(self.unit.with_(bus=bus)).start()
        self.came_up()

    def kill(self) -> None:
        port = self.draw.choice(ports(self.unit))
        services.killed(self.unit, port, 15 if has("restart") else 120)
        self.look()

    def forget(self) -> None:
        if self.model.full:
            self.room()
        self.unit.say(f"touch {MOUNT}/{AXES['reset']}; sync")
        self.draw.choice((self.unit.cut_and_start, self.unit.restart))()
        self.came_up(True)

    def jumper(self) -> None:
        before = self.unit.hardware
        self.bench.moved(self.unit.with_(jumper=AXES["jumper"])).start()
        self.came_up(True)
        self.add()
        self.bench.moved(before).start()
        self.came_up()

    def fill(self) -> None:
        if self.model.full:
            self.room()
            return
        self.add()
        lasting.fill(self.unit)
        self.model.full = True

    def room(self) -> None:
        self.unit.say(f"rm -f {MOUNT}/fill-*; sync")
        self.model.full = False
        if has("starts-counted"):
            self.model.starts = lasting.counted(self.unit)
        self.add()

    def panic(self) -> None:
        before = self.unit.machine.boots
        self.unit.machine.send("echo c > /proc/sysrq-trigger\n")
        self.unit.starts_by_itself(before, 60, "a panic")
        self.came_up()

    def name(self) -> None:
        if self.model.full:
            self.room()
        good = self.draw.random() < 0.6
        name = f"n{secrets.token_hex(3)}"
        lasting.give_name(self.unit, f"{name}\n" if good else f"{name} x\n")
        self.model.name = name if good else self.model.name
        self.restart()

    def spoil(self) -> None:
        before = self.unit.hardware
        self.unit.cut()
        path = self.bench.disk().rename(self.bench.work / f"mixed-{self.bench.made}.img")
        with path.open("r+b") as file:
            file.seek(self.bench.last(path).start)
            file.write(self.draw.randbytes(1 << 20))
        self.bench.with_disk(path, before).start()
        self.lost()

    def lost(self) -> None:
        """A start has ended that found the data partition lost. The order says of that partition
        alone that it is as new: what is the unit's own may be kept elsewhere, or made again."""
        before, self.model = self.model, Model()
        self.model.starts = 1
        if has("starts-counted"):
            got = lasting.counted(self.unit)
            most = before.starts + 1
            right = range(1, most + 1) if before.full else (1, most)
            assert got in right, self.said(f"{got} starts, neither 1 nor {most}")
            self.model.starts = got
        if has("owner-name") and telling.named(self.unit) == before.name:
            self.model.name = before.name
        self.look()

    # -- what is looked at ------------------------------------------------------------------------

    def said(self, what: str) -> str:
        return f"after {', '.join(self.story)}: {what}"

    def add(self) -> None:
        self.model.rows |= self.unit.store(2)
        if has("second"):
            self.model.other |= self.unit.store(1, SECOND_PORT)

    def look(self) -> None:
        unit, model = self.unit, self.model
        unit.serves()
        if not model.rows:
            unit.is_empty(self.said("as new"))
        unit.knows(model.rows, what=self.said("the service"))
        if has("second"):
            unit.serves(SECOND_PORT)
            unit.knows(model.other, SECOND_PORT, self.said("the second service"))
        if has("machine-id"):
            number = lasting.number(unit)
            assert model.number in (None, number), self.said("the number is another")
            model.number = number
        if has("unit-key"):
            key = lasting.key(unit)
            assert model.key in (None, key), self.said("the secret is another")
            model.key = key
        if has("starts-counted") and not model.full:
            got = lasting.counted(unit)
            assert got == model.starts, self.said(f"{got} starts, not {model.starts}")
        if has("owner-name"):
            got = telling.named(unit)
            assert got == model.name, self.said(f"the host name is {got!r}, not {model.name!r}")
        if has("hostname"):
            wanted = f"{AXES['prefix']}-{unit.hardware.mac.replace(':', '')[6:]}"
            assert telling.named(unit) == wanted, self.said("the host name is another")
        if not model.full:
            self.add()


def sequence(bench: Bench, steps: int) -> None:
    mix = Mix(bench)
    mix.story.append("its first start")
    mix.begins()
    left: list = []
    for _ in range(steps):
        if not left:
            left = mix.events()
            bench.draw.shuffle(left)
        event = left.pop()
        mix.story.append(event.__name__.replace("_", " "))
        event()
    if has("untouched"):
        lasting.unchanged(bench, mix.said("the rest of the disk"))
