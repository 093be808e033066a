"""`NamespaceEnvironment`: the namespace sandbox as an environment of Harbor's.

    harbor run --environment-import-path benchflow.sandbox.environment:NamespaceEnvironment …

The core's calls block, so each runs in a thread of its own. In a task with a separate verifier
the agent's sandbox is not shown the host's `verifier/` directory: what it writes under
/logs/verifier stays in the sandbox, and the reward can come from the verifier's sandbox alone.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import errno
import os
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, override

from harbor.environments.base import BaseEnvironment, ExecResult, OutputStream
from harbor.environments.capabilities import (
    EnvironmentCapabilities,
    EnvironmentResourceCapabilities,
)
from harbor.environments.definition import (
    DOCKERFILE_NAME,
    require_agent_environment_definition,
    should_use_prebuilt_docker_image,
)
from harbor.models.task.config import TaskConfig
from harbor.models.task.verifier_mode import (
    task_has_any_separate_verifier,
    task_has_any_shared_verifier,
)
from harbor.models.trial.config import ResourceMode
from harbor.models.trial.paths import EnvironmentPaths

from benchflow.errors import InfrastructureError, TaskError
from benchflow.sandbox import cleanup, limits, trial_files
from benchflow.sandbox.box import Box
from benchflow.sandbox.image import compose, images
from benchflow.sandbox.model import ExecResult as ByteResult
from benchflow.sandbox.model import Image, Limits, Mount
from benchflow.sandbox.namespace import Sandbox
from benchflow.sandbox.threads import all_of, in_thread

_PIDS = 4096
_VERIFIER_DIR = EnvironmentPaths().verifier_dir.as_posix()
_SHELL = "/bin/sh"  # all that Harbor and agents do in an environment is a command
_AGENT_DIR = EnvironmentPaths().agent_dir.as_posix()


class CommandTimeout(RuntimeError):
    """A command ran into its `timeout_sec`; everything that it had started was killed."""

    def __init__(self, seconds: float, stdout: str, stderr: str) -> None:
        super().__init__(f"Command timed out after {seconds} seconds")
        self.stdout = stdout
        self.stderr = stderr


class NamespaceEnvironment(BaseEnvironment):
    """See the module. Constructor arguments are Harbor's; `pids` caps the number of processes;
    `share_logs`: the agent's log folder is the host's, for an agent that talks to the host by it.
    """

    def __init__(self, *args: Any, pids: int = _PIDS, share_logs: str = "", **kwargs: Any) -> None:
        self._shares_logs = bool(share_logs)
        self._box: Box | None = None
        self._pids = pids
        self._abandoned = False
        self._lock = threading.Lock()
        self._report: dict[str, Any] = {}
        self._config: TaskConfig | None = None
        self._service: compose.Service | None = None
        super().__init__(*args, **kwargs)

    @staticmethod
    @override
    def type() -> str:
        return "namespace"

    @classmethod
    @override
    def preflight(cls) -> None:
        """Remove what runs that were killed have left behind."""
        cleanup.gc()

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        """Nothing of the host's is mounted writable for an agent, unless `share_logs`.

        Harbor, which may be root, writes files of its own (a trajectory) among the agent's logs
        while the agent's programs may still run. In a shared folder a symlink put there in time
        would lead that write to any file of the host, so logs are fetched instead.
        """
        separate, shared = self._modes()
        # One task that verifies some steps in the agent's sandbox and others apart: only files
        # that Harbor fetches are safe then.
        mixed = separate and shared
        fetched = self._is_agents() and (mixed or not self._shares_logs)
        return EnvironmentCapabilities(disable_internet=True, mounted=not fetched)

    @classmethod
    @override
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        enforced = enforced_here()
        return EnvironmentResourceCapabilities(
            cpu_limit="cpus" in enforced, memory_limit="memory" in enforced
        )

    def _is_agents(self) -> bool:
        return any(mount["target"] == _AGENT_DIR for mount in getattr(self, "_mounts", ()))

    def _modes(self) -> tuple[bool, bool]:
        """Whether the task has separate verifiers, and whether it has shared ones."""
        config = self._task_config()
        if config is None:
            return False, True
        return task_has_any_separate_verifier(config), task_has_any_shared_verifier(config)

    def _task_config(self) -> TaskConfig | None:
        """The task's own, in its agent's environment; else None."""
        if self._config is None:
            task = getattr(self, "environment_dir", Path("/nonexistent")).parent / "task.toml"
            if self._is_agents() and task.is_file():
                self._config = TaskConfig.model_validate_toml(task.read_text())
        return self._config

    @override
    def _validate_definition(self) -> None:
        file = self.environment_dir / compose.NAME
        if file.is_file():
            self._service = compose.read(file)
            self._persistent_env = {**self._service.env, **self._persistent_env}
            return
        require_agent_environment_definition(
            self.environment_dir, docker_image=self.task_env_config.docker_image
        )

    @override
    async def start(self, force_build: bool) -> None:
        begun = time.monotonic()
        try:
            image = await in_thread(lambda: self._image(force_build))
            built = time.monotonic()
            await in_thread(lambda: self._start(image))
        except asyncio.CancelledError:
            # The thread cannot be stopped; what it starts must not outlive this call.
            with self._lock:
                self._abandoned = True
                box, self._box = self._box, None
            if box is not None:
                await asyncio.shield(in_thread(box.stop))
            raise
        self._report["seconds"] = {
            "image": round(built - begun, 3),
            "start": round(time.monotonic() - built, 3),
        }
        self._write_report()
        await self._make_log_dirs()
        await self._upload_environment_dir_after_start()

    def _image(self, force_build: bool) -> Image:
        name = self.task_env_config.docker_image
        if self._service is not None:
            if not self._service.image:
                return images.build(self._service.context, self._service.dockerfile)
            name = self._service.image
        elif not should_use_prebuilt_docker_image(
            self.environment_dir, docker_image=name, force_build=force_build
        ):
            return images.build(self.environment_dir, DOCKERFILE_NAME)
        with tempfile.TemporaryDirectory(prefix="benchflow-") as context:
            (Path(context) / DOCKERFILE_NAME).write_text(f"FROM {name}\n")
            return images.build(Path(context), DOCKERFILE_NAME)

    def _start(self, image: Image) -> None:
        granted = Limits(
            memory_mb=self._resource_limit_value("memory", auto_mode=ResourceMode.LIMIT),
            cpus=self._resource_limit_value("cpu", auto_mode=ResourceMode.LIMIT),
            disk_mb=self._effective_storage_mb,
            pids=self._pids,
        )
        mounts = self._core_mounts()
        box = self._open(
            image,
            network="none" if self._network_disabled else "user",
            mounts=mounts,
            limits=granted,
            env=self._startup_env(),
            workdir=self._workdir(),
            hostname=self.environment_name.replace("/", "-")[:63] or "sandbox",
        )
        with self._lock:
            if not self._abandoned:
                self._box = box
        if self._box is None:
            box.stop()
            return
        if box.exec([_SHELL, "-c", ":"]).status == 127:
            raise TaskError(
                f"the image has no {_SHELL}: no command can be run in it",
                hint="start the Dockerfile from an image with a shell",
            )
        self._report = trial_files.report(box, granted, self.network_policy.network_mode.value)

    def _workdir(self) -> str | None:
        own = self._service.workdir if self._service is not None else None
        return self.task_env_config.workdir or own or None

    def _open(self, image: Image, **how: Any) -> Box:
        """`Sandbox.start`, for those who extend this class."""
        return Sandbox.start(image, **how)

    def _core_mounts(self) -> list[Mount]:
        separate, _shared = self._modes()
        mounts = []
        for mount in self._mounts:
            if mount["type"] != "bind":
                raise TaskError(
                    f"mount of {mount['target']}: type {mount['type']!r} needs a container engine",
                    hint='use type "bind", or --sandbox docker',
                )
            if not self.capabilities.mounted or (
                separate and mount["target"] == _VERIFIER_DIR and self._is_agents()
            ):
                continue
            mounts.append(
                Mount(Path(mount["source"]), mount["target"], bool(mount.get("read_only")))
            )
        return mounts

    async def _make_log_dirs(self) -> None:
        targets = self._mount_targets(writable_only=True)
        await self.ensure_dirs(targets)

    def limits_report(self) -> dict[str, str]:
        """For each limit that the task asked for: `enforced: how` or `not enforced: why`."""
        return self._running().limits_report()

    def _running(self) -> Box:
        if self._box is None:
            raise InfrastructureError(f"sandbox {self.session_id} is not running")
        return self._box

    @override
    async def stop(self, delete: bool) -> None:
        with self._lock:
            box, self._box = self._box, None
        if box is not None:
            await asyncio.shield(in_thread(lambda: self._stop(box, delete)))

    def _stop(self, box: Box, delete: bool) -> None:
        lent = self._lent()
        box.kill()
        self._report["used"] = trial_files.used(box)
        box.stop(delete)
        self._disarm(lent)
        self._write_report()

    def _disarm(self, lent: list[Path]) -> None:
        removed = trial_files.disarm(lent)
        if removed:
            self._report.setdefault("removed_from_logs", []).extend(removed)

    def _lent(self) -> list[Path]:
        return [mount.host for mount in self._core_mounts() if not mount.read_only]

    def _write_report(self) -> None:
        role = self.session_id.removeprefix(f"{self.trial_paths.trial_dir.name}__")
        trial_files.write_report(self.trial_paths.trial_dir / "sandbox.json", role, self._report)

    @override
    async def prepare_logs_for_host(self) -> None:
        """Make the mounted directories safe and readable for the caller, while it all runs."""
        box = self._running()
        if not box.id_map.privileged and box.alive:
            targets = [mount.inside for mount in self._core_mounts() if not mount.read_only]
            await in_thread(lambda: box.exec(["chmod", "-R", "a+rwX", *targets], user="root"))
        await in_thread(lambda: self._disarm(self._lent()))

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run through `bash -c`. Raises CommandTimeout; a cancelled call kills what it started."""
        result = await self.exec_bytes(command, cwd, env, timeout_sec, user)
        if result.timed_out:
            raise CommandTimeout(timeout_sec or 0, result.text, result.error_text)
        return ExecResult(stdout=result.text, stderr=result.error_text, return_code=result.status)

    async def exec_bytes(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: float | None = None,
        user: str | int | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> ByteResult:
        """`exec` with output as it was printed; one that ran into its timeout says so.

        `on_output(stream, data)` sees all of it, in another thread.
        """
        box = self._running()
        merged, who = self._merge_env(env), self._resolve_user(user)
        where = cwd or self._workdir()
        cancel_read, cancel_write = os.pipe()
        heard = all_of(self._streamer(), on_output)
        try:
            work = asyncio.ensure_future(
                in_thread(
                    lambda: box.exec(
                        command,
                        user=who,
                        cwd=where,
                        env=merged,
                        timeout=timeout_sec or None,
                        on_output=heard,
                        cancel=cancel_read,
                    )
                )
            )
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                os.write(cancel_write, b"c")
                while not work.done():
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.wait([work])
                work.exception()
                raise
        finally:
            os.close(cancel_read)
            os.close(cancel_write)

    def _streamer(self) -> Callable[[str, bytes], None] | None:
        """Carries output from the exec's thread to the event loop's callbacks, in order."""
        emit = self._output_callback()
        if emit is None:
            return None
        loop = asyncio.get_running_loop()
        decoders = {
            name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")
        }

        def forward(stream: str, data: bytes) -> None:
            text = decoders[stream].decode(data)
            name: OutputStream = "stderr" if stream == "stderr" else "stdout"
            if text:
                asyncio.run_coroutine_threadsafe(_call(emit, text, name), loop).result()

        return forward

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        source = trial_files.trusted(Path(source_path), self.trial_paths.trial_dir)
        box = self._running()
        if target_path.endswith("/"):
            target_path += source.name

        def put() -> None:
            try:
                box.put(source, target_path)
            except OSError as error:
                if error.errno != errno.EISDIR:
                    raise
                box.put(source, f"{target_path}/{source.name}")

        await in_thread(put)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        source = trial_files.trusted(Path(source_dir), self.trial_paths.trial_dir)
        box = self._running()
        await in_thread(lambda: box.put(source, str(target_dir)))

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await self._download(source_path, Path(target_path))

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await self._download(source_dir, Path(target_dir))
        if source_dir.rstrip("/") in (_AGENT_DIR, _VERIFIER_DIR):
            # The harness writes among its logs; a deliverable keeps its symlinks.
            await in_thread(lambda: trial_files.disarm([Path(target_dir)]))

    async def _download(self, source: str, target: Path) -> None:
        box = self._running()
        for mount in self._core_mounts():
            if target.absolute().is_relative_to(mount.host.absolute()):
                # Harbor's own mounts mirror a path inside at the place that it is fetched to.
                beyond = target.absolute().relative_to(mount.host.absolute())
                if mount.inside.rstrip("/") + f"/{beyond}" != source.rstrip("/"):
                    raise InfrastructureError(f"{target} belongs to the sandbox while it runs")
                return
        trial_files.trusted(target.parent, self.trial_paths.trial_dir)
        left_out = await in_thread(lambda: box.get(source, target))
        refused = source.rstrip("/") in left_out
        if refused:
            said = [(source.rstrip("/"), "a link or special file; only files and folders cross")]
        else:
            said = [(path, "a device, fifo or socket") for path in left_out]
            said += await in_thread(lambda: trial_files.leading_out(target, source))
        if said:
            self._note_left_out(source, said)
        if refused:
            raise FileNotFoundError(errno.ENOENT, "neither a file nor a directory", source)

    def _note_left_out(self, source: str, left_out: list[tuple[str, str]]) -> None:
        """Say what of `source` did not cross, each path with the reason."""
        named = ", ".join(f"{path} ({why})" for path, why in left_out[:10])
        self.logger.warning("left out of %s: %s", source, named)


async def _call(emit: Callable[[str, OutputStream], Any], text: str, stream: OutputStream) -> None:
    await emit(text, stream)


@cache
def enforced_here() -> frozenset[str]:
    """Which limits this machine enforces: found out by making a group and removing it."""
    wanted = Limits(memory_mb=64, pids=16, cpus=1)
    groups = limits.create_groups(f"probe-{os.getpid()}", wanted)
    groups.remove()
    return frozenset(kind for kind, how in groups.report.items() if how.startswith("enforced"))
