"""What was ordered: the drawn choices and demands, as the generator wrote them down."""

from __future__ import annotations

import json
from pathlib import Path

_TOLD = json.loads((Path(__file__).parent / "spec.json").read_text(encoding="utf-8"))
AXES: dict[str, str] = _TOLD["axes"]
DEMANDS: dict[str, dict] = _TOLD["demands"]
FIRMWARE, MOUNT, SERVICE = AXES["boot"], AXES["mount"], AXES["service"]
PROGRAM = f"/usr/bin/{SERVICE}"
PORT, SECOND_PORT, SSH_PORT, OTHER_PORT = (
    int(AXES[f"port_{name}"]) for name in ("service", "second", "ssh", "other")
)
FOLDERS = {"main": f"{MOUNT}/{AXES['folder']}", "second": f"{MOUNT}/{AXES['second']}"}


def has(name: str) -> bool:
    """Whether a demand was drawn."""
    return name in DEMANDS


def mark(text: str) -> str:
    """What the service makes of a text: FNV-1a, 64 bits."""
    total = 14695981039346656037
    for byte in text.encode():
        total = (total ^ byte) * 1099511628211 & (1 << 64) - 1
    return f"mark {total:016x}"


def form(fields: dict[str, str]) -> str:
    """A file of the ordered form."""
    if AXES["form"] == "json":
        return json.dumps(fields) + "\n"
    sign = "=" if AXES["form"] == "equals" else ": "
    return "".join(f"{key}{sign}{value}\n" for key, value in fields.items())


def read_form(text: str) -> dict[str, str]:
    """What a file of the ordered form says; AssertionError where it has another form."""
    try:
        if AXES["form"] == "json":
            found = json.loads(text)
            assert isinstance(found, dict)
            return found
        sign = "=" if AXES["form"] == "equals" else ": "
        rows = [row.partition(sign) for row in text.splitlines()]
        assert all(middle for _, middle, _ in rows)
        return {key: value for key, _, value in rows}
    except (ValueError, AssertionError):
        raise AssertionError(f"not {AXES['form']}: {text[-300:]!r}") from None
