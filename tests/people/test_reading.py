"""Answers brought together: one voice a rater; nothing forged, copied, replayed or rehearsed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchflow.cli.app import benchflow
from benchflow.errors import UsageError
from benchflow.people import recorded
from benchflow.people.answers import BadAnswers, Signed, hash_of
from benchflow.people.pack import Pack, load, pack_of
from benchflow.people.questionnaire import write
from benchflow.people.reading import Reading, read
from benchflow.people.store import NAME, Store
from benchflow.tasks import find

from .made_packs import about, pack, rating
from .rater import Rater

PACK = pack()


def put(folder: Path, *envelopes: bytes) -> list[Path]:
    """Files in the order in which they are read."""
    folder.mkdir(exist_ok=True)
    at = len(list(folder.iterdir()))
    paths = [folder / f"{at + number:03}.json" for number in range(len(envelopes))]
    for path, data in zip(paths, envelopes, strict=True):
        path.write_bytes(data)
    return paths


def read_all(folder: Path, *packs: Pack, links: tuple[Store, ...] = ()) -> Reading:
    asked = recorded.asked({one.digest: one for one in packs or (PACK,)})
    return read([folder], asked, links=links)


def whys(reading: Reading) -> list[str]:
    return [one.why for one in reading.left_out]


def test_each_rater_is_one_voice_and_the_last_word_counts(tmp_path: Path) -> None:
    rater, other = Rater(), Rater("ECDSA-P256-SHA256")
    early = rating(rater, PACK, comment="early")
    late = rating(rater, PACK, comment="late") | {"revision": 2}
    put(tmp_path / "in", *(r.envelope(b) for r, b in ((rater, late), (rater, early))))
    put(tmp_path / "in", rater.envelope(late), other.envelope(rating(other, PACK, comment="o")))
    found = read_all(tmp_path / "in")
    assert sorted(one.body.comment for one in found.kept) == ["late", "o"]  # type: ignore[attr-defined]
    assert found.repeated == 1
    assert whys(found) == ["replaced by later answers of the same rater"]
    assert found.unlinked == 2


def bad(body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The answers with the first task's changed."""
    first, *rest = body["tasks"]
    return {**body, "tasks": [{**first, **changes}, *rest]}


def hours(*values: Any) -> dict[str, Any]:
    return {"hours": dict(zip(("low", "likely", "high"), values, strict=True))}


DOUBT = {"demand": "R1", "what": "unfair", "why": ""}
WRONG: dict[str, Any] = {
    "hours out of order": lambda b: bad(b, **hours(5, 4, 6)),
    "no hours at all": lambda b: bad(b, **hours(0, 0, 0)),
    "less than none": lambda b: bad(b, **hours(-5, 4, 6)),
    "NaN hours": lambda b: bad(b, **hours(float("nan"), 4, 6)),
    "hours as text": lambda b: bad(b, **hours("1", "2", "3")),
    "hours beyond a life": lambda b: bad(b, **hours(1, 2, 1e300)),
    "no such work": lambda b: bad(b, work="always"),
    "a text that is too long": lambda b: bad(b, exploit="x" * 2001),
    "another task": lambda b: bad(b, task="repair/other"),
    "an older content of the task": lambda b: bad(b, digest="sha256:old"),
    "a demand that is not made": lambda b: bad(b, doubts=[{**DOUBT, "demand": "R99"}]),
    "more demands than there are": lambda b: bad(b, doubts=[DOUBT] * 13),
    "a task twice": lambda b: {**b, "tasks": [b["tasks"][0]] * 2},
    "no task": lambda b: {**b, "tasks": []},
    "a pair with itself": lambda b: {**b, "pairs": [{"a": "x", "b": "x", "harder": "x"}]},
    "a pair twice": lambda b: {**b, "pairs": [b["pairs"][0]] * 2},
    "a pair of others": lambda b: {
        **b,
        "pairs": [{"a": "repair/lamp", "b": "x", "harder": "x"}],
    },
    "neither of a pair": lambda b: {**b, "pairs": [{**b["pairs"][0], "harder": "embedded/x"}]},
    "another pack": lambda b: {**b, "pack": "00" * 32},
    "a name of a page's length": lambda b: {**b, "name": "x" * 10_000},
    "in three seconds": lambda b: {**b, "seconds": 3},
    "for longer than a life": lambda b: {**b, "seconds": 10**12},
}


