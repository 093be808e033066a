"""Pictures of a site's main pages: light, dark, phone and paper.

    .venv/bin/python tests/site/screenshots.py SITE FOLDER [PAGE…]

SITE is a folder that `benchflow site` made; without PAGE the main pages and one of each kind.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from browser import browser, page

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "dark"},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "color_scheme": "light",
        "is_mobile": True,
    },
    "paper": {"viewport": {"width": 718, "height": 1016}},  # A4 within its margins
}


def main_pages(site: Path) -> list[str]:
    """The top pages, and of each folder the page that has most to show."""
    names = sorted(path.name for path in site.glob("*.html"))
    for folder in ("tasks", "agents", "comparisons", "trials"):
        found = sorted((site / folder).rglob("*.html"), key=lambda p: p.stat().st_size)
        names += [found[-1].relative_to(site).as_posix()] if found else []
    return names


def main() -> None:
    site, folder = Path(sys.argv[1]).absolute(), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    names = sys.argv[3:] or main_pages(site)
    with browser() as opened:
        for look, options in LOOKS.items():
            with page(opened, **options) as (tab, faults):
                tab.emulate_media(media="print" if look == "paper" else "screen")
                for name in names:
                    tab.goto(f"{(site / name.partition('#')[0]).as_uri()}#{name.partition('#')[2]}")
                    tab.wait_for_timeout(700)
                    for box in tab.query_selector_all("[data-console]")[:1]:
                        box.scroll_into_view_if_needed()
                        tab.wait_for_timeout(1500)
                    tab.evaluate("scrollTo(0, 0)")
                    stem = name.partition("#")[0].removesuffix(".html").replace("/", "-")
                    path = folder / f"{stem}.{look}.png"
                    tab.screenshot(path=path, full_page=True)
                    print(path, *faults, sep="\n  ")
                    faults.clear()


if __name__ == "__main__":
    main()
