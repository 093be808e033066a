"""Writes the generated pages.

python -m benchflow.reference                   docs/reference/*.md and docs/cli.md, committed
python -m benchflow.reference catalogue DIR     a page a task, into DIR (scripts/docs does it)
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchflow.reference import catalogue
from benchflow.reference.committed import PAGES

CHECKOUT = Path(__file__).resolve().parents[3]


def main(arguments: list[str]) -> int:
    """Exit status 0, or 2 when the arguments are not as above."""
    if not arguments:
        written = {CHECKOUT / name: make() for name, make in PAGES.items()}
    elif len(arguments) == 2 and arguments[0] == "catalogue":
        made = catalogue.pages(CHECKOUT)
        written = {Path(arguments[1]) / name: text for name, text in made.items()}
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(written)} pages written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
