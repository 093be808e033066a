"""`--sandbox vm`: the agent's place is a machine, the verifier's never is."""

from __future__ import annotations

import json
from pathlib import Path

import ours
import plain
import pytest
from plain import benchflow, run_json

from benchflow.errors import TaskError
from benchflow.run import fitness
from benchflow.tasks import load

NEEDS = 'arch = "x86_64"\nneeds = ["loop-devices"]'
SOLVE = """#!/bin/bash
set -e
mkdir -p /app/out /mnt/x
truncate -s 32M /var/d
mkfs.ext4 -q /var/d
mount -o loop /var/d /mnt/x
[ "$(cat /proc/1/comm)" = systemd ]
echo "one two three" >/mnt/x/words.txt
cp /mnt/x/words.txt /app/out/words.txt
umount /mnt/x
"""


def words(root: Path, solve: str = SOLVE) -> Path:
    folder = ours.words(root)
    plain.write(folder / "solution/solve.sh", solve)
    file = folder / "task.toml"
    longer = file.read_text().replace("timeout_sec = 60", "timeout_sec = 900")
    file.write_text(longer.replace('arch = "x86_64"', NEEDS))
    return folder


@pytest.mark.parametrize("sandbox", ["namespace", "docker"])
def test_what_only_a_machine_has_is_refused_elsewhere_with_the_way_out(
    tmp_path: Path, sandbox: str
) -> None:
    task = load(words(tmp_path))
    with pytest.raises(TaskError, match=rf"loop-devices: the {sandbox} .* --sandbox vm"):
        fitness.refuse([task], sandbox)
    fitness.refuse([task], "vm")
    assert fitness.sandbox_for(task) == "vm"


def test_other_needs_are_for_people(tmp_path: Path) -> None:
    folder = words(tmp_path)
    file = folder / "task.toml"
    file.write_text(file.read_text().replace("loop-devices", "net:debian"))
    fitness.refuse([load(folder)], "namespace")
    assert fitness.sandbox_for(load(folder)) == "namespace"


def test_a_verifier_that_would_move_into_the_machine_is_refused(tmp_path: Path) -> None:
    task = load(plain.shared(tmp_path / "shared"))
    with pytest.raises(TaskError, match=r"verifier.environment_mode: shared"):
        fitness.refuse([task], "vm")
    fitness.refuse([load(plain.separate(tmp_path / "separate"))], "vm")


def test_stalls_are_not_looked_for_in_a_machine(tmp_path: Path) -> None:
    words(tmp_path / "t")
    said = benchflow(
        *("run", "t/test/words", "--sandbox", "vm", "--stall-minutes", "5"), cwd=tmp_path, status=2
    )
    assert "--stall-minutes" in said.stderr


@pytest.mark.needs("sandbox", "e2fsprogs")
@pytest.mark.slow
def test_an_oracle_that_needs_a_loop_device_is_judged_in_the_namespace_sandbox(
    tmp_path: Path,
) -> None:
    words(tmp_path / "t")
    job = run_json("run", "t/test/words", "--sandbox", "vm", cwd=tmp_path)
    (trial,) = job["trials"]
    assert trial["verdict"] == "resolved", trial
    found = json.loads((tmp_path / trial["path"] / "sandbox.json").read_text())["sandboxes"]
    kinds = {role: box["device_nodes"] for role, box in found.items()}
    assert kinds.pop("env").startswith("the machine's own, under ")
    assert kinds and not any("machine" in how for how in kinds.values())


@pytest.mark.needs("sandbox", "e2fsprogs")
@pytest.mark.slow
def test_an_agent_that_breaks_its_machine_has_failed_and_is_judged_by_its_disk(
    tmp_path: Path,
) -> None:
    broken = SOLVE + "rm -rf /usr/lib/systemd /usr/lib/x86_64-linux-gnu/libc.so.6; sync\n"
    broken += "echo b >/proc/sysrq-trigger; read -r forever </dev/zero\n"
    words(tmp_path / "t", broken)
    job = run_json("run", "t/test/words", "--sandbox", "vm", cwd=tmp_path)
    (trial,) = job["trials"]
    assert trial["verdict"] == "resolved", trial
