"""The machine's own Debian mirror, read from its apt configuration. Public sources only: an
address with credentials in it, or a source that needs them, is never carried anywhere."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_CARRIED_OPTIONS = (
    "Acquire::Check-Valid-Until",
    "Acquire::Check-Date",
    "Acquire::http::Proxy",
    "Acquire::https::Proxy",
    "Acquire::Retries",
)


@dataclass(frozen=True, slots=True)
class Source:
    """One suite of one archive."""

    uri: str
    suite: str
    components: tuple[str, ...]

    def line(self) -> str:
        return f"deb {self.uri} {self.suite} {' '.join(self.components)}"


def parse_list(text: str) -> list[Source]:
    """Sources of a one-line-style file (`sources.list`)."""
    sources = []
    for raw in text.splitlines():
        line = raw.partition("#")[0].strip()
        match = re.fullmatch(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s*(.*)", line)
        if match:
            sources.append(Source(match[1], match[2], tuple(match[3].split())))
    return sources


def parse_deb822(text: str) -> list[Source]:
    """Sources of a deb822-style file (`*.sources`)."""
    sources = []
    for stanza in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        key = ""
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1].isspace() and key:
                fields[key] += " " + line.strip()
            elif ":" in line:
                key, _, value = line.partition(":")
                key = key.strip().lower()
                fields[key] = value.strip()
        if "deb" not in fields.get("types", "").split():
            continue
        if fields.get("enabled", "yes").lower() in ("no", "false", "off", "0"):
            continue
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                sources.append(Source(uri, suite, tuple(fields.get("components", "").split())))
    return sources


def machine_sources(etc: Path = Path("/etc/apt")) -> list[Source]:
    """All public sources of this machine over http, https or file."""
    sources = []
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*.list"))]:
        if path.is_file():
            sources += parse_list(path.read_text())
    for path in sorted((etc / "sources.list.d").glob("*.sources")):
        sources += parse_deb822(path.read_text())
    return [
        source for source in sources if re.match(r"https?://", source.uri) and "@" not in source.uri
    ]


def debian_sources(suite: str, machine: list[Source], codename: str) -> list[Source]:
    """The lines that give `suite` from the archives where this machine, a Debian `codename`, gets
    its own. Empty when it is not a Debian with a public mirror."""
    found = []
    for source in machine:
        base, dash, pocket = source.suite.partition("-")
        if base not in (codename, "stable", "testing", "unstable", "sid"):
            continue
        if "main" not in source.components or (dash and pocket not in ("updates", "security")):
            continue
        if dash and suite in ("sid", "unstable"):
            continue
        found.append(Source(source.uri, f"{suite}{dash}{pocket}", ("main",)))
    return list(dict.fromkeys(found))


def codename(os_release: Path = Path("/etc/os-release")) -> str:
    """The machine's own Debian codename; "" when it is not a Debian."""
    fields = dict(line.split("=", 1) for line in os_release.read_text().splitlines() if "=" in line)
    if fields.get("ID", "").strip('"') != "debian":
        return ""
    return fields.get("VERSION_CODENAME", "").strip('"')


def apt_options() -> list[str]:
    """The machine's apt settings without which its mirror would not be usable from inside."""
    done = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True)
    return carried_options(done.stdout)


def carried_options(dump: str) -> list[str]:
    """Pick the settings that matter from `apt-config dump`; none that holds a password."""
    return [
        line
        for line in dump.splitlines()
        if line.startswith(tuple(f"{name} " for name in _CARRIED_OPTIONS))
        and "@" not in line
        and not line.endswith('"";')
    ]
