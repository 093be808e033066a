"""A generator whose parts are demands: what is asked, judged and solved follows from one draw."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchflow.generators import Generator, axes, generators
from benchflow.generators.demands import Demand, in_order
from benchflow.generators.draw import Draw
from benchflow.generators.instances import Instance
from benchflow.generators.spec import chosen, spec
from benchflow.generators.write import write
from benchflow.tasks import load
from benchflow.tasks.catalogue import root

LEFT_OVER = re.compile(r"\{\{[a-z_]+\}\}|(?m:^@(demands|formats|hints|spec)$)|@R\b|# @parts ")


_NAMES = ["packages/manager", "embedded/update", "embedded/router", "spin/image"]


@pytest.fixture(scope="module", params=_NAMES)
def manager(request: pytest.FixtureRequest) -> Generator:
    return generators(root())[request.param]


@pytest.fixture(scope="module")
def together(manager: Generator) -> list[str]:
    """As many demands as one instance can have."""
    found: list[str] = []
    for name in sorted(manager.parts):
        if not manager.parts[name].conflicts & {*found}:
            found.append(name)
    assert len(found) >= len(manager.parts) - 5
    return found


@pytest.fixture(scope="module")
def everything(
    manager: Generator, together: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("all") / "instance"
    write(manager, chosen(manager, together), root(), folder)
    return folder


def program(instance: Path) -> Path:
    """The oracle's, beside what delivers it."""
    found = [path for path in (instance / "solution").iterdir() if path.name != "solve.sh"]
    assert len(found) == 1
    return found[0]


def test_nothing_of_the_template_is_left_over(everything: Path) -> None:
    for path in everything.rglob("*"):
        if path.is_file():
            found = LEFT_OVER.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path.name}: {found}"


def test_each_demand_is_asked_judged_and_solved(
    manager: Generator, together: list[str], everything: Path
) -> None:
    order = (everything / "instruction.md").read_text()
    checks = (everything / "tests/checks.py").read_text()
    solution = program(everything).read_text()
    ast.parse(checks), ast.parse(solution)
    told = json.loads((everything / "tests/spec.json").read_text())
    assert sorted(told["demands"]) == together
    parts = [manager.parts[name] for name in together]
    demands = in_order([part for part in parts if isinstance(part, Demand)])
    for number, one in enumerate(demands, manager.told.first_requirement):
        assert f"- [R{number}] " in order
        assert checks.count(f'proves=["R{number}"]') == one.checks.count("@R")
        section = solution.index(f"# --- {one.bites} ")
        assert section < solution.index(one.repaired) < solution.index("# --- ", section + 10)
    assert f"[R{number + 1}]" not in order


def test_what_stops_early_leaves_out_what_comes_later(
    manager: Generator, everything: Path, tmp_path: Path
) -> None:
    script = (everything / "solution/solve.sh").read_text()
    edit = script.split("<<'EDIT'\n")[1].split("EDIT\n")[0]
    source, target = program(everything), tmp_path / "delivered"
    for at, milestone in enumerate(manager.told.ladder):
        command = [sys.executable, "-c", edit, milestone, str(source), str(target)]
        subprocess.run(command, check=True)
        text = target.read_text()
        ast.parse(text)
        there = [name for name in manager.told.ladder if f'HAS.add("{name}")' in text]
        assert there == manager.told.ladder[: at + 1]
    subprocess.run([sys.executable, "-c", edit, "", str(source), str(target)], check=True)
    assert target.read_text() == source.read_text()


def test_an_agent_gets_sentences_and_no_draw(manager: Generator) -> None:
    one = Instance(manager, 5, 3)
    folder = one.folder(root())
    drawn = one.spec()
    last = (folder / "environment/Dockerfile").read_text().rpartition("\nFROM ")[2]
    copied = re.findall(r"(?m)^COPY (\S+) ", last)
    assert copied == ["order", "--from=factory", "try.sh"]
    given = [folder / "instruction.md", *(folder / "environment").rglob("*")]
    for path in given:
        text = path.read_text() if path.is_file() else ""
        assert drawn.digest not in text
        assert not [part.name for part in drawn.parts if f'"{part.name}"' in text]
        assert "spec.json" not in text


def test_an_instance_is_a_task_with_enough_in_it(manager: Generator) -> None:
    for level in (2, 3):
        task = load(Instance(manager, level, 1).folder(root()))
        assert [milestone.id for milestone in task.milestones] == manager.told.ladder
        assert task.n_checks >= 25 and len(task.exploits) >= 4 and len(task.hints) == 3
        proved = {name for m in task.milestones for c in m.checks for name in c.proves}
        assert proved == set(task.requirements)


def test_both_places_build_the_same_station(manager: Generator) -> None:
    template = manager.folder / "template"
    if not (template / "tests/image").exists():
        pytest.skip("a unit has nothing but what is delivered")
    (one,) = (template / "environment").glob("*/build.sh")
    other = template / "tests/image/build.sh"
    pieces = one.read_text().partition("set -eu\n")[2]
    assert pieces.startswith("from-tasks-lib python-station.sh\n")
    assert all(line.startswith("from-tasks-lib ") for line in pieces.splitlines())
    assert f"set -eu\n{pieces}" in other.read_text()


def test_axes_are_drawn_one_by_one(manager: Generator) -> None:
    told = manager.told
    draw = Draw("topic/name", 5)
    all_of_them = axes.drawn(told.axes, told.numbers, draw)
    for name, axis in told.axes.items():
        alone = axes.drawn({name: axis}, {}, draw)
        assert alone == {name: all_of_them[name]}
    for group, numbered in told.numbers.items():
        numbers = [all_of_them[f"{group}_{name}"] for name in numbered.names]
        assert len({*numbers}) == len(numbers)


def test_every_option_of_every_axis_is_drawn(manager: Generator) -> None:
    seen: dict[str, set[str]] = {}
    for seed in range(100):
        for name, option in spec(manager, 3, seed).axes.items():
            seen.setdefault(name, set()).add(option)
    for name, axis in manager.told.axes.items():
        assert seen[name] == set(axis.options)
