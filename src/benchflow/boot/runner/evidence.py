"""Everything that a run leaves in the log folder; the formats are in docs/checks.md."""

from __future__ import annotations

import json
import os
import re
import threading
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchflow.boot.milestones import CheckRun, Ladder
from benchflow.boot.observer import Observer
from benchflow.boot.runner.cast import Cast

SCHEMA = 1
_CTRF_STATUS = {"passed": "passed", "failed": "failed", "crashed": "failed", "not run": "skipped"}
_STALE = (
    "reward.json",
    "reward.txt",
    "partial.json",
    "broken.json",
    "milestones.json",
    "ctrf.json",
)
_MAX_BOOTS = 200


def write_json(path: Path, value: object) -> None:
    """Write `value` so that `path` holds the old bytes or all the new ones, whatever happens."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="utf-8") as stream:
        json.dump(value, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def safe_name(name: str) -> str:
    """A file name made of `name`: letters, digits, dot, dash and underscore; never hidden."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip(".-")[:80] or "unnamed"


class Evidence(Observer):
    """The observer that writes the files of one run into `logs`.

    Opening it removes the verdict files of an earlier run, so that a run that breaks never leaves
    someone else's reward behind. All methods may be called from any thread.
    """

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        #: The only milestones that are verified; empty for all.
        self.asked: tuple[str, ...] = ()
        logs.mkdir(parents=True, exist_ok=True)
        for name in _STALE:
            (logs / name).unlink(missing_ok=True)
        self.host: dict[str, Any] = {"speed": None, "accelerator": None, "qemu": None}
        self._start = time.monotonic()
        self.started_at = time.time()
        self._lock = threading.RLock()
        self._casts: dict[str, Cast] = {}
        self._boots: dict[str, list[dict[str, Any]]] = {}
        self._progress = (logs / "progress.jsonl").open("w", encoding="utf-8")

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since the run began."""
        return round(time.monotonic() - self._start, 3)

    def event(self, event: str, **data: object) -> None:
        """Append one line to progress.jsonl and hand it to the operating system at once."""
        line = json.dumps({"t": self.seconds, "event": event, **data}, ensure_ascii=False)
        with self._lock:
            if not self._progress.closed:
                self._progress.write(line + "\n")
                self._progress.flush()

    def calibrated(self, *, speed: float, accelerator: str, qemu: str) -> None:
        host = {"speed": speed, "accelerator": accelerator, "qemu": qemu}
        if host != self.host:
            self.host = host
            self.event("calibrated", **host)

    def boot(self, machine: str, n: int) -> None:
        self.event("boot", machine=machine, n=n)
        self._cast(machine).marker(f"boot {n}")

    def output(self, machine: str, data: bytes) -> None:
        self._cast(machine).output(data)

    def typed(self, machine: str, text: str) -> None:
        self._cast(machine).typed(text)

    def note(self, machine: str, text: str) -> None:
        self._cast(machine).marker(text)

    def qemu(self, machine: str, command: list[str], versions: dict[str, Any]) -> None:
        with self._lock:
            boots = self._boots.setdefault(machine, [])
            if len(boots) >= _MAX_BOOTS:
                return
            boots.append({"command": command, "versions": versions})
            write_json(
                self.logs / f"{safe_name(machine)}.qemu.json",
                {"schema": SCHEMA, "machine": machine, "boots": boots},
            )

    def screenshot_path(self, machine: str, name: str) -> Path | None:
        return self.logs / f"{safe_name(machine)}.{safe_name(name)}.png"

    def check_started(self, run: CheckRun) -> None:
        """A check begins: a progress line, and a marker on every console."""
        self.event("check", name=run.name, milestone=run.spec.milestone, status="running")
        self._mark(f"check {run.name}")

    def check_ended(self, run: CheckRun) -> None:
        """A check ended: `status` and a message cut to 300 characters."""
        self.event(
            "check",
            name=run.name,
            milestone=run.spec.milestone,
            status=run.status,
            seconds=run.seconds,
            message=run.message[:300],
        )
        if run.status != "passed":
            self._mark(f"check {run.name}: {run.status}")

    def milestone_ended(self, id: str, status: str) -> None:
        """All checks of a milestone are known."""
        self.event("milestone", id=id, status=status)
        self._mark(f"milestone {id}: {status}")

    def write_milestones(self, ladder: Ladder, task: dict[str, Any], *, verdict: bool) -> None:
        """milestones.json: the ladder with the evidence of every check.

        Without a verdict (the verifier broke) its reward and `resolved` are null.
        """
        content = self.milestones(ladder, task)
        if not verdict:
            content |= {"reward": None, "resolved": None}
        write_json(self.logs / "milestones.json", content)

    def milestones(self, ladder: Ladder, task: dict[str, Any]) -> dict[str, Any]:
        """The content of milestones.json. Of some milestones alone there is neither reward nor
        `resolved`, and `partial` names them."""
        content = self._ladder(ladder, task)
        if self.asked:
            content |= {"partial": list(self.asked), "reward": None, "resolved": None}
        return content

    def _ladder(self, ladder: Ladder, task: dict[str, Any]) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "task": {key: task.get(key, "") for key in ("name", "version", "digest")},
            "host": self.host,
            "milestones": [
                {
                    "id": spec.id,
                    "title": spec.title,
                    "weight": spec.weight,
                    "requires": list(spec.requires),
                    "status": ladder.status(spec.id),
                    "checks": [
                        {
                            "name": run.name,
                            "proves": list(run.spec.proves),
                            "status": run.status,
                            "seconds": run.seconds,
                            "message": run.message,
                        }
                        for run in ladder.runs[spec.id]
                    ],
                }
                for spec in ladder.milestones
            ],
            "metrics": ladder.metrics,
            "reward": ladder.reward,
            "resolved": ladder.resolved,
            "seconds": self.seconds,
        }

    def write_ctrf(self, ladder: Ladder, tool_version: str) -> None:
        """ctrf.json: the same checks in the Common Test Report Format."""
        runs = [run for spec in ladder.milestones for run in ladder.runs[spec.id]]
        statuses = [_CTRF_STATUS[run.status] for run in runs]
        counted = ("passed", "failed", "skipped", "pending", "other")
        stop = int(time.time() * 1000)
        start = int(self.started_at * 1000)
        summary = {
            "tests": len(runs),
            **{key: statuses.count(key) for key in counted},
            "start": start,
            "stop": stop,
            "duration": stop - start,
        }
        report = {
            "reportFormat": "CTRF",
            "specVersion": "0.0.0",
            "reportId": str(uuid.uuid4()),
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "generatedBy": "benchflow.boot",
            "results": {
                "tool": {"name": "pytest", "version": tool_version},
                "summary": summary,
                "tests": [_ctrf_test(run) for run in runs],
            },
        }
        write_json(self.logs / "ctrf.json", report)

    def write_reward(self, ladder: Ladder) -> None:
        """reward.json: the very last file of a run that did not break."""
        reward: dict[str, float] = {"reward": ladder.reward, "resolved": int(ladder.resolved)}
        for spec in ladder.milestones:
            reward[f"milestone.{spec.id}"] = int(ladder.status(spec.id) == "passed")
        for name, value in ladder.metrics.items():
            reward[f"metric.{name}"] = value
        write_json(self.logs / "reward.json", reward)

    def write_partial(self) -> None:
        """partial.json: the very last file of a run of some milestones that did not break."""
        write_json(self.logs / "partial.json", {"schema": SCHEMA, "milestones": [*self.asked]})

    def write_broken(self, reason: str, message: str) -> None:
        """broken.json: why there is no reward."""
        write_json(
            self.logs / "broken.json", {"schema": SCHEMA, "reason": reason, "message": message}
        )

    def finish(self, **data: object) -> None:
        """The last line of the progress, once; closes the recordings. Later events are dropped."""
        with self._lock:
            if self._progress.closed:
                return
            self.event("done", **data)
            for cast in self._casts.values():
                cast.close()
            self._progress.close()

    def _mark(self, label: str) -> None:
        with self._lock:
            casts = list(self._casts.values())
        for cast in casts:
            cast.marker(label)

    def _cast(self, machine: str) -> Cast:
        with self._lock:
            if machine not in self._casts:
                path = self.logs / f"{safe_name(machine)}.console.cast"
                self._casts[machine] = Cast(path, title=machine)
            return self._casts[machine]


def _ctrf_test(run: CheckRun) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": run.name,
        "status": _CTRF_STATUS[run.status],
        "rawStatus": run.status,
        "duration": int(run.seconds * 1000),
        "suite": [run.spec.milestone],
        "tags": list(run.spec.proves),
        "line": run.spec.line,
        "filePath": "checks.py",
    }
    if run.message:
        test["message"] = run.message
    if run.started:
        test["start"] = int(run.started * 1000)
        test["stop"] = int((run.started + run.seconds) * 1000)
    return test
