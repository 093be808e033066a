"""Trials on a Ray cluster: real Ray, several nodes on this machine, real sandboxes.

A node dies, a network is cut, a disk is full, a clock is wrong, a version or a task differs, the
driver or the head is killed: each trial has exactly one result, and every token is counted.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.needs import needs
from tests.run.clusters import Cluster, cluster
from tests.run.ours import words
from tests.run.plain import BENCHFLOW, kill_all

import benchflow
from benchflow.base.home import home
from benchflow.gateway.accounts.totals import replay
from benchflow.results.jobs.trials import read_job
from benchflow.run.ray_engine import parcel
from benchflow.run.ray_engine.node import place_of
from benchflow.scripted_model import ScriptedModel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("sandbox", "ray", "time"),
]
AGENTS = {"PYTHONPATH": str(Path(__file__).parent)}
#: All nodes see this machine's folders; most tests are of nodes that do not.
APART = {"BENCHFLOW_SHARED_FOLDER": "never"}
POLICY = """schema = 1
[usage]
input = 1000
output = 50
[[turns]]
run = "sleep {pause}; mkdir -p /app/out; echo one > /app/out/words.txt"
[[turns]]
run = "sleep {pause}; echo one two > /app/out/words.txt"
[[turns]]
say = "Done."
"""
#: Of one whole trial of that policy.
TOKENS = 3 * 1050


class Sweep:
    """A sweep file in a folder, run on a cluster."""

    def __init__(self, folder: Path, nodes: Cluster) -> None:
        self.folder = folder
        self.nodes = nodes
        words(folder)

    def write(self, agent: str, attempts: int, **more: str) -> None:
        entry = "".join(f"{key} = {value}\n" for key, value in more.items())
        (self.folder / "s.toml").write_text(
            f'tasks = ["./test/words"]\nattempts = {attempts}\n'
            f'[[entry]]\nagent = "{agent}"\n{entry}'
        )

    def start(self, *options: str, **env: str) -> subprocess.Popen[str]:
        address = ("--address", self.nodes.address)
        return subprocess.Popen(
            [BENCHFLOW, "sweep", "s.toml", "--engine", "ray", *address, *options],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **AGENTS, **APART, **env},
        )

    def run(self, *options: str, status: int = 0, **env: str) -> str:
        process = self.start(*options, **env)
        said, _ = process.communicate(timeout=900)
        assert process.returncode == status, said + self.log()
        return said

    def log(self) -> str:
        return "".join(path.read_text() for path in self.folder.glob("jobs/*/worker.log"))

    @property
    def job(self) -> Path:
        return self.folder / "jobs" / "s-1"

    def results(self) -> list[Path]:
        return sorted(self.folder.glob("jobs/*/*/result.json"))

    def tries(self, came: str = "") -> list[dict[str, Any]]:
        path = self.job / "nodes.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [each for line in lines if came in ("", (each := json.loads(line))["came"])]

    def running(self) -> list[str]:
        """Trials that have begun and have no result yet."""
        begun = [path.parent for path in self.job.glob("*/config.json")]
        return [path.name for path in begun if not (path / "result.json").exists()]

    def at_work(self) -> list[str]:
        """Those of them whose agents have asked their model."""
        book = self.job / "calls.jsonl"
        lines = book.read_text().splitlines() if book.exists() else []
        asked = {json.loads(line)["trial"] for line in lines if '"begin"' in line}
        return [name for name in self.running() if name in asked]


def until(what: Callable[[], object], seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A head that takes no trials, and two nodes."""
    with cluster(tmp_path_factory.mktemp("ray")) as made:
        made.head(env=AGENTS)
        made.node(env=AGENTS)
        made.node(env=AGENTS)
        yield made


@pytest.fixture
def sweep(tmp_path: Path, nodes: Cluster) -> Sweep:
    return Sweep(tmp_path, nodes)


