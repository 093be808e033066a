"""The generated pages that are committed, so that docs/ can be read as it stands.

A test compares each with what is made of the code.
"""

from __future__ import annotations

from collections.abc import Callable

from benchflow.cli.reference import reference as command_line
from benchflow.reference import checks_api, citation, contributors, gates, json_shapes, task_file
from benchflow.results.schema import dictionary

#: Path in the checkout → what makes its text.
PAGES: dict[str, Callable[[], str]] = {
    "CITATION.cff": citation.file,
    "docs/cli.md": command_line,
    "docs/contributors.md": contributors.page,
    "docs/data-dictionary.md": dictionary,
    "docs/reference/checks-api.md": checks_api.page,
    "docs/reference/gates.md": gates.page,
    "docs/reference/json.md": json_shapes.page,
    "docs/reference/task-toml.md": task_file.page,
}
