"""Disks of format 1: read, upgraded, upgraded while the power goes, and such as lie."""

from __future__ import annotations

import hashlib

import oldformat
from bench import BRIEF, Guest, Station, switch_off
from cuts import TORN

from benchflow.bench.recorded_disk import RecordedDisk

CUTS = 10


def disk_name(number: int) -> str:
    return f"/dev/vd{chr(97 + number)}"


def is_as_it_was(guest: Guest, old: oldformat.Old, why: str) -> None:
    now, due = guest.listing(why), old.listing()
    now.pop("lost+found", None)
    wrong = [
        f"{path}: {now.get(path, 'not there')[:100]!r}, not {due.get(path, 'there')[:100]!r}"
        for path in sorted(now.keys() | due.keys())
        if now.get(path) != due.get(path)
    ]
    assert not wrong, f"{why}: {len(wrong)} differ: {'; '.join(wrong[:3])}"


def write(station: Station, data: bytes):
    path = station.blank(1)
    path.write_bytes(data)
    return path


def are_read(station: Station, disks: list[oldformat.Old]) -> None:
    images = [old.image() for old in disks]
    with station.own([write(station, image) for image in images], memory_mb=512) as guest:
        for n, old in enumerate(disks):
            guest.mount(disk_name(n), "ro", why="[R29] mount -o ro")
            is_as_it_was(guest, old, "[R29]")
            other = guest.ok("tools times /mnt", "[R29] times")
            assert not other, f"[R29] atime and ctime are not equal to mtime: {other[:200]}"
            done = guest.run("touch /mnt/new; mount -o remount,rw /mnt; touch /mnt/new", BRIEF)
            assert done.status, "[R29] a disk of format 1 is written"
            guest.leave()
            assert guest.ok(f"md5sum {disk_name(n)}", "the device").split()[0] == (
                hashlib.md5(images[n]).hexdigest()
            ), "[R29] a disk of format 1 was changed"


def lie(station: Station) -> None:
    rng = station.rng
    kinds = rng.sample(range(oldformat.KINDS), oldformat.KINDS)
    disks = [write(station, oldformat.hostile(rng, kind)) for kind in kinds]
    for group in (kinds[:12], kinds[12:]):
        paths = [disks[kinds.index(kind)] for kind in group]
        with station.own(paths) as guest:
            for n in range(len(group)):
                done = guest.run(f"mount -t holm -o ro {disk_name(n)} /mnt", BRIEF)
                if not done.status:
                    done = guest.run("timeout -s KILL 60 tools list /mnt > /dev/null")
                    assert done.status in (0, 2), (
                        f"[R32] the files of a disk that lies are read: status {done.status}"
                    )
                    guest.leave("[R32] umount")
                for option in ("-n", "-u"):
                    done = guest.run(f"fsck.holm {option} {disk_name(n)} > /dev/null", BRIEF)
                    assert done.status < 128, (
                        f"[R32] fsck.holm {option} of a disk that lies ends with {done.status}"
                    )
                guest.healthy()


def is_new(guest: Guest, old: oldformat.Old, disk: str, why: str) -> None:
    """Format 2, with all that was on it, in order, and to be written."""
    told = guest.ok(f"dd if={disk} bs=72 count=1 2> /dev/null | xxd -p", "the device")
    head = bytes.fromhex("".join(told.split()))
    assert head[:8] == b"HOLMFS-2", f"{why}: the device begins with {head[:8]!r}"
    assert head[24:40] == old.uuid, f"{why}: another UUID"
    assert head[40:72] == old.label.ljust(32, b"\0"), f"{why}: another label, {head[40:72]!r}"
    guest.clean(why, disk)
    guest.mount(disk, why=f"{why}: mount")
    is_as_it_was(guest, old, why)


def are_upgraded(station: Station, old: oldformat.Old) -> None:
    seed = station.seed()
    with station.own([write(station, old.image())]) as guest:
        guest.says("fsck.holm -u /dev/vda", 0, "[R30] fsck.holm -u")
        is_new(guest, old, "/dev/vda", "[R30]")
        guest.part("posix", "persists", why="[R30]", where="/mnt/new", seed=seed)
        guest.use("posix", "renames", where="/mnt/new", seed=seed)
        guest.ok("rm -r /mnt/crowd", "[R30] what was there is removed")
        guest.leave()
        guest.clean("[R30] after use", "/dev/vda")
        guest.mount("/dev/vda")
        guest.part("posix", "persisted", why="[R30]", where="/mnt/new", seed=seed)
        guest.ok("rm -r /mnt/*", "[R30] all is removed")
        guest.part("load", "larger-than-memory", why="[R30]", seed=seed, steps=10)
        guest.leave()


def are_upgraded_over_cuts(station: Station, old: oldformat.Old) -> None:
    rng = station.rng
    station.drop()
    disk = RecordedDisk(write(station, old.image()), torn=TORN)
    guest = station.boot([], extra_args=disk.arguments)
    try:
        guest.says("fsck.holm -u /dev/vda", 0, "[R30] fsck.holm -u")
    finally:
        switch_off(guest.machine)
        disk.close()
    assert not disk.flooded, "[R31] far more is written to the disk than it has"
    # The last moments are those that matter; right after the end all has to be there.
    moments = [rng.randint(0, len(disk.log)) for _ in range(CUTS - 4)]
    moments += [max(0, len(disk.log) - n) for n in range(4)]
    paths = [write(station, disk.after_cut(moment, rng)) for moment in moments]
    with station.own(paths) as guest:
        for n, moment in enumerate(moments):
            why = f"[R31] the power went before entry {moment} of {len(disk.log)}"
            magic = guest.ok(f"dd if={disk_name(n)} bs=8 count=1 2> /dev/null", "the device")
            assert magic in ("HOLMFS-1", "HOLMFS-2"), f"{why}: the device begins with {magic!r}"
            if magic == "HOLMFS-1":
                guest.mount(disk_name(n), "ro", why=f"{why}: mount")
                is_as_it_was(guest, old, why)
                guest.leave()
                guest.says(f"fsck.holm -u {disk_name(n)}", 0, f"{why}: fsck.holm -u again")
            is_new(guest, old, disk_name(n), why)
            guest.leave()
