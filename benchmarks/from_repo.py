"""How long a proposal takes for a repository of 5,000 files, against only reading these files.

python benchmarks/from_repo.py [--files N] [--repeat N]

The repository is made here: Python, JavaScript, Go and C in equal parts of 4 KiB, with the build,
CI and compose files of a web service, as a folder and as a tar. Both sides run in this process.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from timing import headline, row

from benchflow.authoring.onboard.task_folder import propose

_WANTED_SECONDS = 30
_LINES = {
    "py": 'import os\n\n\ndef f{n}(x):\n    return os.environ.get("APP_KEY_{n}", x)\n',
    "js": "export const f{n} = (x) => process.env.APP_KEY_{n} || x;\n",
    "go": 'package p\n\nfunc F{n}() string {{ return os.Getenv("APP_KEY_{n}") }}\n',
    "c": 'const char *f{n}(void) {{ return getenv("APP_KEY_{n}"); }}\n',
}
_TOP = {
    "LICENSE": "Permission is hereby granted, free of charge, to any person obtaining a copy\n",
    "pyproject.toml": '[project]\nname = "big"\ndependencies = ["redis", "psycopg2"]\n',
    "docker-compose.yml": "services:\n  db:\n    image: postgres:15\n",
    ".github/workflows/ci.yml": "jobs:\n  t:\n    steps:\n      - run: pytest\n",
    "README.md": "# Big\n\n```\npip install -e .\n```\n",
}


def write(folder: Path, files: int) -> Path:
    """The repository, with `files` files of code in folders of fifty."""
    words = random.Random(1)
    for name, text in _TOP.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for number in range(files):
        kind = list(_LINES)[number % len(_LINES)]
        path = folder / f"part{number // 50}" / f"f{number}.{kind}"
        path.parent.mkdir(exist_ok=True)
        rest = "\n".join("# " + "x" * words.randrange(20, 60) for _ in range(90))
        path.write_text(_LINES[kind].format(n=number % 97) + rest)
    return folder


def plainly_read(folder: Path) -> int:
    """The bytes of all files, read and thrown away."""
    return sum(len(path.read_bytes()) for path in folder.rglob("*") if path.is_file())


def seconds(work: Callable[[], object]) -> float:
    """What one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch)
        folder = write(top / "big", asked.files)
        archive = top / "big.tar.gz"
        with tarfile.open(archive, "w:gz") as packed:
            packed.add(folder, "big")
        times: dict[str, list[float]] = {"reading": [], "folder": [], "archive": []}
        for turn in range(asked.repeat):
            made = top / f"made{turn}"
            times["reading"].append(seconds(lambda: plainly_read(folder)))
            for name, source in (("folder", folder), ("archive", archive)):
                task = f"onboard/{name}"
                took = seconds(lambda s=source, t=task, m=made: propose(str(s), t, top=m))
                times[name].append(took)
    headline(f"a proposal for {asked.files:,} files, median of {asked.repeat}, by turns")
    middle = {name: statistics.median(found) for name, found in times.items()}
    row("reading all files", f"{middle['reading']:.2f} s")
    for name in ("folder", "archive"):
        row(f"proposal from a {name}", f"{middle[name]:.2f} s", f"wanted: {_WANTED_SECONDS} s")
        row(f"proposal from a {name} against reading", f"{middle[name] / middle['reading']:.1f}×")


if __name__ == "__main__":
    main()
