"""What the order says is in each suite, and what of a delivered one is otherwise."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping

from archives import SUITES

from benchflow.bench.apt_archive import Suite

ALKE = {"holm-archive-keyring": "1.2", "holm-base": "1.1"}
BRIS = {"holm-archive-keyring": "2.1", "holm-base": "2.1"}
DORG = {"holm-archive-keyring": "3.0", "holm-base": "3.0", "holm-ledger": "3.0",
        "holm-report": "3.0", "holm-tools": "3.0", "holm-clock": "3.0",
        "hello": "2.9-1holm3"}  # fmt: skip
#: Path → SHA-256 of the order's programs as they lie on a station.
PROGRAMS = {
    "/usr/sbin/holm-ledger": "53dc2998cf521627c6c72b25f2b5a1b71620668321ec1fd35248f84220276004",
    "/usr/bin/holm-report": "3603cbacd4ee37ef953b686d996b20e7b5eb3d4c45146a6b2d1c9d449bab8f1d",
    "/usr/bin/holm-clock": "a370ca368bdc028c32f2021fac585e69945604f405d81f5a32cc8b8c16ca04ce",
    "/usr/bin/hello": "7b104a5a5368171e21f01aa13ed0d6bbd16a5843785ba6710b158f83689e42d7",
}
CONFIGURATION = ("/etc/holm/report.conf", "/etc/holm/site.conf")
CONTENT = {"alke": ALKE, "bris": BRIS, "dorg": DORG}
#: What is gone in 3.0; a package of this name without content may be there for the passage.
GONE = ("holm-registry", "holm-tally")


def not_as_ordered(suite: Suite) -> list[str]:
    """What of [R2] a suite is not."""
    wrong = []
    said = {key: suite.release.get(key) for key in ("codename", "suite", "origin")}
    origin = "Holm" if SUITES[suite.name] == "holm" else "Debian"
    wanted = {"codename": suite.name, "suite": suite.name, "origin": origin}
    if said != wanted:
        wrong.append(f"the Release says {said}, not {wanted}")
    if not suite.release.get("date") or "valid-until" in suite.release:
        wrong.append("the Release has no Date, or a Valid-Until")
    for package in suite.packages.values():
        is_ = tuple(package.control.get(key) for key in ("package", "version"))
        if is_ != (package.name, package.version):
            wrong.append(f"{package.path} is {is_}; in the index: {package.name} {package.version}")
    return [f"{suite.name}: {line}" for line in wrong]


def not_the_content(suite: Suite) -> list[str]:
    """What of [R3] and [R4] a suite has not, or in another version."""
    found = {name: package.version for name, package in suite.packages.items()}
    wrong = [
        f"{suite.name} has {name} {found.get(name)}, not {version}"
        for name, version in CONTENT[suite.name].items()
        if found.get(name) != version
    ]
    if suite.name == "dorg":
        wrong += [f"dorg has {name}" for name in found if name == "holm-relay"]
        wrong += [f"dorg has {n} {found[n]}" for n in GONE if found.get(n, "3.0") != "3.0"]
    return wrong


def not_the_programs(say: Callable[[str], str]) -> list[str]:
    """What of SERVICES.md's files is another than the order's, or of another mode or owner."""
    wrong = []
    for path, wanted in PROGRAMS.items():
        if say(f"sha256sum <{path}").split()[0] != wanted:
            wrong.append(f"{path} is not the order's")
    for path in (*PROGRAMS, *CONFIGURATION):
        mode = "755" if path in PROGRAMS else "644"
        if (found := say(f"stat -L -c '%a %u %g' {path}")) != f"{mode} 0 0":
            wrong.append(f"{path}: mode and owner are {found}, not {mode} of root")
    return wrong


def not_kept(now: Mapping[str, Suite], then: Mapping[str, Suite]) -> list[str]:
    """What the suites of then had and have no longer, or have otherwise in the same version."""
    wrong = []
    for name, suite in then.items():
        for package in suite.packages.values():
            found = now[name].packages.get(package.name)
            if found is None:
                wrong.append(f"{name} has no {package.name} any more")
            elif found.version == package.version and _sum(found.data) != _sum(package.data):
                wrong.append(f"{name}: another {package.name} {package.version} than before")
            elif name == "bookworm" and found.version != package.version:
                wrong.append(f"bookworm has {package.name} {found.version}")
            elif _main(found.version) < _main(package.version):
                wrong.append(f"{name} has a lower {package.name}, {found.version}")
    return wrong


def _sum(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _main(version: str) -> list[int]:
    """The numbers of a version, in which ours differ from each other."""
    return [int(number) for number in re.findall(r"\d+", version)]
