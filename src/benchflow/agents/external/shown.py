"""A command's outcome as JSON that a program or a model can read."""

from __future__ import annotations

import base64
from typing import Any


def shown(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer to `run`: output that is not UTF-8 stays base64, and says so."""
    told = {key: answer[key] for key in ("status", "timed_out", "seconds", "left_out")}
    for name in ("stdout", "stderr"):
        told |= text_of(name, base64.b64decode(answer[name]))
    return told


def text_of(name: str, data: bytes) -> dict[str, str]:
    """`data` under `name`, with the encoding that it is given in."""
    try:
        return {name: data.decode("utf-8"), f"{name}_encoding": "utf-8"}
    except UnicodeDecodeError:
        text = base64.b64encode(data).decode("ascii")
        return {name: text, f"{name}_encoding": "base64"}
