"""`benchflow run`: agents try tasks."""

from __future__ import annotations

from pathlib import Path

import click

from benchflow.cli.options import FiniteRange, engine_options, jobs_dir_option, json_option, pairs


@click.command("run")
@click.argument("task", nargs=-1, required=True)
@click.option(
    "-a",
    "--agent",
    "agents",
    multiple=True,
    metavar="AGENT",
    help="Who tries the task: oracle, nop, any agent of Harbor's, module:Class, ladder:MILESTONE, "
    "exploit:NAME, variant:NAME, scripted:FILE or external (see benchflow drive). Repeat it to "
    "compare.  [default: oracle]",
)
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    help="Model of the agent: PROVIDER/NAME, URL#NAME for an OpenAI-compatible endpoint, or "
    "scripted/FILE. Repeat it to compare.",
)
@click.option(
    "-k", "--attempts", type=click.IntRange(1), default=1, help="Trials per agent and task."
)
@click.option(
    "-n",
    "--concurrent",
    type=click.IntRange(1),
    help="Trials at once.  [default: what cores and memory allow]",
)
@click.option(
    "--sandbox",
    default="namespace",
    show_default=True,
    help="namespace; vm, a virtual machine of the agent's own (slow without KVM); docker, another "
    "of Harbor's, or module:Class.",
)
@click.option(
    "--hint",
    type=click.IntRange(0, 3),
    default=0,
    help="Number of hints to give with the instruction (0-3).",
)
@click.option(
    "--from-trial",
    default="",
    metavar="JOB/TRIAL",
    help="For a sequel: begin from what the same agent delivered in this trial of the earlier task "
    "(JOB/TRIAL, or the trial's folder).  [default: from the authors' solution of it]",
)
@click.option(
    "--stop-after",
    default="",
    metavar="MILESTONE",
    help="Milestone after which the ladder agent stops.",
)
@click.option(
    "--script",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Commands of the scripted agent, one per line.",
)
@click.option("--job-name", default="", help="Name of the job.  [default: the current time]")
@jobs_dir_option
@click.option(
    "--agent-option",
    multiple=True,
    callback=pairs,
    metavar="KEY=VALUE",
    help="An argument for the agent. Repeat it.",
)
@click.option(
    "--agent-env",
    multiple=True,
    callback=pairs,
    metavar="KEY=VALUE",
    help="An environment variable for the agent. Repeat it.",
)
@click.option(
    "--sandbox-option",
    multiple=True,
    callback=pairs,
    metavar="KEY=VALUE",
    help="An argument for the sandbox. Repeat it.",
)
@click.option(
    "--max-usd",
    type=FiniteRange(0, min_open=True),
    help="Stop a trial's model calls after this many dollars.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    help="Stop a trial's model calls after this many tokens, in and out.",
)
@click.option(
    "--max-turns",
    type=click.IntRange(1),
    help="Stop a trial's model calls after this many answers of the model.",
)
@click.option(
    "--max-minutes",
    type=FiniteRange(0, min_open=True),
    help="Stop a trial's model calls after this many minutes.",
)
@click.option(
    "--rpm",
    multiple=True,
    metavar="[MODEL=]N",
    help="Limit calls a minute to each model's provider (or MODEL's), over the whole job; further "
    "calls wait.",
)
@click.option(
    "--tpm",
    multiple=True,
    metavar="[MODEL=]N",
    help="Limit tokens a minute, in and out, cached ones included; otherwise like --rpm.",
)
@click.option(
    "--calls-at-once",
    multiple=True,
    metavar="[MODEL=]N",
    help="Limit calls at once; otherwise like --rpm.",
)
@click.option(
    "--stall-minutes",
    type=FiniteRange(0),
    help="End an agent that makes no progress for so long: no call, no output, no log, no work of "
    "its programs (0: never).  [default: 30 in the namespace sandbox, never elsewhere]",
)
@click.option(
    "--checkpoints",
    type=FiniteRange(0, min_open=True),
    metavar="MINUTES",
    help="Copy the deliverable every so many minutes of the agent's time, for benchflow credit.",
)
@click.option(
    "--keep-bodies", is_flag=True, help="Keep the text of each request and answer, not only counts."
)
@click.option(
    "--gateway/--no-gateway",
    default=True,
    help="Reach models through the gateway; without it agents get the provider's key.  "
    "[default: gateway]",
)
@click.option(
    "--agent-timeout-multiplier",
    type=FiniteRange(0.01),
    default=1.0,
    help="Multiply the agent's time limit.",
)
@click.option(
    "--verifier-timeout-multiplier",
    type=FiniteRange(0.01),
    default=1.0,
    help="Multiply the verifier's time limit.",
)
@click.option(
    "--build-timeout-multiplier",
    type=FiniteRange(0.01),
    default=1.0,
    help="Multiply the time limit for building images.",
)
@engine_options
@json_option
def command(
    task: tuple[str, ...],
    agents: tuple[str, ...],
    models: tuple[str, ...],
    attempts: int,
    concurrent: int | None,
    sandbox: str,
    hint: int,
    from_trial: str,
    stop_after: str,
    script: Path | None,
    job_name: str,
    jobs_dir: Path,
    agent_option: dict[str, str],
    agent_env: dict[str, str],
    sandbox_option: dict[str, str],
    max_usd: float | None,
    max_tokens: int | None,
    max_turns: int | None,
    max_minutes: float | None,
    rpm: tuple[str, ...],
    tpm: tuple[str, ...],
    calls_at_once: tuple[str, ...],
    stall_minutes: float | None,
    checkpoints: float | None,
    keep_bodies: bool,
    gateway: bool,
    agent_timeout_multiplier: float,
    verifier_timeout_multiplier: float,
    build_timeout_multiplier: float,
    engine: str,
    address: str,
    as_json: bool,
) -> int:
    """Let agents try tasks; boot what they built; say how far each got.

    TASK is a name of the catalogue, a glob or the path of any Harbor task folder. Every agent,
    with every model, tries every task -k times. Ctrl-C keeps what is finished. Closing the
    terminal does not stop a job: follow it with benchflow watch JOB, or show it here again with
    benchflow resume JOB.

    \b
    Examples:
      benchflow run repair/dead-server --agent oracle
      benchflow run repair/dead-server --agent nop --agent oracle      side by side
      benchflow run 'repair/*' -a claude-code -m anthropic/MODEL -k 3 -n 2 --max-usd 5
      benchflow run ./my-task -a mini-swe-agent -m scripted/policy.toml   no key needed
      benchflow run repair/dead-server -a ladder --stop-after kernel   the oracle, stopped there
      benchflow run spin/appliance -a exploit:NAME                     an exploit; it should fail
      benchflow run spin/appliance -a variant:NAME                     honest; it should resolve
      benchflow run 'repair/*' -a claude-code -m anthropic/MODEL --checkpoints 10   see credit
      benchflow run my/sequel -a oracle --from-trial JOB/TRIAL    continue one's own work
      benchflow run repair/dead-server -a external          waits for benchflow drive, or MCP
      benchflow run ./my-task -a scripted --script commands.txt
      benchflow run ./my-task --sandbox vm        loop devices, kernel modules, systemd
      benchflow run repair/dead-server -a my_package.agent:MyAgent --sandbox docker
      benchflow run repair/dead-server -a nop -k 20 --engine ray       on a cluster's nodes

    Exit status: 0 when every trial was judged, whatever the verdict; 4 when one could not be.
    """
    from benchflow.run.job.harbor_job import keep_quiet
    from benchflow.run.job.request import STALL_MINUTES, RunRequest

    keep_quiet()
    from benchflow.cli.as_typed import as_typed
    from benchflow.cli.live import display_alone
    from benchflow.cli.render import finish, warn_of_silent_models
    from benchflow.run.job import engine as engines
    from benchflow.run.job.jobs import start
    from benchflow.run.job.plan import plan
    from benchflow.run.models import rate_limits

    usual = STALL_MINUTES if sandbox == "namespace" else None
    prepared = plan(
        RunRequest(
            tasks=task,
            agents=agents or ("oracle",),
            models=models,
            attempts=attempts,
            concurrent=concurrent,
            sandbox=sandbox,
            hint=hint,
            from_trial=from_trial,
            job_name=job_name,
            jobs_dir=jobs_dir,
            stop_after=stop_after,
            script=script,
            agent_options=agent_option,
            agent_env=agent_env,
            sandbox_options=sandbox_option,
            gateway=gateway,
            max_usd=max_usd,
            max_tokens=max_tokens,
            max_turns=max_turns,
            max_minutes=max_minutes,
            limits=rate_limits.read({"rpm": rpm, "tpm": tpm, "concurrent": calls_at_once}),
            stall_minutes=usual if stall_minutes is None else stall_minutes or None,
            checkpoint_minutes=checkpoints,
            keep_bodies=keep_bodies,
            agent_timeout_multiplier=agent_timeout_multiplier,
            verifier_timeout_multiplier=verifier_timeout_multiplier,
            build_timeout_multiplier=build_timeout_multiplier,
            engine=engines.name(engine, address),
        )
    )
    if not as_json:
        plural = "trial" if prepared.n_trials == 1 else "trials"
        at_once = min(prepared.config.n_concurrent_trials, prepared.n_trials)
        where = f"{at_once} at once" if engine == "local" or concurrent else "on a cluster"
        click.echo(
            f"job {prepared.config.job_name}: {prepared.n_trials} {plural}, {where}, "
            f"in {_shown(prepared.job_dir)}"
        )
        if any(agent.partition(":")[0] == "external" for agent in agents):
            click.echo(
                as_typed("work on it from another terminal: benchflow drive instruction --wait 600")
            )
    warn_of_silent_models(prepared.gateway)
    with display_alone(quiet=as_json) as listener:
        job = start(prepared, listener)
    return finish(job, as_json=as_json)


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
