"""Nothing on the page says whose a side is: names, ladders, files' names, order, pictures."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchflow.arena import names, picture
from benchflow.arena.make import Made, make
from benchflow.arena.pack import Arena, Key, key_path, load, load_key, write
from benchflow.arena.side import look
from benchflow.errors import UsageError
from benchflow.results.collect import collect
from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.tasks import root
from benchflow.tasks.catalogue import in_catalogue
from benchflow.tasks.words import drawn_words, words_of

from .made_arena import png, trial

#: Wherever a trial may carry its maker's name.
TELLS = (
    "built by Claude-Code 2 with claude_opus_9 (Anthropic); GPT-5.1 mini was no help, qwen2.5 too"
)
SECRETS = ("claude", "anthropic", "opus", "openai", "gpt-5", "gpt5", "qwen", "codex", "secret-job",
           "kernel: passed", "1790000000", "m0", "not reached", "resolved", "failed")  # fmt: skip


@pytest.fixture
def trials(tmp_path: Path) -> list[Record]:
    """Two tasks, two agents, one of which tells its name wherever it can."""
    found = []
    for task in ("repair/dead-server", "spin/live-iso"):
        top = tmp_path / task.replace("/", "-")
        found.append(trial(
            top / "claude-one", task=task, readme=f"# Mine\n{TELLS}\n", screen=png(Author=TELLS),
            lines=[(1.0, TELLS), (2.0, "login:")], machines=("server", "b"),
        ))  # fmt: skip
        found.append(trial(
            top / "codex-one", task=task, agent="codex",
            model="openai/gpt-5.1-mini", readme="# Ours\n", screen=png(5), passed=1,
            verdict=Verdict.FAILED,
        ))  # fmt: skip
    return found


def test_no_name_and_no_ladder_is_in_the_page(trials: list[Record], tmp_path: Path) -> None:
    made = make(trials, seed=1)
    write(made.arena, made.key, tmp_path / "out")
    for path in (tmp_path / "out").iterdir():
        shown = path.read_text()
        if path.suffix == ".html":
            # What stands before it is the same for all: the page's own words, instructions.
            data = shown.partition('id="about"')[2].partition("</script>")[0]
        else:
            told = json.loads(shown)
            same = ("instruction", "description")
            pairs = [{k: v for k, v in pair.items() if k not in same} for pair in told["pairs"]]
            data = json.dumps(told | {"pairs": pairs})
        for secret in SECRETS:
            assert secret not in data.lower(), f"{path.name}: {secret}"
        assert not {record.uid for record in trials} & set(re.findall(r"[0-9a-f]{12}", data))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"arena.html", "arena.json"}


def test_the_key_opens_it_and_stays_apart(trials: list[Record], tmp_path: Path) -> None:
    made = make(trials, seed=1)
    place = write(made.arena, made.key, tmp_path / "out")
    assert place == tmp_path / "out.key.json" == key_path(tmp_path / "out")
    assert place.stat().st_mode & 0o777 == 0o600
    arena = load(tmp_path / "out")
    assert arena == made.arena and load_key(place, arena) == made.key
    other = make(trials, seed=2)
    assert other.arena.digest != arena.digest, "ids are drawn for each arena"
    with pytest.raises(UsageError, match="the key of another arena"):
        load_key(place, other.arena)
    with pytest.raises(UsageError, match="exists"):
        write(other.arena, other.key, tmp_path / "out")


def test_sides_of_both_agents_stand_anywhere() -> None:
    """Neither order in the file nor order in a pair says which is which: tried over many draws."""
    key, arena = None, None
    first = 0
    for seed in range(200):
        arena, key = _tiny(seed)
        real = next(pair for pair in arena.pairs if key.pairs[pair.id].kind == "real")
        first += key.sides[real.sides[0]].who == "a"
    assert 70 < first < 130


def _tiny(seed: int) -> tuple[Arena, Key]:
    import random

    from benchflow.arena.make import _assembled, _Seen
    from benchflow.arena.side import Console, Counted, Side

    side = Side((Console("m", ((1.0, "x"),), 1.0),))
    two = tuple(_Seen(_record(name), side, Counted(1, 0, None)) for name in ("a", "b"))
    return _assembled([two], [*two], random.Random(seed), False)  # type: ignore[list-item]


def _record(agent: str) -> Record:
    from tests.site.made_up import record

    return record("no/task", True, agent=agent, model="")


def test_two_checks_of_attention_are_among_the_pairs(trials: list[Record], tmp_path: Path) -> None:
    more = [trial(tmp_path / f"more-{n}", task="repair/dead-server", agent=f"codex-{n}", model="m")
            for n in range(2)]  # fmt: skip
    made = make([*trials, *more], 4, seed=5)
    kinds = [made.key.pairs[pair.id].kind for pair in made.arena.pairs]
    assert sorted(kinds) == ["again", "blank", "real", "real", "real", "real"]
    again = next(pair for pair in made.arena.pairs if made.key.pairs[pair.id].kind == "again")
    first = next(p for p in made.arena.pairs if p.id == made.key.pairs[again.id].of)
    assert again.sides == first.sides[::-1] and again.questions == first.questions
    assert again.machines == first.machines != {}
    blank = next(side for side, whose in made.key.sides.items() if not whose.uid)
    assert made.arena.sides[blank].is_empty


def test_graphical_tasks_come_first(tmp_path: Path) -> None:
    plain = [trial(tmp_path / f"p{n}", agent=f"a{n}") for n in range(3)]
    seen = [trial(tmp_path / f"s{n}", agent=f"a{n}", task="spin/live-iso", screen=png())
            for n in range(2)]  # fmt: skip
    for seed in range(8):
        made = make([*plain, *seen], 1, seed=seed)
        real = next(p for p in made.arena.pairs if made.key.pairs[p.id].kind == "real")
        assert real.task == "spin/live-iso"
        assert real.questions[0].text == "Which one would you hand to somebody to install or use?"


def test_only_what_can_be_compared_is(tmp_path: Path) -> None:
    one = trial(tmp_path / "one")
    with pytest.raises(UsageError, match="no two trials"):
        make([one])
    with pytest.raises(UsageError, match="no two trials"):
        make([one, trial(tmp_path / "two", version="2.0.0")])
    error = trial(tmp_path / "three", verdict=Verdict.ERROR)
    empty = trial(tmp_path / "four", lines=[])
    made = make([one, trial(tmp_path / "five", version="2.0.0"), error, empty], any_version=True)
    assert dict(made.left_out) == {
        "ended in an error of infrastructure": 1, "left nothing to look at": 1
    }  # fmt: skip


def test_machines_that_one_side_alone_started_are_not_shown(tmp_path: Path) -> None:
    far = trial(tmp_path / "far", machines=("server", "cut", "lost"))
    near = trial(tmp_path / "near", agent="codex", machines=("server",))
    made = make([far, near], seed=1)
    shown = {console.machine for side in made.arena.sides.values() for console in side.consoles}
    assert shown == {"server"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("made with Claude Code", "made with"),
        ("gpt_5.1.MINI", ""),
        ("GPT-5.1-mini-2026", "-2026"),
        ("Qwen2.5-coder", "2.5-coder"),
        ("graphics of philosophy", "graphics of philosophy"),
        ("an agent for tests", "an agent for tests"),
        ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", ""),
        ("noprotect nop", "noprotect"),
    ],
)
def test_names_are_found_as_they_are_written(text: str, left: str) -> None:
    found = names.pattern(["claude-code", "openai/gpt-5.1-mini", "nop", "test-agent", ""])
    assert " ".join(names.hidden(text, found).replace(names.INSTEAD, "").split()) == left


def test_a_picture_carries_its_pixels_alone() -> None:
    plain = png()
    assert picture.clean(plain) == plain
    assert picture.clean(png(Author="claude")) == plain
    assert picture.clean(plain + b"<script>claude</script>") == plain


@pytest.mark.parametrize(
    "data",
    [
        b"", b"GIF89a", png()[:-5], png().replace(b"IDAT", b"IDAX"),
        png().replace(b"\x00\x00\x00\x04\x00\x00\x00\x03", b"\x00\x0f\x42\x40\x00\x0f\x42\x40", 1),
        b"\x89PNG\r\n\x1a\n" + b"\xff\xff\xff\xffIHDR",
    ],
)  # fmt: skip
def test_what_is_no_whole_picture_is_left_out(data: bytes) -> None:
    assert picture.clean(data) is None


def test_what_the_verifier_typed_around_its_commands_is_not_shown(tmp_path: Path) -> None:
    typed = [
        "# uname",
        "1836185399[",
        "Linux",
        "]630976799:0:630976799;",
        "1778885157",
        "~ #  stty -echo 2>/dev/null; PS1= PS2=; echo $((487691056+471314404))",
        " stty -echo 2>/dev/null; PS1= PS2=; echo $((185341841+182885423))",
        "((629448384+189917072))",
        ")",
        "",
        "",
        "42",
    ]
    record = trial(tmp_path / "one", lines=[(float(n), text) for n, text in enumerate(typed)])
    side, _ = look(record, names.pattern([]))
    kept = [text for _, text in side.consoles[0].lines]
    assert kept == ["# uname", "Linux", "~ #", "", "42"]


def test_a_line_that_is_cut_says_so(tmp_path: Path) -> None:
    """Half of a line of JSON looks as if its maker had printed half of it."""
    record = trial(tmp_path / "one", lines=[(1.0, "{" + "x" * 1998 + "}"), (2.0, "y" * 600)])
    side, _ = look(record, names.pattern([]))
    long, whole = (text for _, text in side.consoles[0].lines)
    assert long == "{" + "x" * 599 + " … (cut here)" and whole == "y" * 600


def test_hostile_consoles_are_bounded_and_words(tmp_path: Path) -> None:
    lines = [(n / 100, f"\x1b]0;x\x07</script><img src=x onerror=alert(1)> {n} " + "y" * 900)
             for n in range(6000)]  # fmt: skip
    record = trial(tmp_path / "one", lines=lines)
    (tmp_path / "one/artifacts").mkdir()
    (tmp_path / "one/artifacts/README").symlink_to("/etc/passwd")
    (tmp_path / "one/artifacts/notes.txt").write_bytes(b"\xff\xfe no text")
    side, counted = look(record, names.pattern([]))
    (console,) = side.consoles
    assert console.cut and sum(len(text) for _, text in console.lines) < 250_000
    assert all("\x1b" not in text for _, text in console.lines)
    assert " 5999 " in console.lines[-1][1] and any("left out here" in t for _, t in console.lines)
    assert side.words == () and counted.files == 2
    other = trial(tmp_path / "two", agent="codex")
    page = make([record, other], seed=1).arena.page(None)
    assert "<img src=x" not in page and page.lower().count("</script>") == 2
    assert base64.b64encode(b"root:").decode() not in page


def test_both_consoles_are_cut_alike(tmp_path: Path) -> None:
    """Neither a number nor the amount of what is shown says which of two machines prints more."""
    long = [(n / 10, f"line {n}") for n in range(4000)]
    two = [trial(tmp_path / "one", lines=long),
           trial(tmp_path / "two", agent="codex", lines=long[:450])]  # fmt: skip
    made = make(two, seed=1)
    real = next(pair for pair in made.arena.pairs if made.key.pairs[pair.id].kind == "real")
    shown = [made.arena.sides[side].consoles[0] for side in real.sides]
    assert [len(console.lines) for console in shown] == [450, 450]
    gaps = [[text for _, text in console.lines if text.startswith("…")] for console in shown]
    assert sorted(gaps) == [[], ["… lines are left out here …"]]
    ends = {console.lines[-1][1] for console in shown}
    assert ends == {"line 3999", "line 449"}, "how a machine ends is kept"
    counted = sorted(whose.counted.console_lines for whose in made.key.sides.values() if whose.uid)
    assert counted[0] == 450 and counted[-1] > 2000, "what sways votes is what was printed"


def test_machines_are_explained_in_the_words_of_their_task(tmp_path: Path) -> None:
    machines = ("host", "later", "spare7")
    two = [trial(tmp_path / name, agent=name, task="container/host-os", machines=machines)
           for name in ("one", "two")]  # fmt: skip
    made = make(two, seed=1)
    pair = made.arena.pairs[0]
    assert set(pair.machines) == {"host", "later"}
    assert pair.machines["later"].startswith("The same server later, with a second carrier")
    assert made.unnamed == (("container/host-os", "spare7"),)
    drawn = [replace(trial(tmp_path / f"d{name}", agent=name, task="repair/server-v1-l5-2"),
                     generator="repair/server") for name in ("one", "two")]  # fmt: skip
    found = make(drawn, seed=1).arena.pairs[0].machines
    assert found["server"].startswith("The repaired server"), "as the task it is drawn upon"


def test_every_machine_of_the_published_trials_is_explained() -> None:
    records = collect(sorted((root().parent / "results").glob("2026-11-*"))).records
    if not records:
        pytest.skip("the published trials are not here")
    missing, seen = set(), 0
    for record in records:
        task = in_catalogue(record.task)
        words = words_of(task) if task else drawn_words(record.generator)
        for name in record.evidence:
            if name.endswith(".console.cast"):
                machine = name.rpartition("/")[2].removesuffix(".console.cast")
                seen += 1
                missing |= set() if words.machine(machine) else {(record.task, machine)}
    assert seen > 40 and missing == set()


def stands_in(made: Made) -> Counter[str]:
    return Counter(
        made.key.sides[side].trial
        for meant in made.key.pairs.values()
        if meant.kind != "again"
        for side in meant.sides
        if made.key.sides[side].uid
    )


def test_no_deliverable_stands_in_two_pairs_while_there_are_others(tmp_path: Path) -> None:
    """Three attempts at one task and two at another: two pairs and the check of attention."""
    some = [trial(tmp_path / f"r{n}", agent=f"a{n}", passed=3 - n) for n in range(3)]
    more = [trial(tmp_path / f"l{n}", agent=f"a{n}", task="spin/live-iso") for n in range(2)]
    for seed in range(12):
        made = make([*some, *more], 2, seed=seed)
        assert set(stands_in(made).values()) == {1} and made.repeated == ()
        assert len(stands_in(made)) == 5, "the fifth stands beside the machine that prints nothing"
    # Two of one agent find partners only if they are not left for the end.
    lopsided = [trial(tmp_path / f"x{n}", agent="one" if n < 2 else f"a{n}") for n in range(4)]
    for seed in range(12):
        made = make(lopsided, 2, seed=seed)
        real = [meant for meant in made.key.pairs.values() if meant.kind == "real"]
        whose = [made.key.sides[side].trial for meant in real for side in meant.sides]
        assert len(set(whose)) == 4


def test_where_a_deliverable_must_stand_in_two_pairs_it_is_said(tmp_path: Path) -> None:
    two = [trial(tmp_path / f"t{n}", agent=f"a{n}", passed=3 - n) for n in range(2)]
    made = make(two, seed=1)
    assert made.repeated == ("secret-job/t0",)
