"""The calls to a waiting trial as tools of an MCP server, for any MCP client."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from benchflow import __version__
from benchflow.agents.external import client
from benchflow.agents.external.shown import shown, text_of
from benchflow.errors import BenchflowError

#: Bytes of a stream, or of a file, that a model is shown unless it asks for more.
_SHOWN = 30_000
_MOST = 1 << 20
#: Seconds after which a command is ended unless the model says otherwise.
RUN_SECONDS = 600
_ABOUT = """You work on a task in a Linux sandbox. Read `instruction` first; it says what to deliver
and where. Work with `run`, `write_file` and `read_file`; `time_left` says how long you have. Call
`submit` once the work is done: it is then verified as it is, and nothing can be changed any more.
A command that takes longer than its timeout is ended with all that it has started: start long work
in the background, its output in a file."""

Most = Annotated[int, Field(ge=0, le=_MOST)]
Seconds = Annotated[float, Field(ge=0)]


def server(find: Callable[[], Awaitable[Path]], folder: Path | None) -> MCPServer:
    """The server. `find` gives the folder of the trial to work on, and is asked until it has one:
    from then on it is that trial. `folder`: where files of the host's may be put from and got to;
    None for nowhere."""
    made = MCPServer("benchflow", instructions=_ABOUT, version=__version__, log_level="WARNING")
    trial = _Trial(find)
    _add_work(made, trial)
    if folder is not None:
        _add_files(made, trial, folder)
    return made


class _Trial:
    def __init__(self, find: Callable[[], Awaitable[Path]]) -> None:
        self._find = find
        self._folder: Path | None = None

    async def call(self, op: str, **arguments: Any) -> dict[str, Any]:
        """Raises ToolError."""
        try:
            if self._folder is None:
                self._folder = await self._find()
            return await client.call(self._folder, op, **arguments)
        except BenchflowError as error:
            raise ToolError(f"{error.message}. {error.hint}".rstrip(". ")) from error


def _add_work(made: MCPServer, trial: _Trial) -> None:
    @made.tool()
    async def instruction() -> str:
        """The task's text: what to deliver, and where."""
        return str((await trial.call("instruction"))["instruction"])

    @made.tool()
    async def run(
        command: str, timeout: Seconds = RUN_SECONDS, cwd: str = "", max_output: Most = _SHOWN
    ) -> dict[str, Any]:
        """Run a shell command in the sandbox. `timeout` in seconds, 0 for none; `max_output` bytes
        are given of each stream, beginning and end."""
        answer = await trial.call("run", command=command, timeout=timeout, cwd=cwd, most=max_output)
        return shown(answer)

    @made.tool()
    async def read_file(path: str, offset: int = 0, max_bytes: Most = _SHOWN) -> dict[str, Any]:
        """Part of a file in the sandbox; `size` is that of the whole file."""
        answer = await trial.call("read", source=path, offset=offset, most=max_bytes)
        return {**text_of("content", base64.b64decode(answer["data"])), "size": answer["size"]}

    @made.tool()
    async def write_file(path: str, content: str, encoding: str = "utf-8") -> dict[str, Any]:
        """Write a file in the sandbox; `encoding` is utf-8, or base64 for any bytes."""
        try:
            data = base64.b64decode(content, validate=True) if encoding == "base64" else b""
        except ValueError as error:
            raise ToolError(f"the content is no base64: {error}") from error
        if encoding not in ("base64", "utf-8"):
            raise ToolError(f"no encoding {encoding!r}: use utf-8 or base64")
        data = data if encoding == "base64" else content.encode()
        return await trial.call("write", target=path, data=data)

    @made.tool()
    async def time_left() -> dict[str, Any]:
        """Seconds that were worked and that are left; null for no limit."""
        return await trial.call("time")

    @made.tool()
    async def submit() -> dict[str, Any]:
        """Hand the work in as it is. It is verified then; nothing can be changed any more."""
        return await trial.call("submit")


def _add_files(made: MCPServer, trial: _Trial, folder: Path) -> None:
    @made.tool()
    async def put(local: str, path: str) -> dict[str, Any]:
        """Copy a file or folder of the shared folder into the sandbox."""
        return await trial.call("put", source=str(within(folder, local)), target=path)

    @made.tool()
    async def get(path: str, local: str) -> dict[str, Any]:
        """Copy a file or folder of the sandbox into the shared folder."""
        return await trial.call("get", source=path, target=str(within(folder, local)))


def within(folder: Path, name: str) -> Path:
    """`name` below `folder`. Raises ToolError for what leads out of it, be it by a link."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ToolError(f"{name!r} is not in the shared folder {folder}")
    return path