@pytest.fixture
@needs("sandbox")
def model(tmp_path: Path) -> Iterator[ScriptedModel]:
    (tmp_path / "policy.toml").write_text(POLICY.format(pause=0.5))
    with ScriptedModel.start({"policy": tmp_path / "policy.toml"}) as served:
        yield served


def own_home(folder: Path) -> Path:
    """A node's own home on this machine, which shares the images."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("images", "buildah"):
        (folder / name).symlink_to(home() / name)
    return folder


def test_a_sweep_on_two_nodes_is_as_on_one_machine(sweep: Sweep) -> None:
    (sweep.folder / "s.toml").write_text(
        'tasks = ["./test/words"]\nattempts = 2\n[[entry]]\nagent = "ladder:two"\n'
        '[[entry]]\nagent = "exploit:forge"\n'
    )
    plan = sweep.run("--plan", "--json")
    assert json.loads(plan[plan.index("{") :])["obstacles"] == [] and not sweep.results()
    said = sweep.run()
    assert "4 of 4 trials finished" in said
    job = read_job(sweep.job)
    assert not job.problems and not [trial.cause for trial in job.trials if trial.cause]
    assert sorted(round(trial.reward or 0, 2) for trial in job.trials) == [0.0, 0.0, 0.75, 0.75]
    done = sweep.tries("done")
    assert {each["by"] for each in done} == {"ray"}
    assert len(done) == 4 and len({each["node"] for each in done}) == 2
    config = json.loads((sweep.results()[0].parent / "config.json").read_text())
    assert config["trials_dir"] == str(sweep.job)
    before = {path: path.stat().st_mtime_ns for path in sweep.results()}
    assert "4 of 4 trials finished" in sweep.run()
    assert {path: path.stat().st_mtime_ns for path in sweep.results()} == before


def test_a_file_system_that_is_shared_is_used(sweep: Sweep) -> None:
    sweep.write("ladder:two", 2)
    sweep.run(BENCHFLOW_SHARED_FOLDER="auto")
    job = read_job(sweep.job)
    assert [round(trial.reward or 0, 2) for trial in job.trials] == [0.75, 0.75]
    assert [each["by"] for each in sweep.tries()] == ["shared folder"] * 2
    assert not (sweep.job.parent / ".coming" / sweep.job.name).exists()


def test_models_are_reached_and_limited_by_the_drivers_gateway(
    sweep: Sweep, model: ScriptedModel
) -> None:
    sweep.write("asking:Asking", 4, models=f'["{model.url}/v1#policy"]')
    file = sweep.folder / "s.toml"
    # Six calls a minute over both nodes together: 12 calls take at least a minute.
    file.write_text(file.read_text().replace("[[entry]]", "[[limit]]\nrpm = 6\n[[entry]]"))
    begun = time.monotonic()
    sweep.run()
    assert time.monotonic() - begun > 60
    served = sum(truth.usage.total for truth in model.totals().values())
    assert served == 4 * TOKENS
    tallies = replay(sweep.job / "calls.jsonl").tallies
    assert sum(tally.usage.total for tally in tallies.values()) == served
    own = [json.loads((path.parent / "model.json").read_text()) for path in sweep.results()]
    assert [each["tokens"] for each in own] == [TOKENS] * 4
    calls = [
        json.loads(line)["t"]
        for line in (sweep.job / "calls.jsonl").read_text().splitlines()
        if '"event": "call"' in line or '"event":"call"' in line
    ]
    assert len(calls) == 12


def test_the_sweeps_purse_holds_over_all_nodes(sweep: Sweep, model: ScriptedModel) -> None:
    sweep.write("asking:Asking", 6, models=f'["{model.url}/v1#policy"]')
    file = sweep.folder / "s.toml"
    text = file.read_text().replace("[[entry]]", f"[trial]\nmax_tokens = {TOKENS}\n[[entry]]")
    file.write_text(f"max_tokens = {3 * TOKENS}\n{text}")
    assert "3 trials not started" in sweep.run()
    assert sum(truth.usage.total for truth in model.totals().values()) == 3 * TOKENS
    assert len(sweep.results()) == 3


def test_a_driver_that_is_killed_goes_on(sweep: Sweep) -> None:
    (sweep.folder / "play.txt").write_text("sleep 3\n")
    sweep.write(f"scripted:{sweep.folder / 'play.txt'}", 6)
    process = sweep.start()
    until(lambda: len(sweep.results()) >= 2 and sweep.running())
    kill_all(process, sweep.job)
    finished = {path: path.stat().st_mtime_ns for path in sweep.results()}
    assert 2 <= len(finished) < 6
    sweep.run()
    after = {path: path.stat().st_mtime_ns for path in sweep.results()}
    assert len(after) == 6 and finished.items() <= after.items()


def test_ctrl_c_stops_the_trials_on_the_nodes(sweep: Sweep) -> None:
    (sweep.folder / "play.txt").write_text("sleep 600\n")
    sweep.write(f"scripted:{sweep.folder / 'play.txt'}", 2)
    process = sweep.start()
    until(lambda: len(sweep.running()) == 2)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 130 and "stopped by SIGINT" in said
    jobs = home() / "ray" / "jobs"
    until(lambda: not [path for path in jobs.iterdir() if path.name[0] != "."], 120)


def test_a_task_that_was_changed_on_a_node_is_refused_there(sweep: Sweep) -> None:
    sweep.write("nop", 1)
    sweep.run()
    staged = Path(
        json.loads((sweep.results()[0].parent / "config.json").read_text())["task"]["path"]
    )
    kept = place_of(parcel.digest_of(staged)) / staged.name / "instruction.md"
    (sweep.folder / "jobs").rename(sweep.folder / "first")
    before = kept.read_text()
    kept.write_text(before + "\nAnything will do.\n")
    try:
        said = sweep.run(status=4)  # both nodes share the home of this machine
    finally:
        shutil.rmtree(kept.parents[1])
    assert "holds another task than the driver's" in said
    assert not sweep.results() and sweep.tries("refused")


def test_a_node_that_dies_loses_no_trial(
    tmp_path: Path, nodes: Cluster, model: ScriptedModel
) -> None:
    extra = nodes.node(cpus=2, env=AGENTS)
    sweep = Sweep(tmp_path, nodes)
    sweep.write("asking:Asking", 8, models=f'["{model.url}/v1#policy"]')
    process = sweep.start()
    until(lambda: extra.workers() and len(sweep.running()) >= 3)
    time.sleep(2)
    extra.kill()
    said, _ = process.communicate(timeout=900)
    assert process.returncode == 0, said + sweep.log()
    assert len(sweep.results()) == 8 and "8 of 8 trials finished" in said
    lost = sweep.tries("lost")
    assert lost and "sent again" in said
    served = sum(truth.usage.total for truth in model.totals().values())
    tallies = replay(sweep.job / "calls.jsonl").tallies
    assert sum(tally.usage.total for tally in tallies.values()) == served
    own = [json.loads((path.parent / "model.json").read_text()) for path in sweep.results()]
    assert [each["tokens"] for each in own] == [TOKENS] * 8


def test_a_worker_that_is_killed_again_and_again_makes_an_error_with_the_reason(
    sweep: Sweep,
) -> None:
    (sweep.folder / "play.txt").write_text("sleep 600\n")
    sweep.write(f"scripted:{sweep.folder / 'play.txt'}", 1)
    process = sweep.start()
    for lost in range(3):
        until(lambda: sweep.running())
        time.sleep(1)
        for node in sweep.nodes.nodes:
            for pid in node.workers():
                os.kill(pid, signal.SIGKILL)
        until(lambda lost=lost: len(sweep.tries("lost")) > lost)  # type: ignore[misc]
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 4, said
    (trial,) = read_job(sweep.job).trials
    assert trial.verdict.value == "error" and "lost 3 times" in trial.cause_message


def test_a_node_of_another_version_is_refused_and_the_others_do_the_work(
    tmp_path: Path, nodes: Cluster
) -> None:
    other = tmp_path / "other"
    shutil.copytree(Path(benchflow.__file__).parent, other / "benchflow")
    with (other / "benchflow" / "errors.py").open("a") as file:
        file.write("\n# a change\n")
    odd = nodes.node(cpus=4, env={"PYTHONPATH": f"{other}:{Path(__file__).parent}"})
    try:
        sweep = Sweep(tmp_path, nodes)
        sweep.write("nop", 6)
        said = sweep.run()
    finally:
        odd.kill()
    assert "6 of 6 trials finished" in said
    refused = sweep.tries("refused")
    assert refused and "the code of benchflow is" in refused[0]["why"]
    assert {each["node"] for each in refused}.isdisjoint(e["node"] for e in sweep.tries("done"))


def fill(disk: Path) -> None:
    """To the last block, whoever else writes there."""
    size = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    with (disk / "filler").open("wb") as file:
        while size > 4096:
            try:
                os.posix_fallocate(file.fileno(), 0, file.tell() + size)
                file.seek(0, os.SEEK_END)
            except OSError:
                size //= 2


@pytest.mark.needs("root")
def test_a_node_without_room_is_refused_and_one_that_fills_loses_its_trial(
    tmp_path: Path, nodes: Cluster
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    # Room for the trial (1,024 + 64 MiB) at first.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1300m", "none", str(small)], check=True)
    odd = nodes.node(cpus=4, home=own_home(small / "home"), env=AGENTS)
    try:
        sweep = Sweep(tmp_path, nodes)
        config = sweep.folder / "test" / "words" / "task.toml"
        config.write_text(config.read_text().replace("storage_mb = 1024", "storage_mb = 64"))
        (sweep.folder / "play.txt").write_text("sleep 30\necho > /app/x\n")
        sweep.write(f"scripted:{sweep.folder / 'play.txt'}", 6)
        process = sweep.start()
        until(lambda: list(small.glob("home/sandboxes/*/owner.json")))
        fill(small)
        said, _ = process.communicate(timeout=900)
    finally:
        odd.kill()
        subprocess.run(["umount", "-l", str(small)], check=True)
    assert process.returncode == 0, said + sweep.log()
    assert "6 of 6 trials finished" in said
    node = {each["node"] for each in sweep.tries() if each["came"] != "done"}
    assert len(node) == 1 and node.isdisjoint(e["node"] for e in sweep.tries("done"))
    assert sweep.tries("lost")


def test_a_node_whose_clock_is_wrong_is_refused(tmp_path: Path, nodes: Cluster) -> None:
    """An hour ahead for all of its Python. (With the whole clock moved by libfaketime Ray's own
    helpers die of errors of sleep, so that it has no such node.)"""
    ahead = tmp_path / "ahead"
    ahead.mkdir()
    (ahead / "sitecustomize.py").write_text(
        "import time\nright = time.time\ntime.time = lambda: right() + 3600\n"
    )
    odd = nodes.node(cpus=4, env={"PYTHONPATH": f"{ahead}:{Path(__file__).parent}"})
    try:
        sweep = Sweep(tmp_path, nodes)
        sweep.write("nop", 6)
        said = sweep.run()
    finally:
        odd.kill()
    assert "6 of 6 trials finished" in said
    refused = sweep.tries("refused")
    assert refused and all("its clock is 3,6" in each["why"] for each in refused)
    assert {each["node"] for each in refused}.isdisjoint(e["node"] for e in sweep.tries("done"))


class Parted:
    """A network of its own for one node, with a cable to this machine that can be cut."""

    def __init__(self, number: int) -> None:
        self.name = f"bfray{number}"
        self.ours, self.theirs = f"10.77.{number}.1", f"10.77.{number}.2"
        self._ip("netns", "add", self.name)
        self._ip(
            "link", "add", self.name, "type", "veth", "peer", "name", "far", "netns", self.name
        )
        self._ip("addr", "add", f"{self.ours}/24", "dev", self.name)
        self._ip("link", "set", self.name, "up")
        self._ip("-n", self.name, "addr", "add", f"{self.theirs}/24", "dev", "far")
        for device in ("far", "lo"):
            self._ip("-n", self.name, "link", "set", device, "up")

    @property
    def inside(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.name)

    def cut(self) -> None:
        self._ip("link", "set", self.name, "down")

    def mend(self) -> None:
        self._ip("link", "set", self.name, "up")

    def remove(self) -> None:
        self._ip("netns", "del", self.name)

    @staticmethod
    def _ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True)


@pytest.fixture
@needs("root", "ip")
def parted() -> Iterator[Parted]:
    made = Parted(os.getpid() % 250)
    yield made
    made.remove()


def test_a_network_that_parts_loses_no_trial_and_counts_none_twice(
    tmp_path: Path, parted: Parted, model: ScriptedModel
) -> None:
    """A few seconds are waited out; after half a minute the node is taken for dead, and what it
    says when it is back is nobody's."""
    with cluster(tmp_path / "ray", host=parted.ours) as nodes:
        nodes.head(cpus=1, env=AGENTS)
        nodes.node(cpus=1, inside=parted.inside, host=parted.theirs, env=AGENTS)
        sweep = Sweep(tmp_path, nodes)
        slow = POLICY.format(pause=6)
        (tmp_path / "slow.toml").write_text(slow)
        with ScriptedModel.start({"policy": tmp_path / "slow.toml"}) as served_by:
            sweep.write("asking:Asking", 8, models=f'["{served_by.url}/v1#policy"]')
            process = sweep.start()
            until(lambda: len(sweep.at_work()) == 2)
            parted.cut()
            time.sleep(6)
            parted.mend()
            until(lambda: len(sweep.results()) >= 2)
            assert not sweep.tries("lost")
            until(lambda: len(sweep.at_work()) == 2)
            parted.cut()
            time.sleep(45)
            parted.mend()
            said, _ = process.communicate(timeout=900)
            served = sum(truth.usage.total for truth in served_by.totals().values())
    assert process.returncode == 0, said + sweep.log()
    assert len(sweep.results()) == 8
    assert len(sweep.tries("lost")) >= 1
    tallies = replay(sweep.job / "calls.jsonl").tallies
    assert sum(tally.usage.total for tally in tallies.values()) == served
    own = [json.loads((path.parent / "model.json").read_text()) for path in sweep.results()]
    assert [each["tokens"] for each in own] == [TOKENS] * 8


