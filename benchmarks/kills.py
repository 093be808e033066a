"""kill -9 of the orchestrator at random moments of a sweep: what is lost, and do the totals hold?

A sweep of short trials asks a scripted model that runs beside it and counts what it serves: the
truth. The orchestrator is killed again and again, at random while trials run and, every fifth
time, while it starts and mends; then the sweep is called once more and left alone. Printed are how
many trials ended with exactly one result, and tokens by the ledgers against those served.
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

from nop_trial import write_task
from timing import BENCHFLOW, headline, row, usual_environment

from benchflow.gateway.meter import replay
from benchflow.gateway.scripted import ScriptedModel
from benchflow.sandbox import gc

AGENTS = Path(__file__).parents[1] / "tests" / "run"
TOKENS, TURNS = 1050, 4
POLICY = """schema = 1
[usage]
input = 1000
output = 50
[[turns]]
run = "sleep 0.3; echo one"
[[turns]]
run = "sleep 0.3; echo two"
[[turns]]
run = "sleep 0.3; echo three"
[[turns]]
say = "Done."
"""
SWEEP = """name = "kills"
tasks = ["./task"]
attempts = {attempts}
concurrent = {concurrent}
[[entry]]
agent = "asking:Asking"
models = ["{url}/v1#policy"]
"""
_PATIENCE = 300.0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--trials", type=int, default=40)
    options.add_argument("--concurrent", type=int, default=2)
    options.add_argument("--longest", type=float, default=6.0, help="seconds of work before a kill")
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    headline(f"{asked.kills} random kill -9 in a sweep of {asked.trials} trials")
    with tempfile.TemporaryDirectory(prefix="benchflow-kills-") as scratch:
        folder = Path(scratch)
        write_task(folder / "task")
        policy = folder / "policy.toml"
        policy.write_text(POLICY)
        with ScriptedModel.start({"policy": policy}) as model:
            text = SWEEP.format(attempts=asked.trials, concurrent=asked.concurrent, url=model.url)
            (folder / "kills.toml").write_text(text)
            kills = Counter(kill_often(folder, asked))
            done = json.loads(sweep(folder, "--json").communicate()[0])
            served = [truth.usage.total for truth in model.totals().values()]
        tell(folder, asked, kills, done, sum(served))
        row("sandboxes left behind", str(len(gc())), "0")
    return 0


def kill_often(folder: Path, asked: argparse.Namespace) -> list[str]:
    """Starts the sweep and kills it, as often as asked or until it is done; says when it hit."""
    chance = random.Random(asked.seed)
    hits: list[str] = []
    for number in range(asked.kills):
        seen = phases(folder)
        process = sweep(folder)
        early = number % 5 == 4
        end = time.monotonic() + (chance.uniform(0, asked.longest) if early else _PATIENCE)
        while process.poll() is None and phases(folder) == seen and time.monotonic() < end:
            time.sleep(0.02)
        if not early:
            time.sleep(chance.uniform(0, asked.longest))
        if process.poll() is not None:
            break
        hits.append("at work" if phases(folder) != seen else "while it started")
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    return hits


def sweep(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [BENCHFLOW, "sweep", "kills.toml", *more],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**usual_environment(), "PYTHONPATH": str(AGENTS)},
        start_new_session=True,
    )


def phases(folder: Path) -> int:
    """How much the sweep's jobs have written down of their trials' phases."""
    return sum(path.stat().st_size for path in folder.glob("jobs/*/phases.jsonl"))


def tell(
    folder: Path,
    asked: argparse.Namespace,
    kills: Counter[str],
    done: dict[str, object],
    served: int,
) -> None:
    jobs = [path.parent for path in folder.glob("jobs/*/benchflow.json")]
    results = [path.parent for job in jobs for path in job.glob("*/result.json")]
    (cell,) = done["cells"]  # type: ignore[misc]
    verdicts = {name: cell[name] for name in ("resolved", "failed", "error")}
    metered = [json.loads(p.read_text()) for t in results for p in t.glob("model.json")]
    right = sum(each["tokens"] == TOKENS * TURNS for each in metered)
    tallies = [tally for job in jobs for tally in replay(job / "calls.jsonl").tallies.values()]
    counted = sum(tally.usage.total for tally in tallies)
    lost = sum(tally.lost for tally in tallies)
    wanted = f"{asked.trials} of {asked.trials}"
    row("kills at work, while it started", f"{kills['at work']}, {kills['while it started']}")
    row("jobs that the sweep was made of", str(len(jobs)))
    row("results", f"{len(results)} of {asked.trials}", wanted)
    row("of the matrix, by the sweep itself", f"{done['finished']} of {done['planned']}", wanted)
    row("verdicts", ", ".join(f"{count} {name}" for name, count in verdicts.items() if count))
    row("trials with their own tokens, exactly", f"{right} of {len(results)}", wanted)
    row("tokens by the ledgers", f"{counted:,}", f"{served:,} served")
    row("calls whose end nobody saw", str(lost), "0")
    leftover = [
        *folder.glob("jobs/.gateway/*/secret"),
        *folder.glob("jobs/.gateway/*/gateway.json"),
    ]
    row("secrets and addresses of gateways left behind", str(len(leftover)), "0")


if __name__ == "__main__":
    sys.exit(main())
