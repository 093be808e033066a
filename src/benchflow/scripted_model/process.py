"""Starting the scripted model as a process of its own, and asking it what it served."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchflow.errors import InfrastructureError
from benchflow.model_apis.protocols import base_urls
from benchflow.model_apis.usage import Usage
from benchflow.scripted_model.policy import Policy

_START_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Truth:
    """What one caller was given in all; `usage` is every token that was told to it."""

    answers: int
    asides: int
    failures: int
    cut: int
    usage: Usage


@dataclass(slots=True)
class ScriptedModel:
    """A running scripted model. Make one with `start`; `stop` it, or use it as a context manager.

    `url` is its root; `key` is what callers must present (empty: anything goes).
    """

    url: str
    key: str
    process: subprocess.Popen[bytes]
    _scratch: tempfile.TemporaryDirectory[str] = field(repr=False)

    @classmethod
    def start(
        cls,
        policies: Mapping[str, Policy | Path],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        key: str = "",
    ) -> Self:
        """Serve `policies` (model name -> policy or its file) on `host`; port 0 takes a free one.

        Raises UsageError for a bad file, InfrastructureError when it does not come up.
        """
        from benchflow.scripted_model.policy_file import load

        scratch = tempfile.TemporaryDirectory(prefix="benchflow-scripted-")
        loaded = {n: load(p) if isinstance(p, Path) else p for n, p in policies.items()}
        plain = {name: _dump(policy) for name, policy in loaded.items()}
        file = Path(scratch.name) / "policies.json"
        file.write_text(json.dumps({"key": key, "policies": plain}))
        command = [sys.executable, "-m", "benchflow.scripted_model", str(file)]
        process = subprocess.Popen(
            [*command, "--host", host, "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.wait()
            scratch.cleanup()
            raise InfrastructureError(
                f"the scripted model did not start (exit status {process.returncode})",
                hint=f"is port {port} taken?" if port else "its message is above",
            )
        return cls(json.loads(line)["url"], key, process, scratch)

    @property
    def base_urls(self) -> dict[str, str]:
        """The base URL for each kind of client: "openai", "anthropic", "gemini"."""
        return base_urls(self.url)

    def totals(self) -> dict[str, Truth]:
        """What was served so far, by caller (the trial behind a gateway, else the key)."""
        with urllib.request.urlopen(f"{self.url}/scripted/totals", timeout=30) as answer:
            callers: dict[str, dict[str, Any]] = json.load(answer)["callers"]
        return {
            name: Truth(**(counts | {"usage": Usage.from_dict(counts["usage"])}))
            for name, counts in callers.items()
        }

    def stop(self) -> None:
        """End the process and remove its scratch files."""
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._scratch.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _dump(policy: Policy) -> dict[str, Any]:
    """A policy with its oracle's turns already made, as plain values."""
    return policy.model_dump(mode="json", by_alias=True, exclude={"oracle"})
