"""What of a task is secret, and whether some bytes repeat it: exactly, or nearly.

Exact: the same content (SHA-256), from 24 bytes on. Near, for text: lines are compared with white
space folded, and only those with 12 letters or digits or more count (shorter ones are syntax).
Two signs are taken as proof: three such lines in a row, or, for copies that were rearranged, a
quarter of a file's lines and eight at least. What is given to be repaired, and what Dockerfiles
have in common, is left out (`repairs`); what a Dockerfile writes as a secret does is found alone.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path

from benchflow.authoring.repairs import answer, is_dockerfile, repairs, statements
from benchflow.base import shell_pieces
from benchflow.tasks.digest import files_below

LEAST_BYTES = 24
SHINGLE = 3
LEAST_LETTERS = 12
LEAST_LINES, LEAST_SHARE = 8, 0.25
#: Parts of a task folder that the agent must not see.
SECRET_PARTS = ("solution", "tests", "exploits", "variants", "steps")

_SYNTAX = re.compile(rb"\W+")
Shingle = tuple[bytes, ...]


@dataclass
class Secrets:
    """Everything of a task that an agent must not be given, prepared for fast comparison."""

    exact: dict[str, str] = field(default_factory=dict)
    sizes: set[int] = field(default_factory=set)
    lines: dict[bytes, set[str]] = field(default_factory=dict)
    shingles: dict[Shingle, dict[str, str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    written: dict[bytes, str] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Path) -> Secrets:
        """The secrets of the task folder `root`; a step's instruction is none."""
        found = cls()
        for part in SECRET_PARTS:
            if not (root / part).is_dir():
                continue
            for path in files_below(root / part, links=True):
                if not path.is_symlink() and (part != "steps" or path.name != "instruction.md"):
                    found.add(path.relative_to(root).as_posix(), shell_pieces.read(path, root))
        return found

    def add(self, name: str, data: bytes) -> None:
        """Adds one file's content under `name`."""
        for statement in statements(data):
            self.written.setdefault(statement, name)
        told = answer(name, data)
        if is_dockerfile(name) and not told.strip():
            return  # it installs, and says nothing
        if len(data) >= LEAST_BYTES:
            self.exact.setdefault(hashlib.sha256(data).hexdigest(), name)
            self.sizes.add(len(data))
        self.texts[name] = data
        lines = _significant(told)
        for line, _ in lines:
            self.lines.setdefault(line, set()).add(name)
        for shingle, number in _shingled(lines):
            self.shingles.setdefault(shingle, {}).setdefault(name, f"{name}:{number}")
        self.counts[name] = len({line for line, _ in lines})

    def copies(self, data: bytes) -> str:
        """The secret file whose content `data` is, "" for none."""
        if len(data) not in self.sizes:
            return ""
        return self.exact.get(hashlib.sha256(data).hexdigest(), "")

    def common(self, data: bytes) -> set[bytes]:
        """Lines that `data` shares with the secrets, when it is text; fast on what shares none."""
        if b"\0" in data[:8192]:
            return set()
        return {b" ".join(line.split()) for line in data.splitlines()} & self.lines.keys()

    def repeated_by(
        self, data: bytes, public: Container[bytes] = (), given: str = ""
    ) -> tuple[int, str] | None:
        """(line, what it repeats) of the first secret that `data` gives away; None for none.

        `public`: lines that say nothing; `given`: the path at which the agent finds `data`. The
        line is 0 where the whole is the same, or a share is, or one command writes the same.
        """
        if name := self.copies(data):
            return 0, name
        shared = {line for line in self.common(data) if line not in public}
        if len(shared) >= SHINGLE and (hit := self._in_lines(data, shared, given)):
            return hit
        if is_dockerfile(given):
            same = sorted(statements(data) & self.written.keys())
            return (0, f"what {self.written[same[0]]} writes") if same else None
        return None

    def _in_lines(self, data: bytes, shared: set[bytes], given: str) -> tuple[int, str] | None:
        names = {name for line in shared for name in self.lines[line]}
        innocent = {
            name for name in names if given and repairs(name, self.texts[name], given, data)
        }
        for shingle, number in _shingled(_significant(data)):
            if shingle in self.shingles and shared.issuperset(shingle):
                for name, where in self.shingles[shingle].items():
                    if name not in innocent:
                        return number, where
        shares = Counter(name for line in shared for name in self.lines[line] - innocent)
        for name, count in shares.most_common():
            if count >= max(LEAST_LINES, LEAST_SHARE * self.counts[name]):
                return 0, f"{count} of {self.counts[name]} lines of {name}"
        return None


def _significant(data: bytes) -> list[tuple[bytes, int]]:
    if b"\0" in data[:8192]:
        return []
    return [
        (b" ".join(line.split()), number)
        for number, line in enumerate(data.splitlines(), 1)
        if len(_SYNTAX.sub(b"", line)) >= LEAST_LETTERS
    ]


def _shingled(lines: list[tuple[bytes, int]]) -> list[tuple[Shingle, int]]:
    return [
        (tuple(line for line, _ in lines[i : i + SHINGLE]), lines[i][1])
        for i in range(len(lines) - SHINGLE + 1)
    ]
