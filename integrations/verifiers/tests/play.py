"""One episode through verifiers' own environment and docker runtime, without a model."""

from __future__ import annotations

import asyncio
from pathlib import Path

import verifiers.v1 as vf
from verifiers.v1.configs.cli.eval import EvalConfig
from verifiers.v1.utils.loaders import load_environment


def play(dataset: Path, task: str, how: str, **harness: str) -> vf.Episode:
    """`how` is "oracle" or "nop"; `harness` are more settings of the scripted harness."""
    taskset = {"id": "benchflow-verifiers", "dataset": str(dataset), "tasks": [task]}
    agent = {"runtime": {"type": "docker"}, "harness": {"id": "scripted", "play": how, **harness}}
    env = {"taskset": taskset, "agent": agent, "verifier": {"retries": 0}}
    config = EvalConfig.model_validate({"model": "none", "env": env})
    return asyncio.run(_episode(config))


async def _episode(config: EvalConfig) -> vf.Episode:
    env = load_environment(config.env)
    [task] = list(env.taskset)
    context = vf.ModelContext(client=config.client, model=config.model, sampling=config.sampling)
    async with env.serving():
        [slot] = env.slots(task)
        return await env.run_slot(slot, context)
