"""Agents that take no tool calls but read commands out of text, and how they are talked to."""

from __future__ import annotations

import json
import re
from typing import Literal

from benchflow.scripted_model.policy import Turn
from benchflow.scripted_model.request import View

Dialect = Literal["tools", "terminus-json", "terminus-xml", "mini-text", "aside"]

#: What mini-swe-agent takes as the end of the work, when a command prints it first.
MINI_END = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_MINI_FENCE = "mswea_bash_command"
_LONGEST_WAIT = 60.0
_PLAN = "Continue."


def detect(view: View) -> Dialect:
    """Which dialect the request's own instructions ask for; "aside" for a question on the side,
    such as for a title: neither a tool nor a known form is offered."""
    told = "\n".join(view.told)
    if view.tools:
        return "tools"
    if '"keystrokes"' in told and "task_complete" in told:
        return "terminus-json"
    if "<keystrokes" in told and "task_complete" in told:
        return "terminus-xml"
    if MINI_END in told:
        return "mini-text"
    return "aside"


def ends_by_command(view: View) -> bool:
    """Whether the work ends with a command that prints mini-swe-agent's word, not with silence."""
    return any(MINI_END in text for text in view.told)


def is_waiting(turn: Turn, number: int, view: View) -> bool:
    """Whether the command of answer `number` still runs in the agent's terminal."""
    return turn.run is not None and not re.search(rf"played-{number}:\d+", view.output)


def terminus(dialect: Dialect, turn: Turn | None, say: str, number: int) -> str:
    """An answer for Terminus-2. `turn` None: wait on. A turn without a command ends the work."""
    if turn is None:
        keys, duration, done = "", 5.0, False
    elif turn.run is None:
        keys, duration, done = "", 0.1, True
    else:
        # Put together by the shell, so that the echo of the keys is not taken for the end.
        keys = f'{turn.run}\necho "played-""{number}:$?"\n'
        duration, done = min(float(turn.timeout or 1), _LONGEST_WAIT), False
    if dialect == "terminus-json":
        commands = [{"keystrokes": keys, "duration": duration}] if not done else []
        whole = {"analysis": say, "plan": _PLAN, "commands": commands, "task_complete": done}
        return json.dumps(whole, indent=2)
    inner = f'<keystrokes duration="{duration}">{keys}</keystrokes>\n' if not done else ""
    return (
        f"<response>\n<analysis>{say}</analysis>\n<plan>{_PLAN}</plan>\n<commands>\n{inner}"
        f"</commands>\n<task_complete>{str(done).lower()}</task_complete>\n</response>"
    )


def mini_text(turn: Turn, say: str, view: View) -> str:
    """An answer for mini-swe-agent where it reads fenced blocks."""
    fence = _MINI_FENCE if any(_MINI_FENCE in text for text in view.told) else "bash"
    command = turn.run if turn.run is not None else f"echo {MINI_END}"
    return f"{say}\n\n```{fence}\n{command}\n```"
