"""Debian's Chromium, driven by Playwright: what the site's tests and screenshots look through."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, Request, sync_playwright

_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium() -> str | None:
    """Where the browser is; None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless browser; closed at the end."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), headless=True, args=_FLAGS)
        try:
            yield opened
        finally:
            opened.close()


def _note(faults: list[str], request: Request) -> None:
    # What was still under way when a page was left is no fault of the page.
    if request.failure != "net::ERR_ABORTED":
        faults.append(f"{request.url}: {request.failure}")


@contextmanager
def page(opened: Browser, **options: Any) -> Iterator[tuple[Page, list[str]]]:
    """A tab in a context of its own, and what went wrong in it so far (console, page errors)."""
    context = opened.new_context(**options)
    tab = context.new_page()
    faults: list[str] = []
    tab.on("console", lambda m: faults.append(m.text) if m.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("requestfailed", lambda r: _note(faults, r))
    try:
        yield tab, faults
    finally:
        context.close()
