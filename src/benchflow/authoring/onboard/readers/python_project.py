"""Python: pyproject.toml, setup.cfg, setup.py (its syntax tree alone), requirements, tox.ini."""

from __future__ import annotations

import ast
import configparser
import re
import textwrap
import tomllib

from benchflow.authoring.onboard.facts import Fact, Findings, Lines, strings, table, text_of
from benchflow.authoring.onboard.tree import Note

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;#@]*)")
_TEST_GROUPS = re.compile(r"test|dev|lint|ci|check", re.IGNORECASE)
_TESTS = re.compile(r"(?:^|[\s/])(?:py\.?test|unittest|stestr|nose2?)\b|run[-_]tests?(?:\.sh)?\b")
_DIRECT = re.compile(r"(?:^|@\s*|-e\s+)((?:git|hg|svn|bzr)\+\S+|https?://\S+)")


def read(findings: Findings) -> None:
    """What Python's build files at the top say."""
    tree = findings.tree
    if "pyproject.toml" in tree.sizes:
        _pyproject(findings)
    if "setup.cfg" in tree.sizes:
        _setup_cfg(findings)
    if "setup.py" in tree.sizes:
        _setup_py(findings)
    for name in tree.named(
        r"[^/]*requirements[^/]*\.(?:txt|in)", r"requirements/[^/]+\.(?:txt|in)"
    ):
        _requirements(findings, name)
    if "tox.ini" in tree.sizes:
        _tox(findings)
    packages = [name for name in ("pyproject.toml", "setup.py", "setup.cfg") if name in tree.sizes]
    if packages:
        findings.command("install", "pip install .", f"{packages[0]}:1", 6)
    elif "requirements.txt" in tree.sizes:
        findings.command("install", "pip install -r requirements.txt", "requirements.txt:1", 5)
    if "manage.py" in tree.sizes and "DJANGO_SETTINGS_MODULE" in tree.text("manage.py"):
        where = Lines("manage.py", tree.text("manage.py")).of("DJANGO_SETTINGS_MODULE")
        findings.command("run", "python manage.py runserver", where, 5)
        findings.command("test", "python manage.py test", where, 7)
    _suite(findings)


def _tox(findings: Findings) -> None:
    text = findings.tree.text("tox.ini")
    for line in _ini(text).get("testenv", {}).get("commands", "").splitlines():
        command = re.sub(r"\s*\{posargs[^}]*\}", "", line.strip().lstrip("-")).strip()
        if _TESTS.search(command):
            where = Lines("tox.ini", text).of("[testenv]", line.strip())
            findings.command("test", command.replace("{toxinidir}", "."), where, 3)


def _suite(findings: Findings) -> None:
    own = r"(?:test_[^/]*|[^/]*_test|tests)\.py"
    tests = list(findings.tree.named(rf"(?:.*/)?tests?/(?:.*/)?{own}", r"test_[^/]*\.py"))
    tests = tests or list(findings.tree.named(rf"(?:.*/)?{own}"))
    if not tests:
        return
    findings.suites.append(Fact(f"{len(tests)} Python test files", f"{tests[0]}:1"))
    for name in ("pytest.ini", "conftest.py", "tests/conftest.py"):
        if name in findings.tree.sizes:
            findings.command("test", "python -m pytest", f"{name}:1", 4)
            return
    sample = next((n for n in tests if "pytest" in findings.tree.text(n)), None)
    if sample:
        where = Lines(sample, findings.tree.text(sample)).of("pytest")
        findings.command("test", "python -m pytest", where, 7)
    else:
        findings.command("test", "python -m unittest", f"{tests[0]}:1", 8)


def _pyproject(findings: Findings) -> None:
    text = findings.tree.text("pyproject.toml")
    lines = Lines("pyproject.toml", text)
    data = tomllib.loads(text)
    project, tool = table(data.get("project")), table(data.get("tool"))
    poetry = table(tool.get("poetry"))
    named = project or poetry
    if name := text_of(named.get("name")):
        findings.name = Fact(name, lines.of("name", name))
    if about := text_of(named.get("description")):
        findings.about = Fact(about, lines.of("description"))
    licence = project.get("license", poetry.get("license"))
    if said := text_of(licence) or text_of(table(licence).get("text")):
        findings.licences.append(Fact(said, lines.of("license"), 1))
    for one in strings(project.get("classifiers")):
        if one.startswith("License ::"):
            findings.licences.append(Fact(one.rpartition("::")[2].strip(), lines.of(one), 2))
    if said := text_of(project.get("requires-python")):
        findings.depend("python", "system", "runtime", lines.of("requires-python"), said)
    _each(findings, strings(project.get("dependencies")), "runtime", lines)
    for group, wanted in table(project.get("optional-dependencies")).items():
        scope = "test" if _TEST_GROUPS.search(group) else "optional"
        _each(findings, strings(wanted), scope, lines)
    for wanted in table(data.get("dependency-groups")).values():
        _each(findings, strings(wanted), "test", lines)
    _each(findings, strings(table(data.get("build-system")).get("requires")), "build", lines)
    for name, version in table(poetry.get("dependencies")).items():
        scope = "optional" if table(version).get("optional") else "runtime"
        findings.depend(name, "python", scope, lines.of("dependencies", name), text_of(version))
    for name in (*table(project.get("scripts")), *table(poetry.get("scripts"))):
        findings.command("run", name, lines.of("scripts]", name), 6)
    if "pytest" in tool:
        findings.command("test", "python -m pytest", lines.of("[tool.pytest"), 3)


