"""A made-up job in the layout of real ones: for demos, tests and measurements of speed.

Nobody ran any of it. Its agents, models and tasks are named `synthetic…`, so that no page or table
made from it can be taken for a finding. The same `Design` always gives the same files.

    python -m benchflow.results.synthetic DIR        72 trials with consoles and trajectories
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
_MILESTONES = (
    ("image", "The disk has a partition table and a loader"),
    ("kernel", "Linux starts from the disk"),
    ("root", "The root file system is mounted"),
    ("init", "The service manager starts"),
    ("login", "A user can log in"),
    ("network", "It is on the network"),
    ("packages", "The package manager works"),
    ("service", "The service answers"),
    ("reboot", "It comes back from a reboot"),
    ("power-cut", "Data survives a power cut"),
)
_COMMANDS = (
    ("ls -la /app", "total 8\ndisk.img  notes.txt"),
    ("sfdisk --json disk.img", '{"partitiontable": {"label": "gpt"}}'),
    ("e2fsck -fy part2.img", "part2.img: FILE SYSTEM WAS MODIFIED"),
    ("chroot root update-initramfs -u", "update-initramfs: Generating initrd.img"),
    ("make -j2 bzImage", "Kernel: arch/x86/boot/bzImage is ready"),
    ("grub-mkimage -O i386-pc -o core.img part_gpt ext2", ""),
    ("qemu-system-x86_64 -nographic disk.img", "Kernel panic - not syncing: VFS: no root device"),
    ("dpkg --configure -a", "Setting up ledger (1.4-2) ..."),
)
_SKILLS = (("bootloader", "recovery"), ("kernel", "packaging"), ("networking", "recovery"))


@dataclass(frozen=True)
class Design:
    """How many of everything. `consoles`: with console recordings and the verifier's progress."""

    agents: int = 4
    tasks: int = 6
    attempts: int = 3
    milestones: int = 10
    steps: int = 12
    consoles: bool = True
    seed: int = 2


def write_job(folder: Path, design: Design = Design()) -> Path:
    """Writes the job into the new folder `folder`. Raises FileExistsError where it exists."""
    folder.mkdir(parents=True)
    tasks = [_task(number) for number in range(design.tasks)]
    n_trials = design.agents * design.tasks * design.attempts
    _write(
        folder / "benchflow.json",
        {"schema": 1, "synthetic": True, "job": folder.name, "tasks": tasks, "n_trials": n_trials},
    )
    _write(folder / "result.json", {"n_total_trials": n_trials})
    (folder / "README.md").write_text(
        "Made up by `python -m benchflow.results.synthetic`: no agent ran, nothing here is a "
        "measurement.\n"
    )
    generator = random.Random(design.seed)
    for number in range(n_trials):
        rest, attempt = divmod(number, design.attempts)
        agent, task = divmod(rest, design.tasks)
        _write_trial(folder, design, generator, agent, tasks[task], (task, attempt))
    return folder


def _task(number: int) -> dict[str, Any]:
    name = f"synthetic/task-{number + 1:02}"
    return {
        "name": name,
        "version": "1.0.0",
        "benchflow": True,
        "staged": f"/synthetic/{name}",
        "topic": f"synthetic-{'repair' if number % 2 else 'build'}",
        "skills": list(_SKILLS[number % len(_SKILLS)]),
        "expert_minutes": 30 * 2 ** (number % 4),
        "hint": 0,
    }


def _write_trial(
    job: Path,
    design: Design,
    generator: random.Random,
    agent: int,
    task: dict[str, Any],
    place: tuple[int, int],
) -> None:
    name = f"{task['name'].replace('/', '-')}__{agent + 1:02}{place[1] + 1:02}"
    trial = job / name
    (trial / "verifier").mkdir(parents=True)
    (trial / "agent").mkdir()
    (trial / "trial.log").write_text("synthetic\n")
    start = _START + timedelta(minutes=generator.uniform(0, 600))
    lost = generator.random() < 0.03
    passed = 0 if lost else _reached(design, generator, agent, place[0])
    minutes = generator.uniform(5, 60) * (1 + passed / design.milestones)
    in_time = generator.random() < 0.85
    trajectory = _trajectory(design, generator, agent, start, minutes, in_time)
    if not lost:
        _write(trial / "agent" / "trajectory.json", trajectory)
    milestones = list(_milestones(design, passed))
    if not lost:
        _write(trial / "verifier" / "milestones.json", {"schema": 1, "milestones": milestones})
    if design.consoles and not lost:
        _write_recordings(trial / "verifier", milestones)
    _write(
        trial / "result.json",
        _result(name, agent, task, start, minutes, milestones, trajectory, (lost, in_time)),
    )


def _reached(design: Design, generator: random.Random, agent: int, task: int) -> int:
    """How many milestones in a row: each has a chance by the agent's ability and the demand."""
    ability, demand = 5.0 - 0.8 * (agent % 5), 0.5 * (task % 5)
    for milestone in range(design.milestones):
        logit = ability - demand - 1.5 * milestone / design.milestones + generator.gauss(0, 0.5)
        if generator.random() > 1 / (1 + math.exp(-logit)):
            return milestone
    return design.milestones