def test_a_head_that_is_gone_ends_the_driver_which_goes_on_with_the_next(tmp_path: Path) -> None:
    """Without a store of its own outside, Ray's head forgets its nodes: they are started again."""
    with cluster(tmp_path / "ray") as nodes:
        nodes.head(cpus=1, env={**AGENTS, "RAY_gcs_rpc_server_reconnect_timeout_s": "10"})
        sweep = Sweep(tmp_path, nodes)
        (sweep.folder / "play.txt").write_text("sleep 4\n")
        sweep.write(f"scripted:{sweep.folder / 'play.txt'}", 3)
        process = sweep.start(RAY_gcs_rpc_server_reconnect_timeout_s="10")
        until(lambda: len(sweep.results()) >= 1 and sweep.running())
        nodes.stop()
        said, _ = process.communicate(timeout=300)
        assert process.returncode not in (0, 1), said
        finished = {path: path.stat().st_mtime_ns for path in sweep.results()}
        nodes.nodes.clear()
        nodes.port = 0
        nodes.folder = tmp_path / "again"
        nodes.folder.mkdir()
        nodes.head(cpus=1, env=AGENTS)
        assert "3 of 3 trials finished" in sweep.run()
        after = {path: path.stat().st_mtime_ns for path in sweep.results()}
        assert len(after) == 3 and finished.items() <= after.items()
