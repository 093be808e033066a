"""What the fixture `start` of the boot tests is, for annotations."""

from __future__ import annotations

from collections.abc import Callable

from benchflow.boot.machine.virtual_machine import Machine

Start = Callable[..., Machine]
