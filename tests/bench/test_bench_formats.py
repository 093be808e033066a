"""Formats: what is written is read again, by the tools whose formats they are where possible."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path

import pytest
from tests.needs import needs

from benchflow.bench import oci_writer, rootfs_tree, tar_canon
from benchflow.bench.elf_facts import ElfFacts, elf_facts, is_narrow, objects, places
from benchflow.bench.login_rules import (
    rows,
    strange_members,
    strange_pam,
    strange_roots,
    strange_set_uid,
)
from benchflow.bench.oci_reader import gunzip
from benchflow.bench.oci_reader import read as read_layout
from benchflow.bench.password_hash import sha512_crypt
from benchflow.bench.rootfs_tree import Tree
from benchflow.boot import BadDeliverable, Initramfs

MEMBERS = [
    tar_canon.Member("a", "5", 0o755, 0, 0, 5),
    tar_canon.Member("a/" + "b" * 99 + "/" + "é" * 40, "0", 0o4755, 65535, 1, 5, data=b"x" * 513),
    tar_canon.Member("c", "2", 0o777, 0, 0, 5, link="a"),
]


def test_a_tar_comes_back_as_it_went_and_is_one_for_everybody() -> None:
    data = tar_canon.write(MEMBERS)
    assert tar_canon.read(data, "it") == MEMBERS
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert [member.name for member in tar] == [member.name for member in MEMBERS]
    assert len({member.said for member in MEMBERS}) == 3


@pytest.mark.parametrize(
    ("at", "data"),
    [
        (257, b"ustar  \0"), (100, b"0000644 "), (265, b"root"), (329, b"0000001\0"), (156, b"x"),
        (148, b"0000000\0"), (0, b"/abs\0"), (0, b"a/../b\0"), (500, b"!"), (600, b"!"),
    ],
)  # fmt: skip
def test_a_tar_of_any_other_form_is_refused(at: int, data: bytes) -> None:
    member = tar_canon.Member("name", "0", 0o644, 0, 0, 0, data=b"data")
    whole = bytearray(tar_canon.write([member]))
    whole[at : at + len(data)] = data
    if at != 148 and at < 512:
        whole[148:156] = b"%06o\0 " % (sum(whole[:148]) + 256 + sum(whole[156:512]))
    with pytest.raises(BadDeliverable):
        tar_canon.read(bytes(whole), "it")
    with pytest.raises(BadDeliverable):
        tar_canon.read(bytes(whole[:700]), "it")


def member(name: str, data: bytes = b"", kind: str = "0", link: str = "") -> tar_canon.Member:
    return tar_canon.Member(name, kind, 0o755, 0, 0, 0, link, data)


def test_layers_are_laid_over_each_other() -> None:
    tree = rootfs_tree.overlay(
        [
            [member("bin", kind="5"), member("bin/sh", b"old"),
             member("bin/ash", b"", "1", "bin/sh"),
             member("gone", kind="5"), member("gone/x", b"1")],
            [member(".wh.gone"), member("bin/sh", b"new"), member("link", b"", "2", "/bin/../bin")],
        ]
    )  # fmt: skip
    assert rootfs_tree.content(tree, "link/sh") == b"new" and "gone/x" not in tree
    assert rootfs_tree.content(tree, "bin/ash") == b"old", "a hard link is to what was there"
    assert rootfs_tree.points_at_a_directory(tree, "link") and rootfs_tree.find(tree, "no") is None
    for wrong in ([member("none/x")], [member(".wh.none")], [member("x", b"", "1", "nothing")]):
        with pytest.raises(BadDeliverable):
            rootfs_tree.overlay([wrong])


def test_links_that_lead_in_circles_end() -> None:
    tree: Tree = {"a": rootfs_tree.symlink("b"), "b": rootfs_tree.symlink("a")}
    assert rootfs_tree.at(tree, "a") is None and rootfs_tree.content(tree, "a/b") == b""


def test_a_tree_is_an_archive_that_a_kernel_unpacks() -> None:
    shared = rootfs_tree.file(b"same", 0o700, 3, 4)
    tree: Tree = {
        "dir": rootfs_tree.directory(0o711), "dir/one": shared, "two": shared,
        "link": rootfs_tree.symlink("dir/one"),
    }  # fmt: skip
    data = rootfs_tree.initramfs(tree, {"two": 7})
    assert data.count(b"same") == 1, "hard links are one file"
    found = Initramfs(data)
    assert found.read("/two") == found.read("/dir/one") == b"same"
    assert found.stat("/dir").mode == 0o711 and found.readlink("/link") == "dir/one"
    assert (found.stat("/two").mode, found.stat("/two").uid, found.stat("/two").gid) == (
        0o700,
        3,
        4,
    )


def layout(**spoilt: object) -> bytes:
    """A layout as `oci_reader` wants it, a piece of it spoilt."""
    tar = tar_canon.write([member("etc", kind="5"), member("etc/a", b"1")])
    packed = gzip.compress(tar, mtime=0)
    made = oci_writer.LayoutWriter()
    diff = [oci_writer.digest(tar)]
    whole = {"rootfs": {"type": "layers", "diff_ids": spoilt.get("diff_ids", diff)}}
    config = made.blob(oci_writer.CONFIG, json.dumps(whole).encode())
    layer = made.blob(oci_writer.GZIP, packed)
    manifest = {"schemaVersion": 2, "config": config, "layers": [layer]}
    entry = made.blob(oci_writer.MANIFEST, json.dumps(manifest).encode())
    made.names(entry, "base:1", **spoilt.get("entry", {}))  # type: ignore[arg-type]
    if spoilt.get("more"):
        made.blob("x", b"nobody's")
    index = {"schemaVersion": 2, "manifests": made.entries}
    files = {"index.json": json.dumps(index).encode(),
             "oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}  # fmt: skip
    files |= {f"blobs/sha256/{name[7:]}": data for name, data in made.blobs.items()}
    members = [
        tar_canon.Member(name, "0", 0o644, 0, 0, 9, data=data) for name, data in files.items()
    ]
    members += [tar_canon.Member(name, "5", 0o755, 0, 0, 9) for name in ("blobs", "blobs/sha256")]
    return tar_canon.write(sorted(members, key=lambda one: one.name.encode()))


def test_a_layout_is_read_and_every_lie_is_seen() -> None:
    found = read_layout(layout())
    assert (found.ref, found.epoch) == ("base:1", 9)
    assert [one.name for one in found.layers[0]] == ["etc", "etc/a"]
    wrong: list[tuple[dict[str, object], str]] = [
        ({"diff_ids": ["sha256:" + "0" * 64]}, "diff_ids"),
        ({"more": True}, "nothing refers to"),
        ({"entry": {"size": 1}}, "size 1"),
        ({"entry": {"mediaType": "text/plain"}}, "media type"),
        ({"entry": {"digest": "sha256:" + "0" * 64}}, "is missing"),
    ]
    for spoilt, why in wrong:
        with pytest.raises(BadDeliverable, match=why):
            read_layout(layout(**spoilt))


def test_a_bomb_and_a_tail_are_refused() -> None:
    packed = gzip.compress(bytes(1 << 20), mtime=0)
    assert gunzip(packed, 1 << 20, "layer") == bytes(1 << 20)
    for data, room, why in (
        (packed, 1000, "larger than"),
        (packed + b"!", 1 << 20, "after its end"),
        (b"\x1f\x8b\x08\x08" + packed[4:], 1 << 20, "gzip header"),
    ):
        with pytest.raises(BadDeliverable, match=why):
            gunzip(data, room, "layer")


def test_layouts_of_our_own_are_folders_of_blobs(tmp_path: Path) -> None:
    layers = [oci_writer.Layer.of([
        ("bin", oci_writer.LayerFile(folder=True, mode=0o755)),
        ("bin/sh", oci_writer.LayerFile(b"#!", 0o755, 1, 2)),
        ("link", oci_writer.LayerFile(link="bin/sh")),
        ("hard", oci_writer.LayerFile(hard="bin/sh")),
        ("fifo", oci_writer.LayerFile(kind=tarfile.FIFOTYPE)),
    ])]  # fmt: skip
    made = oci_writer.simple(layers, {"Cmd": ["sh"]}, packed=False)
    inner = made.index(made.entries)
    made.names(inner, "all", note="x")
    folder = made.write(tmp_path / "layout")
    entries = json.loads((folder / "index.json").read_text())["manifests"]
    assert entries[1]["annotations"] == {oci_writer.REF: "all"} and entries[1]["note"] == "x"
    for entry in entries:
        data = (folder / "blobs/sha256" / entry["digest"][7:]).read_bytes()
        assert (
            hashlib.sha256(data).hexdigest() == entry["digest"][7:] and len(data) == entry["size"]
        )
    with tarfile.open(fileobj=io.BytesIO(layers[0].data)) as tar:
        kinds = {one.name: one.type for one in tar}
    assert kinds["link"] == tarfile.SYMTYPE and kinds["fifo"] == tarfile.FIFOTYPE
    assert gzip.decompress(layers[0].packed) == layers[0].data


@pytest.mark.needs("openssl")
def test_a_password_is_hashed_as_crypt_does() -> None:
    # The first test vector in Ulrich Drepper's description; glibc gives the same.
    assert sha512_crypt("Hello world!", "saltstring") == (
        "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OT"
        "LiBFdcbYEdFCoEOfaS35inz1"
    )
    asked = ["openssl", "passwd", "-6", "-salt", "saltsalt", "Lock-Chamber-7"]
    known = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    assert sha512_crypt("Lock-Chamber-7", "saltsalt") == known
    long = "ü" * 70
    asked[-2:] = ["sixteencharacter", long]
    asked = ["openssl", "passwd", "-6", "-salt", "sixteencharacter", long]
    known = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    assert sha512_crypt(long, "sixteencharacter") == known


C = """
extern int puts(const char *);
int shared_value = 7;
int answer(void) { return puts("x"); }
"""


@pytest.fixture(scope="module")
@needs("gcc", "libc6-dev")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("elf")
    (folder / "lib.c").write_text(C)
    words = ["-shared", "-fPIC", "-O1", "-Wl,-soname,libx.so.1", "-Wl,-z,relro,-z,now"]
    subprocess.run(["gcc", *words, "-o", "lib.so", "lib.c"], cwd=folder, check=True)
    return (folder / "lib.so").read_bytes()


def test_facts_of_a_library(library: bytes) -> None:
    facts = elf_facts(library)
    assert isinstance(facts, ElfFacts)
    assert facts.soname == "libx.so.1" and facts.dynamic and facts.relro and facts.now
    assert {"answer", "shared_value"} <= facts.defined and "puts" in facts.imported
    assert facts.versioned and not facts.interpreter and not facts.writable_code
    assert "libc.so.6" in facts.needed and b"puts" in facts.imports
    assert not is_narrow(library) and is_narrow(b"\x7fELF\x01")


def test_damaged_files_are_the_deliverers_fault(library: bytes) -> None:
    with pytest.raises(BadDeliverable):
        elf_facts(b"\x7fELF\x01" + bytes(100))
    refused = 0
    for at in range(0, 2000, 7):
        damaged = bytearray(library)
        damaged[at] ^= 0xFF
        try:
            elf_facts(bytes(damaged))
        except BadDeliverable:
            refused += 1
    assert refused > 10


def test_members_of_libraries_and_places_of_sources(library: bytes) -> None:
    ar = b"!<arch>\n"
    for name, data in (("a.o", library), ("text", b"none!")):
        ar += f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n".encode() + data
        ar += b"\n" * (len(data) & 1)
    assert objects(ar) == [library] == objects(library) and objects(b"text") == []
    with pytest.raises(BadDeliverable):
        objects(ar[:60] + b"?" + ar[61:] + b"?" * 60)
    assert places(b"\0/home/me/src/x.c\0/etc/a/b.c\0") == ["/home/me/src/x.c"]


def test_what_lets_somebody_in() -> None:
    debian = (
        "auth [success=1 default=ignore] pam_unix.so nullok\nauth requisite pam_deny.so\n"
        "auth required pam_permit.so\nauth sufficient pam_rootok.so\n# auth x pam_y.so\n"
    )
    assert strange_pam(debian) == []
    for line in ("auth sufficient pam_permit.so", "-auth required /opt/pam_mine.so",
                 "auth [success=done] pam_succeed_if.so uid = 0"):  # fmt: skip
        assert strange_pam(debian + line) == [line]
    assert strange_set_uid(["/usr/bin/su", "/opt/su", "/usr/bin/door"]) == [
        "/opt/su",
        "/usr/bin/door",
    ]
    group = "root:x:0:\nsudo:x:27:anna,bert\naudio:x:29:carl\n"
    assert strange_members(group) == [("sudo", ["anna", "bert"])]
    assert strange_members(group, ["anna"]) == [("sudo", ["bert"])]
    good = "root:x:0:0:r:/root:/bin/sh\nsync:x:4:65534:s:/:/bin/sync\n"
    assert strange_roots(good) == []
    for line, why in (
        ("a::9:9:::", "a password, or none, for a"),
        ("b:x:0:9:::", "has the number 0"),
        ("c:x:9:0:::", "root's group"),
    ):
        (found,) = strange_roots(good + line)
        assert why in found
    assert strange_roots(good + "c:x:9:0:::", ["c"]) == []
    with pytest.raises(AssertionError, match="other than 7 fields"):
        rows("a:b\n", 7)
