"""Whether a verdict or a milestone ever changes when the same deliverable is verified again.

    uv run python benchmarks/flips.py JOB… [-n 200] [--journal FILE] [--minutes 60]

JOB is a job folder, or a folder of jobs: those of `benchflow run`, and those that gates keep in
~/.cache/benchflow/checks (the default). Each deliverable that lies there, whole or half-built
(`-a 'ladder:*'`, `-a ladder:MILESTONE`, exploits, variants), is a case. Cases are taken by turns,
one verification at a time, every second one beside 4, 8 or 16 programs that never rest.

Each verification is a line of the journal as soon as it has ended, so that the same command
continues where it was stopped. What another verifier or another version of the task has judged is
in no comparison. Errors of the infrastructure are told and not counted. Exit status 1: flips.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timing import headline, row

from benchflow.agents.scripts import InTurnAgent
from benchflow.authoring.cpu_load import busy_cores
from benchflow.base.home import home
from benchflow.errors import BenchflowError
from benchflow.results.jobs.layout import find_jobs
from benchflow.results.jobs.sandboxes import others_share
from benchflow.results.jobs.trials import read_job
from benchflow.results.model import Trial, Verdict
from benchflow.run.live.progress import Silence
from benchflow.run.verify.verification import VerifyRequest, free_folder, verify
from benchflow.tasks import Task, find
from benchflow.tasks.stage import boot_zipapp

#: Programs that never rest, beside every second verification.
LOADS = (4, 8, 16)
_LONGEST_MESSAGE = 300


@dataclass(frozen=True)
class Case:
    """One deliverable. `trial`: who made it, `label`: as what, `given`: its files."""

    task: Task
    trial: str
    label: str
    given: dict[str, Path]

    @property
    def key(self) -> tuple[str, ...]:
        """What its verifications have in common: where one part differs, nothing is compared."""
        return (self.task.name, self.task.digest, boot_zipapp().stem, self.trial, self.label)


def cases(folders: Iterable[Path]) -> Iterator[Case]:
    """Every deliverable below `folders` of a task that is in the catalogue, in whichever version:
    it is judged by the present one."""
    for job in (job for folder in folders for job in _jobs(folder)):
        for trial in read_job(job).trials:
            try:
                task = find(trial.task)
            except BenchflowError:
                continue
            if task.is_benchflow and not task.steps:
                yield from _of_trial(task, trial)


def _jobs(folder: Path) -> list[Path]:
    try:
        return find_jobs(folder)
    except BenchflowError:
        return []


def _of_trial(task: Task, trial: Trial) -> Iterator[Case]:
    kept = trial.path / InTurnAgent.RUNGS
    if kept.is_dir():
        for rung in sorted(kept.iterdir()):
            yield from _case(task, trial, rung.name, rung)
    else:
        yield from _case(task, trial, trial.agent, trial.path / "artifacts")


def _case(task: Task, trial: Trial, label: str, top: Path) -> Iterator[Case]:
    files = {each.path: top / each.path.lstrip("/") for each in task.deliverables}
    given = {path: file for path, file in files.items() if os.path.lexists(file)}
    if given:
        yield Case(task, trial.name, label, given)


def in_turn(found: Sequence[Case]) -> list[Case]:
    """One case of each task after the other, until all have had a turn."""
    by_task: dict[str, list[Case]] = defaultdict(list)
    for case in found:
        by_task[case.task.name].append(case)
    most = max(map(len, by_task.values()), default=0)
    return [mine[at] for at in range(most) for mine in by_task.values() if at < len(mine)]


def load_of(n: int) -> int:
    """Programs beside the `n`th verification, from 0: none beside every second."""
    return LOADS[n // 2 % len(LOADS)] if n % 2 else 0


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Lines that are whole; the last may have been cut off by a kill."""
    lines = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            lines.append(dict(json.loads(line)))
        except ValueError:
            continue
    return lines


def judged(line: dict[str, Any]) -> bool:
    """Whether a verifier came to a verdict."""
    return line["verdict"] != Verdict.ERROR.value


def key_of(line: dict[str, Any]) -> tuple[str, ...]:
    """The `Case.key` of a line."""
    return tuple(line["case"])


