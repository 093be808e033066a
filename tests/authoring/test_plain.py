"""Gates on tasks in plain Harbor form, each with one weakness planted: they find that one."""

from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.run import plain
from tests.run.plain import gates

from benchflow.base.home import home

pytestmark = pytest.mark.needs("sandbox")

WORD = '[ "$(head -c 9 /app/out.txt | tr -d "\\0")" = done ]'
HONEST = f"""#!/bin/bash
mkdir -p /logs/verifier
if {WORD}; then reward=1; else reward=0; fi
echo $reward > /logs/verifier/reward.txt
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A place for a task whose name nobody else has, so that nothing is remembered of it."""
    name = f"plain-{uuid.uuid4().hex[:8]}"
    yield tmp_path / name
    for path in (home() / "checks").glob(f"{name}-*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.slow
def test_a_sound_task_passes_and_what_it_lacks_is_said(folder: Path) -> None:
    found = gates(plain.separate(folder, test=HONEST))
    statuses = {name: result["status"] for name, result in found.items()}
    passed = ("leaks", "offline", "image", "nop", "oracle", "budget", "corpus")
    assert statuses == {
        **dict.fromkeys(statuses, "not applicable"),
        **dict.fromkeys(passed, "passed"),
    }, found
    assert all(result["summary"] for result in found.values())


def test_a_gate_that_needs_one_oracle_runs_one(folder: Path) -> None:
    """A machine that takes over a gate of another one does not pay for three."""
    found = gates(plain.separate(folder, test=HONEST), "corpus")
    assert found["corpus"]["status"] == "passed"
    jobs = [path.name for path in (home() / "checks").glob(f"{folder.name}-*") if path.is_dir()]
    ran = {name.rpartition("-")[2] for name in jobs if not name.endswith(".exploits")}
    assert "reference" in ran and "oracle" not in ran, jobs


def test_a_gate_that_is_run_again_has_new_trials(folder: Path) -> None:
    """Else what a busy host or a fault of ours made of the old ones would be read for ever."""
    task = plain.separate(folder, test=HONEST)
    for gate, wanted in (("nop", 1), ("oracle", 2)):
        gates(task, gate)
        (job,) = (home() / "checks").glob(f"{folder.name}-*-{gate}")
        before = {path.name for path in job.glob("*__*")}
        gates(task, gate)
        assert {path.name for path in job.glob("*__*")} == before and len(before) == wanted
        assert gates(task, gate, again=True)[gate]["status"] == "passed"
        assert before.isdisjoint(anew := {path.name for path in job.glob("*__*")})
        assert len(anew) == wanted
        kept = job.with_name(f"{job.name}.1")
        assert {path.name for path in kept.glob("*__*")} == before, "as evidence"


def test_what_rests_on_an_oracle_is_forgotten_with_it(folder: Path) -> None:
    task = plain.separate(folder, test=HONEST)
    gates(task, "oracle", "budget")
    assert gates(task, "budget")["budget"]["cached"]
    gates(task, "oracle", again=True)
    assert not gates(task, "budget")["budget"]["cached"]


def test_an_oracle_that_does_not_solve_the_task_is_told_with_its_last_words(folder: Path) -> None:
    dies = "#!/bin/bash\necho 'no rule to make it' >&2\nexit 3\n"
    found = gates(plain.separate(folder, test=HONEST, solve=dies), "oracle")["oracle"]
    assert (found["status"], found["summary"]) == ("failed", "resolved 0 of 2 times")
    ended = "its script ended with status 3, its last line: no rule to make it (agent/oracle.txt)"
    assert len(found["findings"]) == 2
    assert all(finding.endswith(ended) for finding in found["findings"])


def test_limits_that_leave_no_room_are_found(folder: Path) -> None:
    """The oracle needs three seconds, so its agent is to have nine at least."""
    slow = "#!/bin/bash\nsleep 3\necho done > /app/out.txt\n"
    task = plain.separate(folder, test=HONEST, solve=slow)
    config = task / "task.toml"
    config.write_text(config.read_text().replace("timeout_sec = 60", "timeout_sec = 8", 1))
    found = gates(task, "oracle", "budget")
    assert found["oracle"]["status"] == "passed"
    (finding,) = found["budget"]["findings"]
    assert re.fullmatch(
        r"agent\.timeout_sec = 8 s: the oracle took \d+ s, so at least \d+ s", finding
    ), finding


def test_neighbours_with_a_dot_in_their_names_have_exploits_of_their_own(folder: Path) -> None:
    first = plain.separate(folder.with_name(f"{folder.name}.1"), test=HONEST)
    second = plain.separate(folder.with_name(f"{folder.name}.2"), test=HONEST)
    for task in (first, second):
        gates(task, "corpus")
    made = [
        path for path in (home() / "checks").glob(f"{folder.name}.*") if path.suffix == ".exploits"
    ]
    assert len(made) == 2, made
    for path in (home() / "checks").glob(f"{folder.name}.*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_several_tasks_share_one_job_of_nops_and_again_is_a_new_one(folder: Path) -> None:
    own = f"{HONEST}# {folder.name}: else what an earlier run left would be read\n"
    tasks = [plain.separate(folder / f"{folder.name}-{n}", test=own) for n in range(2)]
    place = home() / "checks"
    earlier = set(place.glob("nops-*"))
    check = ("check", *map(str, tasks), "--gate", "nop")
    plain.benchflow(*check, cwd=folder)
    (job,) = set(place.glob("nops-*")) - earlier
    before = {path.name for path in job.glob("*__*")}
    plain.benchflow(*check, "--again", cwd=folder)
    kept = job.with_name(f"{job.name}.1")
    assert {path.name for path in kept.glob("*__*")} == before, "as evidence"
    assert before.isdisjoint(anew := {path.name for path in job.glob("*__*")})
    assert len(before) == len(anew) == len(tasks)
    for path in (job, kept):
        shutil.rmtree(path)


def test_a_verifier_on_the_agents_machine_is_forged(folder: Path) -> None:
    """The check itself is right; who owns the machine writes the verdict after it."""
    found = gates(plain.shared(folder, test=HONEST), "nop", "oracle", "corpus")
    assert (found["nop"]["status"], found["oracle"]["status"]) == ("passed", "passed")
    assert found["corpus"]["status"] == "failed"
    assert any("poisoned-machine" in finding for finding in found["corpus"]["findings"])


@pytest.mark.slow
def test_a_verifier_that_looks_for_a_word_is_given_all_words(folder: Path) -> None:
    loose = HONEST.replace(WORD, "head -c 99999 /app/out.txt | grep -q done")
    found = gates(plain.separate(folder, test=loose), "nop", "oracle", "corpus")
    assert (found["nop"]["status"], found["oracle"]["status"]) == ("passed", "passed")
    assert "known-text resolves the task" in found["corpus"]["findings"]


@pytest.mark.slow
def test_a_verifier_that_reads_to_the_end_is_kept_from_a_verdict(folder: Path) -> None:
    """A trial without a verdict counts against nobody, so whoever failed has gained."""
    endless = HONEST.replace(WORD, '[ "$(cat /app/out.txt)" = done ]')
    task = plain.separate(folder, test=endless)
    config = task / "task.toml"
    config.write_text(
        config.read_text().replace("[verifier]\ntimeout_sec = 60", "[verifier]\ntimeout_sec = 8")
    )
    assert gates(task, "corpus")["corpus"]["findings"] == [
        "hostile-file leaves the verifier without a verdict (VerifierTimeoutError)"
    ]


def test_a_separate_verifier_with_a_network_is_named(folder: Path) -> None:
    task = plain.separate(folder, test=HONEST)
    config = task / "task.toml"
    config.write_text(config.read_text().replace("no-network", "public"))
    assert gates(task, "offline")["offline"]["findings"] == [
        "the verifier's network_mode is 'public'"
    ]


def test_steps_whose_answer_is_given_away_are_found(folder: Path) -> None:
    """The second step is solved by the image already, which also holds how."""
    task = plain.steps(folder)
    answer = "#!/bin/bash\n" + "".join(f"echo measure-{n} --twice >> /app/log\n" for n in range(5))
    plain.write(task / "steps/two/solution/solve.sh", answer + "echo 2 >> /app/out.txt\n")
    plain.write(
        task / "steps/two/tests/test.sh", "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n"
    )
    plain.write(task / "environment/notes/todo.sh", answer)
    recipe = plain.DOCKERFILE + "COPY notes /srv/notes\n"
    plain.write(task / "environment/Dockerfile", recipe)
    found = gates(task, "leaks", "image", "nop")
    assert found["leaks"]["findings"] == [
        "environment/notes/todo.sh:2 repeats steps/two/solution/solve.sh:2: move it out of reach"
    ]
    assert found["image"]["findings"] == [
        "/srv/notes/todo.sh:2 repeats steps/two/solution/solve.sh:2: move it out of reach"
    ]
    assert found["nop"]["status"] == "failed"


def test_a_plain_tasks_own_exploits_are_run(folder: Path) -> None:
    task = plain.separate(folder, test=HONEST)
    plain.write(task / "exploits/copy.sh", "#!/bin/bash\necho done > /app/out.txt\n")
    plain.write(task / "exploits/lazy.sh", "#!/bin/bash\necho nearly > /app/out.txt\n")
    assert gates(task, "exploits")["exploits"]["findings"] == ["copy resolves the task"]


@pytest.mark.parametrize(
    ("greedy", "granted", "told"),
    [
        (
            "yes >/var/tmp/log",
            "storage_mb = 64",
            r"the verifier wrote [\d,]+ MB, of 64 MB that it may",
        ),
        # The shell that would write the reward is the largest process of its sandbox.
        ("x=$(yes | head -c 400000000)", "", "the verifier needed more than its 256 MB"),
    ],
)
def test_a_verifier_that_an_exploit_has_use_it_all_up_is_kept_from_a_verdict(
    folder: Path, greedy: str, granted: str, told: str
) -> None:
    task = plain.separate(
        folder, test=HONEST.replace("if [", f"grep -q much /app/out.txt && {greedy}\nif [", 1)
    )
    config = task / "task.toml"
    section = f"[verifier.environment]\n{granted}"
    config.write_text(config.read_text().replace("[verifier.environment]", section))
    plain.write(task / "exploits/flood.sh", "#!/bin/bash\necho much > /app/out.txt\n")
    (finding,) = gates(task, "exploits")["exploits"]["findings"]
    assert re.fullmatch(f"flood leaves the verifier without a verdict: {told}", finding), finding


def nops(status: int, *tasks: Path) -> list[dict[str, Any]]:
    """The gate `nop` of each of `tasks`, asked for in one call."""
    call = ("check", *map(str, tasks), "--gate", "nop", "--json")
    done = plain.benchflow(*call, cwd=tasks[0].parent, status=status)
    found = json.loads(done.stdout)["tasks"]
    return [found[task.name][0] for task in tasks]


def jobs(found: list[dict[str, Any]]) -> set[Path]:
    return {Path(result["evidence"]).parent for result in found}


def test_doing_nothing_is_tried_for_all_tasks_in_one_job(folder: Path) -> None:
    """Each task is judged by its own trial; one that cannot be judged spoils no other."""
    tasks = [folder.with_name(f"{folder.name}-{letter}") for letter in "abcd"]
    plain.shared(tasks[0])
    plain.shared(tasks[1], test="#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n")
    plain.separate(tasks[2], test="#!/bin/bash\n")
    plain.shared(tasks[3], test="#!/bin/bash\n")
    found = nops(4, *tasks)
    assert [result["status"] for result in found] == ["passed", "failed", "error", "failed"], found
    assert "the task's own tests leave no reward" in found[3]["findings"][0]
    (job,) = jobs(found)
    try:
        again = nops(4, *tasks)
        assert [result["cached"] for result in again] == [True, True, False, True]
        assert job not in jobs(again[2:3])  # what was judged is left alone
    finally:
        shutil.rmtree(job)


def judged_by_nobody(place: Path, name: str) -> Path:
    task = plain.separate(place / name, test="#!/bin/bash\n")
    config = task / "task.toml"
    config.write_text(config.read_text().replace("test/separate", f"test/{name}"))
    return task


def test_equal_tasks_in_another_place_are_tried_again(folder: Path) -> None:
    """The jobs of the same tasks elsewhere are neither read nor gone on with: those may be gone."""
    found = []
    for letter in "ab":
        place = folder.with_name(f"{folder.name}-{letter}")
        tasks = [judged_by_nobody(place, f"{folder.name}-{n}") for n in (1, 2)]
        together, alone = nops(4, *tasks), nops(4, tasks[0])
        assert [result["status"] for result in together + alone] == ["error"] * 3, together + alone
        found += [*jobs(together), *jobs(alone)]
        shutil.rmtree(place)
    assert len(set(found)) == 4
    for job in found:
        shutil.rmtree(job)
