"""Gates that are decided by trials: nop, oracle, ladder, exploits, variants, budget."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from benchflow.authoring.gate import GateResult, Status, judged
from benchflow.authoring.machine_memory import sizes
from benchflow.base.numbers import duration, plural
from benchflow.results.jobs.sandboxes import USED_UP, crowded, others_share
from benchflow.results.jobs.script_end import script_end
from benchflow.results.jobs.verdict import NO_REWARD_LEFT
from benchflow.results.model import Trial, Verdict
from benchflow.tasks import Exploit, Task

#: Limits are at least this many times what the oracle and its verification took.
AGENT_MARGIN, VERIFIER_MARGIN = 3.0, 2.0
#: How many honest other solutions a task ships.
LEAST_VARIANTS = 4
_NO_END = "solve.sh did not run to its end"
#: Shares of the processors that differ by less are the same.
_SAME_SHARE = 0.1
#: Characters of a check's message.
_MOST_OF_A_MESSAGE = 300
MEASURE_AGAIN = "--gate oracle --gate budget --again measures it again"


def errors(gate: str, trials: Sequence[Trial]) -> GateResult | None:
    """A result that says so when the infrastructure kept any trial from being judged."""
    lost = [trial for trial in trials if trial.verdict is Verdict.ERROR]
    if not lost:
        return None
    return GateResult(
        gate,
        Status.ERROR,
        f"{len(lost)} of {len(trials)} trials could not be judged",
        tuple(f"{trial.name}: {trial.cause}: {trial.cause_message[:200]}" for trial in lost),
        str(lost[0].path),
    )


def nop(trials: Sequence[Trial]) -> GateResult:
    """Doing nothing gains nothing: reward 0 and no milestone."""
    findings = [
        f"doing nothing passes {', '.join(passed(trial)) or 'nothing'} (reward {trial.reward})"
        for trial in trials
        if passed(trial) or trial.reward
    ]
    findings += [
        f"with nothing done the task's own tests leave no reward ({trial.cause}): every agent "
        "would fail, whatever it does"
        for trial in trials
        if trial.cause in NO_REWARD_LEFT
    ]
    if not trials:
        return GateResult("nop", Status.ERROR, "no trial can be read")
    return errors("nop", trials) or judged(
        "nop", "reward 0", findings, evidence=_where(trials), seconds=_seconds(trials)
    )


def oracle(trials: Sequence[Trial], times: int) -> GateResult:
    """The reference solution resolves the task, every time from scratch."""
    resolved = sum(trial.verdict is Verdict.RESOLVED for trial in trials)
    findings = [
        f"{trial.name}: {trial.verdict}, stops at {_stop(trial)}{_beside(trial)}{_ended(trial)}"
        for trial in trials
        if trial.verdict is not Verdict.RESOLVED
    ]
    if len(trials) < times:
        findings.append(f"ran {len(trials)} times, {times} are asked for")
    return errors("oracle", trials) or judged(
        "oracle",
        f"resolved {resolved} of {len(trials)} times",
        findings,
        evidence=_where(trials),
        seconds=_seconds(trials),
    )


def ladder(
    task: Task,
    stopped: dict[str, Trial],
    *,
    shown: Container[str] = (),
    ended: Mapping[str, str] = MappingProxyType({}),
) -> GateResult:
    """Stopped after milestone k, the oracle has exactly the milestones up to k, in file order.

    `stopped` maps a milestone to the trial in which the oracle stopped after it. `shown`: of these
    it is known already. `ended`: how a script ended that did not end well, and was not verified.
    """
    order = [milestone.id for milestone in task.milestones]
    trials = list(stopped.values())
    findings = []
    for index, name in enumerate(order):
        if name in shown:
            continue
        if name in ended:
            findings.append(f"stopped after {name}, {_NO_END}: {ended[name]}")
            continue
        if name not in stopped:
            findings.append(f"{name}: the oracle was not stopped there")
            continue
        got, want = set(passed(stopped[name])), set(order[: index + 1])
        early, missing = sorted(got - want), sorted(want - got)
        if early:
            findings.append(f"stopped after {name}, {', '.join(early)} pass too early")
        if stopped[name].cause and stopped[name].verdict is not Verdict.ERROR:
            findings.append(f"stopped after {name}, {_NO_END}{_why(stopped[name])}")
        if missing:
            beside = _beside(stopped[name])
            findings.append(f"stopped after {name}, {', '.join(missing)} do not pass{beside}")
    return errors("ladder", trials) or judged(
        "ladder",
        plural(len(order), "milestone"),
        findings,
        evidence=_where(trials),
        seconds=_seconds(trials),
    )


def exploits(
    exploits: Sequence[Exploit],
    tried: dict[str, Trial],
    *,
    shown: Container[str] = (),
    ended: Mapping[str, str] = MappingProxyType({}),
) -> GateResult:
    """Each exploit gains the milestones that the task declares for it, with a why, and no other.

    One whose script failed on the way (no mirror, a mistake in it) was not tried.
    One that gains less than declared either declares too much, which would hide a hole, or was
    ended by something else than the check that has to catch it. Nor may one have the verifier use
    up its disk or memory: a trial without a verdict counts against nobody.
    `shown`: of these it is known already that they gain no more. `ended`: how a script ended that
    did not end well, and was not verified.
    """
    full = {name for name, trial in tried.items() if trial.cause in USED_UP}
    trials = [trial for name, trial in tried.items() if name not in full]
    findings = []
    for exploit in exploits:
        if exploit.name in shown:
            continue
        if exploit.name in ended:
            findings.append(
                f"{exploit.name} did not run to its end: {ended[exploit.name]}, so what it would "
                "gain is not known"
            )
            continue
        if exploit.name not in tried:
            findings.append(f"{exploit.name} was not tried")
            continue
        trial = tried[exploit.name]
        if exploit.name in full:
            findings.append(
                f"{exploit.name} leaves the verifier without a verdict: {trial.cause_message}"
            )
            continue
        reached = passed(trial)
        gained = [name for name in reached if name not in exploit.allowed]
        missed = [name for name in exploit.allowed if name not in reached]
        if gained:
            findings.append(f"{exploit.name} gains {', '.join(gained)}")
        elif trial.verdict is Verdict.FAILED and trial.cause:
            findings.append(
                f"{exploit.name} did not run to its end{_why(trial)}, so what it would gain is "
                f"not known: see agent/script.txt in {trial.path}"
            )
        elif missed:
            findings.append(
                f"{exploit.name} is declared to gain {', '.join(missed)} and does not: it ended at "
                "another check than the one that has to catch it, or `allowed` says too much"
                f"{_beside(trial)}"
            )
        elif trial.verdict is Verdict.RESOLVED:
            findings.append(f"{exploit.name} resolves the task")
        elif trial.reward and not trial.milestones:
            findings.append(f"{exploit.name} gains a reward of {trial.reward:g}")
    declared = sum(bool(exploit.allowed) for exploit in exploits)
    summary = f"{plural(len(exploits), 'exploit')}, {declared} with a declared gain"
    return errors("exploits", trials) or judged(
        "exploits", summary, findings, evidence=_where(trials), seconds=_seconds(trials)
    )


def variants(task: Task, tried: dict[str, Trial]) -> GateResult:
    """Each honest other solution resolves the task, and there are as many as are asked for.

    Where one stops, the check refuses correct work or the variant is wrong: the finding says which
    check, with its message. One that has the verifier use up its disk or memory is judged wrongly
    too: an agent's correct work would end without a verdict.
    """
    short = LEAST_VARIANTS - len(task.variants)
    findings = []
    if short > 0:
        findings.append(
            f"{plural(len(task.variants), 'variant')}, {LEAST_VARIANTS} are asked for: write "
            f"{short} more honest other solutions as variants/NAME.sh (docs/authoring.md, “The "
            "variants”)"
        )
    for variant in task.variants:
        if not variant.what:
            findings.append(
                f"{variant.name} does not say what it does otherwise: say it in a comment under "
                "its first line"
            )
        findings += _refused(variant.name, tried.get(variant.name))
    trials = [trial for trial in tried.values() if trial.cause not in USED_UP]
    resolved = sum(trial.verdict is Verdict.RESOLVED for trial in tried.values())
    summary = f"{resolved} of {plural(len(task.variants), 'variant')} resolved"
    summary += f"; {LEAST_VARIANTS} are asked for" if short > 0 else ""
    return errors("variants", trials) or judged(
        "variants", summary, findings, evidence=_where(trials), seconds=_seconds(trials)
    )


def _refused(name: str, trial: Trial | None) -> list[str]:
    if trial is None:
        return [f"{name} was not tried"]
    if trial.cause in USED_UP:
        return [f"{name} leaves the verifier without a verdict: {trial.cause_message}"]
    if trial.verdict is not Verdict.RESOLVED:
        return [f"{name} stops at {_stop(trial)}{_beside(trial)}{_ended(trial)}"]
    ended = f"{name} did not run to its end{_why(trial)}, though the task is resolved"
    return [ended] if trial.cause else []


#: What Harbor says when a verifier ended without a verdict that can be read.
_NO_VERDICT = ("Reward", "Verifier")


def common(task: Task, ours: Sequence[Exploit], tried: dict[str, Trial]) -> GateResult:
    """The common exploits gain nothing either; nor may one keep a plain task from being judged.

    A trial without a verdict never counts against an agent: who can bring that about has gained.
    (Our own verifier shares nothing with the agent: where it breaks, but for what it may
    use, the infrastructure did.)
    """
    findings = []
    judged_trials = {}
    for exploit in ours:
        trial = tried.get(exploit.name)
        broken = trial and trial.verdict is Verdict.ERROR and trial.cause.startswith(_NO_VERDICT)
        if trial and broken and not task.is_benchflow:
            findings.append(f"{exploit.name} leaves the verifier without a verdict ({trial.cause})")
        elif trial:
            judged_trials[exploit.name] = trial
    known = {exploit.name for exploit in ours}
    unknown = [e.name for e in task.common_exploits if e.name not in known]
    findings += [f"common_exploits: there is no exploit {name!r} for this task" for name in unknown]
    rest = [e for e in ours if e.name in judged_trials or e.name not in tried]
    found = exploits(rest, judged_trials)
    if found.status is Status.ERROR:
        return replace(found, gate="corpus")
    findings += found.findings
    names = ", ".join(exploit.name for exploit in ours)
    where, spent = _where(list(tried.values())), _seconds(list(tried.values()))
    return judged("corpus", names, findings, evidence=where, seconds=spent)


def budget(task: Task, trials: Sequence[Trial]) -> GateResult:
    """The limits leave room: the agent's 3 × the oracle's time, the verifier's 2 × its own.

    Where others had most of the processors in each verification, one that took too long says
    nothing of the task: the gate ends in an error then, and is due.
    """
    agent, verifier = times(trials)
    told = _undisturbed(trials)
    work, verification = [], []
    if task.agent_timeout_sec < AGENT_MARGIN * agent:
        need = AGENT_MARGIN * agent
        work.append(
            f"agent.timeout_sec = {task.agent_timeout_sec:.0f} s: the oracle took {agent:.0f} s, "
            f"so at least {need:.0f} s"
        )
    if task.verifier_timeout_sec < VERIFIER_MARGIN * verifier:
        need = VERIFIER_MARGIN * verifier
        verification.append(
            f"verifier.timeout_sec = {task.verifier_timeout_sec:.0f} s: verifying took "
            f"{verifier:.0f} s, so at least {need:.0f} s"
        )
    summary = f"oracle {duration(agent)}, verification {duration(verifier)}"
    summary += f" (the least disturbed of {len(trials)})" * (len(told) < len(trials))
    if lost := errors("budget", trials):
        return lost
    if verification and not work and all(crowded(trial.path) for trial in told):
        finding = verification[0] + _beside(told[0])
        return GateResult("budget", Status.ERROR, summary, (finding, MEASURE_AGAIN))
    return judged("budget", summary, work + verification)


def times(trials: Sequence[Trial]) -> tuple[float, float]:
    """Seconds of work and of verification: the longest of the trials that others disturbed least.

    What a clock on the wall says of a trial with a tenth of a core is the time of those that had
    the rest. Where nothing was counted, each trial is as good as the others.
    """
    told = _undisturbed(trials)
    return (
        max((trial.phases.agent or 0.0 for trial in told), default=0.0),
        max((trial.phases.verifier or 0.0 for trial in told), default=0.0),
    )


def _undisturbed(trials: Sequence[Trial]) -> list[Trial]:
    shares = [others_share(trial.path) or 0.0 for trial in trials]
    return [
        trial
        for trial, share in zip(trials, shares, strict=True)
        if share <= min(shares) + _SAME_SHARE
    ]


def same(
    reference: Trial,
    others: Sequence[Trial],
    conditions: Sequence[str],
    larger: Trial | None = None,
) -> GateResult:
    """The same deliverable gives the same verdict and milestones, whatever the conditions.

    `reference` is the first verification, which has to resolve the task (what fails for one reason
    may fail for another the next time); `others` are those after it, one a condition. `larger`
    is the one of them whose machines should have had more memory; where they had not, that
    condition was none.
    """
    want = (reference.verdict, passed(reference))
    findings = []
    if reference.verdict is Verdict.FAILED:
        findings.append(f"the oracle that was verified again is {reference.verdict}: see its gate")
    for trial, condition in zip(others, conditions, strict=True):
        if (trial.verdict, passed(trial)) != want:
            gained = sorted(set(passed(trial)) ^ set(want[1]))
            differ = ", ".join(gained) or "none"
            findings.append(
                f"{condition}: {trial.verdict}, milestones that differ: {differ}{_beside(trial)}"
            )
    had = sizes(reference)
    if larger is not None and had and sizes(larger) == had:
        findings.append(
            "more memory reached no machine: leave memory_mb out of machines.create where it is "
            "what task.toml says in machine_memory_mb"
        )
    return errors("determinism", others) or judged(
        "determinism",
        f"{1 + len(others)} verifications of one deliverable",
        findings,
        evidence=_where(others),
        seconds=_seconds(others),
    )


def passed(trial: Trial) -> list[str]:
    """Ids of the milestones that passed, in ladder order."""
    return [milestone.id for milestone in trial.milestones if milestone.status == "passed"]


def _stop(trial: Trial) -> str:
    for milestone in trial.milestones:
        if milestone.status != "passed":
            failure = milestone.first_failure
            said = f" by {failure.name}: {failure.message[:_MOST_OF_A_MESSAGE]}" if failure else ""
            return f"{milestone.id}{said}"
    return "nothing"


def _ended(trial: Trial) -> str:
    ended = script_end(trial)
    return f"; {ended}" if ended else ""


def _why(trial: Trial) -> str:
    ended = script_end(trial)
    return f": {ended}" if ended else f" ({trial.cause})"


def _beside(trial: Trial) -> str:
    """A word on a host that others had, which may be why a limit in seconds was missed."""
    share = crowded(trial.path)
    if share is None:
        return ""
    return (
        f" (others had {share:.0%} of the host's processors meanwhile, which may be why: "
        "try it with less beside it)"
    )


def _where(trials: Sequence[Trial]) -> str:
    """The one trial, else the job of all of them."""
    if not trials:
        return ""
    return str(trials[0].path if len(trials) == 1 else trials[0].path.parent)


def _seconds(trials: Sequence[Trial]) -> float:
    return sum(trial.phases.total or 0.0 for trial in trials)
