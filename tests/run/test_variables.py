"""Agents' variables that look like secrets are in no file, and a job asks for them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harbor.models.job.config import JobConfig
from harbor.models.trial.config import AgentConfig
from ours import words
from plain import benchflow

from benchflow.errors import UsageError
from benchflow.run.job.agent_secrets import give_again

JANE = {"GIT_AUTHOR_NAME": "Jane Maria Doe", "EDITOR": "vi"}


def written(monkeypatch: pytest.MonkeyPatch) -> JobConfig:
    """A job's configuration as its file has it."""
    monkeypatch.setenv("THE_TOKEN", "from-our-environment")
    env = {**JANE, "THE_TOKEN": "from-our-environment"}
    plain = JobConfig(agents=[AgentConfig(name="nop", env=env)]).model_dump(mode="json")
    return JobConfig.model_validate(plain)


def test_what_was_shortened_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    config = written(monkeypatch)
    assert config.agents[0].env["GIT_AUTHOR_NAME"] == "Jane****Doe"
    before = config.model_dump()
    give_again(config, lambda agent: JANE)
    assert config.agents[0].env == {**JANE, "THE_TOKEN": "${THE_TOKEN}"}
    assert config.model_dump() == before  # so finished trials are known again


@pytest.mark.parametrize(
    ("given", "said"),
    [({}, "is needed again"), ({"GIT_AUTHOR_NAME": "John"}, "had another value")],
)
def test_what_is_not_given_or_another_is_refused(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=f"GIT_AUTHOR_NAME {said}"):
        give_again(written(monkeypatch), lambda agent: given)


def test_a_job_asks_for_them_before_anything_runs(tmp_path: Path) -> None:
    """Told by one of two trials, which is taken away as if it had been cut off."""
    words(tmp_path)
    call = ["run", "test/words", "-a", "nop", "-k", "2", "--job-name", "job"]
    benchflow(*call, "--agent-env", "GIT_AUTHOR_NAME=Jane Maria Doe", cwd=tmp_path, status=None)
    job = tmp_path / "jobs" / "job"
    gone, stays = sorted(job.glob("*/result.json"))
    gone.unlink()
    before = stays.stat().st_mtime_ns
    refused = benchflow("resume", "job", cwd=tmp_path, status=2)
    assert "--agent-env GIT_AUTHOR_NAME=VALUE" in refused.stderr
    done = benchflow(
        "resume", "job", "--agent-env", "GIT_AUTHOR_NAME=Jane Maria Doe", "--json",
        cwd=tmp_path, status=None,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)["jobs"][0]
    assert len(found["trials"]) == 2
    assert stays.stat().st_mtime_ns == before
