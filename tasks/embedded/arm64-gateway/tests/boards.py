"""Boards: the same machine with its cards in another order, and another time on its clock."""

from __future__ import annotations

from pathlib import Path

from site_data import drawn_mac

from benchflow.boot import Disk, Machine, Nic

NETWORKS = {"lan": "local", "wan": "carrier", "third": "third"}
MACS = {
    "lan": drawn_mac("02:4c:41"),
    "wan": drawn_mac("02:57:41"),
    "third": drawn_mac("02:33"),
}


def board(machines, name: str, disk: Path, macs: dict[str, str], order: tuple[str, ...],
          clock: str = "", apart: str = "") -> Machine:  # fmt: skip
    """A board with its cards in this order of places on the bus, on networks that end so."""
    cards = [Nic(lan=NETWORKS[card] + apart, mac=macs[card]) for card in order]
    return machines.create(
        name, arch="aarch64", firmware="uefi", disks=[Disk(disk)],
        nics=cards, extra_args=["-rtc", f"base={clock}"] if clock else [],
    )  # fmt: skip
