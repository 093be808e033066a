"""What is inferred of a repository: each value with the place that it was inferred from."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from dataclasses import dataclass, field

from benchflow.authoring.onboard.tree import Note, Tree, shown
from benchflow.base.text import one_line

_SECRET = re.compile(
    r"(?:^|_)(?:SECRET|PASSWORD|PASSWD|PASS|TOKEN|APIKEY|KEY|CREDENTIALS?|DSN|PRIVATE|SALT|HMAC)"
    r"(?:_|$|S$)|(?:DATABASE|REDIS|MONGO\w*|AMQP|BROKER|CELERY_BROKER|SMTP|EMAIL)_UR[LI]$"
)
_WITH_PASSWORD = re.compile(r"://[^/@\s:]*:[^/@\s]+@")
PURPOSES = ("install", "build", "run", "test")


_TOOLS_OF = {
    "Python": "python",
    "JavaScript": "node",
    "TypeScript": "node",
    "Go": "go",
    "Rust": "rust",
}
_TOOLS = {
    "python": re.compile(r"\b(?:python|pip|pytest|tox|nox|unittest|uv|poetry|hatch)\b|\.py\b"),
    "node": re.compile(r"\b(?:npm|npx|yarn|pnpm|node|jest|vitest|mocha)\b"),
    "go": re.compile(r"\bgo (?:run|build|test|mod|get)\b"),
    "rust": re.compile(r"\bcargo\b"),
}


def _ecosystems(command: str) -> set[str]:
    """Whose tools a command calls; all where it calls none that is known."""
    return {name for name, tools in _TOOLS.items() if tools.search(command)} or set(_TOOLS)


@dataclass(frozen=True)
class Fact:
    """One value, where it was found (`file:line`), and how much the place is worth (0 is best)."""

    value: str
    where: str
    rank: int = 5


@dataclass(frozen=True)
class Dependency:
    """Something the project says that it needs: `scope` is runtime, optional, build or test."""

    name: str
    ecosystem: str
    scope: str
    where: str
    version: str = ""


@dataclass
class Variable:
    """One that the project reads, or that an example sets."""

    name: str
    where: str
    example: str = ""
    secret: bool = False


@dataclass(frozen=True)
class Question:
    """What could not be inferred, and why it could not."""

    about: str
    why: str


@dataclass
class Findings:
    """All that the readers found; the lists are in the order of reading."""

    tree: Tree
    name: Fact | None = None
    about: Fact | None = None
    languages: Counter[str] = field(default_factory=Counter)
    systems: list[Fact] = field(default_factory=list)
    commands: dict[str, list[Fact]] = field(default_factory=lambda: {p: [] for p in PURPOSES})
    dependencies: list[Dependency] = field(default_factory=list)
    variables: dict[str, Variable] = field(default_factory=dict)
    services: dict[str, list[Fact]] = field(default_factory=dict)
    ports: list[Fact] = field(default_factory=list)
    works: list[Fact] = field(default_factory=list)
    suites: list[Fact] = field(default_factory=list)
    licences: list[Fact] = field(default_factory=list)
    online: list[Fact] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def command(self, purpose: str, text: str, where: str, rank: int = 5) -> None:
        """Counts a command once, at the best place that has it."""
        text = one_line(text, 300)
        known = self.commands[purpose]
        if text and all(one.value != text or one.rank > rank for one in known):
            known[:] = [one for one in known if one.value != text]
            known.append(Fact(text, where, rank))

    def depend(self, name: str, ecosystem: str, scope: str, where: str, version: str = "") -> None:
        """Counts a dependency, as often as it is named."""
        if name and len(self.dependencies) < 5000:
            found = Dependency(one_line(name, 120), ecosystem, scope, where, one_line(version, 80))
            self.dependencies.append(found)

    def variable(self, name: str, where: str, example: str = "") -> None:
        """Counts a variable; an example with a value says more than a mention."""
        known = self.variables.get(name)
        example = one_line(example, 120)
        if known is None:
            if len(self.variables) < 500:
                self.variables[name] = Variable(name, where, example, is_secret(name, example))
        elif example and not known.example:
            known.example, known.where = example, where
            known.secret = is_secret(name, example)

    def service(self, kind: str, why: str, where: str) -> None:
        """Counts a sign of a service that the project talks to."""
        signs = self.services.setdefault(kind, [])
        if len(signs) < 20 and all(one.where != where for one in signs):
            signs.append(Fact(why, where))

    def best(self, purpose: str) -> list[Fact]:
        """The commands for a purpose, the most believable first."""
        own = self._ecosystem()
        return sorted(
            self.commands[purpose],
            key=lambda one: one.rank + (4 if own and own not in _ecosystems(one.value) else 0),
        )

    def _ecosystem(self) -> str:
        """Whose tools most of the sources are for, where there are tools of several."""
        counts: Counter[str] = Counter()
        for language, count in self.languages.items():
            counts[_TOOLS_OF.get(language, "")] += count
        return counts.most_common(1)[0][0] if counts else ""


def is_secret(name: str, example: str = "") -> bool:
    """Whether a variable's value must not be seen, by its name or by a password in its example."""
    return _SECRET.search(name) is not None or _WITH_PASSWORD.search(example) is not None


class Lines:
    """Where something stands in a text."""

    def __init__(self, name: str, text: str) -> None:
        self.name = shown(name)
        self._text = text
        self._starts = [0] + [i + 1 for i, c in enumerate(text) if c == "\n"]

    def at(self, position: int) -> str:
        """`file:line` of a position."""
        return f"{self.name}:{bisect.bisect_right(self._starts, position)}"

    def of(self, *needles: str) -> str:
        """`file:line` of the last of some texts, each looked for behind the one before it."""
        position = 0
        for needle in needles:
            found = self._text.find(needle, position)
            if found < 0:
                break
            position = found
        return self.at(position)


def table(value: object) -> dict[str, object]:
    """A table of a parsed file, or an empty one: a hostile file has anything anywhere."""
    return {str(k): v for k, v in value.items()} if isinstance(value, dict) else {}


def strings(value: object) -> list[str]:
    """The texts of a list of a parsed file."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def text_of(value: object) -> str:
    """A text of a parsed file, or an empty one."""
    return value if isinstance(value, str) else ""
