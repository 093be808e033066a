"""What a task asks that cannot be had is told before anything starts, with file, key and a way out;
what nobody could know is an error of that trial alone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import plain
import pytest
from plain import benchflow, run_json

from benchflow.errors import TaskError
from benchflow.run import fitness
from benchflow.tasks import load

Change = Callable[[Path], None]


def toml(old: str, new: str) -> Change:
    def change(task: Path) -> None:
        file = task / "task.toml"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))

    return change


def added(text: str) -> Change:
    def change(task: Path) -> None:
        file = task / "task.toml"
        file.write_text(file.read_text() + text)

    return change


def at_the_top(text: str) -> Change:
    return toml('version = "1.0"\n', f'version = "1.0"\n{text}')


def without(name: str) -> Change:
    return lambda task: (task / name).unlink()


def written(name: str, text: str) -> Change:
    return lambda task: plain.write(task / name, text)


def link(name: str, target: str) -> Change:
    return lambda task: (task / name).symlink_to(target)


def fifo(task: Path) -> None:
    os.mkfifo(task / "environment" / "pipe")


def compose(text: str) -> Change:
    return written("environment/docker-compose.yaml", text)


SEPARATE = '[verifier]\ntimeout_sec = 60\nenvironment_mode = "separate"\n'

#: Nobody can run it: file, key (or a word of the message), whether `run` refuses it.
UNUSABLE = {
    "no-test": (without("tests/test.sh"), "tests/test.sh", ""),
    "no-tests": (lambda task: shutil.rmtree(task / "tests"), "tests/test.sh", ""),
    "no-dockerfile": (without("environment/Dockerfile"), "environment/Dockerfile", ""),
    "no-environment": (
        lambda task: shutil.rmtree(task / "environment"), "environment/Dockerfile", ""
    ),
    "gpus": (added("gpus = 2\n"), "task.toml", "environment.gpus"),
    "tpu": (
        added('[environment.tpu]\ntype = "v6e"\ntopology = "2x4"\n'), "task.toml", "environment.tpu"
    ),
    "windows": (added('os = "windows"\n'), "task.toml", "environment.os"),
    "allowlist": (
        added('network_mode = "allowlist"\nallowed_hosts = ["example.org"]\n'),
        "task.toml",
        "environment.network_mode",
    ),
    "verifier-allowlist": (
        toml("[verifier]\n", '[verifier]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a.org"]\n'),
        "task.toml",
        "verifier.network_mode",
    ),
    "another-network-for-the-agent": (
        toml("[agent]\n", '[agent]\nnetwork_mode = "no-network"\n'),
        "task.toml",
        "agent.network_mode",
    ),
    "verifiers-gpus": (
        added("[verifier.environment]\ngpus = 1\n"), "task.toml", "verifier.environment.gpus"
    ),
    "variable": (
        added('[environment.env]\nTOKEN = "${FOREIGN_TOKEN}"\n'),
        "task.toml",
        "environment.env.TOKEN",
    ),
    "verifiers-variable": (
        added('[verifier.env]\nKEY = "${FOREIGN_KEY}"\n'), "task.toml", "verifier.env.KEY"
    ),
    "half-a-processor": (toml("cpus = 1", "cpus = 0.5"), "task.toml", "environment.cpus"),
    "no-processor": (toml("cpus = 1", "cpus = 0"), "task.toml", "environment.cpus"),
    "memory-in-words": (
        toml("memory_mb = 256", 'memory_mb = "much"'), "task.toml", "environment.memory_mb"
    ),
    "memory-conflict": (
        toml("memory_mb = 256", 'memory_mb = 256\nmemory = "2G"'), "task.toml", "environment"
    ),
    "no-organisation": (at_the_top('[task]\nname = "alone"\n'), "task.toml", "task.name"),
    "nan": (toml("timeout_sec = 60", "timeout_sec = nan"), "task.toml", "agent.timeout_sec"),
    "negative": (toml("timeout_sec = 60", "timeout_sec = -5"), "task.toml", "agent.timeout_sec"),
    "infinite": (toml("timeout_sec = 60", "timeout_sec = inf"), "task.toml", "agent.timeout_sec"),
    "zero": (toml("timeout_sec = 60", "timeout_sec = 0"), "task.toml", "agent.timeout_sec"),
    "for-ever": (toml("timeout_sec = 60", "timeout_sec = 1e300"), "task.toml", "agent.timeout_sec"),
    "verifier-nan": (
        toml("[verifier]\ntimeout_sec = 60", "[verifier]\ntimeout_sec = nan"),
        "task.toml",
        "verifier.timeout_sec",
    ),
    "build-negative": (
        added("build_timeout_sec = -1\n"), "task.toml", "environment.build_timeout_sec"
    ),
    "negative-memory": (
        toml("memory_mb = 256", "memory_mb = -256"), "task.toml", "environment.memory_mb"
    ),
    "no-memory": (toml("memory_mb = 256", "memory_mb = 1"), "task.toml", "environment.memory_mb"),
    "variable-with-an-equals-sign": (
        added('[environment.env]\n"A=B" = "1"\n'), "task.toml", "environment.env.A=B"
    ),
    "variable-with-a-nul": (
        added('[environment.env]\nA = "1\\u0000"\n'), "task.toml", "environment.env.A"
    ),
    "empty-test": (written("tests/test.sh", "\n"), "tests/test.sh", "the file is empty"),
    "test-from-windows": (
        written("tests/test.sh", "#!/bin/bash\r\necho 1 > /logs/verifier/reward.txt\r\n"),
        "tests/test.sh", "CR LF",
    ),
    "byte-order-mark": (
        lambda task: plain.write(
            task / "task.toml", "\ufeff" + (task / "task.toml").read_text()
        ), "", "byte order mark",
    ),
    "lists-without-end": (
        at_the_top("a = " + "[" * 5000 + "]" * 5000 + "\n"), "", "deeper than can be read"
    ),
    "endless-disk": (
        toml("storage_mb = 1024", "storage_mb = 99999999999999"),
        "task.toml",
        "environment.storage_mb",
    ),
    "more-than-a-float": (
        toml("timeout_sec = 60", "timeout_sec = 1" + "0" * 400), "task.toml", "agent.timeout_sec"
    ),
    "more-memory-than-a-float": (
        toml("memory_mb = 256", "memory_mb = 1" + "0" * 400), "task.toml", "environment.memory_mb"
    ),
    "dockerfile-is-a-folder": (
        lambda task: (
            (task / "environment" / "Dockerfile").unlink(),
            (task / "environment" / "Dockerfile").mkdir(),
        ),
        "environment/Dockerfile",
        "",
    ),
    "variables-as-a-list": (added('env = ["A=1"]\n'), "task.toml", "environment.env"),
    "step-without-files": (
        added('[[steps]]\nname = "one"\n'), "steps/one/instruction.md", "missing"
    ),
    "unknown-network": (added('network_mode = "none"\n'), "task.toml", "environment.network_mode"),
    "circle-of-links": (link("tests/loop", "."), "", "cycles"),
    "healthcheck-nan": (
        added('[environment.healthcheck]\ncommand = "true"\ntimeout_sec = nan\n'),
        "task.toml",
        "environment.healthcheck.timeout_sec",
    ),
    "artifact-of-a-service": (
        at_the_top('artifacts = [{ source = "/data", service = "db" }]\n'),
        "task.toml",
        "artifacts.0.service",
    ),
    "two-services": (
        compose("services:\n  main:\n    build: .\n  db:\n    image: postgres\n"),
        "environment/docker-compose.yaml",
        "",
    ),
    "privileged": (
        compose("services:\n  main:\n    build: .\n    privileged: true\n"),
        "environment/docker-compose.yaml",
        "",
    ),
    "a-volume": (
        compose("services:\n  main:\n    build: .\n    volumes: ['/srv:/srv']\n"),
        "environment/docker-compose.yaml",
        "",
    ),
    "no-main": (
        compose("services:\n  agent:\n    build: .\n"), "environment/docker-compose.yaml", ""
    ),
    "torn-yaml": (compose("services: [\n"), "environment/docker-compose.yaml", ""),
    "context-outside": (
        compose("services:\n  main:\n    build: ../..\n"), "environment/docker-compose.yaml", ""
    ),
    "link-out-of-the-task": (link("tests/host", "/etc/hostname"), "", "Input paths must stay"),
    "not-utf8": (
        lambda task: (task / "instruction.md").write_bytes(b"na\xefve\n") and None, "", "not UTF-8"
    ),
    "torn-toml": (added("[environment\n"), "", "not valid TOML"),
    "fifo": (fifo, "", "regular files"),
}  # fmt: skip


def problems(folder: Path) -> tuple[str, str]:
    """What makes the task unusable, and all that is wrong with it, as a person reads it."""
    try:
        found = fitness.examine(load(folder))
    except TaskError as error:
        return error.message, error.message
    return "\n".join(map(str, found.unusable)), "\n".join(map(str, found.problems))


@pytest.mark.parametrize("kind", [*UNUSABLE])
def test_what_cannot_be_had_is_named_with_file_and_key(kind: str, tmp_path: Path) -> None:
    change, file, key = UNUSABLE[kind]
    change(plain.shared(tmp_path / "bad"))
    unusable, _ = problems(tmp_path / "bad")
    assert file in unusable
    assert key in unusable
    assert len(unusable) > len(file) + len(key)


def test_nothing_starts_where_a_task_cannot_run_and_it_is_no_bug(tmp_path: Path) -> None:
    for kind in ("gpus", "no-test", "torn-toml", "nan"):
        UNUSABLE[kind][0](plain.shared(tmp_path / "set" / kind))
    plain.shared(tmp_path / "set" / "good")
    refused = benchflow("run", "set", cwd=tmp_path, status=3).stderr
    assert "set/torn-toml/task.toml: not valid TOML" in refused  # no other can be told beside it
    shutil.rmtree(tmp_path / "set" / "torn-toml")
    refused = benchflow("run", "set", cwd=tmp_path, status=3).stderr
    assert "set/gpus: 1 problem\n  task.toml: environment.gpus: 2: the sandbox" in refused
    assert "tests/test.sh: the file is missing" in refused
    assert "agent.timeout_sec: nan limits nothing" in refused
    assert "the others can run without them" in refused
    assert not (tmp_path / "jobs").exists()


#: It runs, but not as its author means it.
DOUBTFUL = {
    "misspelt": (toml("memory_mb", "memmory_mb"), "environment.memmory_mb", "'memory_mb'"),
    "by-another-name": (
        toml("timeout_sec = 60", "timeout_sec = 60\ntimeout = 60"), "agent.timeout", "'timeout_sec'"
    ),
    "of-terminal-bench": (
        at_the_top("max_agent_timeout_sec = 60\n"), "max_agent_timeout_sec", "agent.timeout_sec"
    ),
    "misspelt-table": (added("[verifiers]\ntimeout_sec = 9\n"), "verifiers", "'verifier'"),
    "misplaced": (at_the_top("memory_mb = 64\n"), "memory_mb", "environment.memory_mb"),
    "misplaced-workdir": (toml("[agent]\n", '[agent]\nworkdir = "/app"\n'), "agent.workdir",
                          "environment.workdir"),
    "truth-as-a-number": (toml("cpus = 1", "cpus = true"), "environment.cpus", "no number"),
    "user": (toml("[agent]\n", '[agent]\nuser = "ghost"\n'), "agent.user", "useradd -m ghost"),
    "verifiers-user": (
        toml("[verifier]\n", '[verifier]\nuser = "ghost"\n'), "verifier.user", "useradd"
    ),
    "folder": (added('workdir = "/nowhere"\n'), "environment.workdir", "WORKDIR /nowhere"),
    "relative-folder": (added('workdir = "app"\n'), "environment.workdir", "begin it with /"),
    "no-solution": (without("solution/solve.sh"), "solution/solve.sh", "oracle"),
    "empty-instruction": (written("instruction.md", "\n"), "instruction.md", "empty"),
    "solutions-variable": (
        added('[solution.env]\nKEY = "${FOREIGN_KEY}"\n'), "solution.env.KEY", "not set"
    ),
    "private-registry": (
        written("environment/Dockerfile", "FROM registry.corp.example/base:1\n"),
        "environment/Dockerfile", "registry.corp.example",
    ),
    "solution-from-windows": (
        written("solution/solve.sh", "#!/bin/bash\r\ntrue\r\n"), "solution/solve.sh", "sed -i"
    ),
    "compose-by-another-name": (
        written("environment/compose.yaml", "services: {main: {build: .}, db: {image: redis}}\n"),
        "environment/compose.yaml", "rename it to docker-compose.yaml",
    ),
    "artifacts-that-overlap": (
        at_the_top('artifacts = ["/"]\n'), "Artifact sources overlap", "Harbor's documentation"
    ),
    "no-from": (written("environment/Dockerfile", "RUN true\n"), "environment/Dockerfile", "FROM"),
}  # fmt: skip


@pytest.mark.parametrize("kind", [*DOUBTFUL])
def test_what_would_go_wrong_is_named_by_validate_alone(kind: str, tmp_path: Path) -> None:
    change, key, fix = DOUBTFUL[kind]
    change(plain.shared(tmp_path / "task"))
    unusable, everything = problems(tmp_path / "task")
    assert unusable == ""
    assert f"{key}: " in everything
    assert fix in everything


#: Odd, and right all the same.
RIGHT = {
    "plain": lambda task: None,
    "own-metadata": added("[metadata]\nwhatever = 1\ntimeout = 3\n"),
    "own-key": at_the_top('zebra = "of the author\'s own"\n'),
    "old-memory": toml("memory_mb = 256", 'memory = "512M"'),
    "old-internet": added("allow_internet = false\n"),
    "debians-user": toml("[agent]\n", '[agent]\nuser = "nobody"\n'),
    "numbered-user": toml("[agent]\n", "[agent]\nuser = 1000\n"),
    "default": added('[environment.env]\nTOKEN = "${FOREIGN_TOKEN:-none}"\n'),
    "set": added('[environment.env]\nHERE = "${PATH}"\n'),
    "docker-hub": written("environment/Dockerfile", "FROM python:3.12\n"),
    "user-of-a-base": lambda task: (
        toml("[agent]\n", '[agent]\nuser = "node"\n')(task),
        plain.write(task / "environment" / "Dockerfile", "FROM node:20\n"),
    ),
    "made-user": lambda task: (
        toml("[agent]\n", '[agent]\nuser = "me"\n')(task),
        plain.write(
            task / "environment" / "Dockerfile", "FROM debian:bookworm\nRUN useradd -m me\n"
        ),
    ),
    "one-service": compose("services:\n  main:\n    build:\n      context: ${CONTEXT_DIR}\n"),
    "image-alone": lambda task: (
        added('docker_image = "debian:bookworm"\n')(task),
        (task / "environment" / "Dockerfile").unlink(),
    ),
    "no-gpus": added("gpus = 0\n"),
    "links": link("environment/again", "Dockerfile"),
    "dangling-link": link("environment/gone", "no/such/file"),
}


@pytest.mark.parametrize("kind", [*RIGHT])
def test_what_is_odd_and_right_is_let_through(kind: str, tmp_path: Path) -> None:
    RIGHT[kind](plain.shared(tmp_path / "task"))
    assert problems(tmp_path / "task") == ("", "")


def test_every_wrong_task_of_a_folder_is_named_at_once(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        plain.shared(tmp_path / "set" / name)
    (tmp_path / "set" / "a" / "task.toml").write_text("[")
    (tmp_path / "set" / "b" / "instruction.md").unlink()
    (tmp_path / "set" / "d" / "tests" / "test.sh").unlink()
    said = benchflow("tasks", "validate", "set", cwd=tmp_path, status=3)
    assert said.stdout == "ok  c  a plain Harbor task\n"
    assert "set/a/task.toml: not valid TOML" in said.stderr
    assert "set/b/instruction.md: the file is missing" in said.stderr
    assert "tests/test.sh: the file is missing" in said.stderr
    told = json.loads(
        benchflow("tasks", "validate", "set", "--json", cwd=tmp_path, status=3).stdout
    )
    assert told["valid"] == ["c"]
    assert [Path(each["task"]).name for each in told["problems"]] == ["a", "b", "d"]
    assert told["problems"][2]["is_fatal"] is True


def test_a_folder_without_a_task_is_no_name_that_was_misspelt(tmp_path: Path) -> None:
    (tmp_path / "bad" / "task.toml").mkdir(parents=True)
    said = benchflow("tasks", "validate", "bad", cwd=tmp_path, status=2).stderr
    assert said.startswith("error: bad: no task here: neither task.toml nor folders that have one")


@pytest.mark.needs("sandbox")
def test_a_trial_that_cannot_begin_is_its_own_error_and_the_others_run(tmp_path: Path) -> None:
    """Here it is the agent that cannot be made, and for one of two."""
    plain.shared(tmp_path / "task")
    plain.write(
        tmp_path / "picky.py",
        "import os\nfrom harbor.agents.nop import NopAgent\n\n\n"
        "class Picky(NopAgent):\n"
        "    def __init__(self, *args, **kwargs):\n"
        "        if 'AT_EASE' not in os.environ:\n"
        "            raise ValueError('not today')\n"
        "        super().__init__(*args, **kwargs)\n",
    )
    here = {"PYTHONPATH": str(tmp_path)}
    arguments = ("run", "task", "-a", "picky:Picky", "-a", "oracle", "--job-name", "mine")
    job = run_json(*arguments, cwd=tmp_path, status=4, **here)
    found = {trial["agent"]: (trial["verdict"], trial["cause"]) for trial in job["trials"]}
    assert found == {"oracle": ("resolved", ""), "picky:Picky": ("error", "ValueError")}
    again = run_json("resume", "mine", cwd=tmp_path, status=4, **here)
    assert again["counts"] == {"resolved": 1, "failed": 0, "error": 1}
    retried = run_json("resume", "mine", "--errors", cwd=tmp_path, AT_EASE="1", **here)
    assert retried["counts"] == {"resolved": 1, "failed": 1, "error": 0}


@pytest.mark.needs("sandbox")
def test_a_user_that_only_the_image_knows_to_be_missing_is_no_failure(tmp_path: Path) -> None:
    task = plain.shared(tmp_path / "task")
    toml("[agent]\n", '[agent]\nuser = "ghost"\n')(task)
    (trial,) = run_json("run", "task", cwd=tmp_path, status=4)["trials"]
    assert (trial["verdict"], trial["cause"]) == ("error", "TaskError")
    assert "no user 'ghost'" in trial["cause_message"]


@pytest.mark.needs("sandbox")
def test_an_image_without_a_shell_is_no_failure(tmp_path: Path) -> None:
    task = plain.shared(tmp_path / "empty")
    plain.write(task / "environment" / "Dockerfile", "FROM scratch\nCOPY Dockerfile /\n")
    (trial,) = run_json("run", "empty", "-a", "oracle", cwd=tmp_path, status=4)["trials"]
    assert (trial["verdict"], trial["cause"]) == ("error", "TaskError")
    assert trial["cause_message"].startswith("the image has no /bin/sh")


@pytest.mark.needs("sandbox")
def test_links_in_a_build_context_are_taken_as_docker_takes_them(tmp_path: Path) -> None:
    task = plain.shared(
        tmp_path / "task", solve="#!/bin/bash\ncp /app/repo/CLAUDE.md /app/out.txt\n"
    )
    plain.write(task / "environment" / "repo" / "AGENTS.md", "done\n")
    link("environment/repo/CLAUDE.md", "AGENTS.md")(task)
    link("environment/repo/gone", "no/such/file")(task)
    link("environment/repo/folder", ".")(task)
    plain.write(
        task / "environment" / "Dockerfile",
        "FROM debian:bookworm\nWORKDIR /app\nCOPY repo /app/repo\nRUN test -L repo/CLAUDE.md\n",
    )
    assert run_json("run", "task", cwd=tmp_path)["counts"]["resolved"] == 1


@pytest.mark.needs("sandbox")
def test_a_compose_file_of_one_service_is_taken_like_a_dockerfile(tmp_path: Path) -> None:
    task = plain.shared(tmp_path / "task", solve='#!/bin/bash\necho "$WORD" > out.txt\n')
    environment = task / "environment"
    (environment / "Dockerfile").rename(environment / "Dockerfile.agent")
    compose(
        "services:\n  main:\n"
        "    build: { context: '${CONTEXT_DIR}', dockerfile: Dockerfile.agent }\n"
        "    image: ${MAIN_IMAGE_NAME}\n"
        "    command: ['sh', '-c', 'sleep infinity']\n"
        "    environment:\n      - WORD=${NO_SUCH_WORD:-done}\n"
        "    working_dir: /app\n"
        "    volumes:\n      - ${HOST_VERIFIER_LOGS_PATH}:${ENV_VERIFIER_LOGS_PATH}\n"
    )(task)
    assert run_json("run", "task", cwd=tmp_path)["counts"]["resolved"] == 1
