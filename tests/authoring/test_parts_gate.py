"""The gate of parts on a small generator, with real trials: eight parts, two of each milestone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.run import ours
from tests.run.plain import write

from benchflow.authoring import generated, parts_tried
from benchflow.authoring.gate import Status
from benchflow.authoring.parts_tried import Kind
from benchflow.generators import Generator
from benchflow.generators.companies import handed_out, repaired
from benchflow.generators.generator import load
from benchflow.run.live.progress import Silence

pytestmark = [pytest.mark.needs("sandbox"), pytest.mark.slow]

LADDER = ("one", "two", "three", "four", "five")
GENERATOR = f"""version = 1
description = "Words of which some are wrong."
ladder = {json.dumps(LADDER)}
login = "one"
stages = ["words"]
[levels.3]
parts = 8
layers = 1
blocking = 0
"""
CHECKS = "from benchflow.boot import milestone\n" + "".join(
    f"""

@milestone("{name}", proves=["R{n}"])
def test_{name}(deliverable):
    assert deliverable().read_text().split()[{n - 1}] == "{name}"
"""
    for n, name in enumerate(LADDER, 1)
)
WRITE = "#!/bin/bash\nset -eu\nmkdir -p /app/out\nwords=/app/out/words.txt\n"
AS_IT_CAME = f"{WRITE}echo {' '.join(LADDER)} >$words\n# @parts broken words\n"
SOLVE = AS_IT_CAME + "".join(f"# @parts repaired {name}\n" for name in LADDER)


def part(name: str, broken: str) -> str:
    return f"""title = "the word {name} is another one"
layer = "words"
breaks = ["{name}"]
stage = "words"
hint = "Read the {name}th word."
broken = "sed -i {broken} $words"
repaired = "sed -i s/X{name}X/{name}/ $words"
"""


@pytest.fixture
def generator(tmp_path: Path) -> Generator:
    folder = tmp_path / "generators/test/words"
    write(folder / "generator.toml", GENERATOR)
    for name in LADDER[1:]:
        for which in ("a", "b"):
            write(folder / f"parts/{which}-{name}.toml", part(name, f"s/{name}/X{name}X/"))
    template = folder / "template"
    config = ours.CONFIG.replace('name = "words"', 'name = "{{name}}"')
    config = config.replace("benchflow/words", "benchflow/{{name}}")
    write(template / "task.toml", config.replace('topic = "test"', 'topic = "{{topic}}"')
          + "\n{{as_it_came}}\n")  # fmt: skip
    write(template / "instruction.md", "".join(f"[R{n}] {w}\n" for n, w in enumerate(LADDER, 1)))
    write(template / "environment/Dockerfile", "FROM debian:bookworm\nWORKDIR /app\n")
    write(template / "solution/solve.sh", SOLVE)
    write(template / "exploits/as-it-came.sh", AS_IT_CAME)
    write(template / "tests/checks.py", CHECKS)
    return load(folder)


def test_parts_that_do_what_they_say_pass_in_company_and_are_not_tried_again(
    generator: Generator, tmp_path: Path
) -> None:
    trials = len(handed_out(generator)) + len(repaired(generator))
    assert trials < 2 * len(generator.parts)
    began: list[str] = []
    found = generated.parts(generator, tmp_path, [], Silence(), begin=began.append)
    assert found.status is Status.PASSED, found.findings
    assert len(began) == trials
    assert parts_tried.holding(generator, tmp_path) == {*generator.parts}
    again = generated.parts(generator, tmp_path, [], Silence(), begin=began.append)
    assert again.status is Status.PASSED and len(began) == trials


def test_a_part_that_breaks_nothing_is_named_and_its_companions_are_cleared(
    generator: Generator, tmp_path: Path
) -> None:
    liar = generator.folder / "parts/a-three.toml"
    write(liar, part("three", "s/nothing/else/"))
    found = generated.parts(load(generator.folder), tmp_path, [], Silence())
    assert found.status is Status.FAILED
    assert "a-three: three pass though it breaks them" in found.findings
    good = parts_tried.holding(load(generator.folder), tmp_path)
    assert good == generator.parts.keys() - {"a-three"}


def test_a_part_that_is_not_repaired_is_named(generator: Generator, tmp_path: Path) -> None:
    liar = generator.folder / "parts/b-four.toml"
    write(liar, liar.read_text().replace("s/XfourX/four/", "s/XfourX/fourth/"))
    found = generated.parts(load(generator.folder), tmp_path, ["b-four"], Silence())
    assert found.status is Status.FAILED
    assert found.findings == ("b-four: the oracle does not repair it: four",)
    (oracle,) = [
        one for one in parts_tried.tried(load(generator.folder)) if one.kind is Kind.ORACLE
    ]
    assert not oracle.good
