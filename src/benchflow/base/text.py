"""Makes text that a guest, an agent or a verifier wrote safe to show on a terminal."""

from __future__ import annotations

import re
import unicodedata

# ECMA-48: CSI, OSC/DCS/APC/PM/SOS up to their terminator, and two-byte escapes; 8-bit forms too.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)


def printable(text: str, limit: int = 2000) -> str:
    """`text` without escape sequences, control characters and direction overrides.

    Line ends and tabs stay; at most `limit` characters, the cut marked with `…`.
    """
    if len(text) <= limit and (text.isprintable() or _is_plain(text)):
        return text
    cut = text[: limit * 4]
    clean = _ESCAPES.sub("", cut)
    unsafe = {ord(c): None for c in set(clean) if c not in "\n\t" and _unsafe(c)}
    clean = clean.translate(unsafe) if unsafe else clean
    if len(clean) > limit or len(cut) < len(text):
        return clean[: max(limit - 1, 0)] + "…"
    return clean


def _is_plain(text: str) -> bool:
    return text.replace("\n", " ").replace("\t", " ").isprintable()


def one_line(text: str, limit: int = 160) -> str:
    """`printable` text with every run of white space made one space."""
    if len(text) <= limit and text.isprintable() and "  " not in text and text == text.strip():
        return text
    return printable(" ".join(printable(text, limit * 4).split()), limit)


def _unsafe(character: str) -> bool:
    # Cc controls, Cf direction overrides and zero-width, Cs lone surrogates, Co private use
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
