"""Building a site: the published trials, and 1,000, 10,000 and 100,000 made-up ones.

    python benchmarks/site.py [PUBLISHED.jsonl] [--sizes 1000,10000,100000] [--jobs FOLDER]

Made-up trials have 10 milestones and 100 steps each. They are written to a temporary folder first
(about 66 KB a trial; the largest site takes as much again), or kept below FOLDER and used again.
The other side: reading the same trials without making a page of them. Memory is that of all
processes together, looked at every two seconds (Pss: what they share counts once).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from timing import BENCHFLOW, headline, row, usual_environment

from benchflow.results.synthetic import Design, write_job

#: trials → agents, tasks and attempts whose product they are
DESIGNS = {1_000: (10, 20, 5), 10_000: (10, 100, 10), 100_000: (20, 200, 25)}
READ = "import sys; from pathlib import Path; from benchflow.results.collect import collect; "
READ += "collect([Path(sys.argv[1])])"
_LOOK_SECONDS = 2.0


@dataclass(frozen=True)
class Run:
    """Seconds on the wall, seconds of processor, and peak megabytes, of a command and its own."""

    wall: float
    cpu: float
    peak_mb: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("published", nargs="?", type=Path)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--jobs", type=Path)
    arguments = parser.parse_args()
    headline("benchflow site")
    grown: dict[int, Run] = {}
    with tempfile.TemporaryDirectory(prefix="benchflow-benchmark-") as name:
        folder = Path(name)
        if arguments.published:
            measure("published trials", arguments.published, folder / "site", "≤ 20 s", "")
        for size in map(int, filter(None, arguments.sizes.split(","))):
            job = made(arguments.jobs or folder, size)
            limits = ("≤ 300 s", "≤ 4,096 MB") if size == max(DESIGNS) else ("", "")
            title = f"{size:,} made-up trials"
            grown[size] = measure(title, job, folder / f"site-{size}", *limits)
    print("  growth: trials, wall s, processor s, processor ms a trial, peak MB")
    for size, run in sorted(grown.items()):
        each = 1000 * run.cpu / size
        print(f"  {size:>9,} {run.wall:>9.1f} {run.cpu:>9.1f} {each:>7.2f} {run.peak_mb:>8,.0f}")


def made(folder: Path, size: int) -> Path:
    """The made-up job of `size` trials below `folder`, written where it is not there yet."""
    job = folder / f"job-{size}"
    if not job.exists():
        agents, tasks, attempts = DESIGNS[size]
        write_job(job, Design(agents, tasks, attempts, milestones=10, steps=100, consoles=False))
    return job


def measure(name: str, source: Path, folder: Path, seconds: str, memory: str) -> Run:
    """Builds one site, and says what it took beside only reading the same source."""
    before = os.getloadavg()[0]
    built = run([BENCHFLOW, "site", str(source), "-o", str(folder)])
    row(f"{name}, load average before and after", f"{before:.1f}, {os.getloadavg()[0]:.1f}")
    row(f"{name}, wall", f"{built.wall:.1f} s", seconds)
    row(f"{name}, processor", f"{built.cpu:.1f} s")
    row(f"{name}, peak memory of all processes", f"{built.peak_mb:,.0f} MB", memory)
    row(f"{name}, first page and what it loads", f"{first_page(folder) / 1e6:.2f} MB", "≤ 2 MB")
    size = subprocess.run(["du", "-sm", folder], capture_output=True, text=True, check=True)
    row(f"{name}, site", f"{size.stdout.split()[0]} MB")
    if (usable := first_page_seconds(folder)) is not None:
        row(f"{name}, first page usable", f"{usable:.2f} s", "≤ 1 s")
    read = run([sys.executable, "-c", READ, str(source)])
    row(f"{name}, processor, read alone (the other side)", f"{read.cpu:.1f} s")
    return built


def run(command: list[str]) -> Run:
    """Runs a command to its end, output away. Raises SystemExit when it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    peak = 0.0
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=usual_environment())
        while process.poll() is None:
            peak = max(peak, sum(map(_megabytes, _family(process.pid))))
            time.sleep(_LOOK_SECONDS)
        wall = time.perf_counter() - began
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{command} failed:\n{said.read().decode(errors='replace')}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(wall, cpu, peak)


def _family(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [one for each in threads for one in (each / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(one for child in children for one in _family(int(child)))]


def _megabytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def first_page(folder: Path) -> int:
    """Bytes of the overview, its style, scripts and fonts."""
    names = ["index.html", "assets/style.css", "assets/app.js"]
    sizes = [(folder / name).stat().st_size for name in names]
    return sum(sizes) + sum(p.stat().st_size for p in folder.glob("assets/vendor/*.woff2"))


def first_page_seconds(folder: Path) -> float | None:
    """From asking for the overview to its being interactive, in Chromium; None without one."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "site"))
    from browser import browser, chromium, page

    if chromium() is None:
        return None
    with browser() as opened, page(opened) as (tab, _):
        began = time.perf_counter()
        tab.goto((folder / "index.html").as_uri(), wait_until="domcontentloaded")
        tab.locator("h1").wait_for()
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
