"""Numbers as people read them, the same in a terminal, in a report and on a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

MISSING = "—"


def percent(share: float | None, digits: int = 1) -> str:
    """0.587 → “58.7 %”."""
    return MISSING if _absent(share) else f"{100 * _known(share):.{digits}f} %"


def percents(shares: Sequence[float], digits: int = 0) -> tuple[str, ...]:
    """Parts of one whole, as percentages that add up to 100 %: rounded down, and what is left over
    goes to those that lost most (largest remainder). Shares that are no whole are made one."""
    whole, unit = sum(shares), 10**digits
    if not whole > 0:
        return tuple(percent(0.0, digits) for _ in shares)
    exact = [100 * unit * share / whole for share in shares]
    # A share that is a whole number but for the last bits of a sum is not to lose one.
    parts = [math.floor(value + 1e-9) for value in exact]
    order = sorted(range(len(exact)), key=lambda at: (parts[at] - exact[at], at))
    for at in order[: 100 * unit - sum(parts)]:
        parts[at] += 1
    return tuple(percent(part / (100 * unit), digits) for part in parts)


def points(share: float | None) -> str:
    """A difference of shares, signed, in percentage points: 0.05 → “+5.0”."""
    return MISSING if _absent(share) else signed(100 * _known(share)).replace("-", "\u2212")


def signed(value: float, digits: int = 1) -> str:
    """+8.2, -0.3; what rounds to nothing has no sign: 0.0."""
    shown = f"{value:+.{digits}f}"
    return shown if float(shown) else shown[1:]


def plus_minus(half: float | None) -> str:
    """Half of an interval, in points: 0.0994 → “± 9.9”."""
    return MISSING if _absent(half) else f"± {100 * _known(half):.1f}"


def duration(seconds: float | None) -> str:
    """Two units at most: “0.21 s”, “14.7 s”, “3 min 20 s”, “2 h 05 min”."""
    if _absent(seconds):
        return MISSING
    value = _known(seconds)
    if value < 1:
        return f"{value:.2f} s"
    if value < 59.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def moment(iso: str) -> str:
    """An ISO 8601 time to the minute, in UTC; what is none is left as it is."""
    try:
        at = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    zone = " UTC" if at.tzinfo else ""
    return f"{at.astimezone(UTC) if at.tzinfo else at:%Y-%m-%d %H:%M}{zone}"


def iso(seconds: float) -> str:
    """Seconds since 1970 as an ISO 8601 time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def count(number: float | None) -> str:
    """12345 → “12,345”."""
    return MISSING if _absent(number) else f"{_known(number):,.0f}"


def dollars(amount: float | None) -> str:
    """0.4 → “$0.40”; small amounts keep two significant digits."""
    if _absent(amount):
        return MISSING
    value = _known(amount)
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.2g}"


def megabytes(amount: float | None) -> str:
    """“512 MB”, “4.0 GB”."""
    if _absent(amount):
        return MISSING
    value = _known(amount)
    return f"{value:,.0f} MB" if value < 1024 else f"{value / 1024:,.1f} GB"


def plural(number: int, one: str, many: str = "") -> str:
    """“1 trial”, “2,352 trials”."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def p_value(p: float) -> str:
    """“p < 0.001”, “p = 0.03”."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _absent(value: float | None) -> bool:
    return value is None or not math.isfinite(value)


def _known(value: float | None) -> float:
    assert value is not None
    return value
