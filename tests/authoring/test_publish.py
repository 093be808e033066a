"""Images in a real registry: pushed once, named by digest, and each failure of a registry told."""

from __future__ import annotations

import base64
import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import registries, warm_command
from tests.lamp import lamp

from benchflow.authoring.publish import dataset, pair
from benchflow.authoring.publish.pair import Wanted
from benchflow.errors import InfrastructureError, UsageError
from benchflow.sandbox.image.registry import Repository, check_prefix
from benchflow.tasks import load, stage

__all__ = ["lamp"]
pytestmark = pytest.mark.needs("sandbox", "docker-registry")


@pytest.fixture(autouse=True)
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Records of pushes here; the images stay where all tests have theirs."""
    folder = tmp_path / "records"
    folder.mkdir()
    monkeypatch.setattr(pair, "home", lambda: folder)
    return folder / "pushed"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "registry").mkdir()
    with registries.registry(tmp_path / "registry") as address:
        yield address


def small(tmp_path: Path, address: str, role: str = "agent", megabytes: int = 1) -> Wanted:
    """An image of a file that cannot be packed, in which every run is its first."""
    context = tmp_path / f"context-{role}"
    context.mkdir(exist_ok=True)
    (context / "Dockerfile").write_text("FROM scratch\nCOPY data /data\n")
    if not (context / "data").exists():
        (context / "data").write_bytes(os.urandom(megabytes << 20))
    return Wanted(role, context, f"{address}/bench/{role}", "1.0.0-abc", {"benchflow.role": role})


def push(*wanted: Wanted) -> list[pair.Pinned]:
    return pair.push([*wanted], lambda line: None)


def test_what_has_been_pushed_is_not_pushed_again(tmp_path: Path, place: str) -> None:
    agent, verifier = small(tmp_path, place), small(tmp_path, place, "verifier")
    assert pair.have([agent, verifier]) is None
    push(agent)
    assert pair.have([agent, verifier]) is None  # half a pair is none
    first = push(agent, verifier)
    assert [one.pushed for one in first] == [False, True]
    assert pair.have([agent, verifier]) == [
        pair.Pinned(one.role, one.reference, pushed=False) for one in first
    ]
    there = Repository(agent.name).find(agent.tag)
    assert there and there.labels["benchflow.role"] == "agent"
    assert first[0].reference == f"{agent.name}@{there.digest}"


def test_the_same_image_is_the_same_digest_in_two_registries(tmp_path: Path, place: str) -> None:
    (tmp_path / "other").mkdir()
    with registries.registry(tmp_path / "other") as other:
        here, there = push(small(tmp_path, place)), push(small(tmp_path, other))
    assert here[0].reference.partition("@")[2] == there[0].reference.partition("@")[2]
    assert there[0].pushed


def test_an_image_that_somebody_replaced_is_not_referenced(tmp_path: Path, place: str) -> None:
    wanted = small(tmp_path, place)
    push(wanted)
    data = wanted.context / "data"
    data.write_bytes(os.urandom(1 << 20))
    record = pair._record(wanted)
    kept = record.read_text()
    record.unlink()
    Path(tmp_path / "registry/docker/registry/v2/repositories/bench/agent/_manifests/tags").rename(
        tmp_path / "tags"
    )
    push(wanted)  # by another who has another image of this name
    record.write_text(kept)
    with pytest.raises(InfrastructureError, match="not what was pushed for this task"):
        pair.have([wanted])


def test_credentials_of_the_ordinary_places_and_no_copy_of_them(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = registries.htpasswd(tmp_path / "users", "me", "open-sesame")
    (tmp_path / "registry").mkdir()
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "auth.json"))
    secret = base64.b64encode(b"me:open-sesame").decode()
    with registries.registry(tmp_path / "registry", htpasswd=users) as address:
        wanted = small(tmp_path, address)
        with pytest.raises(InfrastructureError, match="refuses you") as told:
            push(wanted)
        assert "login" in told.value.hint
        for auth in ("d3Jvbmc6d3Jvbmc=", secret):
            entry = {"auths": {address: {"auth": auth}}}
            (tmp_path / "auth.json").write_text(json.dumps(entry))
            if auth != secret:
                with pytest.raises(InfrastructureError, match="refuses you"):
                    push(wanted)
        assert push(wanted)[0].pushed
        (tmp_path / "auth.json").write_text("{")
        with pytest.raises(InfrastructureError, match=r"auth\.json: these credentials"):
            push(wanted)
    written = [*records.iterdir()]
    assert written and not any(secret in path.read_text() for path in written)


def test_a_registry_that_is_not_there(tmp_path: Path) -> None:
    wanted = small(tmp_path, f"127.0.0.1:{registries.free_port()}")
    with pytest.raises(InfrastructureError, match="does not answer"):
        push(wanted)


def test_cut_off_in_the_middle_leaves_no_image_and_the_next_push_finishes(
    tmp_path: Path, place: str
) -> None:
    with (
        registries.proxy(place, most_bytes=600_000) as cut,
        pytest.raises(InfrastructureError, match="cut off"),
    ):
        push(small(tmp_path, cut))
    whole = small(tmp_path, place)
    assert Repository(whole.name).find(whole.tag) is None
    assert push(whole)[0].pushed


def test_a_layer_limit(tmp_path: Path, place: str) -> None:
    with (
        registries.proxy(place, no_upload=True) as limited,
        pytest.raises(InfrastructureError, match="takes no layer as large"),
    ):
        push(small(tmp_path, limited))


@pytest.mark.needs("root")
def test_a_full_registry(tmp_path: Path) -> None:
    with (
        registries.small_disk(tmp_path / "disk", 500) as disk,
        registries.registry(disk) as address,
    ):
        wanted = small(tmp_path, address)
        with pytest.raises(InfrastructureError, match=r"as a full one does|has no room"):
            push(wanted)
        assert Repository(wanted.name).find(wanted.tag) is None


def test_names_that_no_registry_takes() -> None:
    for wrong in ("localhost:5000", "Host/Upper", "host/a b", "host//x", "", "host/x:tag"):
        with pytest.raises(UsageError, match="no images can be named so"):
            check_prefix(wrong)
    assert check_prefix("localhost:5000/a/b-c") == "localhost:5000/a/b-c"


def test_without_push_nothing_is_built_and_what_lacks_is_told(
    lamp: Path, tmp_path: Path, place: str
) -> None:
    made = dataset.write([load(lamp)], tmp_path / "out", images=f"{place}/bench")
    assert not made.images and len(made.missing) == 2
    assert all("bench/embedded-lamp" in one for one in made.missing)
    assert "docker_image" not in (made.folders[0] / "task.toml").read_text()
    assert registries.files_below(tmp_path / "registry") == []


def test_a_task_that_changed_since_its_push(lamp: Path, tmp_path: Path, place: str) -> None:
    agent, verifier = pair.wanted(
        load(lamp), stage(load(lamp), packed=True).folder, f"{place}/bench"
    )
    for one in (agent, verifier):
        context = small(tmp_path, place, one.role).context
        push(Wanted(one.role, context, one.name, one.tag, one.labels))
    made = dataset.write([load(lamp)], tmp_path / "out", images=f"{place}/bench")
    config = tomllib.loads((made.folders[0] / "task.toml").read_text())
    assert config["environment"]["docker_image"] == made.images["embedded/lamp"][0].reference
    named = config["verifier"]["environment"]["docker_image"]
    assert named == made.images["embedded/lamp"][1].reference
    assert named.startswith(f"{place}/bench/embedded-lamp-verifier@sha256:")
    assert (made.folders[0] / "environment/Dockerfile").is_file()
    listed = json.loads((made.folders[0] / "sbom/verifier.spdx.json").read_text())
    assert listed["packages"][0]["versionInfo"] == named.partition("@")[2]

    from harbor.models.task.task import Task
    from harbor.models.task.verifier_mode import resolve_verifier_environment_definition

    theirs = Task(made.folders[0])
    found = resolve_verifier_environment_definition(theirs.config, theirs.paths)
    assert found and found.bundled_tests and found.config.docker_image == named

    (lamp / "tests/checks.py").write_text((lamp / "tests/checks.py").read_text() + "\n\nMORE = 1\n")
    with pytest.raises(UsageError, match="has changed since its images were pushed") as told:
        dataset.write([load(lamp)], tmp_path / "new", images=f"{place}/bench")
    assert told.value.hint == "add --push"
    assert not any((tmp_path / "new").iterdir())


def test_a_folder_that_differs_is_refused_before_anything_is_pushed(
    lamp: Path, tmp_path: Path, place: str
) -> None:
    made = dataset.write([load(lamp)], tmp_path / "out")
    (made.folders[0] / "instruction.md").write_text("mine\n")
    with pytest.raises(UsageError, match="exists and is not the same"):
        dataset.write([load(lamp)], tmp_path / "out", images=f"{place}/bench", push=True)
    assert registries.files_below(tmp_path / "registry") == []


def test_push_needs_a_place(tmp_path: Path) -> None:
    done = warm_command.run(["tasks", "export", str(tmp_path / "out"), "--push"])
    assert done.returncode == 2 and "--images REGISTRY/PREFIX" in done.stderr
