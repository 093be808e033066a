"""Nothing on the page says whose a side is: names, ladders, files' names, order, pictures."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from benchflow.arena import names, picture
from benchflow.arena.make import make
from benchflow.arena.pack import Arena, Key, key_path, load, load_key, write
from benchflow.arena.side import look
from benchflow.errors import UsageError
from benchflow.results.model import Verdict
from benchflow.results.records import Record

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
    return _assembled([two], random.Random(seed), False)  # type: ignore[list-item]


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
    assert long == "{" + "x" * 599 + " … (1,400 more characters)" and whole == "y" * 600


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
