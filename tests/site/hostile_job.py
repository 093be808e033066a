"""A job folder of somebody who wants more than a score: names, messages, consoles, steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCRIPT = "<script>window.pwned=1</script>"
IMAGE = "<img src=x onerror=window.pwned=1>"
ESCAPES = "\x1b]0;title\x07\x1b[2J\x1b]8;;file:///etc/passwd\x07link\x1b[0m\x9b31m"
BIDI = "\u202egnp.exe\u200b"


def write_hostile_job(folder: Path) -> Path:
    """Three trials whose every text attacks the page that shows it."""
    folder.mkdir(parents=True)
    (folder / "job.log").write_text("")
    for number, (agent, task) in enumerate(
        ((SCRIPT, "../../../../tmp/pwned"), (IMAGE, f"{SCRIPT}/x"), ("'\"><b>", "__proto__"))
    ):
        _trial(folder / f"trial__{number}", agent, task)
    return folder


def _trial(trial: Path, agent: str, task: str) -> None:
    verifier = trial / "verifier"
    verifier.mkdir(parents=True)
    (trial / "agent").mkdir()
    (trial / "trial.log").write_text(ESCAPES)
    evil = f"{SCRIPT}{IMAGE}{ESCAPES}{BIDI}"
    _write(
        trial / "result.json",
        {
            "trial_name": f"{trial.name}{evil}",
            "task_name": task,
            "agent_info": {"name": agent, "version": evil, "model_info": {"name": evil}},
            "config": {"task": {"path": "/x"}},
            "agent_result": {"n_input_tokens": -1, "n_output_tokens": 1e400, "cost_usd": "free"},
            "verifier_result": {"rewards": {"reward": 0.5, "resolved": 0, "milestone.a": 1}},
            "exception_info": {"exception_type": evil, "exception_message": evil},
            "started_at": f"2026-01-01T00:00:00Z{SCRIPT}",
            "finished_at": "never",
        },
    )
    check = {"name": evil, "proves": [evil], "status": evil, "seconds": "soon", "message": evil}
    _write(
        verifier / "milestones.json",
        {
            "milestones": [
                {"id": evil, "title": evil, "status": "passed", "checks": [check]},
                {"id": "b\" onclick='x'", "status": "failed", "weight": [], "checks": [check, 7]},
                "not a milestone",
            ]
        },
    )
    _write(
        trial / "sandbox.json", {"sandboxes": {evil: {"granted": evil, "used": {"disk_mb": evil}}}}
    )
    _write(
        verifier / "main.qemu.json",
        {"boots": [{"command": ["qemu", evil, 7], "versions": {evil: evil}}, evil]},
    )
    _cast(verifier / f"{SCRIPT.replace('/', '')}.console.cast", evil)
    (verifier / "link.console.cast").symlink_to("/etc/passwd")
    (verifier / "binary.console.cast").write_bytes(bytes(range(256)) * 40)
    (verifier / "torn.console.cast").write_text(
        '{"version": 2, "width": 1e9, "height": -3}\n[1, "o"'
    )
    _write(
        trial / "agent" / "trajectory.json",
        {
            "schema_version": "ATIF-v1.7",
            "session_id": evil,
            "agent": {"name": evil, "version": "1", "model_name": evil},
            "steps": [
                {
                    "step_id": 1,
                    "source": "agent",
                    "message": f"</script>{evil}\u2028",
                    "reasoning_content": evil,
                    "tool_calls": [
                        {
                            "tool_call_id": "1",
                            "function_name": evil,
                            "arguments": {"</script>": evil},
                        }
                    ],
                    "observation": {"results": [{"source_call_id": "1", "content": evil}]},
                }
            ],
        },
    )


def _cast(path: Path, evil: str) -> None:
    events: list[Any] = [
        {"version": 2, "width": 100, "height": -4, "title": evil},
        [0.1, "o", evil + "\r\n"],
        [0.2, "m", evil],
        [-5, "o", "before the beginning"],
        [1e308, "o", "after the end"],
        ["soon", "o", "x"],
        [0.3, "x", "no such event"],
        [0.4, "o", ["list"]],
        [0.5, "o", "\x1b[6n\x1b]52;c;cGFzc3dk\x07" + "A" * 5000 + "\r\n"],
        [0.6, "o", "login: "],
    ]
    path.write_text("\n".join(json.dumps(event) for event in events) + '\n[0.7, "o", "to')


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))
