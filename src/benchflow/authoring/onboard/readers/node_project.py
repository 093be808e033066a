"""Node: package.json at the top and of its workspaces."""

from __future__ import annotations

import json
import re

from benchflow.authoring.onboard.facts import Fact, Findings, Lines, strings, table, text_of
from benchflow.authoring.onboard.tree import Note

_ELSEWHERE = re.compile(
    r"(?:git(?:\+\w+)?|https?|ssh)://|^git@|^[\w.-]+/[\w.-]+(?:#\S+)?$|^github:"
)
_NO_TEST = "no test specified"


def read(findings: Findings) -> None:
    """What package.json says; its scripts are read, never run."""
    tree = findings.tree
    if "package.json" not in tree.sizes:
        return
    text = tree.text("package.json")
    lines, data = Lines("package.json", text), table(json.loads(text))
    if name := text_of(data.get("name")):
        findings.name = findings.name or Fact(name, lines.of('"name"'))
    if about := text_of(data.get("description")):
        findings.about = findings.about or Fact(about, lines.of('"description"'))
    if licence := text_of(data.get("license")) or text_of(table(data.get("license")).get("type")):
        findings.licences.append(Fact(licence, lines.of('"license"'), 1))
    _needs(findings, data, lines)
    _install(findings)
    _scripts(findings, data, lines)
    if version := text_of(table(data.get("engines")).get("node")):
        findings.depend("node", "system", "runtime", lines.of('"engines"'), version)
    spaces = data.get("workspaces")
    if spaces:
        several = strings(spaces) or strings(table(spaces).get("packages"))
        findings.notes.append(
            Note(f"several packages in one: {', '.join(several)[:200]}", lines.of('"workspaces"'))
        )
    tests = list(
        tree.named(r"(?:.*/)?[^/]+\.(?:test|spec)\.[cm]?[jt]sx?", r"tests?/.*\.[cm]?[jt]s")
    )
    if tests:
        findings.suites.append(Fact(f"{len(tests)} JavaScript test files", f"{tests[0]}:1"))


def _needs(findings: Findings, data: dict[str, object], lines: Lines) -> None:
    kinds = (
        ("dependencies", "runtime"),
        ("devDependencies", "test"),
        ("optionalDependencies", "optional"),
        ("peerDependencies", "optional"),
    )
    for key, scope in kinds:
        for name, version in table(data.get(key)).items():
            where = lines.of(f'"{key}"', f'"{name}"')
            findings.depend(name, "node", scope, where, text_of(version))
            if _ELSEWHERE.search(text_of(version)) and not text_of(version).startswith("npm:"):
                findings.online.append(
                    Fact(f"the dependency {name} from {text_of(version)[:120]}", where)
                )


def _install(findings: Findings) -> None:
    locks = {
        "package-lock.json": "npm ci",
        "npm-shrinkwrap.json": "npm ci",
        "yarn.lock": "yarn install --frozen-lockfile",
        "pnpm-lock.yaml": "pnpm install --frozen-lockfile",
    }
    for lock, command in locks.items():
        if lock in findings.tree.sizes:
            findings.command("install", command, f"{lock}:1", 4)
            return
    findings.command("install", "npm install", "package.json:1", 6)


def _scripts(findings: Findings, data: dict[str, object], lines: Lines) -> None:
    scripts = table(data.get("scripts"))
    for name, purpose in (("build", "build"), ("test", "test"), ("start", "run"), ("serve", "run")):
        script = text_of(scripts.get(name))
        if script and _NO_TEST not in script:
            command = f"npm {name}" if name in ("test", "start") else f"npm run {name}"
            findings.command(purpose, command, lines.of('"scripts"', f'"{name}"'), 4)
    for name in ("preinstall", "install", "postinstall", "prepare"):
        if script := text_of(scripts.get(name)):
            where = lines.of('"scripts"', f'"{name}"')
            findings.notes.append(Note(f"runs at install: {script[:160]}", where))
    programs = data.get("bin")
    named = table(programs) or ({text_of(data.get("name")): ""} if text_of(programs) else {})
    for name in named:
        findings.command("run", name, lines.of('"bin"'), 7)
    if not programs and "start" not in scripts and "server.js" in findings.tree.sizes:
        findings.command("run", "node server.js", "server.js:1", 6)
