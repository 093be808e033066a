"""A leaky environment, on purpose: commands run on the host itself, as the caller.

It exists so that the suite's tests can show that a check fails where there is no sandbox at all.
Never run anything in it that you would not type yourself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from pathlib import Path
from typing import override

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities


class LeakyEnvironment(BaseEnvironment):
    """Everything that an environment must not be, behind Harbor's interface."""

    @staticmethod
    @override
    def type() -> str:
        return "leaky"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True, mounted=True)

    @override
    def _validate_definition(self) -> None:
        return

    @override
    async def start(self, force_build: bool) -> None:
        for mount in self._mounts:
            target = Path(mount["target"])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.symlink_to(mount["source"])

    @override
    async def stop(self, delete: bool) -> None:
        for mount in self._mounts:
            target = Path(mount["target"])
            target.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                target.parent.rmdir()

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            command,
            cwd=cwd,
            env={**os.environ, **(self._merge_env(env) or {})},
            user=self._resolve_user(user),
            close_fds=False,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        except TimeoutError as error:
            process.send_signal(signal.SIGKILL)
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds") from error
        return ExecResult(
            stdout=out.decode(errors="replace"),
            stderr=err.decode(errors="replace"),
            return_code=process.returncode or 0,
        )

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        shutil.copyfile(source_path, target_path)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, target_dir, dirs_exist_ok=True)

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(source_path, target_path)

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(source_dir, target_dir, dirs_exist_ok=True, symlinks=False)
