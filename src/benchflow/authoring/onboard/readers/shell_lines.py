"""Commands as people write them down: in CI files, documents, Makefiles, containers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchflow.authoring.onboard.facts import Findings

_STARTS = (
    # What a command is for, the first that fits.
    (
        "test",
        r"(?:python[\d.]* -m )?(?:pytest|nose2?|unittest|tox|nox)\b|python[\d.]* (?:-\w+ )*"
        r"(?:setup\.py test|manage\.py test|-m (?:pytest|unittest))|(?:npm|pnpm|yarn) "
        r"(?:run )?(?:test|t)\b|npx (?:jest|vitest|mocha)|(?:jest|vitest|mocha|ava)\b|go test"
        r"|cargo (?:test|nextest)|(?:g?make|ninja)(?: -\S+)* (?:test|check)s?(?![\w-])"
        r"|ctest|meson test"
        r"|prove\b|bundle exec (?:rspec|rake)|mvn (?:test|verify)|\./gradlew (?:test|check)"
        r"|hatch (?:run )?test|(?:uv|poetry|pipenv) run (?:python -m )?pytest|dotnet test",
    ),
    (
        "install",
        r"(?:python[\d.]* -m )?pip[\d.]* install|pipx install|pipenv install|poetry install"
        r"|uv (?:sync|pip install)|npm (?:ci|install|i)\b|pnpm (?:install|i)\b|yarn(?: install)?$"
        r"|(?:apt|apt-get|dnf|yum|apk|brew)(?: -\S+)* (?:install|add|build-dep)\b|go get\b"
        r"|go mod download|cargo install|bundle install|composer install"
        r"|python[\d.]* setup\.py (?:install|develop)|(?:g?make|ninja)(?: -\S+)* install\b",
    ),
    (
        "build",
        r"(?:npm|pnpm|yarn) (?:run )?build\b|go (?:build|generate|install)\b|cargo build"
        r"|\./(?:configure|autogen\.sh|bootstrap)\b|autoreconf|cmake\b|meson (?:setup|compile)"
        r"|ninja\b|python[\d.]* -m build\b|poetry build|(?:g?make)(?: -\S+)*(?: all| build)?$"
        r"|mvn (?:package|install)|\./gradlew (?:build|assemble)|tsc\b|dpkg-buildpackage",
    ),
    (
        "run",
        r"(?:gunicorn|uvicorn|hypercorn|waitress-serve|daphne|pserve|celery|flask run|streamlit)\b"
        r"|(?:python[\d.]* )(?:\S+/)?(?:app|main|server|run|wsgi|manage)\.py\b"
        r"|python[\d.]* -m \w[\w.]*$|(?:npm|pnpm|yarn) (?:run )?(?:start|serve|dev)\b"
        r"|node \S+\.[cm]?js|go run\b|cargo run\b|java -jar|bundle exec (?:rails|puma)|rails s",
    ),
)
_PURPOSES = tuple((purpose, re.compile(rf"(?:{text})")) for purpose, text in _STARTS)
#: An install of the project itself, or of all that it needs; others install a tool or a library.
_OWN = re.compile(
    r"(?:\s-e\s|\s-r\s|\s--requirement|\s\.(?:\[|\s|$|/)|requirements|\bsync\b"
    r"|npm (?:ci|install|i)$"
    r"|yarn|pnpm|poetry install|pipenv install|bundle install|composer install|mod download"
    r"|make \S*install|build-dep|setup\.py)"
)
_PROMPT = re.compile(r"^\s*(?:\$|%|>|#)\s+")
_BEFORE = re.compile(r"^(?:sudo(?: -\w+)*|time|env|exec|xvfb-run(?: -\S+)*|\w+=\S*)\s+")
_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)\s*([\w.+-]*)")
_SHELLS = {"", "sh", "bash", "shell", "console", "shell-session", "zsh", "text", "terminal"}


def purpose_of(line: str) -> str:
    """What a command is for: install, build, run, test, or nothing that is known."""
    bare = line
    while found := _BEFORE.match(bare):
        bare = bare[found.end() :]
    return next((purpose for purpose, starts in _PURPOSES if starts.match(bare)), "")


def take(findings: Findings, line: str, where: str, rank: int) -> bool:
    """Counts a line of shell by its purpose; whether it has one that is known."""
    bare = _PROMPT.sub("", line).strip().rstrip("\\").strip()
    if not bare or len(bare) > 300:
        return False
    kept = False
    for part in re.split(r"\s*(?:&&|;)\s*", bare):
        purpose = purpose_of(part)
        if purpose:
            far = 5 if purpose == "install" and not _OWN.search(part) else 0
            far += 2 if "=" in part.split(" ")[0] else 0
            findings.command(purpose, part, where, rank + far)
            kept = True
    return kept


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Lines of the code blocks of a document in Markdown or reStructuredText, with their number."""
    fence, shell, literal = "", False, False
    for number, line in enumerate(text.split("\n"), 1):
        if found := _FENCE.match(line):
            if not fence:
                fence, shell = found[1][0], found[2].lower() in _SHELLS
            elif found[1][0] == fence:
                fence = ""
            continue
        if fence:
            if shell:
                yield number, line
            continue
        if re.match(r"^\s*(?:\.\. (?:code|code-block|sourcecode)::|.*::\s*$)", line):
            literal = True
        elif line.strip() and not line.startswith((" ", "\t")):
            literal = False
        if (literal or line.startswith("    ")) and line.strip():
            yield number, line
