"""Sequels: a task that begins from the authors' earlier work, or from the agent's own trial."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ours
import pytest
from plain import benchflow, run_json, write

from benchflow.authoring.meaning import key
from benchflow.errors import TaskError, UsageError
from benchflow.tasks import load, stage
from benchflow.tasks.model import Begun
from benchflow.tasks.sequels import Refused, delivered_digest

EARLIER = """
from benchflow.boot import milestone


@milestone("one", proves=["R1", "R2", "R3"])
def test_one(deliverable):
    assert deliverable().read_text().startswith("one")
"""
#: The verifier has what the agent was given, and not what the agent says that it was.
CHECKS = """
from pathlib import Path

from benchflow.boot import milestone


@milestone("kept", proves=["R1"])
def test_kept(deliverable):
    assert deliverable().read_text().startswith(Path("/field/words.txt").read_text().strip())


@milestone("added", requires=["kept"], proves=["R2"])
def test_added(deliverable):
    assert deliverable().read_text().split()[-1] == "four"
"""
SEQUEL = '\n[metadata.benchflow.sequel]\nof = "test/words"\nplace = "/field"\n'
GOES_ON = "mkdir -p /app/out; echo $(cat /field/words.txt) four >/app/out/more.txt\n"


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalogue with the earlier task and its sequel `test/more`."""
    top = tmp_path_factory.mktemp("catalogue")
    earlier = ours.words(top, checks=EARLIER)
    write(earlier / "environment" / "seen", "of the context\n")
    dockerfile = "FROM debian:bookworm\nWORKDIR /app\nCOPY seen /seen\n"
    write(earlier / "environment" / "Dockerfile", dockerfile)
    folder = top / "test" / "more"
    shutil.copytree(earlier, folder)
    config = (earlier / "task.toml").read_text().replace('name = "words"', 'name = "more"')
    config = config.replace("benchflow/words", "benchflow/more").replace("words.txt", "more.txt")
    write(folder / "task.toml", config + SEQUEL)
    write(folder / "instruction.md", "[R1] Keep /field/words.txt. [R2] Add four.\n")
    write(folder / "tests" / "checks.py", CHECKS)
    write(folder / "solution" / "solve.sh", GOES_ON)
    write(top / "agent", "mkdir -p /app/out; echo one of an agent >/app/out/words.txt\n" + GOES_ON)
    return top


@pytest.fixture(scope="module")
def earlier(top: Path) -> dict[str, Any]:
    """Trials of the earlier task, by agent."""
    script = ("--script", "agent")
    job = run_json(
        "run", "test/words", "-a", "scripted", "-a", "nop", *script, "--job-name", "first", cwd=top
    )
    found = {trial["agent"].partition(":")[0]: trial for trial in job["trials"]}
    assert {who: one["verdict"] for who, one in found.items()} == {
        "scripted": "resolved",
        "nop": "failed",
    }
    return found


def _name(trial: dict[str, Any]) -> str:
    return f"first/{trial['name']}"


@pytest.mark.needs("sandbox")
def test_it_begins_from_the_authors_work(top: Path) -> None:
    job = run_json("run", "test/more", "-a", "oracle", "--job-name", "authors", cwd=top)
    assert job["counts"] == {"resolved": 1, "failed": 0, "error": 0}
    delivered = Path(job["trials"][0]["path"]) / "artifacts/app/out/more.txt"
    assert delivered.read_text() == "one two three four\n"
    (entry,) = json.loads((top / "jobs/authors/benchflow.json").read_text())["tasks"]
    assert entry["began"]["from"] == "oracle" and len(entry["began"]["digest"]) == 64


