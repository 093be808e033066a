"""Short secrets in what is packed, and on disks whose blocks may each begin a packed file."""

from __future__ import annotations

import gzip
import io
import lzma
import secrets
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from benchflow.bench import packed_secrets
from benchflow.bench.packed_secrets import disk_has_secret, has_secret

MAGIC = b"\xc0own"


def in_zip(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("member", data)
    return file.getvalue()


def in_tar(data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        info = tarfile.TarInfo("member")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, in_zip])
def test_it_is_found_in_pieces_of_pieces(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    secret = secrets.token_bytes(16)
    hidden = pack(in_tar(lzma.compress(b"before" + secret)))
    assert secret not in hidden and has_secret(hidden, [b"another secret", secret])
    assert not has_secret(pack(in_tar(b"nothing of it")), [secret])
    assert not has_secret(hidden[: len(hidden) // 2], [secret])
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(packed_secrets.BLOCK) + hidden + bytes(1 << 16))
    assert disk_has_secret(disk, [secret]) and not disk_has_secret(disk, [secret[::-1]])
    disk.write_bytes(bytes(packed_secrets.BLOCK - 1) + hidden + bytes(1 << 16))
    assert not disk_has_secret(disk, [secret]), "no file begins there"


def test_it_lies_so_deep_that_nobody_looks() -> None:
    secret = secrets.token_bytes(16)
    deep = secret
    for _ in range(packed_secrets.DEPTH):
        deep = gzip.compress(deep)
    assert has_secret(deep, [secret]) and not has_secret(gzip.compress(deep), [secret])


def test_a_format_is_added(tmp_path: Path) -> None:
    secret = secrets.token_bytes(16)

    def unpacked(data: bytes) -> list[bytes]:
        assert len(data) > 8, "cut off"
        return [bytes(byte ^ 0xFF for byte in data[len(MAGIC) :])]

    own = MAGIC + bytes(byte ^ 0xFF for byte in gzip.compress(secret))
    formats = {MAGIC: unpacked}
    assert has_secret(gzip.compress(own), [secret], formats) and not has_secret(own, [secret])
    assert not has_secret(own[:7], [secret], formats)
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(packed_secrets.BLOCK) + own + bytes(1 << 16))
    assert disk_has_secret(disk, [secret], formats) and not disk_has_secret(disk, [secret])
