"""The page of ratings in a real browser: by keyboard alone, on a phone and a desk, hostile."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect
from tests.needs import needs
from tests.site.browser import browser, page

from benchflow.people.answers import Signed, hash_of
from benchflow.people.pack import Pack
from benchflow.people.questionnaire import PAGE, RatingQuestions, write
from benchflow.people.rating import Hours
from benchflow.people.server import app, listen
from benchflow.people.store import Store

from .made_packs import NAMES, hostile, pack, rating, task
from .rater import Rater

SIZES: dict[str, dict[str, Any]] = {
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "is_mobile": True,
        "has_touch": True,
    },
    "desk": {"viewport": {"width": 1280, "height": 900}},
}
WORDS = "</script><img src=x onerror=alert(1)> “für” 𝄞"


@pytest.fixture(scope="module")
@needs("browser")
def opened() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture(params=SIZES)
def tab(request: pytest.FixtureRequest, opened: Browser) -> Iterator[Page]:
    """A tab in which nothing may go wrong."""
    with page(opened, **SIZES[request.param]) as (found, faults):
        yield found
        assert faults == []


@pytest.fixture
def at_desk(opened: Browser) -> Iterator[Page]:
    with page(opened, **SIZES["desk"]) as (found, faults):
        yield found
        assert faults == []


def of_file(made: Pack, folder: Path) -> str:
    write(made, folder)
    return (folder / PAGE).as_uri()


def reach(tab: Page, selector: str, most: int = 250) -> None:
    """Tab until the element has the focus, as who has no mouse does."""
    for _ in range(most):
        if tab.evaluate("s => document.activeElement?.matches(s) ?? false", selector):
            return
        tab.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached with the keyboard")


def answer_by_keyboard(tab: Page, n_tasks: int) -> None:
    """Everything that has to be answered, in the order of the page."""
    for at in range(n_tasks):
        reach(tab, f'[name="t{at}.work"]')
        tab.keyboard.press("ArrowUp")  # from the first round to the last: daily work
        for field, text in (("low", "1.5"), ("likely", "4"), ("high", "12")):
            reach(tab, f'[name="t{at}.{field}"]')
            tab.keyboard.type(text)
        reach(tab, f'[name="t{at}.sign"]')
        tab.keyboard.press("Space")
        if at == 0:
            reach(tab, '[data-add="t0"]')
            tab.keyboard.press("Enter")
            tab.keyboard.type("R1")  # the focus is on the list of demands
            reach(tab, '[data-part="why"]')
            tab.keyboard.type(WORDS)
        reach(tab, f'[name="t{at}.exploit"]')
        tab.keyboard.type(WORDS if at == 0 else "")
        reach(tab, f'[name="t{at}.pay"]')
        tab.keyboard.press("ArrowDown")
    for _ in range(n_tasks * (n_tasks - 1) // 2):
        reach(tab, '.pair:not(:has(:checked)) input[type="radio"]')
        tab.keyboard.press("Space")
    reach(tab, "#consent")
    tab.keyboard.press("Space")


def saved(tab: Page) -> bytes:
    reach(tab, "#save")
    with tab.expect_download() as coming:
        tab.keyboard.press("Enter")
    return Path(coming.value.path()).read_bytes()


def accessible(tab: Page) -> None:
    found = Axe().run(tab)
    assert found.violations_count == 0, found.generate_report()


def test_an_expert_answers_by_keyboard_and_the_file_is_what_was_typed(
    tab: Page, tmp_path: Path
) -> None:
    made, asked_for = pack(), []
    tab.on("request", lambda request: asked_for.append(request.url))
    where = of_file(made, tmp_path)
    tab.goto(where)
    tab.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    accessible(tab)
    tab.keyboard.press("Tab")
    expect(tab.locator(".skip")).to_be_focused()
    answer_by_keyboard(tab, len(NAMES))
    given = made.rating(saved(tab)).body
    assert [one.task for one in given.tasks] == list(NAMES)
    assert given.tasks[0].hours == Hours(1.5, 4, 12)
    assert [(d.demand, d.what, d.why) for d in given.tasks[0].doubts] == [("R1", "unclear", WORDS)]
    assert (given.tasks[0].exploit, given.tasks[1].exploit) == (WORDS, "")
    assert {(one.work, one.sign, one.pay) for one in given.tasks} == {("daily", "no", "little")}
    assert {frozenset((p.a, p.b)) for p in given.pairs} == {frozenset(p) for p in made.pairs}
    assert all(pair.harder == pair.a for pair in given.pairs), "the first choice was taken"
    assert not given.rehearsal
    accessible(tab)
    expect(tab.locator("#done")).to_be_focused()
    # The page itself, and the file that it made: no network.
    assert {url.partition(":")[0] for url in asked_for} <= {"file", "blob", "data"}
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_is_missing_is_named_and_leads_there(tab: Page, tmp_path: Path) -> None:
    tab.goto(of_file(pack(), tmp_path))
    tab.locator('[name="t0.low"]').fill("5")
    tab.locator('[name="t0.likely"]').fill("4")
    tab.locator('[name="t0.high"]').fill("12")
    tab.locator("#save").click()
    faults = tab.locator("#faults")
    expect(faults).to_be_focused()
    expect(faults).to_contain_text("repair/lamp: the three hours must rise")
    expect(faults).to_contain_text("tick the box if you agree")
    accessible(tab)
    faults.get_by_text("repair/lamp: the three hours must rise").click()
    expect(tab.locator('[name="t0.low"]')).to_be_focused()
    expect(tab.locator("#done")).to_be_hidden()


def test_the_list_of_what_is_missing_stays_true_and_leads_both_ways(
    tab: Page, tmp_path: Path
) -> None:
    tab.goto(of_file(pack(NAMES[:2]), tmp_path))
    tab.locator("#save").click()
    faults = tab.locator("#faults")
    expect(faults.locator("li")).to_have_count(10)
    tab.locator('[name="t0.sign"]').first.check()
    expect(faults.locator("li")).to_have_count(9)
    expect(faults).not_to_contain_text("repair/lamp: say whether you would sign")
    expect(tab.locator('[name="t0.sign"]').first).to_be_focused()
    faults.get_by_text("repair/lamp: say whether you would pay").click()
    back = tab.locator('[id="t0.pay"]').get_by_text("Back to what is missing")
    expect(back).to_be_in_viewport()
    back.click()
    expect(faults).to_be_focused()
    tab.locator('[name="t1.skip"]').check()
    expect(faults.locator("li")).to_have_count(4)
    tab.locator('[name="t1.skip"]').uncheck()
    expect(faults.locator("li")).to_have_count(9)
    accessible(tab)
    overview = tab.get_by_role("navigation", name="Parts of this page")
    overview.get_by_text("3 to answer").click()
    expect(tab.locator('[name="t0.work"]').first).to_be_focused()
    tab.locator("#t0").get_by_text("Back to the overview").click()
    expect(overview).to_be_in_viewport()
    for at in range(2):
        tab.locator(f'[name="t{at}.nohours"]').check()
        for name in ("work", "sign", "pay"):
            tab.locator(f'[name="t{at}.{name}"]').first.check()
    tab.locator(".pair input").first.check()
    tab.locator("#consent").check()
    expect(faults).to_be_hidden()
    expect(tab.locator(".to-list")).to_have_count(0)


def test_what_is_published_is_said_where_consent_is_given(at_desk: Page, tmp_path: Path) -> None:
    at_desk.goto(of_file(pack(NAMES[:1]), tmp_path))
    said = at_desk.locator("#consent-help")
    expect(said).to_be_visible()
    expect(said).to_contain_text("the answers as you signed them, your words too")
    assert at_desk.locator("#consent").get_attribute("aria-describedby") == "consent-help"


def test_points_add_up_to_a_hundred() -> None:
    thirds = tuple(replace(one, share=0.333333) for one in task(NAMES[0]).milestones[:1] * 3)
    made = Pack("benchflow-pack/1", (replace(task(NAMES[0]), milestones=thirds),))
    shown = re.findall(r"(\d+) % of the points", RatingQuestions(made).page(None))
    assert sorted(shown) == ["33", "33", "34"]


def test_what_was_typed_is_there_after_a_reload_and_gone_when_erased(
    at_desk: Page, tmp_path: Path
) -> None:
    where = of_file(pack(), tmp_path)
    at_desk.goto(where)
    at_desk.locator('[name="t1.low"]').fill("2.5")
    at_desk.locator('[name="t1.work"][value="once"]').check()
    at_desk.locator('[data-add="t1"]').click()
    at_desk.locator('[data-doubts="t1"] [data-part="why"]').fill("kept")
    at_desk.locator('[name="t2.skip"]').check()
    order = at_desk.locator(".pair legend").all_text_contents()
    at_desk.reload()
    expect(at_desk.locator('[name="t1.low"]')).to_have_value("2.5")
    expect(at_desk.locator('[name="t1.work"][value="once"]')).to_be_checked()
    expect(at_desk.locator('[data-doubts="t1"] [data-part="why"]')).to_have_value("kept")
    expect(at_desk.locator("#t2")).to_have_class("task skipped")
    assert at_desk.locator(".pair legend").all_text_contents() == order
    assert at_desk.locator(".pair:visible").count() == 1, "pairs with a skipped task are left out"
    at_desk.get_by_text("What is kept, and how to have it deleted").click()
    at_desk.locator("#erase").click()
    expect(at_desk.locator('[name="t1.low"]')).to_have_value("")
    assert "kept" not in at_desk.evaluate("JSON.stringify(localStorage)")


def test_a_task_that_asks_in_scripts_runs_none(tab: Page, tmp_path: Path) -> None:
    asked_for: list[str] = []
    tab.on("request", lambda request: asked_for.append(request.url))
    tab.goto(of_file(hostile(), tmp_path))
    tab.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert tab.title() == "Rate 2 tasks"
    assert tab.locator(".instruction script, .instruction img, iframe").count() == 0
    hrefs = tab.locator(".instruction a").evaluate_all(
        "all => all.map(a => a.getAttribute('href'))"
    )
    assert all(href is None or href.startswith("https://example.org") for href in hrefs)
    assert len(asked_for) == 1
    accessible(tab)
    for at in range(2):
        tab.locator(f'[name="t{at}.nohours"]').check()
        for name in ("work", "sign", "pay"):
            tab.locator(f'[name="t{at}.{name}"]').first.check()
    tab.locator(".pair input").first.check()
    tab.locator("#consent").check()
    assert hostile().rating(saved(tab)).body.rehearsal


def test_the_timer_counts_over_a_reload(at_desk: Page, tmp_path: Path) -> None:
    at_desk.clock.install(time=0)
    at_desk.clock.pause_at(1)  # else a slow machine's own seconds are counted, too
    at_desk.goto(of_file(pack(), tmp_path))
    at_desk.get_by_text("Try it yourself").first.click()
    at_desk.locator('[data-timer="t0"]').click()
    at_desk.clock.run_for(90_000)
    at_desk.reload()
    at_desk.clock.run_for(30_000)
    at_desk.get_by_text("Try it yourself").first.click()
    expect(at_desk.locator("#t0-clock")).to_have_text("0:02:00")
    at_desk.locator('[data-timer="t0"]').click()
    expect(at_desk.locator('[name="t0.minutes"]')).to_have_value("2.0")


@pytest.mark.parametrize(
    ("taken_away", "algorithm"),
    [
        ("", "Ed25519"),
        (
            """const make = SubtleCrypto.prototype.generateKey;
            SubtleCrypto.prototype.generateKey = function (how, ...rest) {
              if (how.name === "Ed25519") throw new DOMException("", "NotSupportedError");
              return make.call(this, how, ...rest);
            };""",
            "ECDSA-P256-SHA256",
        ),
        (
            "Object.defineProperty(window, 'localStorage', {get() { throw new Error('no'); }});",
            "Ed25519",
        ),
    ],
    ids=["all there", "no Ed25519", "nothing is kept"],
)
def test_browsers_that_lack_something_sign_all_the_same(
    at_desk: Page, tmp_path: Path, taken_away: str, algorithm: str
) -> None:
    made = pack(NAMES[:1])
    at_desk.add_init_script(taken_away)
    at_desk.goto(of_file(made, tmp_path) + "#link=a-code")
    answer_by_keyboard(at_desk, 1)
    data = saved(at_desk)
    assert json.loads(data)["algorithm"] == algorithm
    first = made.rating(data).body
    assert first.link == hash_of("a-code")
    at_desk.locator('[name="t0.low"]').fill("2")
    again = made.rating(saved(at_desk)).body
    assert (again.key, again.revision) == (first.key, 2)


def test_where_nothing_can_be_signed_it_says_so(at_desk: Page, tmp_path: Path) -> None:
    at_desk.add_init_script("Object.defineProperty(crypto, 'subtle', {value: undefined});")
    at_desk.goto(of_file(pack(NAMES[:1]), tmp_path))
    at_desk.locator("#save").click()
    expect(at_desk.locator("#faults")).to_contain_text("cannot be signed here")


@contextmanager
def served(made: Pack, store: Store) -> Iterator[str]:
    listener = listen("127.0.0.1", 0)
    application = app([RatingQuestions(made)], store)
    server = listener.server(application)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener.socket]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.port}"
    finally:
        server.should_exit = True
        thread.join()


def test_answers_are_sent_by_a_link_once_and_deleted_on_request(tab: Page, tmp_path: Path) -> None:
    made, store = pack(NAMES[:2]), Store(tmp_path / "answers.sqlite")
    (code,) = store.new_links(made.digest, ["Ada"])
    with served(made, store) as url:
        tab.goto(f"{url}/r/{code}")
        answer_by_keyboard(tab, 2)
        reach(tab, "#send")
        tab.keyboard.press("Enter")
        expect(tab.locator("#done")).to_contain_text("it deletes your answers")
        accessible(tab)
        (data,) = store.envelopes(1_000_000)
        assert made.rating(data).body.link == store.links()[0].hash
        expect(tab.locator("#kept")).to_have_text(
            "What you typed was sent, and is no longer kept in this browser."
        )
        tab.locator("#comment").fill("one more thing")
        assert tab.evaluate("Object.keys(localStorage)") == ["benchflow-rater-key"]
        deletion = tab.locator("#done a").get_attribute("href")
        tab.goto(str(deletion))
        accessible(tab)
        tab.get_by_role("button", name="Delete my answers").click()
        expect(tab.locator("h1")).to_have_text("Your answers are deleted")
        assert list(store.envelopes(1_000_000)) == []
        tab.goto(f"{url}/r/{code}")
        expect(tab.locator("#send")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_page_of_the_server_is_accessible_in_both_colours(
    opened: Browser, tmp_path: Path, size: str, scheme: str
) -> None:
    made, store = pack(NAMES[:1]), Store(tmp_path / "answers.sqlite")
    used, fresh = store.new_links(made.digest, ["", ""])
    rater = Rater()
    signed = made.rating(rater.envelope(rating(rater, made, link=hash_of(used))))
    token = store.take(used, Signed(signed.body, signed.envelope))
    pages = {
        f"/r/{fresh}": "What do you think of this task?",
        f"/r/{used}": "Thank you: answers came by this link",
        f"/r/{used}x": "There is no such page",
        f"/delete/{token}": "Delete your answers?",
        "/": "Nothing to see",
    }
    with served(made, store) as url, page(opened, **SIZES[size], color_scheme=scheme) as (tab, _):
        for path, heading in pages.items():
            tab.goto(url + path)
            expect(tab.locator("h1")).to_have_text(heading)
            accessible(tab)
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
