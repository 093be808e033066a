"""The power goes while a program changes files and names, and says what is safe."""

from __future__ import annotations

import itertools
import random
import re
import struct
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from bench import BRIEF, Station, switch_off

from benchflow.bench.recorded_disk import RecordedDisk

CUTS = 20
MEGABYTES = 24
SAFE = re.compile(r"^<safe (\d+)>\n", re.MULTILINE)
BLOCK = 4096
TORN = 0.15


def bytes_of(seed: int, count: int) -> bytes:
    """What the hidden programs draw from a seed."""
    out, state = bytearray(), seed
    while len(out) < count:
        state = (state + 0x9E3779B97F4A7C15) & (1 << 64) - 1
        z = state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & (1 << 64) - 1
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & (1 << 64) - 1
        out += struct.pack("<Q", z ^ z >> 31)
    return bytes(out[:count])


@dataclass
class Script:
    """What the program is to do, and what may be found after it was stopped.

    Names are symbolic links whose targets are drawn, so that each tells which it is. `states` has
    the names after each change; a promise `n` says that states before `at_least[n]` are over.
    """

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    states: list[dict[str, str]] = field(default_factory=list)
    at_least: list[int] = field(default_factory=list)
    #: Of each file its contents, in their order; and of each promise, how many were over by then.
    contents: dict[str, list[bytes]] = field(default_factory=dict)
    promised: list[dict[str, int]] = field(default_factory=list)
    _kept: dict[str, int] = field(default_factory=dict)
    _floor: int = 0
    _number: int = 0

    def write(self) -> str:
        self.states.append({})
        for folder in ("a", "b"):
            self._name(f"mkdir {folder}", {**self.names, folder: "d"})
        self.lines += ["sync"]
        self._floor = len(self.states) - 1
        self._say()
        for turn in range(34):
            for _ in range(self.rng.randint(1, 5)):
                self._change()
            for _ in range(self.rng.randint(0, 3)):
                self._content()
            if turn % 5 == 2:
                self._hold(turn)
            self._promise(turn)
        return "\n".join(self.lines) + "\n"

    def _name(self, line: str, names: dict[str, str]) -> None:
        self.lines.append(line)
        self.names = names
        self.states.append(names)

    def _fresh(self) -> str:
        self._number += 1
        length = self.rng.choice((3, 12, 60))
        return f"{self.rng.choice('ab')}/n{self._number}" + "x" * length

    def _change(self) -> None:
        links = [name for name, target in self.names.items() if target[0] == "l"]
        kind = self.rng.choice(["symlink"] * 3 + ["rename", "over", "exchange", "unlink", "link"])
        names = dict(self.names)
        if kind == "symlink" or len(links) < 4:
            new, target = self._fresh(), f"{self.rng.getrandbits(60):x}"
            self._name(f"symlink {target} {new}", {**names, new: f"l {target}"})
            return
        one, other = self.rng.sample(links, 2)
        if kind == "rename":
            new = self._fresh()
            names[new] = names.pop(one)
            self._name(f"rename {one} {new}", names)
        elif kind == "over" and names[one] != names[other]:
            names[other] = names.pop(one)
            self._name(f"rename {one} {other}", names)
        elif kind == "exchange" and names[one] != names[other]:
            names[one], names[other] = names[other], names[one]
            self._name(f"exchange {one} {other}", names)
        elif kind == "unlink":
            del names[one]
            self._name(f"unlink {one}", names)
        else:
            new = self._fresh()
            self._name(f"link {one} {new}", {**names, new: names[one]})

    def _content(self) -> None:
        files = sorted(self.contents)
        if len(files) < 3 or (len(files) < 7 and self.rng.random() < 0.3):
            new = f"a/file{len(files)}"
            self._name(f"create {new}", {**self.names, new: "f"})
            self.contents[new] = [b""]
            return
        name = self.rng.choice(files)
        now = self.contents[name][-1]
        if self.rng.random() < 0.15:
            size = self.rng.randint(0, 60000)
            self.lines.append(f"truncate {name} {size}")
            self.contents[name].append(now[:size].ljust(size, b"\0"))
            return
        at, count = self.rng.randint(0, 50000), self.rng.choice((1, 100, 4096, 9000, 20000))
        seed = self.rng.getrandbits(60)
        self.lines.append(f"write {name} {at} {count} {seed}")
        after = bytearray(now.ljust(at + count, b"\0"))
        after[at : at + count] = bytes_of(seed, count)
        self.contents[name].append(bytes(after))

    def _hold(self, turn: int) -> None:
        """A file that is open loses its name: when the power goes, nobody has what it holds."""
        new = f"b/open{turn}"
        self._name(f"create {new}", {**self.names, new: "f"})
        self.lines += [f"write {new} 0 20000 {self.rng.getrandbits(60)}", f"hold {new}"]
        self._name(f"unlink {new}", {name: it for name, it in self.names.items() if name != new})

    def _promise(self, turn: int) -> None:
        how = self.rng.choice(("sync", "fsync", "fdatasync", "folder"))
        if how in ("fsync", "fdatasync") and self.contents:
            name = self.rng.choice(sorted(self.contents))
            self.lines.append(f"{how} {name}")
            self._kept[name] = len(self.contents[name]) - 1
            made = next(n for n, state in enumerate(self.states) if name in state)
            self._floor = max(self._floor, made)
        elif how == "folder":
            self.lines.append("fsync a")
            self._floor = max(
                self._floor,
                next(
                    n
                    for n in range(len(self.states))
                    if below(self.states[n], "a") == below(self.names, "a")
                    and all(
                        below(state, "a") == below(self.names, "a") for state in self.states[n:]
                    )
                ),
            )
        else:
            self.lines.append("sync")
            self._floor = len(self.states) - 1
            self._kept = {name: len(all_) - 1 for name, all_ in self.contents.items()}
        self._say()
        if turn % 4 == 3:
            # Nothing more is written before this promise was heard: none is kept back until all is
            # on the disk anyhow.
            self.lines.append("wait")

    def _say(self) -> None:
        self.lines.append(f"say {len(self.at_least)}")
        self.at_least.append(self._floor)
        self.promised.append(dict(self._kept))


