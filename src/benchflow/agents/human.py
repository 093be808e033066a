"""A person as an agent: a shell in the sandbox, the clock in its prompt, `submit` to hand in.

What the person did is a trial like any other. The session as it was on the screen is kept in
`agent/session.txt`, with `agent/session.timing` for scriptreplay(1).
"""

from __future__ import annotations

import os
import shutil
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import Any, override

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.trial.result import AgentInfo

from benchflow import __version__
from benchflow.errors import InfrastructureError, MissingTool, UsageError

_RC = r"""[ -r ~/.bashrc ] && . ~/.bashrc
stty rows @ROWS@ cols @COLUMNS@ 2>/dev/null
export TERM=@TERM@
clock() {
  local s=$(( $(date +%s) - $(cat @FOLDER@/started) ))
  printf '%d:%02d:%02d\n' $((s / 3600)) $((s / 60 % 60)) $((s % 60))
}
instruction() { ${PAGER:-cat} @FOLDER@/instruction.md; }
submit() {
  printf 'Hand in your work after %s? It is verified as it is now. [y/N] ' "$(clock)"
  local answer && read -r -e answer
  case $answer in y* | Y*) touch @FOLDER@/submitted && exit 0 ;; *) echo 'Not handed in.' ;; esac
}
PS1='[$(clock)] \u@\h:\w\$ '
unset PROMPT_COMMAND
"""
#: One terminal for all shells of a session, so that what was typed ahead is not lost.
_SESSION = r"""until [ -e @FOLDER@/submitted ]; do
  (cd "$HERE" && exec bash --rcfile @FOLDER@/rc -i)
done
"""
_WELCOME = """
{line}
{instruction}
{line}
The clock runs{limit}. `instruction` shows the text above again, `clock` the time, and `submit`
hands in what you have. Leaving the shell keeps your work and opens a new one.
{line}
"""


class HumanAgent(BaseAgent):
    """Lends standard input and output of this process to a shell in the sandbox.

    `limit_sec`: what the clock runs against, 0 for no limit (Harbor enforces it, not this class).
    """

    def __init__(self, logs_dir: Path, limit_sec: float = 0, **kwargs: Any) -> None:
        super().__init__(logs_dir=logs_dir, **kwargs)
        self._limit = limit_sec

    @staticmethod
    @override
    def name() -> str:
        return "human"

    @override
    def version(self) -> str:
        return __version__

    @override
    def to_agent_info(self) -> AgentInfo:
        return AgentInfo(name=self.name(), version=self.version())

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """Needs a sandbox whose log folders are shared with the host, and script(1) inside.

        Raises UsageError and MissingTool.
        """
        if not environment.capabilities.mounted:
            raise UsageError("this sandbox shares no folder", hint="play with --sandbox namespace")
        found = await environment.exec("command -v script && command -v bash")
        if found.return_code:
            raise MissingTool(
                "the environment's image has no script(1) or no bash",
                hint="add bsdutils (util-linux) and bash to its Dockerfile",
            )

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        folder = PurePosixPath(self.environment_logs_dir)
        size = shutil.get_terminal_size()
        rc = _RC.replace("@FOLDER@", quote(str(folder))).replace("@ROWS@", str(size.lines))
        rc = rc.replace("@COLUMNS@", str(size.columns))
        rc = rc.replace("@TERM@", quote(os.environ.get("TERM", "dumb")))
        await self._write(environment, folder / "instruction.md", instruction)
        await self._write(environment, folder / "rc", rc)
        session = _SESSION.replace("@FOLDER@", quote(str(folder)))
        await self._write(environment, folder / "session", session)
        made = await environment.exec(
            f"cd {folder} && rm -f in out && mkfifo -m 666 in out && date +%s >started"
        )
        if made.return_code:
            raise InfrastructureError(f"the shell could not be prepared: {made.stderr}")
        limit = f", and ends after {self._limit / 60:.0f} minutes" if self._limit else ""
        line = "─" * min(size.columns, 100)
        print(_WELCOME.format(line=line, instruction=instruction.strip(), limit=limit), flush=True)
        with _Lent(self.logs_dir / "in", self.logs_dir / "out", f"touch {folder}/submitted; exit"):
            await environment.exec(
                f"export HERE=$PWD; cd {folder} && "
                "exec script -qf -T session.timing -c 'bash session' session.txt <in >out 2>&1"
            )
        await environment.exec(f"cd {folder} && rm -f in out rc session started")

    async def _write(self, environment: BaseEnvironment, path: PurePosixPath, text: str) -> None:
        scratch = self.logs_dir.parent / f".{path.name}"
        scratch.write_text(text)
        try:
            await environment.upload_file(scratch, str(path))
        finally:
            scratch.unlink()


class _Lent:
    """Carries bytes between this process's terminal and two named pipes, while it is entered.

    At the end of the input (a file, a pipe, a terminal that went away), `last` is typed.
    """

    def __init__(self, to_shell: Path, from_shell: Path, last: str) -> None:
        self._last = f"\x15{last}\n".encode()
        # Opened for both ways, so that neither end waits for the other nor ends with it.
        self._in = os.open(to_shell, os.O_RDWR)
        self._out = os.open(from_shell, os.O_RDWR)
        self._wake = os.pipe()
        self._threads = [
            threading.Thread(target=self._carry, args=(sys.stdin.fileno(), self._in), daemon=True),
            threading.Thread(
                target=self._carry, args=(self._out, sys.stdout.fileno()), daemon=True
            ),
        ]

    def __enter__(self) -> None:
        self._raw = _raw_terminal()
        self._raw.__enter__()
        for thread in self._threads:
            thread.start()

    def __exit__(self, *exception: object) -> None:
        os.write(self._wake[1], b"..")
        for thread in self._threads:
            thread.join(timeout=2)
        self._raw.__exit__(None, None, None)
        for descriptor in (self._in, self._out, *self._wake):
            os.close(descriptor)
        print(flush=True)

    def _carry(self, source: int, target: int) -> None:
        import select

        while True:
            ready, _, _ = select.select([source, self._wake[0]], [], [])
            if source in ready:
                data = os.read(source, 1 << 14)
                ended = not data
                data = data or self._last
                while data:
                    data = data[os.write(target, data) :]
                if ended:
                    return
            elif self._wake[0] in ready:
                return


@contextmanager
def _raw_terminal() -> Iterator[None]:
    """Keys go to the sandbox as they are, Ctrl-C too; does nothing without a terminal."""
    descriptor = sys.stdin.fileno()
    if not os.isatty(descriptor):
        yield
        return
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
