"""A syntax tree as text that is the same for the same meaning."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

#: Called with an identifier or with `module:name`; gives back the name that records use.
Canonical = Callable[[str], str]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)
_CALLABLE = (*FUNCTIONS, ast.Lambda)
_DEFINED = (*FUNCTIONS, ast.ClassDef)
_NAMING = (*_DEFINED, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
#: Their attributes say nothing of what is meant.
_LEFT_OUT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
#: Their string arguments name attributes or fixtures.
_BY_NAME = frozenset(
    {"getattr", "setattr", "hasattr", "getfixturevalue", "usefixtures", "attrgetter"}
)


@dataclass
class Scope:
    """A module, as far as it says what names stand for.

    `names`: what is imported or defined at its top → `module` or `module:name`. `lazy`: nothing
    reads the annotations of its functions.
    """

    module: str
    is_package: bool
    canonical: Canonical
    lazy: bool
    names: dict[str, str] = field(default_factory=dict)

    def targets(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
        """Local name and what it stands for: `module` or `module:name`."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or whole, whole
                if whole != alias.name:
                    yield f" {alias.name}", alias.name
            return
        base = node.module or ""
        if node.level:
            parts = self.module.split(".")
            cut = node.level - (1 if self.is_package else 0)
            parts = parts[: len(parts) - cut] if cut else parts
            base = ".".join([*parts, base] if base else parts)
        for alias in node.names:
            yield alias.asname or alias.name, f"{base}:{alias.name}"


