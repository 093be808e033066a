"""Checkpoints of the deliverable, and which step of the agent earned which milestone."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests import warm_command
from tests.run.ours import CHECKS, words
from tests.run.plain import BENCHFLOW, benchflow, hear, kill_all, run_json, separate

from benchflow.reference.json_shapes import DOCUMENTS
from benchflow.results.readers.atif_document import Document, RawStep
from benchflow.run.checkpoints import fingerprint, store
from benchflow.run.checkpoints.gains import Point, Steps, first_held, gained
from benchflow.run.checkpoints.store import Checkpoint, Delivered, Store
from benchflow.run.checkpoints.taking import Taker
from benchflow.run.resume import session_resume
from benchflow.run.sweep.sweepfile import read_file
from benchflow.run.sweep.sweeps import missing, survey

WORDS = "/app/out/words.txt"
#: Waits until so many milliseconds after the agent's start, so that nothing is written close to a
#: whole second, when a checkpoint is taken.
AT = (
    "left=$(( $(cat /t0) + $1 * 1000000 - $(date +%s%N) ))\n"
    "[ $left -lt 0 ] || sleep $(printf %d.%09d $((left / 1000000000)) $((left % 1000000000)))\n"
)
#: Two words, one of which is lost again; what stands there at the end was never seen before.
SCRIPT = [
    f"date +%s%N > /t0; cat > /at <<'END'\n{AT}END\nmkdir -p /app/out",
    "bash /at 1400",
    "echo one > /app/out/words.txt",
    "bash /at 4400",
    "echo one two > /app/out/words.txt",
    "bash /at 7400",
    "echo one > /app/out/words.txt",
    "bash /at 10400",
    "echo one two three > /app/out/words.txt",
]
#: The verifier itself breaks where the deliverable says so.
BREAKS = "import os\n" + CHECKS.replace(
    "def test_one(deliverable):\n",
    "def test_one(deliverable):\n"
    "    if deliverable().read_text() == 'one two\\n':\n        os._exit(9)\n",
)


def start(place: Path, *more: str, script: Sequence[str] = SCRIPT) -> Path:
    """Runs one trial with a checkpoint each second; its folder."""
    lines = [json.dumps({"run": command}) for command in script]
    (place / "script.jsonl").write_text("\n".join(lines))
    job = run_json(
        "run", "test/words", "-a", "scripted:script.jsonl", "--job-name", "job",
        "--checkpoints", str(1 / 60), *more, cwd=place,
    )  # fmt: skip
    (trial,) = job["trials"]
    return Path(trial["path"])


def credit(place: Path, what: str = "job", status: int = 0) -> tuple[dict[str, Any], str]:
    """What `benchflow credit` says of the only trial, and its standard error."""
    done = benchflow("credit", what, "--json", cwd=place, status=status)
    told = json.loads(done.stdout)
    assert told.keys() == {"schema", *DOCUMENTS["credit"]}
    (trial,) = told["trials"]
    return trial, done.stderr


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("credit")
    words(place)
    start(place)
    return place


@pytest.fixture
def place(ran: Path, tmp_path: Path) -> Path:
    """A copy of the job, which nobody has credited."""
    shutil.copytree(ran / "jobs", tmp_path / "jobs", symlinks=True)
    return tmp_path


@pytest.mark.needs("sandbox")
class TestCredit:
    def test_each_milestone_is_credited_to_the_step_after_which_it_held(self, place: Path) -> None:
        trial, _ = credit(place)
        states = [(each["state"], each["reward"]) for each in trial["checkpoints"]]
        # Nothing, one, one two, one: the third is no state of its own that was seen before.
        assert states == [
            ("nothing delivered", 0.0), ("verified", 0.25), ("verified", 0.75), ("verified", 0.25),
        ]  # fmt: skip
        found = {m["id"]: (m["first_held"], m["lost_again"]) for m in trial["milestones"]}
        steps = {name: first["step"] for name, (first, _) in found.items()}
        # The instruction is step 1; a step of this agent has the time stamp of its end.
        assert steps == {"one": 4, "two": 6, "three": 10}
        assert {name: lost for name, (_, lost) in found.items()} == {
            "one": False, "two": True, "three": False,
        }  # fmt: skip
        assert found["three"][0]["checkpoint"] is None
        assert trial["credited"] == [
            {"step": 4, "reward_gained": 0.25}, {"step": 6, "reward_gained": 0.5},
            {"step": 8, "reward_gained": -0.5}, {"step": 10, "reward_gained": 0.75},
        ]  # fmt: skip
        assert trial["is_complete"] and trial["final"]["reward"] == 1.0
        assert json.loads((Path(trial["path"]) / "credit.json").read_text()) == {
            key: value for key, value in trial.items() if key != "path"
        }

    def test_a_state_is_stored_once_and_verified_once(self, place: Path) -> None:
        (folder,) = (place / "jobs" / "job").glob("test-words__*")
        kept = store.read(folder)
        assert [each.number for each in kept] == [1, 2, 3, 4]
        assert all(each.last_seconds > each.seconds for each in kept[1:])  # seen again
        assert kept[1].digest == kept[3].digest != kept[2].digest
        trial, said = credit(place)
        assert "2 of 4 states are to be verified" in said
        # The state that came back has the verdict, and the evidence, of its first time.
        assert [each["evidence"] for each in trial["checkpoints"]] == [
            "", "credit/002", "credit/003", "credit/002",
        ]  # fmt: skip

    def test_what_is_verified_is_not_verified_again(self, place: Path) -> None:
        first, _ = credit(place)
        folder = Path(first["path"])
        before = {path: path.stat().st_mtime_ns for path in folder.glob("credit/*/verifier/*")}
        assert before
        again, said = credit(place, f"job/{folder.name}")
        assert "0 of 4 states are to be verified" in said
        assert again == first
        assert before == {p: p.stat().st_mtime_ns for p in folder.glob("credit/*/verifier/*")}

    def test_a_call_that_was_cut_off_is_continued(self, place: Path) -> None:
        whole, _ = credit(place)
        folder = Path(whole["path"])
        # As a kill leaves it behind: one state is written down, of the next there is half.
        record = json.loads((folder / "credit.json").read_text())
        lines = [each for each in record["checkpoints"] if each["reward"] == 0.75]
        for line in lines:
            line.update(state="not verified", reward=None)
        (folder / "credit.json").write_text(json.dumps(record))
        (folder / "credit" / "003" / "verifier" / "reward.json").unlink()
        trial, said = credit(place)
        assert "1 of 4 states are to be verified" in said
        assert trial == whole

    def test_text_says_it_as_well(self, place: Path) -> None:
        said = benchflow("credit", "job", cwd=place).stdout
        assert "lost again" in said
        assert "4: +0.250, 6: +0.500, 8: -0.500, 10: +0.750" in said

    def test_the_export_carries_it(self, place: Path) -> None:
        trial, _ = credit(place)
        benchflow("export", "jobs", "-o", "table", "--conversations", cwd=place)
        row = json.loads((place / "table" / "conversations.jsonl").read_text())
        assert row["credited"] == trial["credited"]
        assert [m["first_step"] for m in row["milestones"]] == [4, 6, 10]
        assert sum(each["reward_gained"] for each in row["credited"]) == row["reward"]
        wrote = [m for m in row["messages"] if m["step"] == 6 and m["role"] == "assistant"]
        assert "echo one two >" in wrote[0]["tool_calls"][0]["function"]["arguments"]


@pytest.mark.needs("sandbox")
def test_a_task_that_changed_since_is_refused(tmp_path: Path) -> None:
    task = words(tmp_path)
    trial = start(tmp_path, script=["sleep 3"])
    (task / "instruction.md").write_text("[R1] [R2] [R3] in another way\n")
    for what in ("job", f"job/{trial.name}"):
        done = benchflow("credit", what, cwd=tmp_path, status=2)
        assert "test/words has changed since this trial" in done.stderr
    assert not (trial / "credit.json").exists()


@pytest.mark.needs("sandbox")
def test_a_verifier_that_breaks_counts_for_nothing_and_is_tried_again(tmp_path: Path) -> None:
    words(tmp_path, checks=BREAKS)
    start(tmp_path)
    for _ in range(2):
        trial, said = credit(tmp_path, status=4)
        states = [each["state"] for each in trial["checkpoints"]]
        assert states == ["nothing delivered", "verified", "error", "verified"]
        assert "status 9" in trial["checkpoints"][2]["error"]
        assert not trial["is_complete"]
        found = {m["id"]: m["first_held"] for m in trial["milestones"]}
        # Known of the second word is only that it was there at the end.
        assert found["two"]["checkpoint"] is None
        assert trial["credited"] == [
            {"step": 4, "reward_gained": 0.25}, {"step": 10, "reward_gained": 0.75},
        ]  # fmt: skip
    assert "1 of 4 states are to be verified" in said


#: The second answer is slow, so that the first command is done and checkpoints are taken.
POLICY = """schema = 1
[[turns]]
run = "mkdir -p out; echo one > out/words.txt"
[[turns]]
run = "echo one two three > out/words.txt"
fault = { kind = "slow", seconds = 6 }
[[turns]]
say = "Done."
fault = { kind = "slow", seconds = 5 }
"""


@pytest.mark.needs("sandbox")
def test_checkpoints_of_a_trial_that_was_cut_off_stay_when_it_continues(tmp_path: Path) -> None:
    words(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = ["run", "test/words", "-a", "asking:Remembering", "-m", "scripted/policy.toml"]
    job = tmp_path / "jobs" / "job"
    with subprocess.Popen(
        [BENCHFLOW, *command, "--job-name", "job", "--checkpoints", str(1 / 60)],
        cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=hear,
    ) as process:  # fmt: skip
        end = time.monotonic() + 120
        while not (seen := [*job.glob("*/checkpoints/*/1")]):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        trial = seen[0].parents[2]
        time.sleep(2.2)  # longer than the clock needs that says how long the agent has worked
        kill_all(process, job)
    before = store.read(trial)
    done = warm_command.run(["resume", "job", "--json"], cwd=tmp_path, env=env)
    assert done.returncode == 0 and "session continues" in done.stderr, done.stderr
    after = store.read(trial)
    firsts = [(each.number, each.digest, each.seconds) for each in after]
    assert firsts[: len(before)] == [(each.number, each.digest, each.seconds) for each in before]
    # They are taken on, by the agent's clock, which stood still meanwhile.
    assert after[-1].last_seconds > before[-1].last_seconds
    found, _ = credit(tmp_path)
    assert found["final"]["verdict"] == "resolved"
    assert {m["id"]: m["lost_again"] for m in found["milestones"]}["one"] is False


@pytest.mark.needs("sandbox")
def test_a_job_without_checkpoints_is_told_how_to_have_them(tmp_path: Path) -> None:
    words(tmp_path)
    run_json("run", "test/words", "-a", "nop", "--job-name", "job", cwd=tmp_path)
    done = benchflow("credit", "job", cwd=tmp_path, status=2)
    assert "1 without checkpoints" in done.stderr and "--checkpoints 10" in done.stderr


@pytest.mark.parametrize(
    ("task", "more", "why"),
    [
        ("plain", (), "is a plain Harbor task"),
        (
            "test/words",
            ("--sandbox", "docker", "--stall-minutes", "0"),
            "in the sandboxes namespace and vm",
        ),
        ("test/words", (), "finite number"),
    ],
)
def test_checkpoints_that_could_not_be_credited_are_refused(
    tmp_path: Path, task: str, more: tuple[str, ...], why: str
) -> None:
    words(tmp_path)
    separate(tmp_path / "plain")
    minutes = "nan" if "finite" in why else "1"
    done = benchflow("run", task, "--checkpoints", minutes, *more, cwd=tmp_path, status=2)
    assert why in done.stderr
    assert not (tmp_path / "jobs").exists()


def test_a_sweep_hands_its_key_on(tmp_path: Path) -> None:
    words(tmp_path)
    (tmp_path / "s.toml").write_text(
        f'tasks = ["{tmp_path}/test/words"]\ncheckpoints = 10\n[[entry]]\nagent = "nop"\n'
    )
    (plan,) = missing(survey(read_file(tmp_path / "s.toml"), tmp_path / "jobs"))
    assert plan.config.environment.kwargs["checkpoint_minutes"] == 10


# What the taker copies out of a real sandbox, whatever is in the deliverable's place.


async def one_more(trial: Path) -> None:
    """Waits until another checkpoint was taken."""
    before, end = store.read(trial), time.monotonic() + 60
    while store.read(trial) == before:
        assert time.monotonic() < end, "none was taken"
        await asyncio.sleep(0.05)


@pytest.fixture
def take(tmp_path: Path) -> Any:
    """Takes checkpoints of a sandbox after each of some commands; gives what was kept."""
    from benchflow.sandbox import Sandbox, debian

    with Sandbox.start(debian("bookworm")) as box:

        def taken(*commands: str) -> tuple[Checkpoint, ...]:
            async def work() -> None:
                for command in commands:
                    assert box.exec(command).status == 0
                    logger = logging.getLogger("trial")
                    taker = Taker(tmp_path, ["/out", "/two"], 0.2, box, logger)
                    with taker.taking(0.0):
                        await one_more(tmp_path)
                    await taker.finish()

            asyncio.run(work())
            return store.read(tmp_path)

        yield taken


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize(
    ("made", "kind"),
    [
        ("true", "absent"),
        ("ln -s /etc/shadow /out", "absent"),
        ("mkfifo /out", "absent"),
        ("ln -s /etc /link; ln -s /link/shadow /out", "absent"),
        ("mkdir /out; ln -s /etc/shadow /out/x; ln -s ../../../.. /out/up", "directory"),
        ("mkdir /out; cd /out; for n in $(seq 300); do mkdir d; cd d; done", "directory"),
        ("truncate -s 4T /out", "file"),
    ],
    ids=["nothing", "link", "pipe", "chain", "links below", "deep", "sparse"],
)
def test_whatever_is_in_its_place_is_taken_safely(
    take: Any, tmp_path: Path, made: str, kind: str
) -> None:
    (found,) = take(made)
    first, second = found.deliverables
    assert (first.kind, second.kind) == (kind, "absent")
    assert found.missing == "" and found.bytes < 4 << 20
    copies = [path for path in (tmp_path / "checkpoints").rglob("*") if not path.is_symlink()]
    small = [path for path in copies if path.is_file() and path.stat().st_size < 1 << 20]
    assert not any("root:" in path.read_text("latin1") for path in small)
    if kind == "absent":
        assert found.is_empty and found.files(tmp_path) == {}
    else:
        assert found.files(tmp_path).keys() == {"/out"}


@pytest.mark.needs("sandbox")
def test_what_is_too_large_is_missing_and_what_was_there_before_stays(
    take: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOST_BYTES", 4 << 20)
    found = take("echo a > /out", "head -c 8M /dev/urandom > /out", "rm /out; echo b > /two")
    assert [each.missing != "" for each in found] == [False, True, False]
    assert [[d.kind for d in each.deliverables] for each in found] == [
        ["file", "absent"], [], ["absent", "file"],
    ]  # fmt: skip
    assert "more than may be copied" in found[1].missing
    stored = sum(p.stat().st_blocks * 512 for p in (tmp_path / "checkpoints").rglob("*"))
    assert stored < 4 << 20


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_sandbox_that_is_gone_is_a_note_and_no_harm(tmp_path: Path, end: str) -> None:
    from benchflow.sandbox import Sandbox, debian

    box = Sandbox.start(debian("bookworm"))
    getattr(box, end)()

    async def work() -> None:
        taker = Taker(tmp_path, ["/out"], 0.1, box, logging.getLogger("trial"))
        with taker.taking(0.0):
            await one_more(tmp_path)
        await taker.finish()

    asyncio.run(work())
    box.stop()
    (found,) = store.read(tmp_path)
    assert "the sandbox ended meanwhile" in found.missing and found.digest == ""


# How much is kept.

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def state(number: int, size: int = 10) -> Checkpoint:
    at = _NOON + timedelta(minutes=number)
    delivered = Delivered("/out", "file", "1", size, size)
    return Checkpoint(0, number * 60.0, at, number * 60.0, at, f"{number:064}", (delivered,))


def keep(kept: Store, new: Checkpoint) -> None:
    with kept.draft() as draft:
        (draft / "1").write_text(new.digest)
        kept.add(new, draft)


def test_when_there_are_too_many_every_second_is_dropped(tmp_path: Path) -> None:
    kept = Store(tmp_path, 60)
    for number in range(1, store.MOST_STATES + 2):
        keep(kept, state(number))
    found = store.read(tmp_path)
    assert found == tuple(kept.known)
    minutes = [each.seconds / 60 for each in found]
    assert minutes == [*range(2, store.MOST_STATES + 1, 2), store.MOST_STATES + 1]
    assert kept.every == 120
    assert len([*(tmp_path / "checkpoints").glob("[0-9]*")]) == len(found)
    told = store.index(tmp_path)
    assert (told["dropped"], told["every_seconds"], told["asked_seconds"]) == (12, 120, 60)
    # A trial that continues knows of it.
    assert Store(tmp_path, 60).every == 120


def test_a_state_that_is_large_has_room_made_for_it(tmp_path: Path) -> None:
    kept = Store(tmp_path, 60)
    for number in range(1, 5):
        keep(kept, state(number, store.MOST_BYTES // 4))
    assert kept.room() == store.MOST_BYTES // 2
    assert [each.seconds for each in store.read(tmp_path)] == [120, 240]


def test_a_draft_and_a_torn_record_are_no_checkpoints(tmp_path: Path) -> None:
    kept = Store(tmp_path, 60)
    keep(kept, state(1))
    keep(kept, state(2))
    (tmp_path / "checkpoints" / ".draft").mkdir()
    (tmp_path / "checkpoints" / "001" / "checkpoint.json").write_text('{"schema": 1, "sec')
    assert [each.number for each in store.read(tmp_path)] == [2]
    Store(tmp_path, 60)
    assert not (tmp_path / "checkpoints" / ".draft").exists()


def test_they_are_kept_for_a_trial_that_continues(tmp_path: Path) -> None:
    trial = tmp_path / "jobs" / "job" / "trial"
    trial.mkdir(parents=True)
    session_resume.marker(trial).parent.mkdir(parents=True)
    keep(Store(trial, 60), state(1))
    before = store.read(trial)
    session_resume.keep_checkpoints(trial)
    shutil.rmtree(trial)
    trial.mkdir()
    session_resume.bring_back_checkpoints(trial)
    assert store.read(trial) == before
    session_resume.keep_checkpoints(trial)
    session_resume.drop_marker(trial)
    session_resume.bring_back_checkpoints(trial)
    assert store.read(trial) == ()


# Digests.


def digest(path: Path) -> str:
    found = fingerprint.of_text("")
    fingerprint.add_tree(found, path)
    return found.hexdigest()


def test_a_digest_is_of_contents_names_and_modes(tmp_path: Path) -> None:
    seen = set()
    top = tmp_path / "top"
    for command in (
        "mkdir -p a/b; echo 1 > a/b/c",
        "mkdir -p a/b; echo 2 > a/b/c",
        "mkdir -p a/b; echo 1 > a/c",
        "mkdir -p a/b; echo 1 > a/b/c; chmod +x a/b/c",
        "mkdir -p a/b; ln -s 1 a/b/c",
        "mkdir -p a/b; truncate -s 2 a/b/c",
        "mkdir -p a/b; truncate -s 200000 a/b/c; printf x | dd of=a/b/c seek=100000 bs=1 "
        "conv=notrunc 2>/dev/null",
        "mkdir -p a/b; truncate -s 200000 a/b/c; printf x | dd of=a/b/c seek=190000 bs=1 "
        "conv=notrunc 2>/dev/null",
    ):
        shutil.rmtree(top, ignore_errors=True)
        top.mkdir()
        subprocess.run(command, shell=True, cwd=top, check=True)
        assert digest(top) == digest(top)
        seen.add(digest(top))
    assert len(seen) == 8


def test_how_zeros_are_stored_makes_no_difference_and_holes_cost_nothing(tmp_path: Path) -> None:
    made = tmp_path / "a", tmp_path / "b"
    found = []
    for folder, zeros in zip(made, (b"\0" * (1 << 20), b""), strict=True):
        folder.mkdir()
        with (folder / "f").open("wb") as file:
            file.write(zeros)
            file.seek(1 << 20)
            file.write(b"x")
            file.truncate(1 << 40)
        before = time.process_time()
        found.append(digest(folder / "f"))
        assert time.process_time() - before < 5
    assert (made[0] / "f").stat().st_blocks > (made[1] / "f").stat().st_blocks
    assert found[0] == found[1]


@pytest.mark.needs("time")
def test_a_tree_may_be_deeper_than_the_stack(tmp_path: Path) -> None:
    top = tmp_path / "top"
    subprocess.run(["mkdir", "-p", f"{top}/{'d/' * 1500}"], check=True)
    assert digest(top) == digest(top)
    subprocess.run(["rm", "-r", top], check=True)


# From verdicts to steps.


def point(checkpoint: int | None, step: int | None, reward: float, **milestones: str) -> Point:
    return Point(checkpoint, 0.0, step, reward, milestones)


def test_what_was_lost_and_came_back_is_credited_where_it_first_held() -> None:
    points = [
        point(1, 2, 0.0, a="failed"), point(2, 3, 0.5, a="passed"), point(3, 5, 0.0, a="failed"),
        point(None, 9, 0.5, a="passed"),
    ]  # fmt: skip
    found = first_held("a", points)
    assert (found["first_held"]["checkpoint"], found["lost_again"]) == (2, True)
    assert first_held("b", points) == {"first_held": None, "lost_again": None}
    gains = gained(points)
    assert gains == [
        {"step": 3, "reward_gained": 0.5}, {"step": 5, "reward_gained": -0.5},
        {"step": 9, "reward_gained": 0.5},
    ]  # fmt: skip


def test_several_checkpoints_in_one_step_are_one_gain_and_an_unknown_step_is_not_guessed() -> None:
    points = [point(1, 2, 0.25), point(2, 2, 0.75), point(None, 2, 0.5)]
    assert gained(points) == [{"step": 2, "reward_gained": 0.5}]
    assert gained([replace(points[0], step=None)]) is None
    assert gained([point(1, None, 0.0)]) == []


def test_the_step_at_a_time_is_the_last_of_the_agents_that_was_stamped() -> None:
    def stamped(source: str, minute: int | None, **more: Any) -> RawStep:
        at = None if minute is None else (_NOON + timedelta(minutes=minute)).isoformat()
        return RawStep(timestamp=at, source=source, **more)

    first = Document(steps=[stamped("user", 0), stamped("agent", 1), None, stamped("agent", None)])
    second = Document(steps=[stamped("agent", 1, is_copied_context=True), stamped("agent", 7)])
    steps = Steps([first, second])
    at = {minute: steps.at(_NOON + timedelta(minutes=minute)) for minute in (0, 1, 6, 7, 99)}
    # A continuation's steps are counted on: its second is the sixth.
    assert at == {0: 2, 1: 2, 6: 2, 7: 6, 99: 6}
    assert steps.last == 6
    assert Steps([]).at(_NOON) is None and Steps([]).last is None
    naive = Document(steps=[RawStep(timestamp="2026-01-01T12:00:00", source="agent")])
    assert Steps([naive]).at(_NOON) is None
