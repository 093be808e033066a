"""The suite tells sandboxes from leaks, and the namespace sandbox passes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchflow.testing import sandbox_conformance

OURS = "benchflow.sandbox.environment:NamespaceEnvironment"
LEAKY = "benchflow.testing.sandbox_conformance.leaky:LeakyEnvironment"
# What the leaky environment, which is the host itself, has to be caught at.
CAUGHT = (
    "escape.host-files",
    "escape.host-files-are-not-written",
    "escape.host-processes-are-unseen",
    "escape.host-processes-are-unharmed",
    "escape.open-descriptors",
    "exec.host-environment-stays-out",
    "exec.cancel-kills",
    "exec.signals",
    "files.modes",
    "files.into-a-directory",
    "files.symlink-to-a-host-file",
    "files.symlink-in-the-path",
    "files.upload-through-a-symlink",
    "files.symlinks-in-a-tree",
    "files.set-uid-stays-inside",
    "escape.chroot-tricks",
    "escape.shared-memory",
    "network.none-hides-host-loopback",
    "network.abstract-sockets",
    "network.path-sockets",
    "life.nothing-is-kept",
    "life.logs-are-harmless",
)


def test_there_are_at_least_forty_checks_each_with_a_promise():
    assert len(sandbox_conformance.CATALOGUE) >= 40
    promises = [check.promise for check in sandbox_conformance.CATALOGUE.values()]
    assert len(set(promises)) == len(promises)


def test_the_page_of_results_names_every_check():
    page = Path(__file__).parents[2].joinpath("docs/conformance.md").read_text()
    missing = [name for name in sandbox_conformance.CATALOGUE if f"| {name} |" not in page]
    assert not missing


def test_a_check_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match=r"no\.such"):
        sandbox_conformance.run(OURS, only=["no.such"])


@pytest.mark.skipif(os.geteuid() != 0, reason="a leak of a plain user's is a smaller one")
def test_a_leaky_environment_is_caught():
    results = sandbox_conformance.run(LEAKY, only=CAUGHT)
    assert {result.check: result.status for result in results} == dict.fromkeys(CAUGHT, "fail")
    assert all("Error" not in result.detail or "into" in result.check for result in results)


@pytest.mark.needs("sandbox")
def test_the_command_prints_a_line_a_check_and_fails_when_one_fails():
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "benchflow.testing.sandbox_conformance",
                "--env",
                OURS,
                "--json",
            ),
            *("exec.exit-codes", "exec.users", "escape.host-files"),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    checks = json.loads(done.stdout)["checks"]
    assert [check["status"] for check in checks] == ["pass"] * 3


@pytest.mark.needs("sandbox")
@pytest.mark.slow
def test_the_namespace_sandbox_conforms():
    results = sandbox_conformance.run(OURS, kwargs={"share_logs": "yes"})
    failed = [r for r in results if r.status == "fail"]
    assert not failed, "\n".join(f"{r.check}: {r.detail}" for r in failed)
