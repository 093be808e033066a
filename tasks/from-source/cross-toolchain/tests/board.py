"""A controller's board: the delivered kernel and root file system, and a disk of ours."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from shlex import quote

from benchflow.boot import Disk, Machine

PASSWORD = "Kelp-Anchor-44"
START_SECONDS = 60
COMMAND_LINE = "root=/dev/vda ro console=ttyS0,115200"


class Board:
    """`machine` with the words of the letter."""

    def __init__(
        self, machines, kernel: Path, rootfs: Path, files: dict[str, bytes], work: Path
    ) -> None:
        # A disk that can be written, so that it is the board which mounts it read-only.
        trial = replace(Disk.of_files(work / "trial.img", files), read_only=False)
        self.machine: Machine = machines.create(
            "board", arch="riscv64", firmware="direct", kernel=kernel, append=COMMAND_LINE,
            memory_mb=128, cpus=2, disks=[Disk(rootfs), trial],
        )  # fmt: skip

    def start(self) -> float:
        """Boot it and log in; the reference seconds that it took."""
        self.machine.boot()
        self.machine.login("root", PASSWORD, timeout=2 * START_SECONDS)
        return self.machine.elapsed

    def run(self, command: str, seconds: float = 60):
        return self.machine.shell.run(command, timeout=seconds)

    def say(self, command: str, seconds: float = 60) -> str:
        """What a command that has to work prints."""
        return self.machine.shell.run(command, timeout=seconds, check=True).stdout.strip()

    def trial(self, words: str, seconds: float = 60):
        """A program of the second disk as the user without rights, with no setting of ours."""
        line = f"cd /tmp && exec env -i PATH=/usr/bin:/bin {words}"
        return self.run(f"su trial -s /bin/sh -c {quote(line)} 2>&1", seconds)

    def told(self, words: str, seconds: float = 60) -> list[str]:
        """The lines of such a program, which has to end with 0."""
        done = self.trial(words, seconds)
        program = words.split()[0]
        assert done.status == 0, f"{program} ended with {done.status}: {done.stdout[-300:]}"
        return done.stdout.strip().splitlines()

    def ends(self, seconds: float) -> bool:
        """Whether `poweroff` switches it off in this time."""
        self.machine.shell.leave("poweroff")
        deadline = self.machine.deadline(seconds)
        while self.machine.alive and deadline.remaining() > 0:
            time.sleep(0.2)
        return not self.machine.alive
