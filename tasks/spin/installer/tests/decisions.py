"""What the setup decides: asked of the technician's machine, or of one that switches itself off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cases
from answers import Answers
from bench import START_SECONDS, Pc

from benchflow.bench.delivered_files import sparse_digest
from benchflow.bench.media_disks import files_on


def refusals(desk: Any, wanted: dict[str, tuple[cases.Case, cases.Reasons]]) -> None:
    """Each is refused for a reason that is true of it, and answers like them are not."""
    sane = cases.right(desk.serials)
    said = desk.ask(
        {**{name: told for name, (told, _) in wanted.items()}, "sane": cases.case(sane)}
    )
    assert said.pop("sane") == ("WOULD INSTALL", sane.disk), "right answers are refused"
    wrong = {
        name: f"{' '.join(said[name])[:60]!r}, not {' or '.join(reasons)}"
        for name, (_, reasons) in wanted.items()
        if said[name] not in [("REFUSED", reason) for reason in reasons]
    }
    assert not wrong, f"{len(wrong)} of {len(wanted)} [R8]: {wrong}"


def is_data(desk: Any, disk: str) -> None:
    """A disk is refused without consent, and taken with it."""
    said = cases.right(desk.serials)
    found = desk.ask(
        {"without": cases.case(said, disk=disk), "with": cases.case(said, disk=disk, consent=disk)}
    )
    wanted = {"without": ("REFUSED", "data"), "with": ("WOULD INSTALL", disk)}
    assert found == wanted, f"without and with consent: {found} [R6]"


def refuses_two(pc: Pc, blank: str, disks: list[Path], said: Answers) -> None:
    """Two volumes of answers: none is followed, and nothing but a report is written."""
    assert pc.reason() == "two-answers", f"the reason is {pc.reason()}, not two-answers [R8]"
    assert pc.seconds <= START_SECONDS, f"off after {pc.seconds:.0f} s; [R7]: within 120"
    assert sparse_digest(disks[0]) == blank, "the disk was written [R7]"
    for disk in disks[1:]:
        found = {name: data for name, data in files_on(disk).items() if name != "report.txt"}
        assert found == said.files(), "more than a report was written to the answers [R5]"
