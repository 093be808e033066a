"""Gates of a generator find what is weak in it; a record of a part lapses with the part."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from test_gates import trial

from benchflow.authoring import generated, parts_tried, static_gates
from benchflow.authoring.gate import Status
from benchflow.authoring.last_stage import copied_last
from benchflow.authoring.parts_tried import Kind, PartsTried
from benchflow.cli.app import run
from benchflow.generators import Generator, generators
from benchflow.generators.companies import handed_out
from benchflow.generators.generator import load
from benchflow.generators.spec import chosen
from benchflow.generators.write import explanation
from benchflow.results.model import Milestone
from benchflow.tasks import find
from benchflow.tasks import load as load_task
from benchflow.tasks.catalogue import root


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    """A generator's folder, to be changed."""
    folder = tmp_path / "generators/repair/server"
    shutil.copytree(generators(root())["repair/server"].folder, folder)
    yield folder


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_the_draws_of_the_shipped_generator_pass() -> None:
    found = generated.seeds(generators(root())["repair/server"], root())
    assert found.status is Status.PASSED, found.findings


def test_a_level_that_no_seed_meets_is_found(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "_SEEDS", 3)  # each of the hundred is tried to the end
    edit(copy / "generator.toml", "parts = 20\nlayers = 12", "parts = 20\nlayers = 14")
    found = generated.seeds(load(copy), root())
    assert found.status is Status.FAILED
    assert "of 14 layers" in found.findings[0]


def test_a_part_that_is_never_drawn_is_found(copy: Path) -> None:
    part = copy / "parts/shell-left.toml"
    others = sorted(each.stem for each in copy.glob("parts/*.toml") if each != part)
    part.write_text(part.read_text() + f"conflicts = {json.dumps(others)}\n")
    found = generated.seeds(load(copy), root())
    assert "shell-left is never drawn" in found.findings


def _alone(server: Generator, passed: tuple[str, ...]) -> str:
    drawn = chosen(server, ["shell-left"])
    ladder = server.told.ladder
    reached = [Milestone(name, "passed" if name in passed else "failed") for name in ladder]
    done = replace(trial(), milestones=tuple(reached))
    return generated.gain(ladder, done, drawn)


def test_what_is_handed_out_has_to_earn_exactly_what_the_part_leaves_whole() -> None:
    server = generators(root())["repair/server"]
    others = tuple(name for name in server.told.ladder if name != "rights")
    assert _alone(server, others) == "exact"
    assert _alone(server, (*others, "rights")) == "rights pass though it breaks them"
    assert _alone(server, others[1:]) == "partitions fail though it does not break them"


Note = Callable[..., None]


@pytest.fixture
def note(copy: Path) -> Note:
    """Puts a trial of these parts, as they are now, into the record."""

    def noted(kind: Kind, came_to: str, *names: str) -> None:
        server = load(copy)
        of_all = parts_tried.digests(server, root())
        digests = {name: of_all[name] for name in names}
        parts_tried.record(server, PartsTried(kind, digests, came_to, "2026-11-28"))

    return noted


def test_a_record_lapses_with_the_part_and_only_with_it(copy: Path, note: Note) -> None:
    for name, came_to in {
        "shell-left": "exact",
        "key-left": "exact",
        "root-open": "rights pass though it breaks them",
    }.items():
        note(Kind.HANDED_OUT, came_to, name)
        note(Kind.ORACLE, "resolved", name)
    assert parts_tried.holding(load(copy), root()) == {"shell-left", "key-left"}
    edit(copy / "parts/shell-left.toml", "4755", "4711")
    assert parts_tried.holding(load(copy), root()) == {"key-left"}
    edit(copy / "parts/key-left.toml", 'breaks = ["rights"]', 'breaks = ["rights", "login"]')
    assert parts_tried.holding(load(copy), root()) == set()


def test_two_companies_show_a_part_and_only_two_without_another_in_common(
    copy: Path, note: Note
) -> None:
    note(Kind.ORACLE, "resolved", "key-left")
    note(Kind.HANDED_OUT, "exact", "key-left", "timer-masked", "journal-left")
    assert not parts_tried.holding(load(copy), root())
    note(Kind.HANDED_OUT, "exact", "host-renamed", "key-left", "timer-masked")
    assert not parts_tried.holding(load(copy), root())
    note(Kind.HANDED_OUT, "rights pass though it breaks them", "key-left", "machine-id-cloned")
    assert not parts_tried.holding(load(copy), root())
    note(Kind.HANDED_OUT, "exact", "initramfs-hook", "key-left")
    assert parts_tried.holding(load(copy), root()) == {"key-left"}
    note(Kind.HANDED_OUT, "rights pass though it breaks them", "key-left")
    assert not parts_tried.holding(load(copy), root())


def test_what_is_wrong_in_company_is_a_finding_though_each_part_alone_is_right(
    copy: Path, note: Note
) -> None:
    note(Kind.HANDED_OUT, "healthy fail though it does not break them", "key-left", "root-open")
    for name in ("key-left", "root-open"):
        note(Kind.HANDED_OUT, "exact", name)
        note(Kind.ORACLE, "resolved", name)
    server = load(copy)
    assert parts_tried.holding(server, root()) == {"key-left", "root-open"}
    found = generated.weak(server, parts_tried.digests(server, root()))
    assert found[0] == "key-left, root-open: healthy fail though it does not break them"
    assert "shell-left: not tried enough (oracle)" in found


