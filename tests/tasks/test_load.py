"""A task that is wrong says what is wrong: file, key, fix. A task that is right loads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchflow.errors import TaskError, UsageError
from benchflow.tasks import load
from benchflow.tasks.digest import digest_of

Edit = Callable[[str, str, str], Path]
GAIN = """[[metadata.benchflow.exploits]]
script = "third"
allowed = [
  "lit",
]
why = "it is lit for a while"
"""
GOES_ON = """[[metadata.benchflow.variants]]
script = "tin"
incremental = true
"""


def test_a_task_loads_whole(lamp: Path) -> None:
    task = load(lamp)
    assert task.name == "embedded/lamp"
    assert task.slug == "embedded-lamp"
    assert [m.id for m in task.milestones] == ["lit", "warm"]
    assert task.n_checks == 3
    assert task.requirements == ("R1", "R2")
    assert task.deliverables[0].max_stored_mb == 64
    assert task.exploits[0].allowed == ("lit",)
    assert len(task.hints) == 2


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        (
            "task.toml",
            "memory_mb = 1024",
            "memmory_mb = 1024",
            ["environment.memmory_mb", "memory_mb"],
        ),
        ("task.toml", "timeout_sec = 600", 'timeout_sec = "soon"', ["agent.timeout_sec"]),
        ("task.toml", 'arch = "x86_64"', 'arch = "z80"', ["metadata.benchflow.arch", "z80"]),
        ("task.toml", 'topic = "embedded"\n', "", ["metadata.benchflow.topic", "missing"]),
        ("task.toml", 'name = "lamp"', 'name = "torch"', ["embedded/torch", "embedded/lamp"]),
        ("task.toml", '"/app/lamp.img"', '"../lamp.img"', ["deliverables.0.path"]),
        ("task.toml", 'script = "painted"', 'script = "drawn"', ["exploits/drawn.sh"]),
        ("task.toml", 'allowed = ["lit"]', 'allowed = ["hot"]', ["no milestone 'hot'"]),
        ("task.toml", "[task]", "[task", ["not valid TOML"]),
        ("tests/checks.py", 'requires=["lit"]', 'requires=["dim"]', ["dim", "checks.py"]),
        (
            "tests/checks.py",
            '@milestone("lit", weight=1',
            '@milestone("lit", requires=["warm"]',
            ["lit → warm → lit"],
        ),
        ("tests/checks.py", '@milestone("warm"', '@milestone("lit"', ["lit"]),
        (
            "tests/checks.py",
            "weight=1",
            "weight=0.00001",
            ["lit", "rounded", "at least 2.00001e-05"],
        ),
        ("tests/checks.py", '@check("warm"', '@check("cold"', ["cold"]),
        ("tests/checks.py", 'proves=["R2"]', 'proves=["R7"]', ["R7", "instruction.md"]),
        ("tests/checks.py", "def test_lit(machine):", "def test_lit(machine:", ["checks.py"]),
    ],
)
def test_bad_input_is_named(edit: Edit, file: str, old: str, new: str, named: list[str]) -> None:
    with pytest.raises(TaskError) as caught:
        load(edit(file, old, new))
    for part in named:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "missing", ["instruction.md", "environment/Dockerfile", "solution/solve.sh", "tests/checks.py"]
)
def test_missing_and_empty_files_are_named(lamp: Path, missing: str) -> None:
    (lamp / missing).write_text("")
    with pytest.raises(TaskError, match=f"{missing}: the file is empty"):
        load(lamp)
    (lamp / missing).unlink()
    with pytest.raises(TaskError, match=f"{missing}: the file is missing"):
        load(lamp)


def test_all_problems_are_named_at_once(lamp: Path, edit: Edit) -> None:
    edit("task.toml", "memory_mb = 1024", "memmory_mb = 1024")
    edit("task.toml", "timeout_sec = 300", "timeout_sec = 0")
    (lamp / "instruction.md").unlink()
    with pytest.raises(TaskError) as caught:
        load(lamp)
    assert "3 problems" in str(caught.value)


def test_a_link_in_a_task_is_refused(lamp: Path) -> None:
    (lamp / "environment" / "name").symlink_to("/etc/hostname")
    with pytest.raises(TaskError, match="regular files"):
        load(lamp)


@pytest.mark.parametrize("part", ["environment", "instruction.md"])
def test_a_part_of_a_task_that_is_a_link_itself_is_refused(
    lamp: Path, tmp_path: Path, part: str
) -> None:
    """It would hand files of the host to an agent, or to whoever is given an export."""
    moved = (lamp / part).rename(tmp_path / "elsewhere")
    (lamp / part).symlink_to(moved)
    with pytest.raises(TaskError, match="regular files"):
        load(lamp)


def test_an_instruction_in_another_encoding_is_named(lamp: Path) -> None:
    (lamp / "instruction.md").write_bytes("[R1] Größe\n[R2] x\n".encode("latin-1"))
    with pytest.raises(TaskError, match=r"instruction\.md: not UTF-8"):
        load(lamp)


def test_where_there_is_no_task(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no task here"):
        load(tmp_path)


def digest_of_text(lamp: Path, text: str) -> str:
    (lamp / "task.toml").write_text(text)
    return digest_of(lamp, ["task.toml"])


def test_the_digest_follows_what_can_move_a_score_and_nothing_else(lamp: Path, edit: Edit) -> None:
    edit("task.toml", "oracle_minutes = 1\n", 'oracle_minutes = 1\nunverified = ""\n')
    before = load(lamp).digest
    (lamp / "exploits" / "another.sh").write_text("#!/bin/sh\n")
    assert load(lamp).digest == before
    (lamp / "tests" / ".mypy_cache").mkdir()
    (lamp / "tests" / ".mypy_cache" / "missing_stubs").write_text("")
    assert load(lamp).digest == before
    edit("task.toml", 'unverified = ""', 'unverified = "its \\"ladder\\" was not run"')
    assert load(lamp).unverified == 'its "ladder" was not run'
    assert load(lamp).digest == before
    (lamp / "variants").mkdir()
    (lamp / "variants" / "tin.sh").write_text("#!/bin/sh\n")
    (lamp / "exploits" / "third.sh").write_text("#!/bin/sh\n")
    text = (lamp / "task.toml").read_text()
    (lamp / "task.toml").write_text(text + GAIN)
    assert load(lamp).exploits[-1].allowed == ("lit",)
    assert load(lamp).digest == before
    (lamp / "task.toml").write_text(text + GOES_ON)
    assert load(lamp).variants[0].incremental
    assert load(lamp).digest == before
    (lamp / "task.toml").write_text(f"{text}{GAIN}[agent.env]\nA = '1'\n")
    assert digest_of(lamp, ["task.toml"]) == digest_of_text(lamp, f"{text}[agent.env]\nA = '1'\n")
    within = f"{text}{GAIN}  [agent.env]\n  A = '1'\n"
    assert digest_of_text(lamp, within) != digest_of_text(lamp, within.replace("'1'", "'2'"))
    (lamp / "task.toml").write_text(text)
    edit("task.toml", "memory_mb = 1024", "memory_mb = 2048")
    bigger = load(lamp).digest
    assert bigger != before
    (lamp / "solution" / "solve.sh").chmod(0o755)
    assert load(lamp).digest != bigger


def test_a_variant_says_what_it_does_otherwise(lamp: Path) -> None:
    (lamp / "variants").mkdir()
    comment = "#!/bin/sh\n# Made of tin,\n#   and soldered.\nset -eu\n# not this\n"
    (lamp / "variants" / "tin.sh").write_text(comment)
    (lamp / "variants" / "wood.sh").write_text("#!/bin/sh\nset -eu\n# neither this\n")
    tin, wood = load(lamp).variants
    assert (tin.name, tin.what, tin.incremental) == ("tin", "Made of tin, and soldered.", False)
    assert (wood.name, wood.what) == ("wood", "")
    with (lamp / "task.toml").open("a") as file:
        file.write(GOES_ON.replace("tin", "brass"))
    with pytest.raises(TaskError, match=r"variants/brass\.sh does not exist"):
        load(lamp)


@pytest.mark.parametrize("schema", ["1.0", "1.1", "1.2", "1.3", "1.4"])
def test_plain_harbor_folders_load(tmp_path: Path, schema: str) -> None:
    (tmp_path / "task.toml").write_text(f'schema_version = "{schema}"\n[agent]\ntimeout_sec = 60\n')
    (tmp_path / "instruction.md").write_text("do it\n")
    task = load(tmp_path)
    assert not task.is_benchflow
    assert task.agent_timeout_sec == 60


def test_an_unknown_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text('schema_version = "9.0"\n')
    with pytest.raises(TaskError, match="schema_version"):
        load(tmp_path)
