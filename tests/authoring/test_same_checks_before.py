"""What a check says may depend on those before it: the gates by parts agree with whole ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.authoring.test_by_parts import exploit
from tests.authoring.written_lamp import ANEW, script, written
from tests.run.plain import gates, write

pytestmark = pytest.mark.needs("sandbox")

_HEAD = """from benchflow.boot import check, milestone

STATE = {}


def lines(deliverable):
    return deliverable().read_text().split()


@milestone("switched", proves=["R1"])
def test_it_is_switched_on(deliverable):
    assert "switched" in lines(deliverable)
"""


def rung(name: str, *body: str, kind: str = 'milestone("{}", requires=["switched"]') -> str:
    """A milestone, or with `kind` a check of one, proved by a word and what `body` does."""
    text = "".join(f"    {line}\n" for line in body)
    function = f"test_{len(body)}_{name}_{kind.count('check')}"
    return f'\n\n@{kind.format(name)}, proves=["R2"])\ndef {function}(deliverable):\n{text}'


def _word(name: str) -> str:
    return f'assert "{name}" in lines(deliverable)'


#: A check of one milestone that stands behind the next: asked for alone, it is run before that.
BEHIND = (
    _HEAD
    + rung("lit", _word("lit"))
    + rung("warm", 'assert "off" not in STATE', _word("warm"))
    + rung("lit", 'STATE["off"] = True', kind='check("{}"')
)
#: What the last milestone requires bears no check of the one before it.
BEFORE = (
    _HEAD
    + rung("ready", 'STATE["off"] = "lit" in STATE', _word("ready"))
    + rung("lit", 'STATE["lit"] = True', _word("lit"))
    + rung(
        "warm", 'assert not STATE["off"]', _word("warm"), kind='milestone("{}", requires=["ready"]'
    )
)


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Path]:
    with written(tmp_path, ANEW) as folder:
        yield folder


def oracle(task: Path, *stops: str, with_lit: str = "") -> None:
    """Builds the stops in turn, and with `lit` a further word."""
    solve = script("echo $rung >> /app/lamp.img", begin=": > /app/lamp.img", rungs=stops)
    early = f"[ $rung != lit ] || echo {with_lit} >> /app/lamp.img\n  [ "
    write(task / "solution" / "solve.sh", solve.replace("[ ", early) if with_lit else solve)


@pytest.mark.parametrize(
    ("checks", "stops"),
    [(BEHIND, ("switched", "lit", "warm")), (BEFORE, ("switched", "ready", "lit", "warm"))],
)
def test_a_stop_is_not_separated_from_the_next_by_the_order_of_checks(
    task: Path, checks: str, stops: tuple[str, ...]
) -> None:
    write(task / "tests" / "checks.py", checks)
    oracle(task, *stops, with_lit="warm")
    found = gates(task, "ladder")["ladder"]
    assert found["findings"] == ["stopped after lit, warm pass too early"]


def test_the_next_stop_is_asked_for_both_where_other_checks_are_before_it(task: Path) -> None:
    honest = BEFORE.replace('"lit" in STATE', "False")
    write(task / "tests" / "checks.py", honest)
    oracle(task, "switched", "ready", "lit", "warm")
    found = gates(task, "ladder")["ladder"]
    assert (found["status"], found["summary"]) == ("passed", "4 milestones")


#: Checks, and what the oracle builds of which the exploit leaves out the first.
FAILED_BEFORE = _HEAD + (
    rung("lit", 'STATE["off"] = "lit" not in lines(deliverable)', 'assert not STATE["off"]')
    + rung("again", 'STATE["off"] = False', _word("again"))
    + rung("warm", 'assert not STATE["off"]', _word("warm"))
)
STARTED_BEFORE = _HEAD + (
    rung("lit", 'STATE["on"] = True', _word("lit"))
    + rung("warm", _word("warm"), 'assert "on" in STATE or "enabled" in lines(deliverable)')
)
#: The finished work lets nobody in who has not logged in; the unfinished one everybody.
HARDENED = _HEAD + (
    rung("in", 'STATE["in"] = True', _word("in"))
    + rung("warm", _word("warm"), 'assert "in" in STATE or "hardened" not in lines(deliverable)')
    + rung("hardened", _word("hardened"))
)


@pytest.mark.parametrize(
    ("checks", "solves", "words", "allowed"),
    [
        (FAILED_BEFORE, "switched lit again warm", "switched again warm", ("switched", "again")),
        (STARTED_BEFORE, "switched enabled lit warm", "switched lit warm", ("switched", "lit")),
        (
            HARDENED,
            "switched in warm hardened",
            "switched in warm hardened",
            ("switched", "in", "hardened"),
        ),
    ],
)
def test_an_exploit_that_a_whole_verification_lets_gain_is_found(
    task: Path, checks: str, solves: str, words: str, allowed: tuple[str, ...]
) -> None:
    write(task / "tests" / "checks.py", checks)
    oracle(task, *solves.split())
    exploit(task, words, *allowed)
    found = gates(task, "ladder", "exploits")
    assert found["exploits"]["findings"] == ["cheap gains warm"]
    assert found["ladder"]["status"] == "passed"


def test_an_exploit_that_two_milestones_catch_is_verified_whole_where_checks_are_left(
    task: Path,
) -> None:
    """Of the first one that fails a further check would still be run."""
    more = rung("lit", 'STATE["on"] = True', kind='check("{}"')
    checks = _HEAD + rung("lit", _word("lit")) + more
    write(task / "tests" / "checks.py", checks + rung("warm", 'assert "on" in STATE'))
    oracle(task, "switched", "lit", "warm")
    exploit(task, "switched", "switched")
    found = gates(task, "exploits")["exploits"]
    assert found["findings"] == ["cheap gains warm"]
    assert found["summary"].endswith("1 deliverable verified whole")


def test_an_exploit_whose_deliverable_could_not_be_kept_is_not_taken_for_refused(
    task: Path,
) -> None:
    """It spoils the sandbox that it shares: nothing is known of what it delivered."""
    for name, words, end in (
        ("first", "switched", "true"),
        ("last", "switched lit warm", "mkdir /off; mv /usr/bin/bash /off/"),
    ):
        write(task / "exploits" / f"{name}.sh", f"#!/bin/sh\necho {words} > /app/lamp.img\n{end}\n")
        with (task / "task.toml").open("a") as manifest:
            manifest.write(
                f'[[metadata.benchflow.exploits]]\nscript = "{name}"\nallowed = ["switched"]\n'
                'why = "so much is honest"\nincremental = true\n'
            )
    found = gates(task, "exploits")["exploits"]
    assert found["status"] != "passed", found