class TreeText:
    """Writes a tree as text, and notes what it refers to."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.canonical = scope.canonical
        self.refs: set[str] = set()
        self.mentions: set[str] = set()
        self.scopes: list[frozenset[str]] = []
        self.is_field = False

    def write(self, node: ast.AST) -> str:
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Constant):
            return self._plain(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, IMPORTS):
            self.refs |= {target for _, target in self.scope.targets(node)}
            return ""
        if isinstance(node, ast.Call):
            self._by_name(node)
        if isinstance(node, ast.MatchClass):
            self.mentions |= set(node.kwd_attrs)
        if isinstance(node, _CALLABLE):
            return self._function(node)
        if isinstance(node, ast.AnnAssign) and self.scope.lazy and not self.is_field:
            return self._plain(node, frozenset({"annotation", "simple"}))
        if isinstance(node, ast.ClassDef):
            return self._inside(node, is_field=True)
        return self._plain(node)

    def _inside(
        self, node: ast.AST, without: frozenset[str] = frozenset(), *, is_field: bool
    ) -> str:
        """Annotations of a class's body are read (a dataclass makes fields of them)."""
        before, self.is_field = self.is_field, is_field
        try:
            return self._plain(node, without)
        finally:
            self.is_field = before

    def _plain(self, node: ast.AST, without: frozenset[str] = frozenset()) -> str:
        parts = []
        for name in node._fields:
            if name in _LEFT_OUT or name in without:
                continue
            value = getattr(node, name, None)
            if isinstance(value, list):
                body = self._body(node, name, value)
                if body:
                    parts.append(f"{name}=[{','.join(body)}]")
            elif isinstance(value, ast.AST):
                parts.append(f"{name}={self.write(value)}")
            elif value is not None or (isinstance(node, ast.Constant) and name == "value"):
                parts.append(f"{name}={self._value(node, name, value)}")
        return f"{type(node).__name__}({','.join(parts)})"

    def _body(self, node: ast.AST, name: str, value: list[object]) -> list[str]:
        if name == "body" and isinstance(node, _DEFINED) and value and is_docstring(value[0]):
            value = value[1:]
        if isinstance(node, ast.JoinedStr):  # 3.12.1 ends a format with nothing, 3.13 does not
            value = [each for each in value if getattr(each, "value", None) != ""]
        written = [
            self.write(each) if isinstance(each, ast.AST) else self._identifier(each)
            for each in value
        ]
        found = [each for each in written if each]
        return found or (["Pass()"] if name == "body" and written else [])

    def _value(self, node: ast.AST, name: str, value: object) -> str:
        if isinstance(node, ast.Constant):
            return f"{type(value).__name__}:{value!r}"
        if isinstance(value, str):
            if name in ("arg", "attr"):
                self.mentions.add(value)
            if name == "name" and isinstance(node, _DEFINED):
                return self._own_name(value)
            return self._identifier(value)
        return repr(value)

    def _own_name(self, name: str) -> str:
        """What a definition is called: at the top of a module by its place, else by itself."""
        qualified = self.scope.names.get(name)
        if qualified == f"{self.scope.module}:{name}" and not self.scopes:
            return self.canonical(qualified).rpartition(":")[2]
        return self._identifier(name)

    def _identifier(self, value: object) -> str:
        return self.canonical(value) if isinstance(value, str) else repr(value)

    def _name(self, node: ast.Name) -> str:
        target = self.scope.names.get(node.id)
        if target is None:
            if self.is_field:  # `closed = property(_is_closed)`
                self.mentions.add(node.id)
            return f"Name({self._identifier(node.id)})"
        self.refs.add(target)
        if any(node.id in scope for scope in self.scopes):
            return f"Name({self._identifier(node.id)})"
        return f"Name({self.canonical(target)})"

    def _attribute(self, node: ast.Attribute) -> str:
        self.mentions.add(node.attr)
        target = self._module_of(node.value)
        if target is None:
            return self._plain(node)
        self.refs |= {target, f"{target}:{node.attr}"}
        return f"Name({self.canonical(f'{target}:{node.attr}')})"

    def _module_of(self, node: ast.expr) -> str | None:
        """The dotted module that an expression stands for, as far as imports say."""
        if isinstance(node, ast.Name) and not any(node.id in scope for scope in self.scopes):
            target = self.scope.names.get(node.id, "")
            return (
                None
                if not target or target.startswith(self.scope.module + ":")
                else (target.replace(":", "."))
            )
        return None

    def _by_name(self, node: ast.Call) -> None:
        function = node.func
        called = function.attr if isinstance(function, ast.Attribute) else ""
        called = function.id if isinstance(function, ast.Name) else called
        if called in _BY_NAME:
            self.mentions |= {
                each.value
                for each in node.args
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            }

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> str:
        self.mentions |= {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        head = ""
        if not isinstance(node, ast.Lambda):
            # Decorators and defaults belong to the scope around.
            head = ",".join(self.write(each) for each in node.decorator_list)
            head = f"{self._own_name(node.name)}[{head}]"
        self.scopes.append(_bound(node))
        try:
            arguments = self._arguments(node.args)
            without = frozenset({"name", "decorator_list", "args"})
            if self.scope.lazy:
                without |= {"returns"}
            rest = self._inside(node, without, is_field=False)
        finally:
            self.scopes.pop()
        return f"{head}({arguments}){rest}"

    def _arguments(self, arguments: ast.arguments) -> str:
        if not self.scope.lazy:
            return self._plain(arguments)
        plain = ast.arguments(
            posonlyargs=[ast.arg(each.arg) for each in arguments.posonlyargs],
            args=[ast.arg(each.arg) for each in arguments.args],
            vararg=ast.arg(arguments.vararg.arg) if arguments.vararg else None,
            kwonlyargs=[ast.arg(each.arg) for each in arguments.kwonlyargs],
            kw_defaults=arguments.kw_defaults,
            kwarg=ast.arg(arguments.kwarg.arg) if arguments.kwarg else None,
            defaults=arguments.defaults,
        )
        return self._plain(plain)


def is_docstring(node: object) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _bound(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """Names that a function binds itself; those of functions inside are theirs."""
    found = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    outside: set[str] = set()
    stack: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while stack:
        each = stack.pop()
        if isinstance(each, ast.Name):
            if not isinstance(each.ctx, ast.Load):
                found.add(each.id)
            continue
        if isinstance(each, ast.Global):
            outside |= set(each.names)
        elif isinstance(each, _NAMING) and each.name:
            found.add(each.name)
        if not isinstance(each, _CALLABLE):
            for name in each._fields:
                value = getattr(each, name, None)
                if isinstance(value, list):
                    stack += [part for part in value if isinstance(part, ast.AST)]
                elif isinstance(value, ast.AST):
                    stack.append(value)
    return frozenset(found - outside)