def below(names: dict[str, str], folder: str) -> dict[str, str]:
    return {name: what for name, what in names.items() if name.startswith(f"{folder}/")}


@dataclass(frozen=True)
class Run:
    """What a run has left: the disk's log, and from which entry on each promise holds."""

    script: Script
    disk: RecordedDisk
    promises: list[tuple[int, int]]


def written(station: Station) -> Run:
    """Let the program work, with all writes recorded."""
    script = Script(station.rng)
    text = script.write()
    station.drop()
    image = station.blank(MEGABYTES)
    disk = RecordedDisk(image, torn=TORN)
    guest = station.boot([], extra_args=disk.arguments)
    machine = guest.machine
    promises: list[tuple[int, int]] = []
    try:
        guest.make()
        guest.mount()
        machine.shell.write_file("/tmp/script", text.encode())
        begin = machine.console.end
        machine.send("tools follow /mnt /tmp/script\n")
        heard, deadline = 0, machine.deadline(180)
        while True:
            alive, said = machine.alive, machine.console.since(begin)
            # Read after the text: a promise is older than what is in the log by then.
            entry = len(disk.log)
            for found in SAFE.finditer(said):
                if int(found[1]) == len(promises):
                    promises.append((entry, int(found[1])))
            waits = sum(
                line == "wait" for line in script.lines[: _line_of(script, len(promises) - 1)]
            )
            if waits > heard:
                heard = waits
                machine.send("heard\n")
            if "<followed>" in said:
                break
            failed = re.search(r"<failed [^>]*>", said)
            assert not failed, f"[R24] what the program has to do fails: {failed[0]}"
            assert alive, f"[R24] the machine went off: {said[-300:]!r}"
            assert deadline.remaining() > 0, (
                f"[R24] {len(promises)} of {len(script.at_least)} promises in 180 s"
            )
            time.sleep(0.005)
        assert len(promises) == len(script.at_least), "[R24] promises were not heard"
        assert not disk.flooded, "[R24] far more is written to the disk than was asked for"
        assert None in disk.log, "[R24] nothing was ever flushed"
        return Run(script, disk, promises)
    finally:
        switch_off(machine)
        disk.close()


def _line_of(script: Script, promise: int) -> int:
    """How many lines the program has come by when it waits after this promise."""
    if promise < 0:
        return 0
    at = script.lines.index(f"say {promise}")
    return at + 2


@dataclass(frozen=True)
class Found:
    """The disk after one cut: what is wrong with it, by demand."""

    moment: int
    mounts: str = ""
    promises: str = ""
    names: str = ""
    clean: str = ""


