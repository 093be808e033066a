"""What the model gateway adds to a call, with 50 streams at once, against calls without it.

Both sides are the same client, the same requests and the same scripted model, one after the other
in turns, in one run. Client, gateway and scripted model are three processes that share the
machine's cores: the gateway's side also pays for the cores that it takes from the other two.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import aiohttp
from timing import headline, row

from benchflow.gateway.client import GatewayClient, ensure
from benchflow.gateway.config import Config, Place, Route
from benchflow.gateway.models.providers import SCRIPTED_PRICE
from benchflow.model_apis.protocols import Protocol
from benchflow.scripted_model import Policy, ScriptedModel, Turn
from benchflow.scripted_model.policy import Pace

#: A model that answers as fast as real ones do: a first byte after 200 ms, then 20 pieces at 50/s.
PACE = Pace(first=0.2, between=0.02, pieces=20)
REACH = {"p50": 5.0, "p99": 15.0}


def question(history_kb: int) -> bytes:
    """A chat request with a history, as agents send them."""
    messages = [
        {"role": "user", "content": "List what is here."},
        {"role": "user", "content": "x" * (history_kb * 1024)},
    ]
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "bash", "parameters": schema}}
    options = {"stream": True, "stream_options": {"include_usage": True}}
    return json.dumps({"model": "m", "messages": messages, "tools": [tool], **options}).encode()


async def call(session: aiohttp.ClientSession, url: str, body: bytes) -> tuple[float, float]:
    """One streamed call; milliseconds to the first byte and to the end."""
    started = time.perf_counter()
    async with session.post(f"{url}/chat/completions", data=body) as answer:
        await answer.content.readany()
        first = time.perf_counter()
        async for _ in answer.content.iter_any():
            pass
        assert answer.status == 200
    return (first - started) * 1000, (time.perf_counter() - started) * 1000


async def streams(
    url: str, key: str, body: bytes, at_once: int, rounds: int
) -> list[tuple[float, float]]:
    """`at_once` callers, each asking `rounds` times, spread over the length of one answer."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    length = PACE.first + PACE.between * PACE.pieces * 2

    async def caller(session: aiohttp.ClientSession, number: int) -> list[tuple[float, float]]:
        await asyncio.sleep(number / at_once * length)
        return [await call(session, url, body) for _ in range(rounds)]

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
        await call(session, url, body)
        done = await asyncio.gather(*(caller(session, n) for n in range(at_once)))
    return [each for calls in done for each in calls]


def compare(direct: list[float], through: list[float], what: str) -> bool:
    """Prints both sides; says whether the difference is within reach."""
    good = True
    for name, share in (("p50", 50), ("p99", 99)):
        low = statistics.quantiles(direct, n=100)[share - 1]
        high = statistics.quantiles(through, n=100)[share - 1]
        added = high - low
        good &= added <= REACH[name]
        row(
            f"{what}, {name}: direct {low:.1f} ms, through the gateway {high:.1f} ms",
            f"+{added:.1f} ms",
            f"≤ {REACH[name]:g} ms",
        )
    return good


def processor_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--turns", type=int, default=3, help="how often the two sides alternate")
    parser.add_argument("--history-kb", type=int, default=64)
    given = parser.parse_args()
    headline(f"{given.streams} streams at once, {given.history_kb} KiB of history each")
    policy = Policy(turns=(Turn(run="ls -la", say="word " * 40),), pace=PACE)
    body = question(given.history_kb)
    direct: list[tuple[float, float]] = []
    through: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder, ScriptedModel.start({"m": policy}) as model:
        gateway = start(Path(folder), model)
        opened = gateway.open("bench", "scripted/m")
        used = 0.0
        for _ in range(given.turns):
            one = streams(model.base_urls["openai"], "k", body, given.streams, given.rounds)
            direct += asyncio.run(one)
            before = processor_seconds(gateway.pid)
            two = streams(opened.urls["openai"], opened.token, body, given.streams, given.rounds)
            through += asyncio.run(two)
            used += processor_seconds(gateway.pid) - before
        totals, truth = gateway.trial("bench"), model.totals()["bench"]
        assert totals["usage"] == truth.usage.as_dict(), "tokens were lost"
        memory = memory_mb(gateway.pid)
        gateway.stop()
    good = compare([d[0] for d in direct], [t[0] for t in through], "first byte")
    good &= compare([d[1] for d in direct], [t[1] for t in through], "whole answer")
    row("calls on each side", str(len(direct)))
    row("the gateway's own processor time per call", f"{used / len(through) * 1000:.1f} ms")
    row("the gateway's memory at the end", f"{memory:.0f} MB")
    row("tokens counted = tokens served", str(totals["tokens"]))
    return 0 if good else 1


def start(folder: Path, model: ScriptedModel) -> GatewayClient:
    """A gateway in front of the model."""
    route = Route(
        model="scripted/m",
        upstream="m",
        provider="scripted",
        protocols=tuple(Protocol),
        places=(Place(url=model.url),),
        price=dict(SCRIPTED_PRICE),
        scripted=True,
    )
    return ensure(folder / "state", Config(routes=(route,)), folder / "calls.jsonl")


if __name__ == "__main__":
    raise SystemExit(main())
