"""embedded/recalled-key: its bundles are what their names say, and what is left out is left out."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from tests.catalogue import checkers
from tests.needs import needs

from benchflow.boot.inspect import ed25519
from benchflow.tasks import Task, find

HELPERS = ("bundle", "media", "unit", "fleet", "power", "dead", "questions")
PKCS8 = bytes.fromhex("302e020100300506032b657004220420")
OLD, NEXT = bytes(range(32)), bytes(range(1, 33))


@pytest.fixture(scope="module")
def task() -> Task:
    return find("embedded/recalled-key")


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("embedded/recalled-key", *HELPERS) as loaded:
        yield loaded


def _pem(seed: bytes) -> bytes:
    text = base64.encodebytes(PKCS8 + seed).decode()
    return f"-----BEGIN PRIVATE KEY-----\n{text}-----END PRIVATE KEY-----\n".encode()


@pytest.fixture(scope="module")
@needs("e2fsprogs")
def made(helpers: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Every bundle of a run, of a field whose slot image has what the contract asks for."""
    top = tmp_path_factory.mktemp("recall")
    tree = top / "tree"
    for folder in ("etc/health.d", "sbin", "boot"):
        (tree / folder).mkdir(parents=True)
    (tree / "etc/release").write_text("version=1\n")
    (tree / "sbin/init").write_text("#!/bin/sh\n")
    bundle, media = helpers["bundle"], helpers["media"]
    head = bytes(bundle.HEAD)
    slot = top / "slot"
    with slot.open("wb") as file:
        file.truncate(bundle.SLOT)
    command = ["/sbin/mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(slot)]
    subprocess.run(command, check=True)
    first, recall = top / "first.bundle", top / "recall.bundle"
    for path in (first, recall):
        path.write_bytes(head + slot.read_bytes())
    (top / "old").mkdir()
    (top / "next").mkdir()
    (top / "media").mkdir()
    old = bundle.FieldVendor(first, _pem(OLD), top / "old")
    next_vendor = bundle.NextVendor(recall, _pem(NEXT), top / "next")
    found = media.Media(top / "media", "word")
    media.of_the_field(found, old, recall)
    media.of_a_thief(found, old, next_vendor.release1)
    media.of_the_next_key(found, next_vendor)
    return found


def _head(media: Any, what: str, helpers: dict[str, ModuleType]) -> tuple[bytes, bytes, int]:
    data: bytes = media.file(what).read_bytes()
    text = data[: helpers["bundle"].MANIFEST]
    number = re.search(rb"^version=(\d+)$", text, re.MULTILINE)
    assert number
    return text, data[helpers["bundle"].MANIFEST : helpers["bundle"].HEAD], int(number[1])


def test_what_a_thief_signs_is_of_the_old_key(made: Any, helpers: dict[str, ModuleType]) -> None:
    thefts = helpers["media"].THEFTS
    numbers = []
    for what in thefts:
        text, signature, number = _head(made, what, helpers)
        assert ed25519.verify(ed25519.public(OLD), text, signature), what
        assert not ed25519.verify(ed25519.public(NEXT), text, signature), what
        numbers.append(number)
    # Newer than all that the new key signs: the version alone would let them in.
    latest = max(one.version for one in made.releases.values())
    assert [number > latest for number in numbers] == [what != "thief-low" for what in thefts]


def test_the_field_stays_below_what_the_order_says(
    made: Any, helpers: dict[str, ModuleType]
) -> None:
    field = [made.releases[what].version for what in ("first", "low", "slow", "high")]
    assert field == sorted(field) and field[-1] <= 900
    later = [made.releases[what].version for what in ("recall", *helpers["media"].LATER)]
    assert later == sorted(set(later)) and later[0] == helpers["bundle"].RECALL == 1000
    for what in ("low", "slow", "high"):
        text, signature, _ = _head(made, what, helpers)
        assert ed25519.verify(ed25519.public(OLD), text, signature), what
    for what in helpers["media"].LATER:
        text, signature, _ = _head(made, what, helpers)
        assert ed25519.verify(ed25519.public(NEXT), text, signature), what


def test_the_word_of_what_hangs_is_made_by_a_shell(made: Any) -> None:
    data = made.file("hangs").read_bytes()
    assert made.words["hangs"].encode() not in data
    script = re.search(rb"echo (\S+) \| tr -d _ \| sed", data)
    assert (
        script
        and script[1].replace(b"_", b"").replace(b"v", b"w", 1).decode() == (made.words["hangs"])
    )


def test_what_the_oracle_leaves_out_is_there_to_be_left_out(task: Task) -> None:
    """A `sed` whose place is gone would leave nothing out, and the ladder would not be one."""
    solution = task.path / "solution"
    texts = {
        "update": (solution / "rootfs/usr/sbin/update").read_text(),
        "on-trial": (solution / "rootfs/usr/sbin/on-trial").read_text(),
        "rc": (solution / "rootfs/etc/rc").read_text(),
        "init": (solution / "initrd-init").read_text(),
    }
    places = {
        "update": [r"^\topenssl pkeyutl -verify", r"^\t\t-sigfile", r"^\ttarget=",
                   r"^\tblockdev --flushbufs"],
        "on-trial": [r"^\tgood=\$slot trial=$", "recalled=yes", r"^\t\t\tleave ",
                     r"^\tfor script in "],
        "rc": ["sbin.mke2fs"],
        "init": ["^.bin.watchdog"],
    }  # fmt: skip
    for name, patterns in places.items():
        for pattern in patterns:
            assert len(re.findall(pattern, texts[name], re.MULTILINE)) == 1, (name, pattern)


def test_the_earlier_contract_is_in_the_instruction(task: Task) -> None:
    """A newcomer has not seen the earlier order: its tables and limits are said again."""
    earlier = (task.path.parent / "ab-update/instruction.md").read_text()
    now = (task.path / "instruction.md").read_text()
    manifest = re.search(r"UNIT-BUNDLE-1\n[^`]*", earlier)
    assert manifest and re.sub(r"(?m)^ +", "", manifest[0]).strip() in now
    for status in re.findall(r"(?m)^  \| (1\d) \|", earlier):
        assert re.search(rf"\b{status}\b", now), status
    for word in ("Lock-Chamber-7", "/data/config/hostname", "record add TEXT", "33554432"):
        assert word in earlier and word in now, word
