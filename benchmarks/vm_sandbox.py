"""What a machine of its own costs an agent, against the namespace sandbox in the same run.

python benchmarks/vm_sandbox.py [--repeat N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchflow.sandbox import Limits, Sandbox, debian
from benchflow.sandbox.box import Box
from benchflow.sandbox.vm.machine import Machine

_LIMITS = Limits(memory_mb=1024, cpus=1, disk_mb=2048)
_MIB = 64
#: What an agent's programs do, as command lines that any Debian has the programs for.
_WORK = {
    "one exec of /bin/true": "/bin/true",
    "100 processes": "for i in $(seq 100); do /bin/true; done",
    "sha256 of 64 MiB": f"head -c {_MIB}M /dev/zero | sha256sum",
    "perl, 3 million rounds": "perl -e '$x = ($x * 31 + $_) % 65521 for 1..3e6; print $x'",
    "gzip of 4 MB": "perl -e 'print pack(q(L), $_ * 40503 % 65521) for 1..1e6' | gzip -1 | wc -c",
    "2,000 files made": "mkdir /var/f && cd /var/f && for i in $(seq 2000); do : >$i; done; sync",
    "64 MiB to the disk": f"dd if=/dev/zero of=/var/big bs=1M count={_MIB} conv=fsync status=none",
}


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _measure(box: Box, repeat: int, folder: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, command in _WORK.items():
        times = []
        for _ in range(repeat):
            box.exec("rm -rf /var/f /var/big")
            times.append(_timed(lambda line=command: box.exec(line)))  # type: ignore[misc]
        found[name] = statistics.median(times)
    (folder / "in").write_bytes(os.urandom(_MIB << 20))
    found[f"{_MIB} MiB in"] = _timed(lambda: box.put(folder / "in", "/var/in"))
    found[f"{_MIB} MiB out"] = _timed(lambda: box.get("/var/in", folder / "out"))
    assert (folder / "out").read_bytes() == (folder / "in").read_bytes()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    image = debian("bookworm")
    Machine.start(image, limits=_LIMITS).stop()  # what is made once is made
    found: dict[str, dict[str, float]] = {}
    accelerator = ""
    load = os.getloadavg()[0]
    for kind, start in {"machine": Machine.start, "namespace": Sandbox.start}.items():
        starts, stops, figures = [], [], {}
        for number in range(repeat):
            began = time.perf_counter()
            box = start(image, limits=_LIMITS)
            starts.append(time.perf_counter() - began)
            if number == 0:
                accelerator = getattr(box, "accelerator", accelerator)
                with tempfile.TemporaryDirectory() as folder:
                    figures = _measure(box, repeat, Path(folder))
            stops.append(_timed(box.stop))
        found[kind] = {"start": statistics.median(starts), **figures}
        found[kind]["stop"] = statistics.median(stops)
    print(f"a machine under {accelerator}; load {load:.1f} before, {os.getloadavg()[0]:.1f} after")
    print(f"{'':<26}{'machine':>12}{'namespace':>12}{'ratio':>9}")
    for name, seconds in found["machine"].items():
        other = found["namespace"][name]
        print(f"{name:<26}{seconds:>10.3f} s{other:>10.3f} s{seconds / other:>8.1f}×")


if __name__ == "__main__":
    main()
