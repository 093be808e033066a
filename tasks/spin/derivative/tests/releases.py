"""What the instruction says is in each archive, and what of a delivered one is otherwise."""

from __future__ import annotations

import hashlib
import re

from delivered import SUITES, Suite

ALKE = {"holm-archive-keyring": "1.1", "holm-base": "1.0", "holm-tally": "1.0", "holm-tools": "1.0",
        "holm-relay": "1.0", "hello": "2.9-1holm1"}  # fmt: skip
BRIS = {"holm-archive-keyring": "2.0", "holm-base": "2.0", "holm-registry": "2.0",
        "holm-tools": "2.0", "holm-clock": "2.0", "hello": "2.9-1holm2"}  # fmt: skip
CONTENT = {"alke": ALKE, "bris": BRIS}
# Debian 12's packages, which no point release has changed.
DEBIAN = {
    "hello": "2e6e2f1a0007dc43bc91c273fd36e91e40a4f1c2765a03eca68b70a42103878a",
    "bc": "baaa4e935c5e3bcd57d4f2f4e7a1ddc67bd4eb8629d98f97a696548849ae01ac",
}
_THEIRS = re.compile(r"@([a-z.]+\.)?(debian|ubuntu)\.(org|com)>")


def not_as_ordered(suite: Suite) -> list[str]:
    """What of [R2] a suite is not."""
    wrong = list(suite.problems)
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
    """What of [R3] a suite has not, or in another version."""
    wrong = []
    for name, version in CONTENT[suite.name].items():
        package = suite.packages.get(name)
        if package is None or package.version != version:
            found = package and package.version
            wrong.append(f"{suite.name} has {name} {found}, not {version}")
    if suite.name == "bris" and "holm-relay" in suite.packages:
        wrong.append("bris has holm-relay")
    return wrong


def not_unchanged(base: Suite) -> list[str]:
    """Which of Debian's packages in [R4] are missing or others."""
    return [
        name
        for name, digest in DEBIAN.items()
        if name not in base.packages
        or hashlib.sha256(base.packages[name].data).hexdigest() != digest
    ]


def debians(suite: Suite, base: Suite) -> list[str]:
    """Packages of Debian's in a suite of ours: the base has them, or somebody there keeps them."""
    theirs = set(base.packages) & set(suite.packages)
    theirs |= {
        package.name
        for package in suite.packages.values()
        if _THEIRS.search(package.control.get("maintainer", ""))
    }
    return sorted(theirs - {"hello"})
