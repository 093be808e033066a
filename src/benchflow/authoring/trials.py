"""The trials that gates judge: started, resumed, or read where they are whole already."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.authoring import kept_builds, told_apart
from benchflow.authoring.built import delivered
from benchflow.authoring.meaning import key
from benchflow.authoring.meaning.kept import Meaning, of_task
from benchflow.authoring.whole_jobs import (
    by_argument,
    end_now,
    ended,
    ended_partly,
    put_aside,
    whole_job,
)
from benchflow.base.home import home
from benchflow.results.jobs.partial import Partial
from benchflow.results.model import Job, Trial, Verdict
from benchflow.run.live.progress import Listener
from benchflow.tasks import Exploit, Task, Variant, stage
from benchflow.tasks.digest import digest_of

if TYPE_CHECKING:
    from benchflow.run.job.plan import Plan
    from benchflow.run.job.request import RunRequest
    from benchflow.run.verify.verification import VerifyRequest

#: Builds of the oracle from scratch. Gate `determinism` verifies one of them once more.
ORACLE_TIMES = 2
#: Milestones verified at once, a core. The machines of most wait, to the end of a check's time,
#: for what a half-built system does not have. Whole ones gain nothing (benchmarks/gate_hours.py).
HALF_BUILT_A_CORE = 2
#: Gates that read or run the task's own exploits, which no other trial depends on.
EXPLOITED = frozenset({"schema", "leaks", "image", "exploits"})
#: Gates that read or run the task's variants.
VARIED = frozenset({"leaks", "image", "variants"})
#: Gates whose answer depends on what exploits are declared to gain, which no trial does.
DECLARED = frozenset({"schema", "exploits", "corpus"})
#: Gates that read the task's files as they stand, the instruction and each comment too.
READ = frozenset({"schema", "coverage", "leaks", "offline", "image", "size"})
#: Gates with trials of their own.
JOBS = frozenset(
    {"nop", "oracle", "ladder", "exploits", "variants", "corpus", "determinism", "second-host"}
)
#: Gates that look at a trial of the oracle.
FROM_ORACLE = ("budget", "size", "ladder", "corpus", "determinism", "second-host")


class Trials:
    """Runs the trials of one task, each in a job folder below `<home>/checks`.

    The folder's name holds what an answer depends on, so a changed task starts new jobs.
    """

    def __init__(self, task: Task, listener: Listener) -> None:
        self.task = task
        self.listener = listener
        #: Gates whose trials were built before and have only been verified again.
        self.built_before: set[str] = set()
        #: Gates of which no earlier build stands.
        self.anew: set[str] = set()

    @functools.cached_property
    def _meaning(self) -> Meaning:
        return of_task(self.task)

    @property
    def parts(self) -> dict[str, str]:
        """What every trial's answer depends on, by name (`meaning.key`)."""
        return self._meaning.parts

    @functools.cached_property
    def key(self) -> str:
        """All `parts` as one word."""
        return key.key_of(self.parts)

    @property
    def rest(self) -> str:
        """What else an answer depends on, beside `key` (`meaning.rest`)."""
        return self._meaning.rest

    @functools.cached_property
    def scripts(self) -> str:
        """The task's own exploits and how they are run, as one word; no part of `key`."""
        return self._scripts("exploits")

    @functools.cached_property
    def variants(self) -> str:
        """The task's variants and how they are run, as one word; "" where there are none."""
        return self._scripts("variants") if self.task.variants else ""

    def _scripts(self, gate: str) -> str:
        scripts = digest_of(self.task.path, [gate])
        if in_turn := self.going_on(gate):
            scripts = hashlib.sha256(repr((scripts, in_turn)).encode()).hexdigest()
        return scripts[:8]

    @functools.cached_property
    def declared(self) -> str:
        """What the task says that exploits gain, as one word; `key` does not depend on it."""
        exploits = [*self.task.exploits, *self.task.common_exploits]
        text = repr([(exploit.name, exploit.allowed, exploit.why) for exploit in exploits])
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def memory(self, gate: str) -> Path:
        """The file that keeps the result of `gate`: one for each set of declared gains, where the
        result depends on them though the trials do not."""
        more = f"-{self.declared}" if gate in DECLARED else ""
        more += f"-{self.task.digest[:8]}" if gate in READ else ""
        return self.folder(gate).with_name(f"{self.folder(gate).name}{more}.json")

    def folder(self, gate: str) -> Path:
        """Where the evidence of `gate` is, or will be."""
        more = f"-{self.scripts}" if gate in EXPLOITED else ""
        more += f"-{self.variants}" if gate in VARIED and self.variants else ""
        # The common exploits are ours: an answer about them holds for what they are today.
        more += f"-{corpus_digest()}" if gate == "corpus" else ""
        top = told_apart.name(self.plain, self.rest)
        return top.with_name(f"{top.name}-{gate}{more}")

    @property
    def plain(self) -> Path:
        """How the names of this task's folders begin, where no other has the same key."""
        return home() / "checks" / f"{self.task.slug}-{self.key}"

    def put_aside(self, gate: str) -> None:
        """The trials of a gate stay as evidence, beside those that are run again, and what they
        built stands for no other. JobInUse."""
        self.build_anew(gate)
        for more in ("", "-again", "-built"):
            kept_builds.forget(self.beside(gate, more))
            put_aside(self.beside(gate, more))
        for more in ("-stops", "-parts", "-whole"):
            put_aside(self.beside(gate, more))

    def build_anew(self, gate: str) -> None:
        """From now on nothing that was built before stands for a trial of this gate."""
        self.anew.add(gate)

    def nop(self) -> tuple[Trial, ...]:
        """One trial in which nothing is done."""
        return self._job("nop", ["nop"])

    def oracle(self) -> tuple[Trial, ...]:
        """The oracle, twice from scratch. Where it is incremental, the second is the one that the
        ladder climbs with, milestone by milestone in one sandbox."""
        climbs = self.task.oracle_incremental and self.task.milestones
        return (*self.timed_oracles(), *([self.climb()] if climbs else []))

    def timed_oracles(self) -> tuple[Trial, ...]:
        """Those of `oracle` that stop nowhere, so that their times are the oracle's own."""
        climbs = self.task.oracle_incremental and self.task.milestones
        attempts = ORACLE_TIMES - 1 if climbs else ORACLE_TIMES
        return self._job("oracle", ["oracle"], attempts=attempts)

    def climb(self) -> Trial:
        """The trial of an incremental oracle that stops at each milestone in turn."""
        return self._job("ladder", ["ladder:*"])[0]

    def reference(self) -> Trial | None:
        """One trial of the oracle, for gates that need no more: one of the three where they ran.

        One that resolved the task before one that failed.
        """
        known = sorted(self.known_oracles(), key=lambda trial: trial.verdict is Verdict.FAILED)
        judged = (trial for trial in known if trial.verdict is not Verdict.ERROR)
        return next(judged, None) or next(iter(self._job("reference", ["oracle"])), None)

    def stopped(self, names: list[str]) -> dict[str, Trial]:
        """Milestone → the oracle stopped after it, verified whole. Empty values are left out.

        The last is the oracle, where its own gate has run it already.
        """
        resolved = (t for t in self.known_oracles() if t.verdict is Verdict.RESOLVED)
        whole = next(resolved, None)
        *lower, last = names
        if whole is None or not lower:
            return self._stopped(names)
        return {**self._stopped(lower), last: whole}

    def _verified_in_turn(
        self, gate: str, shared: Trial, names: Sequence[str], a_core: int
    ) -> dict[str, Trial]:
        """Each by itself, the last as the sandbox's own trial. Where a script failed, it is the
        last, and those after it have none."""
        if shared.verdict is Verdict.ERROR:
            return dict.fromkeys(names, shared)
        below, last = self._in_turn(gate, shared, names)
        verified = self.verified(list(below.values()), a_core=a_core)
        return {**dict(zip(below, verified, strict=True)), last: shared}

    def _stopped(self, names: list[str]) -> dict[str, Trial]:
        agents = [f"ladder:{name}" for name in names]
        return by_argument(self._job("ladder", agents, a_core=HALF_BUILT_A_CORE), names)

    def half_built(self, gate: str, milestone: str) -> dict[str, Trial]:
        """The oracle stopped after one milestone, in a sandbox of its own, by its agent's name."""
        return {trial.agent: trial for trial in self._job(gate, [f"ladder:{milestone}"])}

    def shipped(self, gate: str, names: list[str], *, a_core: int = 1) -> dict[str, Trial]:
        """The task's own exploits (`exploits`), or its `variants`, by name; `a_core` at once.

        Those that may share a sandbox have one, each is run where the one before has built, and
        each is verified by itself.
        """
        kind = gate.removesuffix("s")
        alone = [name for name in names if name not in self.going_on(gate)]
        in_turn = [name for name in names if name in self.going_on(gate)]
        agents = [*([f"{kind}:*"] if in_turn else []), *(f"{kind}:{name}" for name in alone)]
        trials = self._job(gate, agents, a_core=a_core)
        found = by_argument(trials, alone)
        shared = by_argument(trials, ["*"]).get("*")
        if shared is None:
            return found
        return {**found, **self._verified_in_turn(gate, shared, in_turn, a_core)}

    def common(self, exploits: list[Exploit], folder: Path) -> dict[str, Trial]:
        """The common exploits that were written to `folder`, by name."""
        from benchflow.run.job.plan import plan

        def prepare() -> Plan:
            from harbor.models.trial.config import AgentConfig

            request = self.request("corpus", ["nop"], 1)
            ready = plan(request)
            sources = {str(planned.folder): str(folder) for planned in ready.tasks}
            agents = [
                AgentConfig(
                    import_path="benchflow.agents.scripts:ExploitAgent",
                    kwargs={"exploit": exploit.name, "sources": sources},
                )
                for exploit in exploits
            ]
            named = replace(request, agents=tuple(f"exploit:{each.name}" for each in exploits))
            config = ready.config.model_copy(update={"agents": agents})
            return replace(ready, request=named, config=config)

        names = [exploit.name for exploit in exploits]
        return by_argument(self._run("corpus", prepare, len(exploits)).trials, names)

    def verified(self, requests: Sequence[VerifyRequest], *, a_core: int = 1) -> list[Trial]:
        """What verifications came to, `a_core` at once; earlier ones that ended are taken."""
        return self._each(self._verified, requests, a_core)

    def verified_partly(
        self, requests: Sequence[VerifyRequest], *, a_core: int = 1
    ) -> list[Partial]:
        """As `verified`, of the milestones that each request names."""
        return self._each(self._verified_partly, requests, a_core)

    def _each[T](
        self, one: Callable[[VerifyRequest], T], requests: Sequence[VerifyRequest], a_core: int
    ) -> list[T]:
        with ThreadPoolExecutor(self._at_once(a_core)) as pool:
            under_way = [pool.submit(one, request) for request in requests]
            try:
                return [each.result() for each in under_way]
            except BaseException:
                end_now(pool, under_way)
                raise

    def _verified(self, request: VerifyRequest) -> Trial:
        from benchflow.run.verify.verification import verify

        known, folder = ended(request)
        if known is not None:
            return known
        folder.parent.mkdir(parents=True, exist_ok=True)
        return verify(replace(request, folder=folder), self.listener).trial

    def _verified_partly(self, request: VerifyRequest) -> Partial:
        from benchflow.run.verify.verification import verify_partly

        known, folder = ended_partly(request)
        if known is not None:
            return known
        folder.parent.mkdir(parents=True, exist_ok=True)
        return verify_partly(replace(request, folder=folder), self.listener).partial

    def known(self, gate: str) -> dict[str, Trial]:
        """Finished trials of a gate's job by what stands behind their agent's colon."""
        found = {trial.agent.partition(":")[2]: trial for trial in self._finished(gate)}
        shared = found.pop("*", None)
        if (in_turn := self.going_on(gate)) and shared is not None:
            below, last = self._in_turn(gate, shared, in_turn)
            known = {name: ended(request)[0] for name, request in below.items()}
            found |= {name: trial for name, trial in known.items() if trial} | {last: shared}
        return found

    def known_oracles(self) -> tuple[Trial, ...]:
        """Finished trials of the oracle; nothing is run."""
        return self._finished("oracle")

    def _finished(self, gate: str) -> tuple[Trial, ...]:
        from benchflow.results.jobs.trials import read_job

        folder = self.folder(gate)
        if folder.is_dir():
            return read_job(folder).trials
        return kept_builds.known(self.task, self.beside(gate, "-again"))

    def _in_turn(
        self, gate: str, shared: Trial, names: Sequence[str]
    ) -> tuple[dict[str, VerifyRequest], str]:
        """What was built in turn in one sandbox: how to verify it, and the name of the last.

        The last is what the sandbox's own trial has judged: all names were delivered, or the script
        of this one failed.
        """
        from benchflow.agents.scripts import InTurnAgent
        from benchflow.run.verify.verification import VerifyRequest

        kept = shared.path / InTurnAgent.RUNGS
        done = [name for name in names if (kept / name).is_dir()]
        last = names[min(len(done), len(names) - 1)]
        requests = {}
        for name in done:
            given = delivered(self.task, kept / name)
            place, agent = self.beside(gate, "-stops") / name, gate.removesuffix("s")
            requests[name] = VerifyRequest(self.task, given, place, label=f"{agent}:{name}")
        requests.pop(last, None)
        return requests, last

    def beside(self, gate: str, more: str) -> Path:
        """A folder beside that of a gate's trials, put aside with it. `-built`: trials that nobody
        judged; `-again`, `-stops`, `-parts`, `-whole`: verifications of what was built before, in
        turn in one sandbox, of some milestones alone, and of all where these did not do."""
        return self.folder(gate).with_name(f"{self.folder(gate).name}{more}")

    def going_on(self, gate: str) -> tuple[str, ...]:
        """Names of a gate's scripts that may share a sandbox."""
        of_task: dict[str, tuple[Exploit | Variant, ...]] = {
            "exploits": self.task.exploits,
            "variants": self.task.variants,
        }
        return tuple(script.name for script in of_task.get(gate, ()) if script.incremental)

    def _at_once(self, a_core: int) -> int:
        from benchflow.run.job.plan import concurrency

        return concurrency([stage(self.task)], a_core)

    def _job(
        self, gate: str, agents: list[str], attempts: int = 1, a_core: int = 1
    ) -> tuple[Trial, ...]:
        """One trial for each agent and attempt. What was built before, by the same scripts in the
        same image, is only verified again where the trials would have to be started."""
        from benchflow.run.job.plan import plan

        folder, keeps = self.folder(gate), self.task.is_benchflow and not self.task.steps
        if keeps and gate not in self.anew and not folder.exists():
            labels = [agent for agent in agents for _ in range(attempts)]
            if built := kept_builds.find(folder, gate, self.task, labels):
                self.built_before.add(gate)
                top = self.beside(gate, "-again")
                requests = [kept_builds.request(self.task, each, top) for each in built]
                verified = self.verified(requests, a_core=a_core)
                return tuple(map(kept_builds.joined, built, verified))

        def prepare() -> Plan:
            request = self.request(gate, agents, attempts)
            if a_core > 1:
                request = replace(request, concurrent=self._at_once(a_core))
            return plan(request)

        trials = self._run(gate, prepare, len(agents) * attempts).trials
        if keeps:
            kept_builds.note(folder, gate, self.task)
        return trials

    def request(self, gate: str, agents: list[str], attempts: int) -> RunRequest:
        from benchflow.run.fitness import sandbox_for
        from benchflow.run.job.request import RunRequest

        folder = self.folder(gate)
        return RunRequest(
            sandbox=sandbox_for(self.task),
            tasks=(str(self.task.path),),
            agents=tuple(agents),
            attempts=attempts,
            job_name=folder.name,
            jobs_dir=folder.parent,
        )

    def _run(self, gate: str, prepare: Callable[[], Plan], wanted: int) -> Job:
        return whole_job(self.folder(gate), prepare, wanted, self.listener)


@functools.cache
def corpus_digest() -> str:
    return digest_of(Path(__file__).parent, ["corpus"])[:8]
