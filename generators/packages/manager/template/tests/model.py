"""What a manager as ordered does: a command on a state gives a status, an output, and a state.

It shares nothing with any manager: packages are as they were made (`forms.Package`), and the files
of the station are a mapping, of which the checks compare the station's own.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, field

import versions
from forms import Package
from ordered import AXES, STATUS, has

#: kind, mode, user, group, digest of the content or target of the link.
Node = tuple[str, int, int, int, str]


class Unspecified(Exception):
    """The order does not say what comes of a command: it was drawn badly."""


class No(Exception):
    """The command is refused."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def summed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:20]


@dataclass
class Held:
    """What is installed of a package. `named`: somebody asked for it by its name."""

    package: Package
    nodes: dict[str, Node]
    named: bool


@dataclass
class Model:
    """`files`: what is on the station, by path with a leading slash."""

    files: dict[str, Node]
    numbers: dict[str, int] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    offered: dict[str, Package] = field(default_factory=dict)
    index: dict[str, Package] = field(default_factory=dict)
    installed: dict[str, Held] = field(default_factory=dict)
    holds: set[str] = field(default_factory=set)
    last: tuple[dict[str, Held], dict[str, Node | None]] | None = None

    def copy(self) -> Model:
        return copy.deepcopy(self)

    def do(self, word: str, *names: str) -> tuple[int, str]:
        """Status and standard output of a command; a refused one changes nothing."""
        before = self.copy()
        try:
            return 0, getattr(self, f"_{word}")(*names) or ""
        except No as no:
            self.__dict__.update(before.__dict__)
            return STATUS[no.reason], ""

    # -- needs --------------------------------------------------------------------------------

    @staticmethod
    def _called(one: str, package: Package) -> bool:
        """Whether this alternative of a need is met by the package's own name and version."""
        for sign, good in ((">=", (0, 1)), ("<", (-1,)), ("=", (0,))):
            if has("versions") and sign in one:
                name, _, version = one.partition(sign)
                return name == package.name and versions.compare(package.version, version) in good
        return one == package.name

    def _meets(self, need: str, package: Package) -> bool:
        for one in need.split("|"):
            if self._called(one, package) or (has("provides") and one in package.provides):
                return True
        return False

    def _is_later(self, package: Package) -> bool:
        there = self.installed.get(package.name)
        return not there or versions.compare(package.version, there.package.version) > 0

    def _candidate(self, need: str) -> Package:
        for one in need.split("|"):
            own = [p for p in self.index.values() if self._called(one, p)]
            others = [
                self.index[name] for name in sorted(self.index)
                if has("provides") and one in self.index[name].provides
            ]  # fmt: skip
            for package in (*own, *others):
                if self._is_later(package):
                    return package
        raise No("impossible")

    def _closure(self, fresh: list[str], called: list[str]) -> dict[str, Package]:
        plan = {name: self.index[name] for name in fresh}
        while True:
            there = [held.package for n, held in self.installed.items() if n not in plan]
            there += [self.index[name] for name in called if name in self.index]
            come = {}
            for package in plan.values():
                for need in package.needs:
                    if not any(self._meets(need, other) for other in there):
                        one = self._candidate(need)
                        come[one.name] = one
            if come.keys() <= plan.keys():
                return plan
            plan.update(come)

    def _judged(self, plan: dict[str, Package], gone: set[str]) -> dict[str, Package]:
        after = {n: held.package for n, held in self.installed.items() if n not in gone} | plan
        for one in after.values():
            for need in one.needs:
                if not any(self._meets(need, other) for other in after.values()):
                    raise No("impossible")
            if has("conflicts") and any(n in after and n != one.name for n in one.conflicts):
                raise No("impossible")
        if self.holds & (gone | plan.keys()):
            raise No("impossible")
        return after

    # -- words --------------------------------------------------------------------------------

    def _update(self) -> None:
        self.index = dict(self.offered)

    def _install(self, *names: str) -> None:
        for name in names:
            if name not in self.index and name not in self.installed:
                raise No("impossible")
        plan = self._closure([n for n in names if n not in self.installed], list(names))
        self._change(plan, self._replaced(plan), {*names})

    def _upgrade(self) -> None:
        fresh = [
            name for name in self.installed
            if name in self.index and name not in self.holds and self._is_later(self.index[name])
        ]  # fmt: skip
        plan = self._closure(fresh, fresh)
        self._change(plan, self._replaced(plan), set())

    def _remove(self, *names: str) -> None:
        if not {*names} <= self.installed.keys():
            raise No("impossible")
        self._change({}, {*names}, set())

    def _sweep(self) -> None:
        kept = {name for name, held in self.installed.items() if held.named}
        while True:
            needs = [need for name in kept for need in self.installed[name].package.needs]
            more = {
                name for name, held in self.installed.items()
                if any(self._meets(need, held.package) for need in needs)
            } - kept  # fmt: skip
            if not more:
                break
            kept |= more
        self._change({}, self.installed.keys() - kept, set())

    def _hold(self, *names: str) -> None:
        if not {*names} <= self.installed.keys():
            raise No("impossible")
        self.holds |= {*names}

    def _release(self, *names: str) -> None:
        if not {*names} <= self.holds:
            raise No("impossible")
        self.holds -= {*names}

    def _rollback(self) -> None:
        if not self.last:
            raise No("nothing")
        self.installed, nodes = self.last
        for path, node in nodes.items():
            self._set(path, node)
        self.last = None
        self.holds &= self.installed.keys()

    def _list(self) -> str:
        rows = sorted((n, held.package.version) for n, held in self.installed.items())
        return "".join(f"{name} {version}\n" for name, version in rows)

    def _files(self, name: str) -> str:
        if name not in self.installed:
            raise No("impossible")
        nodes = self.installed[name].nodes
        return "".join(f"{path}\n" for path in sorted(nodes) if nodes[path][0] != "d")

    def _owner(self, path: str) -> str:
        for name, held in self.installed.items():
            if held.nodes.get(path, "d")[0] != "d":
                return f"{name}\n"
        raise No("impossible")

    def verify(self) -> tuple[int, str]:
        """Apart from `do`, for it both prints and ends with a status of its own."""
        rows = [
            (path, "changed" if path in self.files else "missing")
            for held in self.installed.values() for path, node in held.nodes.items()
            if node[0] != "d" and path[1:] not in held.package.config
            and self.files.get(path) != node
        ]  # fmt: skip
        said = "".join(f"{what} {path}\n" for path, what in sorted(rows))
        return (STATUS["differs"] if rows else 0), said

    # -- what changes -------------------------------------------------------------------------

    def _replaced(self, plan: dict[str, Package]) -> set[str]:
        if not has("replaces"):
            return set()
        named = {name for one in plan.values() for name in one.replaces}
        return (named & self.installed.keys()) - plan.keys()

    def _nodes(self, package: Package) -> dict[str, Node]:
        found = {}
        for path, one in package.entries.items():
            uid, gid = one.uid, one.gid
            if path in package.owned:
                uid = gid = self.numbers[package.owned[path]]
            text = one.data.decode() if one.kind == "l" else summed(one.data)
            found[f"/{path}"] = (one.kind, one.mode, uid, gid, "" if one.kind == "d" else text)
        return found

    def _accounts(self, plan: dict[str, Package]) -> None:
        for name in sorted({name for one in plan.values() for name in one.accounts}):
            if name not in self.numbers:
                number = int(AXES["first_id"])
                while number in self.used:
                    number += 1
                self.numbers[name] = number
                self.used.add(number)

    def _set(self, path: str, node: Node | None) -> None:
        if node is None:
            self.files.pop(path, None)
        else:
            self.files[path] = node

    def _change(self, plan: dict[str, Package], gone: set[str], named: set[str]) -> None:
        self._judged(plan, gone)
        files, installed = dict(self.files), dict(self.installed)
        before = {n: Held(h.package, h.nodes, h.named) for n, h in installed.items()}
        for name in named & installed.keys():
            installed[name] = Held(installed[name].package, installed[name].nodes, True)
        if not plan and not gone:
            self.installed = installed
            return
        self._accounts(plan)
        old = {n: installed.pop(n) for n in {*plan, *gone} if n in installed}
        nodes = {name: self._nodes(package) for name, package in plan.items()}
        stay = {path: node for held in installed.values() for path, node in held.nodes.items()}
        fresh: dict[str, Node] = {}
        for name, package in plan.items():
            for path, node in nodes[name].items():
                if node[0] != "d":
                    self._in_the_way(path, package, old, stay, fresh)
                fresh[path] = node
        for name, package in plan.items():
            for path, node in nodes[name].items():
                if node[0] == "d":
                    continue
                where = self._place(path, node, package, old, files)
                if where:
                    self.files[where] = node
        for held in old.values():
            for path, node in held.nodes.items():
                if node[0] == "d" or path in fresh or path in stay:
                    continue
                there = files.get(path)
                is_config = path[1:] in held.package.config
                if is_config and has("config-saved") and there and there[4] != node[4]:
                    self.files[path + AXES["saved_ending"]] = there
                self.files.pop(path, None)
        self._folders(old, fresh, stay)
        for name, package in plan.items():
            was = name in old and old[name].named
            installed[name] = Held(package, nodes[name], name in named or was)
        self.installed = installed
        self.holds &= installed.keys()
        if has("rollback"):
            differ = {
                p for p in files.keys() | self.files.keys() if files.get(p) != self.files.get(p)
            }
            self.last = before, {path: files.get(path) for path in differ}
        self._scripts(plan, old, nodes)

    def _in_the_way(self, path, package, old, stay, fresh) -> None:
        ours = any(path in held.nodes for held in old.values())
        nobodys = path in self.files and path not in stay and not ours
        if nobodys and has("config-files") and path[1:] in package.config:
            return
        if path in stay or path in fresh or nobodys:
            if not has("in-the-way"):
                raise Unspecified(path)
            raise No("in_the_way")

    def _place(self, path, node, package, old, files) -> str:
        """Where a file of a package is put, "" for nowhere."""
        if not has("config-files") or path[1:] not in package.config:
            return path
        beside = path + AXES["new_ending"]
        before = old.get(package.name)
        if before and path[1:] in before.package.config:
            there, was = files.get(path), before.nodes[path]
            if there and there[4] == was[4]:
                return path
            return "" if was[4] == node[4] else beside
        ours = any(path in held.nodes for held in old.values())
        return beside if path in files and not ours else path

    def _folders(self, old, fresh, stay) -> None:
        for path in sorted(fresh):
            if fresh[path][0] == "d":
                self.files.setdefault(path, fresh[path])
        gone = {p for held in old.values() for p, node in held.nodes.items() if node[0] == "d"}
        for path in sorted(gone - fresh.keys() - stay.keys(), reverse=True):
            if not any(other.startswith(f"{path}/") for other in self.files):
                self.files.pop(path, None)

    def _scripts(self, plan, old, nodes) -> None:
        if has("after-script"):
            done: list[str] = []
            while len(done) < len(plan):
                ready = [
                    name for name, one in sorted(plan.items()) if name not in done and not any(
                        self._meets(need, plan[other])
                        for need in one.needs for other in plan if other not in (*done, name)
                    )
                ]  # fmt: skip
                if not ready:
                    raise Unspecified("needs that go round in a circle")
                done.append(ready[0])
                self._ran(plan[ready[0]], old.get(ready[0]))
        if has("triggers"):
            touched = {
                path for each in (*nodes.values(), *(held.nodes for held in old.values()))
                for path, node in each.items() if node[0] != "d"
            }  # fmt: skip
            for name, held in sorted(self.installed.items()):
                tops = [f"/{top}/" for top in held.package.trigger]
                if any(path.startswith(top) for path in touched for top in tops):
                    self._mark(f"/var/marks/t-{name}", "x\n")

    def _ran(self, package: Package, before: Held | None) -> None:
        if package.after is None:
            return
        if not package.mark:
            raise No("failed")
        said = f"upgrade {before.package.version}" if before else "install"
        self._mark(package.mark, f"{package.name} {said}\n")

    marks: dict[str, str] = field(default_factory=dict)

    def _mark(self, path: str, text: str) -> None:
        self.marks[path] = self.marks.get(path, "") + text
        self.files[path] = ("f", 0o644, 0, 0, summed(self.marks[path].encode()))
