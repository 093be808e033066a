"""The gate `second-host`: two hosts judge the same, whatever their QEMU.

A host is a machine with one QEMU. Each verifies what the oracle delivers, and what the oracle
delivers when it is stopped half-way; what it came to is an entry of `hosts.json`, beside the tasks
(with `--record`) and in the home. Entries of several machines are one set: merging them again
changes nothing, and no order matters. The gate holds once two hosts are in it, all with the same
ladders. It is asked for by name, and no other gate waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchflow.authoring import gate_rules
from benchflow.authoring.gate import GateResult, Status, judged, not_applicable
from benchflow.authoring.trials import Trials
from benchflow.base.atomic import write_json
from benchflow.base.home import home
from benchflow.errors import UsageError
from benchflow.results.json_values import mapping, number, sequence, word
from benchflow.results.model import Host, Trial
from benchflow.results.safe_files import Absent, UnreadableRecord, read_object
from benchflow.tasks import Task

GATE = "second-host"
FILE = "hosts.json"
_SCHEMA = 1
_LARGEST = 16 << 20

#: Deliverable → its milestones with their status, in ladder order.
type Ladders = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True)
class Entry:
    """What one host came to. `key`: of the task and the verifier, as any gate's record has it."""

    task: str
    key: str
    host: str
    qemu: str
    ladders: Ladders
    accelerator: str = ""
    kernel: str = ""
    cpu: str = ""
    speed: float | None = None
    recorded: str = ""

    @property
    def name(self) -> str:
        return Host(id=self.host, qemu=self.qemu).name

    @property
    def identity(self) -> tuple[Any, ...]:
        """Two entries that agree in this say the same."""
        return (self.task, self.key, self.host, self.qemu, self.ladders)

    def to_json(self) -> dict[str, Any]:
        ladders = {label: dict(ladder) for label, ladder in self.ladders}
        return {**vars(self), "ladders": ladders}


def run(task: Task, trials: Trials, release: str = "", others: Iterable[Path] = ()) -> GateResult:
    """Verifies both deliverables here, and judges with what is known of other hosts. `release`: of
    Debian, for the verifier; `others`: files of other machines. UsageError, InfrastructureError."""
    if not task.is_benchflow or task.steps or not task.milestones:
        return not_applicable(GATE, "it has no deliverable with a ladder")
    delivered = _delivered(task, trials)
    if lost := gate_rules.errors(GATE, list(delivered.values())):
        return lost
    verified = trials.verified(_requests(task, trials, delivered, release))
    if lost := gate_rules.errors(GATE, verified):
        return lost
    found = dict(zip(delivered, verified, strict=True))
    own = home() / "checks" / FILE
    known = merged([entry(task, trials.key, found)], *map(read, (own, beside(task), *others)))
    write(own, known)
    return verdict(task, trials.key, known, str(verified[0].path.parent))


