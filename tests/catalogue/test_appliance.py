"""spin/appliance: its parts agree with each other, and its own tools can tell yes from no."""

from __future__ import annotations

import base64
import json

import pytest

from benchflow.tasks import Task, find

EXPECTED_MILESTONES = 15


@pytest.fixture(scope="module")
def task() -> Task:
    return find("spin/appliance")


def test_the_customers_key_is_the_one_that_the_verifier_holds(task: Task) -> None:
    private = task.path / "tests" / "customer_key"
    given = (task.path / "environment" / "order" / "customer_key.pub").read_text().split()
    assert private.read_text().startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    # The public half stands in the clear inside an unencrypted OpenSSH key file.
    body = "".join(private.read_text().splitlines()[1:-1])
    assert base64.b64decode(given[1]) in base64.b64decode(body)


def test_the_checks_ask_for_what_the_order_says(task: Task) -> None:
    order = json.loads((task.path / "environment" / "order" / "order.json").read_text())
    checks = (task.path / "tests" / "brand.py").read_text()
    for key in ("product", "build_id", "support_url"):
        assert order[key] in checks
