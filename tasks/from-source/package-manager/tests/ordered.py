"""The delivered repository, and the delivered disk beside it."""

from __future__ import annotations

from itertools import combinations

from form import Package, by_number, circle, index
from hidden import Searcher, sums

from benchflow.boot import Elf, Initramfs, decompress, is_elf
from benchflow.boot.errors import BadDeliverable
from benchflow.boot.inspect import ed25519

REQUIRED = {"base", "libc", "busybox", "cc", "lade", "recipes", "tide"}
LOADER = "/lib/ld-musl-x86_64.so.1"
LIBRARY = {"libc.so", "ld-musl-x86_64.so.1"}
ASIDE = {"dev", "proc", "sys", "run", "tmp", "root", "lost+found", "var/lib/lade"}
PACKED_MAX = 64 << 20
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")


def packages_have_the_form(readings, own) -> None:
    odd = {name: why for name, why in readings.items() if not isinstance(why, Package)}
    assert not odd, f"no packages as FORMAT.md has them [R6]: {odd}"
    assert len(own) == len(readings), f"a package is there in two versions: {sorted(readings)}"
    assert set(own) >= REQUIRED, f"missing in repo [R6]: {sorted(REQUIRED - set(own))}"


def packages_go_together(own) -> None:
    for package in own.values():
        for need in package.needs:
            name, _, least = need.partition(">=")
            assert name in own, f"{package.name} needs {name}, which is not in repo [R6]"
            assert not least or by_number(own[name].version) >= by_number(least), (
                f"{package.name} needs {need}, and repo has {own[name].version} [R6]"
            )
        both = set(package.conflicts) & set(own) - {package.name}
        assert not both, f"{package.name} excludes {sorted(both)}, beside which it stands [R13]"
    round_and_round = circle({name: package.needs for name, package in own.items()})
    assert not round_and_round, f"needs go round in a circle [R13]: {round_and_round}"
    for one, two in combinations(own.values(), 2):
        same = set(one.plain) & set(two.entries) | set(one.entries) & set(two.plain)
        assert not same, f"{one.name} and {two.name} both have /{min(same)} [R15]"


def index_is_signed(delivered, own, keys) -> None:
    text = index([(package, delivered[package.file_name]) for package in own.values()], 1)
    assert delivered.get("INDEX") == text, (
        f"INDEX is not that of these packages, with serial 1 [R6]: {delivered.get('INDEX')!r:.400}"
    )
    signature = delivered.get("INDEX.sig", b"")
    assert any(ed25519.verify(key, text, signature) for key in keys), (
        "INDEX.sig fits none of the keys in the station's /etc/lade.conf [R6]"
    )
    more = set(delivered) - {"INDEX", "INDEX.sig", *(p.file_name for p in own.values())}
    assert not more, f"repo has more than packages, INDEX and INDEX.sig: {sorted(more)}"


def private_key_is_not_there(delivered, own, tree, disk, initrd, keys) -> None:
    known = sums(entry.data for package in own.values() for entry in package.entries.values())
    searcher = Searcher(keys, known | sums(delivered.values()))
    for name, data in {**delivered, "disk.img": disk, "initrd": initrd}.items():
        assert not searcher.finds(data), f"the private key is in {name} [R6]"
    for entry, data in tree.contents("/"):
        assert not searcher.finds(_open(data)), f"the private key is in {entry.path} [R6]"
    for entry, data in Initramfs(initrd).contents("/"):
        assert not searcher.finds(_open(data)), f"the private key is in initrd: {entry.path} [R6]"


def _open(data: bytes) -> bytes:
    """Short files, which hold keys, and what is packed; the rest has been read as the disk."""
    if not data.startswith(_PACKED):
        return data if len(data) < 4096 else b""
    try:
        return decompress(data, PACKED_MAX)
    except BadDeliverable:
        return b""


def every_file_is_a_packages(tree, own) -> None:
    wanted = {}
    for package in own.values():
        if package.name != "tide":
            for path, entry in package.entries.items():
                wanted.setdefault(path, []).append(entry)
    contents = {item.path: data for item, data in tree.contents("/")}
    found = set()
    for item in tree.walk("/"):
        path = item.path.strip("/")
        found.add(path)
        if not path or any(path == top or path.startswith(f"{top}/") for top in ASIDE):
            continue
        entries = wanted.get(path)
        assert entries, f"/{path} is no entry of an installed package [R7]"
        here = (item.kind, item.mode & 0o7777, item.uid, item.gid)
        if item.kind == "symlink":
            here = (item.kind, 0o777, item.uid, item.gid)
        told = [(entry.kind, entry.mode, entry.uid, entry.gid) for entry in entries]
        assert here in told, f"/{path} is {here}, and its package says {told} [R7]"
        if item.kind == "symlink":
            assert tree.readlink(f"/{path}") == entries[0].link, f"/{path} leads elsewhere [R7]"
        if item.kind == "file":
            assert contents.get(f"/{path}") == entries[0].data, f"/{path} has other content [R7]"
    missing = sorted(set(wanted) - found)
    assert not missing, (
        f"entries of installed packages that are not on the disk [R7]: {missing[:5]}"
    )
    configs = {path for package in own.values() for path in package.configs}
    lacking = {"etc/lade.conf", "etc/shadow"} - configs
    assert not lacking, f"no configuration files of a package [R7]: {sorted(lacking)}"


def programs_are_linked_to_one_library(tree) -> None:
    boxes = []
    for item, data in tree.contents("/"):
        if not is_elf(data) or item.path.endswith((".o", ".ko")):
            continue
        elf = Elf(data)
        assert elf.interpreter in ("", None, LOADER), (
            f"{item.path} asks for the loader {elf.interpreter}, {LOADER} or none was wanted [R4]"
        )
        others = set(elf.needed) - LIBRARY
        assert not others, f"{item.path} needs {sorted(others)}, the C library alone may be [R4]"
        assert b"GLIBC_2." not in data, f"{item.path} is linked to the GNU C library [R4]"
        if b"v1.35.0-tarn3" in data:
            boxes.append((item.path, elf.interpreter))
    assert any(loader == LOADER for _, loader in boxes), (
        f"no BusyBox v1.35.0-tarn3 that is linked to the shared library [R4]; found: {boxes}"
    )
