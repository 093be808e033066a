"""The ladder as text, for the end of the verifier's log."""

from __future__ import annotations

from typing import Any

from benchflow.boot.sanitize import first_line

_SIGNS = {"passed": "✓", "failed": "✗", "crashed": "✗", "not reached": "·", "not run": "·"}


def ladder_text(milestones: dict[str, Any]) -> str:
    """A few lines for a person from the content of milestones.json."""
    rows = milestones["milestones"]
    width = max(len(row["id"]) for row in rows)
    lines = []
    for row in rows:
        passed = sum(check["status"] == "passed" for check in row["checks"])
        seconds = sum(check["seconds"] for check in row["checks"])
        lines.append(
            f"{_SIGNS[row['status']]} {row['id']:<{width}}  {row['status']:<11}  "
            f"{passed}/{len(row['checks'])} checks  {seconds:6.1f} s  weight {row['weight']:g}"
        )
        for check in row["checks"]:
            if check["status"] in ("failed", "crashed"):
                lines.append(f"    {check['name']}: {first_line(check['message'])}")
    if "partial" in milestones:
        asked = ", ".join(milestones["partial"])
        lines.append(f"partial: {asked} alone, so no verdict; {milestones['seconds']:.1f} s")
        return "\n".join(lines)
    reached = sum(row["status"] == "passed" for row in rows)
    verdict = "resolved" if milestones["resolved"] else "failed"
    lines.append(
        f"{verdict}: {reached}/{len(rows)} milestones, reward {milestones['reward']:.3f}, "
        f"{milestones['seconds']:.1f} s"
    )
    return "\n".join(lines)
