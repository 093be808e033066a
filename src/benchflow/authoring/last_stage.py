"""What the last stage of a Dockerfile takes from beside it; those before are thrown away."""

from __future__ import annotations

import re
from pathlib import Path

_STAGE = re.compile(r"(?mi)^FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?")
_COPIED = re.compile(r"(?mi)^\s*(?:ONBUILD\s+)?(?:COPY|ADD)\s+(.*)$")
_PLAIN = re.compile(r"[\w./-]+")


def copied_last(environment: Path) -> list[Path]:
    """The Dockerfile of `environment`, and the paths that its last stage copies from beside it.

    All of `environment` where the last stage starts from an earlier one, or copies in a form that
    is not read here (a pattern, a list in brackets, a text given inline).
    """
    dockerfile = environment / "Dockerfile"
    text = dockerfile.read_text(encoding="utf-8").replace("\\\n", " ")
    stages = list(_STAGE.finditer(text))
    if not stages or stages[-1][1].lower() in {(one[2] or "").lower() for one in stages[:-1]}:
        return [environment]
    found = [dockerfile]
    for copied in _COPIED.finditer(text, stages[-1].end()):
        words = copied[1].split()
        if any(word.startswith("--from=") for word in words):
            continue
        sources = [word for word in words if not word.startswith("--")][:-1]
        if not sources or not all(_PLAIN.fullmatch(source) for source in sources):
            return [environment]
        found += [environment / source.lstrip("/") for source in sources]
    return found
