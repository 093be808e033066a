"""`benchflow --help` against starting Python and doing nothing."""

from __future__ import annotations

import sys

from timing import BENCHFLOW, cost_of, headline, median, row, usual_environment

ROUNDS = 15


def main() -> None:
    env = usual_environment()
    ours, bare = [], []
    for _ in range(ROUNDS):
        ours.append(cost_of([BENCHFLOW, "--help"], env=env))
        bare.append(cost_of([sys.executable, "-c", ""], env=env))
    headline(f"benchflow --help, median of {ROUNDS}")
    for name, costs, wanted in (
        ("benchflow --help", ours, "≤ 0.30 s"),
        ("python -c '' (the other side)", bare, ""),
    ):
        typical = median(costs)
        row(f"{name}, wall", f"{typical.wall:.3f} s", wanted)
        row(f"{name}, processor", f"{typical.cpu:.3f} s")
    row("ratio of processor time", f"{median(ours).cpu / median(bare).cpu:.1f}×")


if __name__ == "__main__":
    main()
