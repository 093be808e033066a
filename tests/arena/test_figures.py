"""Votes are opened with the key: strengths, who is left out and why, what swayed them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from benchflow.arena.figures import figures, inattentive
from benchflow.arena.make import Made, make
from benchflow.arena.pack import write
from benchflow.arena.votes import Votes
from benchflow.cli.arena import command
from benchflow.people.answers import BadAnswers
from benchflow.reference.json_shapes import DOCUMENTS
from benchflow.tasks import root

from . import voter
from .made_arena import trial

TASKS = ("repair/dead-server", "spin/live-iso", "embedded/ab-update", "container/host-os")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Four tasks; `long` prints much, `good` and `bad` little."""
    top = tmp_path_factory.mktemp("trials")
    records = []
    for at, task in enumerate(TASKS):
        for agent in ("good", "bad", "long"):
            lines = [(n / 10, f"line {n}") for n in range(200 if agent == "long" else 10 + at)]
            where = top / f"{agent}-{at}"
            records.append(trial(where, agent=agent, model="m", task=task, lines=lines, passed=3))
    return make(records, 12, seed=7)


def body(made: Made, taste: voter.Taste, **more: Any) -> Votes:
    rater, told = voter.votes(made.arena, made.key, taste, **more)
    return made.arena.votes(rater.envelope(told)).body


def noisy(made: Made, draw: random.Random, likes_left: float = 0.0) -> voter.Taste:
    """Good before long before bad, three times of four."""
    worth = {"good m": 2, "long m": 1, "bad m": 0}

    def taste(question: str, left: str, right: str) -> str:
        if draw.random() < likes_left:
            return "left"
        better = worth[made.key.sides[left].who] > worth[made.key.sides[right].who]
        return "left" if better == (draw.random() < 0.75) else "right"

    return taste


def test_who_is_preferred_comes_first(made: Made) -> None:
    draw = random.Random(4)
    votes = [body(made, noisy(made, draw), turned=n % 2 == 1) for n in range(16)]
    found = figures(votes, {made.arena.digest: made.key})
    assert found.voters == 16 and not found.left_out and found.repeated == 16 * 2
    ship = next(one for one in found.questions if one.question == "ship")
    assert ship.n_votes == 16 * 12 and ship.n_tasks == 4 and ship.is_thin
    assert ship.strengths and ship.strengths.tiers()[0][0] == "good m"
    order = sorted(zip(ship.strengths.strength, ship.strengths.names, strict=True))
    assert [name for _, name in order] == ["bad m", "long m", "good m"]
    assert {lean.name for lean in ship.leans} == {"stood left", "longer console"}


def test_sides_that_are_preferred_for_standing_left_are_shown(made: Made) -> None:
    draw = random.Random(4)
    votes = [body(made, noisy(made, draw, 0.5), turned=n % 2 == 1) for n in range(30)]
    found = figures(votes, {made.arena.digest: made.key})
    ship = found.questions[0]
    lean = next(one for one in ship.leans if one.name == "stood left")
    assert lean.more / lean.of > 0.65
    assert ship.adjusted
    sway = next(one for one in ship.adjusted.sways if one.name == "stood left")
    assert sway.low > 0


def test_too_few_votes_give_counts_and_a_reason(made: Made) -> None:
    one = body(made, voter.prefers(made.key, "good"))
    found = figures([one], {made.arena.digest: made.key})
    assert found.questions[0].strengths is None
    assert "two voters" in found.questions[0].refused
    good = next(one for one in found.questions[0].standings if one.name == "good m")
    assert good.won == 8 and good.lost == 0


def test_who_does_not_look_is_left_out(made: Made) -> None:
    key = made.key
    quick = body(made, voter.prefers(key, "good"), seconds=2)
    assert "less than 5 seconds" in inattentive(quick, key)

    rater, told = voter.votes(made.arena, key, voter.prefers(key, "good"))
    for vote in told["votes"]:
        vote["choices"] = dict.fromkeys(vote["choices"], "left")
    blank = next(v for v in told["votes"] if key.pairs[v["pair"]].kind == "blank")
    if key.sides[blank["left"]].uid:
        blank["left"] = key.other(blank["pair"], blank["left"])
    always_left = made.arena.votes(rater.envelope(told)).body
    assert inattentive(always_left, key) == "preferred a machine that printed nothing"
    blank["choices"] = dict.fromkeys(blank["choices"], "neither")
    never = made.arena.votes(rater.envelope(told)).body
    assert "saw no difference" in inattentive(never, key)
    found = figures([quick, always_left], {made.arena.digest: key})
    assert found.voters == 0 and sum(found.left_out.values()) == 2 and found.questions == ()


