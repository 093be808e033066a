"""`benchflow verify` of a bootable disk against bare QEMU booting the same disk.

Both sides boot the same Debian server under the same accelerator with the same memory and
processors, from a throw-away overlay, until the same last marker (the login prompt on the serial
console). Ours is the whole process: Python, staging, the sandbox, the hand-over, the measuring of
the host, pytest, evidence and clean-up. The disk is that of the oracle of repair/dead-server, made
first with `benchflow run`; or give one: `verify_overhead.py DISK`.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import BENCHFLOW, Cost, cost_of, headline, median, row, usual_environment

ROUNDS = int(os.environ.get("ROUNDS", "3"))
MARKER = b"login: "
MEMORY_MB = 512
PATIENCE_SECONDS = 900

CONFIG = """schema_version = "1.4"
[task]
name = "benchmark/boots"
version = "1.0.0"
description = "Boot a disk to its login prompt."
authors = [{ name = "benchmarks" }]
[agent]
timeout_sec = 60
[verifier]
timeout_sec = 900
[environment]
cpus = 2
memory_mb = 1024
storage_mb = 4096
[metadata.benchflow]
topic = "benchmark"
name = "boots"
skills = ["bootloader"]
arch = "x86_64"
firmware = "bios"
machine_memory_mb = 512
expert_minutes = 1
expert_minutes_basis = "estimated: nothing to do"
oracle_minutes = 1
[[metadata.benchflow.deliverables]]
path = "/app/out/server.img"
kind = "disk"
max_mb = 8192
"""
CHECKS = """
from benchflow.boot import Disk, milestone


@milestone("login", proves=["R1"])
def test_reaches_its_login_prompt(machines, deliverable):
    machine = machines.create("server", disks=[Disk(deliverable())], cpus=1)
    machine.boot().expect(r"login: ", timeout=600)
"""


def write_task(folder: Path) -> None:
    files = {
        "task.toml": CONFIG,
        "instruction.md": "[R1] It boots to its login prompt.\n",
        "environment/Dockerfile": "FROM debian:bookworm\n",
        "solution/solve.sh": "#!/bin/sh\nexit 1\n",
        "tests/checks.py": CHECKS,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def oracles_disk(folder: Path) -> Path:
    """The disk that the oracle of repair/dead-server delivers."""
    command = [BENCHFLOW, "run", "repair/dead-server", "--job-name", "oracle", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    (trial,) = json.loads(done.stdout)["jobs"][0]["trials"]
    if trial["verdict"] != "resolved":
        raise SystemExit(f"the oracle of repair/dead-server ended as {trial['verdict']}")
    return Path(trial["path"]) / "artifacts/app/out/server.img"


def bare(disk: Path) -> Cost:
    """QEMU from its start to the marker, as somebody would start it by hand."""
    accelerator = os.environ.get("BENCHFLOW_ACCEL", "tcg")
    command = [
        "qemu-system-x86_64", "-machine", "pc", "-accel", accelerator, "-m", str(MEMORY_MB),
        "-smp", "1", "-display", "none", "-serial", "stdio", "-monitor", "none", "-no-reboot",
        "-drive", f"file={disk},format=raw,if=virtio,snapshot=on",
        "-nic", "none",
    ]  # fmt: skip
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        seen = b""
        while MARKER not in seen:
            ready, _, _ = select.select([process.stdout], [], [], PATIENCE_SECONDS)
            chunk = os.read(process.stdout.fileno(), 65536) if ready else b""
            if not chunk:
                process.kill()
                raise SystemExit(f"bare QEMU did not reach {MARKER!r}: …{seen[-500:]!r}")
            seen = (seen + chunk)[-100_000:]
        wall = time.perf_counter() - started
        usage = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks = (int(usage[11]) + int(usage[12])) / os.sysconf("SC_CLK_TCK")
        process.kill()
    return Cost(wall, ticks)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="benchflow-benchmark-", dir="/var/tmp") as name:
        folder = Path(name)
        task = folder / "benchmark" / "boots"
        write_task(task)
        disk = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else oracles_disk(folder)
        command = [BENCHFLOW, "verify", str(task), str(disk)]
        env = usual_environment()
        cost_of(command, cwd=folder, env=env)  # builds the image, reads the disk into memory
        ours, other = [], []
        for _ in range(ROUNDS):
            other.append(bare(disk))
            ours.append(cost_of(command, cwd=folder, env=env))
        headline(f"verify against bare QEMU, the same disk to its login prompt, {ROUNDS} rounds")
        row("benchflow verify, whole process, median, wall", f"{median(ours).wall:.1f} s")
        row("bare QEMU to the same marker, median, wall", f"{median(other).wall:.1f} s")
        pairs = sorted(a.wall / b.wall for a, b in zip(ours, other, strict=True))
        row("ratio of the medians", f"{median(ours).wall / median(other).wall:.2f}×", "≤ 1.15×")
        row("ratios of the rounds", ", ".join(f"{p:.2f}×" for p in pairs))
        row("bare QEMU, processor", f"{median(other).cpu:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
