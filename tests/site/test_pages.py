"""The pages in a real browser, opened from disk: they render, work and are accessible."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import page
from made_up import LONG
from playwright.sync_api import Browser, Page

from benchflow.results.model import Verdict
from benchflow.site.study import Study
from benchflow.site.urls import trial_page

WIDE = {"viewport": {"width": 1280, "height": 800}}
PAPER = {"viewport": {"width": 718, "height": 1016}}  # A4 within its margins, in CSS pixels
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True}
FOCUSABLE = (
    "index.html",
    "matrix.html",
    "tasks.html",
    "trials.html",
    "comparisons.html",
    "skills.html",
    "ladders.html",
    "failures.html",
    "budgets.html",
    "hosts.html",
    "ledger.html",
)


def until(tab: Page, condition: str, seconds: float = 60) -> None:
    """Waits for a condition in the page; its policy forbids what Playwright's own waiting needs."""
    end = time.monotonic() + seconds
    while not tab.evaluate(condition):
        assert time.monotonic() < end, f"never came true: {condition}"
        tab.wait_for_timeout(50)


def _one_of_each(site: Path, study: Study) -> list[str]:
    folders = ("agents", "tasks", "comparisons")
    found = [sorted((site / f).glob("*.html"))[0].relative_to(site).as_posix() for f in folders]
    return [*FOCUSABLE, *found, _trial(study)]


def _trial(study: Study) -> str:
    """A failed trial with a console and a trajectory."""
    record = next(
        r
        for r in study.records
        if r.verdict is Verdict.FAILED and r.trajectories and r.job == "plain" and r.n_passed > 2
    )
    return trial_page(record.uid)


def _long(study: Study) -> str:
    return trial_page(next(r.uid for r in study.records if r.job == "long"))


def test_pages_render_without_a_word_on_the_console(
    opened: Browser, site: Path, study: Study
) -> None:
    with page(opened, **WIDE) as (tab, faults):
        for name in _one_of_each(site, study):
            tab.goto((site / name).as_uri())
            tab.wait_for_timeout(150)
            assert tab.locator("h1").inner_text()
            assert faults == [], name


def test_no_hostile_text_runs(opened: Browser, site: Path, study: Study) -> None:
    hostile = [record for record in study.records if record.job == "hostile"]
    assert len(hostile) == 3
    names = [*FOCUSABLE]
    names += [trial_page(r.uid) for r in hostile]
    names += [study.at.task(r.task) for r in hostile] + [study.at.entry(r.who) for r in hostile]
    with page(opened, **WIDE) as (tab, faults):
        for name in names:
            tab.goto((site / name).as_uri())
            for box in tab.locator("[data-console]:visible, [data-trajectory]").all():
                box.scroll_into_view_if_needed()
                box.and_(tab.locator("[data-ready]")).wait_for()
            tab.wait_for_timeout(100)
            assert tab.evaluate("window.pwned") is None, name
            assert faults == [], name
            assert (
                tab.locator("main script, main img, main iframe, main b:not(header b)").count() == 0
            )


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (WIDE, "dark"), (PHONE, "light")])
def test_axe_finds_no_serious_violation(
    opened: Browser, site: Path, study: Study, width: dict[str, object], scheme: str
) -> None:
    with page(opened, color_scheme=scheme, bypass_csp=True, **width) as (tab, _):
        for name in _one_of_each(site, study):
            tab.goto((site / name).as_uri())
            tab.wait_for_timeout(200)
            found = Axe().run(tab).response["violations"]
            serious = [
                (v["id"], [node["html"][:160] for node in v["nodes"][:3]])
                for v in found
                if v["impact"] in ("serious", "critical")
            ]
            assert serious == [], name


def test_no_page_is_wider_than_a_phone(opened: Browser, site: Path, study: Study) -> None:
    with page(opened, **PHONE) as (tab, _):
        for name in _one_of_each(site, study):
            tab.goto((site / name).as_uri())
            tab.wait_for_timeout(100)
            assert tab.evaluate("document.documentElement.scrollWidth") <= 390, name


def test_filters_and_sorting_are_in_the_address(opened: Browser, site: Path, study: Study) -> None:
    with page(opened, **WIDE) as (tab, _):
        tab.goto((site / "matrix.html").as_uri())
        tab.keyboard.press("/")
        tab.keyboard.type("task-02")
        until(tab, "location.hash.includes('task-02')")
        assert tab.locator("tbody tr:visible").count() == 1
        address = tab.url
        tab.goto("about:blank")
        tab.goto(address)
        assert tab.locator("tbody tr:visible").count() == 1
        tab.goto((site / "tasks.html").as_uri() + "#tasks.sort=-8")
        tab.wait_for_selector('th[aria-sort="descending"]')
        trials = [int(t) for t in tab.locator("tbody tr td:nth-of-type(8)").all_inner_texts()]
        assert trials == sorted(trials, reverse=True) and len(trials) == len(study.tasks)