def test_what_is_due_is_tried_in_company_and_a_part_that_changed_alone(
    copy: Path, note: Note
) -> None:
    server = load(copy)

    def due(again: bool = False) -> list[tuple[str, ...]]:
        of = parts_tried.digests(load(copy), root())
        return generated.due_of(load(copy), Kind.HANDED_OUT, of, alone=False, again=again)

    companies = handed_out(server)
    assert due() == companies
    of_all = parts_tried.digests(server, root())
    for company in companies:
        digests = {name: of_all[name] for name in company}
        parts_tried.record(server, PartsTried(Kind.HANDED_OUT, digests, "exact", "2026-11-28"))
    assert due() == [] and due(again=True) == companies
    edit(copy / "parts/shell-left.toml", "4755", "4711")
    assert due() == [("shell-left",)]


def test_a_record_holds_in_the_next_version_of_the_generator(copy: Path) -> None:
    before = parts_tried.digests(load(copy), root())["shell-left"]
    version = load(copy).version
    edit(copy / "generator.toml", f"version = {version}\n", f"version = {version + 1}\n")
    assert parts_tried.digests(load(copy), root())["shell-left"] == before


Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(*words: str) -> tuple[int, str]:
        status = run(list(words))
        return status, capsys.readouterr().out

    return asked


def test_the_commands_of_generators(ask: Ask) -> None:
    status, said = ask("generators")
    assert status == 0 and "\nrepair/server, version " in said
    status, said = ask("generators", "repair/server", "--json")
    told = json.loads(said)["generators"][0]
    assert told["parts"]["key-left"]["breaks"] == ["rights"] and told["splits"] == {"public": 16}
    status, said = ask("check", "repair/server", "--fast", "--json")
    (gate,) = json.loads(said)["tasks"]["repair/server"]
    assert (status, gate["gate"], gate["status"]) == (0, "seeds", "passed")
    status, said = ask("tasks", "--split", "public")
    assert status == 0 and "repair/server#1@2" in said.split()


def test_a_drawn_task_is_written_and_explained(ask: Ask, tmp_path: Path) -> None:
    status, said = ask("new", "repair/server", "--seed", "3", "--level", "2", "--in", str(tmp_path))
    assert status == 0 and "drawn for: " in said and " blocking." in said
    (folder,) = tmp_path.glob("repair/server-v*-l2-3")
    assert "from-tasks-lib" not in (folder / "solution/solve.sh").read_text()
    status, said = ask("tasks", "validate", str(folder))
    assert status == 0 and said.startswith("ok")
    parts = ("--part", "shell-left", "--part", "key-left")
    status, said = ask("new", "repair/server", *parts, "--in", str(tmp_path))
    assert "alone it fails rights; drawn for: it was named" in said
    assert status == 0 and list(tmp_path.glob("repair/server-v*-key-left-shell-left"))


def test_no_task_takes_the_name_of_a_generator(ask: Ask, tmp_path: Path) -> None:
    status, _ = ask("new", "repair/server", "--in", str(tmp_path))
    assert status == 2 and not list(tmp_path.iterdir())


def test_what_fails_to_the_end_of_the_ladder_is_shortened() -> None:
    server = generators(root())["repair/server"]
    told = explanation(server, chosen(server, ["table-data-late", "initramfs-frozen"]))
    assert "alone it fails partitions, multi-user and all after it; " in told
    assert "alone it fails update; " in told


def test_an_instance_leaks_nothing_and_its_last_stage_is_what_is_looked_at(
    tmp_path: Path,
) -> None:
    task = find("repair/server#17@1")
    assert static_gates.leaks(task).status is Status.PASSED
    folder = tmp_path / task.name
    shutil.copytree(task.path, folder)
    with (folder / "environment/Dockerfile").open("a") as file:
        file.write("\nCOPY --chmod=644 \\\n  server /srv/notes\n")
    assert static_gates.leaks(load_task(folder)).status is Status.FAILED


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("FROM a AS b\nCOPY x /x\nFROM c\nCOPY --from=b /x /x\n", {"Dockerfile"}),
        ("FROM a AS b\nCOPY x /x\nFROM c\ncopy y z /z/\n", {"Dockerfile", "y", "z"}),
        ("FROM a AS b\nCOPY x /x\nFROM B\n", {"."}),
        ('FROM a AS b\nFROM c\nCOPY ["y", "/y"]\n', {"."}),
        ("FROM a AS b\nFROM c\nCOPY *.sh /y/\n", {"."}),
        ("FROM a AS b\nFROM c\nADD . /y/\n", {"Dockerfile", "."}),
    ],
)
def test_what_the_last_stage_copies(tmp_path: Path, text: str, kept: set[str]) -> None:
    (tmp_path / "Dockerfile").write_text(text)
    found = copied_last(tmp_path)
    assert {path.relative_to(tmp_path).as_posix() for path in found} == kept


def test_a_private_split_is_told_from_a_file(ask: Ask, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(range(32)))
    status, said = ask("generators", "repair/server", "--secret", str(secret), "--count", "3")
    seeds = [int(line.split("#")[1].split("@")[0]) for line in said.split()]
    assert status == 0 and len(seeds) == 3 and max(seeds) > 1 << 48
