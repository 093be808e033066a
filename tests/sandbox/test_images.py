"""Images: built once, kept by content, and honest about whose fault a failure is."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.errors import InfrastructureError, TaskError
from benchflow.sandbox import (
    Sandbox,
    build,
    debian,
    idmap,
    userns,
)
from benchflow.sandbox.image import context, debian_base, mirror, oci_layout
from benchflow.sandbox.image import images as images
from benchflow.sandbox.image.debian_base import debian_suite
from benchflow.sandbox.image.dockerfile import base_references


def write(directory: Path, text: str, **files: str) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "Dockerfile").write_text(text)
    for name, content in files.items():
        (directory / name).write_text(content)
    return directory


@pytest.mark.needs("sandbox")
def test_a_dockerfile_becomes_what_it_says(tmp_path: Path) -> None:
    recipe = (
        "ARG SUITE=bookworm-slim\nFROM debian:$SUITE\nENV GREETING=hello\n"
        "RUN rm -rf /media /srv && mkdir /srv && echo new > /srv/file \\\n && useradd -u 1717 w\n"
        "RUN rm -rf /usr/share/doc/apt && mkdir /usr/share/doc/apt\n"
        "COPY script /opt/script\nWORKDIR /app\nUSER w\n"
    )
    image = build(write(tmp_path / "c", recipe, script="echo $GREETING from $(id -un) in $PWD"))
    assert image.config.env["GREETING"] == "hello" and image.config.user == "w"
    with Sandbox.start(image) as box:
        assert box.exec("sh /opt/script").text == "hello from w in /app\n"
        seen = box.exec("cat /srv/file; ls /media; ls /usr/share/doc/apt", user="root")
        assert seen.text == "new\n" and b"/media" in seen.stderr
        assert box.exec(
            "stat -c %u:%g /opt/script /usr/bin/apt /var/cache/apt/archives/partial", user="root"
        ).text.split() == ["0:0", "0:0", "42:0"]


@pytest.mark.needs("sandbox")
def test_images_share_the_files_that_they_hold_alike(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    make = f"yes {mark} | head -c 100000 > /opt/"
    dated = "touch -d @1700000000 /opt/*"
    first = f"RUN {make}alike; {make}elsewhere1; {make}owned; {make}mode; {make}dated; {dated}"
    second = first.replace("elsewhere1", "elsewhere2")
    second += "; chown 7 /opt/owned; chmod 600 /opt/mode; touch /opt/dated"
    images = [
        build(write(tmp_path / name, f"FROM debian:bookworm\nRUN : {name}\n{line}\n"))
        for name, line in (("a", first), ("b", second))
    ]
    one, two = (
        {path.name: path.lstat() for path in image.layers[-1].glob("opt/*")} for image in images
    )
    assert one.keys() - two.keys() == {"elsewhere1"}
    assert [name for name in two if name in one and one[name].st_ino == two[name].st_ino] == [
        "alike"
    ]
    assert (two["owned"].st_uid - one["owned"].st_uid, two["mode"].st_mode & 0o777) == (7, 0o600)
    assert two["dated"].st_mtime != one["dated"].st_mtime == 1_700_000_000
    with Sandbox.start(images[0]) as box, Sandbox.start(images[1]) as other:
        box.exec("echo changed >> /opt/alike; chmod 777 /opt/alike")
        assert other.exec("stat -c '%s %a' /opt/alike").text == "100000 644\n"


@pytest.mark.needs("sandbox")
def test_a_builder_that_the_kernel_held_up_is_asked_again(tmp_path: Path) -> None:
    marker = f"held-up-{uuid.uuid4().hex}"
    words = "Close_Fd sealing memfd copy: Device or resource busy"
    recipe = f"FROM debian:bookworm\nRUN : {marker} && echo '{words}' >&2 && false\n"
    steps: list[str] = []
    with pytest.raises(InfrastructureError, match="too busy for a build, 4 times") as caught:
        build(write(tmp_path / "c", recipe), on_progress=steps.append)
    assert caught.value.hint
    assert len([step for step in steps if marker in step]) == 4


@pytest.mark.needs("sandbox")
def test_the_same_recipe_is_found_at_once_and_a_change_is_seen(tmp_path: Path) -> None:
    recipe = f"FROM debian:bookworm\nCOPY data /data-{uuid.uuid4().hex}\n"
    where = write(tmp_path / "c", recipe, data="1")
    steps: list[str] = []
    first = build(where, on_progress=steps.append)
    assert [step for step in steps if step.startswith("STEP 2/2")]
    steps.clear()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        assert build(where, on_progress=steps.append) == first
        times.append(time.perf_counter() - begin)
    assert steps == [] and min(times) < 0.05
    (where / "data").write_text("2")
    second = build(where)
    assert second.digest != first.digest
    assert second.layers[0] == first.layers[0], "the base is shared"


@pytest.mark.needs("sandbox")
def test_stages_that_do_not_wait_for_each_other_are_built_side_by_side(tmp_path: Path) -> None:
    now = f"date +%s.%N; : {uuid.uuid4().hex}"
    recipe = (
        f"FROM debian:bookworm AS one\nRUN (sleep 8; {now}) >/one\n"
        f"FROM debian:bookworm\nRUN ({now}) >/two\nCOPY --from=one /one /\n"
    )
    steps: list[str] = []
    image = build(write(tmp_path / "c", recipe), on_progress=steps.append)
    assert {"[1/2] STEP 2/2", "[2/2] STEP 3/3"} <= {step.partition(":")[0] for step in steps}
    with Sandbox.start(image) as box:
        one, two = (float(box.exec(f"cat /{stage}").text) for stage in ("one", "two"))
    assert two < one, "the second stage waited for the first"


@pytest.mark.needs("sandbox")
def test_a_wrong_dockerfile_is_the_task_s_fault_and_shows_the_log(tmp_path: Path) -> None:
    recipe = "FROM debian:bookworm\nRUN echo so far so good && /no/such/tool\n"
    with pytest.raises(TaskError, match=r"(?s)so far so good.*/no/such/tool"):
        build(write(tmp_path / "a", recipe))
    telling = "RUN echo moved >&2; for at in $(seq 30); do echo; done; echo on >&2; exit 3"
    with pytest.raises(TaskError, match=r"^Dockerfile does not build \(status 3\): .*moved on\n"):
        build(write(tmp_path / "c", f"FROM debian:bookworm\n{telling}\n"))
    with pytest.raises(TaskError, match=r"^Dockerfile does not build .*absent.*no such file"):
        build(write(tmp_path / "d", "FROM debian:bookworm\nCOPY absent /\n"))
    with pytest.raises(TaskError, match="no such file"):
        build(tmp_path / "nothing")
    with pytest.raises(TaskError, match="no FROM"):
        build(write(tmp_path / "b", "RUN true\n"))


@pytest.mark.needs("sandbox")
def test_an_unreachable_mirror_is_not_the_task_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = mirror.Source("http://127.0.0.1:9/debian", "bookworm", ("main",))
    monkeypatch.setattr(mirror, "machine_sources", lambda *_: [dead])
    with pytest.raises(InfrastructureError, match="mirror"):
        build(write(tmp_path / "c", "FROM debian:bookworm\nRUN false\n"))


@pytest.mark.needs("sandbox")
def test_no_registry_is_asked_when_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHFLOW_REGISTRY", "never")
    with pytest.raises(InfrastructureError, match="BENCHFLOW_REGISTRY=never"):
        build(write(tmp_path / "c", "FROM no-such-image:1\n"))


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize(("mode", "pull"), [("auto", "false"), ("never", "never")])
def test_a_base_that_is_there_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, pull: str
) -> None:
    """A registry may have another image under its name by now, and the key names this one."""
    run, asked = userns.run, []

    def spy(argv: Sequence[str], *rest: Any, **options: Any) -> tuple[int, bytes]:
        asked.append(list(argv))
        return run(argv, *rest, **options)

    monkeypatch.setattr(userns, "run", spy)
    monkeypatch.setenv("BENCHFLOW_REGISTRY", mode)
    build(write(tmp_path / "c", f"FROM debian:bookworm\nENV ONE={uuid.uuid4().hex}\n"))
    (bud,) = [argv for argv in asked if "bud" in argv]
    assert f"--pull={pull}" in bud


@pytest.mark.needs("sandbox")
def test_a_context_that_changes_under_the_builder_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = write(
        tmp_path / "c", f"FROM debian:bookworm\nCOPY data /{uuid.uuid4().hex}\n", data="1"
    )
    copy = context.snapshot

    def late(root: Path, *rest: Any) -> None:
        (root / "data").write_text("2")
        copy(root, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(context, "snapshot", late)
        with pytest.raises(TaskError, match="changed"):
            build(where)
    second = build(where)
    (where / "data").write_text("1")
    assert build(where).digest != second.digest


@pytest.mark.needs("sandbox")
def test_a_base_killed_in_its_making_leaves_nothing() -> None:
    with tempfile.TemporaryDirectory(prefix="benchflow-home-", dir="/var/tmp") as home:
        environment = {**os.environ, "BENCHFLOW_HOME": home}
        script = "from benchflow.sandbox import debian; debian('bookworm')"
        victim = subprocess.Popen([sys.executable, "-c", script], env=environment)
        places: list[Path] = []
        while not places and victim.poll() is None:
            time.sleep(0.05)
            places = list(Path(home).glob("**/mmdebstrap.*"))
        victim.kill()
        victim.wait()
        time.sleep(1)  # its programs die with it, each in its own time
        script = (
            "from benchflow.sandbox import idmap; "
            "from benchflow.sandbox.image.builder import Builder;"
            "Builder(idmap.current(), print).prepare()"
        )
        subprocess.run([sys.executable, "-c", script], env=environment, check=True)
        assert places and not any(place.exists() for place in places)


@pytest.mark.needs("sandbox")
def test_two_builders_at_once_build_once(tmp_path: Path) -> None:
    recipe = f"FROM debian:bookworm\nRUN sleep 2; date +%N > /{uuid.uuid4().hex}\n"
    where = write(tmp_path / "c", recipe)
    script = f"from benchflow.sandbox import build; print(build({str(where)!r}).digest)"
    runs = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) for _ in range(2)
    ]
    digests = {run.communicate(timeout=120)[0] for run in runs}
    assert len(digests) == 1 and digests != {b""}


@pytest.mark.needs("sandbox")
def test_a_builder_killed_in_the_middle_leaves_nothing_half_used(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    where = write(
        tmp_path / "c",
        f"FROM debian:bookworm\nRUN touch /{mark}; sleep 3\nRUN touch /end\n",
    )
    script = f"from benchflow.sandbox import build; build({str(where)!r}, on_progress=print)"
    victim = subprocess.Popen(
        [sys.executable, "-u", "-c", script], stdout=subprocess.PIPE, process_group=0
    )
    assert victim.stdout is not None
    for line in victim.stdout:
        if b"STEP 2" in line:
            break
    time.sleep(0.5)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    victim.stdout.close()
    with Sandbox.start(build(where)) as box:
        assert box.exec(f"test -e /end -a -e /{mark}").status == 0
    place = images.paths.storage(idmap.current().name) / "place"
    assert not list(place.glob("context-*"))


@pytest.mark.needs("sandbox")
def test_the_base_is_a_debian_that_installs_from_this_machine_s_mirror() -> None:
    with Sandbox.start(debian("bookworm"), network="user") as box:
        assert box.exec("cat /etc/debian_version").text.startswith("12.")
        assert "@" not in box.exec("cat /etc/apt/sources.list").text
        done = box.exec("apt-get update -q && apt-get install -qy hello && hello", timeout=300)
        assert done.status == 0 and "Hello, world!" in done.text, done.error_text


@pytest.mark.parametrize(
    ("reference", "suite"),
    [
        ("debian", "stable"),
        ("debian:12", "bookworm"),
        ("debian:bookworm-slim", "bookworm"),
        ("docker.io/library/debian:trixie", "trixie"),
        ("debian:sid-slim", "sid"),
        ("debian:bookworm-20250520", None),
        ("ubuntu:24.04", None),
        ("example.org/debian:12", None),
    ],
)
def test_which_references_are_plain_debian(reference: str, suite: str | None) -> None:
    assert debian_suite(reference) == suite


def test_from_lines_are_read_as_a_builder_reads_them() -> None:
    text = (
        "# comment\nARG V=12\nARG W\nFROM --platform=linux/amd64 debian:${V} AS one\n"
        "RUN echo FROM nowhere \\\n  FROM nowhere\nFROM one AS two\nFROM scratch\nfrom debian:$V\n"
    )
    assert base_references(text) == ["debian:12"]
    with pytest.raises(TaskError, match=r"Dockerfile:2.*\$W"):
        base_references("ARG W\nFROM debian:$W\n")


def test_sources_with_credentials_are_never_carried() -> None:
    one_line = "deb http://user:pass@host/debian bookworm main\ndeb http://a/debian bookworm main\n"
    assert len(mirror.parse_list(one_line)) == 2
    etc = (
        "Types: deb deb-src\nURIs: http://a/d\n http://b/d\nSuites: x x-updates\nComponents: main\n"
    )
    assert [source.uri for source in mirror.parse_deb822(etc)] == ["http://a/d"] * 2 + [
        "http://b/d"
    ] * 2
    assert mirror.parse_deb822("Enabled: no\n" + etc) == []
    dump = 'Acquire::http::Proxy "http://u:p@proxy";\nAcquire::Check-Date "false";\nAPT::X "1";\n'
    assert mirror.carried_options(dump) == ['Acquire::Check-Date "false";']


def test_credentials_in_the_machine_s_sources_stay_there(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "deb http://user:pass@host/debian bookworm main\n"
        "deb [trusted=yes] http://open/debian bookworm main contrib # note\n"
        "deb cdrom:[x]/ bookworm main\n"
    )
    assert [source.uri for source in mirror.machine_sources(tmp_path)] == ["http://open/debian"]


def test_other_suites_come_from_where_the_own_one_does() -> None:
    machine = [
        mirror.Source("http://m/debian", "bookworm", ("main", "contrib")),
        mirror.Source("http://m/debian", "bookworm-updates", ("main",)),
        mirror.Source("http://m/security", "bookworm-security", ("main",)),
        mirror.Source("http://other/tool", "stable", ("tool",)),
        mirror.Source("http://m/debian", "bookworm-backports", ("main",)),
    ]
    trixie = [source.line() for source in mirror.debian_sources("trixie", machine, "bookworm")]
    assert trixie == [
        "deb http://m/debian trixie main",
        "deb http://m/debian trixie-updates main",
        "deb http://m/security trixie-security main",
    ]
    sid = [source.suite for source in mirror.debian_sources("sid", machine, "bookworm")]
    assert sid == ["sid"]
    assert mirror.debian_sources("trixie", machine, "") == []


@settings(max_examples=30)
@given(st.dictionaries(st.text("ab/", min_size=1, max_size=3), st.binary(max_size=8), max_size=4))
def test_a_context_s_digest_is_its_content(files: dict[str, bytes]) -> None:
    digests = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            for number, (key, data) in enumerate(sorted(files.items())):
                target = root / f"{number}{key.replace('/', '_')}"
                target.write_bytes(data)
            digests.append(context.digest(root))
            (root / "extra").write_text("")
            assert context.digest(root) != digests[-1]
    assert digests[0] == digests[1]


def test_what_a_context_cannot_hold_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(TaskError, match="fifo"):
        context.digest(tmp_path)


@pytest.mark.needs("sandbox")
def test_two_recipes_are_built_side_by_side(tmp_path: Path) -> None:
    """Each build waits for a file that only the other one's start lets appear here."""
    meeting = uuid.uuid4().hex
    started: dict[str, threading.Event] = {name: threading.Event() for name in ("a", "b")}
    both: list[bool] = []

    def make(name: str, other: str) -> None:
        write(tmp_path / name, f"FROM debian:bookworm\nRUN echo {meeting} {name}\nRUN sleep 2\n")

        def seen(line: str) -> None:
            if meeting in line:
                started[name].set()
            elif "sleep" in line:
                both.append(started[other].wait(20))

        build(tmp_path / name, on_progress=seen)

    threads = [threading.Thread(target=make, args=pair) for pair in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert both == [True, True]


def test_an_image_layout_names_its_blobs_by_their_content_and_knows_no_time(tmp_path: Path) -> None:
    indexes = []
    for number in range(2):
        archive = tmp_path / "base.tar"
        archive.write_bytes(b"\0" * 10240)
        folder = tmp_path / f"layout-{number}"
        oci_layout.write(folder, archive, {"Cmd": ["bash"]}, architecture="amd64")
        assert not archive.exists()
        blobs = {blob.name: blob.read_bytes() for blob in (folder / "blobs/sha256").iterdir()}
        assert all(hashlib.sha256(data).hexdigest() == name for name, data in blobs.items())
        index = json.loads((folder / "index.json").read_text())
        manifest = json.loads(blobs[index["manifests"][0]["digest"].removeprefix("sha256:")])
        for part in (manifest["config"], *manifest["layers"]):
            assert part["size"] == len(blobs[part["digest"].removeprefix("sha256:")])
        config = json.loads(blobs[manifest["config"]["digest"].removeprefix("sha256:")])
        assert config["rootfs"]["diff_ids"] == [manifest["layers"][0]["digest"]]
        # buildah refuses to build on an image whose history does not name each layer.
        assert len(config["history"]) == len(manifest["layers"])
        indexes.append(index)
    assert indexes[0] == indexes[1]


@pytest.mark.needs("sandbox", "mirror")
@pytest.mark.slow
def test_the_same_packages_make_the_same_base(tmp_path: Path) -> None:
    made = []
    with tempfile.TemporaryDirectory(prefix="benchflow-base-", dir="/var/tmp") as name:
        Path(name).chmod(0o777)
        for _ in range(2):
            archive = debian_base.bootstrap("bookworm", Path(name), idmap.current())
            with archive.open("rb") as file:
                made.append(hashlib.file_digest(file, "sha256").hexdigest())
            archive.unlink()
    assert made[0] == made[1]
