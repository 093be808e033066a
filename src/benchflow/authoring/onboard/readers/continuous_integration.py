"""CI files: what the project itself runs to install, build and test, and beside which services."""

from __future__ import annotations

import re

from benchflow.authoring.onboard.facts import Fact, Findings, Lines
from benchflow.authoring.onboard.readers import shell_lines, yaml_nodes
from benchflow.authoring.onboard.readers.settings import image_service

_FILES = (
    r"\.github/workflows/[^/]+\.ya?ml",
    r"\.gitlab-ci\.yml",
    r"\.circleci/config\.yml",
    r"\.travis\.yml",
    r"azure-pipelines\.yml",
    r"\.woodpecker(?:/[^/]+)?\.ya?ml",
    r"\.drone\.yml",
    r"\.cirrus\.yml",
    r"debian/(?:salsa-ci|gitlab-ci)\.yml",
)
_KEYS = ("run", "script", "before_script", "install", "before_install", "commands")
_EXPRESSION = re.compile(r"\$\{\{[^}]*\}\}")
_RELEASES = re.compile(r"release|publish|docs?\b|deploy|stale|codeql|label|lint", re.IGNORECASE)


def read(findings: Findings) -> None:
    """All CI files; commands of tests weigh more than those of releases."""
    for name in findings.tree.named(*_FILES):
        document = yaml_nodes.parse(findings.tree.text(name))
        shown = Lines(name, "").name
        rank = 6 if _RELEASES.search(name.rpartition("/")[2]) else 2
        for key in _KEYS:
            for node in yaml_nodes.walk(document, key):
                for one in [node, *yaml_nodes.items(node)]:
                    _commands(findings, one, shown, rank)
        for node in yaml_nodes.walk(document, "image"):
            _service(findings, node, shown)
        for node in yaml_nodes.walk(document, "services"):
            for one in yaml_nodes.items(node):
                _service(findings, one, shown)
        for node in yaml_nodes.walk(document, "env"):
            for variable, value in yaml_nodes.pairs(node):
                if (
                    re.fullmatch(r"[A-Z][A-Z0-9_]{1,79}", variable)
                    and variable in findings.variables
                ):
                    where = f"{shown}:{yaml_nodes.line(value)}"
                    findings.variable(variable, where, _EXPRESSION.sub("", yaml_nodes.text(value)))
        if not any(one.where.startswith(shown) for one in findings.systems):
            findings.systems.append(Fact("CI", f"{shown}:1"))


def _commands(findings: Findings, node: object, shown: str, rank: int) -> None:
    text = yaml_nodes.text(node)
    first = yaml_nodes.line(node) + (1 if "\n" in text.strip("\n") or text.endswith("\n") else 0)
    joined = re.sub(r"\\\n\s*", lambda m: " " + "\0" * m[0].count("\n"), text)
    number = first
    for line in joined.split("\n"):
        bare = _EXPRESSION.sub("…", line.replace("\0", ""))
        if "…" not in bare:
            shell_lines.take(findings, bare, f"{shown}:{number}", rank)
        number += 1 + line.count("\0")


def _service(findings: Findings, node: object, shown: str) -> None:
    image = yaml_nodes.text(node)
    if kind := image_service(image):
        findings.service(kind, f"CI: {image}", f"{shown}:{yaml_nodes.line(node)}")
