"""Writes a small task of ours, verified without a boot: a text file that climbs a ladder."""

from __future__ import annotations

from pathlib import Path

from tests.run.plain import write

CONFIG = """schema_version = "1.4"
[task]
name = "benchflow/words"
version = "1.0.0"
description = "Write three words into a file."
authors = [{ name = "tests" }]
[agent]
timeout_sec = 60
[verifier]
timeout_sec = 120
[environment]
cpus = 1
memory_mb = 256
storage_mb = 1024
[metadata.benchflow]
topic = "test"
name = "words"
skills = ["recovery"]
arch = "x86_64"
firmware = "bios"
expert_minutes = 1
expert_minutes_basis = "estimated: three words"
oracle_minutes = 0.1
[[metadata.benchflow.deliverables]]
path = "/app/out/words.txt"
kind = "file"
max_mb = 1
"""
CHECKS = """
from benchflow.boot import check, milestone


@milestone("one", proves=["R1"], title="the first word")
def test_one(deliverable):
    assert "one" in deliverable().read_text()


@milestone("two", weight=2, requires=["one"], proves=["R2"], title="the second word")
def test_two(deliverable):
    assert "two" in deliverable().read_text()


@check("two", proves=["R2"])
def test_two_follows_one(deliverable, metric):
    words = deliverable().read_text().split()
    metric("words", len(words))
    assert words.index("two") == words.index("one") + 1


@milestone("three", requires=["two"], proves=["R3"], title="the third word")
def test_three(deliverable):
    assert deliverable().read_text() == "one two three\\n"
"""
SOLVE = """#!/bin/bash
mkdir -p /app/out
for word in one two three; do
  words="${words:+$words }$word"
  echo "$words" > /app/out/words.txt
  [ "${STOP_AFTER:-}" != "$word" ] || exit 0
done
"""


def words(root: Path, *, checks: str = CHECKS) -> Path:
    """A task of three milestones, at `root`/test/words."""
    folder = root / "test" / "words"
    write(folder / "task.toml", CONFIG)
    write(folder / "instruction.md", "[R1] one [R2] two [R3] three, in /app/out/words.txt\n")
    write(folder / "environment" / "Dockerfile", "FROM debian:bookworm\nWORKDIR /app\n")
    write(folder / "solution" / "solve.sh", SOLVE)
    write(folder / "tests" / "checks.py", checks)
    write(folder / "exploits" / "forge.sh", "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n")
    return folder
