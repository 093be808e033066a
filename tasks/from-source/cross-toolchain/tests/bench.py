"""The machine on which we compile: a kernel, a shell, no C library, and the delivered toolchain."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

from programs import sources

from benchflow.boot import BadDeliverable, Disk, Machine, Tar

TARGET = "riscv64-ferrum-linux-musl"
TOP = "fx31"
ROOM_MB = 96
FETCHED_MAX = 16 << 20
UID = 4711
# What every host has in the places where a compiler that was not told better looks.
POISON = {
    "usr/include/stdio.h": b"#error this is the header of another machine\n",
    "usr/include/linux/version.h": b"#error this is the header of another machine\n",
    "usr/local/include/stdio.h": b"#error this is the header of another machine\n",
    "usr/lib/libc.so": b"this is the library of another machine\n",
    "usr/lib/libc.a": b"this is the library of another machine\n",
    "usr/lib/crt1.o": b"this is an object of another machine\n",
    "lib/libc.so": b"this is the library of another machine\n",
    "fx31/usr/include/stdio.h": b"#error this is the header of another machine\n",
}  # fmt: skip

FOR_THE_BOARD = (
    "plain", "plain-static", "plain-static-pie", "smash", "threads", "threads-static", "atomics",
    "atomics-static", "host", "plugin.so", "cxxplugin.so", "whole", "line", "libfault.so", "main",
    "main-static",
)  # fmt: skip


def pinned(folder: Path, sums: str) -> Path:
    """The bench's folder, when all that it has to hold is what was shipped."""
    for line in sums.splitlines():
        digest, name = line.split()
        path = folder / name
        if path.is_symlink() or not path.is_file():
            raise BadDeliverable(f"/app/bench/{name} is missing")
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise BadDeliverable(f"/app/bench/{name} was changed")
    return folder


