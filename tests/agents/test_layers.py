"""Layers: locked to the byte, made once, shown read-only, working where there is no glibc."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from musl import run_in_musl

from benchflow.agents.layers import AGENTS, Layer, find, installed, locked, measure, store
from benchflow.agents.layers.lock import SHIPPED, own_lock, read_lock
from benchflow.agents.layers.npm import lock as lock_npm
from benchflow.errors import InfrastructureError, UsageError
from benchflow.run.job.layers import check, ensure, layered, mounts
from benchflow.sandbox import Mount, Sandbox, debian


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchflow home of its own, with no layer in it."""
    monkeypatch.setenv("BENCHFLOW_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def made_up(name: str) -> Layer:
    """A finished layer that holds one file, where the locked one belongs."""
    spec = AGENTS[name]
    place = store.place(spec, locked(spec))
    (place / "bin").mkdir(parents=True)
    for program in spec.launchers:
        (place / "bin" / program).write_text("#!/bin/sh\necho from the layer\n")
        (place / "bin" / program).chmod(0o755)
    content, size = measure(place)
    record = {
        "agent": name,
        "version": locked(spec).version,
        "content": content,
        "megabytes": size,
        "seconds": 0.0,
        "runtime": {},
    }
    (place / store.RECORD).write_text(json.dumps(record))
    layer = installed(spec)
    assert layer is not None
    return layer


def test_every_package_is_locked_by_a_checksum_and_by_no_address() -> None:
    text = SHIPPED.read_text()
    assert "://" not in text
    for name, spec in AGENTS.items():
        lock = read_lock()[name]
        assert (lock.npm is None) == (spec.npm is None)
        for place, package in (lock.npm or {"packages": {}})["packages"].items():
            assert place == "" or package["integrity"].startswith("sha512-"), place
        assert all(len(pin.sha256) == 64 for pin in lock.pypi)
        assert lock.npm or lock.pypi


def test_this_machines_own_lock_goes_before_the_shipped_one(elsewhere: Path) -> None:
    own_lock().parent.mkdir(parents=True)
    agents = {"codex": {"version": "9.9.9", "npm": {"packages": {}}}}
    own_lock().write_text(json.dumps({"schema": 1, "agents": agents}))
    assert locked(AGENTS["codex"]).version == "9.9.9"
    assert locked(AGENTS["opencode"]).version != "9.9.9"


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 2, "agents": {}}', '{"schema": 1}'])
def test_a_torn_lock_file_is_named(text: str, elsewhere: Path) -> None:
    own_lock().parent.mkdir(parents=True)
    own_lock().write_text(text)
    with pytest.raises(InfrastructureError, match=r"agents\.lock\.json: not a lock file"):
        read_lock()


def test_a_layer_that_was_never_finished_is_not_there(elsewhere: Path) -> None:
    layer = made_up("codex")
    (layer.path / store.RECORD).unlink()
    assert installed(AGENTS["codex"]) is None
    with pytest.raises(InfrastructureError, match="not installed"):
        store.layer_of(layer.id)


@pytest.mark.parametrize("identity", ["codex/../../x", "codex/", "codex", "codex/a/b"])
def test_a_layer_is_named_not_pointed_at(identity: str) -> None:
    with pytest.raises(InfrastructureError):
        store.layer_of(identity)


def test_an_unknown_agent_says_what_there_is() -> None:
    with pytest.raises(UsageError) as caught:
        find("claude-cod")
    assert caught.value.hint == "did you mean claude-code?"


def test_a_run_uses_the_layer_unless_another_version_is_asked_for(elsewhere: Path) -> None:
    layer = made_up("codex")
    assert layered("codex", "", {}) == (AGENTS["codex"].wrapper, layer.id)
    assert layered("codex", layer.id, {}) == (AGENTS["codex"].wrapper, layer.id)
    assert layered("codex", "", {"version": layer.version}) == (AGENTS["codex"].wrapper, layer.id)
    assert layered("codex", "", {"version": "0.0.1"}) == ("", "")
    assert layered("goose", "", {}) == ("", "")
    with pytest.raises(UsageError, match="no layer for 'goose'"):
        layered("goose", layer.id, {})
    with pytest.raises(UsageError, match="not a layer of opencode"):
        layered("opencode", layer.id, {})


def test_a_trial_shows_its_own_layer_and_no_other(elsewhere: Path, tmp_path: Path) -> None:
    layer = made_up("codex")
    made_up("opencode")
    config = tmp_path / "config.json"
    assert mounts(config) == []
    config.write_text(json.dumps({"agent": {"name": "oracle", "kwargs": {}}}))
    assert mounts(config) == []
    config.write_text(json.dumps({"agent": {"kwargs": {"layer": layer.id}}}))
    assert mounts(config) == [Mount(layer.path, "/opt/benchflow/agents/codex")]


@pytest.mark.needs("sandbox")
def test_root_inside_cannot_change_a_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = debian()
    monkeypatch.setenv("BENCHFLOW_HOME", str(tmp_path / "home"))
    layer = made_up("codex")
    inside = AGENTS["codex"].inside
    with Sandbox.start(image, mounts=[Mount(layer.path, inside)]) as box:
        assert box.exec(f"{inside}/bin/codex").text == "from the layer\n"
        tries = box.exec(
            f"echo x > {inside}/bin/codex; rm {inside}/bin/codex; touch {inside}/new; "
            f"mount -o remount,rw {inside}; echo x > {inside}/bin/codex"
        )
        assert "Read-only file system" in tries.error_text
    assert measure(layer.path)[0] == layer.content


def test_doctor_names_what_is_wrong(elsewhere: Path) -> None:
    assert check("codex").state == "not installed"
    layer = made_up("codex")
    (layer.path / "bin" / "codex").write_text("#!/bin/sh\nexit 3\n")
    found = check("codex")
    assert (found.state, found.detail) == ("damaged", "benchflow agents install codex --again")


@pytest.mark.needs("sandbox", "mirror")
@pytest.mark.slow
def test_the_registry_that_gives_something_else_is_refused(elsewhere: Path, tmp_path: Path) -> None:
    """A checksum that is not that of the package ends the install, and nothing is left behind."""
    spec = AGENTS["terminus-2"]
    lock = json.loads(SHIPPED.read_text())
    lock["agents"]["terminus-2"]["pypi"][0]["sha256"] = "0" * 64
    own_lock().parent.mkdir(parents=True)
    own_lock().write_text(json.dumps(lock))
    with pytest.raises(InfrastructureError, match="Expected sha256 0000"):
        ensure("terminus-2")
    assert installed(spec) is None
    assert [p.name for p in (elsewhere / "agents" / "terminus-2").iterdir() if p.is_dir()] == []


@pytest.mark.needs("sandbox", "mirror")
@pytest.mark.slow
def test_a_new_lock_of_npm_has_checksums_and_no_addresses(tmp_path: Path) -> None:
    spec = AGENTS["codex"].npm
    assert spec is not None
    found = lock_npm(spec, locked(AGENTS["codex"]).version, tmp_path / "work")
    assert found == locked(AGENTS["codex"]).npm


@pytest.mark.needs("sandbox", "mirror")
@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, spec in AGENTS.items() if spec.musl == "yes"])
def test_an_agent_starts_where_there_is_no_glibc(name: str) -> None:
    spec = AGENTS[name]
    done = run_in_musl(spec, ensure(name), f"[ ! -e /lib64 ] && {spec.probe}")
    assert done.status == 0, done.error_text
    assert done.text.strip()
