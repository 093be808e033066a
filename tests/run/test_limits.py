"""What providers allow, from the command line to the gateway."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from tests.run.ours import words
from tests.run.plain import benchflow, run_json

from benchflow.errors import UsageError
from benchflow.gateway.config import Limits
from benchflow.run.models import rate_limits

HERE = Path(__file__).parent
POLICY = """schema = 1
[[turns]]
run = "mkdir -p out; echo one > out/words.txt"
fault = { kind = "slow", seconds = 1.5 }
[[turns]]
say = "Done."
"""


def test_one_models_own_limit_goes_before_that_of_all() -> None:
    given = {"rpm": ("50", "openai/a=5"), "tpm": ("openai/a=1000",), "concurrent": ("4",)}
    found = rate_limits.read(given)
    assert rate_limits.of("openai/a", found) == Limits(rpm=5, tpm=1000, concurrent=4)
    assert rate_limits.of("openai/b", found) == Limits(rpm=50, concurrent=4)
    assert rate_limits.of("any", {}) == Limits()
    # An endpoint's address may hold an equals sign.
    url = "http://host/v1?a=b#m"
    assert rate_limits.of(url, rate_limits.read({"rpm": (f"{url}=7",)})) == Limits(rpm=7)


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "m=", "m=1.5"])
def test_what_is_no_number_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="--tpm"):
        rate_limits.read({"tpm": (text,)})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-m", "scripted/policy.toml", "--rpm", "openai/gpt-5=3"), "which no agent here uses"),
        (("--rpm", "3"), "no agent here uses it"),
        (("-m", "scripted/policy.toml", "--rpm", "many"), "--rpm 'many'"),
        (("-m", "scripted/policy.toml", "-m", "scripted/a/policy.toml"), "have the name policy"),
    ],
)
def test_what_cannot_work_is_said_before_anything_starts(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    words(tmp_path)
    for folder in (tmp_path, tmp_path / "a"):
        folder.mkdir(exist_ok=True)
        (folder / "policy.toml").write_text(POLICY)
    command = ("run", "test/words", "-a", "asking:Asking", *arguments)
    done = benchflow(*command, cwd=tmp_path, status=2, PYTHONPATH=str(HERE))
    assert message in done.stderr
    assert not (tmp_path / "jobs").exists()


@pytest.mark.needs("sandbox")
@pytest.mark.slow
def test_trials_share_what_a_provider_allows(tmp_path: Path) -> None:
    words(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY)
    run_json(
        "run", "test/words", "-a", "asking:Asking", "-m", "scripted/policy.toml",
        "-k", "3", "-n", "3", "--calls-at-once", "1", "--rpm", "1000", "--job-name", "job",
        cwd=tmp_path, PYTHONPATH=str(HERE),
    )  # fmt: skip
    lines = (tmp_path / "jobs" / "job" / "calls.jsonl").read_text().splitlines()
    calls = [record for line in lines if (record := json.loads(line))["event"] == "call"]
    slow = [record for record in calls if record["n"] in _firsts(lines)]
    ends = sorted(datetime.fromisoformat(record["t"]).timestamp() for record in slow)
    assert len(ends) == 3
    # One after the other, whatever the trials wanted: the provider takes 1.5 s for each.
    assert min(later - earlier for earlier, later in pairwise(ends)) > 1.4


def _firsts(lines: list[str]) -> set[int]:
    """The number of each trial's first call."""
    first: dict[str, int] = {}
    for line in lines:
        record = json.loads(line)
        if record["event"] == "begin":
            first.setdefault(record["trial"], record["n"])
    return set(first.values())
