"""A root that lacks what root has elsewhere, as in a container, is told so."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.needs("root", "setpriv")
@pytest.mark.parametrize(
    ("lacks", "state"), [((), "ok"), (("--bounding-set=-sys_admin",), "broken")]
)
def test_a_root_without_mounts_is_no_root_for_sandboxes(lacks: tuple[str, ...], state: str) -> None:
    script = (
        "from benchflow.run.doctor.sandbox import user_namespaces\n"
        "found = user_namespaces()\n"
        "print(found.state.value, found.hint)"
    )
    command = ["setpriv", *lacks, sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = done.stdout.split(maxsplit=1)
    assert said[0] == state
    assert ("--cap-add SYS_ADMIN" in done.stdout) == (state == "broken")
