"""What must not be there: ways in, and secrets in any form."""

from __future__ import annotations

import base64
import bz2
import gzip
import lzma
import subprocess
from pathlib import Path

import pytest

from benchflow.bench.account_files import ways_in
from benchflow.bench.ext4_edit import is_ext4
from benchflow.bench.hidden_secrets import holds, of_ed25519, pieces, unpacked
from benchflow.boot.inspect.ext4 import Ext4

TOOLS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
SEED = bytes(range(100, 132))


@pytest.mark.needs("e2fsprogs")
def test_an_ext4_is_told_from_others_and_by_its_size(tmp_path: Path) -> None:
    size, slot = 32 << 20, tmp_path / "slot"
    for kind, megabytes, right in (("ext4", 32, True), ("ext4", 31, False), ("ext2", 32, False)):
        slot.unlink(missing_ok=True)
        subprocess.run(
            ["mke2fs", "-q", "-t", kind, str(slot), f"{megabytes}M"], check=True, env=TOOLS
        )
        assert is_ext4(slot.read_bytes()[:2048], size) is right, (kind, megabytes)
    assert not is_ext4(bytes(2048), size)


@pytest.mark.needs("e2fsprogs")
@pytest.mark.parametrize(
    ("passwd", "shadow", "found"),
    [
        ("root:x:0:0::/:/bin/sh", "root:$6$a$b:1::::::", 0),
        ("root:$5$a$b:0:0::/:/bin/sh\nbin:*:1:1::/:", None, 0),
        ("root:x:0:0::/:/bin/sh\nbin:x:1:1::/:", "root:$y$j9T$a$b:::::::\nbin:!:::::::", 0),
        ("root::0:0::/:/bin/sh", None, 1),
        ("root:x:0:0::/:/bin/sh", "root::::::::", 1),
        ("root:abJnggxhB/yWI:0:0::/:/bin/sh", None, 1),
        ("root:x:0:0::/:/bin/sh\ntoor:x:0:0::/:", "root:$6$a$b:::\ntoor:$6$a$c:::", 1),
        ("root:x:0:0::/:/bin/sh\nguest::5:5::/:", "root:$6$a$b:::", 1),
        ("root:x:0:0::/:/bin/sh", "root::::\nroot:$6$a$b:::", 1),
    ],
)
def test_who_can_log_in(
    tmp_path: Path,
    passwd: str,
    shadow: str | None,
    found: int,
) -> None:
    (tmp_path / "tree/etc").mkdir(parents=True)
    (tmp_path / "tree/etc/passwd").write_text(passwd + "\n")
    if shadow is not None:
        (tmp_path / "tree/etc/shadow").write_text(shadow + "\n")
    disk = tmp_path / "disk"
    subprocess.run(
        ["mke2fs", "-q", "-t", "ext4", "-d", str(tmp_path / "tree"), str(disk), "4M"],
        check=True, env=TOOLS,
    )  # fmt: skip
    assert len(ways_in(Ext4(disk, scratch=tmp_path))) == found


@pytest.mark.parametrize("before", range(3))
@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, bz2.compress, lzma.compress, lambda d: gzip.compress(lzma.compress(d))],
)
def test_a_key_is_found_in_every_form(pack, before: int) -> None:
    secrets = of_ed25519(SEED)
    for name, secret in secrets.items():
        for form in (secret, secret[::-1], secret.hex().encode(), base64.b64encode(secret)):
            data = bytes(1000) + pack(b"x" * before + form + b"y" * 40) + bytes(1000)
            assert holds(unpacked(data), secrets), (name, form)
    assert holds(unpacked(bytes(1000) + pack(b"nothing of it" * 9)), secrets) == ""


def test_a_large_file_is_looked_through_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    with path.open("wb") as stream:
        stream.truncate(1000)
        stream.seek(395)
        stream.write(SEED)
    found = list(pieces(path, 200, 50))
    assert [len(piece) for piece in found] == [250, 250]
    assert any(holds([piece], of_ed25519(SEED)) for piece in found)