def flips(lines: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Verifications of one case that differ in verdict or in any milestone's status: all of them,
    of each such case."""
    by_case: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in filter(judged, lines):
        by_case[key_of(line)].append(line)
    return [own for own in by_case.values() if len({outcome(line) for line in own}) > 1]


def outcome(line: dict[str, Any]) -> tuple[Any, ...]:
    """What has to be the same at each verification."""
    return (line["verdict"], *((m["id"], m["status"]) for m in line["milestones"]))


def once(case: Case, load: int, top: Path, release: str = "") -> dict[str, Any]:
    """Verifies a case beside `load` programs, and says what came of it. `release`: the verifier's,
    of Debian."""
    folder = free_folder(case.task, top)
    started, average = time.monotonic(), os.getloadavg()[0]
    with busy_cores(load) if load else nullcontext():
        request = VerifyRequest(case.task, case.given, folder, release=release)
        trial = verify(request, Silence()).trial
    return {
        "case": case.key,
        "beside": load,
        "load_before": round(average, 2),
        "verdict": trial.verdict.value,
        "cause": trial.cause,
        "milestones": [_told(trial, at) for at in range(len(trial.milestones))],
        "seconds": round(time.monotonic() - started, 1),
        "others_share": others_share(folder),
        "host": {"name": trial.host.name, "speed": trial.host.speed, "steal": trial.host.steal},
        "evidence": str(folder),
    }


def _told(trial: Trial, at: int) -> dict[str, str]:
    milestone = trial.milestones[at]
    told = {"id": milestone.id, "status": milestone.status}
    if failed := milestone.first_failure:
        told["stopped_by"] = f"{failed.name}: {failed.message[:_LONGEST_MESSAGE]}"
    return told


def append(path: Path, line: dict[str, Any]) -> None:
    """Adds one line, so that it is there whatever happens next."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torn = path.exists() and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as stream:
        stream.write("\n" * torn + json.dumps(line) + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def tell(lines: Sequence[dict[str, Any]]) -> int:
    """Prints what the journal says; returns how many cases flip."""
    counted = [line for line in lines if judged(line)]
    keys = {key_of(line) for line in counted}
    verdicts = Counter(line["verdict"] for line in counted)
    beside = sum(line["beside"] > 0 for line in counted)
    row("verifications", str(len(counted)), f"{beside} beside {min(LOADS)} to {max(LOADS)} others")
    row("  deliverables, tasks", f"{len(keys)}, {len({key[0] for key in keys})}")
    row("  resolved, failed", f"{verdicts['resolved']}, {verdicts['failed']}")
    row("errors of the infrastructure", str(len(lines) - len(counted)), "not counted")
    found = flips(lines)
    row("deliverables whose verdict or milestones flip", str(len(found)), "0")
    for own in found:
        _show(own)
    return len(found)


def _show(own: Sequence[dict[str, Any]]) -> None:
    task, _, _, trial, label = own[0]["case"]
    print(f"  {task}, {label} of {trial}:")
    usual = Counter(map(outcome, own)).most_common(1)[0][0]
    for line in own:
        if outcome(line) == usual:
            continue
        print(f"    {line['verdict']} beside {line['beside']}, others {line['others_share']}:")
        for milestone, (_, was) in zip(line["milestones"], usual[1:], strict=False):
            if milestone["status"] != was:
                why = milestone.get("stopped_by", "")
                print(f"      {milestone['id']}: {milestone['status']}, else {was}. {why}")
        print(f"      {line['evidence']}")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("job", nargs="*", type=Path, help="job folders, or folders of jobs")
    parser.add_argument("-n", type=int, default=200, help="verifications in all")
    parser.add_argument("--journal", type=Path, default=home() / "flips" / "journal.jsonl")
    parser.add_argument("--minutes", type=float, default=0, help="begin none after so long")
    parser.add_argument("--only", action="append", default=[], help="of this task alone")
    parser.add_argument("--report", action="store_true", help="run nothing; tell the journal")
    asked = parser.parse_args(arguments)
    headline("the same deliverables, verified again and again")
    end = time.monotonic() + asked.minutes * 60 if asked.minutes else float("inf")
    if not asked.report:
        found = in_turn([*cases(asked.job or [home() / "checks"])])
        wanted = [case for case in found if not asked.only or case.task.name in asked.only]
        if not wanted:
            print("  no deliverable of a task that is in the catalogue as it is", file=sys.stderr)
            return 2
        _go_on(wanted, asked.n, asked.journal, end)
    return int(tell(read_journal(asked.journal)) > 0)


def _go_on(wanted: Sequence[Case], n: int, journal: Path, end: float) -> None:
    done = Counter(key_of(line) for line in read_journal(journal) if judged(line))
    ran = sum(done[case.key] for case in wanted)
    lost = 0
    while ran < n and time.monotonic() < end and lost < len(wanted):
        at = min(range(len(wanted)), key=lambda at: done[wanted[at].key])
        case = wanted[at]
        # Neighbours begin otherwise, and each case has every load in turn.
        line = once(case, load_of(done[case.key] + at), journal.parent / "evidence")
        append(journal, line)
        if judged(line):
            done[case.key] += 1
            ran += 1
            lost = 0
        else:  # a machine that can judge nothing any more is not asked for ever
            lost += 1
        print(f"    {ran}: {case.task.name} {case.label} beside {line['beside']}: "
              f"{line['verdict']} {line['cause']}, {line['seconds']} s", flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
