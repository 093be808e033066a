"""pip, as far as layers need it: choose versions, lock them, fetch what was locked.

Wheels only: nothing of a package runs while it is fetched. pip's own configuration on this machine
says where packages come from.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchflow.agents.layers import commands
from benchflow.agents.layers.catalogue import PYTHON, Pypi
from benchflow.agents.layers.lock import Pin

# manylinux tags name the oldest glibc that they run with; the layer brings glibc 2.36.
_GLIBC = range(17, 37)
_MARKER = "# a benchflow agent layer\n"


def _pip(command: str) -> list[str]:
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in reversed(_GLIBC)]
    platforms += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"]
    tags = [word for tag in platforms for word in ("--platform", tag)]
    return [
        *(sys.executable, "-m", "pip", command, "-q", "--disable-pip-version-check"),
        *("--only-binary", ":all:", "--implementation", "cp", "--python-version", PYTHON, *tags),
    ]


def lock(pypi: Pypi, work: Path) -> tuple[str, tuple[Pin, ...]]:
    """The newest version of the first requirement, and the wheels of all of them."""
    work.mkdir(parents=True, exist_ok=True)
    report = work / "report.json"
    flags = ["--dry-run", "--ignore-installed", "--target", str(work / "none")]
    commands.run(
        [*_pip("install"), *flags, "--report", str(report), *pypi.requirements],
        what=f"pip could not resolve {', '.join(pypi.requirements)}",
    )
    pins = sorted(
        (
            Pin(
                entry["metadata"]["name"].lower().replace("_", "-"),
                entry["metadata"]["version"],
                entry["download_info"]["archive_info"]["hashes"]["sha256"],
            )
            for entry in json.loads(report.read_text())["install"]
        ),
        key=lambda pin: pin.name,
    )
    versions = {pin.name: pin.version for pin in pins}
    kept = tuple(pin for pin in pins if pin.name not in pypi.unneeded)
    return versions[pypi.requirements[0]], kept


def fetch(pins: tuple[Pin, ...], layer: Path) -> None:
    """Put the pinned wheels into `layer`/site-packages; pip compares every checksum."""
    listed = layer / "requirements.txt"
    lines = [f"{pin.name}=={pin.version} --hash=sha256:{pin.sha256}\n" for pin in pins]
    listed.write_text(_MARKER + "".join(lines))
    flags = ["--no-deps", "--require-hashes", "--no-compile", "-r", str(listed)]
    target = ["--target", str(layer / "site-packages")]
    commands.run([*_pip("install"), *flags, *target], what="pip could not fetch")
