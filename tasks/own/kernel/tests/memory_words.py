"""Messages of other kernels in a machine's memory."""

from __future__ import annotations

import re
from pathlib import Path


def words_in(memory: Path, words: list[str]) -> list[str]:
    """Which of the known messages are in a memory: in text, in pages that hold anything at all."""
    text, rest = [], b""
    with memory.open("rb") as file:
        while page := file.read(1 << 16):
            if page.count(0) == len(page) and not rest:
                continue
            runs = re.findall(rb"[\t -~]{20,}", rest + page)
            text += runs
            last = re.search(rb"[\t -~]{1,4096}\Z", page)
            rest = last[0] if last else b""
    joined = b"\n".join(text).decode("ascii")
    return [word for word in words if word in joined]
