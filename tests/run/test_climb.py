"""Milestones of an oracle, or exploits, that one sandbox builds in turn."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from ours import SOLVE, words
from plain import BENCHFLOW, hear
from tests import warm_command

from benchflow.authoring.check import DISTURBED
from benchflow.authoring.review import review
from benchflow.base.home import home
from benchflow.errors import UsageError
from benchflow.results.jobs.trials import read_job
from benchflow.run.job.plan import plan
from benchflow.run.job.request import RunRequest
from benchflow.sandbox import cleanup
from benchflow.tasks import load

pytestmark = pytest.mark.needs("sandbox")

GOES_ON = """#!/bin/bash
mkdir -p /app/out
cd /app/out
touch words.txt
for word in one two three; do
  words=$(cat words.txt)
  [[ $words == *$word* ]] || echo "${words:+$words }$word" > words.txt
  [ "${STOP_AFTER:-}" != "$word" ] || break
done
"""


@pytest.fixture
def climbing(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Writes the task around an oracle; what its gates leave below the home is removed."""

    def write(solve: str) -> Path:
        folder = words(tmp_path)
        config = folder / "task.toml"
        config.write_text(
            config.read_text().replace("= 0.1\n", "= 0.1\noracle_incremental = true\n")
        )
        # Gates are remembered by content, so each test needs content of its own.
        (folder / "solution" / "solve.sh").write_text(f"{solve}# {uuid4()}\n")
        return folder

    before = set(left())
    yield write
    for path in set(left()) - before:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def left() -> list[Path]:
    return sorted((home() / "checks").glob("test-words-*"))


def gate(folder: Path, name: str = "ladder", *options: str) -> dict[str, Any]:
    done = warm_command.run(["check", str(folder), "--gate", name, *options, "--json"])
    assert done.stdout, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)["tasks"]["test/words"][0]
    return result


def unexcused(result: dict[str, Any]) -> list[str]:
    """A gate's findings without the word on a host that others had, which a busy one adds."""
    return [finding.partition(" (others had ")[0] for finding in result["findings"]]


def test_every_rung_is_built_in_one_sandbox_and_verified(climbing: Callable[[str], Path]) -> None:
    before = set(left())
    folder = climbing(GOES_ON)
    result = gate(folder)
    assert (result["status"], result["findings"]) == ("passed", [])
    job = next(path for path in set(left()) - before if path.name.endswith("-ladder"))
    kept = sorted(job.glob("*/rungs/*/app/out/words.txt"))
    assert [path.read_text() for path in kept] == ["one\n", "one two three\n", "one two\n"]
    assert gate(folder)["cached"]


def test_a_rung_whose_verification_was_cut_off_is_verified_again_and_only_once(
    climbing: Callable[[str], Path],
) -> None:
    before = set(left())
    folder = climbing(GOES_ON)
    assert gate(folder)["status"] == "passed"
    parts = next(path for path in set(left()) - before if path.name.endswith("-parts"))
    (rungs,) = parts.iterdir()
    (rungs / "two" / "verifier" / "partial.json").unlink()
    for _ in range(2):
        parts.with_name(f"{parts.name.removesuffix('-parts')}.json").unlink()
        result = gate(folder)
        assert (result["status"], result["cached"]) == ("passed", False)
        assert sorted(path.name for path in rungs.iterdir()) == ["one", "three", "two", "two.2"]


