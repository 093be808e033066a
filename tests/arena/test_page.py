"""The arena in a real browser: a desk and a phone, keyboard alone, axe, a server, votes that come
back signed."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.needs import needs

sys.path.insert(0, str(Path(__file__).parents[1] / "site"))
from browser import browser, page

from benchflow.arena.make import Made, make
from benchflow.arena.pack import write
from benchflow.people.answers import MOST_BYTES
from benchflow.people.server import app, listen
from benchflow.people.store import Store

from .made_arena import png, trial

pytestmark = pytest.mark.needs("time")
DESK = {"viewport": {"width": 1280, "height": 860}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
EVIL = "</script><img src=x onerror=document.title='owned'><b>&amp;"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    top = tmp_path_factory.mktemp("trials")
    found = []
    for n, task in enumerate(("spin/live-iso", "repair/dead-server", "embedded/ab-update")):
        for agent in ("one", "two"):
            lines = [
                (at / 2, f"[{at}] {agent} {EVIL}") for at in range(60 if agent == "one" else 9)
            ]
            found.append(
                trial(
                    top / f"{agent}{n}", agent=f"agent-{agent}", model="", task=task, lines=lines,
                    machines=("first", "second"), screen=png(64, 48) if n == 0 else None,
                    readme=EVIL * 30,
                )
            )  # fmt: skip
    return make(found, 3, seed=11)


@pytest.fixture(scope="module")
def folder(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("out") / "arena"
    write(made.arena, made.key, place)
    return place


@pytest.fixture(scope="module")
@needs("browser")
def opened() -> Iterator[Browser]:
    with browser() as running:
        yield running


def at_file(tab: Page, folder: Path) -> None:
    tab.goto((folder / "arena.html").as_uri())
    tab.wait_for_selector("body[data-ready]")


def vote(tab: Page) -> None:
    """All pairs, as somebody who looks and prefers whatever printed something."""
    tab.click("#begin")
    while tab.query_selector("section.pair:not([hidden])"):
        pair = tab.locator("section.pair:not([hidden])")
        pair.get_by_role("button", name="Go to the end").click()
        blank = pair.locator("h2 span").all_inner_texts().index("printed nothing") if (
            "printed nothing" in pair.locator("h2 span").all_inner_texts()) else -1  # fmt: skip
        for name in {box.get_attribute("name") for box in pair.locator("input[type=radio]").all()}:
            value = ("right", "left", "left")[blank]
            tab.check(f'input[name="{name}"][value="{value}"]')
        pair.locator("[data-next]").click()


@pytest.mark.parametrize("look", [DESK, PHONE], ids=["desk", "phone"])
def test_votes_come_back_signed(
    opened: Browser, made: Made, folder: Path, look: dict[str, Any]
) -> None:
    with page(opened, **look) as (tab, faults):
        at_file(tab, folder)
        vote(tab)
        tab.click("#save")
        assert "Tick that your votes" in tab.inner_text("#finish .faults")
        tab.check("#consent")
        with tab.expect_download() as download:
            tab.click("#save")
        signed = made.arena.votes(download.value.path().read_bytes())
        assert len(signed.body.votes) == 5 and tab.title() != "owned" and faults == []
        assert {vote.looked for vote in signed.body.votes} == {"end"}, "going there is a look"
        assert {vote.played for vote in signed.body.votes} == {0}
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_both_consoles_play_on_one_clock(opened: Browser, made: Made, folder: Path) -> None:
    with page(opened, **DESK) as (tab, faults):
        at_file(tab, folder)
        tab.click("#begin")
        pair = tab.locator("section.pair:not([hidden])")
        while "printed nothing" in pair.inner_text():
            pair.get_by_role("button", name="Go to the end").click()
            for box in pair.locator("input[value=left]").all():
                box.check()
            pair.locator("[data-next]").click()
        slider = pair.locator("input[type=range]")
        shown = pair.locator(".console")

        def lines() -> list[int]:
            texts = [text.strip() for text in shown.all_inner_texts()]
            return sorted(len(text.splitlines()) if text else 0 for text in texts)

        assert max(lines()) <= 1, "nothing plays by itself"
        slider.fill("100")
        # 29.5 s in all, 2.95 s in: six lines of each, since both print every half second.
        assert lines() == [6, 6]
        slider.fill("1000")
        assert lines() == [9, 60]
        slider.fill("0")
        pair.get_by_role("button", name="Play").click()
        expect(shown.first).to_contain_text("[2]", timeout=60_000)
        pair.get_by_role("button", name="Pause").click()
        assert min(lines()) > 0 and faults == []
        second = pair.get_by_role("button", name="second")
        second.click()
        assert second.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("look", [DESK, PHONE], ids=["desk", "phone"])
def test_keyboard_alone_is_enough(
    opened: Browser, made: Made, folder: Path, look: dict[str, Any]
) -> None:
    with page(opened, **look) as (tab, faults):
        at_file(tab, folder)

        def to(selector: str) -> None:
            for _ in range(60):
                if tab.evaluate("(s) => document.activeElement.matches(s)", selector):
                    return
                tab.keyboard.press("Tab")
            raise AssertionError(f"{selector} is not reached")

        to("#begin")
        tab.keyboard.press("Enter")
        for n in range(5):
            assert tab.evaluate("document.activeElement.tagName") == "H1", "a new pair is announced"
            pair = tab.locator("section.pair:not([hidden])")
            assert f"Pair {n + 1} of 5" in pair.inner_text()
            to("section.pair:not([hidden]) .transport button:nth-of-type(2)")
            tab.keyboard.press("Enter")
            for question in pair.locator("fieldset.choice").all():
                to(f"#{question.get_attribute('id')} input")
                tab.keyboard.press("Space")
            to("section.pair:not([hidden]) [data-next]")
            tab.keyboard.press("Enter")
        to("#consent")
        tab.keyboard.press("Space")
        to("#save")
        with tab.expect_download() as download:
            tab.keyboard.press("Enter")
        made.arena.votes(download.value.path().read_bytes())
        tab.wait_for_selector("#done:not([hidden])")
        assert "Saved. Thank you!" in tab.inner_text("#done") and faults == []


def test_a_vote_without_a_look_is_said_and_recorded(
    opened: Browser, made: Made, folder: Path
) -> None:
    with page(opened, **DESK) as (tab, faults):
        tab.clock.install(time=0)
        tab.clock.pause_at(1)  # else seconds with documents in view are a look
        at_file(tab, folder)
        tab.click("#begin")
        pair = tab.locator("section.pair:not([hidden])")
        for n in range(5):
            for box in pair.locator("input[value=left]").all():
                box.check()
            said = pair.locator(".faults")
            if n == 0:
                pair.get_by_label("Time, both consoles").fill("300")
            pair.locator("[data-next]").click()
            if n > 0:
                expect(said).to_contain_text("You have not looked at either side yet")
                expect(said).to_be_focused()
                if n == 1:
                    pair.get_by_role("button", name="Go to the end").click()
                    expect(said).to_be_hidden()
                pair.locator("[data-next]").click()
        rows = tab.locator("#overview li")
        unseen = ["without a look" in row for row in rows.all_inner_texts()]
        assert unseen == [False, False, True, True, True]
        rows.nth(2).locator("button").click()
        expect(pair).to_contain_text("Pair 3 of 5")
        for _ in range(3):
            pair.locator("[data-next]").click()
            pair.locator("[data-next]").click()
        tab.check("#consent")
        with tab.expect_download() as download:
            tab.click("#save")
        votes = made.arena.votes(download.value.path().read_bytes()).body.votes
        assert [vote.looked for vote in votes] == ["part", "end", "none", "none", "none"]
        assert faults == []


def test_documents_in_view_for_seconds_are_a_look(opened: Browser, folder: Path) -> None:
    with page(opened, **DESK) as (tab, _):
        tab.clock.install(time=0)
        tab.clock.pause_at(1)
        at_file(tab, folder)
        tab.click("#begin")
        pair = tab.locator("section.pair:not([hidden])")
        while not pair.locator("details.words").count():
            pair.get_by_role("button", name="Go to the end").click()
            for box in pair.locator("input[value=left]").all():
                box.check()
            pair.locator("[data-next]").click()
        for box in pair.locator("input[value=left]").all():
            box.check()
        place = pair.locator("[data-place]").inner_text()
        pair.locator("details.words").first.scroll_into_view_if_needed()
        tab.clock.run_for(4000)
        pair.locator("[data-next]").click()
        expect(pair.locator("[data-place]")).not_to_have_text(place)


def test_each_machine_is_explained_and_the_clock_says_what_it_leaves_out(
    opened: Browser, folder: Path
) -> None:
    with page(opened, **DESK) as (tab, faults):
        at_file(tab, folder)
        tab.click("#begin")
        pair = tab.locator("section.pair:not([hidden])")
        expect(pair.locator(".what")).to_contain_text("Machine first: its task does not say")
        pair.get_by_role("button", name="second").click()
        expect(pair.locator(".what")).to_contain_text("Machine second: ")
        expect(pair.locator(".clock-note")).to_contain_text("for more than 2 seconds")
        heads = pair.locator(".two h2").all_inner_texts()
        assert not any(digit in head for head in heads for digit in "0123456789"), heads
        assert faults == []


def test_an_unanswered_pair_is_said_and_a_draft_is_kept(opened: Browser, folder: Path) -> None:
    with page(opened, **DESK) as (tab, _):
        at_file(tab, folder)
        tab.click("#begin")
        first = tab.locator("section.pair:not([hidden])")
        name = first.get_attribute("id")
        first.locator("[data-next]").click()
        assert "Answer each question first" in first.locator(".faults").inner_text()
        first.locator("input[value=right]").first.check()
        first.locator("textarea").fill("because")
        tab.reload()
        tab.wait_for_selector("body[data-ready]")
        again = tab.locator("section.pair:not([hidden])")
        assert again.get_attribute("id") == name, "the same order, where it was left"
        assert again.locator("input[value=right]").first.is_checked()
        assert again.locator("textarea").input_value() == "because"


def test_order_and_sides_are_drawn_in_each_browser(
    opened: Browser, made: Made, folder: Path
) -> None:
    seen = set()
    for _ in range(6):
        with page(opened, **DESK) as (tab, _):
            at_file(tab, folder)
            tab.click("#begin")
            kept = f"localStorage.getItem('benchflow-arena-{made.arena.digest}')"
            draft = json.loads(tab.evaluate(kept))
            seen.add((tuple(draft["order"]), json.dumps(draft["turned"], sort_keys=True)))
    assert len(seen) > 3


@pytest.mark.parametrize("look", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    opened: Browser, folder: Path, look: dict[str, Any], scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    def violations() -> list[str]:
        found = Axe().run(tab).response["violations"]
        return [f"{v['id']}: {v['nodes'][0]['html'][:160]}" for v in found]

    # The policy lets nothing be added to the page, axe neither.
    with page(opened, **look, color_scheme=scheme, bypass_csp=True) as (tab, _):
        at_file(tab, folder)
        assert violations() == []
        tab.click("#begin")
        assert violations() == []
        tab.locator("section.pair:not([hidden]) [data-next]").click()
        assert violations() == []
        while tab.query_selector("section.pair:not([hidden])"):
            pair = tab.locator("section.pair:not([hidden])")
            for box in pair.locator("input[value=left]").all():
                box.check()
            pair.get_by_role("button", name="Go to the end").click()
            pair.locator("[data-next]").click()
        assert violations() == []


@contextmanager
def serving(made: Made, store: Store) -> Iterator[str]:
    listener = listen("127.0.0.1", 0)
    server = listener.server(app([made.arena], store))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener.socket]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.port}"
    finally:
        server.should_exit = True
        thread.join()


def test_a_link_is_worth_one_set_of_votes(opened: Browser, made: Made, tmp_path: Path) -> None:
    store = Store(tmp_path / "answers.sqlite")
    (code,) = store.new_links(made.arena.digest, ["v1"])
    with serving(made, store) as url, page(opened, **PHONE) as (tab, faults):
        tab.goto(f"{url}/r/{code}")
        tab.wait_for_selector("body[data-ready]")
        vote(tab)
        tab.check("#consent")
        tab.click("#send")
        tab.wait_for_selector("#done:not([hidden])")
        deletion = tab.locator("#done a").get_attribute("href")
        (kept,) = store.envelopes(MOST_BYTES)
        assert made.arena.votes(kept).body.link and faults == []
        assert tab.evaluate("Object.keys(localStorage)") == ["benchflow-rater-key"]
        assert "Thank you" in (tab.goto(f"{url}/r/{code}") and tab.inner_text("h1"))
        assert deletion
        tab.goto(deletion)
        tab.click("button")
        assert list(store.envelopes(MOST_BYTES)) == []
