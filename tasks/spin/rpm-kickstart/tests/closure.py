"""What packages bring along, as their headers say it."""

from __future__ import annotations

from collections.abc import Iterable

from rpms import Package, Rpm


def reachable(
    names: Iterable[str], packages: list[Package], bench: Iterable[Rpm] = (), *, weak: bool = False
) -> set[str]:
    """The names of all packages that these could need, whoever of several provides it."""
    needs: dict[str, set[str]] = {}
    provided: dict[str, set[str]] = {}
    for one in packages:
        kinds = ("requires", "recommends") if weak else ("requires",)
        needs[one.name] = {name for kind in kinds for name, _, _ in one.needs(kind)}
        for name in [n for n, _, _ in one.needs("provides")] + [f.named for f in one.files()]:
            provided.setdefault(name, set()).add(one.name)
    for made in bench:
        kinds = ("requires", "recommends") if weak else ("requires",)
        needs[made.name] = {name for kind in kinds for name, _, _ in made.dependencies(kind)}
        for name in [n for n, _, _ in made.dependencies("provides")] + made.paths():
            provided.setdefault(name, set()).add(made.name)
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name in found or name not in needs:
            continue
        found.add(name)
        for need in needs[name]:
            left += provided.get(need, ())
    return found
