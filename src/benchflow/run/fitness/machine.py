"""What a task asks of the machine, and the namespace sandbox does not have."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from benchflow.run.fitness import reading
from benchflow.run.fitness.findings import CONFIG, Finding, doubtful, fatal

if TYPE_CHECKING:
    from harbor.models.task.config import EnvironmentConfig, StepConfig, TaskConfig

_DOCKER = "run it with --sandbox docker"
#: As in harbor/utils/env.py.
_VARIABLE = re.compile(r"\$\{([^}:]+)(?::-(.*))?\}")
#: Harbor asks the services of these; the agent's container is called so.
_MAIN = (None, "main")


#: What a task may need that only a machine of its own has.
NEEDS = {
    "loop-devices": "loop devices",
    "kernel-modules": "kernel modules to load",
    "systemd": "systemd as process 1",
}


def needs(asked: Sequence[str], sandbox: str) -> Iterator[Finding]:
    """What only a real machine can give, asked of a sandbox that is none."""
    for need in asked:
        if need in NEEDS:
            message = f"{need}: the {sandbox} sandbox has no {NEEDS[need]}"
            yield fatal(CONFIG, "metadata.benchflow.needs", message, "run it with --sandbox vm")


def shared_verifier(config: TaskConfig) -> Iterator[Finding]:
    """A verifier that works in its agent's sandbox would move into the machine with it."""
    from harbor.models.task.verifier_mode import task_has_any_shared_verifier

    if task_has_any_shared_verifier(config):
        message = "shared: its verifier works in the agent's sandbox, and none works in a machine"
        fix = 'write "separate" and a tests/Dockerfile, or run it with --sandbox namespace'
        yield fatal(CONFIG, "verifier.environment_mode", message, fix)


def check(config: TaskConfig) -> list[Finding]:
    """Hardware, systems, networks and services that the sandbox cannot give."""
    found = list(_hardware(config.environment, "environment"))
    if config.verifier.environment is not None:
        found += _hardware(config.verifier.environment, "verifier.environment")
    for n, step in enumerate(config.steps or []):
        if step.verifier.environment is not None:
            found += _hardware(step.verifier.environment, f"steps.{n}.verifier.environment")
    found += _networks(config)
    found += _services(config)
    return found


def _hardware(asked: EnvironmentConfig, at: str) -> Iterator[Finding]:
    if (asked.gpus or 0) > 0:
        fix = f"leave it out, or {_DOCKER} where Docker has them"
        yield fatal(CONFIG, f"{at}.gpus", f"{asked.gpus}: the sandbox has no GPUs", fix)
    if asked.tpu is not None:
        fix = "leave it out, or run it with --sandbox gke"
        yield fatal(CONFIG, f"{at}.tpu", "the sandbox has no TPUs", fix)
    if asked.os.value != "linux":
        fix = "run it with a sandbox of Harbor's on such a host"
        yield fatal(CONFIG, f"{at}.os", f"{asked.os.value}: the sandbox runs Linux", fix)


def _networks(config: TaskConfig) -> Iterator[Finding]:
    places = {
        "environment": config.environment,
        "agent": config.agent,
        "verifier": config.verifier,
        "verifier.environment": config.verifier.environment,
    }
    for n, step in enumerate(config.steps or []):
        places[f"steps.{n}.agent"] = step.agent
        places[f"steps.{n}.verifier"] = step.verifier
        places[f"steps.{n}.verifier.environment"] = step.verifier.environment
    lists = [at for at, place in places.items() if place and _mode(place) == "allowlist"]
    for at in lists:
        yield fatal(
            CONFIG,
            f"{at}.network_mode",
            "allowlist: the sandbox has a network or none, and cannot let single hosts through",
            'use "public" or "no-network", or a sandbox of Harbor\'s that has allow-lists',
        )
    if not lists:
        for n, each in enumerate(reading.steps(config)):
            yield from _switches(config, each, f"steps.{n}." if each else "")


