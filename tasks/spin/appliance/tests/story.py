"""What happens to units in one verification: who they are, and what earlier boots leave."""

from __future__ import annotations

import base64
import contextlib
import secrets
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from unit import Unit

from benchflow.bench.delivered_files import sha256_of
from benchflow.boot import GuestError, Image

#: Disks differ: a number of sectors that no two runs share.
DISK_BYTES = (1800 << 20) + 512 * secrets.randbelow(1 << 20)
OTHER_BYTES = (1200 << 20) + 512 * secrets.randbelow(1 << 19)
IDENTITY = "cat /etc/machine-id"
RESET_SECONDS = 240.0  # [R31]
FILL = "fallocate -l 4G /data/filler; dd if=/dev/zero of=/data/filler2 bs=4k; sync; :"


@dataclass
class Story:
    """What earlier boots left for later checks."""

    records: dict[str, str] = field(default_factory=dict)
    log_word: str = ""
    machine_id: str = ""
    host_keys: dict[str, str] = field(default_factory=dict)
    private: list[bytes] = field(default_factory=list)
    device_key: bytes = b""
    data_start: int = 0
    owners_files: list[str] = field(default_factory=list)
    closed_ports: list[int] = field(default_factory=list)
    disk_of_a: Path | None = None
    #: The reset word of C, of which D's is the beginning.
    word: str = field(default_factory=lambda: f"{secrets.token_hex(3)}-Lock_{secrets.token_hex(2)}")
    #: What did not hold on unit A: then it is not asked of others again.
    missing: set[str] = field(default_factory=set)

    @contextlib.contextmanager
    def asked(self, what: str) -> Iterator[None]:
        """What is asked inside holds if nothing is raised."""
        self.missing.add(what)
        yield
        self.missing.discard(what)


def second_boot(unit: Unit, story: Story) -> None:
    """The restart of unit A with a full /data; the first caller pays for it."""
    if story.machine_id:
        return
    story.host_keys = unit.host_keys()
    story.private += private_marks(unit)
    story.machine_id = unit.say(IDENTITY)
    unit.ssh(FILL, seconds=200)
    unit.reboot()


def private_marks(unit: Unit) -> list[bytes]:
    """Lines of the unit's private keys for SSH, where they are kept as text."""
    keys = "grep -rls 'PRIVATE KEY-' /data /etc /run /var 2>/dev/null | head -n 6"
    text = unit.say(f"for f in $({keys}); do sed -n 3,4p $f; done; :", seconds=120)
    return [line.encode() for line in text.splitlines() if len(line) > 32]


def public_marks(host_keys: Iterable[str]) -> list[bytes]:
    """Host keys as text, and their last bytes, which every form of the private half has too."""
    keys = [key.rstrip("=") for key in host_keys]
    blobs = [base64.b64decode(key + "=" * (-len(key) % 4)) for key in keys]
    return [key[24:].encode() for key in keys] + [blob[-32:] for blob in blobs]


def is_itself(unit: Unit, story: Story) -> None:
    """[R24]: machine-id, host keys and device key are those of the first start."""
    now = unit.say(IDENTITY)
    assert now == story.machine_id, f"the machine-id was {story.machine_id} and is {now} [R24]"
    keys = unit.host_keys()
    changed = [kind for kind, key in keys.items() if story.host_keys.get(kind, key) != key]
    assert not changed, f"its host keys are others than before: {changed} [R24]"
    assert keys.keys() & story.host_keys.keys(), "it has none of the host keys of before [R24]"
    bus = unit.say("cat /var/lib/dbus/machine-id 2>/dev/null; :")
    assert bus in ("", now), f"D-Bus has another machine-id, {bus} [R24]"
    if story.device_key:
        assert unit.device_key() == story.device_key, "it has another device key [R24]"


def disk_of_a(unit: Unit, story: Story) -> Path:
    """A's disk, switched off without warning, after all that happened to it."""
    if story.disk_of_a is None:
        # It comes back from the field with a full /data: [R25] is true of a reset too.
        with contextlib.suppress(GuestError):
            unit.ssh(FILL, seconds=200)
        unit.power_cut()
        story.disk_of_a = unit.machine.flatten()
    return story.disk_of_a


def unchanged(before: Image, after: Image, story: Story) -> None:
    """[R28], for all partitions of `before` but /data, which a unit may have made itself."""
    assert story.data_start, "it is not known which partition /data is [R9]"
    starts = {part.start for part in before.partitions()} | {story.data_start}
    more = [part.number for part in after.partitions() if part.start not in starts]
    assert not more, f"partitions {more} were not delivered, and none is /data's [R9], [R28]"
    for part in before.partitions():
        if part.start == story.data_start:
            continue
        now = after.partition(part.number)
        assert (now.start, now.size) == (part.start, part.size), f"{part.number} moved [R28]"
        same = sha256_of(after.path, now.start, now.size) == sha256_of(
            before.path, part.start, part.size
        )
        assert same, f"partition {part.number} is not what was delivered [R28]"


def part_of_a_start(unit: Unit, part: float) -> float:
    """So much of the time that A's last start took, in seconds of this host's clock."""
    return part * (unit.service_seconds or 60.0)


def grown(unit: Unit, image_bytes: int, disk_bytes: int) -> None:
    """[R10]: /data has what the disk has beyond the image."""
    kilobytes = int(unit.say("df -P /data | awk 'END {print $2}'"))
    free = disk_bytes - image_bytes
    assert kilobytes * 1024 > 0.9 * free, f"/data has {kilobytes >> 10} of {free >> 20} MiB [R10]"


def data_start(unit: Unit) -> int:
    """Where the partition of /data begins, in bytes; it is the last one."""
    mounted = 'awk \'$2 == "/data" && $3 != "autofs" && $4 ~ /^rw/ {print $1}\' /proc/mounts'
    device = unit.say(mounted).split()
    assert len(device) == 1, f"/data is mounted from {device}; [R9]: a partition of its own"
    name = unit.say(f"basename $(readlink -f {shlex.quote(device[0])})")
    starts = (
        f"cd /sys/class/block/{name} && test -e partition && cat start && cat ../*/start | sort -n"
    )
    start, *all_of_them = unit.say(starts).split()
    assert all_of_them[-1:] == [start], f"/data begins at {start}, others at {all_of_them} [R9]"
    return int(start) * 512
