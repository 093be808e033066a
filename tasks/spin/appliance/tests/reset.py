"""What a factory reset leaves, and what it does not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from boot_entry import with_word
from story import IDENTITY, RESET_SECONDS, Story, unchanged
from unit import SERVICE, Unit

from benchflow.bench.delivered_files import found_in
from benchflow.boot import Disk, Image, Nic

KEY = Path(__file__).parent / "customer_key"


def is_forgotten(unit: Unit, story: Story) -> None:
    """The logbook is empty, and nothing of the owner's lies in /data."""
    said = unit.ask("COUNT")
    assert said == ["COUNT 0"], f"the logbook of a reset unit says {said}; [R31]: empty"
    assert story.owners_file not in unit.say("ls -A /data"), "a file of the owner's is there [R31]"


def nothing_is_left(returned: Unit, story: Story) -> None:
    """Nothing that was the owner's can be found anywhere on the disk."""
    returned.ssh("sync")
    marks = [story.device_key, story.machine_id.encode(), story.log_word.encode(), *story.private]
    with contextlib.suppress(ValueError):
        marks.append(bytes.fromhex(story.machine_id))  # as journald writes it
    marks += [value.encode() for value in story.records.values()]
    left = found_in(returned.machine.flatten(), [mark for mark in marks if len(mark) > 7])
    assert not left, f"{len(left)} of {len(marks)} secrets are still on the disk [R32]"


def another_word_resets(
    machines: Any, returned: Unit, story: Story, work: Path, nonce: Callable[[], str]
) -> None:
    """Another word in the boot entry makes it a new unit again (unit D)."""
    identity = returned.say(IDENTITY)
    assert returned.ask(f"PUT before.another {nonce()}")[0].startswith("OK ")
    returned.power_cut()
    disk = with_word(returned.machine.flatten(), work)
    machine = machines.create(
        "returned-again", disks=[Disk(disk)], nics=[Nic(forwards=[22, SERVICE])], vga=False
    )
    again = Unit(machine, KEY, work / "D")
    again.machine.boot()
    again.came_up(RESET_SECONDS)
    assert again.service_in_time(), "no answer within 240 s of the second reset [R31]"
    said = again.ask("COUNT")
    assert said == ["COUNT 0"], f"another word did not reset: {said} [R33]"
    assert again.say(IDENTITY) != identity, "another word did not make it a new unit [R33]"
    again.power_cut()
    unchanged(Image(disk), Image(again.machine.flatten()), story)
