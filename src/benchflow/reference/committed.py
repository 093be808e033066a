"""The generated pages that are committed, so that docs/ can be read as it stands.

A test compares each with what is made anew from the code.
"""

from __future__ import annotations

from collections.abc import Callable

from benchflow.cli.reference import reference as command_line

#: Path in the checkout → what makes its text.
PAGES: dict[str, Callable[[], str]] = {
    "docs/cli.md": command_line,
}
