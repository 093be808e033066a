"""The folder that `benchflow site` writes: whole, linked, named safely, told twice for machines."""

from __future__ import annotations

import json
import math
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from hostile_job import IMAGE, SCRIPT
from msgspec.structs import replace

from benchflow.errors import UsageError
from benchflow.results.collect import collect
from benchflow.results.model import Verdict
from benchflow.results.synthetic import Design, write_job
from benchflow.site.build import Built, build
from benchflow.site.markdown_json import to_json
from benchflow.site.page_model import Cell, Column, Page, Section, Table
from benchflow.site.slugs import slugs
from benchflow.site.study import Study

FIRST_PAGE_BYTES = 2_000_000


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.ids: set[str] = set()
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key in ("href", "src") and value:
                self.found.add(value)
            if key == "id" and value:
                assert value not in self.ids, f"two elements have the id {value}"
                self.ids.add(value)
            if key.startswith("on") or key == "style" or (tag == "script" and key is None):
                self.inline.append(f"{tag} {key}={value}")


def _parsed(path: Path) -> _Links:
    parser = _Links()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def _pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_link_leads_somewhere_in_the_folder(site: Path) -> None:
    pages = {path: _parsed(path) for path in _pages(site)}
    assert len(pages) > 30
    for path, parsed in pages.items():
        for link in parsed.found:
            split = urlsplit(link)
            assert not split.scheme and not split.netloc, f"{path}: {link} leads out"
            target = (path.parent / unquote(split.path)).resolve() if split.path else path
            assert target.is_relative_to(site), f"{path}: {link}"
            assert target.exists(), f"{path}: {link} is missing"
            if split.fragment and "=" not in split.fragment and target in pages:
                assert unquote(split.fragment) in pages[target].ids, f"{path}: {link}"


def test_no_page_holds_a_script_a_style_or_a_handler(site: Path) -> None:
    for path in _pages(site):
        assert not _parsed(path).inline, path
        text = path.read_text(encoding="utf-8")
        assert "default-src &#39;none&#39;" in text
        assert not re.search(r"<script(?! src=\"[./]*assets/)", text), path


def test_names_of_files_are_plain_whatever_trials_are_called(site: Path) -> None:
    for path in site.rglob("*"):
        name = path.relative_to(site).as_posix()
        assert re.fullmatch(r"[A-Za-z0-9_./-]+", name) and ".." not in name
        assert not path.is_symlink()


def test_nothing_of_a_guest_reaches_a_file_raw(site: Path) -> None:
    for path in site.rglob("*"):
        if path.is_dir() or "vendor" in path.parts:
            continue
        data = path.read_bytes()
        if path.suffix == ".md":  # in a block of code, four spaces in, nothing is markup
            data = b"\n".join(x for x in data.split(b"\n") if not x.startswith(b"    "))
        if path.suffix in (".html", ".md"):
            assert SCRIPT.encode() not in data and IMAGE.encode() not in data, path
        if path.suffix in (".html", ".md", ".json", ".txt"):
            assert b"\x1b" not in data and b"root:x:0" not in data, path


def test_every_page_has_twins_that_say_the_same(site: Path, study: Study) -> None:
    for path in _pages(site):
        twin = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        assert twin["schema"] == 1 and twin["page"] == path.relative_to(site).as_posix()
        text = path.with_suffix(".md").read_text(encoding="utf-8")
        assert text.startswith("# ") and not re.search(r"^#+ *$", text, re.MULTILINE)
        tables = re.findall(r"(?:^\|.*\n){3,}", text, re.MULTILINE)
        assert len(tables) == len(set(tables)), path
    tiers = json.loads((site / "index.json").read_text(encoding="utf-8"))["sections"]["tiers"]
    shares = {row["who"]: row["share"] for row in tiers[0]["rows"] if row["share"] is not None}
    for who, share in shares.items():
        own = [r for r in study.records if r.who == who and r.verdict is not Verdict.ERROR]
        won = sum(r.verdict is Verdict.RESOLVED for r in own)
        assert share == won / len(own)


def test_a_folder_whose_name_is_no_utf_8_is_shown(tmp_path: Path) -> None:
    job = tmp_path / os.fsdecode(b"job-\xff")
    write_job(job, Design(1, 1, 1, milestones=2, steps=2, consoles=False))
    done = build(Study("odd", collect([job])), tmp_path / "site")
    (page,) = (done.folder / "trials").rglob("*.json")
    assert "/job-?/" in json.loads(page.read_text(encoding="utf-8"))["trial"]["folder"]


def test_numbers_are_numbers_for_machines_whoever_computed_them() -> None:
    cells = (Cell(np.float64(0.5), ""), Cell(np.int64(7), ""), Cell(np.float64("nan"), ""))
    columns = tuple(Column(key, key) for key in "abc")
    page = Page("a.html", "a", (Section("s", "s", (Table("t", "", columns, (cells,)),)),))
    page = replace(page, about={"not known": math.nan})
    for title in ("a", os.fsdecode(b"\xff")):
        told = json.loads(to_json(replace(page, title=title)), parse_constant=pytest.fail)
        assert told["sections"]["s"][0]["rows"] == [{"a": 0.5, "b": 7, "c": None}]
        assert told["not known"] is None


def test_a_chart_carries_its_numbers_as_a_table(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    figure = text.partition('<figure id="f-resolved">')[2].partition("</figure>")[0]
    assert "<svg" in figure and "<table" in figure
    assert 'role="img"' in figure


def test_the_first_page_is_small(site: Path) -> None:
    parsed = _parsed(site / "index.html")
    loaded = [site / link for link in parsed.found if link.startswith("assets/")]
    size = sum(path.stat().st_size for path in [site / "index.html", *loaded])
    fonts = sum(p.stat().st_size for p in (site / "assets").rglob("*.woff2"))
    assert size + fonts < FIRST_PAGE_BYTES


def test_an_older_site_is_replaced_and_a_foreign_folder_is_not(
    study: Study, tmp_path: Path
) -> None:
    small = Study("small", collect([study.records[0].source]))
    small = Study("small", type(study.collection)(small.records[:1], ()))
    first = build(small, tmp_path / "site")
    (first.folder / "old.html").write_text("old")
    assert not (build(small, tmp_path / "site").folder / "old.html").exists()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds no site"):
        build(small, foreign)
    assert (foreign / "thesis.txt").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["foreign", "site"]


def test_what_was_built_is_counted(built: Built, study: Study) -> None:
    assert built.n_pages == len(_pages(built.folder))
    assert built.n_pages > len(study.records)


def test_slugs_are_different_for_different_names_and_stay_the_same() -> None:
    names = ["a/b", "a b", "../..", "..", "", "ä", "x" * 300, "x" * 300 + "y"]
    found = slugs(names)
    assert len(set(found.values())) == len(names)
    assert found == slugs(reversed(names))
    assert all(re.fullmatch(r"[a-z0-9-]+", slug) for slug in found.values())
