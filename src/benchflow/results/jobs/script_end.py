"""How a script of the task ended that did not end well: an oracle, milestone, exploit or variant.

An author meets a script that dies before a verdict that says nothing of it: the
verifier only sees that nothing was delivered.
"""

from __future__ import annotations

import re

from benchflow.base.text import one_line
from benchflow.results.model import Trial
from benchflow.results.safe_files import UnreadableRecord, read_bytes

#: What Harbor's oracle writes beside its log where its script's status is not 0.
_STATUS = "exit-code.txt"
_LOGS = {
    "oracle": "oracle.txt",
    "ladder": "script.txt",
    "exploit": "script.txt",
    "variant": "script.txt",
}
_RAISED = "NonZeroAgentExitCodeError"
_MOST = 64 << 20


def script_end(trial: Trial) -> str:
    """One line, safe to print: the status, the last line that was printed and its file; empty where
    the script ended well, and for agents that are no script of the task's."""
    log = _LOGS.get(trial.agent.partition(":")[0])
    if log is None or not (status := _status(trial)):
        return ""
    last = _last_line(trial, log)
    said = f", its last line: {last}" if last else ""
    return f"its script ended with status {status}{said} (agent/{log})"


def _status(trial: Trial) -> str:
    if trial.exception == _RAISED:
        found = re.search(r"status (\d+)", trial.cause_message)
        return found[1] if found else "other than 0"
    return one_line(_text(trial, _STATUS, 100).strip(), 10)


def _last_line(trial: Trial, log: str) -> str:
    lines = [line for line in _text(trial, log, _MOST)[-4096:].splitlines() if line.strip()]
    return one_line(lines[-1].strip(), 200) if lines else ""


def _text(trial: Trial, name: str, limit: int) -> str:
    try:
        return read_bytes(trial.path / "agent" / name, limit).decode(errors="replace")
    except UnreadableRecord:
        return ""
