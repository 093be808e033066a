"""What scripts of a task deliver, judged by nobody yet: for gates that ask for some milestones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchflow.authoring import kept_builds
from benchflow.authoring.built import Built
from benchflow.authoring.trials import Trials
from benchflow.authoring.whole_jobs import by_argument, whole_job
from benchflow.results.jobs.trials import is_built
from benchflow.results.model import Trial


def build(trials: Trials, gate: str, names: Sequence[str]) -> dict[str, Built]:
    """What scripts of the task deliver, by name: its `exploits`, or the oracle stopped after
    milestones (`ladder`). Those behind one that failed in the same sandbox are left out."""
    kind = gate.removesuffix("s")
    shared = trials.going_on(gate)
    alone = [name for name in names if name not in shared]
    in_turn = [name for name in names if name in shared]
    agents = [*([f"{kind}:*"] if in_turn else []), *(f"{kind}:{name}" for name in alone)]
    made = _job(trials, gate, agents) if agents else ()
    found = {name: Built.of(trials.task, one) for name, one in by_argument(made, alone).items()}
    for together in by_argument(made, ["*"]).values():
        found |= of_one_sandbox(trials, together, in_turn)
    return found


def of_one_sandbox(trials: Trials, shared: Trial, names: Sequence[str]) -> dict[str, Built]:
    """What one sandbox built in turn; where a script failed, its own is the last.

    What was kept last is whole only where the trial ended well: one that broke off while it was
    copied has left a folder too.
    """
    from benchflow.agents.scripts import InTurnAgent

    kept = shared.path / InTurnAgent.RUNGS
    done = [name for name in names if (kept / name).is_dir()]
    if len(done) == len(names) and (shared.exception or not is_built(shared)):
        done.pop()
    found = {name: Built.of(trials.task, shared, kept / name) for name in done}
    failed = [name for name in names if name not in done][:1]
    return {**found, **{name: Built.of(trials.task, shared) for name in failed}}


def _job(trials: Trials, gate: str, agents: list[str]) -> tuple[Trial, ...]:
    from benchflow.run.job.plan import plan

    folder = trials.beside(gate, "-built")
    if gate not in trials.anew and not folder.exists():
        known = kept_builds.find(folder, gate, trials.task, agents)
        if known:
            trials.built_before.add(gate)
            return tuple(known)
    request = replace(trials.request(gate, agents, 1), verified=False, job_name=folder.name)
    found = whole_job(
        folder,
        lambda: plan(request),
        len(agents),
        trials.listener,
        is_lost=lambda trial: not is_built(trial),
    )
    kept_builds.note(folder, gate, trials.task)
    return found.trials
