"""What is known of the server: where things lie, who it is, what belongs on it."""

import uuid
from pathlib import Path
from typing import NamedTuple

from benchflow.boot.inspect.ext4 import Ext4

INGRID, PIET = "Lijnolie-en-teer-1987", "Kabelgatsloep-44"
INGRID_HASH = (
    "$6$WvZ8kq3Yt0bRrE1x$o6cq0.LJZ1jK41Zw6ZFK7BBlzvyEovjW1VpF2t9Qhs4X"
    "bBryh2GJpm7KVrpSW.WwgZP1NfSivPXxwLrVhcJsw."
)
PIET_HASH = (
    "$6$p2mTq8LxNf7CzKd5$kQJRfknXhhA9I3faHYyMvxpJpserhK1IqXqLm/QtrL6n"
    "agVbeYANr94nWSxzeR6xd0wpS28E66oEWRJjDeMFx1"
)
MACHINE_ID = "5b1f0c3e9d6a4c0f8e2a7d4419b3c65e"
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHqCrXaBJNGCeMp7blj0ESWyTkuh4XvkuuqKSmVw9BAh"
PORT = 4710
CLIENTS = {"udp 68", "udp 546"}  # where DHCP gets its answers
OPEN = {"tcp 22", f"tcp {PORT}", *CLIENTS}
# Whatever a shell of the verifier's runs there comes from Debian's own folders.
PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin; export PATH;"

PARTITIONS = {1: (2048, 1146880), 2: (1150976, 65536), 3: (1218560, 163840)}
DISK_BYTES = 704 << 20
SYSTEM_START, SWAP_START, DATA_START = (PARTITIONS[number][0] * 512 for number in (1, 2, 3))
SYSTEM_UUID = "7d0b0a52-6c0e-4b2a-9c11-3f5f1d8a6e01"
SYSTEM_MADE = 1764000000  # when its file system was made, seconds since 1970
SWAP_UUID = "2f9a7c46-1f6c-4c0b-8a3d-90c6f2f7ab02"
DATA_UUID = "c4a1e6d8-0b73-4f3e-b7a5-5e2d6a91fc03"

# What R10 names; the rest of what was enabled is known.UNITS.
SERVICES = ["ssh", "nftables", "systemd-networkd", "tallyd"]
ONCE_A_START = ["ledger-check", "tally-backup"]


class Volumes(NamedTuple):
    """The two file systems of the server, read without a mount."""

    system: Ext4
    data: Ext4


def volumes(disk: Path) -> Volumes:
    """Both volumes of a disk; raises BadDeliverable when one of them cannot be read."""
    return Volumes(Ext4(disk, SYSTEM_START), Ext4(disk, DATA_START))


def journalled(disk: Path, start: int) -> bool:
    """Whether the file system at byte `start` has a journal."""
    with disk.open("rb") as file:
        file.seek(start + 1024 + 92)  # s_feature_compat; 4 is has_journal
        return bool(file.read(1)[0] & 4)


def swap_uuid(disk: Path) -> str:
    """The UUID of the swap space where it has always been; empty when there is none."""
    with disk.open("rb") as file:
        file.seek(SWAP_START)
        head = file.read(4096).ljust(4096, b"\0")
    if head[4086:] != b"SWAPSPACE2":
        return ""
    return str(uuid.UUID(bytes=head[1036:1052]))