def _delivered(task: Task, trials: Trials) -> dict[str, Trial]:
    half = task.milestones[len(task.milestones) // 2].id
    reference = trials.reference()
    return {**({"oracle": reference} if reference else {}), **trials.half_built(GATE, half)}


def _requests(
    task: Task, trials: Trials, delivered: dict[str, Trial], release: str
) -> list[Any]:  # of VerifyRequest, whose import takes a second
    from benchflow.run.verify.verification import VerifyRequest

    top = trials.beside(GATE, "-stops") / (release or "usual")
    requests = []
    for label, trial in delivered.items():
        files = {d.path: trial.path / "artifacts" / d.path.lstrip("/") for d in task.deliverables}
        given = {path: file for path, file in files.items() if file.exists()}
        # What another trial delivered is another deliverable.
        place = top / f"{label.replace(':', '-')}-{trial.name}"
        requests.append(VerifyRequest(task, given, place, label=label, release=release))
    return requests


def entry(task: Task, key: str, found: dict[str, Trial]) -> Entry:
    """What this host came to."""
    host = next(iter(found.values())).host
    return Entry(
        task=task.name,
        key=key,
        host=host.id,
        qemu=host.qemu,
        ladders=tuple(
            (label, tuple((m.id, m.status) for m in trial.milestones))
            for label, trial in sorted(found.items())
        ),
        accelerator=host.accelerator,
        kernel=host.kernel,
        cpu=host.cpu,
        speed=host.speed,
        recorded=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def verdict(task: Task, key: str, known: Sequence[Entry], evidence: str = "") -> GateResult:
    """Passed with two hosts that agree, failed where any two do not, else open."""
    own = [each for each in known if (each.task, each.key) == (task.name, key)]
    hosts = sorted({each.name for each in own})
    findings = [*_unfit(task, own), *_differences(own)]
    summary = f"{len(hosts)} of 2 hosts recorded" if len(hosts) < 2 else "; ".join(hosts)
    if not findings and len(hosts) < 2:
        missing = (
            f"recorded: {hosts[0]}" if hosts else "none is recorded",
            "needed: the same gate on another machine (then --hosts ITS_hosts.json here), or by "
            "another QEMU (--release trixie)",
        )
        return GateResult(GATE, Status.OPEN, summary, missing, evidence)
    return judged(GATE, summary, findings, evidence=evidence)


def _unfit(task: Task, own: Sequence[Entry]) -> list[str]:
    """Ladders that would be equal and prove nothing: the oracle's must be whole, the other not."""
    findings = []
    for each in own:
        for label, ladder in each.ladders:
            whole = all(status == "passed" for _, status in ladder)
            if whole != (label == "oracle"):
                came = "resolves the task" if whole else "does not resolve the task"
                findings.append(f"{each.name}: {label} {came}")
    return findings


def _differences(own: Sequence[Entry]) -> list[str]:
    findings = []
    for at, one in enumerate(own):
        for other in own[at + 1 :]:
            for label, first in one.ladders:
                second = dict(other.ladders).get(label)
                if second is None or first == second:
                    continue
                differ = sorted({id for id, _ in set(first) ^ set(second)})
                findings.append(
                    f"{label}: {one.name} and {other.name} differ at {', '.join(differ)}"
                )
    return findings


def merged(*several: Iterable[Entry]) -> list[Entry]:
    """All entries, each once: the one that was recorded first."""
    found: dict[tuple[Any, ...], Entry] = {}
    for each in sorted((e for some in several for e in some), key=lambda e: e.recorded):
        found.setdefault(each.identity, each)
    return sorted(found.values(), key=lambda e: (e.task, e.key, e.name, e.recorded))


def beside(task: Task) -> Path:
    """The file of the catalogue that the task lies in."""
    return task.path.parents[1] / FILE


def record(task: Task, key: str) -> Path:
    """Adds what the home knows of the task as it is to its catalogue's file, and leaves out what
    is about an earlier one; returns the file."""
    path = beside(task)
    ours = [each for each in read(home() / "checks" / FILE) if each.task == task.name]
    known = [each for each in merged(ours, read(path)) if each.task != task.name or each.key == key]
    if known:
        write(path, known)
    return path


def read(path: Path) -> list[Entry]:
    """The entries of a file; none where there is none. UsageError for anything else."""
    try:
        data = read_object(path, _LARGEST)
    except Absent:
        return []
    except UnreadableRecord as error:
        raise UsageError(
            f"{path} {error}", hint="it is made by: check --gate second-host"
        ) from None
    if data.get("schema") != _SCHEMA:
        raise UsageError(f"{path} has schema {data.get('schema')!r}; we read {_SCHEMA}")
    return [_entry(mapping(each)) for each in sequence(data.get("hosts"))]


def _entry(said: Any) -> Entry:
    ladders = tuple(
        (word(label), tuple((word(id), word(status)) for id, status in mapping(of).items()))
        for label, of in sorted(mapping(said.get("ladders")).items())
    )
    texts = ("task", "key", "host", "qemu", "accelerator", "kernel", "cpu", "recorded")
    named = {name: word(said.get(name) or "") for name in texts}
    return Entry(**named, ladders=ladders, speed=number(said.get("speed")))


def write(path: Path, known: Sequence[Entry]) -> None:
    """All of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"schema": _SCHEMA, "hosts": [each.to_json() for each in known]})
