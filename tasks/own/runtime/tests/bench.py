"""The machine in which the delivered program is used, and what is asked of it."""

from __future__ import annotations

import contextlib
import io
import random
import secrets
import shlex
import socket
import tarfile
import threading
import time
from pathlib import Path

import programs
from programs import ENVIRONMENT, Outcome, Program

from benchflow.bench.source_builder import BENCH, Built
from benchflow.boot import Disk, GuestError, Nic, VerifierBroken

NAMES = ("skarn",)
NEEDED = ("vmlinuz", "guest.cpio", "judge.img")
HOST = "10.0.2.2"  # where a guest finds the loopback of the verifier
PATIENCE = 60  # reference seconds of a program of ours
MOST = 48 << 20  # bytes that a guest may send at once
MOST_CONNECTIONS = 64  # of a guest's, at once


def cpio(files: dict[str, tuple[bytes, int]]) -> bytes:
    """An archive (newc) of files, each with its mode."""
    out = bytearray()
    for number, (name, (data, bits)) in enumerate([*files.items(), ("TRAILER!!!", (b"", 0))]):
        mode = 0o100000 | bits if bits else 0
        fields = (number + 1000, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        out += b"070701" + "".join(f"{value:08x}" for value in fields).encode()
        out += name.encode() + b"\0"
        out += bytes(-len(out) % 4)
        out += data
        out += bytes(-len(out) % 4)
    return bytes(out)


class Ferry:
    """Bytes to a guest and from it: each connection begins with a drawn word, and takes what lies
    under it, or leaves something."""

    def __init__(self) -> None:
        self._out: dict[str, bytes] = {}
        self._in: dict[str, bytes | None] = {}
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def load(self, data: bytes) -> str:
        word = secrets.token_hex(12)
        self._out[word] = data
        return word

    def expect(self) -> str:
        word = secrets.token_hex(12)
        self._in[word] = None
        return word

    def arrived(self, word: str) -> bytes:
        for _ in range(100):
            found = self._in.get(word)
            if found is not None:
                return found
            time.sleep(0.05)
        raise AssertionError("the machine did not send what it was to send")

    def close(self) -> None:
        self._server.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            if self._room.acquire(blocking=False):
                threading.Thread(target=self._one, args=(connection,), daemon=True).start()
            else:
                connection.close()

    def _one(self, connection: socket.socket) -> None:
        try:
            with connection, contextlib.suppress(OSError):
                self._carry(connection)
        finally:
            self._room.release()

    def _carry(self, connection: socket.socket) -> None:
        connection.settimeout(60)
        word = connection.recv(25, socket.MSG_WAITALL).decode("ascii", "replace").strip()
        if word in self._out:
            connection.sendall(self._out.pop(word))
        elif word in self._in:
            data = bytearray()
            while len(data) < MOST and (piece := connection.recv(1 << 16)):
                data += piece
            self._in[word] = bytes(data)


def packed(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


class Guest:
    """One start of the machine."""

    def __init__(self, machine, ferry: Ferry) -> None:
        self.machine, self.ferry = machine, ferry
        machine.boot()
        # Nothing that was delivered runs before this word.
        machine.expect(r"the machine is up\r?\n", 300)
        machine.attach()
        self.ok("dmesg -n 1; ulimit -c 0; mkdir -p /tmp/work", "the machine")

    def run(self, command: str, seconds: float = PATIENCE):
        return self.machine.shell.run(command, timeout=seconds)

    def ok(self, command: str, why: str, seconds: float = PATIENCE) -> str:
        """It ends with status 0."""
        done = self.run(command, seconds)
        assert done.status == 0, f"{why}: `{command}` ends with {done.status}: {done.stdout[-500:]}"
        return done.stdout

    def give(self, folder: str, files: dict[str, bytes]) -> None:
        """A folder with these files, new."""
        word = self.ferry.load(packed(files))
        place = shlex.quote(folder)
        self.ok(
            f"rm -rf {place}; mkdir -p {place}; echo {word} | nc {HOST} {self.ferry.port} | "
            f"tar -xf - -C {place}",
            "files for the machine", 120,
        )  # fmt: skip

    def take(self, command: str, seconds: float = 120) -> bytes:
        """What a command prints, however much and whatever bytes."""
        word = self.ferry.expect()
        self.ok(
            f"{{ echo {word}; {command}; }} | nc {HOST} {self.ferry.port} > /dev/null",
            "what the machine sends", seconds,
        )  # fmt: skip
        return self.ferry.arrived(word)

    def read(self, path: str, most: int = 8 << 20) -> bytes:
        return self.take(f"head -c {most} {shlex.quote(path)} 2> /dev/null")

    def program(self, program: Program, place: Path) -> Outcome:
        """What a program comes to with skarn, in a new folder of this path."""
        files = {path: text.encode() for path, text in program.files.items()}
        self.give(str(place), files | {".stdin": program.stdin})
        return programs.together([self._once(program, place, run) for run in program.runs])

    def _once(self, program: Program, place: Path, arguments: tuple[str, ...]) -> Outcome:
        # The console is there again after ten minutes in any case.
        done = self.run(
            f"cd {place} && {environment(program)} timeout -s KILL 600 /bin/skarn"
            f" {shlex.join(arguments)} < .stdin > .stdout 2> .stderr; echo =$?",
        )
        status = int(done.stdout.rpartition("=")[2])
        word = "/tmp/.reply"
        reply = self.take(
            f"cd {place}; tail -c 600 .stderr > {word}; wc -c < {word}; cat {word};"
            " head -c 4000000 .stdout"
        )
        size, _, rest = reply.partition(b"\n")
        length = int(size) if size.strip().isdigit() else 0
        return Outcome(status, rest[length:], rest[:length])


def environment(program: Program) -> str:
    given = ENVIRONMENT | program.environment
    return "env -i " + " ".join(shlex.quote(f"{key}={value}") for key, value in given.items())


class Station:
    """One guest for many checks; a new one where the last has died."""

    def __init__(self, machines, built: Built, work: Path, rng: random.Random) -> None:
        self.machines, self.rng = machines, rng
        self.work = work / "station"
        self.work.mkdir()
        for needed in NEEDED:
            if not (BENCH / needed).is_file():
                raise VerifierBroken(f"{BENCH / needed} is not there: image/build.sh makes it")
        self.initrd, self.bare = self.work / "initrd.cpio", self.work / "bare.cpio"
        base = (BENCH / "guest.cpio").read_bytes()
        base += bytes(-len(base) % 512)
        self.bare.write_bytes(base)
        self.initrd.write_bytes(base + cpio({"bin/skarn": (built.files["skarn"], 0o755)}))
        self.ferry = Ferry()
        self._guest: Guest | None = None
        self._starts = 0

    def boot(self, disks: list[Path], *, bare: bool = False, **more) -> Guest:
        """A start of its own."""
        self._starts += 1
        more.setdefault("nics", self.cards())
        machine = self.machines.create(
            f"{'judge' if bare else 'skarn'}-{self._starts}",
            kernel=BENCH / "vmlinuz",
            initrd=self.bare if bare else self.initrd,
            append="console=ttyS0 quiet panic=-1 mitigations=off",
            disks=[Disk(path, read_only=bare) for path in disks],
            **{"cpus": 2} | more,
        )
        try:
            return Guest(machine, self.ferry)
        except BaseException:
            switch_off(machine)
            raise

    def cards(self) -> list[Nic]:
        return [Nic(restrict=False, forwards=[8080])]

    def blank(self, megabytes: int) -> Path:
        self._starts += 1
        path = self.work / f"{self._starts}.img"
        with path.open("wb") as file:
            file.truncate(megabytes << 20)
        return path

    @contextlib.contextmanager
    def guest(self):
        """The guest that serves many checks."""
        if self._guest is None:
            self._guest = self.boot([])
        try:
            yield self._guest
        except GuestError:
            self.drop()
            raise

    @contextlib.contextmanager
    def own(self, disks: list[Path], **more):
        """A guest for one check, or a few."""
        self.drop()
        guest = self.boot(disks, **more)
        try:
            yield guest
        finally:
            switch_off(guest.machine)

    def drop(self) -> None:
        if self._guest is not None:
            switch_off(self._guest.machine)
            self._guest = None

    def close(self) -> None:
        self.drop()
        self.ferry.close()

    def as_node(self, part: str, *chosen: str, node: str = "node") -> None:
        """The hidden programs of a part come to the same as with Node.js."""
        for name in chosen or programs.names(part):
            said = ""
            for _ in range(3):
                program = programs.draw(self.rng, part, name)
                place = Path(f"/tmp/work/{secrets.token_hex(4)}/{name}")
                wanted = programs.by_node(program, place, node)
                with self.guest() as guest:
                    got = guest.program(program, place)
                    guest.run(f"rm -rf {place.parent}")
                said = programs.difference(program, wanted, got)
                if not said or program.tries == 1:
                    break
            assert not said, said


def switch_off(machine) -> None:
    with contextlib.suppress(GuestError):
        if machine.alive:
            machine.power_cut()
    machine.close()
