"""Which hidden program is asked what, with which files: a sitting each, when first needed."""

from __future__ import annotations

import drawn
from exam import PATIENCE, Bench, Sitting, draws
from lives import in_order
from rootfs import Entry, Root, word

from benchflow.bench.other_draws import never_twice
from benchflow.boot import Image


class Sittings:
    """`sit("files", "contents")`: parts of a program hold."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.rng = bench.rng
        self._made: dict[str, Sitting] = {}

    def __call__(self, name: str, *parts: str) -> None:
        self.of(name).holds(*parts)

    def of(self, name: str) -> Sitting:
        """The sitting of this name."""
        if name not in self._made:
            self._made[name] = getattr(self, f"_{name.replace('-', '_')}")()
        return self._made[name]

    def drawn(self, milestone: str, **spec) -> None:
        """What comes out of a program that was written for this verification."""
        drawn.sitting(self.bench, milestone, **spec).holds("drawn")

    def _plain(self, program: str, parts: str, patience: float = PATIENCE, **spec) -> Sitting:
        root = Root(self.rng)
        path = root.program(program)
        seed = f"seed={self.rng.getrandbits(62)}"
        return Sitting(self.bench, path, parts.split(), root, [seed], spec=spec, patience=patience)

    def written_is_on_the_disk(self) -> None:
        """What the program wrote, read without the kernel; and the file system is in order."""
        sitting = self.of("writes")
        sitting.holds("makes", "full")
        assert sitting.disk is not None, "[R34] the machine was not switched off after it"
        in_order(sitting.disk, "[R34] after power-off")
        files = Image(sitting.disk).ext4()
        for path, due in self.written.items():
            assert files.exists(path) and files.read(path) == due, f"[R34] {path} is another"
        assert not files.exists("/full/all") and files.exists("/kept/three"), "[R34] other files"
        listed = [name for name in files.listdir("/kept/crowd") if name.startswith("a name")]
        assert len(listed) == 300, f"[R34] {len(listed)} files of 300 are in the crowd"

    def _memory(self) -> Sitting:
        return self._plain(
            "memory", "heap mapping refusals code moving thread-local stack dropped many"
        )

    def _pipes(self) -> Sitting:
        return self._plain("pipes", "simple transfer broken halved unblocked together copies row")

    def _processes(self) -> Sitting:
        sitting = self._plain(
            "processes",
            (
                "forking statuses waiting orphans replaced script refusals large borrowed many "
                "deep turns identities"
            ),
        )
        root, rng = sitting.root, self.rng
        script = root.put(f"/opt/{word(rng)}", f"#!{sitting.program} interpreter\n".encode(), 0o755)
        plain = root.put(f"/opt/{word(rng)}", b"#!/bin/sh\n", 0o644)
        noexec = root.put(f"/opt/{word(rng)}", b"nothing that runs\n" * 9, 0o755)
        sitting.params += [
            f"word={word(rng)}",
            f"script={script}",
            f"plain={plain}",
            f"noexec={noexec}",
        ]
        return sitting

    def _files(self) -> Sitting:
        """Files of all kinds; what a program finds of them is known here."""
        rng, root = self.rng, Root(self.rng)
        # One file must not take another's place.
        fresh = never_twice(lambda: word(rng))
        program, seed = root.program("files"), rng.getrandbits(62)
        base = f"/{word(rng)}/{word(rng)}"
        params, expected = [f"seed={seed}"], {}
        contents = b""
        looks: list[tuple[str, Entry]] = []
        for size in (
            0,
            1,
            rng.randint(2, 900),
            1024,
            4096,
            rng.randint(5000, 30000),
            rng.randint(300_000, 600_000),
        ):
            path = root.put(
                f"{base}/{fresh()}",
                rng.randbytes(size),
                rng.choice((0o644, 0o755, 0o604)),
                uid=rng.choice((0, 1000)),
                gid=rng.choice((0, 50)),
                mtime=rng.randint(10**9, 17 * 10**8),
            )
            params.append(f"file={path}")
            contents += root.entries[path].data or b""
            looks.append((path, root.entries[path]))
        expected["contents"] = contents
        big = root.put(f"{base}/{fresh()}", rng.randbytes(rng.randint(1_500_000, 2_500_000)))
        data, numbers = root.entries[big].data or b"", draws(seed)
        places = [next(numbers) % (len(data) - 64) for _ in range(80)]
        expected["places"] = b"".join(data[at : at + 64] for at in places) + data[-10:]
        crowd = f"{base}/{fresh()}"
        root.folder(crowd)
        listed = [".", ".."]
        for n in range(rng.randint(500, 700)):
            name = word(rng, rng.randint(1, 20)) + str(n)
            listed.append(name)
            kind = rng.random()
            if kind < 0.1:
                root.link(f"{crowd}/{name}", "anywhere")
            elif kind < 0.2:
                root.folder(f"{crowd}/{name}")
            else:
                root.put(f"{crowd}/{name}", b"")
        kinds = [f"{name} {self._kind(root, f'{crowd}/{name}')};" for name in listed]
        expected["listing"] = "".join(sorted(kinds)).encode()
        first = params[1 + 5].partition("=")[2]  # some thousand bytes
        links = [
            root.link(f"{base}/{fresh()}", first.rpartition("/")[2]),
            root.link(
                f"{base}/{fresh()}", f"..{base[base.rindex('/') :]}/{first.rpartition('/')[2]}"
            ),
            root.link(f"/{word(rng)}", first),
            root.link(f"/{word(rng)}", "/" + "./" * 60 + first[1:]),
        ]
        links.append(root.link(f"{base}/{fresh()}", links[0].rpartition("/")[2]))
        through = root.link(f"/{word(rng)}", base)
        told = b"".join(
            (root.entries[path].link or "").encode() + (root.entries[first].data or b"")
            for path in links
        )
        expected["links"] = told
        circle = root.link(f"{base}/{fresh()}", "around")
        root.link(f"{base}/around", circle.rpartition("/")[2])
        nowhere = root.link(f"{base}/{fresh()}", "not/there")
        folder = root.folder(f"{base}/{fresh()}", 0o750, mtime=1_234_567_890)
        looks += [(folder, root.entries[folder])]
        params += [f"link={path}" for path in links]
        params += [
            f"big={big}",
            f"circle={circle}",
            f"nowhere={nowhere}",
            f"name={first.rpartition('/')[2]}",
        ]
        gid = rng.randint(2000, 9000)
        secret = root.put(f"{base}/{fresh()}", b"secret", 0o600)
        group = root.put(f"{base}/{fresh()}", b"group", 0o640, gid=gid)
        locked = root.folder(f"{base}/{fresh()}", 0o700)
        inner = root.put(f"{locked}/{word(rng)}", b"inner", 0o666)
        params += [f"secret={secret}", f"group={group}", f"closed={inner}", f"gid={gid}"]
        hollow = f"{base}/{fresh()}"
        root.put(hollow, b"")
        size = rng.randint(95 << 20, 110 << 20)
        spots = sorted(
            {
                rng.randrange(1 << 18),
                rng.randrange(1 << 20, 60 << 20),
                rng.randrange(70 << 20, (90 << 20) - 300),
                90 << 20,
            }
        )
        pieces = {at: rng.randbytes(300) for at in spots}
        root.holes[hollow] = (size, pieces)
        empty = rng.randrange(2 << 20, 60 << 20)
        while any(abs(empty - at) < 8192 for at in spots):
            empty = rng.randrange(2 << 20, 60 << 20)
        asked = [*spots, empty]
        rng.shuffle(asked)
        params += [f"sparse={hollow}", *(f"at={at}" for at in asked)]
        expected["sparse"] = (
            b"".join(pieces.get(at, bytes(300)) for at in asked) + str(size).encode()
        )
        for path, entry in looks:
            params.append(f"look={path}")
            kind = 0o040000 if entry.data is None else 0o100000
            length = len(entry.data or b"") if entry.data is not None else None
            expected.setdefault("facts", b"")
            expected["facts"] += self._looked(
                length, kind | entry.mode, entry, links=2 if entry.data is None else 1
            )
        params += [f"dir={crowd}"]
        sitting = Sitting(
            self.bench,
            program,
            [
                "contents",
                "places",
                "facts",
                "listing",
                "links",
                "errors",
                "offsets",
                "permissions",
                "sparse",
            ],
            root,
            params,
            expected,
        )
        sitting.image = None
        self._folder_of_files = (root, program, base, through, first)
        return sitting

    @staticmethod
    def _looked(length: int | None, mode: int, entry: Entry, links: int) -> bytes:
        return (
            f"{0 if length is None else length} {mode:o} {links} "
            f"{entry.uid} {entry.gid} {entry.mtime};"
        ).encode()

    @staticmethod
    def _kind(root: Root, path: str) -> int:
        entry = root.entries.get(path)
        if entry is None or entry.data is None:
            return 4
        return 10 if entry.link is not None else 8

    def _relative(self) -> Sitting:
        """Paths that begin somewhere: in the folder of the files, which is no large one."""
        self.of("files").holds("contents")
        root, program, base, _, first = self._folder_of_files
        params = [f"dir={base}", f"name={first.rpartition('/')[2]}"]
        return Sitting(
            self.bench, program, ["relative"], root, params, image=self.of("files").image
        )

    def _signals(self) -> Sitting:
        parts = (
            "handlers information fault-addresses masks nesting restarted defaults groups stacks "
            "registers awaited rounding orphaned"
        )
        return self._plain("signals", parts)

    def _clocks(self) -> Sitting:
        return self._plain("clocks", "clocks sleeping timers overruns processor-time")

    def _paging(self) -> Sitting:
        sitting = self._plain("paging", "vast copied mapped behind shared again")
        data = self.rng.randbytes(self.rng.randint(300_000, 900_000))
        sitting.params.append(f"big={sitting.root.put(f'/var/{word(self.rng)}', data)}")
        sitting.expected["mapped"] = data
        return sitting

    def _writes(self) -> Sitting:
        """What is written is looked for on the disk by `written`."""
        seed = self.rng.getrandbits(62)
        root = Root(self.rng)
        path = root.program("writes")
        parts = [
            "makes",
            "changes",
            "removes",
            "names",
            "corners",
            "facts",
            "crowd",
            "together",
            "full",
        ]
        sitting = Sitting(self.bench, path, parts, root, [f"seed={seed}"], keeps_disk=True)
        sitting.image = root.image(self.bench.path("root.img"), megabytes=self.rng.randint(48, 64))
        numbers = draws(seed)
        small, large, size = next(numbers), next(numbers), 3_000_000 + next(numbers) % 3_000_001
        self.written = {"/kept/small": filled(100, small), "/kept/large": filled(size, large)}
        return sitting

    def _threads(self) -> Sitting:
        parts = "sums turns identities futexes others endings signalled cancelling"
        return self._plain("threads", parts)

    def _waits(self) -> Sitting:
        return self._plain(
            "waits", "polls selects epolls circles events timer-files signal-files told-by-files"
        )

    def _unixes(self) -> Sitting:
        return self._plain("unixes", "pairs named abstract handed datagrams ends")

    def _loopback(self) -> Sitting:
        return self._plain("network", "loopback lingering")

    def _races(self) -> Sitting:
        parts = "two-processes two-threads placed shot-down together families made-at-once"
        return self._plain("races", parts, cpus=2)

    def _threads_on_two(self) -> Sitting:
        parts = "sums turns identities futexes others endings signalled cancelling"
        return self._plain("threads", parts, cpus=2)

    def _processes_on_two(self) -> Sitting:
        return self._plain(
            "processes", "forking statuses waiting orphans borrowed many deep", cpus=2
        )

    def _pipes_on_two(self) -> Sitting:
        parts = "simple transfer broken halved unblocked together copies row"
        return self._plain("pipes", parts, cpus=2)

    def _mounted(self) -> Sitting:
        return self._plain("pressure", "proc opened-again emptied")

    def _pressure(self) -> Sitting:
        sitting = self._plain(
            "pressure", "proc reads in-memory leaks eaten", memory_mb=96, patience=120
        )
        data = self.rng.randbytes(64) * (40 << 14)
        sitting.params.append(f"big={sitting.root.put(f'/var/{word(self.rng)}', data)}")
        sitting.expected["reads"] = data
        return sitting


def filled(size: int, seed: int) -> bytes:
    """A file's content as the program `writes` makes it."""
    out = bytearray()
    while len(out) < size:
        state = seed + len(out)
        for _ in range(min(70_000, size - len(out))):
            state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
            out.append(state >> 56)
    return bytes(out)
