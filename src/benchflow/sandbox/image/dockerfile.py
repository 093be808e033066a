"""What has to be known of a Dockerfile before it is built: the images that it starts from."""

from __future__ import annotations

import re

from benchflow.errors import TaskError
from benchflow.sandbox.image import recipe


def base_references(text: str, name: str = "Dockerfile") -> list[str]:
    """The images named by FROM and COPY --from, in order, without build stages and `scratch`.
    Raises TaskError when there is no FROM or one has an argument without a default."""
    arguments: dict[str, str] = {}
    stages: set[str] = set()
    references: list[str] = []
    seen_from = False
    for number, line in _instructions(recipe.adapted(text, name).text):
        word, _, rest = line.partition(" ")
        if word.upper() == "ARG" and not seen_from:
            key, _, value = rest.strip().partition("=")
            arguments[key.strip()] = value.strip().strip("\"'")
        if word.upper() == "COPY":
            references += [one for one in _copied_from(rest) if one.lower() not in stages]
        if word.upper() != "FROM":
            continue
        seen_from = True
        parts = [part for part in rest.split() if not part.startswith("--")]
        if not parts:
            raise TaskError(
                f"{name}:{number}: FROM names no image", hint="write FROM debian:bookworm"
            )
        reference = _substitute(parts[0], arguments, f"{name}:{number}")
        if reference != "scratch" and reference.lower() not in stages:
            references.append(reference)
        if len(parts) == 3 and parts[1].upper() == "AS":
            stages.add(parts[2].lower())
    if not seen_from:
        raise TaskError(f"{name}: no FROM instruction", hint="start it with FROM debian:bookworm")
    return list(dict.fromkeys(references))


def _copied_from(rest: str) -> list[str]:
    """What a COPY names in --from, but for stages by number and what an argument names."""
    named = [part.removeprefix("--from=") for part in rest.split() if part.startswith("--from=")]
    return [one for one in named if one and not one.isdigit() and "$" not in one]


def _instructions(text: str) -> list[tuple[int, str]]:
    found = []
    pending, start = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        if raw.lstrip().startswith("#"):
            continue
        if not pending:
            start = number
        pending += raw.strip()
        if pending.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        if pending:
            found.append((start, pending))
        pending = ""
    return found


def _substitute(text: str, arguments: dict[str, str], where: str) -> str:
    def value(match: re.Match[str]) -> str:
        key = match[1] or match[2]
        if not arguments.get(key):
            raise TaskError(f"{where}: FROM uses ${key}, which has no default", hint="give it one")
        return arguments[key]

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", value, text)
