"""Verification in a container of its own; what breaks there is an error of the trace, never a 0."""

from __future__ import annotations

import verifiers.v1 as vf
from verifiers.v1.tasksets.harbor import HarborEnv, HarborEnvConfig


class BenchflowEnv(HarborEnv, vf.Env[HarborEnvConfig]):
    async def finalize(self, task: vf.Task, episode: vf.Episode) -> None:
        """As HarborEnv's. What fails is also recorded on the trace, which otherwise stays `ok`
        without a reward, and `trace.reward` of such a trace is 0.0."""
        try:
            await super().finalize(task, episode)
        except Exception as error:
            for trace in episode.traces:
                trace.rewards.clear()
                trace.record_error(error)
            raise
