"""The packages of a system volume, as dpkg keeps them, and the files that they brought."""

import hashlib
import re

import doors
import known
import owner_data
from atlas import Server
from owner_data import PROGRAMS

from benchflow.boot.inspect.ext4 import Ext4

# The machine never had these of its packages, or they are settings, or come and go with them.
_ASIDE = re.compile(r"/(etc|run|tmp)/|/usr/share/(doc|man|locale|info)(/|$)|/var/(lib/apt|cache)/")


def installed(system: Ext4) -> dict[str, dict[str, str]]:
    """The fields of every package in dpkg's database, by its name."""
    found = {}
    for text in system.read_text("/var/lib/dpkg/status", 16 << 20).split("\n\n"):
        fields = dict(re.findall(r"(?m)^([\w-]+): (.*)$", text))
        if "Package" in fields:
            found[fields["Package"]] = fields
    return found


def out_of_order(system: Ext4) -> list[str]:
    """Packages that are missing, or neither installed nor removed."""
    packages = installed(system)
    states = {name: fields.get("Status", "") for name, fields in packages.items()}
    whole = {name for name, state in states.items() if state.endswith(" ok installed")}
    wrong = [f"{name} is missing" for name in sorted({*known.PACKAGES.split()} - whole)]
    if not any(re.match(r"linux-image-\d", name) for name in whole):
        wrong.append("the kernel's package is missing")
    kept = " ok config-files"
    wrong += [
        f"{name}: {state}"
        for name, state in states.items()
        if name not in whole and not state.endswith(kept)
    ]
    wrong += [
        f"dpkg has not finished: updates/{n}" for n in system.listdir("/var/lib/dpkg/updates")
    ]
    return wrong


def altered(system: Ext4) -> list[str]:
    """What packages brought and is not as they brought it, or is gone."""
    wanted = _checksums(system)
    there = {entry.path: entry for entry in system.walk("/")}
    brought = {path for path in doors.packaged(system) if not _ASIDE.match(path)} - {"/."}
    found = {
        entry.path: hashlib.md5(content, usedforsecurity=False).hexdigest()
        for place in ("/usr", "/boot")
        for entry, content in system.contents(place)
        if entry.path in wanted
    }
    wrong = [f"{path} is gone" for path in brought - there.keys() if not system.exists(path)]
    wrong += [f"{path} was changed" for path in found if found[path] != wanted[path]]
    wrong += [
        f"{path} has lost its mode {mode:o}"
        for path, (mode, *_) in known.SET_ID.items()
        if path in there and there[path].mode != mode
    ]
    return sorted(wrong)


def in_order(server: Server, system: Ext4) -> None:
    """dpkg's database is whole, and the upgrade is in it."""
    wrong = out_of_order(system)
    assert not wrong, f"[R7] none is missing, none is half installed: {wrong[:8]}"
    version = installed(system)["tallyd"].get("Version")
    assert version == "2.1-1", f"[R7] the upgrade of tallyd to 2.1: it is {version}"
    audit = server.ingrid().run("/usr/bin/dpkg --audit", timeout=60)
    assert (audit.status, audit.stdout.strip()) == (0, ""), f"[R7] dpkg says: {audit.stdout}"


def programs_are_theirs(system: Ext4) -> None:
    """Programs and whatever else packages brought are as the vendor ships them."""
    for path, expected in PROGRAMS.items():
        found = hashlib.sha256(system.read(path)).hexdigest()
        assert found == expected, f"[R7] as the vendor ships them: {path} is another"
    wrong = altered(system)
    assert not wrong, f"[R7] nothing of what they brought is changed or gone: {wrong[:8]}"


def upgrade_is_done(server: Server, system: Ext4) -> None:
    """What the maintainer's script of tallyd does has been done."""
    done = system.read("/var/lib/tally/configured").decode(errors="replace").strip()
    assert done == f"2.1-1 {owner_data.SITE}", f"[R7] really finished: configured is {done!r}"
    site = system.read("/etc/tally/site.id").decode(errors="replace").strip()
    assert site == owner_data.SITE, f"[R7] this host calls itself {site}"
    form = server.root("cat /srv/tally/ledger/FORMAT").strip()
    assert form == "2", f"[R7] really finished: the ledger is in format {form}"
    seals = [line.split() for line in server.root("cat /srv/tally/ledger/seals").splitlines()]
    assert {row[0]: row[-1] for row in seals if row} == owner_data.SEALS, (
        "[R7] really finished: the closed years are not sealed"
    )


def _checksums(system: Ext4) -> dict[str, str]:
    wanted = {}
    for entry, content in system.contents("/var/lib/dpkg/info"):
        if not entry.path.endswith(".md5sums"):
            continue
        for line in content.decode(errors="replace").splitlines():
            digest, _, name = line.partition("  ")
            path = doors.MERGED.sub(r"/usr/\1/", "/" + name)
            if not _ASIDE.match(path):
                wanted[path] = digest
    return wanted
