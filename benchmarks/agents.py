"""How long until an agent can start in a fresh sandbox: from its layer, and installed there.

python benchmarks/agents.py [AGENT …] [--repeat N] [--no-install]

Layer: Harbor's own `setup` of the layered agent, in a sandbox without network. Install: the same
versions from apt, npm and PyPI inside a sandbox with network (Harbor's own installers fetch from
more sites than those). The host's certificates are put into that sandbox first, uncounted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path

from timing import headline, row

from benchflow.agents.layers import AGENTS, AgentSpec, Layer
from benchflow.run.job.harbor_job import keep_quiet
from benchflow.run.job.layers import check, ensure
from benchflow.sandbox import Sandbox, debian

_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_APT = "export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -y -qq "


def recipe(spec: AgentSpec, layer: Layer) -> str:
    """The ordinary install of the same version, as a shell script."""
    if spec.npm is not None:
        return f"{_APT} nodejs npm && npm install -g {spec.npm.package}@{layer.version}"
    if spec.name == "terminus-2":
        return f"{_APT} tmux asciinema"
    assert spec.pypi is not None
    first, *others = spec.pypi.requirements
    wanted = " ".join([f"{first}=={layer.version}", *others])
    return f"{_APT} python3-venv && python3 -m venv /opt/a && /opt/a/bin/pip install -q {wanted}"


async def setup_seconds(spec: AgentSpec, layer: Layer, folder: Path) -> tuple[float, float]:
    """Seconds that the sandbox's start took, and the agent's setup in it."""
    from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy
    from harbor.models.trial.paths import TrialPaths
    from harbor.utils.import_path import import_class

    from benchflow.run.job.environment import TrialEnvironment

    (folder / "environment").mkdir(parents=True)
    (folder / "environment" / "Dockerfile").write_text("FROM debian:bookworm\n")
    paths = TrialPaths(trial_dir=folder / "trial")
    paths.mkdir()
    paths.config_path.write_text(json.dumps({"agent": {"kwargs": {"layer": layer.id}}}))
    environment = TrialEnvironment(
        environment_dir=folder / "environment",
        environment_name="benchmark",
        session_id="trial__env",
        trial_paths=paths,
        task_env_config=EnvironmentConfig(),
        mounts=[{"type": "bind", "source": str(paths.agent_dir), "target": "/logs/agent"}],
        network_policy=NetworkPolicy(network_mode=NetworkMode.NO_NETWORK),
    )
    options = {"record_terminal_session": False} if spec.name == "terminus-2" else {}
    agent = import_class(spec.wrapper, label="agent")(
        logs_dir=paths.agent_dir, model_name="openai/none", layer=layer.id, **options
    )
    begun = time.perf_counter()
    await environment.start(force_build=False)
    started = time.perf_counter()
    try:
        await agent.setup(environment)
        return started - begun, time.perf_counter() - started
    finally:
        await environment.stop(delete=True)


def install_seconds(script: str) -> tuple[float, str]:
    """Seconds that an install took in a fresh sandbox, and why it failed, if it did."""
    with Sandbox.start(debian(), network="user") as box:
        if _CERTIFICATES.exists():
            box.put(_CERTIFICATES, str(_CERTIFICATES))
        env = {"NODE_EXTRA_CA_CERTS": str(_CERTIFICATES), "PIP_CERT": str(_CERTIFICATES)}
        begun = time.perf_counter()
        done = box.exec(["bash", "-ec", script], env=env, timeout=1800)
        seconds = time.perf_counter() - begun
    lines = (done.error_text.strip() or done.text.strip()).splitlines()
    return seconds, "" if done.status == 0 else (lines or ["failed"])[-1][:60]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("agent", nargs="*", choices=[[], *AGENTS], default=[])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--no-install", action="store_true", help="only the layers")
    given = parser.parse_args()
    keep_quiet()
    headline("agents: ready in a fresh sandbox")
    for name in given.agent or AGENTS:
        spec, layer = AGENTS[name], ensure(name)
        starts, setups = [], []
        for _ in range(given.repeat):
            with tempfile.TemporaryDirectory() as folder:
                start, setup = asyncio.run(setup_seconds(spec, layer, Path(folder) / "t"))
            starts.append(start)
            setups.append(setup)
        ready = statistics.median(setups)
        row(f"{name} {layer.version}: layer, setup", f"{ready:.3f} s", "reach: 0.3 s")
        row("  the sandbox's own start, layer mounted", f"{statistics.median(starts):.3f} s")
        row("  its program's first words (--version)", f"{check(name).seconds:.3f} s")
        row("  layer on disk; made in", f"{layer.megabytes:.0f} MB; {layer.seconds:.0f} s")
        if not given.no_install:
            seconds, fault = install_seconds(recipe(spec, layer))
            ratio = fault or f"{seconds / ready:,.0f}×"
            row("  installed in the sandbox instead", f"{seconds:.1f} s", ratio)


if __name__ == "__main__":
    main()
