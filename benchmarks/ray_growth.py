"""What Ray adds to a trial, how it grows with nodes and trials, and what would break first.

    python benchmarks/ray_growth.py [--trials 200] [--nodes 1,2,4,8] [--sleep 60] [--only PART]

PART is one of: overhead, nodes, sleep, simulation. All nodes are on this machine, each a `ray
start` with one processor by name, so nop trials share its cores whatever their number: what is
measured is what Ray and the driver add. Trials that sleep show how placing scales.

    overhead     the same nop trials, one at a time: the local engine, then Ray with one node
    nodes        nop trials over 1, 2, 4, 8 nodes; memory of driver and head early and late
    sleep        trials that sleep, four a node, on one node and on four
    simulation   10⁶ trials on 1,000 nodes, drawn from the trial times of benchmarks/log, against
                 the driver's measured processor time, file writes and gateway: what is busy first
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nop_trial import write_task
from orchestrator_memory import pss_mb
from timing import BENCHFLOW, headline, row, usual_environment

from benchflow.results.jobs import lock
from benchflow.results.jobs.trials import read_job
from benchflow.results.json_values import seconds_between
from benchflow.run.live.job_status import of_job

HELPERS = Path(__file__).parents[1] / "tests" / "run"
sys.path.insert(0, str(HELPERS))
from clusters import Cluster, cluster  # noqa: E402

LOG = Path(__file__).parent / "log"
SWEEP = """name = "{name}"
tasks = ["./task"]
attempts = {trials}
{more}
[[entry]]
agent = "{agent}"
"""
TICK = os.sysconf("SC_CLK_TCK")
#: A gateway answers about so many calls a second (benchmarks/gateway.py: 50 streams at once).
CALLS_A_SECOND = 200.0
CALLS_A_TRIAL_MINUTE = 2.0


@dataclass(frozen=True)
class Ran:
    """Seconds a trial from the first start to the last end, and what the driver took for it."""

    trials: int
    wall: float
    cpu: float
    driver_mb: tuple[float, float]
    head_mb: tuple[float, float]

    @property
    def each(self) -> float:
        return self.wall / self.trials


def cpu_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK


def sweep(
    folder: Path, name: str, trials: int, nodes: Cluster | None, *, agent: str = "nop",
    concurrent: int = 0,
) -> Ran:  # fmt: skip
    """Runs one sweep to its end. Raises SystemExit where a trial ended in an error."""
    more = f"concurrent = {concurrent}" if concurrent else ""
    text = SWEEP.format(name=name, trials=trials, agent=agent, more=more)
    (folder / f"{name}.toml").write_text(text)
    engine = ["--engine", "ray", "--address", nodes.address] if nodes else []
    process = subprocess.Popen(
        [BENCHFLOW, "sweep", f"{name}.toml", *engine],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=usual_environment(),
    )
    job = folder / "jobs" / f"{name}-1"
    head = nodes.nodes[0].workers("gcs_server") if nodes else []
    sizes: dict[str, tuple[float, float]] = {"early": (0, 0), "late": (0, 0)}
    cpu = 0.0
    while process.poll() is None:
        time.sleep(1)
        worker = lock.holder(job) if job.is_dir() else None
        if worker is None:
            continue
        cpu = max(cpu, cpu_of(worker))
        done = sum(1 for _ in job.glob("*/result.json"))
        when = "early" if done < trials // 5 else "late"
        now = (pss_mb(worker), sum(map(pss_mb, head)))
        if now[0]:
            sizes[when] = now
    found = read_job(job)
    wrong = [trial.cause_message for trial in found.trials if trial.cause]
    if wrong or len(found.trials) != trials:
        raise SystemExit(f"{len(found.trials)} of {trials} results, errors: {wrong[:3]} in {job}")
    begun = min(trial.started_at for trial in found.trials)
    ends = [
        (seconds_between(begun, trial.started_at) or 0.0) + (trial.phases.total or 0.0)
        for trial in found.trials
    ]
    early, late = sizes["early"], sizes["late"]
    return Ran(trials, max(ends), cpu, (early[0], late[0]), (early[1], late[1]))


def overhead(folder: Path, trials: int) -> float:
    """Local and Ray, one trial at a time; returns the driver's processor seconds a trial."""
    with cluster(folder / "r") as nodes:
        nodes.head()
        nodes.node()
        sweep(folder, "warm", 2, nodes)  # image and runner
        local = sweep(folder, "local", trials, None, concurrent=1)
        ray = sweep(folder, "ray", trials, nodes, concurrent=1)
        again = sweep(folder, "local-again", trials, None, concurrent=1)
    base = statistics.mean([local.each, again.each])
    row("seconds a nop trial, this machine (before, after)", f"{local.each:.2f}, {again.each:.2f}")
    row("seconds a nop trial, Ray with one node", f"{ray.each:.2f}")
    row("what Ray adds to a trial", f"{1000 * (ray.each - base):.0f} ms", "≤ 150 ms")
    row("processor time of the driver a trial", f"{1000 * ray.cpu / trials:.0f} ms")
    row("  of the local worker", f"{1000 * local.cpu / trials:.0f} ms")
    return ray.cpu / trials


