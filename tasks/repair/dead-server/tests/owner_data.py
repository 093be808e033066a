"""What was on the server before the accident, by the lists in `owner/` beside this file."""

import hashlib
from pathlib import Path

SITE = "BROUWER-0417"
CLOSED = ("2023", "2024", "2025")
_OWNER = Path(__file__).with_name("owner")


def _text(name: str) -> str:
    return (_OWNER / name).read_text(encoding="utf-8")


def _sums(name: str) -> dict[str, str]:
    rows = (line.split("  ") for line in _text(name).splitlines())
    return {path: digest for digest, path in rows}


LIVE = _text("live.journal")
SEALS = {year: hashlib.sha256(_text(f"{year}.journal").encode()).hexdigest() for year in CLOSED}
RECORDS = "".join([*(_text(f"{year}.journal") for year in CLOSED), LIVE]).splitlines()
DOCUMENTS = _sums("documents.sha256")
PROGRAMS = _sums("programs.sha256")
# SHA-256 of every file that no program may change, by its path on the data volume.
CHECKSUMS = {
    **{f"ledger/{year}.journal": digest for year, digest in SEALS.items()},
    **{f"documents/{name}": digest for name, digest in DOCUMENTS.items()},
}
