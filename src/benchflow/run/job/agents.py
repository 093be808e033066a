"""From the `--agent` that a person types to the agent configuration that Harbor runs.

oracle, nop, claude-code …     Harbor's own, by name; in a sandbox of ours from a layer of ours,
                               where there is one (`benchflow agents`; layer=none: not)
module.path:Class              any Harbor agent that can be imported
ladder:MILESTONE               the oracle, stopped at a milestone   (or: ladder with --stop-after)
ladder:*                       the oracle, stopped at each in one sandbox (oracle_incremental)
exploit:NAME                   one of the task's exploits in place of a solution
exploit:*                      those that may share a sandbox, in turn in one sandbox
variant:NAME                   one of the task's honest other solutions
variant:*                      those that may share a sandbox, in turn in one sandbox
external, external:LABEL       waits for a driver from outside (docs/external.md)
scripted:FILE                  plays commands from a file           (or: scripted with --script)
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.base.text import one_line
from benchflow.errors import UsageError
from benchflow.results.jobs import unfinished
from benchflow.run.job.request import RunRequest
from benchflow.tasks import Staged, Task

if TYPE_CHECKING:
    from harbor.models.trial.config import AgentConfig

OURS = ("ladder", "exploit", "variant", "external", "scripted")
_MODULE = "benchflow.agents"
#: The sandboxes that show layers, and that the model gateway and drivers reach.
_OURS = ("namespace", "vm")
EXPLOIT = f"{_MODULE}.scripts:ExploitAgent"
VARIANT = f"{_MODULE}.scripts:VariantAgent"
_LABEL = re.compile(r"[A-Za-z0-9._-]{0,60}")


def who(config: Mapping[str, Any]) -> str:
    """Agent and model of an agent's configuration, as tables name them. One line.

    `config`: as Harbor writes it into a file, without what has its default value.
    """
    name = unfinished.agent_of(config)
    return one_line(" ".join(str(part) for part in (name, config.get("model_name")) if part), 120)


def configure(request: RunRequest, tasks: list[Staged]) -> list[AgentConfig]:
    """Agent configurations in the order that they were asked for, one a model.

    Layers that they name may be missing: `layers.provide` makes them before a job starts.

    Raises UsageError for an unknown agent, milestone or script, before anything is started.
    """
    configs: list[AgentConfig] = []
    for text in request.agents or ("oracle",):
        kind, _, argument = text.partition(":")
        if kind in OURS:
            configs.append(_ours(kind, argument, request, tasks))
            continue
        models: tuple[str | None, ...] = request.models or (None,)
        configs += [_harbors(text, model, request) for model in models]
    return configs


def _harbors(text: str, model: str | None, request: RunRequest) -> AgentConfig:
    from harbor.agents.factory import AgentFactory
    from harbor.models.trial.config import AgentConfig

    from benchflow.run.job.layers import layered

    name = text
    options: dict[str, Any] = {key: _value(v) for key, v in request.agent_options.items()}
    wanted = options.pop("layer", "")
    if wanted != "none" and (wanted or request.sandbox in _OURS):
        wrapper, layer = layered(text, str(wanted), options)
        if wrapper:
            text, options = wrapper, {**options, "layer": layer}
    # Harbor passes options on to every agent, and its own utility agents refuse none.
    config = AgentConfig(name=text, model_name=model, kwargs=options, env=dict(request.agent_env))
    if ":" in text and not text.startswith("acp:"):
        config = config.model_copy(update={"name": None, "import_path": text})
    try:
        AgentFactory.get_agent_class_from_config(config)
    except (ValueError, ImportError, AttributeError) as error:
        known = [*OURS, *AgentFactory.registered_names()]
        close = difflib.get_close_matches(text, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
        if ":" in text:
            hint = str(error)
            if "No module named" in hint:
                hint += "; is its folder on PYTHONPATH? PYTHONPATH=. benchflow run …"
        raise UsageError(f"no agent {text!r}", hint=hint) from error
    if not request.gateway:
        return config
    _has_model(name, config, request)
    return _metered(config, request)


def _has_model(name: str, config: AgentConfig, request: RunRequest) -> None:
    """An agent that is installed in the sandbox has nothing there to log in with but a model's."""
    from harbor.agents.factory import AgentFactory
    from harbor.agents.installed.base import BaseInstalledAgent

    kind = AgentFactory.get_agent_class_from_config(config)
    if config.model_name or request.agent_env or ":" in name:
        return
    if issubclass(kind, BaseInstalledAgent):
        raise UsageError(
            f"the agent {name} has no model",
            hint="--model PROVIDER/NAME, or --model scripted/FILE to try without one; with a "
            "login of its own: --no-gateway --agent-env KEY=VALUE",
        )


def _metered(config: AgentConfig, request: RunRequest) -> AgentConfig:
    from harbor.agents.factory import AgentFactory
    from harbor.agents.installed.base import BaseInstalledAgent

    from benchflow.run.models.gateway_access import is_metered
    from benchflow.run.models.gateway_agent import meter

    found = meter(config)
    kind = AgentFactory.get_agent_class_from_config(config)
    inside = is_metered(found) and issubclass(kind, BaseInstalledAgent)
    if inside and request.sandbox not in _OURS:
        raise UsageError(
            f"the model gateway reaches the sandboxes namespace and vm, not {request.sandbox}",
            hint="--no-gateway: the agent then gets the provider's key, and nothing is metered",
        )
    return found