def grow(folder: Path, trials: int, counts: Sequence[int]) -> None:
    with cluster(folder / "r") as nodes:
        nodes.head()
        for count in counts:
            while len(nodes.nodes) - 1 < count:
                nodes.node()
            ran = sweep(folder, f"n{count}", trials, nodes)
            job = folder / "jobs" / f"n{count}-1"
            started = time.perf_counter()
            of_job(job).look()
            board = time.perf_counter() - started
            row(f"{count} nodes: trials a second", f"{trials / ran.wall:.2f}")
            row("  processor time of the driver a trial", f"{1000 * ran.cpu / trials:.0f} ms")
            row("  driver, early and late", "{:.0f}, {:.0f} MiB".format(*ran.driver_mb), "flat")
            row("  Ray's head, early and late", "{:.0f}, {:.0f} MiB".format(*ran.head_mb), "flat")
            row("  the board of all trials, read afresh", f"{1000 * board:.0f} ms")


def sleeping(folder: Path, seconds: float, a_node: int = 4) -> None:
    (folder / "sleep.txt").write_text(f"sleep {seconds}\n")
    agent = f"scripted:{folder / 'sleep.txt'}"
    with cluster(folder / "r") as nodes:
        nodes.head()
        nodes.node()
        sweep(folder, "warm", 1, nodes)
        one = sweep(folder, "one", a_node, nodes, agent=agent)
        while len(nodes.nodes) < 5:
            nodes.node()
        sweep(folder, "warm-4", 8, nodes)
        four = sweep(folder, "four", 4 * a_node, nodes, agent=agent)
    row(f"{a_node} trials that sleep {seconds:g} s, one node", f"{one.wall:.0f} s")
    row(f"{4 * a_node} of them, four nodes", f"{four.wall:.0f} s")
    row("of linear growth", f"{one.wall / four.wall:.2f}", "≥ 0.9")


def trial_times() -> list[float]:
    """Seconds of whole trials, as recorded: the oracle's work and its verification, or both."""
    found = []
    for path in LOG.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            parts = [entry.get("trial_s")]
            if parts == [None]:
                parts = [entry.get("work_s"), entry.get("verification_s")]
            numbers = [statistics.mean(p) if isinstance(p, list) else p for p in parts]
            if all(isinstance(number, int | float) for number in numbers):
                found.append(float(sum(numbers)))
    return found


def written_a_trial(n: int) -> float:
    """Bytes of Harbor's result.json of a job with `n` finished trials, which is written twice a
    trial: it names every trial."""
    return 700 + 55.0 * n


def simulate(cpu: float, nodes: int = 1000, slots: int = 2, trials: int = 1_000_000) -> None:
    """Events: a trial ends, and its slot is free when the one driver has taken its folder."""
    times, chance = trial_times(), random.Random(1)
    ends = [chance.choice(times) * chance.random() for _ in range(nodes * slots)]
    heapq.heapify(ends)
    driver = waited = longest = 0.0
    for _ in range(trials):
        ended = heapq.heappop(ends)
        begun = max(ended, driver)
        driver = begun + cpu
        waited += begun - ended
        longest = max(longest, begun - ended)
        heapq.heappush(ends, driver + chance.choice(times))
    ideal = trials * statistics.mean(times) / (nodes * slots)
    rate = nodes * slots / statistics.mean(times)
    row("recorded trials; mean, longest", f"{len(times)}; {statistics.mean(times):.0f} s, "
        f"{max(times):.0f} s")  # fmt: skip
    row("trials that end a second, 2,000 at once", f"{rate:.2f}")
    row("the driver's processor", f"{100 * rate * cpu:.0f} %", "breaks at 100 %")
    row("10⁶ trials, the driver never waited for", f"{ideal / 86400:.1f} days")
    row("  with its measured processor time", f"{driver / 86400:.1f} days")
    row("  a folder waits for it, mean and longest", f"{waited / trials:.2f} s, {longest:.0f} s")
    row("trials at once at which its processor is full", f"{statistics.mean(times) / cpu:,.0f}")
    for n in (10_000, 100_000, 1_000_000):
        size = written_a_trial(n)
        row(f"Harbor's result.json with {n:,} trials in one job", f"{size / 1e6:.1f} MB",
            f"{2 * rate * size / 1e6:,.0f} MB/s written")  # fmt: skip
    calls = nodes * slots * CALLS_A_TRIAL_MINUTE / 60
    row("calls of models a second, two a minute and trial", f"{calls:.0f}",
        f"one gateway answers about {CALLS_A_SECOND:.0f}")  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--trials", type=int, default=200)
    options.add_argument("--nodes", default="1,2,4,8")
    options.add_argument("--sleep", type=float, default=60.0)
    options.add_argument("--cpu", type=float, default=0.1, help="of the driver a trial, simulated")
    options.add_argument("--only", default="")
    asked = options.parse_args()
    headline(f"Ray: {asked.trials} trials, nodes on this machine")
    with tempfile.TemporaryDirectory(prefix="bf-growth-", dir="/var/tmp") as name:
        folder, cpu = Path(name), asked.cpu
        write_task(folder / "task")
        if asked.only in ("", "overhead"):
            cpu = overhead(folder, asked.trials)
        if asked.only in ("", "nodes"):
            grow(folder, asked.trials, [int(each) for each in asked.nodes.split(",")])
        if asked.only in ("", "sleep"):
            sleeping(folder, asked.sleep)
        if asked.only in ("", "simulation"):
            simulate(cpu)


if __name__ == "__main__":
    sys.exit(main())
