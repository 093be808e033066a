"""How much work each oracle is: the commands that its script runs, the time, what it delivers.

    uv run python benchmarks/steps.py [TASK…]

A command is a line of bash's own trace (`set -x`) of solve.sh: one in a loop counts each time, what
a program does inside (make, a Python script, another shell) does not. Nothing is verified.
"""

from __future__ import annotations

import sys
import time
from shlex import quote

from timing import headline, row

from benchflow import sandbox
from benchflow.tasks import Task, catalogue

SECONDS = 7200
# A descriptor of its own for the trace: scripts read what their commands write to standard error.
RUN = (
    "BASH_XTRACEFD=19 DEBIAN_FRONTEND=noninteractive bash -x /solution/solve.sh"
    " >/tmp/oracle.log 2>&1 19>/tmp/oracle.trace"
)


def work(task: Task) -> tuple[int, float, int]:
    """(commands, real seconds, bytes stored in the deliverables) of one run of the oracle."""
    image = sandbox.build(task.path / "environment")
    with sandbox.Sandbox.start(image, network="user") as box:
        box.put(task.path / "solution", "/solution")
        began = time.monotonic()
        done = box.exec(["bash", "-c", RUN], timeout=SECONDS)
        seconds = time.monotonic() - began
        if done.status:
            said = box.exec(["tail", "-n", "20", "/tmp/oracle.log"]).text
            raise SystemExit(f"{task.name}: solve.sh ended with status {done.status}\n{said}")
        traced = box.exec(["grep", "-c", "^+", "/tmp/oracle.trace"]).text
        paths = " ".join(quote(deliverable.path) for deliverable in task.deliverables)
        stored = box.exec(["sh", "-c", f"du -c -k {paths} | tail -n 1"]).text
    return int(traced), seconds, int(stored.split()[0]) * 1024


def main(names: list[str]) -> None:
    headline("oracles: commands traced, real seconds of one run, what the deliverables store")
    for task in catalogue():
        if names and task.name not in names:
            continue
        commands, seconds, stored = work(task)
        figures = f"{seconds:,.0f} s, {stored / 2**20:,.1f} MiB"
        row(task.name, f"{commands:,} commands", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
