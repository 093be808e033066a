"""Commands in hints as they can be typed here, where `benchflow` is not on the path."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

_CALL = re.compile(r"(?<![\w/.-])benchflow (?=(?:[a-z]|[A-Z]{2}|\./|--))")


def as_typed(text: str) -> str:
    """`text` with `benchflow VERB` as this was called where a shell would not find it."""
    return _CALL.sub(lambda _: f"{called()} ", text)


def called() -> str:
    """`benchflow`, or the path by which it was called where that is not on the path."""
    given = Path(sys.argv[0])
    if given.name != "benchflow" or os.sep not in sys.argv[0]:
        return "benchflow"
    found = shutil.which("benchflow")
    if found and Path(found).resolve() == given.resolve():
        return "benchflow"
    here = Path.cwd()
    absolute = given if given.is_absolute() else here / given
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(absolute)