class Cpio:
    """A root file system that a kernel unpacks (newc)."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._made: set[str] = set()
        self._number = 0

    def _record(self, path: str, mode: int, data: bytes, uid: int = 0) -> None:
        self._number += 1
        name = path.encode() + b"\0"
        numbers = (self._number, mode, uid, uid, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        head = b"070701" + b"".join(b"%08x" % one for one in numbers) + name
        self._out += head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)

    def folder(self, path: str, mode: int = 0o755, uid: int = 0) -> None:
        """A folder, and those above it that are not there yet."""
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            place, last = "/".join(parts[:depth]), depth == len(parts)
            if place not in self._made:
                self._made.add(place)
                self._record(place, 0o040000 | (mode if last else 0o755), b"", uid if last else 0)

    def file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        if "/" in path.strip("/"):
            self.folder(path.strip("/").rpartition("/")[0])
        self._record(path.strip("/"), 0o100000 | mode, data)

    def link(self, path: str, target: str) -> None:
        self.folder(path.strip("/").rpartition("/")[0])
        self._record(path.strip("/"), 0o120777, target.encode())

    def write(self, path: Path) -> Path:
        self._record("TRAILER!!!", 0, b"")
        path.write_bytes(self._out)
        return path


class Bench:
    """The machine, what it was told to compile, and what came of it."""

    def __init__(self, machines, bench: Path, tar: Tar, seed: str, work: Path) -> None:
        draw = random.Random(seed)
        word = f"{draw.randrange(16**6):06x}"
        self.place = f"/data/{word}/tools-{draw.randrange(99)}"
        self.other = f"/mnt/{word}/second"
        self.seed = seed
        self.tree = f"{self.place}/{TOP}"
        tree = Cpio()
        for folder in ("/dev", "/proc", "/etc", "/tmp", self.other, "/links", "/opt"):
            tree.folder(folder)
        for folder in ("/out", "/scratch", "/home/maker", "/home/maker/deep"):
            tree.folder(folder, 0o755, UID)
        for path, data in POISON.items():
            tree.file(path, data)
        tree.file("etc/passwd", f"root:x:0:0::/:/bin/sh\nmaker:x:{UID}:{UID}::/:/bin/sh\n".encode())
        tree.file("etc/group", f"root:x:0:\nmaker:x:{UID}:\n".encode())
        tree.file("bin/busybox", (bench / "busybox").read_bytes(), 0o755)
        tree.file("init", _INIT.encode(), 0o755)
        for entry in tar.walk("/"):
            path = f"{self.place}{entry.path}"
            if entry.kind == "directory":
                tree.folder(path, entry.mode)
            elif entry.kind == "symlink":
                tree.link(path, tar.readlink(entry.path))
            else:
                tree.file(path, tar.read(entry.path, entry.size), entry.mode)
        for name, text in sources(seed).items():
            tree.file(f"home/maker/{name}", text.encode())
        tree.file("home/maker/gauge.cc", (bench / "gauge.cc").read_bytes())
        tree.file("home/maker/deep/plain.c", sources(seed)["plain.c"].encode())
        for name in ("gcc", "g++"):
            tree.link(f"/links/{TARGET}-{name}", f"{self.tree}/bin/{TARGET}-{name}")
        tree.file("make.sh", self.script().encode(), 0o755)
        self._disk = Disk.empty(work / "bench.out", ROOM_MB, bus="nvme")
        self.machine: Machine = machines.create(
            "bench", arch="x86_64", firmware="direct", kernel=bench / "vmlinuz",
            initrd=tree.write(work / "bench.cpio"), rng=False, disks=[self._disk],
            append="console=ttyS0,115200 quiet loglevel=1 panic=-1 rdinit=/init",
        )  # fmt: skip
        self._results: Tar | None = None
        self.gauge_seconds = 0.0

    def start(self) -> Bench:
        self.machine.boot()
        self.machine.attach()
        run = self.machine.shell.run
        run(f"mount -o bind {self.place} {self.place} && mount -o remount,bind,ro {self.place} "
            f"&& mount -o bind {self.place} {self.other} && mount -o remount,bind,ro {self.other}",
            check=True)  # fmt: skip
        return self

    def compile(self, seconds: float) -> float:
        """Run everything as a user without rights; reference seconds."""
        began = self.machine.elapsed
        run = self.machine.shell.run
        maker = (f"cd /home/maker; env -i PATH=/bin TMPDIR=/scratch start-stop-daemon -S -q "
                 f"-p /none -c {UID}:{UID} -x /bin/sh -- /make.sh")  # fmt: skip
        run(f"{maker} >/make.log 2>&1 </dev/null", seconds)
        before = self.machine.elapsed
        run(f"{maker} gauge >/make.log 2>&1 </dev/null", seconds)
        self.gauge_seconds = self.machine.elapsed - before
        # Somebody else, on another day, in a folder of his own.
        run("date -s @1900000000; mkdir -p /root/deep; cd /root/deep; cp /home/maker/plain.c "
            "/home/maker/part?.c .; env -i PATH=/bin TMPDIR=/tmp HOME=/root sh /make.sh later "
            ">/make.log 2>&1 </dev/null", seconds)  # fmt: skip
        run("tar -c -f /dev/nvme0n1 -C /out . 2>&1 && sync", 120, check=True)
        self._results = Tar(self.machine.flatten(self._disk), limit=ROOM_MB << 20)
        spent = self.machine.elapsed - began
        self.machine.power_cut()
        return spent

    # -- what came of it ----------------------------------------------------------------------

    def has(self, name: str) -> bool:
        return self._results is not None and self._results.exists(f"/{name}")

    def file(self, name: str) -> bytes:
        """A file that was made. AssertionError when it was not."""
        assert self._results is not None, "nothing was compiled"
        assert self.has(name), f"{name} was not made: {self.complaint(name)}"
        return self._results.read(f"/{name}", FETCHED_MAX)

    def programs(self) -> dict[str, bytes]:
        """All programs and libraries that were made, for the board's second disk."""
        return {name: self.file(name) for name in FOR_THE_BOARD if self.has(name)}

    def status(self, job: str) -> int | None:
        assert self._results is not None, "nothing was compiled"
        if not self.has(f"{job}.rc"):
            return None
        text = self._results.read(f"/{job}.rc", 100).decode("ascii", "replace").strip()
        return int(text) if text.isdigit() else None

    def said(self, job: str) -> str:
        """What a job printed; it has to have worked."""
        assert self.status(job) == 0, f"{job} ended with {self.status(job)}: {self.complaint(job)}"
        return self.file(f"{job}.out").decode("utf-8", "replace").strip()

    def complaint(self, job: str) -> str:
        assert self._results is not None
        path = f"/{job}.err"
        held = self._results.read(path, 1 << 20) if self._results.exists(path) else b""
        return held.decode("utf-8", "replace").strip()[-500:]

    def script(self) -> str:
        """What the user without rights does."""
        return _MAKE.replace("@BIN@", f"{self.tree}/bin/{TARGET}").replace(
            "@OTHER@", f"{self.other}/{TOP}/bin/{TARGET}"
        ).replace("@TARGET@", TARGET).replace("@TREE@", self.tree)  # fmt: skip


_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin PS1='# '
mount -t proc proc /proc
mount -t devtmpfs dev /dev
chmod 666 /dev/null /dev/zero
exec setsid sh -c 'exec sh -i </dev/ttyS0 >/dev/ttyS0 2>&1'
"""

# job NAME WORD...: its status, what it said and what it complained of lie in /out.
_MAKE = r"""
job() {
    name=$1; shift
    "$@" >/out/$name.out 2>/out/$name.err </dev/null
    echo $? >/out/$name.rc
}
T=@BIN@
if [ "$1" = gauge ]; then
    job gauge $T-g++ -std=c++20 -O2 -s -o gauge gauge.cc
    cp gauge /out/gauge
    exit
