"""The bench: what is asked of the station is asked of the model, and both have to say the same."""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable

from forms import Package
from model import Model, Node, summed
from ordered import STATUS, WORD, verb
from serving import Repositories
from station import TOPS, Station

#: How often it is asked for its list after a command.
_LISTED = 0.4
_REASONS = {number: name for name, number in STATUS.items()}


def read_tree(said: str) -> dict[str, Node]:
    found = {}
    for row in said.splitlines():
        kind, mode, uid, gid, text, path = row.split("\t", 5)
        found[path] = (kind, int(mode, 8), int(uid), int(gid), "" if text == "-" else text)
    return {path: node for path, node in found.items() if node[0] != "d" or path not in TOPS}


class Bench:
    """`station` and `model`, side by side; `repositories` are served to the station."""

    def __init__(self, station: Station, repositories: Repositories, draw: random.Random) -> None:
        self.station, self.repositories, self.draw = station, repositories, draw
        self._names: set[str] = set()
        self.model = Model({})

    def begin(self) -> None:
        """Look at a station that nobody has changed yet, and give it its configuration."""
        self.station.configure(self.repositories.conf())
        self.model = Model(self.tree())
        accounts = self.station.run("cat /etc/passwd /etc/group")[1].splitlines()
        self.model.used = {int(row.split(":")[2]) for row in accounts if row.count(":") > 2}

    def begin_again(self, model: Model) -> None:
        """The station is as this model again, and nothing is offered."""
        self.model = model
        self.repositories.calm()
        for there in self.repositories.packages:
            there.clear()

    def word(self, stem: str = "") -> str:
        """A name that no other package of this run has."""
        while True:
            letters = "".join(self.draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(5))
            name = f"{stem or 'p'}-{letters}"
            if name not in self._names:
                self._names.add(name)
                return name

    def text(self) -> str:
        return f"{self.draw.randrange(16**24):024x}\n"

    def package(self, name: str = "", version: str = "1.0", **more) -> Package:
        """A package with a file of its own."""
        name = name or self.word()
        return Package(name, version, **more).file(f"opt/{name}/data", self.text())

    # -- what is asked ------------------------------------------------------------------------

    def ask(self, *words: str, seconds: float = 90) -> tuple[int, str]:
        """Status and output of the program; the first word is ours, not the drawn one."""
        line = " ".join([WORD, verb(words[0]), *map(shlex.quote, words[1:])])
        status, said, wrong = self.station.run(line, seconds)
        if status:
            assert wrong.strip(), f"{line} ended with {status} and said nothing on standard error"
        return status, said

    def do(self, *words: str, seconds: float = 90, what: str = "") -> int:
        """Ask for something, and compare what came of it with the model."""
        status, said = self.ask(*words, seconds=seconds)
        wanted, output = self.model.verify() if words[0] == "verify" else self.model.do(*words)
        line = f"{WORD} {verb(words[0])} {' '.join(words[1:])}" + (f" ({what})" if what else "")
        assert status == wanted, f"{line} ended with {told(status)}, not {told(wanted)}"
        if words[0] in ("list", "files", "owner", "verify"):
            assert said == output, f"{line} printed {said[-300:]!r}, not {output[-300:]!r}"
        else:
            self.same(line)
        return status

    def refused(self, reason: str, *words: str, what: str = "", seconds: float = 90) -> None:
        """Ask for what the model knows nothing of: it ends with this status, and nothing is
        changed."""
        status, _ = self.ask(*words, seconds=seconds)
        line = f"{WORD} {verb(words[0])} {' '.join(words[1:])}" + (f" ({what})" if what else "")
        assert status == STATUS[reason], (
            f"{line} ended with {told(status)}, not {told(STATUS[reason])}"
        )
        self.same(line)

    def refresh(self, *packages: Package) -> None:
        """Offer packages, and have the station take the new index."""
        self.repositories.offer(*packages)
        self.publish()
        self.do("update")

    def publish(self) -> None:
        self.repositories.publish()
        self.model.offered = {}
        for there in self.repositories.packages:
            for name, (package, _) in there.items():
                self.model.offered.setdefault(name, package)

    def edit(self, path: str, text: str | None) -> None:
        """Somebody writes a file, or deletes it."""
        if text is None:
            self.station.run(f"rm {shlex.quote(path)}")
            self.model.files.pop(path)
            return
        was = self.model.files.get(path, ("f", 0o644, 0, 0, ""))
        self.station.write(path, text)
        self.model.files[path] = (*was[:4], summed(text.encode()))

    def folder(self, path: str) -> None:
        """Somebody makes a folder."""
        self.station.run(f"mkdir -p {shlex.quote(path)}")
        while path not in TOPS:
            self.model.files.setdefault(path, ("d", 0o755, 0, 0, ""))
            path = path.rpartition("/")[0]

    # -- what stands there --------------------------------------------------------------------

    def tree(self) -> dict[str, Node]:
        return read_tree(self.station.tree())

    def listed(self) -> str:
        status, said = self.ask("list")
        assert status == 0, f"{WORD} {verb('list')} ended with {status}"
        return said

    def same(self, after: str) -> None:
        """The station's files are the model's, and, asked every other time, so is what it lists."""
        said = self.listed() if self.draw.random() < _LISTED else None
        if fault := self.differs(self.model, self.tree(), said):
            raise AssertionError(f"after {after}: {fault}")

    def differs(self, model: Model, there: dict[str, Node], said: str | None) -> str:
        """Where files, and what is listed, are not what the model has; "" for nowhere."""
        wanted = model.do("list")[1]
        if said not in (None, wanted):
            more = sorted({*said.splitlines()} - {*wanted.splitlines()})
            less = sorted({*wanted.splitlines()} - {*said.splitlines()})
            return f"it lists {more[:3]} too much, and {less[:3]} not (or not in order)"
        files = {p: node for p, node in model.files.items() if node[0] != "d" or p not in TOPS}
        for path in sorted(there.keys() | files.keys()):
            if there.get(path) != files.get(path):
                return f"{path} is {shown(there.get(path))}, not {shown(files.get(path))}"
        return ""

    def either(self, before: Model, after: Model, what: str) -> None:
        """The station is as before or as after, and the model becomes what it is."""
        said, tree = self.listed(), self.tree()
        faults = []
        for one in (before, after):
            faults.append(self.differs(one, tree, said))
            if not faults[-1]:
                self.model = one
                return
        raise AssertionError(
            f"{what}: the station is neither as before ({faults[0]}) nor as after ({faults[1]})"
        )

    def later(self, change: Callable[[Model], object]) -> Model:
        """A copy of the model, changed."""
        one = self.model.copy()
        change(one)
        return one


def told(status: int) -> str:
    return f"{status} ({_REASONS.get(status, 'done' if status == 0 else 'no status of the order')})"


def shown(node: Node | None) -> str:
    if node is None:
        return "not there"
    kind = {"f": "a file", "d": "a folder", "l": "a link"}.get(node[0], "something else")
    text = f" to {node[4]}" if node[0] == "l" else f" with sum {node[4][:8]}" if node[4] else ""
    return f"{kind} {node[1]:04o} of {node[2]}:{node[3]}{text}"
