"""A machine with the delivered kernel and an initramfs of the verifier's."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import draws
import initramfs

from benchflow.bench.ethernet import drawn_mac
from benchflow.bench.guest import Guest
from benchflow.boot import GuestError

KERNEL = "/app/out/bzImage"
MOST_BYTES = 4 << 20
PAR = 1_844_224  # [R24] of the order
MOST_UNPACKED, MOST_WORDS = 15 << 20, 1024  # of an initramfs, and of a command line [R2]
OFF = 15  # seconds in which it is off, or begins again [R19] [R21]
STARTS = 60  # seconds until the first program has spoken [R1]


LEASE = """#!/bin/sh
case $1 in
bound) ifconfig $interface $ip netmask $subnet up
	route add default gw $router dev $interface
	echo bound $ip $subnet $router ;;
esac
"""


def lease_script() -> dict[str, bytes]:
    """What udhcpc has done with a lease."""
    return {"bin/lease": LEASE.encode()}


@dataclass(frozen=True)
class Net:
    """The network of a card: the address that its DHCP server gives, and the verifier's."""

    own: str
    host: str
    six: str  # the first 64 bits of its IPv6
    mac: str
    port: int  # of a server in the guest

    @classmethod
    def draw(cls, rng: random.Random) -> Net:
        net = f"10.{rng.randrange(1, 250)}.{rng.randrange(1, 250)}"
        own = f"{net}.{rng.randrange(20, 200)}"
        six = f"fd{rng.randrange(256):02x}:{rng.randrange(1, 65536):x}:{rng.randrange(1, 65536):x}"
        return cls(own, f"{net}.2", f"{six}::", drawn_mac(), rng.randrange(1024, 60_000))


def card(net: Net) -> list[str]:
    """A card with a DHCP server, and the verifier's loopback behind it."""
    whole = net.host.rpartition(".")[0] + ".0/24"
    return [
        "-netdev", f"user,id=drawn,ipv6-net={net.six}/64,ipv6-host={net.six}2,"
        f"net={whole},host={net.host},dhcpstart={net.own},"
        f"hostfwd=tcp:127.0.0.1:0-{net.own}:{net.port}",
        "-device", f"virtio-net-pci,netdev=drawn,mac={net.mac}",
    ]  # fmt: skip


