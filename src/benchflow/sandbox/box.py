"""What every kind of sandbox of ours can do: the namespace sandbox, and the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from benchflow.sandbox.execution import OnOutput
from benchflow.sandbox.idmap import IdMap
from benchflow.sandbox.model import ExecResult, Image, Usage


class Box(Protocol):
    """A running sandbox. `benchflow.sandbox.Sandbox` says what each call promises."""

    name: str
    image: Image
    id_map: IdMap

    @property
    def alive(self) -> bool: ...

    @property
    def init_pid(self) -> int: ...

    @property
    def device_nodes(self) -> str: ...

    def exec(
        self,
        command: str | Sequence[str],
        *,
        user: str | int | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        stdin: bytes = b"",
        on_output: OnOutput | None = None,
        cancel: int | None = None,
    ) -> ExecResult: ...

    def put(self, host_path: Path | str, inside_path: str) -> None: ...

    def get(
        self, inside_path: str, host_path: Path | str, most: int | None = None
    ) -> list[str]: ...

    def limits_report(self) -> dict[str, str]: ...

    def usage(self) -> Usage: ...

    def died_of_memory(self) -> bool: ...

    def kill(self) -> None: ...

    def stop(self, delete: bool = True) -> None: ...
