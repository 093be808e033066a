"""Episodes without a model in verifiers' docker runtime; a verifier that breaks is an error."""

from __future__ import annotations

import shutil
from pathlib import Path

from play import play

from conftest import build, run, verifier_image


def test_a_verifier_that_breaks_is_an_error_and_no_reward(dataset: Path, tmp_path: Path) -> None:
    broken = tmp_path / "dataset" / "repair-dead-server"
    shutil.copytree(dataset / "repair-dead-server", broken)
    image = verifier_image(broken)
    tag = image.partition("@")[0] + "-broken:1"
    build(tag, f"FROM {image}\nRUN rm /tests/checks.py\n", tmp_path)
    run("docker", "push", "--quiet", tag)
    pinned = run("docker", "inspect", "--format", "{{index .RepoDigests 0}}", tag).strip()
    toml = broken / "task.toml"
    toml.write_text(toml.read_text().replace(image, pinned))
    episode = play(tmp_path / "dataset", "repair-dead-server", "nop")
    [trace] = episode.traces
    assert not episode.ok and not trace.ok
    assert trace.rewards == {}
    assert "the verifier broke" in trace.errors[-1].message
    assert "the verifier broke" in episode.errors[-1].message


def test_a_reward_that_a_broken_verifier_left_counts_for_nothing(
    dataset: Path, tmp_path: Path
) -> None:
    forged = tmp_path / "dataset" / "repair-dead-server"
    shutil.copytree(dataset / "repair-dead-server", forged)
    image = verifier_image(forged)
    tag = image.partition("@")[0] + "-forged:1"
    reward = '{\\"reward\\": 1, \\"resolved\\": 1}'
    script = f'mkdir -p /logs/verifier; echo "{reward}" > /logs/verifier/reward.json; exit 3'
    (tmp_path / "test.sh").write_text(f"#!/bin/sh\n{script}\n")
    build(tag, f"FROM {image}\nCOPY test.sh /tests/test.sh\n", tmp_path)
    run("docker", "push", "--quiet", tag)
    pinned = run("docker", "inspect", "--format", "{{index .RepoDigests 0}}", tag).strip()
    toml = forged / "task.toml"
    toml.write_text(toml.read_text().replace(image, pinned))
    episode = play(tmp_path / "dataset", "repair-dead-server", "nop")
    assert not episode.ok and episode.traces[0].rewards == {}


def test_a_deliverable_larger_than_allowed_is_the_agents_failure(dataset: Path) -> None:
    fill = "mkdir -p /app/out && head -c 900M /dev/urandom > /app/out/server.img"
    episode = play(dataset, "repair-dead-server", "nop", after=fill)
    assert episode.ok, episode.errors
    [trace] = episode.traces
    assert trace.metrics["delivered_mb"] == 0.0
    assert trace.reward == 0.0
