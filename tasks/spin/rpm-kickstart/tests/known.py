"""What the letter's sources and Debian's packages are, by SHA-256."""

from __future__ import annotations

from rpms import CONFIG, Package

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
DEBIAN = {
    "/usr/bin/bash": "55b89ab22bee4792a210f493a53fb066accd5d30b69837c28d98be5ff863efcf",
    "/usr/bin/rpm": "410500f9949954aefd76202a203d8177214e1b238f0ab3bf3bc50db98745bbda",
    "/usr/bin/dnf-3": "0a53d05260ba7ed4573c485a076254e7ec64816e3ad49a2078c84836aeb7833e",
    "/usr/bin/python3.11": "9bee109da0dce17a7c9eeaca9f420cc6770a9fe143b9382d73bd22fe59b21a5f",
    "/usr/bin/gpg": "f3a8498aa43e3a45f265d14211bba2653cacf2b9631f373db97b30f2cb96c738",
    f"{_LIB}/librpm.so.9.3.0": "c5405adca7dd2e84edefe4b46216cdd5e651cb9c6b2ff013957216e569b2d202",
    f"{_LIB}/libdnf.so.2": "3b2da8004151f742eeb054bdfb81d5959a4b0daef92a1dda6c770f789562030f",
    f"{_LIB}/librepo.so.0": "92f661dc2523abae82a590155ae4e15a9ca781692232b9369c2e1b7caf13adb9",
    f"{_LIB}/libc.so.6": "6b4a45352fd0c540a9c7c718f35ce8c8e46a4e482f9d3885a910c32d1a0e1421",
    "/usr/lib/systemd/systemd": "090f8a0a2d2a7ca55b2eecb59023bd6df004a6694a8a7f43a701a394e9f477f6",
    f"{_PYTHON}/dnf/base.py": "b9e6c1c68c589ccb9531fefdc85a1686b02ec0bfa90cfa9c9a13befef1c3cb88",
    f"{_PYTHON}/dnf/rpm/transaction.py": (
        "4750ade453c241887e7e2e818ddb93634c7884e4d0fb6578708baadbb65838bd"
    ),
    f"{_PYTHON}/rpm/_rpm.cpython-311-x86_64-linux-gnu.so": (
        "1e14f278626cee3ae174486c290be9988d7da1ec545408c5dddba728946f8131"
    ),
}

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
