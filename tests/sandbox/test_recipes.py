"""Dockerfiles as people write them build as Docker builds them; if not, the first words say so."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from benchflow.errors import InfrastructureError, TaskError
from benchflow.sandbox import Sandbox, build
from benchflow.sandbox.image.debian_base import debian_suite
from benchflow.sandbox.image.dockerfile import base_references
from benchflow.sandbox.image.local_images import extract
from benchflow.sandbox.image.oci_layout import write
from benchflow.sandbox.image.recipe import adapted

EVERYTHING = """# syntax=docker/dockerfile:1
FROM docker.io/debian:bookworm-slim
ARG WHO=world
ENV PLACE=/srv
RUN <<EOF
set -e
echo "hi $WHO" > /hi
cat <<INNER > /inner
FROM nowhere
INNER
EOF
RUN <<'EOF' cat > /quoted && echo after >> /quoted
$WHO
EOF
RUN <<-PY
\techo tab > /tab
\tPY
RUN <<EOF
#!/usr/bin/env bash
[[ -n $BASH_VERSION ]] && echo bash > /bash
EOF
COPY <<EOF /files/plain.txt
plain text
EOF
COPY --chmod=755 <<'EOF' /files/run.sh
#!/bin/sh
echo "$WHO"
EOF
COPY <<one <<two /files/
1
one
2
two
COPY <<EOF /files/filled
$WHO at ${PLACE} $(id) `id`
EOF
COPY --link local /files/local
WORKDIR /files
"""


@pytest.mark.needs("sandbox")
def test_a_dockerfile_of_today_builds_as_docker_builds_it(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(EVERYTHING)
    (tmp_path / "local").write_text("local")
    (tmp_path / ".dockerignore").write_text("*\n!local\n")
    with Sandbox.start(build(tmp_path)) as box:

        def read(path: str) -> str:
            return box.exec(["cat", path]).text

        assert read("/hi") == "hi world\n"
        assert read("/inner") == "FROM nowhere\n"
        assert read("/quoted") == "$WHO\nafter\n"
        assert read("/tab") == "tab\n"
        assert read("/bash") == "bash\n"
        assert read("/files/plain.txt") == "plain text\n"
        assert box.exec(["/files/run.sh"], env={"WHO": "me"}).text == "me\n"
        assert read("/files/one") + read("/files/two") == "1\n2\n"
        assert read("/files/filled") == "world at /srv $(id) `id`\n"
        assert read("/files/local") == "local"


def test_what_the_builder_knows_is_left_to_the_letter() -> None:
    text = 'from  debian:bookworm\nRUN echo a \\\n  # why\n  && echo $((1<<2)) <<< x\nCMD ["a"]\n'
    assert adapted(text).text == text
    copied = "FROM a AS b\nCOPY --from=b x y\nCOPY --chown=1 --from=r.io/c x y\nCOPY --from=0 x y\n"
    assert base_references(copied) == ["a", "r.io/c"]
    assert base_references("FROM a\nRUN <<EOF\nFROM b\nEOF\nFROM c\n") == ["a", "c"]


@pytest.mark.needs("sandbox")
def test_a_run_after_shell_is_that_shells(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(
        "FROM --platform=linux/amd64 debian:bookworm\n"
        'SHELL ["/bin/bash", "-o", "pipefail", "-c"]\n'
        "RUN set -o | \\\n  # a comment\n  grep -q 'pipefail.*on' && echo $0 ${BASH##*/} >/shell\n"
        'RUN ["cp", "/shell", "/copy"]\n'
        "FROM debian:bookworm\n"
        "COPY --from=0 /copy /copy\n"
        "RUN echo $BASH. >/default\n"
    )
    with Sandbox.start(build(tmp_path)) as box:
        assert box.exec(["cat", "/copy"]).text.split()[-1] == "bash"
        assert box.exec(["cat", "/default"]).text == ".\n"


@pytest.mark.parametrize(
    ("line", "said", "instead"),
    [
        ("COPY --parents a b /c/", "Dockerfile:2: the builder here has no COPY --parents", "COPY"),
        ("ADD --checksum=sha256:0 http://x /y", "no ADD --checksum", "sha256sum"),
        ("FROM --platform=linux/s390x debian:12", "FROM --platform=linux/s390x: images", "leave"),
        ("FROM --platform=windows/amd64 debian:12", "Dockerfile:2: FROM --platform", "leave"),
        ("RUN <<EOF\necho\n", "Dockerfile:2: the here-document does not end", "EOF"),
    ],
)
def test_what_the_builder_cannot_is_said_first(
    line: str, said: str, instead: str, tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM debian:bookworm\n{line}")
    with pytest.raises(TaskError, match=said) as caught:
        build(tmp_path)
    assert instead in caught.value.hint


@pytest.mark.parametrize(
    "name",
    ["debian", "debian:12", "library/debian:12-slim", "docker.io/library/debian:bookworm-slim",
     "docker.io/debian:bookworm", "index.docker.io/library/debian:bookworm"],
)  # fmt: skip
def test_plain_debian_is_known_under_all_its_names(name: str) -> None:
    assert debian_suite(name) in ("bookworm", "stable")


@pytest.mark.needs("sandbox")
def test_links_lead_nothing_of_ours_out_of_the_context(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "Dockerfile").write_text("FROM debian:bookworm\nCOPY <<E /x\nx\nE\n")
    (tmp_path / "task" / ".benchflow-heredocs").symlink_to(outside)
    with pytest.raises(TaskError, match="the name is taken"):
        build(tmp_path / "task")
    assert [*outside.iterdir()] == []


def layout_of(folder: Path, name: str) -> Path:
    """An OCI layout with an image that holds one file, under a name as skopeo gives it."""
    work = folder.parent / "work"
    work.mkdir(parents=True, exist_ok=True)
    (work / "hello").write_text("from the folder\n")
    with tarfile.open(work / "layer.tar", "w") as archive:
        archive.add(work / "hello", "hello")
    write(folder, work / "layer.tar", {"Env": ["PATH=/bin"]}, architecture="amd64")
    index = json.loads((folder / "index.json").read_text())
    index["manifests"][0]["annotations"] = {"org.opencontainers.image.ref.name": name}
    (folder / "index.json").write_text(json.dumps(index))
    shutil.rmtree(work)
    return folder


@pytest.mark.needs("sandbox")
def test_a_base_comes_from_a_folder_of_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout_of(tmp_path / "images" / "some", "own/base:1")
    monkeypatch.setenv("BENCHFLOW_IMAGES", str(tmp_path / "images"))
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "Dockerfile").write_text(
        "FROM docker.io/own/base:1 AS own\nFROM debian:bookworm\nCOPY --from=own /hello /hello\n"
    )
    with Sandbox.start(build(tmp_path / "task")) as box:
        assert box.exec(["cat", "/hello"]).text == "from the folder\n"


def test_a_folder_of_images_is_read_by_every_name_and_a_torn_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = layout_of(tmp_path / "images", "python:3.12")
    monkeypatch.setenv("BENCHFLOW_IMAGES", str(top))
    for name in ("python:3.12", "docker.io/library/python:3.12", "library/python:3.12"):
        assert extract(name, tmp_path / "out")
        shutil.rmtree(tmp_path / "out")
    assert not extract("python:3.11", tmp_path / "out")
    (top / "index.json").write_text('{"manifests": [{"digest": "sha256:../../etc"}]}')
    assert not extract("python:3.12", tmp_path / "out")
    (top / "index.json").write_text("{")
    with pytest.raises(InfrastructureError, match="no OCI layout that can be read"):
        extract("python:3.12", tmp_path / "out")
    monkeypatch.setenv("BENCHFLOW_IMAGES", str(tmp_path / "nowhere"))
    with pytest.raises(InfrastructureError, match="no such folder"):
        extract("python:3.12", tmp_path / "out")


@pytest.mark.needs("sandbox")
def test_a_base_that_nobody_gives_is_told_with_the_reason_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BENCHFLOW_IMAGES", raising=False)
    (tmp_path / "Dockerfile").write_text("FROM localhost:1/none/such:1\n")
    with pytest.raises(InfrastructureError) as caught:
        build(tmp_path)
    first = caught.value.message.splitlines()[0]
    assert first.startswith("no registry gave localhost:1/none/such:1: ")
    assert "connection refused" in first
    assert "debian:SUITE" in caught.value.hint
    assert "BENCHFLOW_IMAGES" in caught.value.hint
