"""The owner's ledger and papers, the same on every build: `owner_data.py TARGET`."""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

SEED = "brouwer-en-dochters/1987"
SITE = "BROUWER-0417"
YEARS = {"2023": 900, "2024": 1100, "2025": 1300}
LIVE = 240
DOCUMENTS = 160
ACCOUNTS = ["rope", "paint", "canvas", "fittings", "lamps", "charts", "provisions", "repairs"]
WORDS = [
    "anchor",
    "beam",
    "cleat",
    "dory",
    "eye",
    "frame",
    "gaff",
    "halyard",
    "iron",
    "jib",
    "keel",
    "line",
    "mast",
    "oar",
    "pitch",
]


def ledger() -> dict[str, str]:
    """File name below `ledger/` to its text."""
    rng = random.Random(SEED)
    number = 0
    files: dict[str, str] = {}
    for year, count in [*YEARS.items(), ("live", LIVE)]:
        lines = []
        for place in range(count):
            number += 1
            day = 1 + place * 364 // count
            month, day_of_month = 1 + day // 31, 1 + day % 28
            date = f"{'2026' if year == 'live' else year}-{month:02}-{day_of_month:02}"
            text = " ".join(rng.choices(WORDS, k=3))
            cents = rng.randint(-90_000, 120_000)
            lines.append(f"{number}|{date}|{rng.choice(ACCOUNTS)}|{text}|{cents}\n")
        files[f"{year}.journal"] = "".join(lines)
    return files


def documents() -> Iterator[tuple[str, bytes]]:
    """Name below `documents/` and content of every paper."""
    for number in range(DOCUMENTS):
        rng = random.Random(f"{SEED}/{number}")
        year = 2023 + number % 3
        head = f"%PDF-1.4\n% delivery note {number}\n".encode()
        yield f"{year}/note-{number:04}.pdf", head + rng.randbytes(rng.randint(2_000, 60_000))


def write(target: Path) -> None:
    """Lay a format 1 ledger and the papers out below `target`."""
    for name, text in ledger().items():
        path = target / "ledger" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (target / "ledger/FORMAT").write_text("1\n")
    (target / "ledger/site").write_text(SITE + "\n")
    for name, content in documents():
        path = target / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
