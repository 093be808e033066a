"""`python -m benchflow.generators.pin TOPIC/NAME`: pin the splits of a generator again.

Seeds and levels stay; what they draw now is written down. Raise `version` first.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from benchflow.generators.generator import load
from benchflow.generators.spec import spec

_PINNED = re.compile(r'\{ level = (\d), seed = (\d+), spec = "[0-9a-f]*" \}')


def pin(folder: Path) -> None:
    """Rewrites the pinned digests in `folder`/generator.toml."""
    generator = load(folder.resolve())
    path = folder / "generator.toml"

    def now(found: re.Match[str]) -> str:
        level, seed = int(found[1]), int(found[2])
        digest = spec(generator, level, seed).digest[:12]
        return f'{{ level = {level}, seed = {seed}, spec = "{digest}" }}'

    path.write_text(_PINNED.sub(now, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        pin(Path("generators") / name)
