"""How long a sandbox takes to start, and a command in it.

python benchmarks/sandbox_start.py [--repeat N]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time

from benchflow.sandbox import Limits, Sandbox, debian


def _cpu() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, kinds))


def _line(what: str, seconds: list[float], cpu: float) -> None:
    best, middle = min(seconds) * 1e3, statistics.median(seconds) * 1e3
    print(f"{what:<28} best {best:6.1f} ms   median {middle:6.1f} ms   cpu {cpu * 1e3:6.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=10)
    repeat = parser.parse_args().repeat
    image = debian("bookworm")
    limits = Limits(memory_mb=1024, cpus=1)
    for network in ("none", "user"):
        starts, stops = [], []
        before = _cpu()
        for _ in range(repeat):
            begin = time.perf_counter()
            box = Sandbox.start(image, network=network, limits=limits)
            starts.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            box.stop()
            stops.append(time.perf_counter() - begin)
        _line(f"start, network {network}", starts, (_cpu() - before) / repeat)
        _line(f"stop, network {network}", stops, 0)
    box = Sandbox.start(image, limits=limits)
    times = []
    before = _cpu()
    for _ in range(5 * repeat):
        begin = time.perf_counter()
        box.exec(["/bin/true"])
        times.append(time.perf_counter() - begin)
    box.stop()
    _line("one exec", times, (_cpu() - before) / (5 * repeat))


if __name__ == "__main__":
    main()