def _mode(place: object) -> str:
    mode = getattr(place, "network_mode", None)
    return mode.value if mode is not None else ""


def _switches(config: TaskConfig, step: StepConfig | None, at: str) -> Iterator[Finding]:
    """Phases with another network than their environment: it cannot be changed after the start."""
    from harbor.models.task.verifier_mode import (
        resolve_step_verifier_mode,
        resolve_task_verifier_mode,
    )
    from harbor.models.trial.config import AgentConfig, EnvironmentConfig
    from harbor.trial.network_policy import resolve_trial_network_plan

    mode = resolve_step_verifier_mode(config, step) if step else resolve_task_verifier_mode(config)
    plan = resolve_trial_network_plan(
        config, AgentConfig(name="nop"), EnvironmentConfig(), step, verifier_mode=mode
    )
    message = "the network cannot change after the sandbox has started"
    if plan.agent_phase != plan.agent_env_baseline:
        key = f"{at}agent.network_mode"
        yield fatal(CONFIG, key, message, "use the mode of [environment], or leave it out")
    if plan.verifier_phase != plan.verifier_phase_baseline:
        key = f"{at}verifier.network_mode"
        fix = "use the mode of the environment that it runs in, or leave it out"
        yield fatal(CONFIG, key, message, fix)


def _services(config: TaskConfig) -> Iterator[Finding]:
    for at, artifacts in {
        "artifacts": config.artifacts,
        **{f"steps.{n}.artifacts": step.artifacts for n, step in enumerate(config.steps or [])},
    }.items():
        for n, artifact in enumerate(artifacts):
            service = None if isinstance(artifact, str) else artifact.service
            if service not in _MAIN:
                yield _service(f"{at}.{n}.service", service)
    verifiers = {"verifier": config.verifier}
    verifiers |= {f"steps.{n}.verifier": step.verifier for n, step in enumerate(config.steps or [])}
    for at, verifier in verifiers.items():
        for n, collect in enumerate(verifier.collect):
            if collect.service not in _MAIN:
                yield _service(f"{at}.collect.{n}.service", collect.service)


def _service(key: str, name: str | None) -> Finding:
    return fatal(CONFIG, key, f"{name!r}: the sandbox runs the service main alone", _DOCKER)


def variables(config: TaskConfig) -> list[Finding]:
    """Variables of this host that a task takes over and that are not set."""
    tables = {"environment.env": config.environment.env, "verifier.env": config.verifier.env}
    if config.verifier.environment is not None:
        tables["verifier.environment.env"] = config.verifier.environment.env
    for n, step in enumerate(config.steps or []):
        tables[f"steps.{n}.verifier.env"] = step.verifier.env
        if step.verifier.environment is not None:
            tables[f"steps.{n}.verifier.environment.env"] = step.verifier.environment.env
    found = [fatal(*each) for at, table in tables.items() for each in _unset(at, table)]
    found += [fatal(*each) for at, table in tables.items() for each in _impossible(at, table)]
    # Only the oracle asks for these.
    found += [doubtful(*each) for each in _unset("solution.env", config.solution.env)]
    return found


def _impossible(at: str, table: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """environ(7): a name without "=", and no NUL anywhere."""
    for key, value in table.items():
        if not key or "=" in key or "\0" in key + value:
            shown = repr(key)[1:-1]
            message = "no program can be given it: a NUL, or a name that is empty or has a ="
            yield CONFIG, f"{at}.{shown}", message, "write another name or value"


def _unset(at: str, table: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    for key, value in table.items():
        match = _VARIABLE.fullmatch(value)
        if match and match[2] is None and match[1] not in os.environ:
            message = f"{match[1]} is not set on this machine"
            fix = f"set it, or write a default: ${{{match[1]}:-VALUE}}"
            yield CONFIG, f"{at}.{key}", message, fix