fi
if [ "$1" = later ]; then
    job by-another $T-gcc -O2 plain.c -o /out/by-another
    job part1-later $T-gcc -O1 -c part1.c -o part1.o
    job part2-later $T-gcc -O1 -c part2.c -o part2.o
    job libparts-later $T-ar rcs /out/libparts3.a part1.o part2.o
    exit
fi
for tool in addr2line ar as c++ c++filt cc cpp g++ gcc ld nm objcopy objdump ranlib readelf size \
    strings strip; do
    job version-$tool $T-$tool --version
done
job machine $T-gcc -dumpmachine
job full $T-gcc -dumpfullversion
job sysroot $T-gcc -print-sysroot
job sysroot-real sh -c 'cd "$('$T'-gcc -print-sysroot)" && pwd -P'
job macros $T-gcc -E -dM -xc /dev/null
for lib in ld-musl-riscv64.so.1 libc.so libgcc_s.so.1 libstdc++.so.6 libatomic.so.1; do
    job file-$lib sh -c 'readlink -f "$('$T'-gcc -print-file-name='$lib')"'
done

job plain $T-gcc -O2 plain.c -o /out/plain
job plain-static $T-gcc -O2 -static plain.c -o /out/plain-static
job plain-static-pie $T-gcc -O2 -static-pie plain.c -o /out/plain-static-pie
job wrong $T-gcc wrong.c -o /out/wrong
job unresolved $T-gcc unresolved.c -o /out/unresolved
job smash $T-gcc -O1 smash.c -o /out/smash
job threads $T-gcc -O1 -pthread threads.c -o /out/threads
job threads-static $T-gcc -O1 -static -pthread threads.c -o /out/threads-static
job atomics $T-gcc -O1 atomics.c -o /out/atomics
job atomics-static $T-gcc -O1 -static atomics.c -o /out/atomics-static
job host $T-gcc -O1 -rdynamic host.c -ldl -o /out/host
job plugin.so $T-gcc -O1 -shared -fPIC plugin.c -o /out/plugin.so

mkdir -p /scratch/elsewhere
PATH=${T%/*}:/bin job by-path @TARGET@-gcc -O2 plain.c -o /out/by-path
job by-link /links/@TARGET@-gcc -O2 plain.c -o /out/by-link
job by-place @OTHER@-gcc -O2 plain.c -o /out/by-place
cd deep
TMPDIR=/scratch/elsewhere job by-folder $T-gcc -O2 plain.c -o /out/by-folder
cd ..
cd @TREE@/bin
job by-relative ./@TARGET@-gcc -O2 /home/maker/deep/plain.c -o /out/by-relative
cd /home/maker

job part1 $T-gcc -O1 -c part1.c -o /scratch/part1.o
job part2 $T-gcc -O1 -c part2.c -o /scratch/part2.o
job libparts $T-ar rcs /scratch/libparts.a /scratch/part1.o /scratch/part2.o
cp /scratch/libparts.a /out/libparts.a
sleep 1; touch /scratch/part1.o /scratch/part2.o
job libparts2 $T-ar rcs /out/libparts2.a /scratch/part1.o /scratch/part2.o
job ranlib $T-ranlib /scratch/libparts.a
job names $T-nm /scratch/libparts.a
job whole $T-gcc whole.c -L/scratch -lparts -o /out/whole
job line $T-gcc -g -O0 line.c -o /scratch/line
job line-debug $T-objcopy --only-keep-debug /scratch/line /out/line.debug
job line-strip $T-strip -o /out/line /scratch/line
job line-nm $T-nm /scratch/line
at=$(sed -n 's/ T answer$//p' /out/line-nm.out)
job line-at $T-addr2line -f -e /out/line.debug "0x$at"
job line-dump $T-objdump -d --no-show-raw-insn --disassemble=answer /scratch/line
job demangled $T-c++filt _ZNSt6vectorIiSaIiEE9push_backERKi
job strings $T-strings -a /scratch/line
job header $T-readelf -hW /scratch/line

job libfault.so $T-g++ -std=c++20 -O1 -shared -fPIC fault.cc -o /out/libfault.so
job main $T-g++ -std=c++20 -O1 main.cc -L/out -lfault '-Wl,-rpath,$ORIGIN' -o /out/main
job main-static $T-g++ -std=c++20 -O1 -static main.cc fault.cc -o /out/main-static
job cxxplugin.so $T-g++ -O1 -shared -fPIC cxxplugin.cc -o /out/cxxplugin.so
rm -f /scratch/part*.o /scratch/libparts.a /scratch/line
rmdir /scratch/elsewhere
job left find /scratch -mindepth 1
"""
