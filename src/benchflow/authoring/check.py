"""Runs the gates of a task, remembers what has not changed, continues after anything."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchflow.authoring import by_parts, gate_rules, second_host, static_gates, told_apart
from benchflow.authoring.cpu_load import busy_cores
from benchflow.authoring.gate import GateResult, Status, judged, not_applicable
from benchflow.authoring.nop_job import Nops
from benchflow.authoring.trials import FROM_ORACLE, JOBS, ORACLE_TIMES, Trials
from benchflow.base.atomic import write_json
from benchflow.errors import InfrastructureError, UsageError
from benchflow.run.live.progress import Listener, Silence
from benchflow.tasks import Exploit, Task, stage

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
    "variants",
    "corpus",
    "determinism",
)
#: Gates that run when they are named, which no record waits for.
ON_DEMAND = (second_host.GATE,)
FAST = ("schema", "coverage", "leaks", "nop")
#: What the oracle's own deliverable is verified under once more: beside as many programs that never
#: rest as there are cores.
DISTURBED = "a quarter more memory, all cores busy"

Report = Callable[[GateResult], None]


def check(
    task: Task,
    gates: tuple[str, ...],
    listener: Listener,
    report: Report,
    *,
    begin: Callable[[str], None] | None = None,
    again: bool = False,
    nops: Nops | None = None,
    release: str = "",
    hosts: Sequence[Path] = (),
) -> list[GateResult]:
    """Runs `gates` in their order, reports each as it is known, returns all of them.
    `begin` is told the name of each that has to be run.

    A gate that passed or failed on the same task and the same `boot` is not run again unless
    `again`, with new trials then, the old ones beside them; one that ended in `error` always is.
    Where only what judges has changed (a check, `boot`, `bench`), what an earlier run of the gate
    built is verified again and not built again (`kept_builds`).
    What was known of a gate is forgotten as soon as it is run again, and of those that look at the
    oracle's trials as soon as the oracle is.
    One that the machine could not run (no mirror, no QEMU) is an `error`, too; the others are run.
    `release`, `hosts`: see `second_host.run`, whose gate always looks again at what it has.
    `nops`: where the trial in which nothing is done comes from when other tasks need theirs too.
    Raises UsageError for an unknown gate, and TaskError.
    """
    for gate in gates:
        if gate not in (*GATES, *ON_DEMAND):
            there = ", ".join((*GATES, *ON_DEMAND))
            raise UsageError(f"no gate {gate!r}", hint=f"the gates: {there}")
    runner = _Gates(task, listener, nops, release, hosts)
    told_apart.claim(runner.trials.plain, runner.trials.rest)
    results = []
    for gate in (name for name in (*GATES, *ON_DEMAND) if name in gates):
        result = None if again else runner.remembered(gate)
        if result is None:
            started = time.monotonic()
            if begin is not None:
                begin(gate)
            if again:
                runner.forget(gate)
            try:
                result = runner.run(gate)
            except InfrastructureError as error:
                findings = tuple(part for part in (error.message, error.hint) if part)
                result = GateResult(gate, Status.ERROR, "it could not be run", findings)
            if gate in runner.trials.built_before:
                summary = f"{result.summary}; built before, verified again"
                result = replace(result, summary=summary)
            result = replace(result, seconds=round(time.monotonic() - started, 2))
            runner.remember(result)
        report(result)
        results.append(result)
    return results


def remembered(task: Task) -> dict[str, GateResult]:
    """Gates of `task` as it is now whose result is known, by name; runs nothing."""
    runner = _Gates(task, Silence())
    known = {gate: runner.remembered(gate) for gate in GATES}
    return {gate: result for gate, result in known.items() if result}


class _Gates:
    def __init__(
        self,
        task: Task,
        listener: Listener,
        nops: Nops | None = None,
        release: str = "",
        hosts: Sequence[Path] = (),
    ) -> None:
        self.task = task
        self.release, self.hosts = release, hosts
        self.listener = listener
        self.trials = Trials(task, listener)
        self.nops = nops or Nops(())

    def run(self, gate: str) -> GateResult:
        if gate == "schema":
            return static_gates.schema(self.task.path)
        if gate == "coverage":
            return static_gates.coverage(self.task)
        if gate == "leaks":
            return static_gates.leaks(self.task)
        if gate == "offline":
            return self._offline()
        if gate == "image":
            return self._image()
        if gate == "nop":
            return gate_rules.nop(self.nops.of(self.task, self.listener))
        if gate == "oracle":
            return gate_rules.oracle(self.trials.oracle(), ORACLE_TIMES)
        if gate == "budget":
            return gate_rules.budget(self.task, self.trials.timed_oracles())
        if gate == "size":
            return self._size()
        if gate == "ladder":
            return self._ladder()
        if gate == "exploits":
            return self._exploits()
        if gate == "variants":
            return self._variants()
        if gate == "corpus":
            return self._corpus()
        if gate == second_host.GATE:
            return second_host.run(self.task, self.trials, self.release, self.hosts)
        return self._determinism()

    def _offline(self) -> GateResult:
        import tomllib

        text = (stage(self.task).folder / "task.toml").read_text(encoding="utf-8")
        verifier = tomllib.loads(text).get("verifier", {})
        if verifier.get("environment_mode") != "separate":
            return not_applicable("offline", "the verifier shares the agent's sandbox")
        mode = verifier.get("environment", {}).get("network_mode", "public")
        findings = [] if mode == "no-network" else [f"the verifier's network_mode is {mode!r}"]
        return judged("offline", "the verifier has no network", findings)

    def _image(self) -> GateResult:
        from benchflow import sandbox
        from benchflow.authoring import image

        context = stage(self.task).folder / "environment"
        if not (context / "Dockerfile").is_file():
            return not_applicable("image", "no Dockerfile: the image was made elsewhere")
        return image.search(self.task.path, sandbox.build(context).layers)

    def _size(self) -> GateResult:
        from benchflow import sandbox
        from benchflow.authoring import size

        if not self.task.is_benchflow:
            return not_applicable("size", "a plain Harbor task states no sizes")
        layers = sandbox.build(stage(self.task).folder / "environment").layers
        oracle = self.trials.reference()
        return size.size(self.task, size.stored(layers), [oracle] if oracle else [])

    def _ladder(self) -> GateResult:
        names = [milestone.id for milestone in self.task.milestones]
        if not names:
            return not_applicable("ladder", "the task declares no milestones")
        if by_parts.applies(self.task):
            return by_parts.ladder(self.trials)
        return gate_rules.ladder(self.task, self.trials.stopped(names))

    def _exploits(self) -> GateResult:
        scripts = [] if self.task.is_benchflow else sorted(self.task.path.glob("exploits/*.sh"))
        exploits = self.task.exploits or tuple(Exploit(path.stem, path) for path in scripts)
        if not exploits:
            return not_applicable("exploits", "the task ships no exploits")
        if by_parts.applies(self.task):
            return by_parts.exploits(self.trials)
        return gate_rules.exploits(
            exploits, self.trials.shipped("exploits", [exploit.name for exploit in exploits])
        )

    def _variants(self) -> GateResult:
        if not self.task.is_benchflow:
            return not_applicable("variants", "a plain Harbor task is not asked for variants")
        names = [variant.name for variant in self.task.variants]
        return gate_rules.variants(
            self.task, self.trials.shipped("variants", names) if names else {}
        )

    def _corpus(self) -> GateResult:
        from benchflow.authoring.corpus import exploits

        folder = self.trials.folder("corpus")
        folder = folder.with_name(f"{folder.name}.exploits")
        oracle = self.trials.reference()
        common = exploits.prepare(self.task, oracle, folder)
        return gate_rules.common(self.task, common, self.trials.common(common, folder))

    def _determinism(self) -> GateResult:
        from benchflow.run.verify.verification import VerifyRequest

        if not self.task.is_benchflow:
            return not_applicable("determinism", "a plain Harbor task declares no deliverables")
        reference = self.trials.reference()
        given = {
            d.path: reference.path / "artifacts" / d.path.lstrip("/") if reference else Path()
            for d in self.task.deliverables
        }
        if reference is None or not all(path.exists() for path in given.values()):
            return GateResult("determinism", Status.ERROR, "no oracle left a deliverable to verify")
        # Verifications of one deliverable: those of another oracle's are no part of them.
        top = self.trials.folder("determinism") / reference.name
        more = self.task.machine_memory_mb * 5 // 4
        # Another manifest needs another address, or the staged original would be found.
        larger = replace(self.task, machine_memory_mb=more, digest=f"{self.task.digest}+memory")

        request = VerifyRequest(larger, given, top / "disturbed", label=DISTURBED)
        with busy_cores():
            (again,) = self.trials.verified([request])
        return gate_rules.same(reference, [again], [DISTURBED], again)

    def forget(self, gate: str) -> None:
        """What is known of `gate` no longer counts, nor do its trials, which stay as evidence."""
        dependent = FROM_ORACLE if gate == "oracle" else ()
        for name in (gate, *dependent):
            self.trials.memory(name).unlink(missing_ok=True)
        if gate in JOBS:
            self.trials.put_aside(gate)
        if gate == "oracle":  # of an incremental one the third time is the ladder's
            self.trials.put_aside("ladder")

    def remembered(self, gate: str) -> GateResult | None:
        if gate in ON_DEMAND:
            return None
        try:
            data = json.loads(self.trials.memory(gate).read_text())
            return GateResult.from_json(data)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remember(self, result: GateResult) -> None:
        if result.status is Status.ERROR or result.gate in ON_DEMAND:
            return
        path = self.trials.memory(result.gate)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, result.to_json())
