"""What several pages say the same way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from benchflow.base import numbers
from benchflow.site.page_model import Cell, Link, Page, Prose, Span, Table

if TYPE_CHECKING:  # what writes the pages of trials need not load the statistics
    from benchflow.analysis.rates import Rate
    from benchflow.site.study import Study

#: Takes a file that belongs to a page: its path from the site's root, and its text.
Put = Callable[[str, str], None]
#: Makes one page, and puts its files beside it.
Maker = Callable[[Put], Page]

_MOST_NAMES = 12
OVERVIEW = Link("Overview", "index.html")
BOTH_KINDS = (
    "± other tasks: how far the figure may move on other tasks of the same kind. ± re-runs only: "
    "how far it may move when the same tasks are run again, which is what tables usually print."
)


def text(value: str, href: str = "", tone: str = "", note: str = "") -> Cell:
    """A cell whose value is its text."""
    return Cell(value, value or numbers.MISSING, href=href, tone=tone, note=note)


def number(value: float | None, shown: str | None = None, href: str = "", tone: str = "") -> Cell:
    """A number; with thousands separated where no text is given."""
    return Cell(value, numbers.count(value) if shown is None else shown, href=href, tone=tone)


def share_cell(value: float | None, href: str = "", note: str = "") -> Cell:
    """A share as a percentage."""
    return Cell(value, numbers.percent(value), href=href, note=note)


def seconds_cell(value: float | None) -> Cell:
    """Seconds, as people read them."""
    return Cell(value, numbers.duration(value))


def rate_cell(rate: Rate | None, share: float | None) -> Cell:
    """A rate with both of its intervals drawn."""
    if rate is None:
        return share_cell(share)
    inner = rate.rerun_only
    return Cell(
        share,
        numbers.percent(share, 2),
        span=Span(
            rate.total.value,
            (rate.total.low, rate.total.high),
            (inner.low, inner.high) if inner else None,
        ),
    )


def half_cell(half: float | None) -> Cell:
    """A half width of a share, as “± points”. That of a `Rate` stands in its `plus_minus`: its
    intervals are cut at 0 and 1."""
    return Cell(half, numbers.plus_minus(half))


def interval_cell(low: float, high: float) -> Cell:
    """Both ends of an interval of a share."""
    return Cell([low, high], f"{numbers.percent(low)} to {numbers.percent(high)}")


def heat(value: float | None) -> str:
    """The tone of a share on a heat map."""
    return "none" if value is None else f"h{round(10 * value)}"


def known_columns(table: Table) -> Table:
    """`table` without the columns in which nothing is known."""
    kept = [
        at
        for at, _ in enumerate(table.columns)
        if at == 0 or any(row[at].value not in (None, "") for row in table.rows)
    ]
    return replace(
        table,
        columns=tuple(table.columns[at] for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in table.rows),
    )


def nothing(why: str) -> Prose:
    """Where there is nothing to show, the reason in words."""
    return Prose(((why,),), "note")


def by_reason(refused: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(reason, the names that it holds for), each reason once."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, why in refused.items():
        names[why].append(name)
    for why, found in names.items():
        more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
        yield why, ", ".join(found[:_MOST_NAMES]) + more


def median(values: Iterable[float | None]) -> float | None:
    """The middle of what is known; None where nothing is."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    middle = len(known) // 2
    return known[middle] if len(known) % 2 else (known[middle - 1] + known[middle]) / 2


def who_cell(study: Study, who: str) -> Cell:
    """An agent and model, leading to its page."""
    return text(who, study.at.entry(who))
