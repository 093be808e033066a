"""What a task's modules mean beyond the definitions of its key: a record holds for that, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.authoring.written_lamp import ANEW, CHECKS, written
from tests.run.plain import gates, write

from benchflow.authoring.gate_record import record, standing
from benchflow.authoring.meaning.rest import rest_of
from benchflow.authoring.trials import Trials
from benchflow.run.live.progress import Silence
from benchflow.tasks import load


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Path]:
    with written(tmp_path, ANEW) as folder:
        yield folder


def swapped(checks: str) -> str:
    """The last milestone stands before the one that it would need."""
    head, lit, warm = checks.replace('["lit"]', '["switched"]').rsplit("@milestone", 2)
    return f"{head}@milestone{warm.rstrip()}\n\n\n@milestone{lit.rstrip()}\n"


@pytest.mark.parametrize(
    ("helper", "old", "new", "same"),
    [
        ("A = []\nB = tuple(A)\nA.append(1)\n", "", "", True),
        ("A = []\nB = tuple(A)\nA.append(1)\n", "B = tuple(A)\nA.append(1)",
         "A.append(1)\nB = tuple(A)", False),
        ("import sys\ndef a():\n    return sys.modules\ndef b():\n    return 1\n", "1", "2", False),
        ("def a(n):\n    return globals()[n]()\n\ndef b():\n    return 1\n", "1", "2", False),
        ("class A:\n    def a(self, n):\n        return getattr(self, n)\n\n    def b(self):\n"
         "        return 1\n", "1", "2", False),
        ("def a():\n    return getattr(a, 'n')\n\ndef b():\n    return 1\n", "1", "2", True),
        ("def a():\n    'x'\n    return a.__doc__\n", "'x'", "'y'", False),
        ("def a():\n    'x'\n    return 1\n", "'x'", "'y'", True),
        ("def a():\n    return vars()  # x\n", "# x", "# y", True),
    ],
)  # fmt: skip
def test_the_rest_of_a_meaning(task: Path, helper: str, old: str, new: str, same: bool) -> None:
    write(task / "tests" / "helper.py", helper)
    before = rest_of(task)
    write(task / "tests" / "helper.py", helper.replace(old, new))
    assert (rest_of(task) == before) is same


@pytest.mark.needs("sandbox")
def test_checks_in_another_order_are_others(task: Path) -> None:
    """Neither what this machine remembers nor a record is taken over for them."""
    checks = task / "tests" / "checks.py"
    write(checks, CHECKS.replace('["lit"]', '["switched"]'))
    first = Trials(load(task), Silence())
    key, rest = first.key, first.rest
    assert gates(task, "ladder")["ladder"]["status"] == "passed"
    record(load(task))
    write(checks, swapped(CHECKS))
    second = Trials(load(task), Silence())
    assert second.key == key and second.rest != rest
    known = standing(load(task))
    assert known is not None and known.held("ladder") is None
    found = gates(task, "ladder")["ladder"]
    assert not found["cached"] and found["status"] == "failed"
    write(checks, CHECKS.replace('["lit"]', '["switched"]'))
    assert gates(task, "ladder")["ladder"]["cached"]


@pytest.mark.needs("sandbox")
def test_a_record_from_before_it_was_known_holds(task: Path) -> None:
    assert gates(task, "nop")["nop"]["status"] == "passed"
    file = record(load(task))
    told = json.loads(file.read_text())
    del told["tasks"][load(task).name]["rest"]
    write(file, json.dumps(told))
    known = standing(load(task))
    assert known is not None and known.held("nop") is not None
