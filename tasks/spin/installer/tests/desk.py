"""The technician's machine: the medium without answers, and disks of many kinds."""

from __future__ import annotations

import io
import re
import secrets
import tarfile
from collections.abc import Callable
from pathlib import Path

from bench import START_SECONDS, Bench, Pc
from cases import Case

from benchflow.bench.lanes import Steps
from benchflow.bench.media_disks import blank, serial
from benchflow.boot import Disk, GuestError

_END = 4 << 20  # [R6]


class Technician:
    """The medium without answers, between disks of many kinds."""

    def __init__(self, bench: Bench) -> None:
        work = bench.work
        at = secrets.randbelow(_END)
        unknown = blank(work / "unknown.img", 1500)
        with unknown.open("r+b") as file:
            file.seek(at if secrets.randbelow(2) else (1500 << 20) - 1 - at)
            file.write(bytes([1 + secrets.randbelow(255)]))
        between = blank(work / "between.img", 1500)  # right behind its beginning, before its end
        with between.open("r+b") as file:
            for at in (_END, (1500 << 20) - _END - 4096):
                file.seek(at)
                file.write(b"\x01" + secrets.token_bytes(4094) + b"\x01")
        paths = {
            "stick": bench.medium(),
            "blank": blank(work / "blank.img", 1400),
            "tiny": blank(work / "tiny.img", 600),
            "unknown": unknown,
            "between": between,
            "twin": blank(work / "twin.img", 1400),
            "twin2": blank(work / "twin2.img", 1400),
        }
        self.serials = {name: serial() for name in paths}
        self.serials["twin2"] = self.serials["twin"]
        # What was installed on, finished or not, keeps the serial number that it had: no disk gets
        # another one.
        left: dict[str, tuple[str, Callable[[], tuple[Path, str]]]] = {
            "cut": ("charlie cut", lambda: (bench["charlie cut"][0], bench["charlie serial"])),
            "kept": ("again cut", lambda: (bench["again cut"], bench["again said"].disk)),
            "finished": (
                "bravo disks",
                lambda: (bench["bravo disks"][1], bench["bravo said"].disk),
            ),
        }
        for name, (fact, found) in left.items():
            if fact in bench.facts:
                paths[name], self.serials[name] = found()
        self.paths = paths
        self.names = list(paths)
        disks = [
            Disk(path, bus="usb" if name == "stick" else "virtio", serial=self.serials[name])
            for name, path in paths.items()
        ]
        self.pc = Pc(bench.machines, "technician", disks=disks)

    def serial(self, name: str) -> str:
        """Of a disk that an earlier lane left; GuestError when it left none."""
        if name not in self.serials:
            raise GuestError(f"there is no disk with what was {name}: it did not come so far")
        return self.serials[name]

    def starts(self) -> Steps:
        self.pc.switch_on()
        said = lambda: "QUAY REFUSED no-answers" in self.pc.printed()  # noqa: E731
        yield from self.pc.until(said, START_SECONDS, "refusal without answers")

    def ask(self, cases: dict[str, Case]) -> dict[str, tuple[str, str]]:
        """What `quay-setup check` decides in each case, and the word that follows.

        In one go, because each question to a shell costs seconds. The folders' names say nothing.
        """
        shell = self.pc.machine.attach()
        names = {secrets.token_hex(4): name for name in cases}
        shell.write_file(
            "/tmp/cases.tgz", packed({folder: cases[names[folder]] for folder in names})
        )
        loop = (
            "cd /tmp && rm -rf cases && mkdir cases && cd cases && tar xzf ../cases.tgz || exit 9; "
            'for d in *; do echo; echo "CASE $d"; quay-setup check "/tmp/cases/$d" </dev/null; '
            's=$?; echo; echo "STATUS $s"; done'
        )
        text = shell.run(loop, timeout=30 + 12 * len(cases), check=True).stdout
        found = {}
        for part in text.split("CASE ")[1:]:
            folder, _, rest = part.partition("\n")
            if folder in names:
                found[names[folder]] = decided(rest)
        return {name: found.get(name, ("nothing", "")) for name in cases}


def packed(folders: dict[str, Case]) -> bytes:
    """An archive of folders with answers."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for folder, (conf, files) in folders.items():
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
            for name, data in {"quay.conf": conf, **files}.items():
                if data is None:
                    continue
                info = tarfile.TarInfo(f"{folder}/{name}")
                info.size, info.mode = len(data), 0o644
                tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def decided(text: str) -> tuple[str, str]:
    """(WOULD INSTALL or REFUSED, the word after it), when the exit status says the same."""
    found = re.findall(r"(?m)^QUAY (WOULD INSTALL|REFUSED) (\S{1,60})", text)
    status = re.search(r"(?m)^STATUS (\d{1,3})$", text)
    # Said twice is said.
    if len(set(found)) != 1 or not status or (found[0][0] == "REFUSED") == (status[1] == "0"):
        return "neither", text[:200]
    return found[0]
