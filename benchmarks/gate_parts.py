"""What the gates ladder and exploits save by asking each deliverable for some milestones alone.

    python benchmarks/gate_parts.py [TASK] [--gate ladder|exploits] [--most N] [--record]

The scripts build once; then N deliverables, evenly spread, are verified whole and for the
milestones that the gate asks for, one right after the other. Processor time is that of the
verifiers' sandboxes. With `--record` the sums go into `log/gate_parts.json`, of which
`gate_hours.py --table` reckons. Where a milestone ended otherwise in the two, it is
named: the gate would verify that deliverable whole.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from timing import headline, row

from benchflow.authoring import by_parts
from benchflow.authoring.builds import build
from benchflow.authoring.trials import Trials
from benchflow.base.atomic import write_json
from benchflow.run.live.progress import Silence
from benchflow.run.verify.verification import VerifyRequest, verify, verify_partly
from benchflow.tasks import load, root

RECORD = Path(__file__).parent / "log" / "gate_parts.json"


def used(folder: Path) -> float:
    """Processor seconds of the verifier's sandbox."""
    told = json.loads((folder / "sandbox.json").read_text())["sandboxes"]
    return sum(float(each["used"]["cpu_seconds"]) for each in told.values() if each.get("used"))


def spread(names: list[str], most: int) -> list[str]:
    """At most so many of `names`, evenly over all."""
    step = max(1.0, len(names) / most)
    return [names[int(at * step)] for at in range(min(most, len(names)))]


def both(of: Trials, gate: str, most: int) -> dict[str, float]:
    """Seconds of both sides, on the wall and of processors."""
    asked_of = by_parts.asked_of(of.task, gate)
    names = spread([*asked_of][: -1 if gate == "ladder" else None], most)
    of.__dict__["key"] = f"{of.key}-bench-{int(time.time())}"  # no gate is to find these
    built = build(of, gate, names)
    top = of.beside(gate, "-compared")
    sums = dict.fromkeys(("whole_wall", "whole_cpu", "parts_wall", "parts_cpu"), 0.0)
    for name in names:
        given, asked = built[name].given, asked_of[name]
        whole = VerifyRequest(of.task, given, top / name / "whole")
        part = VerifyRequest(of.task, given, top / name / "part", milestones=asked)
        top.joinpath(name).mkdir(parents=True)
        trial = verify(whole, Silence()).trial
        partial = verify_partly(part, Silence()).partial
        took = {
            "whole_wall": trial.phases.total or 0.0,
            "whole_cpu": used(whole.folder),
            "parts_wall": partial.seconds or 0.0,
            "parts_cpu": used(part.folder),
        }
        disagree = [
            m.id
            for m, before in zip(partial.milestones, trial.milestones, strict=True)
            if any(c.status != "not run" for c in m.checks) and m.status != before.status
        ]
        row(
            f"  {name}: {', '.join(asked[:3])}{' …' * (len(asked) > 3)}",
            f"{took['whole_cpu']:.0f} → {took['parts_cpu']:.0f} s",
            f"wall {took['whole_wall']:.0f} → {took['parts_wall']:.0f} s"
            + f"; otherwise: {', '.join(disagree)}" * bool(disagree),
        )
        sums = {key: sums[key] + took[key] for key in sums}
    return {**sums, "deliverables": len(names), "of": len(asked_of)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", default="speedrun/first-answer")
    parser.add_argument("--gate", choices=("ladder", "exploits"), default="ladder")
    parser.add_argument("--most", type=int, default=1000, metavar="N")
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    headline(f"gate {given.gate} of {given.task}, whole → by parts")
    found = both(Trials(load(root() / given.task), Silence()), given.gate, given.most)
    share = found["parts_cpu"] / found["whole_cpu"]
    row("processors, together", f"{found['whole_cpu']:.0f} → {found['parts_cpu']:.0f} s")
    row("ratio", f"{share:.2f}×", f"on the wall {found['parts_wall'] / found['whole_wall']:.2f}×")
    if given.record:
        known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        of_task = {**known.get(given.task, {}), given.gate: found}
        write_json(RECORD, dict(sorted({**known, given.task: of_task}.items())))


if __name__ == "__main__":
    main()
