"""Who made a task and who reviewed it: read, held against each other, and judged by nothing."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from tests.lamp import Edit, edit, lamp
from tests.people.raters import envelopes

from benchflow.authoring.check import GATES
from benchflow.authoring.gate_record import due
from benchflow.authoring.meaning.key import parts_of
from benchflow.authoring.new import new
from benchflow.authoring.publish import dataset
from benchflow.authoring.publish.datasheet import datasheet
from benchflow.authoring.trials import Trials
from benchflow.errors import TaskError
from benchflow.people import recorded
from benchflow.people.pack import pack_of
from benchflow.people.reading import read
from benchflow.reference import citation, contributors
from benchflow.results.jobs import task_facts
from benchflow.run.job import job_record
from benchflow.run.live.progress import Silence
from benchflow.tasks import Staged, load, root
from benchflow.tasks.contributors import AUTHOR_ROLES, REVIEWER_ROLES, orcid_holds
from benchflow.tasks.digest import digest_of
from benchflow.tasks.load import SCORED_PARTS
from benchflow.tasks.schema import AuthorRole, ReviewerRole

__all__ = ["edit", "lamp"]
PEOPLE = """
[[metadata.benchflow.authors]]
name = "A. Author"
did = ["idea", "checks"]
orcid = "0000-0002-1825-0097"

