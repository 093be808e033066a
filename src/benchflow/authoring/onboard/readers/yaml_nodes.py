"""YAML as nodes with lines, so that nothing is constructed, and no alias is multiplied."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

#: The parser is slow, and nobody writes a longer compose or CI file by hand.
_TEXT_MAX = 128 << 10


def parse(text: str) -> yaml.Node | None:
    """The first document. ValueError: it is no YAML; RecursionError: it is too deep."""
    if len(text) > _TEXT_MAX:
        raise ValueError("too large")
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(str(error).split("\n")[0]) from None


def pairs(node: object) -> list[tuple[str, yaml.Node]]:
    """A mapping's keys and values, merges (`<<`) not followed."""
    if not isinstance(node, yaml.MappingNode):
        return []
    return [(key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]


def get(node: object, key: str) -> yaml.Node | None:
    """One value of a mapping."""
    return next((value for name, value in pairs(node) if name == key), None)


def items(node: object) -> list[yaml.Node]:
    """A sequence's items."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def text(node: object) -> str:
    """A scalar's text."""
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def line(node: object) -> int:
    """The line on which a node begins."""
    return node.start_mark.line + 1 if isinstance(node, yaml.Node) else 1


def walk(node: object, key: str, most: int = 20_000) -> Iterator[yaml.Node]:
    """All values of `key` at any depth, each node looked at once, however often it is named."""
    seen: set[int] = set()
    waiting = [node]
    while waiting and len(seen) < most:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        for name, value in pairs(one):
            if name == key:
                yield value
            waiting.append(value)
        waiting += items(one)
