"""Sizes and times: what is stated has to be true, and what was measured can be written down."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from test_gates import trial
from tests.authoring.written_lamp import ANEW, written
from tests.lamp import Edit, edit, lamp
from tests.run.plain import gates, write

from benchflow.authoring import gate_rules, measured_times, size
from benchflow.authoring.gate import GateResult, Status
from benchflow.errors import UsageError
from benchflow.results.model import Trial
from benchflow.tasks import load

__all__ = ["edit", "lamp"]
MIB = 1 << 20


def oracle(top: Path, *, megabytes: int, seconds: float = 60) -> Trial:
    from msgspec.structs import replace

    image = top / "artifacts/app/lamp.img"
    image.parent.mkdir(parents=True)
    with image.open("wb") as file:
        file.truncate(megabytes * MIB)
    return replace(trial(passed=("lit", "warm"), seconds=seconds), path=top)


def test_sizes_inside_their_limits_pass(edit: Edit, tmp_path: Path) -> None:
    task = load(edit("instruction.md", "Build a lamp.", "Build a lamp of at most 64 MiB."))
    found = size.size(task, 200 * MIB, [oracle(tmp_path / "t", megabytes=64)])
    assert found.status is Status.PASSED, found.findings
    assert found.summary == "image 200 of 2048 MiB, /app/lamp.img 64 of 64 MiB"
    figures = found.figures
    assert figures["delivered_apparent_mb"] == 64 and figures["delivered_stored_mb"] == 0
    assert figures["delivered_packed_mb"] < 0.1, "a hole takes nothing in the archive"
    assert size.delivered(found).startswith("64 MiB long, under 0.01 MiB stored, under 0.01 MiB as")
    assert "archive, within the 32 MiB" in size.delivered(found)
    assert size.delivered(GateResult.from_json(found.to_json())) == size.delivered(found)


def test_what_does_not_fit_a_trainer_is_said(edit: Edit, tmp_path: Path) -> None:
    task = load(edit("instruction.md", "Build a lamp.", "Build a lamp of at most 64 MiB."))
    made = oracle(tmp_path / "t", megabytes=1)
    (made.path / "artifacts/app/lamp.img").write_bytes(os.urandom(40 * MIB))
    found = size.size(task, 200 * MIB, [made])
    assert found.figures["delivered_packed_mb"] >= 40
    assert "40 MiB as one archive, over the 32 MiB" in size.delivered(found)
    assert size.delivered(size.size(task, 200 * MIB, [])) == ""


def test_an_image_and_a_deliverable_beyond_their_limits_are_named(
    lamp: Path, tmp_path: Path
) -> None:
    config = (lamp / "task.toml").read_text()
    (lamp / "task.toml").write_text(
        config.replace("oracle_minutes = 1", "oracle_minutes = 1\nimage_mb = 100")
        .replace("memory_mb = 1024", "memory_mb = 1024\nstorage_mb = 64")
        .replace("max_mb = 64", "max_mb = 65")
    )
    found = size.size(load(lamp), 200 * MIB, [oracle(tmp_path / "t", megabytes=66)])
    assert [finding.partition(":")[0] for finding in found.findings] == [
        "the image takes 200 MiB",
        "storage_mb = 64",
        "/app/lamp.img",
        "the instruction names no size",
    ]


def test_what_layers_take_is_what_is_stored(tmp_path: Path) -> None:
    (tmp_path / "layer").mkdir()
    (tmp_path / "layer/data").write_bytes(b"x" * MIB)
    with (tmp_path / "layer/sparse").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "layer/link").symlink_to("/")
    assert MIB <= size.stored([tmp_path / "layer"]) < MIB + (1 << 17)


def test_measured_times_are_written_and_comments_stay(edit: Edit, tmp_path: Path) -> None:
    folder = edit("task.toml", "oracle_minutes = 1", "oracle_minutes = 1  # measured in May")
    slow = oracle(tmp_path / "t", megabytes=1, seconds=271)
    assert measured_times.write(load(folder), [slow]) == [
        "metadata.benchflow.oracle_minutes: 1 → 4.5",
        "agent.timeout_sec: 600 → 840",
        "verifier.timeout_sec: 300 → 600",
    ]
    task = load(folder)
    assert gate_rules.budget(task, [slow]).status is Status.PASSED
    assert task.oracle_minutes == 4.5
    assert "# measured in May" in (folder / "task.toml").read_text()
    assert measured_times.write(task, [slow]) == []


def test_limits_are_never_lowered(lamp: Path, tmp_path: Path) -> None:
    quick = oracle(tmp_path / "t", megabytes=1, seconds=3)
    assert measured_times.write(load(lamp), [quick]) == [
        "metadata.benchflow.oracle_minutes: 1 → 0.1"
    ]


def test_nothing_is_written_while_others_have_the_processors(lamp: Path, tmp_path: Path) -> None:
    config = (lamp / "task.toml").read_text()
    slow = oracle(tmp_path / "t", megabytes=1, seconds=171)
    boxes = {"verifier__trial": {"used": {"others_share": 0.8}}}
    (slow.path / "sandbox.json").write_text(json.dumps({"schema": 1, "sandboxes": boxes}))
    with pytest.raises(UsageError, match=r"171 s.*others had 80%") as raised:
        measured_times.write(load(lamp), [slow])
    assert raised.value.hint and "--again" in raised.value.hint
    assert (lamp / "task.toml").read_text() == config


def test_nothing_is_written_from_an_oracle_that_failed(lamp: Path) -> None:
    with pytest.raises(UsageError, match="no oracle"):
        measured_times.write(load(lamp), [trial(passed=("lit",))])


@pytest.mark.needs("sandbox")
def test_an_instruction_that_names_no_size_any_more_is_read_again(tmp_path: Path) -> None:
    with written(tmp_path, ANEW) as task:
        instruction = task / "instruction.md"
        text = instruction.read_text()
        write(instruction, f"{text}64 MiB at most.\n")
        assert gates(task, "oracle", "size")["size"]["status"] == "passed"
        write(instruction, text)
        found = gates(task, "oracle", "size")
        assert found["oracle"]["cached"] and found["oracle"]["status"] == "passed"
        assert found["size"]["findings"] == [
            "the instruction names no size: say how large what is delivered may be"
        ]