[[metadata.benchflow.reviewers]]
name = "B. | <b>Operator</b>"
did = [
  "attempt",
  "rating",
]
"""


@pytest.fixture
def told(lamp: Path) -> Path:
    """The lamp, with people in it."""
    with (lamp / "task.toml").open("a") as file:
        file.write(PEOPLE)
    return lamp


def test_people_are_read_with_what_they_did(told: Path) -> None:
    task = load(told)
    assert task.authors == ("A. Author",) and task.reviewers == ("B. | <b>Operator</b>",)
    author, reviewer = task.contributions
    assert author.did == ("idea", "checks") and author.orcid == "0000-0002-1825-0097"
    assert reviewer.did == ("attempt", "rating") and not reviewer.is_author


@pytest.mark.parametrize("where", ["at the end", "in the middle", "before the last table"])
def test_people_move_no_digest(lamp: Path, where: str) -> None:
    """Wherever they stand, and whatever empty lines are around them."""
    path = lamp / "task.toml"
    before, parts = digest_of(lamp, SCORED_PARTS), parts_of(lamp)
    text = path.read_text()
    at = {
        "at the end": len(text),
        "in the middle": text.index("[[metadata.benchflow.deliverables]]"),
        "before the last table": text.index("[[metadata.benchflow.exploits]]"),
    }[where]
    for people in (PEOPLE, PEOPLE.strip() + "\n", PEOPLE + "\n\n" + PEOPLE):
        people = people if where == "at the end" else people.lstrip("\n")
        path.write_text(text[:at] + people + text[at:])
        assert digest_of(lamp, SCORED_PARTS) == before and parts_of(lamp) == parts
    path.write_text((text[:at] + people + text[at:]).replace("memory_mb = 1024", "memory_mb = 9"))
    assert digest_of(lamp, SCORED_PARTS) != before


def test_reviewers_make_no_gate_due(tmp_path: Path) -> None:
    """Of a task of the catalogue, by a record that is about it as it is now."""
    name = "speedrun/first-answer"
    top = tmp_path / "tasks"
    for part in ("lib", name):
        shutil.copytree(root() / part, top / part)
    trials = Trials(load(top / name), Silence())
    record = json.loads((root() / "gates.json").read_text())
    record["tasks"][name] |= {
        "meaning": trials.parts,
        "task": trials.task.digest,
        "exploits": trials.scripts,
        "variants": trials.variants,
        "declared": trials.declared,
    }
    (top / "gates.json").write_text(json.dumps(record))
    before = due(load(top / name), GATES)
    assert set(before) != set(GATES), "nothing is recorded of it"
    path = top / name / "task.toml"
    text = path.read_text()
    path.write_text(text + PEOPLE[PEOPLE.index("[[metadata.benchflow.reviewers]]") - 1 :])
    task = load(top / name)
    assert task.reviewers and due(task, GATES) == before
    path.write_text(text.replace("timeout_sec = ", "timeout_sec = 1", 1))
    assert due(load(top / name), GATES) != before


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('"A. Author"\ndid', '"Z. Nobody"\ndid', "not in [task] authors"),
        ("B. | <b>Operator</b>", "A. Author", "a review is by somebody else"),
        ("0097", "0098", "no ORCID iD"),
        ('"attempt"', '"applauded"', "reviewers.0.did.0"),
        ('["idea", "checks"]', "[]", "authors.0.did"),
        ("B. |", "B.\\u001b[31m", "reviewers.0.name"),
    ],
)
def test_what_contradicts_is_named(told: Path, edit: Edit, old: str, new: str, named: str) -> None:
    with pytest.raises(TaskError, match=re.escape(named)):
        load(edit("task.toml", old, new))


def test_roles_are_those_that_are_explained() -> None:
    assert set(AuthorRole.__args__) == AUTHOR_ROLES.keys()  # type: ignore[attr-defined]
    assert set(ReviewerRole.__args__) == REVIEWER_ROLES.keys()  # type: ignore[attr-defined]


def test_the_last_digit_of_an_orcid_follows_from_the_others() -> None:
    assert orcid_holds("0000-0002-1694-233X") and orcid_holds("0000-0001-5109-3700")
    assert not orcid_holds("0000-0002-1694-2330") and not orcid_holds("0000-0002-1694")


def test_exports_and_jobs_carry_them(told: Path, tmp_path: Path) -> None:
    (folder,) = dataset.write([load(told)], tmp_path / "hub", hub=True).folders
    assert '"rating"' in (folder / "task.toml").read_text()
    sheet = (folder / "DATASHEET.md").read_text()
    assert "| A. Author (idea, checks) |" in sheet
    assert "| B. \\| &lt;b>Operator&lt;/b> (attempt, rating) |" in sheet
    card = (tmp_path / "hub/README.md").read_text()
    assert "| A. Author | B. \\| &lt;b>Operator&lt;/b> |" in card
    written = job_record.task(Staged(load(told), Path("/gone")))
    (tmp_path / "benchflow.json").write_text(json.dumps({"schema": 1, "tasks": [written]}))
    found = task_facts.of_job(tmp_path)[0]["/gone"]
    assert (found.authors, found.reviewers) == (("A. Author",), ("B. | <b>Operator</b>",))


def test_what_was_staged_before_a_review_is_staged_again(lamp: Path, tmp_path: Path) -> None:
    dataset.write([load(lamp)], tmp_path / "before")
    with (lamp / "task.toml").open("a") as file:
        file.write(PEOPLE)
    (folder,) = dataset.write([load(lamp)], tmp_path / "after").folders
    assert "B. | <b>Operator</b>" in (folder / "task.toml").read_text()
    assert "none named yet" not in datasheet(load(lamp))


def test_a_copy_keeps_authors_and_no_reviewers(told: Path, tmp_path: Path) -> None:
    task = new("embedded/lantern", like=load(told), author="B. Maker", top=tmp_path / "new")
    assert task.authors == ("B. Maker", "A. Author") and task.reviewers == ()


def test_the_page_and_the_citation_name_them(told: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(told, checkout / "tasks/embedded/lamp")
    (checkout / "pyproject.toml").write_text(
        '[project]\nname = "n"\ndescription = "d"\nversion = "1"\nlicense = "MIT"\n'
    )
    page = contributors.page(checkout)
    assert "| A. Author ([0000-0002-1825-0097](https://orcid.org/0000-0002-1825-0097)) |" in page
    assert "| B. \\| &lt;b>Operator&lt;/b> | embedded/lamp | attempt, rating |" in page
    cited = yaml.safe_load(citation.file(checkout))
    names = [author["name"] for author in cited["authors"]]
    assert names == [contributors.COLLECTIVE, "A. Author"]
    (reference,) = cited["references"]
    assert reference["version"] == "1.0.0"
    assert reference["notes"] == "Reviewed by B. | <b>Operator</b> (attempt, rating)."


def test_who_made_a_generator_and_who_rated_under_a_name_are_named(
    told: Path, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(
        root().parent / "generators/repair/server", checkout / "generators/repair/server"
    )
    for name in ("lib", "repair/dead-server"):
        shutil.copytree(root() / name, checkout / "tasks" / name)
    template = checkout / "generators/repair/server/template/task.toml"
    text = template.read_text()
    template.write_text(text.replace('{ name = "benchflow" }', '{ name = "G. Maker" }'))
    shutil.copytree(told, checkout / "tasks/embedded/lamp")
    (lamp, server) = (load(checkout / "tasks" / n) for n in ("embedded/lamp", "repair/dead-server"))
    of = pack_of([lamp, server])
    given = envelopes(of, 2)  # under the names Rater 0 and Rater 1
    rehearsal = pack_of([lamp, server], rehearsal=True)
    given += [data.replace(b"Rater", b"Tester") for data in envelopes(rehearsal, 1)]
    given += envelopes(rehearsal, 4)[3:]
    packs = {one.digest: one for one in (of, rehearsal)}
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(given))
    recorded.write(
        checkout / "ratings", read([tmp_path / "in.jsonl"], recorded.asked(packs)), packs
    )
    assert b"Rater 3" in (checkout / "ratings/answers.jsonl").read_bytes(), "the rehearsal is there"
    page = contributors.page(checkout)
    assert "| G. Maker | repair/server (generator) | all of it |" in page
    for number in (0, 1):
        assert f"| Rater {number} | embedded/lamp, repair/dead-server | rating |" in page
    assert "Rater 3" not in page and "Tester" not in page, "made to test the page, or forged"
    (checkout / "pyproject.toml").write_text(
        '[project]\nname = "n"\ndescription = "d"\nversion = "1"\nlicense = "MIT"\n'
    )
    cited = yaml.safe_load(citation.file(checkout))
    assert "G. Maker" in [author["name"] for author in cited["authors"]]
    titles = [one["title"].partition(":")[0] for one in cited["references"]]
    assert titles == ["embedded/lamp", "repair/dead-server", "repair/server (generator)"]


def test_the_citation_has_what_the_format_asks_for() -> None:
    """Required keys and types of CFF 1.2.0, as cffconvert checks them."""
    cited = yaml.safe_load((root().parent / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert cited["cff-version"] == "1.2.0" and cited["type"] == "software"
    assert all(isinstance(cited[key], str) for key in cited.keys() - {"authors", "references"})
    assert all(author["name"] for author in cited["authors"])
