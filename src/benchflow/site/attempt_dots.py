"""The trials of one agent and model at one task as dots, each leading to its page.

The same dots stand on the page of each of these trials and on one page for every comparison: they
are made and rendered once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.site.page_model import Cell
from benchflow.site.urls import trial_page

if TYPE_CHECKING:
    from markupsafe import Markup

Dots = tuple[tuple[str, str, str], ...]
#: As many as a site of 100,000 trials has cells.
_CELLS = 4096


def attempts(records: Iterable[Record], limit: int = 400) -> Cell:
    """A dot for each trial, leading to its page."""
    kept = list(records)
    dots = tuple((r.verdict.value, attempt_title(r), trial_page(r.uid)) for r in kept[:limit])
    resolved = sum(record.verdict is Verdict.RESOLVED for record in kept)
    return Cell([record.uid for record in kept], f"{resolved}/{len(kept)}", dots=dots)


def attempt_title(record: Record) -> str:
    """A trial in few words."""
    milestones = (
        f", {record.n_passed} of {len(record.milestones)} {record.milestone_kind}s"
        if record.milestones
        else ""
    )
    cause = f", {record.cause or record.failure_mode}" if record.cause else ""
    return f"{record.verdict.value}: {record.trial}{milestones}{cause}"


@lru_cache(_CELLS)
def as_html(dots: Dots, root: str) -> Markup:
    """Dots on a page from which `root` leads to the site's root."""
    from markupsafe import Markup

    one = Markup('<a class="dot {}" href="{}{}" title="{}"><span class="sr">{}</span></a>')
    few = " few" if len(dots) <= 10 else ""
    each = Markup("").join(one.format(t, root, href, title, title) for t, title, href in dots)
    return Markup('<span class="dots{}">{}</span>').format(few, each)