@pytest.mark.needs("sandbox")
def test_it_begins_from_the_agents_own_trial(top: Path, earlier: dict[str, Any]) -> None:
    own = _name(earlier["scripted"])
    call = ("run", "test/more", "-a", "scripted", "--script", "agent", "--from-trial", own)
    job = run_json(*call, "--job-name", "own", cwd=top)
    assert job["counts"] == {"resolved": 1, "failed": 0, "error": 0}
    trial = job["trials"][0]
    delivered = Path(trial["path"]) / "artifacts/app/out/more.txt"
    assert delivered.read_text() == "one of an agent four\n"
    (entry,) = json.loads((top / "jobs/own/benchflow.json").read_text())["tasks"]
    assert entry["began"]["from"] == own
    digest = entry["began"]["digest"]

    shutil.copyfile(delivered, top / "more.txt")
    again = ("verify", "test/more", "more.txt")
    benchflow(*again, "--from-trial", own, cwd=top, status=0)
    benchflow(*again, cwd=top, status=1)

    benchflow("resume", "own", cwd=top)
    benchflow("export", "jobs/own", "-o", "tables", cwd=top)
    with (top / "tables" / "trials.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["began_from"], row["began_digest"]) == (own, digest)
    said = benchflow("report", "jobs/own", cwd=top).stdout
    assert f"sequels began from {own} ({digest[:12]})" in " ".join(said.split())
    benchflow("site", "jobs/own", "-o", "pages", cwd=top)
    pages = "".join(path.read_text() for path in (top / "pages").rglob("*.html"))
    assert f"the deliverable of {own}, digest {digest[:16]}" in pages


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize("own", [False, True])
def test_exported_it_is_an_ordinary_task(
    top: Path, earlier: dict[str, Any], tmp_path: Path, own: bool
) -> None:
    start = ("--from-trial", _name(earlier["scripted"])) if own else ()
    out = str(tmp_path / "out")
    benchflow("tasks", "export", out, "test/more", *start, cwd=top)
    folder = tmp_path / "out" / "test-more"
    words = "one of an agent\n" if own else "one two three\n"
    files = {path.name: path.read_text() for path in folder.glob("environment/earlier/*.txt")}
    assert files == ({"words.txt": words} if own else {})
    from benchflow import sandbox

    for part in ("environment", "tests"):
        image = sandbox.build(folder / part)
        with sandbox.Sandbox.start(image) as box:
            assert box.exec("cat /field/words.txt").text == words
            assert box.exec("ls /solution /seen /earlier.sh").status != 0, "the stage is left out"


@pytest.mark.needs("sandbox")
def test_what_cannot_be_begun_from_is_told(top: Path, earlier: dict[str, Any]) -> None:
    def refused(*call: str) -> str:
        return benchflow(*call, cwd=top, status=2).stderr

    own, nop = _name(earlier["scripted"]), _name(earlier["nop"])
    script = ("-a", "scripted", "--script", "agent")
    assert "test/words is no sequel" in refused("run", "test/words", *script, "--from-trial", own)
    assert "no trial 'first/none'" in refused("run", "test/more", "--from-trial", "first/none")
    said = refused("run", "test/more", "-a", "nop", "--from-trial", nop)
    assert f"{nop} is failed" in said and "begin from another trial" in said
    said = refused("run", "test/more", "-a", "oracle", "--from-trial", own)
    assert f"{own} is the work of scripted:agent, and oracle would continue it" in said
    copy = top / "jobs" / "touched"
    shutil.copytree(top / "jobs" / "first", copy)
    touched = copy / earlier["scripted"]["name"] / "artifacts/app/out/words.txt"
    for spoil, word in (
        (touched.unlink, "is gone"),
        (lambda: touched.symlink_to("/etc/passwd"), "cannot be read as a file"),
    ):
        spoil()
        name = f"touched/{earlier['scripted']['name']}"
        assert word in refused("run", "test/more", *script, "--from-trial", name)


def _link(folder: Path) -> None:
    (folder / "app/out").mkdir(parents=True)
    (folder / "app/out/words.txt").symlink_to("/etc/hostname")


def _linked_folder(folder: Path) -> None:
    (folder / "app").mkdir(parents=True)
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere/words.txt").write_text("one")
    (folder / "app/out").symlink_to(folder / "elsewhere")


def _pipe(folder: Path) -> None:
    (folder / "app/out").mkdir(parents=True)
    os.mkfifo(folder / "app/out/words.txt")


def _huge(folder: Path) -> None:
    (folder / "app/out").mkdir(parents=True)
    with (folder / "app/out/words.txt").open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("make", [_link, _linked_folder, _pipe, _huge])
def test_hostile_deliverables_are_refused(
    top: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path)
    with pytest.raises(Refused, match=r"words\.txt"):
        delivered_digest(load(top / "test/words"), tmp_path)


@pytest.fixture
def of_a_folder(top: Path, tmp_path: Path) -> Path:
    """A catalogue whose earlier task delivers a folder."""
    shutil.copytree(top / "test", tmp_path / "of/test")
    config = tmp_path / "of/test/words/task.toml"
    told = config.read_text()
    kind = 'path = "/app/out/words.txt"\nkind = "file"'
    assert kind in told
    write(config, told.replace(kind, 'path = "/app/out/words"\nkind = "directory"'))
    return tmp_path / "of"


def test_a_folder_crosses_with_what_is_below_it(
    top: Path, of_a_folder: Path, tmp_path: Path
) -> None:
    task, trial = load(of_a_folder / "test/more"), tmp_path / "trial"
    assert task.sequel is not None
    words = trial / "app/out/words"
    (words / "below/empty").mkdir(parents=True)
    (words / "one").write_text("one")
    (words / "below/two").write_text("two")
    digest = delivered_digest(task.sequel.earlier, trial)
    staged = stage(task, begun=Begun("job/trial", digest, trial)).folder
    for part in ("environment", "tests"):
        crossed = staged / part / "earlier/words"
        found = {str(path.relative_to(crossed)) for path in crossed.rglob("*")}
        assert found == {"one", "below", "below/two", "below/empty"}
        assert (crossed / "below/two").read_text() == "two"
    authors = (stage(task).folder / "environment/Dockerfile").read_text()
    assert task.digest != load(top / "test/more").digest, "what crosses is another thing"
    assert "cp -r --sparse=always /app/out/words " in authors
    (words / "below/two").rename(words / "two")
    assert delivered_digest(task.sequel.earlier, trial) != digest


def _link_below(words: Path) -> None:
    (words / "link").symlink_to("one")


def _pipe_below(words: Path) -> None:
    os.mkfifo(words / "pipe")


def _huge_below(words: Path) -> None:
    with (words / "huge").open("wb") as file:
        file.truncate(1 << 40)


def _deep(words: Path) -> None:
    (words / "/".join("d" * 100)).mkdir(parents=True)


@pytest.mark.parametrize("make", [_link_below, _pipe_below, _huge_below, _deep, shutil.rmtree])
def test_hostile_folders_are_refused(
    of_a_folder: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "trial/app/out/words").mkdir(parents=True)
    make(tmp_path / "trial/app/out/words")
    with pytest.raises(Refused, match="app/out/words"):
        delivered_digest(load(of_a_folder / "test/words"), tmp_path / "trial")


def test_what_changed_since_it_was_named_is_not_staged(top: Path, tmp_path: Path) -> None:
    task = load(top / "test/more")
    (tmp_path / "app/out").mkdir(parents=True)
    (tmp_path / "app/out/words.txt").write_text("one")
    digest = delivered_digest(load(top / "test/words"), tmp_path)
    (tmp_path / "app/out/words.txt").write_text("two")
    with pytest.raises(UsageError, match="has changed since"):
        stage(task, begun=Begun("job/trial", digest, tmp_path))


def test_a_change_of_the_earlier_oracle_is_one_of_the_sequel(top: Path, tmp_path: Path) -> None:
    shutil.copytree(top / "test", tmp_path / "test")
    before, parts = load(tmp_path / "test/more").digest, key.parts_of(tmp_path / "test/more")
    assert "earlier" not in key.parts_of(tmp_path / "test/words")
    with (tmp_path / "test/words/solution/solve.sh").open("a") as file:
        file.write("true\n")
    assert load(tmp_path / "test/more").digest != before
    assert key.changed(parts, key.parts_of(tmp_path / "test/more")) == ["earlier"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('of = "test/words"', 'of = "test/none"', "no task 'test/none' beside it"),
        ('of = "test/words"', 'of = "test/more"', "it is a sequel itself"),
        ('place = "/field"', 'place = "field"', "sequel.place"),
    ],
)
def test_a_sequel_of_nothing_does_not_load(
    top: Path, tmp_path: Path, old: str, new: str, said: str
) -> None:
    shutil.copytree(top / "test", tmp_path / "test")
    config = tmp_path / "test/more/task.toml"
    config.write_text(config.read_text().replace(old, new))
    with pytest.raises(TaskError, match=said):
        load(tmp_path / "test/more")
