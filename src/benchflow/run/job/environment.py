"""The namespace sandbox as `benchflow run` uses it: a hand-over that we spoil is not the agent's.

Harbor collects artifacts as best it can: what could not be fetched is only logged, and the verifier
then finds nothing and judges so. That is right where the agent delivered nothing, and wrong where
our disk was full. The second kind is written down beside the trial, and makes its verdict an error
(`benchflow.results.jobs.verdict`). A sandbox that does not give up its files may be the agent's
doing as well as ours, so where nobody needs it any more it is ended, and what is on its disk is
handed over: what its agent left running, mounted or filled can neither spoil that nor excuse
anything.

The agent's own sandbox also shows the layer that its agent runs from (`benchflow.run.job.layers`),
and has a door to the job's model gateway (`benchflow.run.models.job_gateway`). An agent that hangs
is ended there (`benchflow.run.job.stall`). It may be one that was kept when its trial was cut
off (`benchflow.run.resume.session_resume`).
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, override

from harbor.agents.installed.base import NonZeroAgentExitCodeError

from benchflow.errors import InfrastructureError, TaskError, UsageError
from benchflow.gateway import client as process
from benchflow.results.jobs import left_out as handed
from benchflow.results.jobs.faults import add_fault
from benchflow.run.checkpoints.taking import Taker
from benchflow.run.job import layers, stall
from benchflow.run.models import gateway_access
from benchflow.run.resume import proc_activity, session_resume
from benchflow.sandbox import ExecResult, Image, Mount, trial_files
from benchflow.sandbox.box import Box
from benchflow.sandbox.environment import CommandTimeout, NamespaceEnvironment
from benchflow.sandbox.transfer import Unreadable

#: How the sandbox refuses to run something as somebody whom its /etc/passwd does not know.
_NOT_RUN, _NO_USER = 126, "no user"
#: The agent's: it delivered nothing, or something else.
_AGENTS = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class AgentFilledMemory(NonZeroAgentExitCodeError):
    """The agent's sandbox died of what the agent had put into its memory. Its failure: what it left
    on the disk is verified."""


class TrialEnvironment(NamespaceEnvironment):
    """See the module. Constructor arguments are those of `NamespaceEnvironment`, and
    `stall_minutes`: an agent without progress for so long is ended (0: never).
    `checkpoint_minutes`: how often the deliverable is copied while its agent works (0: never)."""

    def __init__(
        self,
        *args: Any,
        stall_minutes: float = 0,
        checkpoint_minutes: float = 0,
        **kwargs: Any,
    ) -> None:
        self._has_started = False
        self._checkpoint_seconds = float(checkpoint_minutes) * 60
        self._taker: Taker | None = None
        self._is_set_up = False
        self._stall_seconds = float(stall_minutes) * 60
        self._commands = 0
        self._printed = 0
        self._is_watched = False
        self._is_metered = False
        self._is_at_work = False
        self._handed_over = 0  # bytes on the disk
        #: What was kept of this trial when it was cut off, and is gone on with.
        self.continued: session_resume.Kept | None = None
        super().__init__(*args, **kwargs)

    @override
    async def start(self, force_build: bool) -> None:
        await super().start(force_build)
        if self._is_agents():
            await asyncio.to_thread(self._find_users)
            await asyncio.to_thread(self._open_door)
        self._has_started = True

    @override
    def _open(self, image: Image, **how: Any) -> Box:
        if not self._is_agents():
            return super()._open(image, **how)
        trial = self.trial_paths.trial_dir
        how["name"] = session_resume.sandbox_name(trial)
        how["keep_while"] = (session_resume.marker(trial), trial.parent)
        kept = session_resume.find(trial)
        if kept is not None:
            try:
                box = super()._open(image, again=True, **how)
            except UsageError:
                session_resume.drop(trial)
            else:
                self.continued = kept
                session_resume.bring_back_checkpoints(trial)
                session_resume.say(trial, kept)
                return box
        return super()._open(image, **how)

    @override
    async def _upload_environment_dir_after_start(self) -> None:
        if self.continued is None:
            await super()._upload_environment_dir_after_start()

    @override
    async def stop(self, delete: bool) -> None:
        is_kept = self._is_agents() and session_resume.find(self.trial_paths.trial_dir) is not None
        await super().stop(delete and not is_kept)
        if self._taker is not None:
            await self._taker.finish()

    def _find_users(self) -> None:
        """Raise TaskError where the image has no user of an agent's: no fault of the agent."""
        config = self._task_config()
        if config is None:
            return
        asked = {"agent.user": config.agent.user}
        asked |= {f"steps.{n}.agent.user": s.agent.user for n, s in enumerate(config.steps or [])}
        for key, user in asked.items():
            if user is None:
                continue
            tried = self._running().exec(["true"], user=user)
            if tried.status == _NOT_RUN and _NO_USER in tried.error_text:
                raise TaskError(
                    f"task.toml: {key}: the image has no user {user!r}",
                    hint=f"write RUN useradd -m {user} into the Dockerfile",
                )

    def _open_door(self) -> bool:
        """Let the sandbox reach the job's model gateway at its own loopback; False where none of
        its agent's is behind one."""
        trial = self.trial_paths.trial_dir
        client = process.find(gateway_access.folder(trial.parent))
        return client is not None and bool(client.door_for(trial.name, self._running().init_pid))

    @override
    @contextmanager
    def scoped_exec_env(self, env: dict[str, str]) -> Generator[None]:
        """Harbor wraps an agent's set-up in this, then its run, and nothing else."""
        with ExitStack() as stack:
            stack.enter_context(super().scoped_exec_env(env))
            if self._is_set_up and self._checkpoint_seconds and self._taker is None:
                self._taker = self._new_taker()
                before = self.continued.spent if self.continued is not None else 0.0
                stack.enter_context(self._taker.taking(before))
            stack.callback(setattr, self, "_is_set_up", True)
            stack.callback(setattr, self, "_is_at_work", self._is_at_work)
            self._is_at_work = True
            if self._stall_seconds and not self._is_watched:
                self._is_watched = True
                stack.callback(setattr, self, "_is_watched", False)
                stack.enter_context(stall.ended_when_still(self._stall_seconds, self._signs))
            yield

    @override
    async def exec_bytes(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: float | None = None,
        user: str | int | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> ExecResult:
        self._commands += 1
        try:
            return await super().exec_bytes(command, cwd, env, timeout_sec, user, on_output)
        except InfrastructureError as error:
            fault = await asyncio.to_thread(self._agents_fault, error) if self._is_at_work else None
            if fault is not None:
                raise fault from error
            if self._is_agents():
                session_resume.note_death(self.trial_paths.trial_dir)
            raise
        finally:
            self._commands += 1

    def _agents_fault(self, error: InfrastructureError) -> Exception | None:
        """What to raise in place of `error` where the agent at work has brought it about."""
        return AgentFilledMemory(error.message) if self._running().died_of_memory() else None

    def _new_taker(self) -> Taker:
        config = self._task_config()
        artifacts = config.artifacts if config is not None else []
        return Taker(
            self.trial_paths.trial_dir,
            [each if isinstance(each, str) else each.source for each in artifacts],
            self._checkpoint_seconds,
            self._running(),
            self.logger,
        )

    def wait_for_driver(self) -> None:
        """The agent is somebody outside, who may think as long as the trial lasts: one that stands
        still is not ended from now on."""
        self._stall_seconds = 0

    async def fetch_for_driver(self, inside: str, host: Path) -> None:
        """A copy of a file or folder while the agent is at work. What goes wrong is no fault of the
        hand-over. Raises FileNotFoundError for what is neither, too."""
        box = self._running()
        left_out = await asyncio.to_thread(box.get, inside, host)
        if inside.rstrip("/") in left_out:
            raise FileNotFoundError(errno.ENOENT, "neither a file nor a directory", inside)

    @override
    def _streamer(self) -> Callable[[str, bytes], None] | None:
        forward = super()._streamer()

        def count(stream: str, data: bytes) -> None:
            self._printed += len(data)
            if forward is not None:
                forward(stream, data)

        return count

    def _signs(self) -> stall.Signs:
        """What the agent shows of its work at this moment. Never raises."""
        trial = self.trial_paths.trial_dir
        calls, in_call, lost = self._calls(trial)
        logs = [proc_activity.log_state(trial, "agent")]
        try:
            init = self._running().init_pid
        except InfrastructureError:
            return stall.Signs(lost="its sandbox is gone")
        logs.append(proc_activity.log_state(f"/proc/{init}/root", "logs", "agent"))
        return stall.Signs(
            events=(self._commands, self._printed, calls, *logs),
            cpu=proc_activity.cpu_seconds(init),
            received=proc_activity.received_bytes(init),
            in_call=in_call,
            lost=lost,
        )

    def _calls(self, trial: Path) -> tuple[float, bool, str]:
        """When the gateway last saw something of the trial move, whether a call is under way, and
        what is wrong with the gateway."""
        client = process.find(gateway_access.folder(trial.parent))
        try:
            found = None if client is None else client.trial(trial.name)
        except UsageError:
            return 0.0, False, ""  # its agent uses no model
        except InfrastructureError as error:
            return 0.0, False, error.message if self._is_metered else ""
        if found is None:
            return 0.0, False, "the model gateway is gone" if self._is_metered else ""
        self._is_metered = True
        return float(found["moved"]), bool(found["under_way"]), ""

    @override
    def _core_mounts(self) -> list[Mount]:
        own = layers.mounts(self.trial_paths.config_path) if self._is_agents() else []
        return super()._core_mounts() + own

    @override
    async def prepare_logs_for_host(self) -> None:
        """Harbor asks for this after a start that failed, too: then there are no logs."""
        if self._has_started:
            await super().prepare_logs_for_host()

    @override
    async def is_dir(self, path: str, user: str | int | None = None) -> bool:
        """No where nobody can be asked: a file is fetched as what it is, be it a directory."""
        if self._is_at_work:
            return await super().is_dir(path, user)
        try:
            return self._running().alive and await super().is_dir(path, user)
        except (InfrastructureError, CommandTimeout):
            return False

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        with self._affordable(Path(source_path)) as source:
            await super().upload_file(source, target_path)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        with self._affordable(Path(source_dir)) as source:
            await super().upload_dir(source, target_dir)

    @contextmanager
    def _affordable(self, source: Path) -> Generator[Path]:
        """`source`, hollow when it would fill the verifier's disk (see `trial_files.within`)."""
        disk_mb = self._effective_storage_mb
        if self._is_agents() or not disk_mb:
            yield source
            return
        room = int(trial_files.FOR_DELIVERABLES * disk_mb * (1 << 20)) - self._handed_over
        with trial_files.within(source, room) as whole:
            if whole != source:
                self.logger.warning("%s takes more than the verifier's disk has room for", source)
            self._handed_over += trial_files.stored(whole)[0]
            yield whole

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        download = super().download_file
        await self._fetch(lambda: download(source_path, target_path), source_path)

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        download = super().download_dir
        await self._fetch(lambda: download(source_dir, target_dir), source_dir)

    async def _fetch(self, download: Callable[[], Awaitable[None]], source: str) -> None:
        try:
            await download()
        except Unreadable as error:
            self._note_left_out(source, [(source, str(error.strerror))])
            raise
        except _AGENTS:
            raise
        except (OSError, InfrastructureError) as error:
            if not self._has_started:
                raise  # Harbor knows already why there is nothing to fetch
            fault: Exception = error
            if self._can_be_ended():
                try:
                    await asyncio.to_thread(self._running().kill)
                    await download()
                    return
                except _AGENTS:
                    raise
                except (OSError, InfrastructureError) as again:
                    fault = again
            trial = self.trial_paths.trial_dir
            await asyncio.to_thread(add_fault, trial, f"hand-over of {source}", fault)
            raise fault from None

    @override
    def _note_left_out(self, source: str, left_out: list[tuple[str, str]]) -> None:
        super()._note_left_out(source, left_out)
        if self._is_agents() and not source.startswith("/logs/agent"):
            handed.add(self.trial_paths.trial_dir, left_out)

    def _can_be_ended(self) -> bool:
        """Whether nobody needs the sandbox alive: its agent is done and judged elsewhere."""
        config, box = self._task_config(), self._box
        if config is None or box is None or self._is_at_work or self._modes() != (True, False):
            return False
        return not box.alive or not (config.steps or config.verifier.collect)