@pytest.mark.parametrize("case", WRONG)
def test_what_was_not_asked_or_cannot_be_is_left_out(case: str, tmp_path: Path) -> None:
    rater = Rater()
    honest = rating(rater, PACK)
    put(tmp_path / "in", rater.envelope(WRONG[case](honest)))
    found = read_all(tmp_path / "in")
    assert (found.kept, len(found.left_out)) == ((), 1)
    put(tmp_path / "in", rater.envelope(honest))
    assert len(read_all(tmp_path / "in").kept) == 1


def test_robots_that_repeat_themselves_are_one_voice(tmp_path: Path) -> None:
    robots = [Rater() for _ in range(50)]
    put(tmp_path / "in", *(r.envelope(rating(r, PACK)) for r in robots))
    found = read_all(tmp_path / "in")
    assert len(found.kept) == 1
    assert all("word for word" in why for why in whys(found))


def test_robots_with_words_of_their_own_need_links(tmp_path: Path) -> None:
    store = Store(tmp_path / NAME)
    (code,) = store.new_links(PACK.digest, [""])
    (elsewhere,) = store.new_links("00" * 32, [""])
    links = ["", hash_of("guessed"), hash_of(elsewhere), hash_of(code), hash_of(code)]
    for number, link in enumerate(links):
        rater = Rater()
        body = rating(rater, PACK, comment=f"number {number}", link=link)
        put(tmp_path / "in", rater.envelope(body))
    found = read_all(tmp_path / "in", links=(store,))
    assert [one.body.link for one in found.kept] == [hash_of(code)]
    assert whys(found).count("came by no link that was given out for this pack") == 3
    assert whys(found).count("came by a link that others have used") == 1


def test_answers_under_the_number_of_others_are_left_out(tmp_path: Path) -> None:
    rater, thief = Rater(), Rater()
    honest = rating(rater, PACK, comment="mine")
    stolen = {**honest, "key": thief.name, "comment": "not mine"}
    put(tmp_path / "in", rater.envelope(honest), thief.envelope(stolen))
    found = read_all(tmp_path / "in")
    assert [one.body.key for one in found.kept] == [rater.name]
    assert "copied or made up" in whys(found)[0]


def test_rehearsals_are_kept_apart_however_they_are_called(tmp_path: Path) -> None:
    rehearsal, rater = pack(rehearsal=True), Rater()
    put(tmp_path / "in", rater.envelope(rating(rater, rehearsal, comment="1")))
    put(tmp_path / "in", rater.envelope({**rating(rater, rehearsal), "rehearsal": False}))
    put(tmp_path / "in", rater.envelope({**rating(rater, PACK), "rehearsal": True}))
    found = read_all(tmp_path / "in", PACK, rehearsal)
    assert found.kept == ()
    assert len(found.rehearsals) == 2
    assert whys(found) == ["answers to a rehearsal that do not say so"]


def test_large_and_endless_files_are_not_read_whole(tmp_path: Path) -> None:
    rater = Rater()
    big = rater.envelope(rating(rater, PACK, comment="x" * 10_000_000))
    put(tmp_path / "in", big, b"", b"\x00" * 5_000_000)
    (tmp_path / "in" / "many.jsonl").write_bytes(b"{}\n" * 1000 + big)
    found = read_all(tmp_path / "in")
    assert found.kept == ()
    assert len(found.left_out) == 1004
    with (tmp_path / "in" / "huge.jsonl").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    with pytest.raises(UsageError, match="67,108,864 bytes"):
        read_all(tmp_path / "in")


def test_a_store_is_read_and_what_was_deleted_there_stays_deleted(tmp_path: Path) -> None:
    store, rater, other = Store(tmp_path / NAME), Rater(), Rater()
    first, second = store.new_links(PACK.digest, ["", ""])
    asked = recorded.asked({PACK.digest: PACK})[PACK.digest]
    envelopes = []
    tokens = []
    for who, code in ((rater, first), (other, second)):
        data = who.envelope(rating(who, PACK, link=hash_of(code), comment=who.name))
        envelopes.append(data)
        tokens.append(store.take(code, asked.check(data)))
    assert len(read_all(tmp_path / NAME).kept) == 2
    store.delete(tokens[0])
    put(tmp_path / "mailed", envelopes[0])
    found = read([tmp_path / NAME, tmp_path / "mailed"], {PACK.digest: asked})
    assert [one.body.key for one in found.kept] == [other.name]
    assert whys(found) == ["deleted on request"]