def found(station: Station) -> list[Found]:
    """Make the disk again as it was at drawn moments, and look at each."""
    run = written(station)
    first = run.promises[0][0]
    moments = [station.rng.randint(first, len(run.disk.log)) for _ in range(CUTS)]
    # Right after a promise nothing of what was not flushed helps.
    moments[: CUTS // 3] = [entry for entry, _ in station.rng.sample(run.promises, CUTS // 3)]
    images: list[Path] = []
    for moment in moments:
        path = station.blank(MEGABYTES)
        path.write_bytes(run.disk.after_cut(moment, station.rng))
        images.append(path)
    results = []
    with station.own(images, cpus=1) as guest:
        for n, moment in enumerate(moments):
            results.append(look(guest, f"/dev/vd{chr(97 + n)}", run, moment))
    for path in images:
        path.unlink()
    return results


def look(guest, disk: str, run: Run, moment: int) -> Found:
    """Mount, compare, write, unmount, check."""
    done = guest.run(f"mount -t holm {disk} /mnt", BRIEF)
    if done.status:
        return Found(moment, mounts=f"mount ends with {done.status}: {done.stdout[-200:]}")
    mounts = promises = names = clean = ""
    try:
        listed = guest.listing("[R23] after a cut")
        promise = max((n for entry, n in run.promises if entry <= moment), default=0)
        names = wrong_names(listed, run.script, promise)
        promises = wrong_contents(listed, run.script, promise)
        done = guest.run("echo after > /mnt/after && sync && cat /mnt/after", BRIEF)
        if done.stdout != "after\n":
            mounts = f"it cannot be written: {done.stdout[-200:]!r}"
    except AssertionError as error:
        mounts = str(error)
    done = guest.run("umount /mnt", BRIEF)
    if done.status:
        raise AssertionError(f"[R23] umount after a cut: {done.stdout[-200:]}")
    done = guest.run(f"fsck.holm -n {disk}", BRIEF)
    if done.status:
        clean = f"fsck.holm -n ends with {done.status}: {done.stdout[-300:]}"
    return Found(moment, mounts, promises, names, clean)


def wrong_names(listed: dict[str, str], script: Script, promise: int) -> str:
    """ "" if the names are those of one moment since the promise."""
    now = {}
    for path, what in listed.items():
        if path == "lost+found":
            continue
        kind, _, rest = what.partition(" ")
        now[path] = f"l {rest.split(' ', 1)[1]}" if kind == "l" else kind
    for state in script.states[script.at_least[promise] :]:
        if state == now:
            return ""
    if now in script.states:
        return (
            f"the names are those after change {script.states.index(now)},"
            f" {script.at_least[promise]} were promised"
        )
    nearest = min(script.states, key=lambda state: len(state.items() ^ now.items()))
    return (
        f"the names are those of no moment; after change {script.states.index(nearest)} they are"
        f" others in {sorted(state_difference(nearest, now))[:6]}"
    )


def state_difference(one: dict[str, str], other: dict[str, str]) -> set[str]:
    return {name for name, _ in one.items() ^ other.items()}


def wrong_contents(listed: dict[str, str], script: Script, promise: int) -> str:
    """ "" if each file is what was promised, or what was written since."""
    for name, contents in script.contents.items():
        kept = script.promised[promise].get(name)
        if name not in listed:
            if kept is not None:
                return f"{name} was promised, and is not there"
            continue
        _, _, _, _, _, _, size, sums = listed[name].split(" ")[:8]
        if "!" in sums:
            return f"{name} cannot be read: {sums}"
        since = contents[kept or 0 :]
        if not has_had(since, int(size)):
            return f"{name} has {size} bytes, promised were {len(since[0])}"
        for n, told in enumerate(sums.rstrip(",").split(",")) if int(size) else ():
            if int(told, 16) not in allowed(since, n, int(size), kept is None):
                return f"{name} of {size} bytes: block {n} is nothing that was written since"
    return ""


def has_had(since: list[bytes], size: int) -> bool:
    """A file that a write makes longer has each size on the way."""
    return size in {len(content) for content in since} or any(
        len(one) <= size <= len(other) for one, other in itertools.pairwise(since)
    )


def allowed(since: list[bytes], n: int, size: int, never_promised: bool) -> set[int]:
    """Sums that a block may have, as far as the file reaches."""
    length = min(BLOCK, size - n * BLOCK)
    sums = {
        zlib.crc32(content[n * BLOCK : n * BLOCK + BLOCK].ljust(BLOCK, b"\0")[:length])
        for content in since
    }
    if never_promised or any(len(content) <= n * BLOCK for content in since):
        sums.add(zlib.crc32(bytes(length)))
    return sums
