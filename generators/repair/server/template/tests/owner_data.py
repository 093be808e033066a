"""What was on the server before the accident, made as it was made then (`owner_source.py`)."""

import hashlib
from pathlib import Path

import owner_source

SITE = owner_source.SITE
CLOSED = tuple(owner_source.YEARS)
_JOURNALS = owner_source.ledger()


def _sums(name: str) -> dict[str, str]:
    text = (Path(__file__).with_name("owner") / name).read_text(encoding="utf-8")
    rows = (line.split("  ") for line in text.splitlines())
    return {path: digest for digest, path in rows}


LIVE = _JOURNALS["live.journal"]
SEALS = {year: hashlib.sha256(_JOURNALS[f"{year}.journal"].encode()).hexdigest() for year in CLOSED}
RECORDS = "".join([*(_JOURNALS[f"{year}.journal"] for year in CLOSED), LIVE]).splitlines()
DOCUMENTS = {
    name: hashlib.sha256(content).hexdigest() for name, content in owner_source.documents()
}
PROGRAMS = _sums("programs.sha256")
# SHA-256 of every file that no program may change, by its path on the data volume.
CHECKSUMS = {
    **{f"ledger/{year}.journal": digest for year, digest in SEALS.items()},
    **{f"documents/{name}": digest for name, digest in DOCUMENTS.items()},
}
