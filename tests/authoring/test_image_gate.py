"""The gate `image` finds an answer wherever an image may hold it, and nothing where none is."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import random
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.lamp import lamp

from benchflow.authoring import image
from benchflow.authoring.gate import Status

__all__ = ["lamp"]

SECRET = "\n".join(
    [
        "#!/bin/sh",
        *(f"solder --iron {n * 7 + 300} --joint lamp-{n} --tin 60" for n in range(12)),
        "mount-bulb --watt 40 --socket E27",
        "",
    ]
).encode()


def rearranged() -> bytes:
    lines = SECRET.splitlines()
    random.Random(3).shuffle(lines)
    return b"\n\n# between\n".join(lines)


def tarred(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("deep/notes.txt", data)
    return out.getvalue()


def package(data: bytes) -> bytes:
    """A Debian package: ar(5) with a version, and data as tar.xz."""
    parts = {
        "debian-binary": b"2.0\n",
        "data.tar.xz": lzma.compress(tarred("./usr/share/doc/x", data)),
    }
    out = b"!<arch>\n"
    for name, content in parts.items():
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out


#: name in the image → content that gives the solution away
LEAKS: dict[str, Callable[[], bytes]] = {
    "app/solve.sh": lambda: SECRET,
    "root/notes.txt": lambda: b"Dear colleague,\n" + SECRET.replace(b"solder ", b"  solder   "),
    "root/shuffled": rearranged,
    "var/log/build.log.gz": lambda: gzip.compress(SECRET),
    "var/cache/apt/archives/lamp_1_all.deb": lambda: package(SECRET),
    "srv/old.tar.xz": lambda: lzma.compress(tarred("x/y", b"# \n" + SECRET)),
    "srv/old.tar": lambda: tarred("x/y", SECRET),
    "opt/wheel.whl": lambda: zipped(SECRET),
    "srv/nested.zip": lambda: zipped(gzip.compress(SECRET)),
}


@pytest.fixture
def task(lamp: Path) -> Path:
    (lamp / "solution/solve.sh").write_bytes(SECRET)
    return lamp


def layer(top: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data)
    return top


@pytest.mark.parametrize("name", LEAKS)
def test_it_finds_the_answer(name: str, task: Path, tmp_path: Path) -> None:
    found = image.search(task, (layer(tmp_path / "layer", {name: LEAKS[name]()}),))
    assert found.status is Status.FAILED
    assert any(f"/{name.removesuffix('.gz')}" in finding for finding in found.findings)


def test_a_lower_layer_counts_though_an_upper_one_removed_the_file(
    task: Path, tmp_path: Path
) -> None:
    lower = layer(tmp_path / "lower", {"tmp/solve.sh": SECRET})
    upper = layer(tmp_path / "upper", {"etc/hostname": b"lamp\n"})
    assert image.search(task, (lower, upper)).findings == (
        "/tmp/solve.sh is solution/solve.sh: move it out of reach",
    )


def test_what_cannot_be_read_is_said(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root reads everything, so the refusal has to be played: the kernel's answer to others."""
    folder = layer(tmp_path / "l", {"root/solve.sh": SECRET, "etc/hostname": b"lamp\n"})
    scandir = os.scandir

    def refusing(path: str) -> Iterator[os.DirEntry[str]]:
        if Path(path).name == "root":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = image.search(task, (folder,))
    assert "1 unread" in found.summary and "Permission denied" in found.summary


def test_a_history_is_found_whatever_it_holds(task: Path, tmp_path: Path) -> None:
    found = image.search(task, (layer(tmp_path / "l", {"root/.bash_history": b"ls\ncat x\n"}),))
    assert found.findings == ("/root/.bash_history is a history of 2 lines: remove it",)


def test_what_many_files_say_is_public(task: Path, tmp_path: Path) -> None:
    """A default configuration in the sources of a program is nobody's secret."""
    stock = b"".join(b"# CONFIG_FEATURE_NUMBER_%d is not set\n" % n for n in range(40))
    (task / "solution/busybox.config").write_bytes(b"CONFIG_STATIC=y\n" + stock)
    shipped = {f"src/configs/{n}_defconfig": b"CONFIG_%d=y\n" % n + stock for n in range(3)}
    found = image.search(task, (layer(tmp_path / "l", shipped),))
    assert found.status is Status.PASSED, found.findings
    two = dict(list(shipped.items())[:2])
    assert image.search(task, (layer(tmp_path / "m", two),)).status is Status.FAILED


def test_a_configuration_file_as_its_package_brought_it_is_public(
    task: Path, tmp_path: Path
) -> None:
    stock = b"".join(b"session include module-of-the-stock-%d\n" % n for n in range(6))
    (task / "solution/known.py").write_bytes(b"KNOWN = 1\n" + stock)
    md5 = hashlib.md5(stock).hexdigest().encode()
    status = b"Package: util-linux\nConffiles:\n /etc/pam.d/su-l " + md5 + b"\nVersion: 1\n"
    shipped = {"etc/pam.d/su-l": stock, "var/lib/dpkg/status": status}
    found = image.search(task, (layer(tmp_path / "l", shipped),))
    assert found.status is Status.PASSED, found.findings
    for changed in ({"etc/pam.d/su-l": stock + b"more\n"}, {"etc/pam.d/other": stock}):
        folder = layer(tmp_path / next(iter(changed)).replace("/", "-"), shipped | changed)
        assert len(image.search(task, (folder,)).findings) == 1


def test_hostile_files_harm_nobody(task: Path, tmp_path: Path) -> None:
    folder = layer(
        tmp_path / "l",
        {
            "torn.gz": gzip.compress(SECRET)[:40],
            "torn.xz": lzma.compress(SECRET)[:40],
            "torn.zip": zipped(SECRET)[:60],
            "torn.deb": package(SECRET)[:90],
            "bomb.gz": gzip.compress(bytes(64 << 20)) * 12,
            "not-an-archive.tar": b"\0" * 257 + b"ustar" + b"\xff" * 600,
        },
    )
    (folder / "loop").symlink_to(".")
    (folder / "outside").symlink_to(task / "solution")
    found = image.search(task, (folder,))
    assert found.status is Status.PASSED, found.findings
    assert "unread" in found.summary
