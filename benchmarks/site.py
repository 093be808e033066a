"""Building a site: the published trials, and 1,000, 10,000 and 100,000 made-up ones.

    python benchmarks/site.py [PUBLISHED.jsonl] [--sizes 1000,10000,100000]

Made-up trials have 10 milestones and 100 steps each and are written to a temporary folder first
(about 40 KB a trial). The other side: reading the same trials without making a page of them.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import BENCHFLOW, cost_of, headline, row, usual_environment

from benchflow.results.synthetic import Design, write_job

#: trials → agents, tasks and attempts whose product they are
DESIGNS = {1_000: (10, 20, 5), 10_000: (10, 100, 10), 100_000: (20, 200, 25)}
READ = "import sys; from pathlib import Path; from benchflow.results.records import collect; "
READ += "collect([Path(sys.argv[1])])"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("published", nargs="?", type=Path)
    parser.add_argument("--sizes", default="1000,10000,100000")
    arguments = parser.parse_args()
    headline("benchflow site")
    with tempfile.TemporaryDirectory(prefix="benchflow-benchmark-") as name:
        folder = Path(name)
        if arguments.published:
            measure("published trials", arguments.published, folder / "site", "≤ 20 s", "")
        for text in filter(None, arguments.sizes.split(",")):
            size = int(text)
            agents, tasks, attempts = DESIGNS[size]
            design = Design(agents, tasks, attempts, milestones=10, steps=100, consoles=False)
            job = write_job(folder / f"job-{size}", design)
            last = size == max(DESIGNS)
            limits = ("≤ 300 s", "≤ 4,096 MB") if last else ("", "")
            measure(f"{size:,} made-up trials", job, folder / f"site-{size}", *limits)


def measure(name: str, source: Path, folder: Path, seconds: str, memory: str) -> None:
    """Builds one site, and says what it took beside only reading the same source."""
    env = usual_environment()
    built = cost_of([BENCHFLOW, "site", str(source), "-o", str(folder)], env=env)
    read = cost_of([sys.executable, "-c", READ, str(source)], env=env)
    row(f"{name}, wall", f"{built.wall:.1f} s", seconds)
    row(f"{name}, processor", f"{built.cpu:.1f} s")
    row(f"{name}, processor, read alone (the other side)", f"{read.cpu:.1f} s")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    row(f"{name}, largest process so far", f"{peak:,.0f} MB", memory)
    row(f"{name}, first page and what it loads", f"{first_page(folder) / 1e6:.2f} MB", "≤ 2 MB")
    size = subprocess.run(["du", "-sm", folder], capture_output=True, text=True, check=True)
    row(f"{name}, site", f"{size.stdout.split()[0]} MB")
    if (usable := first_page_seconds(folder)) is not None:
        row(f"{name}, first page usable", f"{usable:.2f} s", "≤ 1 s")


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