def _milestones(design: Design, passed: int) -> Iterator[dict[str, Any]]:
    before: list[str] = []
    for number in range(design.milestones):
        name, title = _MILESTONES[number % len(_MILESTONES)]
        name = name if number < len(_MILESTONES) else f"{name}-{number // len(_MILESTONES) + 1}"
        status = "passed" if number < passed else "failed" if number == passed else "not reached"
        check = "not run" if status == "not reached" else status
        message = "no prompt within 60 s (checks.py:42)" if status == "failed" else ""
        yield {
            "id": name,
            "title": title,
            "weight": 1 + number % 2,
            "requires": before,
            "status": status,
            "checks": [
                {"name": f"test_{name.replace('-', '_')}", "proves": [f"R{number + 1}"],
                 "status": check, "seconds": 2.5, "message": message}
            ],
        }  # fmt: skip
        before = [name]


def _trajectory(
    design: Design,
    generator: random.Random,
    agent: int,
    start: datetime,
    minutes: float,
    in_time: bool,
) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [
        {"step_id": 1, "source": "user", "timestamp": start.isoformat(),
         "message": "Make the machine start again and answer on port 443."}
    ]  # fmt: skip
    for number in range(2, design.steps + 1):
        command, output = _COMMANDS[generator.randrange(len(_COMMANDS))]
        step: dict[str, Any] = {
            "step_id": number,
            "source": "agent",
            "timestamp": (start + timedelta(minutes=minutes * number / design.steps)).isoformat(),
            "message": f"Step {number}: {command.split()[0]}.",
            "metrics": {
                "prompt_tokens": 900 + 60 * number,
                "completion_tokens": generator.randrange(40, 400),
                "cost_usd": round(0.002 + 0.0001 * number, 6),
            },
        }
        if number < design.steps or not in_time:
            call = f"call_{number}"
            step["tool_calls"] = [
                {"tool_call_id": call, "function_name": "bash", "arguments": {"command": command}}
            ]
            step["observation"] = {"results": [{"source_call_id": call, "content": output}]}
        else:
            step["message"] = "Done: the machine starts and the service answers."
        steps.append(step)
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": f"synthetic-{generator.getrandbits(32):08x}",
        "agent": {
            "name": _agent(agent),
            "version": "1",
            "model_name": _model(agent),
        },
        "steps": steps,
        "final_metrics": {
            "total_prompt_tokens": _total(steps, "prompt_tokens"),
            "total_completion_tokens": _total(steps, "completion_tokens"),
            "total_cost_usd": round(_total(steps, "cost_usd"), 6),
        },
    }


def _total(steps: list[dict[str, Any]], key: str) -> Any:
    return sum(step["metrics"][key] for step in steps if "metrics" in step)


def _agent(number: int) -> str:
    return f"synthetic-agent-{number % 2 + 1}"


def _model(number: int) -> str:
    return f"synthetic-model-{number // 2 + 1}"


def _result(
    name: str,
    agent: int,
    task: dict[str, Any],
    start: datetime,
    minutes: float,
    milestones: list[dict[str, Any]],
    trajectory: dict[str, Any],
    fate: tuple[bool, bool],
) -> dict[str, Any]:
    lost, in_time = fate
    worked = start + timedelta(minutes=minutes)
    end = worked + timedelta(seconds=90)
    whole = sum(milestone["weight"] for milestone in milestones)
    rewards = {
        "reward": sum(r["weight"] for r in milestones if r["status"] == "passed") / whole,
        "resolved": int(all(r["status"] == "passed" for r in milestones)),
        **{f"milestone.{r['id']}": int(r["status"] == "passed") for r in milestones},
    }
    exception = "EnvironmentStartError" if lost else "" if in_time else "AgentTimeoutError"
    totals = trajectory["final_metrics"]
    return {
        "trial_name": name,
        "task_name": task["name"],
        "agent_info": {"name": _agent(agent), "version": "1",
                       "model_info": {"name": _model(agent), "provider": "synthetic"}},
        "config": {"task": {"path": task["staged"]}},
        "agent_result": None
        if lost
        else {
            "n_input_tokens": totals["total_prompt_tokens"],
            "n_output_tokens": totals["total_completion_tokens"],
            "cost_usd": totals["total_cost_usd"],
        },
        "verifier_result": None if lost else {"rewards": rewards},
        "exception_info": {"exception_type": exception, "exception_message": "synthetic"}
        if exception
        else None,
        "started_at": start.isoformat(),
        "finished_at": end.isoformat(),
        "agent_execution": None
        if lost
        else {"started_at": start.isoformat(), "finished_at": worked.isoformat()},
        "verifier": None
        if lost
        else {"started_at": worked.isoformat(), "finished_at": end.isoformat()},
    }  # fmt: skip


def _write_recordings(verifier: Path, milestones: list[dict[str, Any]]) -> None:
    """The console as asciicast v2 with a marker at each milestone decided, and the progress."""
    seconds, cast, progress = 0.0, ['{"version": 2, "width": 80, "height": 24}'], []
    for milestone in milestones:
        if milestone["status"] == "not reached":
            break
        for line in (
            f"[    {seconds:.6f}] {milestone['title']}",
            f"synthetic login: {milestone['id']}",
        ):
            seconds += 1.25
            cast.append(json.dumps([seconds, "o", f"{line}\r\n"]))
        cast.append(json.dumps([seconds, "m", f"{milestone['id']}: {milestone['status']}"]))
        progress.append({"t": seconds, "event": "milestone", "id": milestone["id"],
                         "status": milestone["status"]})  # fmt: skip
    (verifier / "main.console.cast").write_text("\n".join(cast) + "\n")
    (verifier / "progress.jsonl").write_text("".join(f"{json.dumps(e)}\n" for e in progress))


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    print(write_job(Path(sys.argv[1])))
