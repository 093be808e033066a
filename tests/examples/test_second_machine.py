"""The checks in examples/second-machine tell a server that serves from one that does not."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from guests import build_initramfs, debian_kernel, modules

sys.path.append(str(Path(__file__).parents[1] / "boot"))
from verifier_runs import deliverable, run, write_task, zipapp

EXAMPLES = Path(__file__).parents[2] / "examples"
SERVER = """
ip link set lo up; mkdir -p /srv; httpd -h /srv
setsid cttyhack sh
poweroff -f
"""


@pytest.mark.needs("qemu", "guests")
@pytest.mark.parametrize(("server", "passes"), [("httpd", True), ("true", False)])
def test_a_second_machine_asks_the_delivered_one(server: str, passes: bool, tmp_path: Path) -> None:
    shutil.copy(debian_kernel(), tmp_path / "kernel")
    init = SERVER.replace("httpd", server)
    build_initramfs(tmp_path / "initrd", init, files=modules("virtio_pci", "virtio_net"))
    checks = (EXAMPLES / "second-machine" / "checks.py").read_text()
    delivered = [deliverable(tmp_path / "kernel"), deliverable(tmp_path / "initrd")]
    tests = write_task(
        tmp_path / "tests",
        checks.replace("/app/out", str(tmp_path)),
        firmware="direct",
        deliverables=delivered,
    )
    done = run(zipapp(tmp_path / "boot"), tests, tmp_path / "logs")
    assert done.status == 0, done.stderr
    assert done.milestones == {"serves": "passed" if passes else "failed"}, done.stdout
    # What is not there is not served by nobody either: the first check alone tells them apart.
    assert done.checks["test_what_is_not_there_is_not_served"]["status"] == "passed"
