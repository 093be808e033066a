"""embedded/ab-update: its parts agree with each other, and its helpers can tell yes from no."""

from __future__ import annotations

import base64
import gzip
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.catalogue import checkers
from tests.needs import needs

from benchflow.boot.inspect import ed25519
from benchflow.tasks import Task, find

TASK = Path(__file__).parents[2] / "tasks/embedded/ab-update"
HELPERS = ("bundle", "media", "unit", "dead", "power", "delivered")
TOOLS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
MIB = 1 << 20


@pytest.fixture(scope="module")
def task() -> Task:
    return find("embedded/ab-update")


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("embedded/ab-update", *HELPERS) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vendor")


@pytest.fixture(scope="module")
@needs("e2fsprogs", "openssl")
def vendor(helpers: dict[str, ModuleType], folder: Path) -> Any:
    """A vendor with a slot image in which /sbin is a link, as merged systems have it."""
    bundle = helpers["bundle"]
    tree = folder / "tree"
    for place in ("etc/health.d", "boot", "usr/sbin"):
        (tree / place).mkdir(parents=True)
    (tree / "sbin").symlink_to("usr/sbin")
    (tree / "usr/sbin/busybox").write_bytes(b"all of them")
    (tree / "usr/sbin/init").symlink_to("/usr/sbin/busybox")
    (tree / "etc/release").write_text("version=1\n")
    (tree / "boot/vmlinuz").write_bytes(b"kernel" * 10000)
    slot = folder / "slot"
    with slot.open("wb") as stream:
        stream.truncate(bundle.SLOT)
    subprocess.run(
        ["mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(slot)], check=True, env=TOOLS
    )
    seed = bytes(range(32))
    text = bundle.manifest(1, bundle.digest_of(slot))
    first = folder / "first.bundle"
    first.write_bytes(text + ed25519.sign(seed, text) + slot.read_bytes())
    der = base64.b64encode(ed25519.PKCS8_HEAD + seed)
    pem = b"-----BEGIN PRIVATE KEY-----\n" + der + b"\n-----END PRIVATE KEY-----\n"
    return bundle.Vendor(first, pem, folder)


def test_what_the_oracle_and_its_exploits_edit_is_there() -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    rootfs = TASK / "solution/rootfs"
    update = (rootfs / "usr/sbin/update").read_text()
    on_trial = (rootfs / "usr/sbin/on-trial").read_text()
    state = (rootfs / "usr/lib/unit/state").read_text()
    grub = (TASK / "solution/grub.cfg").read_text()
    record = (rootfs / "usr/sbin/record").read_text()
    assert "refuse 11" in update and "\n\ttarget=" in update and "\tset_slot" in update
    assert 'set_slot "$other" none' in update and 'refuse 15 "this version' in update
    assert "\n\tblockdev --flushbufs " in update
    assert '[ "$version" -gt "$floor" ]' in update and "\n\t\t\tleave " in on_trial
    assert '[ "$1" = good ] || refuse' in update and "\n\topenssl pkeyutl -verify" in update
    assert (
        "watchdog -T" in on_trial and "watchdog -T" in (TASK / "solution/initrd-init").read_text()
    )
    assert '\n\t[ "$(release_version)" -gt "$floor" ]' in on_trial
    assert "\n\ttake 1\n" in state and "\n\tlocal to=0\n" in state and "] && to=1\n" in state
    assert " panic=1 " in grub and '\n\tload_env -f "(hd0,gpt2)/s${1}' in grub and "gpt4" in grub
    assert record.count("\n\tsync ") == 2


def test_what_the_letter_says_is_what_the_checks_use(helpers: dict[str, ModuleType]) -> None:
    letter = (TASK / "instruction.md").read_text()
    unit, bundle = helpers["unit"], helpers["bundle"]
    assert f"`{unit.PASSWORD}`" in letter and f"`{bundle.BOARD}`" in letter
    block = re.search(r"prints these lines.*?```\n(.*?)```", letter, re.DOTALL)
    assert block
    assert (
        tuple(line.split("=")[0].strip() for line in block[1].splitlines() if line.strip())
        == unit.KEYS
    )
    example = bundle.manifest(12, "0" * 64).rstrip(b"\0").decode()
    shown = re.search(r"```\n(  UNIT-BUNDLE.*?)  ```", letter, re.DOTALL)
    assert shown
    lines = [line.strip() for line in shown[1].splitlines()]
    assert lines[:-1] == example.splitlines()[:-1] and lines[-1].startswith("sha256=")


def test_a_release_differs_in_what_was_asked_and_nothing_else(
    helpers: dict[str, ModuleType],
    vendor: Any,
    folder: Path,
) -> None:
    from benchflow.boot.inspect.ext4 import Ext4

    script = b"#!/bin/sh\nexit 1\n"
    release = vendor.version(
        folder / "17", 17, "abc", init=script, kernel=b"none", health_90=script
    )
    assert (
        release.digest == helpers["bundle"].digest_of(release.path, 1088) != vendor.release1.digest
    )
    files = Ext4(release.path, 1088, scratch=folder)
    assert files.problems() == ""
    said = sorted(files.read_text("/etc/release").splitlines())
    assert said == ["build=abc", "built_by=varde", "min_version=1", "version=17"]
    assert files.read("/sbin/init") == script and files.stat("/sbin/init").mode == 0o755
    assert files.stat("/usr/sbin/init", follow=False).kind == "file"
    assert files.read("/usr/sbin/busybox") == b"all of them", "the link's target was overwritten"
    assert files.read("/boot/vmlinuz") == b"none" and files.exists("/etc/health.d/90")
    old = Ext4(vendor.release1.path, 1088, scratch=folder)
    assert old.read("/etc/release") == b"version=1\n", "the delivered slot was changed"


def test_every_false_bundle_is_false_in_one_way(
    helpers: dict[str, ModuleType],
    vendor: Any,
    folder: Path,
) -> None:
    bundle = helpers["bundle"]
    place = folder / "all"
    place.mkdir()
    from benchflow.boot.inspect.ext4 import Ext4

    media = helpers["media"].Media(vendor, place, "word")
    number = {name: release.version for name, release in media.releases.items()}
    assert len(set(number.values())) == len(number) and number["first"] == 1
    assert str(number["second"]) > str(number["third"]), "as text the order is that by number"
    rising = sorted(number, key=number.__getitem__)
    assert " ".join(rising) == (
        "first second third flaky unhealthy"
        " torn garbage missing ends dawdles hangs next sick cuts last"
    )
    whole = bundle.MANIFEST + bundle.SIGNATURE + bundle.SLOT
    second = media.releases["second"]
    good = bundle.manifest(second.version, second.digest)
    for what, name in media.names.items():
        path = media.files / name
        with path.open("rb") as stream:
            text, signature = stream.read(bundle.MANIFEST), stream.read(bundle.SIGNATURE)
        signed = len(text) == bundle.MANIFEST and ed25519.sign(vendor.seed, text) == signature
        size = path.stat().st_size
        assert (size == whole) is not (
            what.startswith("short") or what in ("long", "order-long", "empty")
        ), what
        if what.startswith("form"):
            assert signed and text != good, what
        elif what.startswith("signature") or what in ("order-signature", "order-form"):
            assert not signed, what
        elif size == whole:
            assert signed, what
        if what in media.releases:
            found = bundle.digest_of(path, bundle.MANIFEST + bundle.SIGNATURE)
            assert found == media.releases[what].digest, what
        elif what.startswith("content"):
            assert bundle.digest_of(path, bundle.MANIFEST + bundle.SIGNATURE) != second.digest
    assert media.disk().path.stat().st_size > 0
    missing = Ext4(media.releases["missing"].path, bundle.HEAD, scratch=place)
    assert "init" not in missing.listdir("/usr/sbin") and not missing.problems()
    forms = [(media.files / name).read_bytes()[: bundle.MANIFEST]
             for what, name in media.names.items() if what.startswith("form")]  # fmt: skip
    assert len(set(forms)) == len(forms)


def test_more_files_are_as_many_and_as_large_as_the_letter_leaves_room_for(
    helpers: dict[str, ModuleType],
) -> None:
    files = helpers["media"].more_files()
    blocks = sum(-(-len(content) // 4096) * 4096 for content in files.values())
    assert len(files) == 16 and (900 << 10) < blocks <= 1 << 20
    assert all(content.startswith(b"#!/bin/sh\nexit 0\n") for content in files.values())


def test_a_version_that_cannot_be_made_is_missed_where_it_is_used(
    helpers: dict[str, ModuleType], vendor: Any
) -> None:
    releases = helpers["media"].Releases(("first", vendor.release1))
    releases.faults["next"] = "no room"
    assert releases["first"] is vendor.release1
    with pytest.raises(AssertionError, match="no room"):
        releases["next"]


def test_a_key_is_found_where_it_is_packed(
    helpers: dict[str, ModuleType], vendor: Any, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    pem = base64.b64encode(ed25519.PKCS8_HEAD + vendor.seed)

    class Deliverable:
        path = disk

    look = helpers["delivered"].the_private_key_is_not_on_the_disk
    disk.write_bytes(b"nothing of it" * 999)
    look(Deliverable, vendor)
    for hidden in (vendor.seed, pem, vendor.seed.hex().encode(), gzip.compress(gzip.compress(pem))):
        disk.write_bytes(bytes(1000) + hidden + bytes(1000))
        with pytest.raises(AssertionError, match=r"\[R4\]"):
            look(Deliverable, vendor)


STATUS = "slot=b\nversion=12\nstate=trial\ntry=2\nother=good\nother_version=9\nfloor=9\n"


def test_status_is_read(helpers: dict[str, ModuleType]) -> None:
    found = helpers["unit"].parse_status(STATUS)
    assert found["slot"] == "b" and found["try"] == "2" and found["floor"] == "9"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("slot=b", "slot=c"),
        ("state=trial", "state=unknown"),
        ("try=2", "try=4"),
        ("other=good", "other=fine"),
        ("other=good", "other=none"),
        ("floor=9\n", ""),
        ("version=12\n", ""),
        ("slot=b\n", "slot=b\nmore=1\n"),
    ],
)
def test_other_words_are_not_a_status(helpers: dict[str, ModuleType], old: str, new: str) -> None:
    with pytest.raises(AssertionError):
        helpers["unit"].parse_status(STATUS.replace(old, new))


def test_changed_sectors_are_found_outside_of_slots_and_data(
    helpers: dict[str, ModuleType], tmp_path: Path
) -> None:
    unit = helpers["unit"]
    layout = unit.Layout(
        {"slot-a": (2 * MIB, MIB), "slot-b": (3 * MIB, MIB), "data": (5 * MIB, MIB)}
    )
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_bytes(bytes(7 * MIB))
    shutil.copyfile(before, after)
    assert layout.changed(before, after) == []
    inside = [2 * MIB + 5, 4 * MIB - 1, 5 * MIB, 6 * MIB - 1]
    outside = [0, 2 * MIB - 1, 4 * MIB, 4 * MIB + 511, 6 * MIB, 7 * MIB - 1]
    with after.open("r+b") as stream:
        for place in [*inside, *outside]:
            stream.seek(place)
            stream.write(b"x")
    assert layout.changed(before, after) == sorted({place // 512 for place in outside})


@pytest.mark.parametrize("kind", range(4))
def test_a_sector_is_torn_on_a_copy(
    helpers: dict[str, ModuleType], tmp_path: Path, kind: int
) -> None:
    disk, before = tmp_path / "disk", tmp_path / "before"
    disk.write_bytes(b"a" * 2048)
    before.write_bytes(b"b" * 2048)
    spoilt = helpers["power"].spoil(before, disk, tmp_path / "spoilt", 2, kind).read_bytes()
    assert disk.read_bytes() == b"a" * 2048
    assert spoilt[:1024] == b"a" * 1024 and spoilt[1536:] == b"a" * 512
    sector = spoilt[1024:1536]
    assert (sector == bytes(512)) is (kind == 0)
    assert (sector[:256] == b"a" * 256) is (kind >= 2) and sector[256:] != b"a" * 256
    assert (sector[256:] == b"b" * 256) is (kind == 3)