def test_what_is_recorded_is_checked_again(tmp_path: Path) -> None:
    rater, other = Rater(), Rater()
    put(tmp_path / "in", rater.envelope(rating(rater, PACK, name="Ada")))
    put(tmp_path / "in", other.envelope(rating(other, PACK, comment="o") | {"rehearsal": True}))
    folder = tmp_path / "ratings"
    recorded.write(folder, read_all(tmp_path / "in"), {PACK.digest: PACK})
    found = recorded.recorded(folder)
    assert found is not None
    assert [one.name for one in found.ratings] == ["Ada"]
    text = (folder / "answers.jsonl").read_text()
    (folder / "answers.jsonl").write_text(text.replace("Ada", "Eve"))
    assert recorded.recorded(folder) is None
    assert recorded.recorded(tmp_path) is None


def test_rate_read_says_what_was_kept_and_what_not(tmp_path: Path) -> None:
    write(PACK, tmp_path / "pack")
    rater = Rater()
    doubt = {"demand": "R1", "what": "unclear", "why": "which \x1b[31mlamp?"}
    body = rating(rater, PACK, name="Ada\x1b]0;owned\x07")
    body["tasks"][0] = about(PACK.tasks[0], doubts=[doubt])
    put(tmp_path / "pack", rater.envelope(body))
    ok = CliRunner().invoke(benchflow, ["rate", "read", str(tmp_path / "pack"), "-o",
                                        str(tmp_path / "out")], standalone_mode=False)  # fmt: skip
    assert ok.return_value == 0, ok.output
    assert "1 set of answers kept" in ok.output
    assert "2 – 4 – 10" in ok.output and "R1 unclear" in ok.output
    assert "\x1b" not in ok.output and "\x07" not in ok.output
    again = ["rate", "read", str(tmp_path / "out"), "--json"]
    (tmp_path / "out" / "more.json").write_bytes(b"<html>")
    said = CliRunner().invoke(benchflow, again, standalone_mode=False)
    assert said.return_value == 1
    document = json.loads(said.output)
    assert document["kept"] == 1
    assert document["left_out"][0]["why"].startswith("no answers of benchflow")


def test_the_same_tasks_are_the_same_pack_and_a_folder_holds_one(tmp_path: Path) -> None:
    write(PACK, tmp_path)
    write(pack(), tmp_path)
    with pytest.raises(UsageError, match="another pack"):
        write(pack(rehearsal=True), tmp_path)


def test_signed_is_what_a_store_takes(tmp_path: Path) -> None:
    store, rater = Store(tmp_path / NAME), Rater()
    signed = PACK.rating(rater.envelope(rating(rater, PACK)))
    with pytest.raises(BadAnswers, match="not known"):
        store.take("guess", Signed(signed.body, signed.envelope))


def test_documents_that_an_instruction_names_are_in_the_pack(tmp_path: Path) -> None:
    """Who has not read what a letter calls binding cannot judge it."""
    of = pack_of([find("container/oci-base"), find("repair/dead-server")])
    names = [one.name for one in of.tasks[0].documents]
    assert [name.rpartition("/")[2] for name in names] == [
        "LIST.md", "MACHINE.md", "PARCEL.md", "README"
    ]  # fmt: skip
    assert "org.opencontainers.image.ref.name" in of.tasks[0].documents[0].text
    (ledger,) = of.tasks[1].documents
    assert ledger.name.endswith("/usr/share/doc/tallyd/README")
    write(of, tmp_path / "pack")
    assert load(tmp_path / "pack").digest == of.digest
    page = (tmp_path / "pack/rate.html").read_text()
    assert page.count("a document that the instruction names") == 5
    links = ["rate", "links", str(tmp_path / "pack"), "3", "--for", "a builder", "--json"]
    made = json.loads(CliRunner().invoke(benchflow, links, catch_exceptions=False).stdout)["links"]
    assert [one["for"] for one in made] == ["a builder", "", ""], "a note takes no link away"
