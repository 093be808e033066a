"""What was ordered: the drawn choices and demands, as the generator wrote them down."""

from __future__ import annotations

import json
from pathlib import Path

_TOLD = json.loads((Path(__file__).parent / "spec.json").read_text(encoding="utf-8"))
AXES: dict[str, str] = _TOLD["axes"]
DEMANDS: dict[str, dict] = _TOLD["demands"]
STATUS = {name[7:]: int(value) for name, value in AXES.items() if name.startswith("status_")}
#: What no signature of FORMAT.md's form is called: a bundle of another form, or one not of ours.
NO_SIGNATURE = ("form", "distrusted")
WORD = AXES["word"]
TRIES = int(AXES["tries"])
PATIENCE = int(AXES["patience"])
KIB = 1024
FLASH = 6144 * KIB
_PLACES = [int(number) * KIB for number in AXES["map"].split()]
_AREAS = [(_PLACES[at], _PLACES[at + 1]) for at in range(0, 10, 2)]
#: Where the areas are in the flash, and how large: of the program's own, and of each slot.
STATE, STORE = _AREAS[0], _AREAS[4]
_ONE, _TWO, GOLDEN = AXES["slot_one"], AXES["slot_two"], AXES["slot_golden"]
LAYOUT = AXES["layout"]
_NAMES = {"pair": [_ONE, _TWO], "golden": [GOLDEN, _ONE], "three": [GOLDEN, _ONE, _TWO]}[LAYOUT]
SLOTS = dict(zip(_NAMES, _AREAS[1:4], strict=False))
#: Those that are written, in order.
WRITTEN = [name for name in _NAMES if name != GOLDEN or LAYOUT == "pair"]
FIRST = _NAMES[0]


def has(name: str) -> bool:
    """Whether a demand was drawn."""
    return name in DEMANDS


def verb(name: str) -> str:
    """The updater's word for what is to be done."""
    return AXES[f"verb_{name}"]


def kind(name: str) -> str:
    """The updater's word for what a slot is."""
    return AXES[f"state_{name}"]


def key_of(version: str) -> tuple[int, ...]:
    """Versions in their order."""
    return tuple(int(part) for part in version.split("."))
