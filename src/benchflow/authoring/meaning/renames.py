"""New names and the recorded ones: the table of moves and renames, and what makes it a proof.

A key is made of syntax trees in which every new name is taken back to the old one. If it equals the
recorded key, then the trees are the same but for the table. That is a proof as long as no two
things come to one name, which is looked at each time.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchflow.errors import UsageError

TABLE = Path(__file__).with_name("renames.toml")


@dataclass(frozen=True, eq=False)
class Renames:
    """New → old: dotted modules, `module:name`, and identifiers that stand by themselves."""

    modules: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)

    @classmethod
    @functools.cache
    def read(cls, path: Path = TABLE) -> Renames:
        """Raises UsageError for a table that maps two names to one, or cannot be read."""
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
            made = cls(
                *(dict(data.get(part, {})) for part in ("modules", "definitions", "members"))
            )
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(
                f"{path}: cannot be read: {error}", hint="restore it from git"
            ) from error
        for table in (made.modules, made.definitions, made.members):
            _refuse_twins(table.items(), path)
        return made

    def __call__(self, name: str) -> str:
        """The recorded name of an identifier, a module or a `module:name`."""
        module, colon, inner = name.partition(":")
        if not colon:
            return self.modules.get(name) or self.members.get(name, name)
        owner, dot, method = inner.partition(".")
        moved = self.definitions.get(f"{module}:{owner}")
        recorded = moved or f"{self.modules.get(module, module)}:{owner}"
        return f"{recorded}.{self.members.get(method, method)}" if dot else recorded

    def refuse_collisions(self, names: Iterable[str], mentions: Iterable[str]) -> None:
        """`names` (`module:name`) and `mentions` are today's. Raises UsageError where two of them
        are one by the table, or where a name that the table calls old is in use."""
        _refuse_twins(((name, self(name)) for name in names), TABLE)
        if used := set(self.members.values()) & set(mentions) - set(self.members):
            raise UsageError(
                f"{TABLE}: {', '.join(sorted(used))}: called old, and in use today",
                hint="give the new thing a name that no record knows, or take the line out",
            )


def _refuse_twins(pairs: Iterable[tuple[str, str]], path: Path) -> None:
    seen: dict[str, str] = {}
    for new, old in pairs:
        if seen.setdefault(old, new) != new:
            raise UsageError(
                f"{path}: both {seen[old]} and {new} are taken for {old}",
                hint="one of the two lines is wrong: take it out",
            )
