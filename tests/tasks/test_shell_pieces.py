"""Shared shell pieces: written out where a task is read as a whole, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.lamp import Edit, edit, lamp  # noqa: F401

from benchflow.authoring import static_gates
from benchflow.authoring.meaning.key import parts_of
from benchflow.authoring.new import new
from benchflow.base.shell_pieces import library, read
from benchflow.bench import other_draws
from benchflow.errors import TaskError
from benchflow.tasks import catalogue, load, root, stage
from benchflow.tasks.stage import export

PIECE = "# Says who it is. Wants nothing.\n\nhello() { echo hello; }\nhello\n"
WRITTEN = "#!/bin/sh\nset -eu\nhello() { echo hello; }\nhello\necho done\n"


@pytest.fixture
def taker(edit: Edit) -> Path:  # noqa: F811
    """A task whose oracle takes a piece of its catalogue's."""
    folder = edit("task.toml", "1.0.0", "1.0.0")
    library(folder).mkdir(exist_ok=True)
    (library(folder) / "hello.sh").write_text(PIECE)
    (folder / "solution/solve.sh").write_text(
        "#!/bin/sh\nset -eu\nfrom-tasks-lib hello.sh\necho done\n"
    )
    return folder


def test_a_staged_task_holds_every_byte_that_it_runs(taker: Path, tmp_path: Path) -> None:
    task = load(taker)
    assert (stage(task).folder / "solution/solve.sh").read_text() == WRITTEN
    (exported,) = export([task], tmp_path / "dataset")
    assert (exported / "solution/solve.sh").read_text() == WRITTEN
    assert not (tmp_path / "dataset/lib").exists()
    done = subprocess.run(
        ["sh", str(exported / "solution/solve.sh")], capture_output=True, text=True
    )
    assert done.stdout == "hello\ndone\n"


def test_a_script_that_is_not_written_out_ends_there(taker: Path) -> None:
    done = subprocess.run(
        ["sh", str(taker / "solution/solve.sh")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 127 and "done" not in done.stdout


def test_what_is_taken_is_what_would_be_written(taker: Path) -> None:
    """The digest and the key of a gate are those of the same text in one file."""
    before, parts = load(taker).digest, parts_of(taker)
    (taker / "solution/solve.sh").write_text(WRITTEN)
    assert load(taker).digest == before and parts_of(taker) == parts


def test_a_changed_piece_changes_who_takes_it(taker: Path) -> None:
    before, parts = load(taker).digest, parts_of(taker)
    piece = library(taker) / "hello.sh"
    piece.write_text(PIECE.replace("# Says", "# It says"))
    assert load(taker).digest == before, "its head stays behind"
    piece.write_text(PIECE.replace("echo hello", "echo ahoy"))
    assert load(taker).digest != before
    now = parts_of(taker)
    assert {name for name in parts if parts[name] != now[name]} == {"solution"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("from-tasks-lib none.sh", "none.sh: not in"),
        ("from-tasks-lib ../hello.sh", "../hello.sh: not in"),
        ("from-tasks-lib hello", "hello: not in"),
        ("from-tasks-lib empty.sh", "nothing below its head"),
        ("from-bench none.py", "none.py: no module"),
        ("from-bench ../errors.py", "no module"),
        ("from-bench guest", "guest: no module"),
    ],
)
def test_a_piece_that_is_not_there_is_the_tasks_fault(taker: Path, line: str, why: str) -> None:
    (library(taker) / "empty.sh").write_text("# All head.\n")
    solve = taker / "solution/solve.sh"
    solve.write_text(f"#!/bin/sh\n{line}\n")
    with pytest.raises(TaskError, match=why):
        read(solve, taker)
    with pytest.raises(TaskError, match=r"solution/solve\.sh"):
        load(taker)


def test_a_module_of_the_bench_is_written_out_whole(taker: Path) -> None:
    solve = taker / "tests/image/build.sh"
    solve.parent.mkdir(parents=True)
    solve.write_text("cat > a.py <<'PY'\nfrom-bench other_draws.py\nPY\n")
    module = Path(other_draws.__file__).read_text()
    assert read(solve, taker).decode() == f"cat > a.py <<'PY'\n{module}PY\n"


def test_other_lines_and_other_files_stay_as_they_are(taker: Path) -> None:
    text = " from-tasks-lib hello.sh\n# from-tasks-lib hello.sh\necho from-tasks-lib hello.sh\n"
    for name, content in (
        ("solution/solve.sh", text),
        ("environment/note.txt", "from-tasks-lib x\n"),
    ):
        (taker / name).write_text(content)
        assert read(taker / name, taker) == content.encode()
    assert (stage(load(taker)).folder / "environment/note.txt").read_text() == "from-tasks-lib x\n"


def test_what_is_not_staged_takes_nothing(taker: Path) -> None:
    (taker / "exploits/painted.sh").write_text("#!/bin/sh\nfrom-tasks-lib hello.sh\n")
    with pytest.raises(TaskError, match="exploits/, which is not staged"):
        load(taker)


def test_a_copy_elsewhere_is_whole_and_one_beside_it_takes_the_same(
    taker: Path, tmp_path: Path
) -> None:
    task = load(taker)
    top = taker.parent.parent
    beside = new("embedded/torch", like=task, top=top)
    assert "from-tasks-lib hello.sh" in (beside.path / "solution/solve.sh").read_text()
    elsewhere = new("embedded/torch", like=task, top=tmp_path / "elsewhere")
    assert (elsewhere.path / "solution/solve.sh").read_text() == WRITTEN


def test_a_piece_that_gives_the_answer_away_is_a_leak(taker: Path) -> None:
    text = "".join(f"echo this is a long line of the answer, number {n}\n" for n in range(5))
    (library(taker) / "answer.sh").write_text(f"# The answer.\n\n{text}")
    (taker / "environment/help.sh").write_text("#!/bin/sh\nfrom-tasks-lib answer.sh\n")
    (taker / "solution/solve.sh").write_text(f"#!/bin/sh\n{text}")
    found = static_gates.leaks(load(taker))
    assert any("environment/help.sh" in finding for finding in found.findings)


def test_every_piece_of_the_catalogue_is_sound() -> None:
    pieces = {path.name: path for path in (root() / "lib").iterdir()}
    taken = set()
    for task in catalogue():
        for path in task.path.rglob("*.sh"):
            lines = path.read_text().splitlines()
            taken |= {line.split()[1] for line in lines if line.startswith("from-tasks-lib ")}
    assert taken <= set(pieces), "load would have refused them"
    for name, path in pieces.items():
        head, _, text = path.read_text().partition("\n\n")
        assert head.startswith("# ") and text, f"{name}: a head, an empty line, a piece"
        assert all(line.startswith("#") for line in head.splitlines()), name
        assert shutil.which("bash")
        done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True)
        assert done.returncode == 0, f"{name}: {done.stderr}"