def test_votes_without_a_look_are_not_counted(made: Made) -> None:
    """One pair unseen: that vote is left out. Most pairs unseen: the voter is."""
    key, arenas = made.key, {made.arena.digest: made.key}
    voters = []
    for unseen in (1, 8):
        rater, told = voter.votes(made.arena, key, voter.prefers(key, "good"))
        real = [v for v in told["votes"] if key.pairs[v["pair"]].kind == "real"]
        for vote in told["votes"]:
            vote["looked"] = "end"
        for vote in real[:unseen]:
            vote["looked"] = "none"
            vote["remark"] = "unseen"
        voters.append(made.arena.votes(rater.envelope(told)).body)
    found = figures(voters, arenas)
    assert (found.voters, found.unseen, found.remarks) == (1, 1, ())
    assert found.questions[0].n_votes == 11
    assert found.left_out == {"voted on most pairs without a look at either side": 1}


def proved_better(found: Made, name: str) -> Made:
    """The same, with all milestones passed by `name` and one by the others."""
    sides = {
        id: msgspec.structs.replace(side, passed=3 if name in side.who else 1) if side.uid else side
        for id, side in found.key.sides.items()
    }
    return Made(found.arena, msgspec.structs.replace(found.key, sides=sides))


def test_votes_are_set_beside_verdicts(made: Made) -> None:
    """Whose taste is the proof agrees with it, whose taste is the other way parts from it."""
    arena = made.arena
    for better, agrees in (("good", True), ("bad", False)):
        judged = proved_better(made, better)
        draw = random.Random(9)
        votes = [body(judged, noisy(judged, draw), turned=n % 2 == 1) for n in range(16)]
        ship = figures(votes, {arena.digest: judged.key}).questions[0]
        proof = ship.proof
        assert proof.n + proof.n_even + proof.n_neither == ship.n_votes + ship.n_same
        assert proof.n == 16 * 8 and proof.n_even == 16 * 4, "bad beside long is even"
        assert proof.share is not None and proof.low is not None and proof.high is not None
        assert abs(proof.share - proof.n_more / proof.n) < 1e-6, "the plain share of votes"
        assert (proof.low > 0.5) if agrees else (proof.high < 0.5)
        assert len(proof.pairs) == 12 and sum(pair.is_even for pair in proof.pairs) == 4
        parting = [pair for pair in proof.pairs if pair.parts]
        assert all(better in pair.more.who for pair in proof.pairs if not pair.is_even)
        assert len(parting) == (0 if agrees else 8)


def test_one_opinion_gives_counts_and_no_interval(made: Made) -> None:
    judged = proved_better(made, "good")
    votes = [body(judged, voter.prefers(judged.key, "good")) for _ in range(3)]
    proof = figures(votes, {made.arena.digest: judged.key}).questions[0].proof
    assert (proof.n_more, proof.n, proof.share) == (24, 24, None)
    assert "all votes went to one" in proof.refused


def test_attempts_of_one_agent_are_ranked_as_trials(tmp_path: Path) -> None:
    two = make([trial(tmp_path / "first"), trial(tmp_path / "second")], seed=3)
    votes = [body(two, voter.prefers(two.key, "first")) for _ in range(3)]
    found = figures(votes, {two.arena.digest: two.key})
    assert found.by == "trial"
    assert [one.name for one in found.questions[0].standings] == [
        "secret-job/first", "secret-job/second"
    ]  # fmt: skip


