"""Make hostile text fit for a terminal, a log or a recording."""

from __future__ import annotations

import codecs
import re

# ECMA-48: CSI sequences, string sequences (OSC, DCS, SOS, PM, APC) up to BEL or ST, two-byte ones.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\Z)"
    r"|\x1b[ -/]*[0-~]",
    re.DOTALL,
)
# Controls except newline and tab, and the Unicode characters that reorder or hide text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str, limit: int = 2000) -> str:
    """`text` without escapes and controls, cut in the middle to about `limit` characters."""
    if len(text) > 4 * limit:
        text = text[: 2 * limit] + "\n" + text[-2 * limit :]
        cut = True
    else:
        cut = False
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    text = _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))
    if not cut and len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… cut …\n{text[-half:]}"


def first_line(text: str, limit: int = 200) -> str:
    """The first non-empty line of `text`, cleaned."""
    lines = clean(text, 4 * limit).strip().splitlines()
    line = lines[0].strip() if lines else ""
    return line if len(line) <= limit else line[: limit - 1] + "…"


class StreamFilter:
    """Decodes console bytes for a recording: keeps colours and cursor moves, drops the rest.

    String sequences (window titles, clipboard writes, device control) and requests that make a
    terminal answer (CSI c, n, t, x …) never reach the person who replays the recording.
    """

    _SAFE_FINALS = frozenset("ABCDEFGHJKLMPSTXdfmrsu@`")
    _MAX_SEQUENCE = 64

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._in_string = False

    def feed(self, data: bytes) -> str:
        """The safe text of the next bytes; a sequence that is not complete yet is held back."""
        text = self._held + self._decoder.decode(data)
        self._held = ""
        out: list[str] = []
        at = 0
        while at < len(text):
            if self._in_string:
                at = self._skip_string(text, at)
                continue
            start = text.find("\x1b", at)
            if start < 0:
                out.append(text[at:])
                break
            out.append(text[at:start])
            at = self._escape(text, start, out)
        return _UNSAFE.sub("", "".join(out))

    def _skip_string(self, text: str, at: int) -> int:
        for index in range(at, len(text)):
            if text[index] == "\x07":
                self._in_string = False
                return index + 1
            if text[index] == "\x1b":
                if index + 1 == len(text):
                    self._held = "\x1b"
                    return len(text)
                self._in_string = False
                return index + 2 if text[index + 1] == "\\" else index
        return len(text)

    def _escape(self, text: str, start: int, out: list[str]) -> int:
        if start + 1 == len(text):
            self._held = "\x1b"
            return len(text)
        if text[start + 1] in "]PX^_":
            self._in_string = True
            return start + 2
        if text[start + 1] != "[":
            if text[start + 1] in "78DEM":
                out.append(text[start : start + 2])
            return start + 2
        end = start + 2
        while end < len(text) and " " <= text[end] <= "?" and end - start < self._MAX_SEQUENCE:
            end += 1
        if end == len(text):
            self._held = text[start:]
            return end
        sequence = text[start : end + 1]
        if text[end] in self._SAFE_FINALS and end - start < self._MAX_SEQUENCE:
            out.append(sequence)
        return end + 1


# C0 and C1 controls except BS, TAB, LF, CR and the ESC of sequences that were let through.
_UNSAFE = re.compile("[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
