"""A wait through panics is as long as the letter says, on a slow host too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.catalogue import checkers

from benchflow.boot import Disk, GuestTimeout, Machine

pytestmark = pytest.mark.needs("qemu")

HALT = bytes.fromhex("fa f4")  # cli; hlt
#: Task, module, class, its other arguments, and the method that waits for a word on the console.
WAITS = (
    ("container/host-os", "host", "Host", (), "await_word"),
    ("embedded/ab-update", "unit", "Unit", (None, {}, []), "await_word"),
)


@pytest.mark.parametrize(("task", "module", "name", "more", "wait"), WAITS)
def test_what_is_left_is_in_reference_seconds(
    tmp_path: Path, task: str, module: str, name: str, more: tuple[Any, ...], wait: str
) -> None:
    sector = tmp_path / "disk.img"
    sector.write_bytes(HALT.ljust(510, b"\0") + b"\x55\xaa")
    with (
        checkers.helpers(task, "bundle", module) as loaded,
        Machine(disks=[Disk(sector, bus="ide")]) as machine,
    ):
        machine.boot()
        machine._watch.speed = 0.5
        one = getattr(loaded[module], name)(machine, *more)
        with pytest.raises(GuestTimeout, match=r"within (2|1\.\d+) reference seconds"):
            getattr(one, wait)("word", 2)
