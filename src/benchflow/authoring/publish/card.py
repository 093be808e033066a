"""README.md of a data set on the Hugging Face Hub: what it holds, in the Hub's front matter.

The layout is the one that Hub data sets of Harbor tasks use: `tasks/NAME/task.toml`, and the card
beside `tasks`. Fields of the front matter: https://huggingface.co/docs/hub/datasets-cards.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from benchflow.authoring.publish.markdown import cell
from benchflow.base import atomic
from benchflow.errors import UsageError

_MARK = "<!-- made by benchflow tasks export --layout hf -->"
_FRONT = """\
---
license: apache-2.0
language:
- en
pretty_name: benchflow
tags:
- harbor
- agents
- reinforcement-learning
- benchmark
size_categories:
- {size}
---
"""
_COLUMNS = (
    "task",
    "version",
    "what it asks for (machine)",
    "agent's time limit",
    "images pinned",
    "authors",
    "reviewers",
)
_ABOUT = """
# benchflow

Hard systems tasks for coding agents in the Harbor task format, verified by booting what the agent
built. Each folder below `tasks` is a whole task; its `DATASHEET.md` says what is proved of it.

Run them with `harbor run -p tasks --agent …`. The reward is `reward` of `reward.json`; `resolved`
says whether all is done. The verifier needs its own container (`environment_mode = "separate"`).
"""


def check_place(folder: Path) -> None:
    """Raises UsageError where a README.md of somebody else's stands in `folder`."""
    there = folder / "README.md"
    if there.exists() and _MARK not in there.read_text(encoding="utf-8", errors="replace"):
        raise UsageError(
            f"{there} exists and was not made by an export",
            hint="choose another folder, or move it away",
        )


def write(folder: Path) -> Path:
    """Writes the card for all tasks below `folder`/tasks, those of earlier exports included."""
    check_place(folder)
    told = [
        tomllib.loads(file.read_text(encoding="utf-8"))
        for file in sorted((folder / "tasks").glob("*/task.toml"))
    ]
    rows = [f"| {' | '.join(_row(one))} |" for one in told]
    front = _FRONT.format(size="n<1K" if len(told) < 1000 else "1K<n<10K")
    header = f"| {' | '.join(_COLUMNS)} |"
    table = "\n".join([header, "|---" * len(_COLUMNS) + "|", *rows])
    path = folder / "README.md"
    atomic.write(path, f"{front}{_MARK}\n{_ABOUT}\n{table}\n")
    return path


def _row(told: dict[str, Any]) -> list[str]:
    ours = told.get("metadata", {}).get("benchflow", {})
    images = "docker_image" in told.get("environment", {})
    cells = [
        told["task"]["name"],
        str(told["task"].get("version", "")),
        str(told["task"].get("description", "")),
        f"{told.get('agent', {}).get('timeout_sec', 0) / 3600:g} h",
        "yes" if images else "no",
        _names(told["task"].get("authors")),
        _names(ours.get("reviewers")),
    ]
    if ours.get("arch"):
        cells[2] += f" ({ours['arch']}, {ours['firmware']})"
    return [cell(text, 200) for text in cells]


def _names(people: object) -> str:
    entries = people if isinstance(people, list) else []
    return ", ".join(str(one.get("name", "")) for one in entries if isinstance(one, dict))
