"""Run the packed verifier on small checks files, in Debian's own Python as in production."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.needs import lacking

from benchflow.boot.runner.zipapp import build_boot_zipapp

DEBIAN_PYTHON = "/usr/bin/python3"
PYTHONS = [
    pytest.param(DEBIAN_PYTHON, marks=pytest.mark.needs("python3-pytest")),
    sys.executable,
]
#: As in production, where it has all that the verifier needs.
PYTHON = sys.executable if lacking("python3-pytest") else DEBIAN_PYTHON


@dataclass(frozen=True)
class Run:
    status: int
    stdout: str
    stderr: str
    logs: Path

    def json(self, name: str) -> Any:
        return json.loads((self.logs / name).read_text(encoding="utf-8"))

    @property
    def reward(self) -> dict[str, float] | None:
        return self.json("reward.json") if (self.logs / "reward.json").exists() else None

    @property
    def broken(self) -> dict[str, Any] | None:
        return self.json("broken.json") if (self.logs / "broken.json").exists() else None

    @property
    def milestones(self) -> dict[str, str]:
        return {m["id"]: m["status"] for m in self.json("milestones.json")["milestones"]}

    @property
    def checks(self) -> dict[str, dict[str, Any]]:
        found = self.json("milestones.json")["milestones"]
        return {c["name"]: c for m in found for c in m["checks"]}

    @property
    def progress(self) -> list[dict[str, Any]]:
        lines = (self.logs / "progress.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


@cache
def zipapp(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    dest = folder / "boot.pyz"
    build_boot_zipapp(dest)
    return dest


def write_task(tests: Path, checks: str, **manifest: Any) -> Path:
    tests.mkdir(parents=True, exist_ok=True)
    (tests / "checks.py").write_text(checks, encoding="utf-8")
    content = {
        "schema": 1, "name": "tests/task", "version": "1", "digest": "d", "arch": "x86_64",
        "firmware": "bios", "memory_mb": 256, "deliverables": [], **manifest,
    }  # fmt: skip
    (tests / "task.json").write_text(json.dumps(content), encoding="utf-8")
    return tests


def deliverable(path: Path, kind: str = "file", max_mb: float = 64, max_stored_mb: float = 64):
    return {"path": str(path), "kind": kind, "max_mb": max_mb, "max_stored_mb": max_stored_mb}


def command(boot: Path, tests: Path, logs: Path, python: str = PYTHON) -> list[str]:
    return [python, str(boot), "verify", "--tests", str(tests), "--logs", str(logs)]


def run(
    boot: Path,
    tests: Path,
    logs: Path,
    python: str = PYTHON,
    env: dict | None = None,
    more: tuple[str, ...] = (),
) -> Run:
    done = subprocess.run(
        [*command(boot, tests, logs, python), *more],
        capture_output=True,
        text=True,
        timeout=300,
        env=env,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr, logs)
