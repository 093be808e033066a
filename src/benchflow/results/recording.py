"""A machine's recorded console (asciicast v2) made ready for a page. It is hostile throughout.

Out come the player's data, its text by lines with the second at which each began, and markers.
Only output, markers and the size of the terminal are taken over; what is torn is passed over.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from benchflow.base.text import one_line, printable

#: A console that prints forever is shown up to here, and said to be cut.
MAX_BYTES = 8 << 20
_MAX_LINE = 2000
_MAX_LINES = 200_000


@dataclass(frozen=True)
class Recording:
    """`lines`: (seconds, text); `markers`: (seconds, text); `cast`: asciicast v2 as text."""

    cols: int
    rows: int
    cast: str
    lines: tuple[tuple[float, str], ...]
    markers: tuple[tuple[float, str], ...]
    seconds: float
    truncated: bool


def read(path: Path) -> Recording | None:
    """The recording in `path`; None where it is no regular file or no asciicast."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    truncated = len(data) > MAX_BYTES
    head, *rest = data[:MAX_BYTES].decode("utf-8", "replace").split("\n")
    header = _json(head)
    if not isinstance(header, dict) or header.get("version") != 2:
        return None
    cols, rows = _size(header.get("width"), 80, 240), _size(header.get("height"), 24, 100)
    events: list[str] = []
    output: list[tuple[float, str]] = []
    markers: list[tuple[float, str]] = []
    last = 0.0
    for line in rest:
        event = _event(line)
        if event is None:
            continue
        at, kind, text = event
        last = max(last, at)  # time only goes forward
        if kind == "o":
            output.append((last, text))
        else:
            text = one_line(text, 120)
            markers.append((last, text))
        events.append(json.dumps([round(last, 3), kind, text], ensure_ascii=False))
    top = json.dumps({"version": 2, "width": cols, "height": rows})
    lines, cut = _lines(output)
    return Recording(
        cols=cols,
        rows=rows,
        cast="\n".join([top, *events]) + "\n",
        lines=lines,
        markers=tuple(markers),
        seconds=last,
        truncated=truncated or cut,
    )


def plain(recording: Recording) -> str:
    """The console as text, a line with its second each; safe to show on a terminal."""
    return "".join(f"{at:9.3f}  {text}\n" for at, text in recording.lines)


def script(name: str, recording: Recording) -> str:
    """The file that a page loads by a script tag under `name`."""
    late = [at for at, text in recording.lines if text.strip()]
    value = {
        "cols": recording.cols,
        "rows": recording.rows,
        "cast": recording.cast,
        "lines": recording.lines,
        "markers": recording.markers,
        "poster": late[len(late) // 2] if late else 0,
    }
    return f"benchflow.put({json.dumps(name)}, {json.dumps(value, ensure_ascii=False)});\n"


def _lines(output: list[tuple[float, str]]) -> tuple[tuple[tuple[float, str], ...], bool]:
    """Text between line ends; a bare carriage return starts its line again, as on a terminal."""
    lines: list[tuple[float, str]] = []
    began, held = 0.0, ""
    for at, text in output:
        if not held:
            began = at
        *whole, held = (held + text).split("\n")
        for line in whole:
            lines.append((round(began, 3), _clean(line)))
            began = at
        if len(lines) > _MAX_LINES:
            return tuple(lines[:_MAX_LINES]), True
        if len(held) > 64 * _MAX_LINE:
            lines.append((round(began, 3), _clean(held)))
            held = ""
    if held:
        lines.append((round(began, 3), _clean(held)))
    return tuple(lines), False


def _clean(line: str) -> str:
    """What stands on the line at its end, of what was written to it."""
    parts = [part for part in printable_line(line).split("\r") if part.strip()]
    return parts[-1][:_MAX_LINE].rstrip() if parts else ""


def printable_line(line: str) -> str:
    """`printable`, but carriage returns stay, which begin a line again."""
    return "\r".join(printable(part, _MAX_LINE) for part in line.split("\r"))


def _event(line: str) -> tuple[float, str, str] | None:
    value = _json(line)
    if not isinstance(value, list) or len(value) != 3:
        return None
    at, kind, text = value
    if not isinstance(at, int | float) or isinstance(at, bool) or not 0 <= at < 1e7:
        return None
    return (float(at), kind, text) if kind in ("o", "m") and isinstance(text, str) else None


def _size(value: object, default: int, most: int) -> int:
    is_size = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return min(int(str(value)), most) if is_size else default


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