class Unit(Guest):
    """`label` and `drawn` are of this run; the first program says what they come to."""

    def __init__(self, machines, kernel: Path, folder: Path, name: str, rng: random.Random, *,
                 words: str = "", packed: bool = True, files: dict[str, bytes] | None = None,
                 hurt: bool = False, most: bool = False, entropy: Path | None = None,
                 extra_args: Sequence[str] = (), **spec) -> None:  # fmt: skip
        self.label, self.drawn = draws.word(rng), draws.word(rng, 400)
        self.kept = initramfs.Kept.draw(rng, MOST_UNPACKED if most else 0)
        data = initramfs.archive(self.drawn, files or {}, self.kept)
        data = initramfs.packed(data) if packed else data
        path = folder / f"{name}.initramfs"
        path.write_bytes(initramfs.damaged(data, rng) if hurt else data)
        given = f"{draws.word(rng)}={draws.word(rng)} label={self.label}"
        self.append = " ".join(filter(None, ["console=ttyS0", words, given]))
        while most and (left := MOST_WORDS - len(self.append)) > 20:
            self.append += f" {draws.word(rng, 8)}={draws.word(rng, min(80, left - 10))}"
        if entropy:
            spec["rng"] = False  # of the machine's
            source = ["-object", f"rng-random,id=given,filename={entropy}"]
            extra_args = [*extra_args, *source, "-device", "virtio-rng-pci,rng=given"]
        machine = machines.create(
            name, kernel=kernel, initrd=path, vga=False,
            append=self.append,
            extra_args=["-device", "i6300esb", *extra_args], **spec,
        )  # fmt: skip
        super().__init__(machine, "")
        self._mark = 0

    @property
    def first_words(self) -> str:
        """What the first program has to say."""
        return f"first {self.label} {draws.total((self.label + self.drawn).encode())}"

    @property
    def text(self) -> str:
        """The console since the last `switch_on`."""
        return self.machine.console.since(self._mark)

    def end(self) -> str:
        return repr(self.text[-300:])

    def switch_on(self) -> Unit:
        self.listen_from_now()
        self.machine.boot()
        return self

    def listen_from_now(self) -> None:
        self._mark = self.machine.console.end

    def hears(self, pattern: str, seconds: float, why: str) -> re.Match[str]:
        """Wait for words on the console, panics or not; AssertionError where they do not come."""
        deadline = self.machine.deadline(seconds)
        while True:
            late = deadline.remaining() <= 0 or not self.machine.alive
            if found := re.search(pattern, self.text):
                return found
            assert not late, f"no /{pattern}/ in {seconds:g} s {why}; the console ends {self.end()}"
            time.sleep(0.05)

    def speaks(self, why: str = "[R2]") -> Unit:
        """The first program has said its words."""
        self.hears(re.escape(self.first_words), STARTS, why)
        return self

    def up(self) -> Unit:
        """On, with a shell on its console; at once where it is so already."""
        if not self.machine.alive:
            self.switch_on().speaks()
        try:
            self.machine.attach(60)
        except GuestError as error:
            raise AssertionError(f"no shell on the console [R3]: {error}; {self.end()}") from None
        return self

    def off(self) -> None:
        """Without power."""
        if self.machine.alive:
            self.machine.power_cut()

    def probe(self, part: str, seed: int, why: str, *, program: str = "probe",
              seconds: float = 60) -> None:  # fmt: skip
        """A part says what was drawn for it."""
        said = self.run(f"{program} {part} {seed}", seconds).stdout.strip()
        due = draws.due(part, seed)
        assert said == due, f"{program} {part}: said {said[:300]!r}, not {due!r} {why}"

    def stands(self, seconds: float, why: str) -> None:
        """It neither restarts nor switches itself off."""
        boots, deadline = self.machine.boots, self.machine.deadline(seconds)
        while deadline.remaining() > 0:
            assert self.machine.alive, f"it switched itself off {why}"
            assert self.machine.boots == boots, f"it restarted {why}"
            time.sleep(0.2)

    def restarts(self, seconds: float, why: str) -> float:
        """Wait for a restart; the real seconds that it took."""
        boots, since = self.machine.boots, time.monotonic()
        deadline = self.machine.deadline(seconds)
        while self.machine.boots == boots:
            assert self.machine.alive, f"it switched itself off {why}"
            assert deadline.remaining() > 0, f"no restart in {seconds:g} s {why}: {self.end()}"
            time.sleep(0.05)
        return time.monotonic() - since

    def after_panic(self, seconds: int) -> None:
        """It restarts in its time, or stands where it was given none."""
        if not seconds:
            self.stands(8, "without panic= [R19]")
            return
        took = self.restarts(seconds + OFF, f"with panic={seconds} [R19]")
        assert took >= seconds - 1.5, f"it waited {took:.1f} s, not {seconds} [R19]"

    def goes_off(self, seconds: float, why: str) -> None:
        deadline = self.machine.deadline(seconds)
        while self.machine.alive:
            assert deadline.remaining() > 0, f"still on after {seconds:g} s {why}: {self.end()}"
            time.sleep(0.05)


def cards(unit) -> dict[str, str]:
    """The names of the cards, by their MAC."""
    each = "d=${a%/address}; [ ! -s $a ] || echo $(cat $a) ${d##*/}"
    said = unit.say(f"for a in /sys/class/net/*/address; do {each}; done")
    rows = [line.split() for line in said.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def leased(unit, net) -> str:
    """The address that was drawn, by DHCP; at once where it is there already."""
    name = cards(unit).get(net.mac)
    assert name, f"no card has {net.mac} [R16]"
    if net.own not in unit.say(f"ifconfig {name}"):
        unit.say(f"ifconfig lo 127.0.0.1 up; ifconfig {name} up")
        said = unit.run(f"udhcpc -i {name} -n -q -t 5 -T 3 -s /bin/lease", 60).stdout
        assert f"bound {net.own} " in said, f"DHCP on {name}: {said[-300:]!r} [R16]"
    return net.own


def pinged(unit, address: str) -> None:
    """By IPv6, and once more when the neighbour is known."""
    said = unit.run(f"for n in 1 2 3 4 5 6; do ping6 -c 1 -W 2 {address} && break; sleep 1; done; "
                    f"ping6 -c 1 -W 5 {address}", 60)  # fmt: skip
    assert said.status == 0, f"no ping: {said.stdout[-200:]!r} [R17]"