def _each(findings: Findings, wanted: list[str], scope: str, lines: Lines) -> None:
    for one in wanted:
        _need(findings, one, scope, lines.of(one))


def _need(findings: Findings, requirement: str, scope: str, where: str) -> None:
    if direct := _DIRECT.search(requirement):
        findings.online.append(Fact(f"a dependency from {direct[1][:120]}", where))
    if found := _REQUIREMENT.match(requirement):
        findings.depend(found[1], "python", scope, where, found[2].strip())


def _ini(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",))
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from None
    return {name: dict(parser[name]) for name in parser.sections()}


def _setup_cfg(findings: Findings) -> None:
    text = findings.tree.text("setup.cfg")
    lines, data = Lines("setup.cfg", text), _ini(text)
    metadata, options = data.get("metadata", {}), data.get("options", {})
    if name := metadata.get("name"):
        findings.name = findings.name or Fact(name, lines.of("name", name))
    if about := metadata.get("description") or metadata.get("summary"):
        findings.about = findings.about or Fact(about, lines.of(about))
    if licence := metadata.get("license"):
        findings.licences.append(Fact(licence, lines.of("license"), 1))
    for one in options.get("install_requires", "").splitlines():
        _need(findings, one, "runtime", lines.of("install_requires", one.strip()))
    for group, wanted in data.get("options.extras_require", {}).items():
        scope = "test" if _TEST_GROUPS.search(group) else "optional"
        for one in wanted.splitlines():
            _need(findings, one, scope, lines.of("extras_require", one.strip()))
    scripts = data.get("options.entry_points", data.get("entry_points", {}))
    for one in scripts.get("console_scripts", "").splitlines():
        name = one.partition("=")[0].strip()
        findings.command("run", name, lines.of("console_scripts", name), 6)
    if "tool:pytest" in data:
        findings.command("test", "python -m pytest", lines.of("[tool:pytest]"), 3)


def _setup_py(findings: Findings) -> None:
    """The call of setup() as it stands; what it computes is not computed here."""
    text = findings.tree.text("setup.py")
    if len(text) > 256 << 10:
        raise ValueError("too large")
    try:
        parsed = ast.parse(text)
    except (SyntaxError, MemoryError) as error:
        raise ValueError(f"no Python of this version: {error}") from None
    values = {
        target.id: node.value
        for node in parsed.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in (node for node in ast.walk(parsed) if isinstance(node, ast.Call)):
        called = call.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name == "setup":
            for given in call.keywords:
                value = given.value
                if isinstance(value, ast.Name):
                    value = values.get(value.id, value)
                _setup_argument(findings, given.arg or "", value)


def _setup_argument(findings: Findings, name: str, value: ast.expr) -> None:
    where = f"setup.py:{value.lineno}"
    plain = _literal(value)
    if name == "name" and isinstance(plain, str):
        findings.name = findings.name or Fact(plain, where)
    elif name == "description" and isinstance(plain, str):
        findings.about = findings.about or Fact(plain, where)
    elif name == "license" and isinstance(plain, str):
        findings.licences.append(Fact(plain, where, 1))
    elif name == "install_requires":
        _setup_needs(findings, value, "runtime", where)
    elif name in ("tests_require", "setup_requires"):
        _setup_needs(findings, value, "test" if name[0] == "t" else "build", where)
    elif name == "extras_require":
        for group, wanted in table(plain).items():
            scope = "test" if _TEST_GROUPS.search(group) else "optional"
            for one in strings(wanted):
                _need(findings, one, scope, where)
    elif name == "entry_points":
        _programs(findings, plain, where)


def _programs(findings: Findings, entries: object, where: str) -> None:
    """What setup() calls entry_points: a table, or a text like an ini file."""
    if isinstance(entries, str):
        known = _ini(textwrap.dedent(entries)).get("console_scripts", {})
        given = list(known)
    else:
        rows = table(entries).get("console_scripts", [])
        given = rows.splitlines() if isinstance(rows, str) else strings(rows)
    for one in given:
        findings.command("run", one.partition("=")[0].strip(), where, 6)


def _setup_needs(findings: Findings, value: ast.expr, scope: str, where: str) -> None:
    plain = _literal(value)
    if not isinstance(plain, list):
        findings.notes.append(Note(f"{scope} dependencies are computed, not stated", where))
        return
    for one in strings(plain):
        _need(findings, one, scope, where)


def _literal(value: ast.expr) -> object:
    try:
        plain: object = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return None
    return list(plain) if isinstance(plain, tuple) else plain


def _requirements(findings: Findings, name: str) -> None:
    scope = "test" if re.search(r"test|dev|lint|doc|ci\b", name, re.IGNORECASE) else "runtime"
    lines = Lines(name, "")
    for number, line in enumerate(findings.tree.text(name).split("\n"), 1):
        bare = line.partition(" #")[0].strip()
        if bare and not bare.startswith(("#", "-r", "-c", "--")):
            _need(findings, bare, scope, f"{lines.name}:{number}")
