"""What an image holds is told as dpkg and Python in it tell it, and nothing is followed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from benchflow.authoring.publish import layers, sbom
from benchflow.sandbox import Sandbox, build

PARAGRAPH = "Package: {0}\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:2+b1\n"
RECIPE = """FROM debian:bookworm
RUN apt-get update && apt-get install -y --no-install-recommends python3-six && apt-get clean
RUN apt-get remove -y python3-six && mkdir -p /usr/local/lib/python3.11/dist-packages/a-1.dist-info
RUN printf 'Name: A_b\\nVersion: 1.0\\n\\nName: no\\n' \\
    >/usr/local/lib/python3.11/dist-packages/a-1.dist-info/METADATA
"""


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


@pytest.mark.needs("sandbox", "mirror")
def test_the_list_is_what_dpkg_says(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(RECIPE)
    image = build(tmp_path)
    found = sbom.packages(image.layers)
    with Sandbox.start(image) as box:
        query = "dpkg-query -W -f '${Status}|${Package}|${Version}|${Architecture}\\n'"
        said = [line.split("|") for line in box.exec(query).text.splitlines()]
    installed = sorted(tuple(rest) for status, *rest in said if status.endswith(" installed"))
    debian = [(p.name, p.version, p.architecture) for p in found if p.kind == "deb"]
    assert debian == installed and len(debian) > 50
    assert not any(p.name == "six" for p in found)  # what a later layer removed is gone
    assert [(p.name, p.url) for p in found if p.kind == "pypi"] == [("A_b", "pkg:pypi/a-b@1.0")]

    made = sbom.document("x", f"sha256:{'0' * 64}", image.layers)
    ids = [one["SPDXID"] for one in made["packages"]]
    assert len(set(ids)) == len(ids) == len(made["relationships"])
    assert made["packages"][0]["comment"].startswith("base: Debian 12")


def test_links_pipes_and_escapes_of_an_image(tmp_path: Path) -> None:
    outside, layer = tmp_path / "outside", tmp_path / "layer"
    write(outside, "lib/dpkg/status", PARAGRAPH.format("secret"))
    layer.mkdir()
    (layer / "var").symlink_to(outside)
    assert sbom.packages((layer,)) == []
    (layer / "var").unlink()
    (layer / "var/lib/dpkg").mkdir(parents=True)
    os.mkfifo(layer / "var/lib/dpkg/status")
    assert sbom.packages((layer,)) == []
    (layer / "var/lib/dpkg/status").unlink()
    write(layer, "var/lib/dpkg/status", PARAGRAPH.format("a\x1b[31mb"))
    (found,) = sbom.packages((layer,))
    assert found.name == "ab"
    assert found.url == "pkg:deb/debian/ab@1%3A2%2Bb1?arch=amd64"


@pytest.mark.needs("root")
def test_what_an_upper_layer_hides(tmp_path: Path) -> None:
    low, high = tmp_path / "low", tmp_path / "high"
    write(low, "d/one", "1")
    write(low, "d/two", "2")
    (high / "d").mkdir(parents=True)
    os.mknod(high / "d/one", stat.S_IFCHR | 0o600, os.makedev(0, 0))
    assert layers.read((low, high), "d/one", 9) is None
    assert layers.read((low, high), "d/two", 9) == b"2"
    assert layers.names((low, high), "d") == ["two"]
    os.setxattr(high / "d", "trusted.overlay.opaque", b"y")
    assert layers.read((low, high), "d/two", 9) is None
    assert layers.names((low, high), "d") == []
