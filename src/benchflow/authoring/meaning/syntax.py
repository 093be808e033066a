"""A Python module as definitions whose text is the same for the same meaning.

Left out: comments, layout, docstrings, how a name was imported (what it stands for is kept), and
annotations that nothing reads (those of functions, where `annotations` come from `__future__`).
The text is the same under every Python from 3.12 on.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchflow.authoring.meaning.tree_text import (
    FUNCTIONS,
    IMPORTS,
    Canonical,
    Scope,
    TreeText,
    is_docstring,
)

#: They change how a function is called, and register it nowhere.
_INERT = frozenset(
    {
        *("abstractmethod", "asynccontextmanager", "cache", "cached_property", "classmethod"),
        *("contextmanager", "dataclass", "fixture", "lru_cache", "overload", "override"),
        *("property", "runtime_checkable", "setter", "staticmethod", "total_ordering", "wraps"),
    }
)
#: What makes a value and does nothing else.
_PURE = frozenset(
    {
        *("bytes", "bytearray", "compile", "dict", "field", "float", "frozenset", "int", "len"),
        *("list", "max", "min", "namedtuple", "range", "set", "sorted", "str", "sum", "tuple"),
        *("Path", "PurePosixPath", "Struct", "TypeVar"),
    }
)
#: Bases whose methods nobody calls but those who name them.
_PLAIN_BASES = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type)
) - {"type"} | {"Enum", "StrEnum", "IntEnum", "NamedTuple", "Protocol", "Generic", "ABC"}
#: Where statements lie in others.
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
#: Tables of a package about itself; what they lead to is found through the names that are used.
_TABLES = frozenset({"__all__", "_HOMES"})


@dataclass(frozen=True)
class Definition:
    """A top-level function, class or value (`Shell`), or a method (`Shell.run`).

    `refs` are `module:name` or `module`; `mentions` are identifiers by which methods, fixtures and
    attributes are reached. `always`: reached as soon as what it stands in is.
    """

    name: str
    text: str
    refs: frozenset[str]
    mentions: frozenset[str]
    always: bool = False


@dataclass
class Module:
    """One file: its definitions by name, and what happens when it is imported."""

    name: str
    is_package: bool = False
    definitions: dict[str, Definition] = field(default_factory=dict)
    methods: dict[str, list[str]] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    imports: frozenset[str] = frozenset()


def read(source: str, name: str, canonical: Canonical, *, is_package: bool = False) -> Module:
    """The module `name` (dotted) of `source`. Raises SyntaxError."""
    return _Reader(ast.parse(source), name, canonical, is_package).read()


class _Reader:
    def __init__(self, tree: ast.Module, name: str, canonical: Canonical, is_package: bool) -> None:
        self.module = Module(name, is_package)
        self.body = list(_flat(tree.body))
        lazy = any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in self.body
        )
        self.scope = Scope(name, is_package, canonical, lazy)
        self.classes = {each.name: each for each in self.body if isinstance(each, ast.ClassDef)}
        names = self.scope.names
        imported: set[str] = set()
        for each in _all_imports(tree):
            names |= dict(self.scope.targets(each))
        for node in self.body:
            if isinstance(node, IMPORTS):
                imported |= {target for _, target in self.scope.targets(node)}
            for own in defined(node):
                names[own] = f"{name}:{own}"
        self.module.imports = frozenset(imported)

    def read(self) -> Module:
        effects: list[ast.stmt] = []
        for node in self.body:
            if isinstance(node, IMPORTS):
                continue
            if isinstance(node, FUNCTIONS):
                self._add(node.name, [node], always=is_registered(node))
            elif isinstance(node, ast.ClassDef):
                self._class(node)
            elif (names := defined(node)) and _is_value(node):
                if not _TABLES.isdisjoint(names):
                    self._homes(node)
                    continue
                for one in names:
                    self._add(one, [node])
            else:
                effects.append(node)
        effects = [node for node in effects if not is_docstring(node)]
        if effects:
            self._add("", effects, always=True)
        return self.module

    def _class(self, node: ast.ClassDef) -> None:
        functions = [each for each in node.body if isinstance(each, FUNCTIONS)]
        rest = [each for each in node.body if not isinstance(each, FUNCTIONS)]
        open_base = any(not self._is_known(base) for base in node.bases)
        head = ast.ClassDef(
            name=node.name,
            bases=node.bases,
            keywords=node.keywords,
            body=rest,
            decorator_list=node.decorator_list,
            type_params=node.type_params,
        )
        self._add(node.name, [head], always=is_registered(node))
        grouped: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        for each in functions:
            grouped.setdefault(each.name, []).append(each)
        self.module.methods[node.name] = [f"{node.name}.{name}" for name in grouped]
        for name, nodes in grouped.items():
            registered = any(is_registered(each) for each in nodes)
            self._add(f"{node.name}.{name}", nodes, always=open_base or registered)

    def _is_known(self, base: ast.expr) -> bool:
        """Whether nobody calls the methods of what has this base but by their names.

        A library calls those of its own classes as it likes, and so those of a class of ours that
        another module of ours may have made from one.
        """
        if isinstance(base, ast.Subscript):
            return self._is_known(base.value)
        if isinstance(base, ast.Name) and base.id in self.classes:
            return all(self._is_known(each) for each in self.classes[base.id].bases)
        return _last(base) in _PLAIN_BASES

    def _add(self, name: str, nodes: Sequence[ast.stmt], *, always: bool = False) -> None:
        before = self.module.definitions.get(name)
        writer = TreeText(self.scope)
        text = "\n".join(filter(None, (writer.write(node) for node in nodes)))
        refs, mentions = frozenset(writer.refs), frozenset(writer.mentions)
        if before is not None:  # a second definition of a name: both count, in their order
            text = f"{before.text}\n{text}"
            refs, mentions, always = (
                refs | before.refs,
                mentions | before.mentions,
                always or before.always,
            )
        self.module.definitions[name] = Definition(name, text, refs, mentions, always)

    def _homes(self, node: ast.stmt) -> None:
        value = getattr(node, "value", None)
        if isinstance(value, ast.Dict):
            found = ast.literal_eval(value)
            self.module.homes = {k: f"{self.module.name}.{v}" for k, v in found.items()}


def _all_imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Level by level: what is imported under a name further inside is what the name stands for."""
    level: list[ast.AST] = [tree]
    while level:
        for node in level:
            if isinstance(node, IMPORTS):
                yield node
        level = [
            inner
            for node in level
            if not isinstance(node, ast.expr)
            for block in _BLOCKS
            for inner in getattr(node, block, ())
        ]


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Top-level statements, without what only a type checker reads."""
    for node in body:
        test = node.test if isinstance(node, ast.If) else None
        if not (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"):
            yield node
        else:
            assert isinstance(node, ast.If)
            yield from _flat(node.orelse)


def defined(node: ast.stmt) -> tuple[str, ...]:
    """Names that a statement at the top of a module gives to something of its own."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return (node.name,)
    if isinstance(node, ast.TypeAlias):
        return (node.name.id,)
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    flat = [
        each
        for target in targets
        for each in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]
    if flat and all(isinstance(each, ast.Name) for each in flat):
        return tuple(each.id for each in flat if isinstance(each, ast.Name))
    return ()


def _is_value(node: ast.stmt) -> bool:
    """An assignment that does nothing but give a value a name."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    return all(_last(each.func) in _PURE for each in calls)


def is_registered(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether something may come to it that never names it: a hook, a decorator, Python itself."""
    if node.name.startswith(("pytest_", "__")):
        return True
    for each in node.decorator_list:
        call = each if isinstance(each, ast.Call) else None
        if _last(call.func if call else each) not in _INERT:
            return True
        if call and any(keyword.arg == "autouse" for keyword in call.keywords):
            return True
    return False


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
