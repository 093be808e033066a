"""What a gate says of a task."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """What became of a gate. `error`: the infrastructure failed, so the gate said nothing.
    `open`: what it compares is not all there yet, and it says what is missing."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    ERROR = "error"
    OPEN = "open"


@dataclass(frozen=True)
class GateResult:
    """One gate of one task: `findings` say what is weak and what fixes it; empty when passed.

    `evidence`: where to look (a job folder, a file), "" for none. `seconds` of work it took.
    `figures`: what was measured, by name with its unit; in JSON only where there are any.
    """

    gate: str
    status: Status
    summary: str
    findings: tuple[str, ...] = ()
    evidence: str = ""
    seconds: float = 0.0
    cached: bool = False
    figures: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `from_json` reads it back."""
        told = asdict(self)
        if not self.figures:
            del told["figures"]
        return told

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> GateResult:
        """Raises KeyError, TypeError or ValueError for anything that `to_json` did not write."""
        return cls(
            gate=str(data["gate"]),
            status=Status(data["status"]),
            summary=str(data["summary"]),
            findings=tuple(str(finding) for finding in data["findings"]),
            evidence=str(data["evidence"]),
            seconds=float(data["seconds"]),
            cached=True,
            figures={str(name): float(one) for name, one in data.get("figures", {}).items()},
        )


def judged(
    gate: str, summary: str, findings: list[str], *, evidence: str = "", seconds: float = 0.0
) -> GateResult:
    """Passed when there are no findings, else failed."""
    status = Status.FAILED if findings else Status.PASSED
    return GateResult(gate, status, summary, tuple(findings), evidence, seconds)


def not_applicable(gate: str, why: str) -> GateResult:
    """The gate needs something that this task does not have."""
    return GateResult(gate, Status.NOT_APPLICABLE, why)
