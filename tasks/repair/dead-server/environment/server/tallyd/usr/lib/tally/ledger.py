"""The ledger on disk.

<data>/ledger/FORMAT        1 or 2
<data>/ledger/site          the site that this ledger belongs to
<data>/ledger/YYYY.journal  closed years, one record a line: number|date|account|text|cents
<data>/ledger/live.journal  the open year
<data>/ledger/seals         format 2: one line a closed year: year records sha256
<data>/documents/           scanned papers
"""

# pathlib alone takes longer to load than all of this on a small server.
# ruff: noqa: PTH104, PTH110, PTH123, PTH208

import hashlib
import os

DATA = "/srv/tally"
SITE_FILE = "/etc/tally/site.id"


class LedgerError(Exception):
    pass


def path(*parts):
    return "/".join((DATA, *parts))


def read(name):
    with open(path("ledger", name), encoding="utf-8") as file:
        return file.read().strip()


def closed_years():
    names = sorted(os.listdir(path("ledger")))
    return [n[:4] for n in names if n.endswith(".journal") and n != "live.journal"]


def seal(year):
    with open(path("ledger", year + ".journal"), "rb") as file:
        body = file.read()
    return f"{year} {body.count(10)} {hashlib.sha256(body).hexdigest()}"


def fsync_directory(directory):
    handle = os.open(directory, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def write_durably(name, text):
    target = path("ledger", name)
    with open(target + ".new", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.rename(target + ".new", target)
    fsync_directory(path("ledger"))


def site_of_this_host():
    with open(SITE_FILE, encoding="utf-8") as file:
        return file.read().strip()


def verify():
    """Refuse a ledger that is not ours, not sealed, or not what was sealed."""
    if not os.path.exists(path("ledger", "FORMAT")):
        raise LedgerError("no ledger in " + DATA)
    if read("FORMAT") != "2":
        raise LedgerError(
            "ledger is in format " + read("FORMAT") + ", this is tallyd 2.1: E-FORMAT"
        )
    if read("site") != site_of_this_host():
        raise LedgerError("ledger of site " + read("site") + " on the host of another: E-SITE")
    sealed = read("seals").splitlines()
    if sealed != [seal(year) for year in closed_years()]:
        raise LedgerError("a closed year is not what was sealed: E-SEAL")


def records():
    lines = []
    for name in [year + ".journal" for year in closed_years()] + ["live.journal"]:
        with open(path("ledger", name), encoding="utf-8") as file:
            lines += file.read().splitlines()
    return lines
