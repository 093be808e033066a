"""Which definitions some code can come to: those that it names, and those that these name.

A function, class or value of a module counts once reached code names it; a method once its class
counts and reached code mentions its name (of whichever object: what an object is, nobody knows
from the text); what registers itself (hooks, decorators, statements of a module) once its module
is imported. Too much rather than too little: a definition that counts in vain makes a gate due in
vain, one that is missed keeps a record that no longer holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from benchflow.authoring.meaning.syntax import Definition, Module

#: The module of a dotted name; None for what is nobody's of ours (a library, the standard one).
Find = Callable[[str], Module | None]


@dataclass
class Reached:
    """`found`: (module, definition) that count."""

    find: Find
    found: dict[tuple[str, str], Definition] = field(default_factory=dict)
    libraries: set[str] = field(default_factory=set)
    _modules: dict[str, Module] = field(default_factory=dict)
    _mentions: set[str] = field(default_factory=set)

    def all_of(self, name: str) -> None:
        """Count every definition of the module `name`: a root."""
        module = self._module(name)
        for definition in module.definitions.values() if module else ():
            self._take(name, definition)

    def close(self) -> None:
        """Count what the counted come to, until nothing is added. Call after the roots."""
        size = -1
        while size != len(self.found) + len(self._modules):
            size = len(self.found) + len(self._modules)
            for module in list(self._modules.values()):
                self._methods(module)

    def refer(self, refs: Iterable[str]) -> None:
        """Count what `module:name` or `module` stand for."""
        for ref in refs:
            name, _, inner = ref.partition(":")
            self._refer(name, inner)

    def _refer(self, name: str, inner: str) -> None:
        module = self._module(name)
        if module is None:
            self.libraries.add(name.partition(".")[0])
            return
        if inner in module.homes:
            self._refer(module.homes[inner], inner)
        elif inner in module.definitions:
            self._take(name, module.definitions[inner])
        elif inner:
            self._module(f"{name}.{inner}")

    def _module(self, name: str) -> Module | None:
        """The module, imported: its packages are, and what happens then counts."""
        if name in self._modules:
            return self._modules[name]
        module = self.find(name)
        if module is None:
            return None
        self._modules[name] = module
        package = name.rpartition(".")[0]
        if package:
            self._module(package)
        for definition in list(module.definitions.values()):
            if definition.always and "." not in definition.name:
                self._take(name, definition)
        for target in module.imports:  # who imports a module runs it
            other, _, inner = target.partition(":")
            if self._module(other) is not None and inner:
                home = self._modules[other]
                if inner not in home.definitions and inner not in home.homes:
                    self._module(f"{other}.{inner}")
        return module

    def _take(self, name: str, definition: Definition) -> None:
        if (name, definition.name) in self.found:
            return
        self.found[name, definition.name] = definition
        self._mentions |= definition.mentions
        self.refer(definition.refs)

    def _methods(self, module: Module) -> None:
        for owner, methods in module.methods.items():
            if (module.name, owner) not in self.found:
                continue
            for method in methods:
                definition = module.definitions[method]
                if definition.always or method.rpartition(".")[2] in self._mentions:
                    self._take(module.name, definition)
