"""What parts are, faults or demands, and in which words each is told of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of parts. `bare` is the exploit that has none of the parts' work in it, with the
    reason for what it gains; the rest are words for authors."""

    bare: str
    bare_why: str
    blocking: str
    """Why a part that blocks was drawn; `silent` likewise."""
    silent: str
    levels: str
    """Under the table of levels."""
    title: str
    """Over the titles of the parts."""
    tried: str
    """What a part came to that was tried and is good."""


KINDS = {
    "faults": Kind(
        bare="as-it-came",
        bare_why="nothing that was drawn harms these; what is whole has to stay whole",
        blocking="blocking: nobody gets to a login before it is repaired",
        silent="silent: nothing complains at the first start",
        levels="silent: nothing complains at the first start. pairs: parts that make each other "
        "harder.\n"
        "blocking: nobody gets to a login before it is repaired. All but parts are the least.",
        title="what is wrong",
        tried="what is handed out earns exactly what the\n"
        "parts leave whole, and the oracle repairs them",
    ),
    "demands": Kind(
        bare="core-alone",
        bare_why="nothing that was drawn is asked for there; what all instances ask is honestly "
        "done",
        blocking="blocking: nothing can be installed without it",
        silent="silent: no single command shows it",
        levels="parts: demands that are asked for besides. layers: kinds of demand. "
        "silent: no single\n"
        "command shows it, only a kill, a power cut, a full disk, a second repository. pairs:\n"
        "demands that make each other harder. blocking: nothing can be installed without it.\n"
        "All but parts are the least.",
        title="what is asked",
        tried="the oracle without them fails exactly what\nthey say, and with them it resolves",
    ),
}
