"""What a factory reset leaves, and what it does not."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from boot_entry import with_word
from brand import hostname_follows
from story import IDENTITY, RESET_SECONDS, Story, public_marks, unchanged
from unit import SERVICE, Unit

from benchflow.bench.delivered_files import found_in
from benchflow.boot import Disk, Image, Nic

KEY = Path(__file__).parent / "customer_key"


def is_forgotten(unit: Unit, story: Story) -> None:
    """The logbook is empty, and nothing of the owner's lies in /data."""
    said = unit.ask("COUNT")
    assert said == ["COUNT 0"], f"the logbook of a reset unit says {said}; [R31]: empty"
    there = unit.say("find /data", seconds=120)
    left = [name for name in story.owners_files if name in there]
    assert not left, f"files of the owner's are there: {left} [R31]"


def nothing_is_left(returned: Unit, story: Story) -> None:
    """Nothing that was the owner's can be found anywhere on the disk."""
    returned.ssh("sync")
    marks = [story.device_key, story.machine_id.encode(), story.log_word.encode(), *story.private]
    marks += [name.encode() for name in story.owners_files]
    marks += public_marks(story.host_keys.values())
    with contextlib.suppress(ValueError):
        marks.append(bytes.fromhex(story.machine_id))  # as journald writes it
    marks += [value.encode() for value in story.records.values()]
    left = found_in(returned.machine.flatten(), [mark for mark in marks if len(mark) > 7])
    assert not left, f"{len(left)} of {len(marks)} secrets are still on the disk [R32]"


def obeyed_once(returned: Unit, nonce: Callable[[], str]) -> None:
    """The same word at the next start, which a power cut brings, as soon as the unit is up."""
    value, identity = nonce(), returned.say(IDENTITY)
    assert returned.ask(f"PUT after.reset {value}")[0].startswith("OK ")
    returned.power_cut()
    returned.power_on()
    assert returned.service_in_time(), "no answer within 90 s with a word that was obeyed [R33]"
    kept = returned.ask("GET after.reset")
    assert kept == [f"VALUE {value}"], f"the same word was obeyed again [R33]: {kept}"
    assert returned.say(IDENTITY) == identity, "the same word was obeyed again [R33]"


def another_word_resets(
    machines: Any, returned: Unit, story: Story, work: Path, nonce: Callable[[], str]
) -> None:
    """Another word in the boot entry makes it a new unit again (unit D)."""
    identity = returned.say(IDENTITY)
    assert returned.ask(f"PUT before.another {nonce()}")[0].startswith("OK ")
    returned.power_cut()
    # The first word's beginning is another word, and it stands elsewhere in the line. What a unit
    # keeps after a reset is nothing, so the other model comes up from this disk as well [R29].
    disk = with_word(returned.machine.flatten(), work, story.word[:-3], first=False)
    machine = machines.create(
        "returned-again",
        disks=[Disk(disk, bus="nvme", serial=secrets.token_hex(4))],
        nics=[Nic(model="e1000e", forwards=[22, SERVICE])],
        vga=False,
    )
    again = Unit(machine, KEY, work / "D")
    again.machine.boot()
    again.came_up(RESET_SECONDS)
    assert again.service_in_time(), "no answer within 240 s of the second reset [R31]"
    said = again.ask("COUNT")
    assert said == ["COUNT 0"], f"another word did not reset: {said} [R33]"
    assert again.say(IDENTITY) != identity, "another word did not make it a new unit [R33]"
    again.is_running()
    if "name" not in story.missing:
        hostname_follows(again)
    again.power_cut()
    unchanged(Image(disk), Image(again.machine.flatten()), story)
