"""`python -m benchflow.scripted_model FILE`: serve until a signal ends it.

FILE: {"key": "", "policies": {model name: policy}}. The first line on stdout is {"url": …}.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from aiohttp import web

from benchflow.scripted_model.policy import Policy
from benchflow.scripted_model.server import ScriptedServer


async def serve(server: ScriptedServer, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT."""
    # A connection that a client left open, or a hang on purpose, must not hold up the end.
    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, host, port, backlog=1024).start()
    address = runner.addresses[0]
    print(json.dumps({"url": f"http://{address[0]}:{address[1]}"}), flush=True)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await ended.wait()
    await runner.cleanup()


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchflow.scripted_model")
    parser.add_argument("file", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    data = json.loads(given.file.read_text())
    policies = {name: Policy.model_validate(each) for name, each in data["policies"].items()}
    try:
        asyncio.run(serve(ScriptedServer(policies, key=data["key"]), given.host, given.port))
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
