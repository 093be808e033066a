"""kill -9 at random moments of a sweep on a Ray cluster: what is lost, and do the totals hold?

    python benchmarks/ray_kills.py [--kills 30] [--trials 24] [--seed 1]

A head and two nodes run on this machine. A sweep of short trials asks a scripted model that runs
beside it and counts what it serves: the truth. Again and again, in random order, is killed: a whole
node, with all that it runs (another one joins); the program that runs a trial, or Ray's worker
above it; the driver, command and job's process together (the sweep is called again). Then the
sweep is left alone. Printed are how many trials ended with exactly one result, and tokens by the
ledgers against those served. The head is not killed: what Ray does then is in docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from kills import RETRY, TOKENS, TURNS, policy
from nop_trial import write_task
from timing import BENCHFLOW, headline, row, usual_environment

from benchflow.gateway.accounts.totals import replay
from benchflow.results.jobs import lock
from benchflow.scripted_model import ScriptedModel

HELPERS = Path(__file__).parents[1] / "tests" / "run"
sys.path.insert(0, str(HELPERS))
from clusters import Cluster, Node, cluster  # noqa: E402

SWEEP = """name = "kills"
tasks = ["./task"]
attempts = {trials}
[[entry]]
agent = "asking:Asking"
models = ["{url}/v1#policy"]
"""
AGENTS = {"PYTHONPATH": str(HELPERS)}


class Victims:
    """A sweep on a cluster, and who of it can be killed."""

    def __init__(self, folder: Path, nodes: Cluster, chance: random.Random) -> None:
        self.folder = folder
        self.nodes = nodes
        self.chance = chance
        self.hits: Counter[str] = Counter()
        self.alive: list[Node] = [nodes.node(env=AGENTS) for _ in range(2)]
        self.process = self.sweep()

    def sweep(self) -> subprocess.Popen[bytes]:
        address = ("--address", self.nodes.address)
        return subprocess.Popen(
            [BENCHFLOW, "sweep", "kills.toml", "--engine", "ray", *address, *RETRY],
            cwd=self.folder,
            stdout=(self.folder / "said").open("ab"),
            stderr=subprocess.STDOUT,
            env={**usual_environment(), **AGENTS},
            start_new_session=True,
        )

    def jobs(self) -> list[Path]:
        return [path.parent for path in self.folder.glob("jobs/*/benchflow.json")]

    def node(self) -> bool:
        victim = self.alive.pop(self.chance.randrange(len(self.alive)))
        victim.kill()
        self.alive.append(self.nodes.node(env=AGENTS))
        return True

    def worker(self) -> bool:
        what = self.chance.choice(("ray_engine.runner", "ray::"))
        pids = [pid for node in self.alive for pid in node.workers(what)]
        return bool(pids) and kill(self.chance.choice(pids))

    def driver(self) -> bool:
        worker = next((lock.holder(job) for job in self.jobs() if lock.is_held(job)), None)
        if worker is not None:
            kill(worker)
        self.process.kill()
        self.process.wait()
        self.process = self.sweep()
        return True


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=30)
    options.add_argument("--trials", type=int, default=24)
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    headline(f"{asked.kills} random kill -9 in a sweep of {asked.trials} trials on two nodes")
    with tempfile.TemporaryDirectory(prefix="bf-kills-", dir="/var/tmp") as scratch:
        folder = Path(scratch)
        write_task(folder / "task")
        (folder / "policy.toml").write_text(policy(1))
        with (
            ScriptedModel.start({"policy": folder / "policy.toml"}) as model,
            cluster(folder / "ray") as nodes,
        ):
            text = SWEEP.format(trials=asked.trials, url=model.url)
            (folder / "kills.toml").write_text(text)
            nodes.head(env=AGENTS)
            victims = Victims(folder, nodes, random.Random(asked.seed))
            kill_often(victims, asked.kills)
            while victims.process.wait() == 4:  # with errors, which run again
                victims.process = victims.sweep()
            served = sum(truth.usage.total for truth in model.totals().values())
        return tell(victims, asked.trials, served)


def kill_often(victims: Victims, kills: int) -> None:
    """As often as asked, or until all is done. Only while trials run, which a kill can hit."""
    chance = victims.chance
    wanted = (["node", "worker", "worker", "driver"] * kills)[:kills]
    chance.shuffle(wanted)
    while wanted and victims.process.poll() in (None, 4):
        if victims.process.poll() == 4:
            victims.process = victims.sweep()
        until_some_run(victims)
        time.sleep(chance.uniform(0, 8))
        what = wanted.pop()
        if getattr(victims, what)():
            victims.hits[what] += 1
            print(f"  killed {sum(victims.hits.values())}: {what}", file=sys.stderr, flush=True)
        else:
            wanted.insert(0, what)


def until_some_run(victims: Victims) -> None:
    end = time.monotonic() + 300
    while victims.process.poll() is None and time.monotonic() < end:
        begun = [path.parent for job in victims.jobs() for path in job.glob("*/config.json")]
        if any(not (trial / "result.json").exists() for trial in begun):
            return
        time.sleep(0.1)


def kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def tell(victims: Victims, trials: int, served: int) -> int:
    jobs = victims.jobs()
    results = [path.parent for job in jobs for path in job.glob("*/result.json")]
    metered = [json.loads((trial / "model.json").read_text()) for trial in results]
    tallies = [tally for job in jobs for tally in replay(job / "calls.jsonl").tallies.values()]
    counted = sum(tally.usage.total for tally in tallies)
    own = sum(each["tokens"] == TOKENS * TURNS for each in metered)
    errors = [t for t in results if json.loads((t / "result.json").read_text())["exception_info"]]
    came = Counter(
        json.loads(line)["came"]
        for job in jobs
        for path in job.glob("nodes.jsonl")
        for line in path.read_text().splitlines()
    )
    for what, often in victims.hits.most_common():
        row(f"kills: {what}", str(often))
    row("results", f"{len(results)} of {trials}", f"{trials} of {trials}")
    row("tries, by what came of them", ", ".join(f"{n} {what}" for what, n in came.items()))
    row("results that are errors", str(len(errors)), "0")
    row("trials with their own tokens, exactly", f"{own} of {trials}", f"{trials} of {trials}")
    row("tokens by the ledgers", f"{counted:,}", f"{served:,} served")
    row("calls whose end nobody saw", str(sum(tally.lost for tally in tallies)), "0")
    is_right = len(results) == own == trials and counted == served and not errors
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
