"""Compose files that hold one service alone, `main`: they say no more than a Dockerfile does.

Harbor lays a task's Compose file over its own, in which `main` is the agent's container. One that
only builds `main`, names its image or sets variables is taken here for what it says. Whatever needs
a container engine (a second service, a volume, a privilege) is named, with its key.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchflow.errors import TaskError

NAME = "docker-compose.yaml"
#: What Compose reads, too, and Harbor does not.
OTHER_NAMES = ("docker-compose.yml", "compose.yaml", "compose.yml")
_MAIN = "main"
_DOCKER = "run this task with --sandbox docker, or write it as one Dockerfile"
#: What says nothing that a sandbox of one machine's worth would not do anyway; limits are
#: task.toml's.
_IMMATERIAL = {
    "container_name", "cpus", "deploy", "expose", "hostname", "init", "labels", "logging",
    "mem_limit", "memswap_limit", "platform", "ports", "pull_policy", "restart", "stdin_open",
    "stop_grace_period", "stop_signal", "tty",
}  # fmt: skip
#: Harbor's and Terminal-Bench's own variables: log folders that every sandbox has.
_LOGS = re.compile(r"\$\{(HOST|ENV|T_BENCH)_\w+(:?-[^}]*)?\}|^/logs(/|$)")
_VARIABLE = re.compile(r"\$(?:\$|\{(\w+)(?::?-([^}]*))?\}|(\w+))")
_KEEPS_ALIVE = re.compile(r"\bsleep\b|tail -f /dev/null")


@dataclass(frozen=True)
class Service:
    """What to build and how to start it. `image` is set where nothing is built."""

    context: Path
    dockerfile: str = "Dockerfile"
    image: str = ""
    env: dict[str, str] = field(default_factory=dict)
    workdir: str = ""


def read(path: Path) -> Service:
    """The one service of a Compose file. Raises TaskError that names file, key and a way out."""
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise TaskError(f"{path}: not valid YAML: {why}", hint="fix the line it names") from None
    services = data.get("services") if isinstance(data, dict) else None
    if not isinstance(services, dict) or not isinstance(services.get(_MAIN), dict | None):
        raise TaskError(f"{path}: services: no service {_MAIN!r}", hint=f"name it {_MAIN}")
    if others := sorted(str(name) for name in services if name != _MAIN):
        raise TaskError(
            f"{path}: services: {', '.join(others)} beside {_MAIN}: the namespace sandbox runs one "
            "container's worth, not several Compose services",
            hint=_DOCKER,
        )
    return _service(path, services.get(_MAIN) or {})


def _service(path: Path, main: dict[str, Any]) -> Service:
    for key, value in main.items():
        if key in ("build", "image", "environment", "working_dir") or key in _IMMATERIAL:
            continue
        if str(key).startswith("x-") or value in (None, [], {}, False):
            continue
        if key == "command" and _KEEPS_ALIVE.search(_words(value)):
            continue
        if key == "volumes" and isinstance(value, list) and all(_is_logs(v) for v in value):
            continue
        raise TaskError(
            f"{path}: services.{_MAIN}.{key}: needs a container engine, and the namespace sandbox "
            "is none",
            hint=_DOCKER,
        )
    env = _environment(main.get("environment"))
    workdir = _resolved(str(main.get("working_dir") or ""))
    build = main.get("build")
    if build is None and (path.parent / "Dockerfile").is_file():
        build = "."  # Harbor's own file under this one says so
    if build is None:
        image = _resolved(str(main.get("image") or ""))
        if not image:
            raise TaskError(
                f"{path}: services.{_MAIN}: neither build nor image", hint="write build: ."
            )
        return Service(path.parent, image=image, env=env, workdir=workdir)
    context, dockerfile = _build(path, build)
    return Service(context, dockerfile, env=env, workdir=workdir)


def _build(path: Path, build: Any) -> tuple[Path, str]:
    told = {"context": build} if isinstance(build, str) else build
    at = f"{path}: services.{_MAIN}.build"
    if not isinstance(told, dict):
        raise TaskError(f"{at}: neither a folder nor a table", hint="write build: .")
    for key in told:
        if key not in ("context", "dockerfile", "pull", "no_cache"):
            raise TaskError(
                f"{at}.{key}: the namespace sandbox builds without it",
                hint="write it into the Dockerfile, or run this task with --sandbox docker",
            )
    where = str(told.get("context") or ".").replace("${CONTEXT_DIR}", ".")
    context = (path.parent / _resolved(where)).resolve()
    if not context.is_relative_to(path.parent.resolve()):
        raise TaskError(f"{at}.context: {where} is outside of {path.parent}", hint="write build: .")
    dockerfile = _resolved(str(told.get("dockerfile") or "Dockerfile"))
    if not (context / dockerfile).resolve().is_relative_to(context):
        raise TaskError(f"{at}.dockerfile: {dockerfile} is outside of {where}", hint="move it in")
    return context, dockerfile


def _environment(given: Any) -> dict[str, str]:
    if isinstance(given, dict):
        pairs = {str(key): value for key, value in given.items()}
    else:
        entries = given if isinstance(given, list) else []
        split = (str(entry).partition("=") for entry in entries)
        pairs = {key: value if equals else None for key, equals, value in split}
    env = {}
    for key, value in pairs.items():
        # A name alone is taken from whoever starts it; one that is not set stays unset.
        taken = os.environ.get(key) if value is None else _resolved(_scalar(value))
        if taken is not None:
            env[key] = taken
    return env


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _resolved(text: str) -> str:
    """`text` with the variables of this process, as Compose puts them in."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[3]
        if name is None:
            return "$"
        return os.environ.get(name) or (match[2] or "")

    return _VARIABLE.sub(value, text)


def _words(command: Any) -> str:
    return " ".join(map(str, command)) if isinstance(command, list) else str(command)


def _is_logs(volume: Any) -> bool:
    """Whether a volume is one of the log folders that every sandbox has."""
    if isinstance(volume, dict):
        return bool(_LOGS.search(str(volume.get("target"))))
    return any(_LOGS.search(part) for part in re.split(r":(?![^{]*\})", str(volume)))
