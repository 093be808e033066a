"""Turns the bytes of a hostile serial console into plain text, incrementally.

Removed: terminal escapes (CSI, OSC, DCS, SOS, PM, APC, two-character escapes, and their 8-bit C1
forms), NULs and other control characters. A carriage return (alone, or several before a line
feed) becomes a line feed, and so does a cursor-positioning escape, because full-screen firmware
menus separate words by nothing else. Invalid UTF-8 becomes U+FFFD.
"""

from __future__ import annotations

import codecs
import re

HELD_MAX = 4096  # an escape longer than this is no escape: a guest could hide all its output in one

# No string begins inside another: else many beginnings would each be searched to the text's end.
_STRING = r"[^\x07\x1b\x90\x98\x9c-\x9f]*"
_NOISE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*(?P<final>[@-~])"
    rf"|(?:\x1b\]|\x9d){_STRING}(?:\x07|\x1b\\|\x9c)"
    rf"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_STRING}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b[0-OQ-WYZ\\`-~]"
    r"|(?P<returns>\r+\n?)"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_PARTIAL = re.compile(
    r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*"
    rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f]){_STRING}\x1b?"
    r"|\x1b[ -/]*"
    r"|\r+)\Z"
)


class Stripper:
    """One per console; `feed` returns the plain text that the bytes add."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes) -> str:
        text = self._held + self._decoder.decode(data)
        partial = _PARTIAL.search(text, max(0, len(text) - HELD_MAX))
        self._held = ""
        if partial is not None:
            self._held = text[partial.start() :]
            text = text[: partial.start()]
        return plain(text)


def plain(text: str) -> str:
    """`text` without escapes and control characters; see the module's own words."""
    return _NOISE.sub(_replace, text)


def _replace(match: re.Match[str]) -> str:
    return "\n" if match["returns"] or match["final"] in ("H", "f") else ""