def forged(told: dict[str, Any], made: Made) -> list[tuple[str, dict[str, Any]]]:
    first, *others = told["votes"]
    return [
        ("each pair is voted on once", told | {"votes": others}),
        ("each pair is voted on once", told | {"votes": [first, first, *others[1:]]}),
        ("each pair is voted on once", told | {"votes": [first | {"pair": "0" * 16}, *others]}),
        ("side is named", told | {"votes": [first | {"left": "0" * 16}, *others]}),
        ("each question", told | {"votes": [first | {"choices": {"made": "left"}}, *others]}),
        ("wrong form", told | {"votes": [first | {"choices": {"ship": "both"}}, *others]}),
        ("wrong form", told | {"votes": [first | {"remark": "x" * 2001}, *others]}),
        ("wrong form", told | {"votes": [first | {"seconds": -1}, *others]}),
        ("wrong form", told | {"votes": told["votes"] * 40}),
        ("wrong form", told | {"admin": True}),
        ("wrong form", told | {"consent": False}),
        ("another arena", told | {"pack": "0" * 64}),
    ]


@pytest.mark.parametrize("number", range(12))
def test_hostile_votes_are_refused(made: Made, number: int) -> None:
    rater, told = voter.votes(made.arena, made.key, voter.prefers(made.key, "good"))
    why, wrong = forged(told, made)[number]
    with pytest.raises(BadAnswers, match=why):
        made.arena.votes(rater.envelope(wrong))


def test_the_command_makes_an_arena_of_jobs(tmp_path: Path) -> None:
    jobs = [str(path) for path in sorted((root().parent / "results").glob("2026-11-*"))]
    if not jobs:
        pytest.skip("the published trials are not here")
    out = ["-o", str(tmp_path / "arena"), "--any-version", "--pairs", "1", "--json"]
    done = CliRunner().invoke(command, [*jobs, *out], catch_exceptions=False)
    found = json.loads(done.stdout)
    assert set(found) == {"schema", *DOCUMENTS["arena make"]}
    assert (found["pairs"], found["real_pairs"]) == (2, 1)
    links = ["links", str(tmp_path / "arena"), "--for", "a", "--json"]
    made = json.loads(CliRunner().invoke(command, links, catch_exceptions=False).stdout)
    assert set(made) == {"schema", *DOCUMENTS["arena links"]}
    assert made["links"][0]["link"].startswith("arena.html#link=")


def test_the_command_reads_what_was_sent(made: Made, tmp_path: Path) -> None:
    """Signed, forged, replayed, robots', rehearsals: each where it belongs."""
    folder = tmp_path / "arena"
    write(made.arena, made.key, folder)
    draw = random.Random(1)
    for _ in range(6):
        rater, told = voter.votes(made.arena, made.key, noisy(made, draw))
        for one in told["votes"]:
            told["name"] = "Vera\x1b[2J Voter"
            one["remark"] = f"\x1b[31mless {one['pair']}\n"
        path = voter.write(folder, rater, told)
    (folder / "copy.json").write_bytes(path.read_bytes())
    (folder / "huge.json").write_bytes(b"x" * 10_000_000)
    (folder / "script.json").write_text("<script>alert(1)</script>")
    rater, told = voter.votes(made.arena, made.key, noisy(made, draw))
    voter.write(folder, rater, told, signature=rater.signature("other"))
    rater, told = voter.votes(made.arena, made.key, noisy(made, draw), rehearsal=True)
    voter.write(folder, rater, told)
    for _ in range(3):
        robot, told = voter.votes(made.arena, made.key, noisy(made, draw), seconds=1)
        voter.write(folder, robot, told)

    def read(*more: str) -> Any:
        given = ["read", str(folder), *more]
        return CliRunner().invoke(command, given, catch_exceptions=False, standalone_mode=False)

    done = read()
    assert done.return_value == 1
    assert done.output.startswith("6 voters counted; 1 rehearsal never counted; 6 of 6")
    assert "huge.json: answers of more than" in done.output
    assert "the signature does not fit" in done.output and "too soon" in done.output
    assert "\x1b" not in done.output and "good m" in done.output
    assert done.output.rstrip().endswith("with thanks to Vera Voter")
    assert "what decided it:" in done.output and ": “less " in done.output
    assert "beside the verdicts: no pair of which more was proved" in done.output

    found = json.loads(read("--json").output)
    assert set(found) == {"schema", *DOCUMENTS["arena read"]}
    assert len(found["remarks"]) == 6 * 12, "of pairs that check no attention"
    assert found["voters"] == 6 and found["questions"][0]["question"] == "ship"
    assert len(found["left_out"]) == 6
