"""What was ordered: the drawn choices and demands, as the generator wrote them down."""

from __future__ import annotations

import json
from pathlib import Path

_TOLD = json.loads((Path(__file__).parent / "spec.json").read_text(encoding="utf-8"))
AXES: dict[str, str] = _TOLD["axes"]
DEMANDS: dict[str, dict] = _TOLD["demands"]
STATUS = {name[7:]: int(value) for name, value in AXES.items() if name.startswith("status_")}
WORD = AXES["word"]
STATE = f"{AXES['state']}/{WORD}"
CONF = AXES["conf"]


def has(name: str) -> bool:
    """Whether a demand was drawn."""
    return name in DEMANDS


def verb(name: str) -> str:
    """The manager's word for what is to be done."""
    return AXES[f"verb_{name}"]
