"""What an image holds, as SPDX 2.3: Debian's packages and Python's, by exact version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchflow.authoring.publish import layers
from benchflow.base.text import one_line

_STATUS = "var/lib/dpkg/status"
_MOST_BYTES = 64 * 1024 * 1024
_METADATA_BYTES = 64 * 1024
_MOST_PACKAGES = 50_000
_UNKNOWN = "NOASSERTION"
_PYTHON = re.compile(r"python3(\.\d+)?")


@dataclass(frozen=True, order=True)
class Package:
    """`kind` as in package URLs: deb or pypi. `architecture`: Debian's, else empty."""

    kind: str
    name: str
    version: str
    architecture: str = ""

    @property
    def url(self) -> str:
        """Its package URL (purl)."""
        place = "deb/debian" if self.kind == "deb" else "pypi"
        name = self.name.lower().replace("_", "-") if self.kind == "pypi" else self.name
        end = f"?arch={quote(self.architecture)}" if self.architecture else ""
        return f"pkg:{place}/{quote(name, safe='')}@{quote(self.version, safe='')}{end}"


def packages(stack: tuple[Path, ...]) -> list[Package]:
    """The installed packages of an image with these layers, sorted. What is neither in dpkg's
    records nor in a folder of Python's (copied, compiled, a virtual environment) is not seen."""
    return sorted({*_debian(stack), *_python(stack)})[:_MOST_PACKAGES]


def _debian(stack: tuple[Path, ...]) -> list[Package]:
    text = (layers.read(stack, _STATUS, _MOST_BYTES) or b"").decode("utf-8", "replace")
    found = []
    for paragraph in text.split("\n\n"):
        fields = _fields(paragraph)
        if fields.get("Status", "").endswith(" installed") and fields.get("Package"):
            values = (fields.get(key, "") for key in ("Package", "Version", "Architecture"))
            found.append(Package("deb", *values))
    return found


def _python(stack: tuple[Path, ...]) -> list[Package]:
    found = []
    for top in ("usr/lib", "usr/local/lib"):
        versions = [name for name in layers.names(stack, top) if _PYTHON.fullmatch(name)]
        for folder in (f"{top}/{v}/{kind}-packages" for v in versions for kind in ("dist", "site")):
            for name in layers.names(stack, folder):
                if name.endswith(".dist-info"):
                    path = f"{folder}/{name}/METADATA"
                elif name.endswith(".egg-info"):
                    path = f"{folder}/{name}"
                    path += "/PKG-INFO" if layers.names(stack, path) else ""
                else:
                    continue
                text = layers.read(stack, path, _METADATA_BYTES) or b""
                fields = _fields(text.decode("utf-8", "replace").partition("\n\n")[0])
                if fields.get("Name"):
                    found.append(Package("pypi", fields["Name"], fields.get("Version", "")))
    return found


def _fields(paragraph: str) -> dict[str, str]:
    lines = (line.partition(": ") for line in paragraph.splitlines() if not line.startswith(" "))
    return {key: one_line(value, 200) for key, _, value in lines}


def document(name: str, digest: str, stack: tuple[Path, ...]) -> dict[str, Any]:
    """The SPDX document of the image `name` with this digest in its registry."""
    debian = (layers.read(stack, "etc/debian_version", 100) or b"").decode("utf-8", "replace")
    image = {
        **_package("SPDXRef-image", name, digest),
        "primaryPackagePurpose": "CONTAINER",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest.removeprefix("sha256:")}],
        "comment": f"base: Debian {one_line(debian, 60) or 'unknown'}",
    }
    listed = []
    for number, one in enumerate(packages(stack)):
        reference = {
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": one.url,
        }
        entry = _package(f"SPDXRef-{one.kind}-{number}", one.name, one.version)
        listed.append({**entry, "externalRefs": [reference]})
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-image")]
    relations += [("SPDXRef-image", "CONTAINS", str(one["SPDXID"])) for one in listed]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"urn:benchflow:image:{digest}",
        "creationInfo": {
            "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: benchflow-{metadata.version('benchflow')}"],
        },
        "packages": [image, *listed],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }


def _package(identifier: str, name: str, version: str) -> dict[str, Any]:
    return {
        "SPDXID": identifier,
        "name": name,
        "versionInfo": version,
        "downloadLocation": _UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": _UNKNOWN,
        "licenseDeclared": _UNKNOWN,
        "copyrightText": _UNKNOWN,
    }