def test_the_list_of_trials_filters_and_restores(opened: Browser, site: Path, study: Study) -> None:
    failed = sum(record.verdict is Verdict.FAILED for record in study.records)
    with page(opened, **WIDE) as (tab, _):
        tab.goto((site / "trials.html").as_uri() + "#verdict=failed")
        tab.wait_for_selector("[data-trials][data-ready]")
        assert (
            f"{failed} of {len(study.records)}" in tab.locator(".tools [role=status]").inner_text()
        )
        tab.locator('select[data-key="task"]').select_option(study.tasks[-1])
        assert "task=" in tab.url and "verdict=failed" in tab.url
        tab.locator("a.trial-row").first.click()
        tab.wait_for_url("**/trials/*/*.html")
        assert study.tasks[-1] in tab.locator("h1").inner_text()


@pytest.mark.usefixtures("has_player")
def test_the_player_plays_and_jumps_to_a_marker(opened: Browser, site: Path, study: Study) -> None:
    with page(opened, **WIDE) as (tab, faults):
        tab.goto((site / _trial(study)).as_uri())
        box = tab.locator("[data-console]").first
        box.scroll_into_view_if_needed()
        tab.wait_for_selector("[data-console][data-ready] .ap-player")
        tab.locator(".ap-overlay-start").click()
        until(
            tab,
            "document.querySelector('[data-console]').player.getCurrentTime() > 1",
        )
        tab.locator(".markers button").nth(1).click()
        at = tab.evaluate("document.querySelector('[data-console]').player.getCurrentTime()")
        marker = tab.locator(".markers button").nth(1).inner_text()
        assert at >= 3 and "passed" in marker
        assert "console=0" in tab.url and "t=" in tab.url
        assert faults == []


def test_the_console_is_searched_and_a_link_restores_the_place(
    opened: Browser, site: Path, study: Study
) -> None:
    with page(opened, **WIDE) as (tab, _):
        tab.goto((site / _trial(study)).as_uri() + "#console=0&find=login")
        tab.wait_for_selector("[data-console][data-ready]")
        assert re.fullmatch(r"1 of \d+", tab.locator(".console .found").inner_text())
        assert tab.locator(".line.hit mark").first.inner_text() == "login"
        tab.locator(".console .bar input[type=checkbox]").check()
        lines = tab.locator(".console .line").all_inner_texts()
        assert lines and all("login" in line for line in lines)


def test_a_trajectory_folds_searches_and_links(opened: Browser, site: Path, study: Study) -> None:
    with page(opened, **WIDE) as (tab, faults):
        tab.goto((site / _trial(study)).as_uri() + "#step=5")
        tab.wait_for_selector(".step.here")
        assert tab.locator(".step.here b").inner_text() == "5"
        tab.keyboard.press("j")
        until(tab, "document.querySelector('.step.here b')?.textContent === '6'")
        assert "step=6" in tab.url
        opened_before = tab.locator(".step.open").count()
        tab.keyboard.press("o")
        assert tab.locator(".step.open").count() == opened_before - 1
        tab.locator(".trajectory input").fill("step 9")
        until(tab, "document.querySelector('.trajectory .found').textContent === '1 of 1'")
        assert tab.locator(".step.here mark").first.inner_text().lower() == "step 9"
        assert faults == []


def test_fifty_thousand_steps_do_not_stall(opened: Browser, site: Path, study: Study) -> None:
    with page(opened, **WIDE) as (tab, faults):
        began = time.perf_counter()
        tab.goto((site / _long(study)).as_uri() + f"#step={LONG - 10}")
        until(tab, f"document.querySelector('.step.here b')?.textContent === '{LONG - 10}'")
        assert time.perf_counter() - began < 60
        assert tab.locator(".step").count() < 60
        usual = tab.evaluate(
            """async () => {
                const box = document.querySelector('.trajectory .list');
                const turns = [];
                for (let turn = 0; turn < 40; turn += 1) {
                    const before = performance.now();
                    box.scrollTop = box.scrollHeight * turn / 40;
                    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
                    turns.push(performance.now() - before);
                }
                return turns.sort((a, b) => a - b)[20];  // one turn may meet a busy machine
            }"""
        )
        assert usual < 1500
        assert faults == []


def test_dark_is_kept_and_everything_is_reached_by_keyboard(opened: Browser, site: Path) -> None:
    with page(opened, color_scheme="light", **WIDE) as (tab, _):
        tab.goto((site / "index.html").as_uri())
        light = tab.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.className") == "skip"
        tab.locator("[data-theme-switch]").focus()
        tab.keyboard.press("Enter")
        dark = tab.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
        assert dark != light
        tab.goto((site / "matrix.html").as_uri())
        assert tab.evaluate("getComputedStyle(document.body.parentElement).backgroundColor") == dark


def test_the_first_page_takes_less_than_a_second_of_a_processor(
    opened: Browser, site: Path
) -> None:
    with page(opened, **WIDE) as (tab, _):
        session = tab.context.new_cdp_session(tab)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        tab.goto((site / "index.html").as_uri())
        metrics = session.send("Performance.getMetrics")["metrics"]
        took = next(m["value"] for m in metrics if m["name"] == "TaskDuration")
        assert 0 < took < 1


def test_pages_fit_on_paper(opened: Browser, site: Path, study: Study) -> None:
    with page(opened, **PAPER) as (tab, faults):
        tab.emulate_media(media="print")
        for name in _one_of_each(site, study):
            tab.goto((site / name).as_uri())
            tab.locator("h1").wait_for()
            assert tab.evaluate("document.documentElement.scrollWidth") <= 718, name
        assert tab.pdf(format="A4").startswith(b"%PDF")
        assert faults == []
