"""container/host-os: its carriers are what they should be, and the oracle reads them so."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.catalogue import checkers

TASK = Path(__file__).parents[2] / "tasks/container/host-os"
ROOTFS = TASK / "solution/rootfs"
HELPERS = (
    "programs",
    "site_data",
    "bundle",
    "host",
    "media",
    "questions",
    "confinement",
    "bounds",
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="unpacking gives files to others")


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("container/host-os", *HELPERS) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def oracle() -> Iterator[dict[str, ModuleType]]:
    folder = str(ROOTFS / "usr/lib/host")
    names = ("oci", "declaration")
    sys.path.insert(0, folder)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.dont_write_bytecode = before
        sys.path.remove(folder)
        for name in names:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def site(helpers: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return helpers["site_data"].Site(b"#!/bin/busybox\n", tmp_path_factory.mktemp("site"))


def reason(oracle: dict[str, ModuleType], site: Any, name: str, work: Path) -> str | None:
    """Why the oracle refuses an entry of the first carrier; None where it would run it."""
    oci, raw = oracle["oci"], site.first["containers"][name]
    try:
        entry = oracle["declaration"].Entry(raw)
        image = oci.Image(str(site.folder / entry.image), entry.ref)
        (work / "cache").mkdir(parents=True)
        image.unpack(str(work / "root"), 0, str(work / "cache"))
        oci.user(str(work / "root"), image.config.get("User") or "")
        start = image.config.get("Entrypoint") or []
        oci.need(start + (entry.args or image.config.get("Cmd") or []), "nothing to start")
    except oci.Refused as refused:
        return str(refused.reason)
    return None


@needs_root
def test_the_oracle_refuses_what_is_wrong_and_for_the_right_reason(
    oracle: dict[str, ModuleType], site: Any, tmp_path: Path
) -> None:
    for name in site.first["containers"]:
        due = site.refused.get(name)
        if not name.startswith("hostile") and due != "port":
            assert reason(oracle, site, name, tmp_path / name) == due, name
    assert not list(Path("/run").glob(f"*{site.words['hostile']}*"))


@needs_root
def test_the_oracle_keeps_hostile_layers_inside(
    oracle: dict[str, ModuleType], site: Any, tmp_path: Path
) -> None:
    hostile = [name for name in site.first["containers"] if name.startswith("hostile")]
    assert len(hostile) == 7
    for name in hostile:
        reason(oracle, site, name, tmp_path / name)
        for path in ("stolen", "stolen2"):
            stolen = tmp_path / name / "root" / path
            assert not (
                stolen.is_file() and stolen.read_bytes() == Path("/etc/shadow").read_bytes()
            )
    assert not list(Path("/run").glob(f"*{site.words['hostile']}*"))


@needs_root
def test_the_oracle_unpacks_layers(
    oracle: dict[str, ModuleType], site: Any, tmp_path: Path
) -> None:
    assert reason(oracle, site, "layers", tmp_path / "x") is None
    root, new, old = tmp_path / "x/root", site.words["layers"], site.words["old"]
    assert (root / "word").read_text() == new
    tree = root / "t"
    for name in ("again", "shut/new", "to-folder/inner", "to-file", "real/through", "dotted"):
        assert (tree / name).read_text() == new, name
    for name in ("kept", "third", "twin", "real/first", "with space", "l" * 150):
        assert (tree / name).read_text() == old, name
    for name in ("gone", "late", "shut/a", "shut/b", "deep/er"):
        assert not (tree / name).exists(), name
    assert (tree / "twin").samefile(tree / "origin") and (tree / "third").samefile(tree / "kept")
    owned = (tree / "owned").stat()
    assert (owned.st_mode & 0o7777, owned.st_uid, owned.st_gid) == (0o4751, 12, 34)
    mine = (tree / "mine").stat()
    assert (mine.st_mode & 0o7777, mine.st_uid) == (0o750, 6)


def test_declarations_as_a_whole(oracle: dict[str, ModuleType], site: Any) -> None:
    declaration = oracle["declaration"]
    others = site.others()
    named = set(declaration.whole(others["next"]))
    assert named == set(others["next"]["containers"])
    assert {"web", "flood", "eater", "fresh", "steady", "hostile9"} <= named
    for name, one in others.items():
        if name.startswith("bad-") and not isinstance(one, bytes):
            with pytest.raises(declaration.Malformed):
                declaration.whole(one)


def changed_files(script: str, tmp_path: Path) -> set[str]:
    """What a change of the oracle's tree, as solve.sh makes it, really changes there."""
    for part in ("root", "boot/boot/grub", "initrd"):
        (tmp_path / part).mkdir(parents=True)
    shutil.copytree(ROOTFS, tmp_path / "root", dirs_exist_ok=True)
    (tmp_path / "root/etc/shadow").write_text("root:x:19000:0:99999:7:::\n")
    (tmp_path / "root/etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (tmp_path / "vendor.pem").write_text("the key\n")
    (tmp_path / "initrd/lib").mkdir()
    shutil.copy(TASK / "solution/grub.cfg", tmp_path / "boot/boot/grub")
    shutil.copy(TASK / "solution/initrd-init", tmp_path / "initrd/init")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    known = set(files)
    before = {path: path.read_bytes() for path in files}
    names = f'work={tmp_path} root={tmp_path}/root boot={tmp_path}/boot lib="$root/usr/lib/host"'
    subprocess.run(["bash", "-euc", f"{names.replace(' lib', '; lib')}\n{script}"], check=True)
    made = {path.name for path in tmp_path.rglob("*") if path.is_file() and path not in known}
    return made | {path.name for path in files if path.read_bytes() != before[path]}


def rungs() -> list[tuple[str, str]]:
    text = (TASK / "solution/solve.sh").read_text()
    return re.findall(r"^has ([a-z-]+) \|\| (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize(("rung", "script"), rungs(), ids=[rung for rung, _ in rungs()])
def test_what_the_ladder_leaves_out_is_there(rung: str, script: str, tmp_path: Path) -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    assert len(changed_files(script, tmp_path)) == 1, rung


@pytest.mark.parametrize("exploit", sorted((TASK / "exploits").glob("*.sh")), ids=lambda p: p.stem)
def test_what_the_exploits_change_is_there(exploit: Path, tmp_path: Path) -> None:
    found = re.search(r"<<'CHANGES'\n(.*?)^CHANGES$", exploit.read_text(), re.MULTILINE | re.DOTALL)
    assert found
    assert changed_files(found[1], tmp_path)


def test_the_letter_says_what_the_bundle_is(helpers: dict[str, ModuleType]) -> None:
    letter = (TASK / "instruction.md").read_text()
    text = helpers["bundle"].manifest(12, "0" * 64, 33)
    assert len(text) == 1024
    assert text.startswith(b"HOST-BUNDLE-1\nversion=12\nsize=33\nsha256=")
    assert "HOST-BUNDLE-1\n  version=12\n  size=" in letter
    assert helpers["host"].PASSWORD in letter and helpers["site_data"].FORMAT in letter


def test_the_bench_is_pinned(helpers: dict[str, ModuleType]) -> None:
    pin = (TASK / "environment/bench/busybox.sha256").read_text().strip()
    assert pin in (TASK / "tests/conftest.py").read_text()


def test_words_of_all_kinds_are_words_of_the_letter(site: Any) -> None:
    letter = (TASK / "instruction.md").read_text()
    assert {f"`{one}`" for one in set(site.refused.values())} <= set(
        re.findall(r"`[a-z]+`", letter)
    )


@pytest.mark.parametrize(
    ("address", "inside"),
    [
        ("0100007F", True),
        ("00000000", False),
        ("0F02000A", False),
        ("0" * 24 + "01000000", True),
        ("0" * 32, False),
        ("0" * 16 + "FFFF0000" + "0100007F", True),
        ("0" * 16 + "FFFF0000" + "0F02000A", False),
        ("000080FE" + "0" * 16 + "01000000", False),
    ],
)
def test_what_nobody_outside_reaches(
    helpers: dict[str, ModuleType], address: str, inside: bool
) -> None:
    assert helpers["confinement"]._loopback(address) is inside


def test_more_files_have_room(helpers: dict[str, ModuleType]) -> None:
    files = helpers["media"].more_files()
    blocks = sum(-(-len(content) // 4096) * 4096 for content in files.values())
    assert len(files) == 15 and (900 << 10) < blocks <= (1 << 20) - 4096


class Console:
    """A container that used these hundredths of a processor's second in each window of ten."""

    def __init__(self, *used: int) -> None:
        self.left = list(used)

    def ask_once(self, port: int, script: str, seconds: float) -> str:
        return f"100.0 110.0 0 {self.left.pop(0)}"


@pytest.mark.parametrize(("used", "left"), [((200,), 0), ((267, 229), 0), ((300, 240, 50), 0)])
def test_a_share_that_load_raised_once_holds(
    helpers: dict[str, ModuleType], used: tuple[int, ...], left: int
) -> None:
    console = Console(*used)
    helpers["bounds"].processor(console)
    assert len(console.left) == left


@pytest.mark.parametrize(
    ("used", "left"), [((267, 251, 240), 0), ((999, 200), 1), ((500, 200), 1), ((30, 200), 1)]
)
def test_a_share_that_never_holds_or_is_none_is_refused(
    helpers: dict[str, ModuleType], used: tuple[int, ...], left: int
) -> None:
    console = Console(*used)
    with pytest.raises(AssertionError, match=r"of 20 percent .*\[R"):
        helpers["bounds"].processor(console)
    assert len(console.left) == left
