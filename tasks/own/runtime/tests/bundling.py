"""Bundles: made by skarn, and run by skarn, Node.js and the bare engine on machines."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path

import programs
from bench import Station, environment, switch_off
from programs import Outcome, Program

from benchflow.bench.source_builder import BENCH

BUNDLE_SECONDS = 60


def made(guest, program: Program, why: str) -> bytes:
    """What `skarn bundle` makes of a program, which is gone afterwards."""
    place, out = f"/tmp/work/{secrets.token_hex(4)}", f"/tmp/{secrets.token_hex(4)}.js"
    guest.give(place, {path: text.encode() for path, text in program.files.items()})
    guest.ok(
        f"cd {place} && skarn bundle {program.arguments[0]} -o {out} > /tmp/out 2>&1 < "
        f"/dev/null || {{ tail -c 500 /tmp/out; false; }}",
        f"{why} skarn bundle", BUNDLE_SECONDS,
    )  # fmt: skip
    text = guest.read(out)
    guest.run(f"rm -rf {place} {out}")
    assert text, f"{why} the bundle is empty"
    return text


def alone(text: bytes, program: Program) -> Program:
    """The bundle as a program of one file."""
    return Program(
        f"the bundle of {program.name}",
        {"bundle.js": text.decode("utf-8", "replace")},
        ("bundle.js", *program.arguments[1:]),
    )


class Judge:
    """A machine with Node.js and the bare engine, and without skarn."""

    def __init__(self, station: Station) -> None:
        station.drop()
        self.guest = station.boot([BENCH / "judge.img"], bare=True, memory_mb=512)
        self.guest.ok(
            "mount -o ro -t ext4 /dev/vda /node && mount -t tmpfs tmp /node/tmp && mount -t "
            "proc proc /node/proc"
            " && mount -t devtmpfs dev /node/dev",
            "the machine with Node.js",
        )

    def runs(self, program: Program, engine: str) -> Outcome:
        place = f"/tmp/{secrets.token_hex(4)}"
        self.guest.give(
            f"/node{place}", {path: text.encode() for path, text in program.files.items()}
        )
        inner = f"cd {place} && exec /usr/bin/{engine} {shlex.join(program.arguments)}"
        done = self.guest.run(
            f"{environment(program)} PATH=/usr/bin:/bin timeout -s KILL 600 chroot /node "
            f"/bin/busybox sh -c {shlex.quote(inner)}"
            f" < /dev/null > /tmp/.stdout 2> /tmp/.stderr; echo =$?",
            180,
        )  # fmt: skip
        status = int(done.stdout.rpartition("=")[2])
        out = self.guest.take("head -c 1000000 /tmp/.stdout")
        return Outcome(status, out, self.guest.read("/tmp/.stderr", 600))

    def close(self) -> None:
        switch_off(self.guest.machine)


def bundles(station: Station, node: str = "node") -> None:
    """[R19] The same with skarn, Node.js, and qjs where that is enough."""
    drawn = {
        name: programs.draw(station.rng, "bundles", name) for name in programs.names("bundles")
    }
    wanted = {
        name: programs.by_node(program, Path(f"/tmp/work/{secrets.token_hex(4)}/{name}"), node)
        for name, program in drawn.items()
    }
    texts = {}
    with station.guest() as guest:
        for name, program in drawn.items():
            texts[name] = made(guest, program, "[R19]")
            got = guest.program(
                alone(texts[name], program), Path(f"/tmp/work/{secrets.token_hex(4)}")
            )
            said = programs.difference(program, wanted[name], got)
            assert not said, f"[R19] the bundle, with skarn: {said}"
    judge = Judge(station)
    try:
        for name, program in drawn.items():
            for engine in ("node", "qjs") if name == "pure" else ("node",):
                got = judge.runs(alone(texts[name], program), engine)
                said = programs.difference(program, wanted[name], got)
                assert not said, f"[R19] the bundle, with {engine}: {said}"
    finally:
        judge.close()


def leaves_out(station: Station) -> None:
    """[R19] What nobody uses is not in the bundle."""
    program = programs.draw(station.rng, "bundles", "pure")
    wide = program.files["src/wide.mjs"]
    words = [
        line.split("'")[1].split(" ")[0] for line in wide.splitlines() if "unused" in line.lower()
    ]
    with station.guest() as guest:
        text = made(guest, program, "[R19]")
    found = [word for word in words if word.encode() in text]
    assert not found, f"[R19] functions that nobody uses are in the bundle ({found[0]!r})"