def test_a_gate_that_is_stopped_does_not_wait_for_its_verifications(
    climbing: Callable[[str], Path],
) -> None:
    before = set(left())
    folder = climbing(GOES_ON)
    checks = folder / "tests" / "checks.py"
    # All but the last rung, which the climb itself hands in.
    slow = "    if 'three' not in deliverable().read_text():\n        time.sleep(300)\n"
    fast = '    assert "one"'
    checks.write_text("import time\n" + checks.read_text().replace(fast, slow + fast))
    one_core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]  # so that a rung has to wait
    process = subprocess.Popen(
        [*one_core, BENCHFLOW, "check", str(folder), "--gate", "ladder"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=hear,
    )

    def verifying() -> list[Path]:
        return [path for top in set(left()) - before for path in top.glob("*/*/verifier")]

    deadline = time.monotonic() + 180
    while len([path for path in verifying() if "-ladder-parts" in str(path)]) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.2)
    time.sleep(2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert cleanup.gc() == []


def test_a_rung_that_takes_too_much_with_it_is_named(climbing: Callable[[str], Path]) -> None:
    result = gate(climbing("mkdir -p /app/out; echo one two three > /app/out/words.txt\n"))
    assert result["status"] == "failed"
    assert "stopped after one, three, two pass too early" in result["findings"]


def test_the_climb_is_the_oracles_second_time(climbing: Callable[[str], Path]) -> None:
    before = set(left())
    folder = climbing(GOES_ON)
    result = gate(folder, "oracle")
    assert (result["status"], result["summary"]) == ("passed", "resolved 2 of 2 times")
    made = {path.name.rpartition("-")[2]: path for path in set(left()) - before if path.is_dir()}
    jobs = {name: read_job(path).trials for name, path in made.items() if name != "image"}
    assert sorted(trial.agent for trials in jobs.values() for trial in trials) == [
        "ladder:*", "oracle"
    ]  # fmt: skip
    assert gate(folder, "budget")["status"] in ("passed", "failed")
    assert gate(folder)["status"] == "passed"
    assert [trial.name for trial in read_job(made["ladder"]).trials] == [jobs["ladder"][0].name]
    assert gate(folder, "oracle", "--again")["status"] == "passed"
    assert [trial.name for trial in read_job(made["ladder"]).trials] != [jobs["ladder"][0].name]


def test_an_oracle_that_starts_over_is_its_own_last_rung(climbing: Callable[[str], Path]) -> None:
    before = set(left())
    folder = climbing(SOLVE)
    config = folder / "task.toml"
    config.write_text(config.read_text().replace("oracle_incremental = true\n", ""))
    assert gate(folder, "oracle")["status"] == "passed"
    result = gate(folder)
    assert (result["status"], result["summary"]) == ("passed", "3 milestones")
    job = next(path for path in set(left()) - before if path.name.endswith("-ladder-built"))
    agents = sorted(trial.agent for trial in read_job(job).trials)
    assert agents == ["ladder:one", "ladder:two"]


def test_an_oracle_that_starts_over_cannot_climb(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot continue where it stopped"):
        plan(RunRequest(tasks=(str(words(tmp_path)),), agents=("ladder:*",)))


def test_a_verdict_that_depends_on_the_memory_is_found_and_goes_on_where_it_stopped(
    climbing: Callable[[str], Path],
) -> None:
    before = set(left())
    folder = climbing(GOES_ON)
    checks = folder / "tests" / "checks.py"
    memory = "    import json, pathlib\n    task = pathlib.Path(__file__).with_name('task.json')\n"
    memory += "    assert json.loads(task.read_text())['memory_mb'] == 512\n"
    last = "    assert deliverable().read_text() == "
    checks.write_text(checks.read_text().replace(last, memory + last))
    findings = [f"{DISTURBED}: failed, milestones that differ: three"]
    found = gate(folder, "determinism")
    assert (found["status"], unexcused(found)) == ("failed", findings)
    assert gate(folder, "determinism")["cached"]
    top = next(path for path in set(left()) - before if path.name.endswith("-determinism"))
    (of_one,) = top.iterdir()
    (of_one / "disturbed" / "verifier" / "reward.json").unlink()
    top.with_suffix(".json").unlink()
    assert unexcused(gate(folder, "determinism")) == findings
    assert {path.name for path in of_one.iterdir()} == {"disturbed", "disturbed.2"}


#: Each needs what the first has built, and what another delivered must not be there.
EXPLOIT = """#!/bin/bash
set -e
mkdir -p /app/out
[ ! -e /app/out/words.txt ]
[ -e /app/given ]
echo NAME >> /built
WORK
"""


def exploiting(folder: Path, **exploits: tuple[str, list[str]]) -> None:
    """Gives the task in `folder` exploits that go on: name → what it does, what it may gain."""
    config = folder / "task.toml"
    text = config.read_text()
    for name, (work, allowed) in exploits.items():
        script = folder / "exploits" / f"{name}.sh"
        script.write_text(EXPLOIT.replace("NAME", name).replace("WORK", work))
        text += f"""
[[metadata.benchflow.exploits]]
script = "{name}"
allowed = {json.dumps(allowed)}
why = "so many words are honest"
incremental = true
"""
    config.write_text(text)


def also_delivered(folder: Path) -> None:
    """Two more deliverables of the task: one lies there at first, one is made by nobody."""
    config = folder / "task.toml"
    entry = '[[metadata.benchflow.deliverables]]\npath = "/app/{}"\nkind = "file"\nmax_mb = 1\n'
    config.write_text(config.read_text() + entry.format("given") + entry.format("out/never"))
    with (folder / "environment" / "Dockerfile").open("a") as dockerfile:
        dockerfile.write("RUN echo given > /app/given\n")


def test_exploits_that_go_on_share_a_sandbox_and_each_is_verified(
    climbing: Callable[[str], Path],
) -> None:
    before = set(left())
    folder = climbing(GOES_ON)
    also_delivered(folder)
    exploiting(
        folder,
        early=("echo one > /app/out/words.txt", ["one"]),
        later=("grep -qx early /built; echo one two > /app/out/words.txt", ["one", "two"]),
        least=("grep -qx later /built; echo one > /app/out/words.txt", ["one"]),
    )
    result = gate(folder, "exploits")
    assert (result["status"], result["findings"]) == ("passed", [])
    job = next(p for p in set(left()) - before if re.fullmatch(r".*-exploits-\w{8}-built", p.name))
    assert sorted(trial.agent for trial in read_job(job).trials) == ["exploit:*", "exploit:forge"]
    shown = {row.name: row.gained for row in review(load(folder)).exploits if not row.common}
    assert shown == {"early": ("one",), "later": ("one", "two"), "least": ("one",), "forge": ()}
    assert gate(folder, "exploits", "--again")["status"] == "passed"
    aside = {path.name for path in left()} - {path.name for path in before}
    assert {f"{job.name}.1", f"{job.name.removesuffix('-built')}-parts.1"} <= aside, (
        "old verdicts of what is built anew"
    )


def test_an_exploit_that_fails_where_others_have_built_is_named_and_none_after_it_was_tried(
    climbing: Callable[[str], Path],
) -> None:
    folder = climbing(GOES_ON)
    also_delivered(folder)
    (folder / "exploits" / "forge.sh").unlink()
    exploiting(
        folder,
        early=("echo one > /app/out/words.txt", ["one"]),
        later=("false", ["one"]),
        least=("echo one > /app/out/words.txt", ["one"]),
    )
    result = gate(folder, "exploits")
    assert result["status"] == "failed"
    later, least = result["findings"]
    assert later.startswith("later did not run to its end: its script ended with status 1 (")
    assert least == "least was not tried"


def test_variants_are_judged_alone_and_in_turn(climbing: Callable[[str], Path]) -> None:
    """One of four stops at a check, and the gate says at which, with the check's own words."""
    before = set(left())
    folder = climbing(GOES_ON)
    works = {
        "first": "echo built > /built; echo one two three > /app/out/words.txt",
        "second": "[ -e /built ]; [ ! -e /app/out/words.txt ]; bash /solution/solve.sh",
        "alone": "[ ! -e /built ]; printf 'one two three\\n' > /app/out/words.txt",
        "spaced": "[ ! -e /built ]; printf 'one two  three\\n' > /app/out/words.txt",
    }
    for name, work in works.items():
        script = folder / "variants" / f"{name}.sh"
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!/bin/bash\n# It is {name}.\nset -e\nmkdir -p /app/out\n{work}\n")
    with (folder / "task.toml").open("a") as file:
        for name in ("first", "second"):
            file.write(f'[[metadata.benchflow.variants]]\nscript = "{name}"\nincremental = true\n')
    result = gate(folder, "variants")
    (finding,) = unexcused(result)
    assert finding.startswith("spaced stops at three by test_three: assert 'one two  three")
    assert result["summary"] == "3 of 4 variants resolved"
    job = next(p for p in set(left()) - before if re.fullmatch(r".*-variants-\w{8}", p.name))
    agents = sorted(trial.agent for trial in read_job(job).trials)
    assert agents == ["variant:*", "variant:alone", "variant:spaced"]
    shown = {row.name: (row.what, row.came_to) for row in review(load(folder)).variants}
    assert shown["first"] == ("It is first.", "resolved")
    assert shown["spaced"] == ("It is spaced.", "failed, stops at three")


def test_exploits_that_start_anew_share_no_sandbox(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none of its exploits declares incremental"):
        plan(RunRequest(tasks=(str(words(tmp_path)),), agents=("exploit:*",)))
