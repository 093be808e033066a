"""A Debian source package: debian/control, rules, tests and copyright."""

from __future__ import annotations

import re

from benchflow.authoring.onboard.facts import Fact, Findings, Lines
from benchflow.authoring.onboard.tree import Note

_FIELD = re.compile(r"^([A-Za-z][\w-]*):[ \t]*(.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_NEED = re.compile(r"([a-z0-9][a-z0-9.+-]+)(?::\w+)?\s*(?:\(([^)]*)\))?")


def read(findings: Findings) -> None:
    """What debian/ says; rules is a Makefile that runs commands, so it is only looked at."""
    tree = findings.tree
    if "debian/control" not in tree.sizes:
        return
    text = tree.text("debian/control")
    lines = Lines("debian/control", text)
    for found in _FIELD.finditer(text):
        key, value = found[1], re.sub(r"^\s*#.*$", "", found[2], flags=re.MULTILINE)
        where = lines.at(found.start())
        if key == "Source":
            findings.name = findings.name or Fact(value.strip(), where)
        elif key == "Description" and findings.about is None:
            findings.about = Fact(value.split("\n")[0].strip(), where)
        elif key.startswith("Build-Depends"):
            _needs(findings, value, "build", where)
        elif key in ("Depends", "Recommends"):
            _needs(findings, value, "runtime" if key == "Depends" else "optional", where)
    if "debian/rules" in tree.sizes:
        findings.command("install", "apt-get build-dep .", where="debian/control:1", rank=3)
        findings.command("build", "dpkg-buildpackage -us -uc -b", "debian/rules:1", 4)
        rules = tree.text("debian/rules")
        if own := re.search(r"^override_dh_auto_test:.*\n(?:\t.*\n?)*", rules, re.MULTILINE):
            where = Lines("debian/rules", rules).at(own.start())
            findings.notes.append(Note("Debian runs the tests in its own way", where))
    for name in tree.named(r"debian/(?:[^/]+\.)?(?:service|init)"):
        unit = tree.text(name)
        for found in re.finditer(r"^ExecStart=[-@:+!]*(.+)$", unit, re.MULTILINE):
            findings.command("run", found[1].strip(), Lines(name, unit).at(found.start()), 3)
    if "debian/tests/control" in tree.sizes:
        findings.suites.append(Fact("tests of the installed package", "debian/tests/control:1"))
    if "debian/copyright" in tree.sizes:
        copyright_text = tree.text("debian/copyright")
        if said := re.search(r"^License:[ \t]*(\S.*)$", copyright_text, re.MULTILINE):
            where = Lines("debian/copyright", copyright_text).at(said.start())
            findings.licences.append(Fact(said[1].strip(), where, 3))
    if "debian/patches/series" in tree.sizes:
        count = len(tree.text("debian/patches/series").split())
        if count:
            findings.notes.append(
                Note(
                    f"{count} patches of Debian's come before the build", "debian/patches/series:1"
                )
            )


def _needs(findings: Findings, value: str, scope: str, where: str) -> None:
    for one in re.split(r"[,\n]", value):
        first = one.split("|")[0].strip()
        if "${" in first or not (found := _NEED.match(first)):
            continue
        own = "test" if "!nocheck" in first else scope
        findings.depend(found[1], "debian", own, where, (found[2] or "").strip())
