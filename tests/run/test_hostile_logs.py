"""What an agent leaves among its logs leads no write of the harness out of the trial."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ours import words
from tests import warm_command

pytestmark = pytest.mark.needs("sandbox")


def test_a_symlink_in_the_logs_redirects_nothing(tmp_path: Path) -> None:
    target = tmp_path / "of-the-host"
    target.write_text("precious\n")
    target.chmod(0o666)
    own = {"PYTHONPATH": str(Path(__file__).parent), "PLANTING_TARGET": str(target)}
    done = warm_command.run(
        ["run", str(words(tmp_path)), "-a", "planting:Planting", "--job-name", "job"],
        cwd=tmp_path,
        env={**os.environ, **own},
    )
    assert "1 failed" in done.stdout, done.stdout + done.stderr
    assert target.read_text() == "precious\n"
    written = next(tmp_path.glob("jobs/job/*/agent/trajectory.json"))
    assert written.is_file() and not written.is_symlink() and written.read_text() == "{}"
