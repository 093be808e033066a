"""Generators whose parts change sources: what is broken there is repaired to the byte."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchflow.base import shell_pieces
from benchflow.boot.runner.scan import scan
from benchflow.errors import TaskError
from benchflow.generators import Generator, generators, write
from benchflow.generators.compose import Chosen
from benchflow.generators.draw import Draw
from benchflow.generators.generator import load
from benchflow.generators.parts import Part
from benchflow.generators.spec import Spec
from benchflow.generators.values import drawn, replaced
from benchflow.tasks.catalogue import root

STATION, KERNEL = "repair/package-manager", "repair/kernel"
#: Where an agent finds the sources.
PLACES = {STATION: "/app/tarn", KERNEL: "/app/kernel"}


@dataclass(frozen=True)
class Sources:
    """A generator, and its sources when nothing is broken: path → content."""

    generator: Generator
    place: str
    whole: dict[str, bytes]

    @property
    def parts(self) -> list[Part]:
        return [*self.generator.parts.values()]


@pytest.fixture(scope="module", params=PLACES)
def sources(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sources:
    generator = generators(root())[request.param]
    whole = content(left(generator, [], tmp_path_factory.mktemp("whole")))
    return Sources(generator, PLACES[request.param], whole)


def left(generator: Generator, parts: Iterable[Part], folder: Path) -> Path:
    """The sources as an agent finds them, and beside them the instance."""
    chosen = tuple(Chosen(part, "named") for part in parts)
    spec = Spec(generator.name, 1, 1, 1, chosen, values(generator))
    write.write(generator, spec, root(), folder / "instance")
    found = folder / "left"
    shutil.copytree(folder / "instance/environment/left", found)
    done = subprocess.run(["sh", str(found / "spoil.sh")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return found


def values(generator: Generator) -> dict[str, str]:
    return drawn(generator.told.values, Draw(generator.name, 1))


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def repair(found: Path, place: str) -> None:
    """By the oracle, which then builds nothing."""
    solve = (found.parent / "instance/solution/solve.sh").read_text()
    assert f"cd {place}\n" in solve
    script = solve.replace(f"cd {place}\n", f"cd {found}\n").replace("bash build.sh", "true")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_station_left_alone_is_what_the_base_builds(tmp_path: Path) -> None:
    base = root() / "from-source/package-manager/solution"
    whole = content(left(generators(root())[STATION], [], tmp_path))
    assert whole["lade/txn.c"] == (base / "lade/txn.c").read_bytes()
    assert whole.keys() - {"build.sh"} == content(base).keys() - {"solve.sh"}
    build = whole["build.sh"].decode()
    for trace in ("STOP_AFTER", "has ", "ladder", "Cold-Lake-51", "from-tasks-lib"):
        assert trace not in build
    subprocess.run(["bash", "-n"], input=build, text=True, check=True)


def test_a_kernel_left_alone_is_the_bases_without_what_its_trials_leave_out(tmp_path: Path) -> None:
    base = content(root() / "own/kernel/solution/src")
    whole = content(left(generators(root())[KERNEL], [], tmp_path))
    assert whole.keys() == base.keys() - {"include/without.h", "proc/refused.c"}
    for name, data in whole.items():
        text = data.decode()
        assert not re.search(r"WITHOUT_|without\.h|syscall_refused", text), name
        if name != "proc/syscall.c":  # it loses part of a condition
            kept = iter(base[name].decode().splitlines())
            assert all(line in kept for line in text.splitlines()), name
    assert whole["mm/space.c"] == base["mm/space.c"]
    # Braces in the base's own files are no facts of an instance.
    checks = content(tmp_path / "instance/tests")
    assert b"{{" in checks["lives.py"]
    task = root() / "own/kernel"
    there = content(task / "tests")
    there["image/build.sh"] = shell_pieces.read(task / "tests/image/build.sh", task)
    assert checks == {name: data for name, data in there.items() if "__pycache__" not in name}


def test_each_part_changes_one_file_and_is_repaired_to_the_byte(
    sources: Sources, tmp_path: Path
) -> None:
    """On one copy, as the build of the image and the oracle do it: see the next test."""
    found = left(sources.generator, [], tmp_path)
    swap, whole = (root() / "lib/swap.sh").read_text(), sources.whole

    def run(shell: str, script: str) -> None:
        script = swap + replaced(script, values(sources.generator))
        done = subprocess.run([shell, "-ec", script], cwd=found, capture_output=True, text=True)
        assert done.returncode == 0, f"{part.name}: {done.stderr}"

    for part in sources.parts:
        run("sh", part.broken)
        there = content(found)
        assert there.keys() == whole.keys(), part.name
        assert len([name for name in whole if there[name] != whole[name]]) == 1, part.name
        run("bash", part.repaired)
        assert content(found) == whole, part.name


def test_all_parts_stand_beside_each_other(sources: Sources, tmp_path: Path) -> None:
    found = left(sources.generator, sources.parts, tmp_path)
    assert content(found) != sources.whole
    times = {path.lstat().st_mtime for path in found.rglob("*")}
    assert len(times) == 1, "a date says what was changed"
    repair(found, sources.place)
    assert content(found) == sources.whole


def test_nothing_of_the_draw_is_in_what_an_agent_sees(sources: Sources, tmp_path: Path) -> None:
    parts = sources.parts[::2]
    found = left(sources.generator, parts, tmp_path)
    instance = tmp_path / "instance"
    last = (instance / "environment/Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert re.search(f"COPY --from=factory /srv/[a-z]+ {sources.place}", last)
    assert "COPY left" not in last
    told = [last, (instance / "instruction.md").read_text()]
    told += [data.decode() for data in content(found).values()]
    assert not [part.name for part in parts for text in told if part.name in text]
    assert not [part.title for part in parts for text in told if part.title in text]
    assert re.search(rf"\b(made {len(parts)} changes|in {len(parts)} places)\b", told[1])


@pytest.mark.needs("gcc", "make", "time")
def test_a_kernel_is_compiled_without_a_warning(tmp_path: Path) -> None:
    """A compiler's warning would point at what was changed."""
    generator = generators(root())[KERNEL]
    found = left(generator, generator.parts.values(), tmp_path)
    done = subprocess.run(["make", "-s"], cwd=found, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


def test_a_part_of_the_kernel_fails_what_is_built_on_what_it_breaks() -> None:
    requires = {one.id: one.requires for one in scan(root() / "own/kernel/tests/checks.py")}
    for part in generators(root())[KERNEL].parts.values():
        later = {id for id, needs in requires.items() if set(needs) & set(part.breaks)}
        assert not later - set(part.breaks), part.name


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('stands_for = "Cold-Lake-51"', 'stands_for = "Warm"', "no file has what a value"),
        ("in {{count}} places", "in {{some}} places", "a value asks for {{some}}: no such fact"),
    ],
)
def test_a_value_that_cannot_be_put_is_an_error(
    tmp_path: Path, before: str, after: str, why: str
) -> None:
    folder = tmp_path / "generators" / STATION
    shutil.copytree(generators(root())[STATION].folder, folder)
    path = folder / "generator.toml"
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(TaskError, match=re.escape(why)):
        left(load(folder), [], tmp_path)
