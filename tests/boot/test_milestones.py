"""The ladder: what may be declared, how it is read without running it, and what it is worth."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchflow.boot import check, milestone
from benchflow.boot.milestones import ChecksError, Ladder, build_ladder, declare
from benchflow.boot.runner.scan import scan, scan_text

HEADER = "from benchflow.boot import check, milestone\n"


def ladder(source: str):
    return scan_text(HEADER + source, "checks.py")


def test_a_file_is_read_without_executing_it(tmp_path: Path) -> None:
    path = tmp_path / "checks.py"
    path.write_text(
        f"import pathlib\npathlib.Path({str(tmp_path)!r}, 'executed').touch()\n{HEADER}"
        '@milestone("kernel", weight=2, proves=["R1", "R2b"], title="It starts")\n'
        "def test_kernel(machine): pass\n"
        '@check(milestone_id="kernel", proves=("R3",))\ndef test_more(machine): pass\n'
        '@milestone("login", requires=["kernel"])\ndef test_login(machine): pass\n'
        "def helper(): pass\n"
    )
    first, second = scan(path)
    assert (first.id, first.weight, first.title, first.requires) == ("kernel", 2, "It starts", ())
    assert [(c.name, c.proves, c.line) for c in first.checks] == [
        ("test_kernel", ("R1", "R2b"), 5),
        ("test_more", ("R3",), 7),
    ]
    assert (second.id, second.requires) == ("login", ("kernel",))
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    "source",
    [
        'from benchflow.boot import milestone as rung\n@rung("a")\ndef test_a(): pass\n',
        'import benchflow.boot\n@benchflow.boot.milestone("a")\ndef test_a(): pass\n',
        'import benchflow.boot as b\n@b.milestone(id="a")\ndef test_a(): pass\n',
        'from benchflow import boot\n@boot.milestone("a")\ndef test_a(): pass\n',
        'import pytest\nfrom benchflow.boot import milestone\n@milestone("a")\n'
        '@pytest.mark.parametrize("x", [1])\ndef test_a(x): pass\n',
    ],
)
def test_every_way_to_import_the_decorators_is_understood(source: str) -> None:
    assert [spec.id for spec in scan_text(source, "checks.py")] == ["a"]


A = '@milestone("a")\ndef test_a(): pass\n'


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        (A + '@milestone("a")\ndef test_b(): pass\n', 5, "declared twice (first on line 3)"),
        (A + '@milestone("b")\ndef test_a(): pass\n', 5, "test_a is defined twice"),
        (A + '@check("b")\ndef test_b(): pass\n', 5, "unknown milestone 'b'"),
        ('@milestone("a", requires=["z"])\ndef test_a(): pass\n', 3, "unknown milestone 'z'"),
        ('@milestone("a", requires=["a"])\ndef test_a(): pass\n', 3, "a → a"),
        (
            '@milestone("a", requires=["b"])\ndef test_a(): pass\n'
            '@milestone("b", requires=["c"])\ndef test_b(): pass\n'
            '@milestone("c", requires=["a"])\ndef test_c(): pass\n',
            3,
            "a → b → c → a",
        ),
        (
            A + '@milestone("b", requires=["a"])\ndef test_b(): pass\n'
            '@check("a")\ndef test_late(): pass\n',
            7,
            "test_late, a check of 'a', stands below milestone 'b'",
        ),
        ('@check("a")\ndef test_b(): pass\n' + A, 3, "above the @milestone"),
        ('N = "a"\n@milestone(N)\ndef test_a(): pass\n', 3, "not a literal: N"),
        ('@milestone("a", weight=2**99)\ndef test_a(): pass\n', 2, "not a literal"),
        ('@milestone("a", weight=0)\ndef test_a(): pass\n', 2, "weight 0"),
        ('@milestone("a", weight=True)\ndef test_a(): pass\n', 2, "weight True"),
        ('@milestone("a", weight="2")\ndef test_a(): pass\n', 2, "weight '2'"),
        ('@milestone("a", weight=1e999)\ndef test_a(): pass\n', 2, "weight inf"),
        ('@milestone("A b")\ndef test_a(): pass\n', 2, "id 'A b'"),
        ('@milestone("a\\n")\ndef test_a(): pass\n', 2, "is not allowed"),
        ("@milestone(3)\ndef test_a(): pass\n", 2, "id 3"),
        ("@milestone()\ndef test_a(): pass\n", 2, "without a milestone"),
        ("@milestone\ndef test_a(): pass\n", 2, "without a milestone"),
        ('@milestone("a", 3)\ndef test_a(): pass\n', 2, "one positional"),
        ('@milestone("a", proves="R1")\ndef test_a(): pass\n', 2, "proves of 'a' is 'R1'"),
        ('@milestone("a", proves=["r1"])\ndef test_a(): pass\n', 2, "'r1' in proves"),
        ('@milestone("a", proves=["R0"])\ndef test_a(): pass\n', 2, "'R0' in proves"),
        ('@milestone("a", proves=["R1", "R1"])\ndef test_a(): pass\n', 2, "twice"),
        ('@milestone("a", wieght=1)\ndef test_a(): pass\n', 2, "does not take wieght"),
        ('@milestone("a", **{})\ndef test_a(): pass\n', 2, "does not take **"),
        ('@check("a", weight=1)\ndef test_a(): pass\n', 2, "does not take weight"),
        ('@milestone("a")\nasync def test_a(): pass\n', 3, "async"),
        ('@milestone("a")\ndef check_a(): pass\n', 3, "never run"),
        ('@milestone("a")\n@check("a")\ndef test_a(): pass\n', 4, "declared twice"),
        ('if True:\n    @milestone("a")\n    def test_a(): pass\n', 4, "inside something else"),
        ('class TestA:\n    @milestone("a")\n    def test_a(self): pass\n', 2, "functions"),
        (A + "def test_b(): pass\n", 4, "test_b belongs to no milestone"),
        ("from benchflow.boot import *\n" + A, 2, "import *"),
        ("x = (\n", 2, "not valid Python"),
        ("\0", 0, "not valid Python"),
        ("", 0, "no milestone"),
    ],
)
def test_each_mistake_is_named_with_file_line_and_fix(source: str, line: int, said: str) -> None:
    with pytest.raises(ChecksError) as error:
        ladder(source)
    assert error.value.file == "checks.py"
    assert said in str(error.value)
    # Python before 3.12 and after differ in the line of a syntax error.
    if "not valid Python" not in said:
        assert error.value.line == line
        assert str(error.value).startswith(f"checks.py:{line}: " if line else "checks.py: ")


def test_the_decorators_refuse_what_the_reader_refuses() -> None:
    with pytest.raises(ChecksError, match="Not Allowed"):
        milestone("Not Allowed")
    with pytest.raises(ChecksError, match="'x' in proves"):
        check("a", proves=["x"])
    with pytest.raises(ChecksError, match="declared twice"):
        check("a")(milestone("a")(lambda: None))


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_whatever_the_file_holds_it_is_read_or_refused(source: bytes | str) -> None:
    with pytest.raises(ChecksError):
        scan_text(source, "checks.py")


def climb(weights: dict[str, float], requires: dict[str, list[str]], passed: set[str]) -> Ladder:
    rows = [
        (f"test_{id}", line, declare("milestone", id, weight=w, requires=requires.get(id, [])))
        for line, (id, w) in enumerate(weights.items(), 1)
    ]
    ladder = Ladder(build_ladder("checks.py", rows))
    for spec in ladder.milestones:
        run = ladder.add(spec.checks[0].name, spec.checks[0])
        if ladder.blocked_by(spec.id) is None:
            run.status = "passed" if spec.id in passed else "failed"
    return ladder


def test_what_stands_on_a_failed_milestone_is_not_reached() -> None:
    ladder = climb(
        {"a": 1, "b": 1, "c": 1, "d": 1},
        {"b": ["a"], "c": ["b"], "d": ["a"]},
        passed={"a", "c", "d"},
    )
    assert [ladder.status(id) for id in "abcd"] == ["passed", "failed", "not reached", "passed"]
    assert ladder.reward == 0.5
    assert not ladder.resolved


@given(
    st.lists(st.floats(0.001, 1000), min_size=1, max_size=8),
    st.sets(st.integers(0, 7)),
)
def test_the_reward_is_the_weighted_share(weights: list[float], passed: set[int]) -> None:
    ids = [f"m{n}" for n in range(len(weights))]
    ladder = climb(dict(zip(ids, weights, strict=True)), {}, {f"m{n}" for n in passed})
    share = sum(w for n, w in enumerate(weights) if n in passed) / sum(weights)
    assert ladder.reward == pytest.approx(share, abs=1e-5)
    assert ladder.resolved == (ladder.reward == 1.0)
    assert (ladder.reward == 0.0) == (share == 0)


def test_reading_a_ladder_needs_no_pytest_and_no_qemu() -> None:
    code = (
        "import sys; import benchflow.boot.runner.scan; "
        "print([m for m in ('pytest', 'pexpect', 'qemu', 'asyncio') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
