"""Time zones: two files compared in every second, and what almanac is asked about each zone."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from datetime import datetime
from shlex import quote
from zoneinfo import ZoneInfo, _zoneinfo  # type: ignore[attr-defined]

import reference

from benchflow.bench import rootfs_tree as rootfs
from benchflow.bench.rootfs_tree import Tree

FIRST, LAST = -2145916800, 4102444800  # 1902 and 2100
_DEPTH = 5


def differ(one: bytes, two: bytes) -> int | None:
    """The first second from 1902 to 2099 in which two files give another local time.

    Both files are constant between the moments at which either says that something changes, so
    it is enough to look at each of these and at the second before it.
    """
    turns = {FIRST + 1, LAST}
    same_rule = reference.footer(one) == reference.footer(two)
    for data in (one, two):
        changes = reference.transitions(data)
        # From the last change on the rule alone tells the time, a year later at the latest.
        after = max(changes, default=FIRST) + 366 * 86400 if same_rule else LAST
        turns |= {turn for turn in changes if FIRST < turn < LAST}
        turns |= {turn for turn in _by_rule(data) if turn < after}
    zones = reference.load(one), reference.load(two)
    for turn in sorted(turns):
        for moment in (turn - 1, turn):
            if FIRST <= moment < LAST and _state(zones[0], moment) != _state(zones[1], moment):
                return moment
    return None


def _state(zone: ZoneInfo, seconds: int) -> tuple[object, ...]:
    there = datetime.fromtimestamp(seconds, zone)
    return there.utcoffset(), there.tzname()


def _by_rule(data: bytes) -> set[int]:
    """Where the rule in a file's last line can change something."""
    rule = _zoneinfo._parse_tz_str(reference.footer(data)) if reference.footer(data) else None
    if not isinstance(rule, _zoneinfo._TZStr):
        return set()
    offsets = [int(info.utcoff.total_seconds()) for info in (rule.std, rule.dst)]
    years = range(1901, 2101)
    local = {int(turn) for year in years for turn in rule.transitions(year)}
    found = {turn - offset for turn in local for offset in offsets}
    return {turn for turn in found if FIRST < turn < LAST}


def names_in(tree: Tree) -> tuple[set[str], set[str]]:
    """(names of files, names of folders) of the tree's zones, as who follows links finds them."""
    top = rootfs.find(tree, "usr/share/zoneinfo")
    children: dict[str, list[str]] = {}
    for path in tree:
        folder, _, last = path.rpartition("/")
        children.setdefault(folder, []).append(last)
    files: set[str] = set()
    folders: set[str] = set()

    def walk(where: str, name: str, depth: int) -> None:
        for last in children.get(where, ()):
            inner = f"{name}/{last}" if name else last
            place = rootfs.find(tree, f"{where}/{last}" if where else last)
            if place is not None and rootfs.points_at_a_directory(tree, place):
                folders.add(inner)
                # A link may lead back to where it lies.
                if depth < _DEPTH:
                    walk(place, inner, depth + 1)
            else:
                files.add(inner)

    if top is not None:
        walk(top, "", 1)
    return files, folders


def folders_of(names: Iterable[str]) -> set[str]:
    """All folders that these names lie in."""
    found = set()
    for name in names:
        parts = name.split("/")
        found |= {"/".join(parts[:n]) for n in range(1, len(parts))}
    return found


def moments(shipped: Mapping[str, bytes], draw: random.Random) -> dict[str, list[int]]:
    """For each zone: the first second of 1902, the first change since and the second before, a
    change that is drawn, and two moments of the time that rules alone tell."""
    asked = {}
    for name, data in shipped.items():
        turns = sorted(turn for turn in reference.transitions(data) if FIRST < turn < LAST)
        some = {FIRST, draw.randrange(FIRST, LAST), draw.randrange(2145916800, LAST)}
        for turn in [*turns[:1], *([draw.choice(turns)] if turns else [])]:
            some |= {turn - 1, turn}
        asked[name] = sorted(some)
    return asked


def script(asked: Mapping[str, list[int]]) -> str:
    """A script for the bench's shell: asks the entry point `$3` about zones `$1` to `$2`."""
    lines = ["program=$3"]
    for number, (name, seconds) in enumerate(asked.items()):
        words = " ".join(map(str, seconds))
        lines.append(
            f'[ {number} -lt $1 ] || [ {number} -ge $2 ] || "$program" time {quote(name)} {words}'
        )
    return "\n".join(lines) + "\n"
