"""kill -9 at random moments of a sweep: what is lost, and do the totals hold?

A sweep of short trials asks a scripted model that runs beside it and counts what it serves: the
truth. Again and again, in random order, is killed: the command alone, whose trials go on; the
command with the process that runs its job, at random while trials run and, every third time,
while it starts and mends; the sandbox of one trial, which makes an error that is run again. Then
the sweep is called once more and left alone. Printed are how many trials ended with exactly one
result, and tokens by the ledgers against those served.

With `--sessions` the agent can take its session up again: trials that were cut off go on in their
sandboxes, and the answer that was under way is asked for, and paid for, once more; of an agent that
had ended, only the work is verified again.
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

from benchflow.gateway.accounts.totals import replay
from benchflow.results.jobs import lock
from benchflow.sandbox import gc
from benchflow.scripted_model import ScriptedModel

AGENTS = Path(__file__).parents[1] / "tests" / "run"
TOKENS, TURNS = 1050, 4


def policy(seconds: float) -> str:
    """What the scripted model does in each trial: three commands of `seconds`, and the end."""
    turns = "".join(f'[[turns]]\nrun = "sleep {seconds}; echo {n}"\n' for n in range(1, TURNS))
    return f"""schema = 1
[usage]
input = 1000
output = 50
{turns}[[turns]]
say = "Done."
"""


SWEEP = """name = "kills"
tasks = ["./task"]
attempts = {attempts}
concurrent = {concurrent}
[[entry]]
agent = "asking:{agent}"
models = ["{url}/v1#policy"]
"""
RETRY = ("--retry", "error")
_PATIENCE = 300.0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=20, help="of the orchestrator")
    options.add_argument("--sandboxes", type=int, default=10, help="kills of a trial's sandbox")
    options.add_argument("--trials", type=int, default=40)
    options.add_argument("--concurrent", type=int, default=2)
    options.add_argument("--longest", type=float, default=2.0, help="seconds of work before a kill")
    options.add_argument("--sessions", action="store_true", help="trials go on where they were")
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    kills = asked.kills + asked.sandboxes
    headline(f"{kills} random kill -9 in a sweep of {asked.trials} trials")
    with tempfile.TemporaryDirectory(prefix="benchflow-kills-") as scratch:
        folder = Path(scratch)
        write_task(folder / "task")
        told = folder / "policy.toml"
        told.write_text(policy(0.3))
        with ScriptedModel.start({"policy": told}) as model:
            text = SWEEP.format(
                attempts=asked.trials,
                concurrent=asked.concurrent,
                agent="Remembering" if asked.sessions else "Asking",
                url=model.url,
            )
            (folder / "kills.toml").write_text(text)
            hits, said = kill_often(folder, asked)
            last = sweep(folder, "--json", *RETRY).communicate()[0].decode()
            done = json.loads(last[last.index("{\n") :])  # behind what was mended
            served = [truth.usage.total for truth in model.totals().values()]
        tell(folder, asked, Counter(hits), Counter(said), done, sum(served))
        row("sandboxes left behind", str(len(gc())), "0")
    return 0


def kill_often(folder: Path, asked: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Starts the sweep and kills, as often as asked or until all is done; says what it hit, and
    what the sweep said becomes of the trials that were cut off."""
    chance = random.Random(asked.seed)
    wanted = ["command", "all"] * (asked.kills // 2) + ["sandbox"] * asked.sandboxes
    chance.shuffle(wanted)
    hits: list[str] = []
    said: list[str] = []

    def end(process: subprocess.Popen[bytes]) -> None:
        lines = process.communicate()[0].decode().splitlines()
        said.extend(line.rpartition("; ")[2] for line in lines if line.startswith("mended:"))

    process = sweep(folder, *RETRY)
    for number, what in enumerate(wanted):
        seen = phases(folder)
        early = what == "all" and number % 3 == 0
        until = time.monotonic() + (chance.uniform(0, asked.longest) if early else _PATIENCE)
        while process.poll() is None and phases(folder) == seen and time.monotonic() < until:
            time.sleep(0.02)
        if not early:
            time.sleep(chance.uniform(0, asked.longest))
        if process.poll() is not None:
            end(process)
            if process.returncode == 0:
                return hits, said
            process = sweep(folder, *RETRY)  # it has ended with errors, which run again
            wanted.append(what)
            continue
        worker = next((lock.holder(job) for job in jobs(folder) if lock.is_held(job)), None)
        if what == "sandbox":
            boxes = children(worker)
            if boxes and kill(chance.choice(boxes)):
                hits.append("sandbox")
            else:
                wanted.append(what)  # between two trials there is none
            continue
        if what == "all" and worker is not None:
            kill(worker)
        process.kill()
        end(process)
        hits.append(what if phases(folder) != seen else "start")
        process = sweep(folder, *RETRY)
    end(process)
    return hits, said


def kill(pid: int) -> bool:
    """kill -9; whether there was still somebody to be hit."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def children(pid: int | None) -> list[int]:
    """Sandboxes that a process has opened."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if f"\nPPid:\t{pid}\n" in text and text.startswith("Name:\tbenchflow-box\n"):
            found.append(int(status.parent.name))
    return found


def jobs(folder: Path) -> list[Path]:
    return [path.parent for path in folder.glob("jobs/*/benchflow.json")]


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
    said: Counter[str],
    done: dict[str, object],
    served: int,
) -> None:
    made = jobs(folder)
    results = [path.parent for job in made for path in job.glob("*/result.json")]
    (cell,) = done["cells"]  # type: ignore[misc]
    verdicts = {name: cell[name] for name in ("resolved", "failed", "error")}
    metered = [json.loads(p.read_text()) for t in results for p in t.glob("model.json")]
    tallies = [tally for job in made for tally in replay(job / "calls.jsonl").tallies.values()]
    own = {tally.trial: tally.usage.total for tally in tallies}
    once = TOKENS * TURNS
    right = sum(
        each["tokens"] == own[each["trial"]] and (each["tokens"] == once or asked.sessions)
        for each in metered
    )
    counted = sum(tally.usage.total for tally in tallies)
    lost = sum(tally.lost for tally in tallies)
    wanted = f"{asked.trials} of {asked.trials}"
    row("kills of the command alone", str(kills["command"]))
    row("of command and worker, while they started", f"{kills['all']}, {kills['start']}")
    row("of a trial's sandbox", str(kills["sandbox"]))
    row("jobs that the sweep was made of", str(len(made)))
    row("results", f"{len(results)} of {asked.trials}", wanted)
    row("of the matrix, by the sweep itself", f"{done['finished']} of {done['planned']}", wanted)
    row("verdicts", ", ".join(f"{count} {name}" for name, count in verdicts.items() if count))
    row("trials with their own tokens, exactly", f"{right} of {len(results)}", wanted)
    for path in results:
        result = json.loads((path / "result.json").read_text())
        if fault := result.get("exception_info"):
            row(f"  {path.name}", fault["exception_type"], "no error")
            print(fault["exception_message"][:1000])
    parts = [json.loads(p.read_text())["parts"] for t in results for p in t.glob("continued.json")]
    row(
        "trials that went on where they were",
        f"{len(parts)}, in at most {max(parts, default=1)} parts",
    )
    for what, often in said.most_common():
        row(f"of a trial that was cut off: {what}"[:66], str(often))
    row("tokens by the ledgers", f"{counted:,}", f"{served:,} served")
    row("calls whose end nobody saw", str(lost), "0")
    leftover = [
        *folder.glob("jobs/.gateway/*/secret"),
        *folder.glob("jobs/.gateway/*/gateway.json"),
    ]
    row("secrets and addresses of gateways left behind", str(len(leftover)), "0")


if __name__ == "__main__":
    sys.exit(main())
