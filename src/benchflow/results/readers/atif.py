"""Agent trajectories in ATIF (Agent Trajectory Interchange Format, Harbor's RFC 0001, v1.0–v1.8).

Reads leniently what the format's own models would refuse, and says what was against the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchflow.results.json_values import word
from benchflow.results.model import Problem, Verdict
from benchflow.results.readers import atif_steps, atif_summary
from benchflow.results.readers.atif_document import Document, decode
from benchflow.results.readers.atif_summary import Chain, Summary
from benchflow.results.records import Format, Record, Step
from benchflow.results.safe_files import UnreadableRecord, read_bytes

#: About 200,000 steps with their outputs; a larger file is refused, not read halfway.
MAX_BYTES = 256 << 20
#: How long a chain of continuations is followed.
MAX_FILES = 100


@dataclass(frozen=True)
class Trajectories:
    """What one trial's files hold, read once, and what is wrong with them."""

    chains: tuple[Chain, ...]
    problems: tuple[Problem, ...]

    def summary(self) -> Summary:
        """What a trial's row needs of them."""
        return atif_summary.summarize(self.chains)

    def steps(self) -> Iterator[Step]:
        """Their steps in order."""
        return atif_steps.steps(document for chain in self.chains for document in chain)


def read(path: Path) -> tuple[list[Record], list[Problem]]:
    """One trajectory alone: what an agent did, which nobody judged, so its verdict is `error`."""
    found = load((path,))
    summary, problems = found.summary(), [*found.problems]
    if summary.steps is None:
        return [], problems
    record = Record(
        uid="",
        source=path,
        format=Format.ATIF,
        job="",
        trial=summary.session or word(f"{path.parent.name}/{path.stem}"),
        agent=summary.agent or "?",
        model=summary.model,
        agent_version=summary.agent_version,
        task="?",
        verdict=Verdict.ERROR,
        cause="NotJudged",
        cause_message="a trajectory alone: no verifier's result beside it",
        said_done=summary.said_done,
        steps=summary.steps,
        repeats=summary.repeats,
        usage=summary.usage,
        started_at=summary.started_at,
        folder=path.parent,
        trajectories=(path,),
    )
    return [record], problems


def load(paths: tuple[Path, ...]) -> Trajectories:
    """The trajectories of one trial, with what they continue in."""
    problems: list[Problem] = []
    chains: list[Chain] = []
    for path in paths:
        chain: list[Document] = []
        for place, document in _chain(path, problems):
            chain.append(document)
            problems += [Problem(place, fault) for fault in atif_summary.faults(document)]
        chains.append(chain)
    return Trajectories(tuple(chains), tuple(problems))


def steps(paths: tuple[Path, ...]) -> Iterator[Step]:
    """The steps of one trial's trajectories in order; a delegated subagent's after its parent's."""
    documents = (document for path in paths for _, document in _chain(path, []))
    return atif_steps.steps(documents)


def _chain(path: Path, problems: list[Problem]) -> Iterator[tuple[Path, Document]]:
    seen: set[Path] = set()
    while path not in seen and len(seen) < MAX_FILES:
        seen.add(path)
        try:
            document = _load(path)
        except UnreadableRecord as error:
            problems.append(Problem(path, str(error)))
            return
        yield path, document
        name = document.continued_trajectory_ref
        if not isinstance(name, str) or not name:
            return
        if "/" in name or "\0" in name or name in (".", ".."):
            problems.append(Problem(path, f"continues in {word(name)!r}: outside its folder"))
            return
        path = path.parent / name


def _load(path: Path) -> Document:
    data = read_bytes(path, MAX_BYTES)
    if not data:
        raise UnreadableRecord("is empty: cut off in the middle of a write")
    document = decode(data)
    if not document.is_atif:
        raise UnreadableRecord("is no ATIF trajectory")
    return document
