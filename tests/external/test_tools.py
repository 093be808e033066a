"""The same calls over MCP, with the SDK's own client; and a client that sends garbage."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.external.lent import BENCHFLOW, Lent, lend

if TYPE_CHECKING:
    from mcp import Client

__all__ = ["lend"]
Lend = Callable[..., Lent]


def client_in(top: Path, *options: str) -> Client:
    from mcp import Client, StdioServerParameters  # half of a second, in whoever collects this file

    command = ["drive", "mcp", *options]
    return Client(StdioServerParameters(command=BENCHFLOW, args=command, cwd=top))


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return " ".join(getattr(part, "text", "") for part in result.content)


def test_a_model_works_over_mcp(lend: Lend) -> None:
    lent = lend()
    (lent.top / "shared").mkdir()

    async def work() -> None:
        async with client_in(lent.top, "--folder", "shared") as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            work = {"instruction", "run", "read_file", "write_file", "time_left", "submit"}
            assert listed == work | {"put", "get"}
            assert "submit" in (client.instructions or "")
            told = await call(client, "instruction")
            assert told["result"].startswith("[R1] one")
            done = await call(client, "run", command="echo out; echo err >&2; exit 7")
            assert (done["status"], done["stdout"], done["stderr"]) == (7, "out\n", "err\n")
            done = await call(client, "run", command="sleep 1000", timeout=1)
            assert done["timed_out"] is True
            done = await call(client, "run", command="head -c 10M /dev/zero", max_output=100)
            assert done["left_out"]["stdout"] == (10 << 20) - 100
            await call(client, "run", command="mkdir -p /app/out")
            await call(client, "write_file", path="/app/out/words.txt", content="one two threé\n")
            read = await call(client, "read_file", path="/app/out/words.txt", offset=4, max_bytes=3)
            assert (read["content"], read["size"]) == ("two", 15)
            raw = base64.b64encode(b"\xff\x00").decode()
            await call(client, "write_file", path="/tmp/raw", content=raw, encoding="base64")
            read = await call(client, "read_file", path="/tmp/raw")
            assert (read["content"], read["content_encoding"]) == (raw, "base64")
            await call(client, "get", path="/app/out/words.txt", local="words")
            assert (lent.top / "shared" / "words").read_text() == "one two threé\n"
            (lent.top / "shared" / "words").write_text("one two three\n")
            await call(client, "put", local="words", path="/app/out/words.txt")
            assert "not in the shared folder" in await refused(
                client, "get", path="/etc/hosts", local="../escaped"
            )
            assert "no such file" in await refused(client, "read_file", path="/nope")
            assert "is no base64" in await refused(
                client, "write_file", path="/tmp/x", content="%", encoding="base64"
            )
            assert "command" in await refused(client, "run")
            assert (await call(client, "time_left"))["left"] > 0
            assert (await call(client, "submit"))["submitted"] is True
            end = time.monotonic() + 60
            while "does not wait for a driver any more" not in await refused(client, "time_left"):
                assert time.monotonic() < end, "its door never closed"

    asyncio.run(work())
    (trial,) = lent.ended().trials
    assert trial.verdict.value == "resolved"
    tools = [tool for tool, _, _ in lent.steps()]
    assert tools == [*["bash"] * 4, "write", "read", "write", "read", "get", "put", "submit"]
    assert not (lent.top / "escaped").exists()


def test_a_call_that_its_client_gives_up_ends_its_command(lend: Lend) -> None:
    lent = lend()

    async def give_up() -> None:
        async with client_in(lent.top) as client:
            running = asyncio.ensure_future(
                client.call_tool("run", {"command": "sleep 1000", "timeout": 0})
            )
            while b"under way" not in lent.drive("run", "true", status=None).stderr:
                await asyncio.sleep(0.1)
            running.cancel()
            await asyncio.wait([running])
            while (await client.call_tool("run", {"command": "true"})).is_error:
                await asyncio.sleep(0.1)

    asyncio.run(asyncio.wait_for(give_up(), 300))
    assert ("bash", {"command": "sleep 1000"}, "[ended: its driver hung up]") in lent.steps()


def test_no_trial_is_an_answer_too(tmp_path: Path) -> None:
    async def ask() -> str:
        async with client_in(tmp_path) as client:
            return await refused(client, "instruction")

    assert "no trial in jobs waits for a driver" in asyncio.run(ask())


def test_a_client_that_sends_garbage_does_no_harm(lend: Lend) -> None:
    lent = lend()
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "rude", "version": "0"},
        },
    }
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    wrong = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "rm", "arguments": 7},
    }
    right = {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {"name": "run", "arguments": {"command": "echo fine"}},
    }
    lines = [b"\xff\xfe\x00", b"{", b"[]", b"null", b'{"jsonrpc": "1.0"}', b"x" * (1 << 20)]
    lines += [json.dumps(each).encode() for each in (hello, ready, wrong, right)]
    with subprocess.Popen(
        [BENCHFLOW, "drive", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=lent.top,
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        answers: dict[object, dict[str, Any]] = {}
        while 3 not in answers:
            line = process.stdout.readline()
            assert line, "the server is gone"
            answer = json.loads(line)
            answers[answer.get("id")] = answer
        process.stdin.close()
        assert process.wait(timeout=300) == 0
    assert "error" in answers[2] or answers[2]["result"]["isError"]
    assert answers[3]["result"]["structuredContent"]["stdout"] == "fine\n"
    assert lent.told("time")["left"] > 0
