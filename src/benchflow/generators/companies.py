"""Which parts are tried together, so that what comes of it still tells of each of them.

Handing in what was handed out: parts that break different milestones, so that each milestone that
fails is one part's alone. The oracle: as many as an instance has at most. Each part is in two such
companies, and is tried once where nothing can be beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchflow.generators.generator import Generator
from benchflow.generators.parts import Part

#: Names of parts, sorted.
type Company = tuple[str, ...]


def handed_out(generator: Generator) -> list[Company]:
    """Two rounds over all parts; who is together in the first is not in the second. A part that
    blocks is alone: nothing is seen of others before it is repaired."""
    blocking = [part for part in generator.parts.values() if generator.blocks(part)]
    others = [part for part in generator.parts.values() if not generator.blocks(part)]
    # Those that break most are the hardest to place.
    others.sort(key=lambda part: (-len(part.seen_at), part.name))

    def fits(part: Part, company: list[Part]) -> bool:
        return not any(part.seen_at & other.seen_at for other in company)

    first = _placed(others, fits)
    met = {name: {*company} - {name} for company in first for name in company}
    again = [part for part in others if met[part.name]]

    def strangers(part: Part, company: list[Part]) -> bool:
        return fits(part, company) and not met[part.name] & {other.name for other in company}

    return [*((part.name,) for part in blocking), *first, *_placed(again, strangers)]


def repaired(generator: Generator) -> list[Company]:
    """Two rounds over all parts, of as many at once as the highest level has, and of half of them
    at most; the companies of the second are others. A part that has the same company in both is
    alone besides."""
    parts = sorted(generator.parts.values(), key=lambda part: part.name)
    highest = max(level.parts for level in generator.levels.values())
    most = min(highest, (len(parts) + 1) // 2)

    def fits(part: Part, company: list[Part]) -> bool:
        return len(company) < most

    first = _placed(parts, fits)
    step = len(first)
    mixed = [part for at in range(step) for part in parts[at::step]]
    found = list(dict.fromkeys([*first, *_placed(mixed, fits)]))
    alone = [(part.name,) for part in parts if len([one for one in found if part.name in one]) < 2]
    return list(dict.fromkeys([*found, *alone]))


def _placed(parts: Sequence[Part], fits: Callable[[Part, list[Part]], bool]) -> list[Company]:
    """Each part in the first company that it fits in and where nothing excludes it."""
    companies: list[list[Part]] = []
    for part in parts:
        for company in companies:
            if fits(part, company) and not part.conflicts & {other.name for other in company}:
                company.append(part)
                break
        else:
            companies.append([part])
    return [tuple(sorted(part.name for part in company)) for company in companies]
