"""Runs the gates of a task, remembers what has not changed, goes on after anything."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchflow.authoring import judge, static
from benchflow.authoring.gate import GateResult, Status, judged, not_applicable
from benchflow.errors import UsageError
from benchflow.home import home
from benchflow.results.model import Job, Trial, Verdict
from benchflow.run.board import Listener
from benchflow.tasks import Task, stage
from benchflow.tasks.digest import digest_of

GATES = (
    "schema",
    "coverage",
    "leaks",
    "offline",
    "image",
    "nop",
    "oracle",
    "budget",
    "size",
    "ladder",
    "exploits",
    "determinism",
)
FAST = ("schema", "coverage", "leaks", "nop")
ORACLE_TIMES = 3
#: What each of the repeated verifications is done under.
CONDITIONS = (
    "idle",
    "idle again",
    "all cores busy",
    "all cores busy again",
    "a quarter more memory",
)
_FORMAT = 1

Report = Callable[[GateResult], None]


def check(
    task: Task, gates: tuple[str, ...], listener: Listener, report: Report, *, again: bool = False
) -> list[GateResult]:
    """Runs `gates` in their order, reports each as it is known, returns all of them.

    A gate that passed or failed on the same task and the same `boot` is not run again unless
    `again`; one that ended in `error` always is. Raises UsageError for an unknown gate and what
    `benchflow.run` raises when nothing can be run at all.
    """
    for gate in gates:
        if gate not in GATES:
            raise UsageError(f"no gate {gate!r}", hint=f"the gates: {', '.join(GATES)}")
    runner = _Gates(task, listener)
    results = []
    for gate in (name for name in GATES if name in gates):
        result = None if again else runner.remembered(gate)
        if result is None:
            started = time.monotonic()
            result = runner.run(gate)
            result = replace(result, seconds=round(time.monotonic() - started, 2))
            runner.remember(result)
        report(result)
        results.append(result)
    return results


def oracles(task: Task, listener: Listener) -> tuple[Trial, ...]:
    """The trials of the gate `oracle`, run now when they are not there yet."""
    return _Gates(task, listener)._oracle().trials


class _Gates:
    def __init__(self, task: Task, listener: Listener) -> None:
        self.task = task
        self.listener = listener

    def run(self, gate: str) -> GateResult:
        if gate == "schema":
            return static.schema(self.task.path)
        if gate == "coverage":
            return static.coverage(self.task)
        if gate == "leaks":
            return static.leaks(self.task)
        if gate == "offline":
            return self._offline()
        if gate == "image":
            return self._image()
        if gate == "nop":
            return judge.nop(self._job("nop", ["nop"]).trials)
        if gate == "oracle":
            return judge.oracle(self._oracle().trials, ORACLE_TIMES)
        if gate == "budget":
            return judge.budget(self.task, self._oracle().trials)
        if gate == "size":
            return self._size()
        if gate == "ladder":
            return self._ladder()
        if gate == "exploits":
            return self._exploits()
        return self._determinism()

    def _offline(self) -> GateResult:
        if not self.task.is_benchflow:
            return not_applicable("offline", "a plain Harbor task names its own network")
        import tomllib

        text = (stage(self.task) / "task.toml").read_text(encoding="utf-8")
        mode = tomllib.loads(text)["verifier"]["environment"].get("network_mode")
        findings = [] if mode == "no-network" else [f"the verifier's network_mode is {mode!r}"]
        return judged("offline", "the verifier has no network", findings)

    def _image(self) -> GateResult:
        from benchflow import sandbox
        from benchflow.authoring import image

        context = self.task.path / "environment"
        if not (context / "Dockerfile").is_file():
            return not_applicable("image", "no Dockerfile: the image was made elsewhere")
        return image.search(self.task.path, sandbox.build(context).layers)

    def _size(self) -> GateResult:
        from benchflow import sandbox
        from benchflow.authoring import size

        if not self.task.is_benchflow:
            return not_applicable("size", "a plain Harbor task states no sizes")
        layers = sandbox.build(self.task.path / "environment").layers
        return size.size(self.task, size.stored(layers), self._oracle().trials)

    def _oracle(self) -> Job:
        return self._job("oracle", ["oracle"], attempts=ORACLE_TIMES)

    def _ladder(self) -> GateResult:
        names = [milestone.id for milestone in self.task.milestones]
        if not names:
            return not_applicable("ladder", "the task declares no milestones")
        if self.task.oracle_goes_on:
            return self._climb(names)
        job = self._job("ladder", [f"ladder:{name}" for name in names])
        return judge.ladder(self.task, _by_argument(job.trials, names))

    def _climb(self, names: list[str]) -> GateResult:
        """One sandbox builds every rung; each is then verified by itself."""
        from benchflow.agents.scripts import ClimbAgent

        trial = self._job("ladder", ["ladder:*"]).trials[0]
        lost = judge.errors("ladder", [trial])
        if lost:
            return lost
        rungs = trial.path / ClimbAgent.RUNGS
        delivered = [name for name in names if (rungs / name).is_dir()]
        with ThreadPoolExecutor(self._side_by_side()) as pool:
            trials = pool.map(lambda name: self._rung(rungs / name), delivered)
        return judge.ladder(self.task, dict(zip(delivered, trials, strict=True)))

    def _rung(self, delivered: Path) -> Trial:
        from benchflow.run.verify import VerifyRequest, read_again, verify

        given = {d.path: delivered / d.path.lstrip("/") for d in self.task.deliverables}
        folder = self._folder("ladder").with_name(f"{self._folder('ladder').name}-rungs")
        request = VerifyRequest(self.task, given, folder / delivered.name)
        known = read_again(request)
        if known is not None and known.verdict is not Verdict.ERROR:
            return known
        return verify(replace(request, folder=_fresh(request.folder)), self.listener).trial

    def _side_by_side(self) -> int:
        from benchflow.run.agents import PlannedTask
        from benchflow.run.plan import concurrency

        return concurrency([PlannedTask(self.task, stage(self.task))])

    def _exploits(self) -> GateResult:
        cheats = self.task.exploits
        if not cheats:
            return not_applicable("exploits", "the task ships no cheats")
        job = self._job("exploits", [f"exploit:{cheat.name}" for cheat in cheats])
        return judge.exploits(cheats, _by_argument(job.trials, [cheat.name for cheat in cheats]))

    def _determinism(self) -> GateResult:
        from benchflow.run.verify import VerifyRequest, verify

        if not self.task.is_benchflow:
            return not_applicable("determinism", "a plain Harbor task declares no deliverables")
        reference = next(iter(self._oracle().trials), None)
        given = {
            d.path: reference.path / "artifacts" / d.path.lstrip("/") if reference else Path()
            for d in self.task.deliverables
        }
        if reference is None or not all(path.exists() for path in given.values()):
            return GateResult("determinism", Status.ERROR, "no oracle left a deliverable to verify")
        top = self._folder("determinism")
        trials = []
        for number, condition in enumerate(CONDITIONS):
            task = self.task
            if "memory" in condition:
                # Another manifest needs another address, or the staged original would be found.
                more = task.machine_memory_mb * 5 // 4
                task = replace(task, machine_memory_mb=more, digest=f"{task.digest}+memory")
            folder = _fresh(top / str(number))
            with _busy_cores("busy" in condition):
                trials.append(verify(VerifyRequest(task, given, folder), self.listener).trial)
        return judge.same(reference, trials, CONDITIONS)

    def _job(self, gate: str, agents: list[str], attempts: int = 1) -> Job:
        """The gate's job: read when it is whole, resumed when it stopped, else started."""
        from benchflow.results.read import read_job
        from benchflow.run import jobs
        from benchflow.run.plan import plan
        from benchflow.run.request import RunRequest

        folder = self._folder(gate)
        if (folder / "benchflow.json").is_file():
            found = read_job(folder)
            wanted = len(agents) * attempts
            if len(found.trials) == wanted and not found.count(Verdict.ERROR):
                return found
            return jobs.resume(folder, self.listener, retry_errors=True)[0]
        request = RunRequest(
            tasks=(str(self.task.path),),
            agents=tuple(agents),
            attempts=attempts,
            job_name=folder.name,
            jobs_dir=folder.parent,
        )
        return jobs.start(plan(request), self.listener)

    def _key(self) -> str:
        """What the gates' answers depend on: the task with its cheats, and `boot`."""
        from benchflow.tasks.stage import boot_zipapp

        cheats = digest_of(self.task.path, ["exploits"])
        text = f"{_FORMAT} {self.task.digest} {cheats} {boot_zipapp().stem}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def _folder(self, gate: str) -> Path:
        return home() / "checks" / f"{self.task.slug}-{self._key()}-{gate}"

    def remembered(self, gate: str) -> GateResult | None:
        try:
            data = json.loads(self._folder(gate).with_suffix(".json").read_text())
            return GateResult.from_json(data)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remember(self, result: GateResult) -> None:
        if result.status is Status.ERROR:
            return
        path = self._folder(result.gate).with_suffix(".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(f".{os.getpid()}")
        scratch.write_text(json.dumps(result.to_json(), indent=1))
        scratch.replace(path)


def _by_argument(trials: tuple[Trial, ...], names: list[str]) -> dict[str, Trial]:
    """Trials by what stands behind the colon of their agent's name (`ladder:kernel`)."""
    found = {trial.agent.partition(":")[2]: trial for trial in trials}
    return {name: found[name] for name in names if name in found}


def _fresh(folder: Path) -> Path:
    """`folder`, or the next free name beside it: earlier evidence is kept."""
    n = 1
    candidate = folder
    while candidate.exists():
        n += 1
        candidate = folder.with_name(f"{folder.name}-{n}")
    candidate.parent.mkdir(parents=True, exist_ok=True)
    return candidate


@contextmanager
def _busy_cores(wanted: bool) -> Iterator[None]:
    count = os.cpu_count() or 1 if wanted else 0
    burners = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(count)]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.join()


def _burn() -> None:
    while True:
        pass