def _ours(kind: str, argument: str, request: RunRequest, tasks: list[Staged]) -> AgentConfig:
    from harbor.models.trial.config import AgentConfig

    if kind == "ladder" and argument == "*":
        return AgentConfig(
            import_path=f"{_MODULE}.scripts:ClimbAgent", kwargs={"milestones": _climb(tasks)}
        )
    if kind == "ladder":
        milestone = argument or request.stop_after
        _require(milestone, tasks, _milestones, "milestone", "--stop-after MILESTONE")
        path, options = f"{_MODULE}.scripts:LadderAgent", {"stop_after": milestone}
    elif kind in _SHIPPED:
        return _shipped(kind, argument, tasks)
    elif kind == "external":
        return _external(argument, request)
    else:
        from benchflow.agents.scripted import read_script

        script = Path(argument) if argument else request.script
        if script is None:
            raise UsageError("the scripted agent needs a file of commands", hint="--script FILE")
        read_script(script)
        path, options = f"{_MODULE}.scripted:ScriptedAgent", {"script": str(script.resolve())}
    return AgentConfig(import_path=path, kwargs=options, env=dict(request.agent_env))


def _external(label: str, request: RunRequest) -> AgentConfig:
    from harbor.models.trial.config import AgentConfig

    if request.sandbox not in _OURS:
        raise UsageError(
            f"an external driver works in the sandboxes namespace and vm, not in {request.sandbox}",
            hint="leave --sandbox out",
        )
    if not _LABEL.fullmatch(label):
        raise UsageError(
            f"external:{label} is no name for who drives",
            hint="letters, digits, dots, dashes and underscores, 60 at most",
        )
    path = f"{_MODULE}.external.agent:ExternalAgent"
    return AgentConfig(import_path=path, kwargs={"external": label})


def _shipped(kind: str, argument: str, tasks: list[Staged]) -> AgentConfig:
    from harbor.models.trial.config import AgentConfig

    given: dict[str, Any] = {"sources": _sources(tasks)}
    if argument == "*":
        in_turn = f"{_MODULE}.scripts:{kind.capitalize()}sAgent"
        given[f"{kind}s"] = _going_on(kind, tasks)
        return AgentConfig(import_path=in_turn, kwargs=given)
    _require(argument, tasks, _SHIPPED[kind], kind, f"--agent {kind}:NAME")
    given[kind] = argument
    return AgentConfig(import_path=EXPLOIT if kind == "exploit" else VARIANT, kwargs=given)


def _sources(tasks: list[Staged]) -> dict[str, str]:
    return {str(planned.folder): str(planned.task.path) for planned in tasks}


def _going_on(kind: str, tasks: list[Staged]) -> list[str]:
    if len(tasks) != 1:
        raise UsageError(f"--agent '{kind}:*' tries one task's {kind}s", hint="name one task")
    task = tasks[0].task
    shipped = task.exploits if kind == "exploit" else task.variants
    names = [script.name for script in shipped if script.incremental]
    if not names:
        raise UsageError(
            f"{task.name}: none of its {kind}s declares incremental",
            hint=f"incremental = true in its [[metadata.benchflow.{kind}s]], or -a {kind}:NAME",
        )
    return names


def _climb(tasks: list[Staged]) -> list[str]:
    for planned in tasks:
        if not planned.task.oracle_incremental:
            raise UsageError(
                f"{planned.task.name}: its oracle cannot continue where it stopped",
                hint="oracle_incremental = true in [metadata.benchflow], or -a ladder:MILESTONE",
            )
    if len(tasks) != 1:
        raise UsageError("--agent 'ladder:*' climbs one task at a time", hint="name one task")
    return _milestones(tasks[0].task)


def _milestones(task: Task) -> list[str]:
    ids = [milestone.id for milestone in task.milestones]
    return ids + [f"{step.name}/{m.id}" for step in task.steps for m in step.milestones]


def _exploits(task: Task) -> list[str]:
    if task.is_benchflow:
        return [exploit.name for exploit in task.exploits]
    return sorted(path.stem for path in (task.path / "exploits").glob("*.sh"))


def _variants(task: Task) -> list[str]:
    if task.is_benchflow:
        return [variant.name for variant in task.variants]
    return sorted(path.stem for path in (task.path / "variants").glob("*.sh"))


#: Kinds of scripts that a task ships beside its solution, and what tells their names.
_SHIPPED = {"exploit": _exploits, "variant": _variants}


def _require(
    name: str,
    tasks: list[Staged],
    known_in: Callable[[Task], list[str]],
    what: str,
    how: str,
) -> None:
    if not name:
        names = ", ".join(known_in(tasks[0].task)) or "none"
        raise UsageError(f"which {what}?", hint=f"{how}; {tasks[0].task.name} has: {names}")
    for planned in tasks:
        known = known_in(planned.task)
        # A plain Harbor task declares no milestones: its solution may honour any.
        if name not in known and (planned.task.is_benchflow or what in _SHIPPED):
            raise UsageError(
                f"{planned.task.name} has no {what} {name!r}",
                hint=f"it has: {', '.join(known) or 'none'}",
            )


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
