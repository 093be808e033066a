"""What the letter's sources and Debian's packages are, by SHA-256."""

from __future__ import annotations

from pathlib import Path

from rpms import CONFIG, GHOST, File, Package

_LIB = "/usr/lib/x86_64-linux-gnu"
_PYTHON = "/usr/lib/python3/dist-packages"
SOURCES = {
    "beacon": {
        "beacon.c": "c3830a321a3fda3659d62c46e2532fd265a7c2d84719520a171952a7f666d3b5",
        "beacon.conf": "8debbc90aab82a33b5827090e1e9de8f020bf7d667b6364dffc7b43dac1f6362",
    },
    "tidelog": {
        "phrases": "2d1f5ecd0c02f05c844a67edc1ed8d4d1f4766c0660f924ba8d6f1d20b3b2e26",
        "tidelog.c": "3996c2537e2f2231c58aaa77c6652cda1eb2d527fa55bea4dbc63a69eb8cac16",
        "zone": "0de53ab3c043ea1f5a860e05a12b4319c6900d6df81c11c9894ed4103ab512b9",
    },
}
#: [R7]: files of Debian's packages, by path; those of NEEDED have to be there.
DEBIAN = {
    path: digest
    for digest, path in map(
        str.split, Path(__file__).with_name("debian.sha256").read_text().splitlines()
    )
}
NEEDED = (
    "/usr/bin/bash", "/usr/bin/rpm", "/usr/bin/dnf-3", "/usr/bin/python3.11", "/usr/bin/gpg",
    f"{_LIB}/librpm.so.9.3.0", f"{_LIB}/libdnf.so.2", f"{_LIB}/librepo.so.0", f"{_LIB}/libc.so.6",
    "/usr/lib/systemd/systemd", f"{_PYTHON}/dnf/base.py", f"{_PYTHON}/dnf/rpm/transaction.py",
    f"{_PYTHON}/rpm/_rpm.cpython-311-x86_64-linux-gnu.so",
)  # fmt: skip

#: [R6]: of systemd, bash, coreutils, findutils, grep, sed, gawk, mount, rpm, dnf, e2fsprogs and
#: python3 what Debian's package of it has.
EVERYWHERE = (
    "/usr/lib/systemd/systemd", "/usr/bin/bash", "/usr/bin/ls", "/usr/bin/find", "/usr/bin/grep",
    "/usr/bin/sed", "/usr/bin/gawk", "/usr/bin/mount", "/usr/bin/rpm", "/usr/bin/dnf-3",
    "/usr/sbin/mke2fs", "/usr/bin/python3.11",
)  # fmt: skip

OURS = {"beacon": "1.4-2.x86_64", "tidelog": "0.9-1.x86_64", "tidelog-phrases": "0.9-1.noarch"}
_FILES = {
    "beacon": {"/usr/bin/beacon": "", "/etc/beacon.conf": SOURCES["beacon"]["beacon.conf"]},
    "tidelog": {"/usr/bin/tidelog": "", "/etc/tidelog/zone": SOURCES["tidelog"]["zone"]},
    "tidelog-phrases": {"/usr/share/tidelog/phrases": SOURCES["tidelog"]["phrases"]},
}
_NOREPLACE = 16


def not_debians(files: list[File]) -> list[str]:
    """What is missing, or is there and is not Debian's to the bit [R7]."""
    held = {file.path: file.digest for file in files if not file.flags & GHOST}
    missing = [f"{path} is missing" for path in NEEDED if path not in held]
    return missing + [
        f"{path} is not Debian's"
        for path, digest in DEBIAN.items()
        if held.get(path, digest) != digest
    ]


def probed(packages: list[Package]) -> tuple[list[str], list[str]]:
    """Files that may be changed for a moment: of the distribution's packages, and programs of
    Debian's but for those that do the changing."""
    own = ("tidelog", "beacon", "almar-compose", "tidelog-phrases")
    busy = {f"/usr/bin/{name}" for name in ("rpm", "bash", "rm", "cp", "mv", "chmod", "chown")}
    found: tuple[list[str], list[str]] = ([], [])
    for package in packages:
        for file in package.files():
            if not file.digest or file.flags or "'" in file.path:
                continue
            if package.name in own:
                found[0].append(file.path)
            elif file.path in DEBIAN and "/bin/" in file.path and not file.mode & 0o6000:
                found[1].append(file.path)
    return found[0], [path for path in found[1] if path not in busy]


def faults(package: Package) -> str:
    """What is wrong with a package of the customer's programs, "" when nothing is."""
    name = package.name
    if package.nevra != f"{name}-0:{OURS[name]}":
        return f"it is {package.nevra}"
    files = {file.path: file for file in package.files()}
    for path, digest in _FILES[name].items():
        if path not in files or (digest and files[path].digest != digest):
            return f"{name}: {path} is missing or was changed"
        both = CONFIG | _NOREPLACE
        if files[path].flags & both != (both if path.startswith("/etc") else 0):
            return f"{name}: {path} is configuration that is replaced, or is none"
    phrases = "tidelog-phrases"
    hard, weak = ([one for one, _, _ in package.needs(k)] for k in ("requires", "recommends"))
    if name == "tidelog" and (phrases in hard or phrases not in weak):
        return f"tidelog does not recommend {phrases}, or requires it"
    return ""
