"""Lanes after the first two machines: a disk that holds something, and a home that is kept."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

from answers import Answers, User, Volume, network, steps, word
from bench import Bench, Pc

from benchflow.bench.delivered_files import sparse_digest
from benchflow.bench.lanes import Steps
from benchflow.bench.media_disks import blank, serial
from benchflow.boot import Disk, GuestError


def with_medium(
    bench: Bench, label: str, disks: list[Disk], *, firmware: str = "bios", as_stick: bool = False,
    **line: str,
) -> Pc:  # fmt: skip
    """A machine with the medium in its drive, the last to be tried; or `as_stick`, the first, as
    is needed where a disk starts by itself."""
    if not as_stick:
        medium = bench.medium()
        return Pc(bench.machines, label, firmware=firmware, disks=disks, cdrom=medium, **line)
    stick = Disk(bench.medium(), bus="usb", serial=serial())
    return Pc(bench.machines, label, firmware=firmware, disks=[stick, *disks])


def second_charlie(bench: Bench) -> Steps:
    """Bravo's disk in another machine, as NVMe: refused, then agreed to, cut off, and finished."""
    yield from bench.after("bravo")
    name = serial()
    disk = bench["bravo disks"][1]
    bench.facts["charlie digest"] = sparse_digest(disk)
    before = bench["bravo said"]
    said = Answers(
        disk="only",
        volumes=[
            Volume(before.volumes[1].name, steps(100, 100), "ext4", f"/srv/{word()}"),
            Volume(before.volumes[0].name, steps(820, 40), "ext4", "/"),
        ],
        users=[User(word(), "plain")], group=before.group, swap=steps(20, 40), free=steps(100, 40),
        root=User("root", "admin"),
    )  # fmt: skip
    bench.facts.update({"charlie said": said, "charlie serial": name})

    def made(label: str, source: Path, said: Answers = said, **medium: Any) -> Pc:
        disks = [
            Disk(source, bus="nvme", serial=name),
            Disk(bench.volume(label, said), serial=serial()),
        ]
        return with_medium(bench, label, disks, firmware="uefi", **medium)

    # Of another disk, and to keep something: neither is a consent.
    home = before.volumes[1]
    asked = replace(said, consent=serial(), keep=home.name, volumes=before.volumes)
    pc = made("charlie-refused", disk, asked, as_stick=True)
    try:
        yield from pc.refuses()
        copy = pc.copy(1)
        bench.facts["refused"] = (pc, sparse_digest(copy), pc.copy(2))
        copy.unlink()
    except GuestError as error:  # what comes after needs no refusal
        bench.failed["charlie-refused"] = str(error)[:300]

    said.consent = name
    pc = made("charlie-cut", disk, as_stick=True)
    yield from pc.cut_at(20 + secrets.randbelow(40))
    bench.facts["charlie cut"] = (pc.copy(1), pc.copy(2))

    said.consent = ""  # what is on the disk now is the setup's own
    pc = made("charlie-finished", bench["charlie cut"][0])
    yield from pc.is_through()
    pc.machine.power_cut()
    bench.facts["charlie answers"] = pc.copy(1)
    # What was installed by UEFI as NVMe starts by BIOS as virtio.
    source = pc.copy(0)
    where = {"bios": Disk(source, serial=name), "uefi": Disk(source, bus="nvme", serial=name)}
    for firmware, moved in where.items():
        pc = Pc(bench.machines, f"charlie-{firmware}", firmware=firmware, disks=[moved])
        pc.switch_on()
        try:
            yield from pc.logs_in()
        except GuestError as error:  # the checks ask the other one then, but for [R15]'s
            bench.failed[f"charlie-{firmware}"] = str(error)[:300]
            pc.machine.close()
            continue
        bench.facts[f"charlie by {firmware}"] = bench.facts["charlie"] = pc
        return


def second_alpha(bench: Bench) -> Steps:
    """Alpha's disk once more, with its home kept; the power goes; then it is finished."""
    disk, before = bench["alpha disks"][0], bench["alpha said"]
    users, home = bench["alpha users"], bench["alpha home"]
    later = bench["later"]
    newcomer = User(word(), "plain")
    said = Answers(
        disk=before.disk,
        volumes=[
            Volume(word(), steps(40, 40), "ext4", f"/srv/{word()}"),
            Volume(word(), steps(860, 60), "ext4", "/"),
            Volume(home.name, int(home.size) + steps(24, 40), "ext4", "/home"),
        ],
        users=[
            newcomer, User(later, "admin"),
            User(users[1].name, "plain").with_key(bench.work), User(users[0].name, "admin"),
        ],
        group=before.group, swap=steps(20, 100), free=steps(40, 40), keep=home.name,
        consent=before.disk, root=User("root", "admin"),
    )  # fmt: skip
    bench.facts["again said"] = said

    def made(label: str, source: Path, **medium: Any) -> Pc:
        disks = [
            Disk(source, serial=before.disk),
            Disk(bench.volume(label, said), serial=serial()),
        ]
        return with_medium(bench, label, disks, **medium)

    pc = made("again-cut", disk, as_stick=True)
    yield from pc.cut_at(15 + secrets.randbelow(50))
    bench.facts["again cut"] = pc.copy(1)
    net, address, _ = network()
    pc = made("again", bench["again cut"], network=net, host=address)
    yield from pc.installs()
    bench.facts["again"] = pc


def two_answers(bench: Bench) -> Steps:
    """A blank disk and two volumes of answers, both of which could be followed."""
    try:
        said = replace(bench["charlie said"], disk="only", consent="", group=word())
        disks = [
            Disk(blank(bench.work / "two.img", 2100), serial=serial()),
            Disk(bench.volume("two-ext2", said), serial=serial()),
            Disk(bench.volume("two-fat", said, as_fat=True), bus="sata", serial=serial()),
        ]
        pc = with_medium(bench, "two-answers", disks)
        yield from pc.refuses()
        copies = [pc.copy(index) for index in range(3)]
        bench.facts["two answers"] = (pc, sparse_digest(disks[0].path), copies, said)
    except GuestError as error:  # the disk that moves does not need it
        bench.failed["two-answers"] = str(error)[:300]
