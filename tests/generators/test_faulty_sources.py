"""repair/package-manager: what is broken in the sources is repaired to the byte."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchflow.errors import TaskError
from benchflow.generators import Generator, generators, write
from benchflow.generators.compose import Chosen
from benchflow.generators.draw import Draw
from benchflow.generators.generator import load
from benchflow.generators.parts import Part
from benchflow.generators.spec import Spec
from benchflow.generators.values import drawn
from benchflow.tasks.catalogue import root

NAME = "repair/package-manager"


@pytest.fixture(scope="module")
def generator() -> Generator:
    return generators(root())[NAME]


@pytest.fixture(scope="module")
def whole(generator: Generator, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The sources when nothing is broken."""
    return content(left(generator, [], tmp_path_factory.mktemp("whole")))


def left(generator: Generator, parts: Iterable[Part], folder: Path) -> Path:
    """The sources as an agent finds them, and beside them the instance."""
    values = drawn(generator.told.values, Draw(NAME, 1))
    spec = Spec(NAME, 1, 1, 1, tuple(Chosen(part, "named") for part in parts), values)
    write.write(generator, spec, root(), folder / "instance")
    tarn = folder / "tarn"
    shutil.copytree(folder / "instance/environment/left", tarn)
    done = subprocess.run(["sh", str(tarn / "spoil.sh")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tarn


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def repair(tarn: Path) -> None:
    """By the oracle, which then builds nothing."""
    solve = (tarn.parent / "instance/solution/solve.sh").read_text()
    script = solve.replace("cd /app/tarn", f"cd {tarn}").replace("bash build.sh", "true")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_is_left_alone_is_what_the_base_builds(whole: dict[str, bytes]) -> None:
    base = root() / "from-source/package-manager/solution"
    assert whole["lade/txn.c"] == (base / "lade/txn.c").read_bytes()
    assert whole.keys() - {"build.sh"} == content(base).keys() - {"solve.sh"}
    build = whole["build.sh"].decode()
    for trace in ("STOP_AFTER", "has ", "ladder", "Cold-Lake-51", "from-tasks-lib"):
        assert trace not in build
    subprocess.run(["bash", "-n"], input=build, text=True, check=True)


def test_each_part_changes_one_file_and_is_repaired_to_the_byte(
    generator: Generator, whole: dict[str, bytes], tmp_path: Path
) -> None:
    for part in generator.parts.values():
        tarn = left(generator, [part], tmp_path / part.name)
        found = content(tarn)
        assert found.keys() == whole.keys(), part.name
        assert len([name for name in whole if found[name] != whole[name]]) == 1, part.name
        repair(tarn)
        assert content(tarn) == whole, part.name


def test_all_parts_stand_beside_each_other(
    generator: Generator, whole: dict[str, bytes], tmp_path: Path
) -> None:
    tarn = left(generator, generator.parts.values(), tmp_path)
    found = content(tarn)
    assert found != whole
    times = {path.lstat().st_mtime for path in tarn.rglob("*")}
    assert len(times) == 1, "a date says what was changed"
    repair(tarn)
    assert content(tarn) == whole


def test_nothing_of_the_draw_is_in_what_an_agent_sees(generator: Generator, tmp_path: Path) -> None:
    parts = [*generator.parts.values()][::2]
    tarn = left(generator, parts, tmp_path)
    instance = tmp_path / "instance"
    last = (instance / "environment/Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert "COPY --from=factory /srv/tarn /app/tarn" in last and "COPY left" not in last
    told = [last, (instance / "instruction.md").read_text()]
    told += [data.decode() for data in content(tarn).values()]
    assert not [part.name for part in parts for text in told if part.name in text]
    assert not [part.title for part in parts for text in told if part.title in text]
    assert f"in {len(parts)} places" in told[1]


def test_a_value_that_stands_for_nothing_is_an_error(tmp_path: Path, generator: Generator) -> None:
    folder = tmp_path / "generators" / NAME
    shutil.copytree(generator.folder, folder)
    path = folder / "generator.toml"
    path.write_text(path.read_text().replace('stands_for = "Cold-Lake-51"', 'stands_for = "Warm"'))
    with pytest.raises(TaskError, match="no file has what a value stands for: 'Warm'"):
        left(load(folder), [], tmp_path)
