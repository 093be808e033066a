"""Handing a 2 GiB disk image that holds 512 MiB from the agent's sandbox to the verifier's:
through tar and a pipe, and as benchflow does it. Prints both and the ratio.

    python benchmarks/handover.py [--repeat N]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchflow.sandbox import Sandbox, debian
from benchflow.sandbox.model import Image

SIZE_MB, DATA_MB = 2048, 512
INSIDE = "/app/out/disk.img"
FILL = f"""
import os
chunk = os.urandom(1 << 20)
with open("{INSIDE}", "wb") as file:
    file.truncate({SIZE_MB} << 20)
    for number in range({DATA_MB}):
        file.seek(number * 4 << 20)
        file.write(chunk)
"""


def fill(box: Sandbox, work: Path) -> None:
    """Make the image inside, in 512 pieces of a MiB with holes between them."""
    path = work / "disk.img"
    script = FILL.replace(INSIDE, str(path))
    subprocess.run([sys.executable, "-c", script], check=True)
    box.put(path, INSIDE)
    path.unlink()


def by_tar(agent: Sandbox, verifier: Sandbox, work: Path) -> float:
    """What Harbor's docker environment does: tar out of one, tar into the other."""
    archive = work / "handover.tar"
    begin = time.perf_counter()
    with archive.open("wb") as file:
        agent.exec(
            ["tar", "-C", "/app/out", "-cf", "-", "disk.img"],
            on_output=lambda stream, data: file.write(data) if stream == "stdout" else None,
        )
    verifier.exec(["mkdir", "-p", "/app/out"])
    done = verifier.exec(["tar", "-C", "/app/out", "-xf", "-"], stdin=archive.read_bytes())
    seconds = time.perf_counter() - begin
    assert done.status == 0, done.error_text
    archive.unlink()
    verifier.exec(["rm", INSIDE])
    return seconds


def by_benchflow(agent: Sandbox, verifier: Sandbox, work: Path) -> float:
    """Out of one and into the other."""
    kept = work / "kept.img"
    begin = time.perf_counter()
    agent.get(INSIDE, kept)
    verifier.put(kept, INSIDE)
    seconds = time.perf_counter() - begin
    stored = verifier.exec(["stat", "-c", "%s %b", INSIDE]).text.split()
    assert int(stored[0]) == SIZE_MB << 20, stored
    assert int(stored[1]) * 512 <= (DATA_MB + 16) << 20, "the holes were filled"
    kept.unlink()
    verifier.exec(["rm", INSIDE])
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    image: Image = debian("bookworm")
    with (
        tempfile.TemporaryDirectory(dir="/var/tmp") as directory,
        Sandbox.start(image) as agent,
        Sandbox.start(image) as verifier,
    ):
        work = Path(directory)
        fill(agent, work)
        tar = min(by_tar(agent, verifier, work) for _ in range(repeat))
        ours = min(by_benchflow(agent, verifier, work) for _ in range(repeat))
    print(f"tar through a pipe  {tar:7.2f} s")
    print(f"benchflow           {ours:7.2f} s")
    print(f"ratio               {tar / ours:7.1f} x")


if __name__ == "__main__":
    main()
