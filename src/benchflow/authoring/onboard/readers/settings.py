"""Variables and keys, services and ports: examples of settings, code, compose files, containers."""

from __future__ import annotations

import re

from benchflow.authoring.onboard.facts import Fact, Findings, Lines
from benchflow.authoring.onboard.readers import shell_lines, yaml_nodes
from benchflow.authoring.onboard.tree import is_foreign, is_test, shown

_MAILS = re.compile(rb"^\s*(?:import|from) smtplib\b", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*#?[ \t]?(?:export[ \t]+)?([A-Z][A-Z0-9_]{1,79})[ \t]*=[ \t]*(.*)$")
_NAME = r"([A-Z][A-Z0-9_]{1,79})"
_READS = {
    "py": rf"(?:environ(?:\.get|\.setdefault|\.pop)?\s*[\[(]|getenv\(|\benv(?:\.\w+)?\(|\bconfig\()"
    rf"\s*"
    rf"""f?r?["']{_NAME}["']""",
    "js": rf"""process\.env(?:\.|\[["']){_NAME}""",
    "go": rf"""\bos\.(?:Getenv|LookupEnv)\("{_NAME}"\)""",
    "rs": rf"""\benv::var(?:_os)?\("{_NAME}"\)""",
    "rb": rf"""\bENV(?:\.fetch\(|\[)["']{_NAME}["']""",
    "php": rf"""\b(?:getenv|env)\(["']{_NAME}["']""",
    "c": rf"""\b(?:secure_)?getenv\(\s*"{_NAME}"\s*\)""",
}
_ALIKE = {
    "mjs": "js",
    "cjs": "js",
    "ts": "js",
    "tsx": "js",
    "jsx": "js",
    "cc": "c",
    "cpp": "c",
    "h": "c",
}
_PATTERNS = {kind: re.compile(text) for kind, text in _READS.items()}
_EXAMPLES = (
    r"(?:.*/)?\.?env[.\-_](?:\w+[.\-_])*(?:example|sample|template|dist|default)s?",
    r"(?:.*/)?(?:example|sample)\.env",
    r"(?:.*/)?\.env(?:\.development)?",
)
_OF_THE_SYSTEM = {
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "PWD", "TMPDIR", "TEMP", "TMP", "CI",
    "EDITOR", "VISUAL", "DISPLAY", "LOGNAME", "HOSTNAME", "PYTHONPATH", "PYTHONHASHSEED", "DESTDIR",
    "CC", "CXX", "CFLAGS", "LDFLAGS", "CPPFLAGS", "GOPATH", "GOROOT", "CARGO_MANIFEST_DIR",
    "OUT_DIR", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "DEBIAN_FRONTEND", "NODE_ENV",
    "NO_COLOR", "COLUMNS", "LINES", "PAGER", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "GITHUB_ACTIONS", "READTHEDOCS",
}  # fmt: skip
_IMAGES = (
    ("postgresql", r"postgres|postgis|timescale|pgvector"),
    ("redis", r"redis|valkey|keydb|dragonfly"),
    ("mysql", r"mysql|mariadb|percona"),
    ("mongodb", r"mongo"),
    ("s3", r"minio|localstack|ceph|moto|garage"),
    ("smtp", r"mailhog|mailpit|mailcatcher|maildev|postfix|smtp4dev"),
    ("oidc", r"keycloak|dex|hydra|authentik|mock-oauth2"),
    ("rabbitmq", r"rabbitmq"),
    ("kafka", r"kafka|redpanda"),
    ("elasticsearch", r"elasticsearch|opensearch"),
    ("memcached", r"memcached"),
    ("nats", r"nats"),
)  # fmt: skip
_IMAGES_RE = tuple((kind, re.compile(rf"(?:^|[/-])(?:{text})", re.I)) for kind, text in _IMAGES)


def read(findings: Findings) -> None:
    """Examples first, as they have values and words; then what the code reads."""
    tree = findings.tree
    for name in tree.named(*_EXAMPLES):
        lines = Lines(name, "")
        for number, line in enumerate(tree.text(name).split("\n"), 1):
            if found := _ROW.match(line):
                value = found[2].strip().strip("\"'")
                findings.variable(found[1], f"{lines.name}:{number}", value)
    for name in tree.named(r"(?:.*/)?(?:docker-)?compose[^/]*\.ya?ml"):
        _compose(findings, name)
    for name in tree.named(
        r"Dockerfile[^/]*", r"(?:docker|deploy|build|contrib)/(?:.*/)?Dockerfile[^/]*"
    ):
        _dockerfile(findings, name)
    if "Procfile" in tree.sizes:
        for number, line in enumerate(tree.text("Procfile").split("\n"), 1):
            kind, mark, command = line.partition(":")
            if mark:
                rank = 2 if kind.strip() == "web" else 3
                findings.command("run", command, f"Procfile:{number}", rank)
    _code(findings)


def _code(findings: Findings) -> None:
    for name in sorted(findings.tree.sizes, key=lambda one: (one.count("/"), one)):
        ending = name.rpartition(".")[2]
        pattern = _PATTERNS.get(_ALIKE.get(ending, ending))
        if pattern is None or is_foreign(name) or is_test(name):
            continue
        data = findings.tree.bytes_of(name)
        if ending == "py" and (mails := _MAILS.search(data)):
            line = data.count(b"\n", 0, mails.start()) + 1
            findings.service("smtp", "code: smtplib", f"{shown(name)}:{line}")
        if b"env" not in data.lower() and b"config(" not in data:
            continue
        text = data.decode("utf-8", "replace")
        lines = None
        for found in pattern.finditer(text):
            lines = lines or Lines(name, text)
            if found[1] not in _OF_THE_SYSTEM:
                findings.variable(found[1], lines.at(found.start(1)))


def image_service(image: str) -> str:
    """The service that a container image is, if it is one that is known."""
    bare = re.sub(r"[:@].*$", "", image.rpartition("/")[2]) or image
    return next((kind for kind, wanted in _IMAGES_RE if wanted.search(bare)), "")


def _compose(findings: Findings, name: str) -> None:
    document = yaml_nodes.parse(findings.tree.text(name))
    for service, told in yaml_nodes.pairs(yaml_nodes.get(document, "services")):
        place = f"{Lines(name, '').name}:{yaml_nodes.line(told)}"
        image = yaml_nodes.get(told, "image")
        kind = image_service(yaml_nodes.text(image))
        if kind:
            where = f"{Lines(name, '').name}:{yaml_nodes.line(image)}"
            findings.service(kind, f"compose: {yaml_nodes.text(image)}", where)
            continue
        if not is_test(name):
            _own_service(findings, name, service, told, place)


def _own_service(findings: Findings, name: str, service: str, told: object, place: str) -> None:
    file = Lines(name, "").name
    for node in yaml_nodes.items(yaml_nodes.get(told, "ports")):
        if found := re.search(r"(\d{2,5})(?:/tcp)?$", yaml_nodes.text(node)):
            findings.ports.append(Fact(found[1], f"{file}:{yaml_nodes.line(node)}", 3))
    command = yaml_nodes.get(told, "command")
    words = yaml_nodes.text(command) or " ".join(map(yaml_nodes.text, yaml_nodes.items(command)))
    if words:
        findings.command("run", words, f"{file}:{yaml_nodes.line(command)}", 4)
    variables = yaml_nodes.get(told, "environment")
    for key, value in yaml_nodes.pairs(variables):
        if re.fullmatch(_NAME, key):
            where = f"{file}:{yaml_nodes.line(value)}"
            findings.variable(key, where, yaml_nodes.text(value))
    for node in yaml_nodes.items(variables):
        key, _, example = yaml_nodes.text(node).partition("=")
        if re.fullmatch(_NAME, key):
            findings.variable(key, f"{file}:{yaml_nodes.line(node)}", example)
    image = yaml_nodes.text(yaml_nodes.get(told, "image"))
    if image and yaml_nodes.get(told, "build") is None:
        findings.online.append(Fact(f"the service {service} from the image {image[:100]}", place))


def _dockerfile(findings: Findings, name: str) -> None:
    text = findings.tree.text(name)
    file = Lines(name, "").name
    started: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        word, _, rest = line.strip().partition(" ")
        where = f"{file}:{number}"
        if word == "EXPOSE":
            for port in re.findall(r"\b(\d{2,5})\b", rest):
                findings.ports.append(Fact(port, where, 2))
        elif word in ("CMD", "ENTRYPOINT"):
            quoted = re.findall(r'"((?:[^"\\]|\\.)*)"', rest) if rest.startswith("[") else []
            started[word] = (" ".join(quoted) or rest, where)
        elif word == "RUN":
            shell_lines.take(findings, rest, where, 5)
        elif word == "ENV":
            found = re.match(rf"{_NAME}[= ](.*)", rest)
            if found and found[1] not in _OF_THE_SYSTEM:
                findings.variable(found[1], where, found[2].rstrip("\\ "))
    words = [started[word][0] for word in ("ENTRYPOINT", "CMD") if word in started]
    command = " ".join(words)
    if command and not command.startswith("-"):
        findings.command("run", command, next(iter(started.values()))[1], 3)
