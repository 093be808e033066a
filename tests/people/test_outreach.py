"""Who was asked: the sheet is hostile, links carry no names, figures are of real answers alone."""

from __future__ import annotations

import csv
import json
import re
import stat
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchflow.cli.rate_people import command
from benchflow.errors import UsageError
from benchflow.people.answers import Body, hash_of, opened
from benchflow.people.outreach import messages, sheet
from benchflow.people.outreach.pipeline import State, figures, progress
from benchflow.people.questionnaire import write
from benchflow.people.store import Store

from .made_packs import pack
from .rater import Rater

PACK = "ab" * 32
HOW = messages.Invitation(
    PACK, "https://rate.example.org/", "M. Aintainer <m@example.org>", "3 tasks", 60
)
LINES = """\
id,name,contact,group,why,note
p01,Ada Example,ada@example.org,embedded,You wrote the bootloader.,met once
p02,"Bo ""the"" Builder",https://example.org/bo,distribution,,
p03,Çelik Ö,c@example.org,lab,,
"""


class Plain(Body, tag="plain"):
    """Answers to nothing."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(LINES)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "answers.sqlite")


def answer(store: Store, code: str, **more: object) -> None:
    rater = Rater()
    body = rater.body(PACK, kind="plain", link=hash_of(code), **more)
    store.take(code, opened(rater.envelope(body), Plain))


def code_in(path: Path) -> str:
    found = re.search(r"https://rate\.example\.org/r/(\S+)", path.read_text())
    assert found
    return found[1]


def test_each_comes_as_far_as_they_did(file: Path, store: Store, tmp_path: Path) -> None:
    people = sheet.read(file)
    assert {one.state for one in progress(people, store)} == {State.LISTED}
    first, second, third = messages.invite(progress(people, store), store, HOW, tmp_path / "out")
    codes = [code_in(path) for path in (first, second, third)]
    assert len(set(codes)) == 3
    store.open_link(codes[0])
    answer(store, codes[0], seconds=5400)
    answer(store, codes[1], seconds=9999, rehearsal=True)
    people = people.marked("p01", "sent", date(2026, 11, 28)).marked("p03", "sent", date.max)
    found = progress(people, store)
    assert [one.state for one in found] == [State.ANSWERED, State.ASKED, State.SENT]
    total = figures(found)
    assert (total.asked, total.sent, total.answered, total.hours) == (3, 2, 1, 1.5)
    assert total.target == "target: 50 asked, 10 replies; so far 2 asked, 1 replied"
    assert messages.invite(found, store, HOW, tmp_path / "again") == []
    (thanks,) = messages.thank(found, HOW.sender, tmp_path / "out")
    assert "Ada Example" in thanks.read_text() and "/r/" not in thanks.read_text()


def test_who_declined_is_asked_nothing(file: Path, store: Store, tmp_path: Path) -> None:
    people = sheet.read(file).marked("p02", "declined", date(2026, 11, 28))
    made = messages.invite(progress(people, store), store, HOW, tmp_path / "out")
    assert [path.name for path in made] == ["p01.txt", "p03.txt"]
    assert figures(progress(people, store)).declined == 1


@pytest.mark.parametrize("group", sheet.GROUPS)
def test_each_group_has_a_message_that_says_what_it_must(
    group: str, file: Path, store: Store, tmp_path: Path
) -> None:
    file.write_text(f"id,name,contact,group,why\nx,A Name,a@b.example,{group},Because of that.\n")
    (path,) = messages.invite(progress(sheet.read(file), store), store, HOW, tmp_path / "out")
    text = path.read_text()
    assert text.startswith("To: a@b.example\nSubject: ") and "Dear A Name,\n" in text
    assert f"/r/{code_in(path)}\n" in text and "\nBecause of that.\n" in text
    assert "60 minutes" in text and "3 tasks" in text
    assert "$" not in text and "\n\n\n" not in text
    assert "If you agree on the page, we publish figures made of them and the answers" in text
    assert "deletes them" in text and "we do not write a second time" in text
    assert HOW.sender in text and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_who_asks_to_be_forgotten_is(file: Path, store: Store, tmp_path: Path) -> None:
    path, *_ = messages.invite(progress(sheet.read(file), store), store, HOW, tmp_path / "out")
    answer(store, code_in(path), name="A secret name")
    gone = ["--answers", str(store.path), "--forget", "p01"]
    assert CliRunner().invoke(command, [str(file), *gone]).exit_code == 0
    assert "p01" not in file.read_text() and [link.label for link in store.links()] == [
        "p02",
        "p03",
    ]
    assert list(store.envelopes(10**6)) == [] and len(store.deleted()) == 1
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("answers.sqlite*"))
    assert b"A secret name" not in kept and b"p01" not in kept
    refused = CliRunner().invoke(command, [str(file), "--forget", "p02"])
    assert refused.exit_code == 2 and "p02" in file.read_text()


def test_links_carry_no_names(file: Path, store: Store, tmp_path: Path) -> None:
    messages.invite(progress(sheet.read(file), store), store, HOW, tmp_path / "out")
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("answers.sqlite*"))
    assert b"p01" in kept and b"Ada" not in kept and b"example.org" not in kept


FORMULAS = ["=1+1", "+1", "-2+3", "@SUM(A1)", '=HYPERLINK("http://x")', "＝1+1", "'=1"]


def test_no_cell_is_a_formula_once_written(file: Path) -> None:
    out = [["id", "name", "group", "=cmd"]]
    out += [[f"p{n}", f"N {n}", "lab", formula] for n, formula in enumerate(FORMULAS)]
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows(out)
    for _ in range(3):  # and a round trip changes nothing more
        sheet.write(file, sheet.read(file).marked("p0", "sent", date(2026, 11, 28)))
        rows = list(csv.reader(file.read_text().splitlines()))
        assert all(cell[:1] not in "=+-@＝\t\r" for row in rows for cell in row if cell)
        assert [row[3] for row in rows[1:]] == [f"'{f.removeprefix(chr(39))}" for f in FORMULAS]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"", "is empty"),
        (b"name,group\nx,lab\n", "has no column id"),
        (b"id,id,name,group\n", "has a column twice"),
        (b"id,name,group\np1,A,lab\np1,B,lab\n", "line 3: the id p1 is there twice"),
        (b"id,name,group\n../../etc,A,lab\n", "id is '../../etc'"),
        (b"id,name,group\np1,A,friends\n", "none of distribution"),
        (b"id,name,group\np1,,lab\n", "name is '', empty"),
        (b"id,name,group,contact\np1,A,lab,\"a@b\nBcc: c@d\"\n", "contact is"),
        (b"id,name,group,contact\np1,A,lab,javascript:alert(1)\n", "contact is"),
        (b"id,name,group,sent\np1,A,lab,yesterday\n", "no day like"),
        (b"id,name,group,hours\np1,A,lab,1e9\n", "no number of hours"),
        (b"id,name,group\np1,A,lab,more,cells\n", "more cells than columns"),
        (b"id,name,group\np1,Gr\xfcn,lab\n", "is not UTF-8 at byte 19"),
        (b"id,name,group\np1,A\0,lab\n", "zero bytes"),
        (b"id,name,group\np1," + b"A" * 2001 + b",lab\n", "a cell of more than 2,000"),
        (b"id,name,group\n" + b'"' * 3, "line 2"),
        (b"x" * (sheet.MOST_BYTES + 1), "larger than 4 MiB"),
        (b"id,name,group\n" + b"".join(b"p%d,A,lab\n" % n for n in range(5001)), "5,000 people"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_sheet_is_said(file: Path, data: bytes, named: str) -> None:
    file.write_bytes(data)
    with pytest.raises(UsageError, match=re.escape(named)):
        sheet.read(file)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_what_spreadsheets_save_is_read(file: Path, encoding: str, delimiter: str) -> None:
    lines = [["id", "Name", "group"], ["p1", "Çelik \x1b[31mÖ\u202e", "lab"]]
    text = "\r\n".join(delimiter.join(line) for line in lines)
    file.write_bytes(text.encode(encoding))
    assert sheet.read(file).people[0].name == "Çelik Ö"


def test_a_name_adds_no_header_and_no_field(file: Path, store: Store, tmp_path: Path) -> None:
    file.write_text('id,name,group,why\np1,"A\nBcc: all@example.org $link ${sender}",lab,$name\n')
    (path,) = messages.invite(progress(sheet.read(file), store), store, HOW, tmp_path / "out")
    text = path.read_text()
    assert "Dear A Bcc: all@example.org $link ${sender},\n" in text and "\n$name\n" in text
    assert text.count("\nBcc") == 0 and text.count(code_in(path)) == 1


def test_a_template_of_ones_own_is_checked_before_links_are_made(
    file: Path, store: Store, tmp_path: Path
) -> None:
    for group in sheet.GROUPS:
        (tmp_path / f"{group}.txt").write_text("Subject: x\n\n$nmae")
    with pytest.raises(UsageError, match="is no template"):
        messages.invite(progress(sheet.read(file), store), store, HOW, tmp_path / "o", tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/p02.txt").write_text("mine")
    with pytest.raises(UsageError, match="exists"):
        messages.invite(progress(sheet.read(file), store), store, HOW, tmp_path / "out")
    assert store.links() == []


def test_the_command_tells_and_marks(file: Path, tmp_path: Path) -> None:
    def run(*more: str) -> str:
        done = CliRunner().invoke(command, [str(file), *more], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    db = str(tmp_path / "a.sqlite")
    write(pack(), tmp_path / "pack")
    how = ["--answers", db, "--url", "https://rate.example.org", "--sender", "M"]
    told = run(*how, "--messages", str(tmp_path / "out"), "--pack", str(tmp_path / "pack"))
    assert "about 60 minutes" in (tmp_path / "out/p01.txt").read_text()
    assert "About 60 minutes" in (tmp_path / "pack/rate.html").read_text(), "as the page says"
    bare = ["--messages", str(tmp_path / "two"), "--pack", PACK]
    refused = CliRunner().invoke(command, [str(file), *how, *bare])
    assert refused.exit_code == 2 and "needs --minutes" in refused.output
    assert told.count("written: ") == 3 and "Ada Example" in told
    run("--sent", "p01", "--declined", "p03")
    assert re.search(r"^p03,.*,\d{4}-\d\d-\d\d$", file.read_text(), re.MULTILINE)
    out = json.loads(run("--answers", db, "--json"))
    assert [one["state"] for one in out["people"]] == ["sent", "asked", "declined"]
    assert out["figures"]["sent"] == 1 and out["target"].endswith("so far 1 asked, 0 replied")
    assert "name" not in out["people"][0], "what is printed for machines carries ids alone"
    assert set(out["by_group"]) == {"distribution", "embedded", "lab"}
    wrong = CliRunner().invoke(command, [str(file), "--messages", "x"])
    assert wrong.exit_code == 2 and "--messages needs" in wrong.output
