"""spin/appliance: its parts agree with each other, and its own tools can tell yes from no."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from types import ModuleType

import pytest
from tests.catalogue.checkers import helper

from benchflow.tasks import Task, find

EXPECTED_MILESTONES = 15


@pytest.fixture(scope="module")
def task() -> Task:
    return find("spin/appliance")


@pytest.fixture(scope="module")
def unit() -> ModuleType:
    return helper("spin/appliance", "unit")


def test_the_customers_key_is_the_one_that_the_verifier_holds(task: Task) -> None:
    private = task.path / "tests" / "customer_key"
    given = (task.path / "environment" / "order" / "customer_key.pub").read_text().split()
    assert private.read_text().startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    # The public half stands in the clear inside an unencrypted OpenSSH key file.
    body = "".join(private.read_text().splitlines()[1:-1])
    assert base64.b64decode(given[1]) in base64.b64decode(body)


def test_the_checks_ask_for_what_the_order_says(task: Task) -> None:
    order = json.loads((task.path / "environment" / "order" / "order.json").read_text())
    checks = (task.path / "tests" / "checks.py").read_text()
    for key in ("product", "build_id", "support_url"):
        assert order[key] in checks


def test_secrets_are_found_in_a_sparse_disk_wherever_they_lie(
    unit: ModuleType, tmp_path: Path
) -> None:
    disk, here, across, absent = tmp_path / "disk", b"a" * 32, b"b" * 32, b"c" * 32
    with disk.open("wb") as file:
        file.truncate(1 << 30)
        file.seek((1 << 30) - 32)
        file.write(here)
        file.seek((600 << 20) - 4096)
        file.write(bytes(4096 + (8 << 20) - 16) + across)
    assert unit.holds(disk, [here, across, absent]) == {here, across}


def test_a_partition_has_changed_when_one_byte_has(unit: ModuleType, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    content = bytes(range(256)) * 64
    disk.write_bytes(content)
    assert unit.digest(disk, 512, 1024) == hashlib.sha256(content[512:1536]).hexdigest()
    disk.write_bytes(content[:600] + b"\xff" + content[601:])
    assert unit.digest(disk, 512, 1024) != hashlib.sha256(content[512:1536]).hexdigest()
    assert unit.digest(disk, 1024, 1024) == hashlib.sha256(content[1024:2048]).hexdigest()
