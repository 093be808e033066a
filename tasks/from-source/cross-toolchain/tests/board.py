"""A controller's board: the delivered kernel and root file system, and a disk of ours."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from shlex import quote

from benchflow.boot import Disk, GuestError, Machine

PASSWORD = "Kelp-Anchor-44"
START_SECONDS = 60
COMMAND_LINE = "root=/dev/vda ro console=ttyS0,115200"


class Board:
    """`machine` with the words of the letter."""

    def __init__(
        self, machines, kernel: Path, rootfs: Path, files: dict[str, bytes], work: Path
    ) -> None:
        # A disk that can be written, so that it is the board which mounts it read-only.
        files = {**files, "README": b"What the bench has made.\n"}
        trial = replace(Disk.of_files(work / "trial.img", files), read_only=False)
        self.rootfs = rootfs
        self.up, self.spent = False, 0.0
        self.machine: Machine = machines.create(
            "board", arch="riscv64", firmware="direct", kernel=kernel, append=COMMAND_LINE,
            memory_mb=128, cpus=2, disks=[Disk(rootfs), trial],
        )  # fmt: skip

    def start(self) -> float:
        """Boot it and log in; the reference seconds that it took."""
        self.machine.boot()
        self.machine.login("root", PASSWORD, timeout=2 * START_SECONDS)
        self.up, self.spent = True, self.machine.elapsed
        return self.spent

    def run(self, command: str, seconds: float = 60):
        assert self.up, "nobody could log in on the board [R20] [R22]"
        return self.machine.shell.run(command, timeout=seconds)

    def say(self, command: str, seconds: float = 60) -> str:
        """What a command that has to work prints."""
        assert self.up, "nobody could log in on the board [R20] [R22]"
        return self.machine.shell.run(command, timeout=seconds, check=True).stdout.strip()

    def rows(self, path: str) -> list[list[str]]:
        """The lines of a table of accounts."""
        return [line.split(":") for line in self.say(f"cat {path}").splitlines() if line.strip()]

    def refuses(self, user: str, password: str) -> bool:
        """Whether a login does not come about."""
        try:
            self.machine.login(user, password, timeout=START_SECONDS)
        except GuestError:
            return True
        return False

    def written(self) -> list[int]:
        """The sectors of the root file system that are not as they were delivered."""
        before = self.rootfs.read_bytes()
        after = self.machine.flatten(0).read_bytes()
        assert len(before) == len(after), f"its disk has {len(after)} bytes, not {len(before)}"
        return [
            at // 512
            for at in range(0, len(before), 512)
            if before[at : at + 512] != after[at : at + 512]
        ]

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
        assert self.up, "nobody could log in on the board [R20] [R22]"
        self.machine.shell.leave("poweroff")
        deadline = self.machine.deadline(seconds)
        while self.machine.alive and deadline.remaining() > 0:
            time.sleep(0.2)
        return not self.machine.alive
