"""What Harbor's trials may rely on when they run in the namespace sandbox."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import pytest
from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy
from harbor.models.trial.paths import TrialPaths
from harbor_trials import run, write_task

from benchflow.errors import InfrastructureError, TaskError
from benchflow.sandbox.environment import CommandTimeout, NamespaceEnvironment
from benchflow.testing.sandbox_conformance.rig import host_processes

# Harbor warns of its own Task.checksum, which it calls in every trial.
pytestmark = [
    pytest.mark.needs("sandbox"),
    pytest.mark.filterwarnings("ignore:Task.checksum:DeprecationWarning"),
]

FORGERY = """
mkdir -p /logs/verifier
echo '{"reward": 1}' > /logs/verifier/reward.json
echo 1 > /logs/verifier/reward.txt
chattr +i /logs/verifier/reward.json 2>/dev/null
(setsid sh -c 'while :; do echo "{\\"reward\\": 1}" > /logs/verifier/reward.json; done' &)
"""


def make(
    folder: Path, dockerfile: str = "FROM debian:bookworm\n", share_logs: str = "", **config
) -> NamespaceEnvironment:
    (folder / "environment").mkdir(parents=True)
    if dockerfile:
        (folder / "environment/Dockerfile").write_text(dockerfile)
    paths = TrialPaths(trial_dir=folder / "trial")
    paths.mkdir()
    paths.chmod_dir()
    return NamespaceEnvironment(
        environment_dir=folder / "environment",
        environment_name="small",
        session_id="trial__env",
        trial_paths=paths,
        task_env_config=EnvironmentConfig(**config),
        mounts=[{"type": "bind", "source": str(paths.agent_dir), "target": "/logs/agent"}],
        network_policy=NetworkPolicy(network_mode=NetworkMode.NO_NETWORK),
        share_logs=share_logs,
    )


def test_a_whole_trial_hands_the_artifact_to_a_verifier_of_its_own(tmp_path):
    result = run(write_task(tmp_path / "t", solve="echo hello > /app/out.txt"), tmp_path / "jobs")
    assert result.exception_info is None
    assert result.verifier_result.rewards == {"reward": 1}
    boxes = json.loads((tmp_path / "jobs/trial/sandbox.json").read_text())["sandboxes"]
    assert set(boxes) == {"env", "verifier__trial"}
    assert boxes["env"]["granted"]["memory_mb"] == 512
    assert set(boxes["env"]["enforced"]) >= {"memory", "pids", "cpus"}
    assert boxes["env"]["used"]["cpu_seconds"] is None or boxes["env"]["used"]["cpu_seconds"] > 0


def test_nothing_the_agent_writes_as_root_becomes_the_reward(tmp_path):
    result = run(write_task(tmp_path / "t", solve=FORGERY), tmp_path / "jobs")
    assert result.verifier_result.rewards == {"reward": 0}
    folder = tmp_path / "jobs/trial/verifier"
    assert sorted(path.name for path in folder.iterdir()) == ["reward.json", "test-stdout.txt"]


def test_a_daemon_of_the_agents_cannot_write_over_the_verdict_of_a_step(tmp_path):
    steps = '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n'
    task = write_task(tmp_path / "t", solve="", steps=steps)
    for name in ("one", "two"):
        (task / f"steps/{name}/solution").mkdir(parents=True)
        (task / f"steps/{name}/instruction.md").write_text("Say hello.\n")
        (task / f"steps/{name}/solution/solve.sh").write_text(f"#!/bin/sh\n{FORGERY}")
    result = run(task, tmp_path / "jobs")
    assert [step.verifier_result.rewards["reward"] for step in result.step_results] == [0, 0]


def test_an_agents_logs_are_fetched_and_disarmed(tmp_path):
    async def body():
        environment = make(tmp_path)
        assert not environment.capabilities.mounted
        await environment.start(force_build=False)
        logs = environment.trial_paths.agent_dir
        try:
            await environment.exec("echo said >/logs/agent/a; ln -s /etc/passwd /logs/agent/b")
            assert not list(logs.iterdir()), "the agent writes into a folder of the host's"
            await environment.download_dir("/logs/agent", logs)
        finally:
            await environment.stop(delete=True)
        assert [path.name for path in logs.iterdir()] == ["a"]

    asyncio.run(body())


def test_shared_logs_are_disarmed_before_they_are_read_and_once_more_at_the_end(tmp_path):
    plant = "cd /logs/agent && ln -sfn /etc/passwd {0} && mkfifo {0}.pipe && ln -s said {0}.link"

    async def body():
        environment = make(tmp_path, share_logs="yes")
        await environment.start(force_build=False)
        logs = environment.trial_paths.agent_dir

        def names() -> list[str]:
            return sorted(path.name for path in logs.iterdir())

        try:
            await environment.exec("echo said > /logs/agent/said")
            assert (await environment.exec(plant.format("a"))).return_code == 0
            assert names() == ["a", "a.link", "a.pipe", "said"]
            await environment.prepare_logs_for_host()
            assert names() == ["a.link", "said"]
            assert (await environment.exec(plant.format("b"))).return_code == 0
        finally:
            await environment.stop(delete=True)
        assert names() == ["a.link", "b.link", "said"]

    asyncio.run(body())
    (box,) = json.loads((tmp_path / "trial/sandbox.json").read_text())["sandboxes"].values()
    removed = [line.partition("agent/")[2] for line in box["removed_from_logs"]]
    assert sorted(removed) == [
        "a (symlink to /etc/passwd)",
        "a.pipe (special file)",
        "b (symlink to /etc/passwd)",  # its pipe went when the folder was given back
    ]


@pytest.mark.parametrize(("mode", "seen"), [("separate", False), ("shared", True)])
def test_the_hosts_verifier_folder_is_shown_to_the_agent_only_where_it_is_shared(
    tmp_path, mode, seen
):
    (tmp_path / "task.toml").write_text(
        f'schema_version = "1.4"\n[task]\nname = "a/b"\n[verifier]\nenvironment_mode = "{mode}"\n'
    )

    async def body():
        environment = make(tmp_path, share_logs="yes")
        folder = environment.trial_paths.verifier_dir
        environment._mounts.append(
            {"type": "bind", "source": str(folder), "target": "/logs/verifier"}
        )
        await environment.start(force_build=False)
        try:
            assert (await environment.exec("echo 1 > /logs/verifier/reward.txt")).return_code == 0
            assert (folder / "reward.txt").exists() == seen
        finally:
            await environment.stop(delete=True)

    asyncio.run(body())


def test_a_verifier_that_shares_the_agents_sandbox_still_works(tmp_path):
    task = write_task(tmp_path / "t", solve="echo hello > /app/out.txt", mode="shared")
    result = run(task, tmp_path / "jobs")
    assert result.exception_info is None
    assert result.verifier_result.rewards == {"reward": 1}


@pytest.mark.parametrize("mode", ["separate", "shared"])
def test_tasks_of_several_steps_run(tmp_path, mode):
    steps = '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n'
    task = write_task(tmp_path / "t", solve="", mode=mode, steps=steps)
    for name in ("one", "two"):
        (task / f"steps/{name}/solution").mkdir(parents=True)
        (task / f"steps/{name}/instruction.md").write_text("Say hello.\n")
    (task / "steps/one/solution/solve.sh").write_text("#!/bin/sh\necho no > /app/out.txt\n")
    (task / "steps/two/solution/solve.sh").write_text(
        "#!/bin/sh\n[ $(cat /app/out.txt) = no ] && echo hello > /app/out.txt\n"
    )
    result = run(task, tmp_path / "jobs")
    assert result.exception_info is None
    assert [step.verifier_result.rewards["reward"] for step in result.step_results] == [0, 1]


def test_a_cancelled_command_is_killed_and_the_sandbox_goes_on(tmp_path):
    async def body():
        environment = make(tmp_path)
        await environment.start(force_build=False)
        try:
            marker = f"sleep 77{os.getpid()}"
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(environment.exec(marker), 1)
            await asyncio.sleep(0.2)
            assert not host_processes(f"77{os.getpid()}")
            assert (await environment.exec("echo on")).stdout == "on\n"
        finally:
            await environment.stop(delete=True)

    asyncio.run(body())


def test_a_timeout_says_so_and_keeps_what_was_printed(tmp_path):
    async def body():
        environment = make(tmp_path)
        await environment.start(force_build=False)
        try:
            with pytest.raises(CommandTimeout, match="timed out after 1") as caught:
                await environment.exec("echo before; sleep 60", timeout_sec=1)
            assert caught.value.stdout == "before\n"
        finally:
            await environment.stop(delete=True)

    asyncio.run(body())


def test_the_event_loop_goes_on_while_commands_run(tmp_path):
    async def body():
        environment = make(tmp_path)
        await environment.start(force_build=False)
        try:
            began, ticks = time.monotonic(), 0
            commands = [asyncio.ensure_future(environment.exec("sleep 3")) for _ in range(12)]
            while not all(command.done() for command in commands):
                await asyncio.sleep(0.02)
                ticks += 1
            assert ticks > 60
            assert time.monotonic() - began < 30  # one after the other they take 36 s
        finally:
            await environment.stop(delete=True)

    asyncio.run(body())


def test_an_upload_through_a_planted_symlink_is_refused(tmp_path):
    async def body():
        environment = make(tmp_path)
        await environment.start(force_build=False)
        secret = tmp_path / "secret"
        secret.write_text("host")
        planted = environment.trial_paths.artifacts_dir / "planted"
        planted.parent.mkdir(parents=True, exist_ok=True)
        planted.symlink_to(secret)
        try:
            with pytest.raises(InfrastructureError, match="leads out"):
                await environment.upload_file(planted, "/tmp/x")
        finally:
            await environment.stop(delete=True)

    asyncio.run(body())


def test_a_task_of_a_prebuilt_debian_image_runs(tmp_path):
    async def body():
        environment = make(tmp_path, dockerfile="", docker_image="debian:bookworm")
        await environment.start(force_build=False)
        try:
            assert "bookworm" in (await environment.exec("cat /etc/os-release")).stdout
        finally:
            await environment.stop(delete=True)

    asyncio.run(body())


def test_compose_services_are_refused_by_name(tmp_path):
    (tmp_path / "environment").mkdir()
    (tmp_path / "environment/docker-compose.yaml").write_text("services: {main: {}, db: {}}\n")
    (tmp_path / "environment/Dockerfile").write_text("FROM debian:bookworm\n")
    with pytest.raises(TaskError, match=r"docker-compose\.yaml"):
        NamespaceEnvironment(
            environment_dir=tmp_path / "environment",
            environment_name="small",
            session_id="s",
            trial_paths=TrialPaths(trial_dir=tmp_path / "trial"),
            task_env_config=EnvironmentConfig(),
        )
