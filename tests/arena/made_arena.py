"""Trials with consoles, screens and last words, as verifiers and agents leave them."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

from benchflow.results.model import Phases, Verdict
from benchflow.results.records import Format, Milestone, Record


def png(width: int = 4, height: int = 3, **texts: str) -> bytes:
    """A grey picture; `texts` become chunks that say what no voter should read."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + b"\x80" * width for _ in range(height)))
    told = [chunk(b"tEXt", f"{key}\0{text}".encode()) for key, text in texts.items()]
    parts = [chunk(b"IHDR", header), *told, chunk(b"IDAT", pixels), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def cast(lines: list[tuple[float, str]]) -> str:
    """A recorded console with a marker of a check that passed after each line."""
    events = [[at, "o", f"{text}\r\n"] for at, text in lines]
    events += [[at, "m", "kernel: passed"] for at, _ in lines]
    events.sort(key=lambda event: float(str(event[0])))
    head = {"version": 2, "width": 80, "height": 24, "timestamp": 1790000000}
    return "\n".join(json.dumps(one) for one in (head, *events)) + "\n"


def trial(
    folder: Path,
    *,
    agent: str = "claude-code",
    model: str = "anthropic/claude-opus-9",
    task: str = "repair/dead-server",
    version: str = "1.0.0",
    lines: list[tuple[float, str]] | None = None,
    machines: tuple[str, ...] = ("server",),
    screen: bytes | None = None,
    readme: str = "",
    passed: int = 2,
    verdict: Verdict = Verdict.RESOLVED,
) -> Record:
    """A finished trial whose files lie in `folder`."""
    (folder / "verifier").mkdir(parents=True)
    evidence = {}
    for machine in machines:
        path = folder / "verifier" / f"{machine}.console.cast"
        default = [(1.0, "Linux version 6.1"), (3.5, f"{machine} login:")]
        path.write_text(cast(default if lines is None else lines))
        evidence[f"verifier/{path.name}"] = path
    if screen:
        (folder / "verifier/kiosk.1.png").write_bytes(screen)
    if readme:
        (folder / "artifacts/app").mkdir(parents=True)
        (folder / "artifacts/app/README.md").write_text(readme)
    return Record(
        uid=f"{abs(hash(str(folder))):012x}"[:12],
        source=folder,
        format=Format.BENCHFLOW,
        job="secret-job",
        trial=folder.name,
        agent=agent,
        model=model,
        task=task,
        task_version=version,
        topic=task.partition("/")[0],
        verdict=verdict,
        milestones=tuple(
            Milestone(id=f"m{n}", status="passed" if n < passed else "failed") for n in range(3)
        ),
        phases=Phases(agent=600.0),
        folder=folder,
        evidence=evidence,
    )
