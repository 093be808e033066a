"""What is asked of a mounted file system, check by check."""

from __future__ import annotations

import random
import re
import struct
import time

import damage
from bench import BRIEF, Guest, Station
from cuts import Found

from benchflow.boot import Elf

#: [R3] What only somebody asks for who mounts another file system, or looks for what is not given.
REFUSED = (
    *("get_fs_type", "vfs_kern_mount", "kern_mount", "vfs_get_tree", "vfs_submount", "fc_mount"),
    *("init_mount", "kern_path_mount", "path_mount", "do_mount", "filp_open", "file_open_root"),
    *("kallsyms_lookup_name", "register_kprobe", "call_usermodehelper"),
)
ZEROS = "dd if=/dev/zero of={disk} bs=1M 2> /dev/null; sync"


def refused_symbols(module: bytes) -> list[str]:
    """Those of REFUSED that a module asks the kernel for."""
    if module[:4] != b"\x7fELF":
        return []
    elf = Elf(module)
    names, symbols = elf.section(".strtab"), elf.section(".symtab")
    asked = set()
    for at in range(0, len(symbols) - 23, 24):
        name, _, _, section = struct.unpack_from("<IBBH", symbols, at)
        if not section and name < len(names):
            asked.add(names[name : names.find(b"\0", name)].decode("ascii", "replace"))
    return sorted(asked & set(REFUSED))


# --- mounting ------------------------------------------------------------------------------------


def comes_and_goes(guest: Guest) -> None:
    guest.run("umount /mnt 2> /dev/null", BRIEF)
    # Whatever was there before.
    guest.ok("dd if=/dev/urandom of=/dev/vda bs=1M count=24 2> /dev/null; sync", "the device")
    for _ in range(2):
        guest.make()
        guest.mount()
        left = guest.ok("ls -A /mnt", "[R4] a new file system is empty").split()
        assert left in ([], ["lost+found"]), f"[R4] a new file system has {left}"
        held = guest.run("rmmod holm", BRIEF)
        assert held.status, "[R4] rmmod while it is mounted ends with 0"
        told = guest.ok("cat /proc/mounts", "the mounts")
        assert re.search(r"^/dev/vda /mnt holm ", told, re.MULTILINE), f"[R4] {told[-200:]}"
        guest.leave()
        guest.ok("rmmod holm", "[R4] rmmod", BRIEF)
        guest.ok("insmod /holm.ko", "[R4] insmod again", BRIEF)
    guest.healthy()


def identity(guest: Guest, disk: str) -> tuple[bytes, bytes, bytes]:
    """What [R5] fixes: the word, the UUID and the label. What lies between is the agent's."""
    told = guest.ok(f"dd if={disk} bs=72 count=1 2> /dev/null | xxd -p", "the device")
    head = bytes.fromhex("".join(told.split()))
    return head[:8], head[24:40], head[40:72]


def has_its_superblock(guest: Guest, rng: random.Random) -> None:
    guest.run("umount /mnt 2> /dev/null", BRIEF)
    seen = set()
    for length in (0, 1, 32):
        label = "".join(rng.choice("abcXYZ089-_") for _ in range(length))
        option = f"-L '{label}' " if label else ""
        guest.ok(f"mkfs.holm {option}/dev/vdb", "[R5] mkfs.holm -L", BRIEF)
        word, uuid, named = made = identity(guest, "/dev/vdb")
        assert word == b"HOLMFS-2", f"[R5] the device begins with {word!r}"
        assert named == label.encode().ljust(32, b"\0"), f"[R5] the label: {named!r}"
        seen.add(uuid)
        guest.mount("/dev/vdb")
        guest.ok("echo used > /mnt/used && sync", "[R8] a file is written")
        guest.leave()
        found = identity(guest, "/dev/vdb")
        assert found == made, f"[R5] word, UUID and label were {made}, and after use {found}"
    assert len(seen) == 3, "[R5] the UUID is the same again"
    done = guest.run(f"mkfs.holm -L {'x' * 33} /dev/vdb", BRIEF)
    assert done.status, "[R5] a label of 33 bytes is taken"


def refuses_others(guest: Guest, rng: random.Random) -> None:
    guest.run("umount /mnt 2> /dev/null", BRIEF)
    for what in (
        ZEROS.format(disk="/dev/vdb"),
        "dd if=/dev/urandom of=/dev/vdb bs=1M 2> /dev/null; sync",
        "mkfs.ext2 /dev/vdb 2> /dev/null > /dev/null; sync",
    ):
        guest.run(what)
        before = digest(guest, "/dev/vdb")
        done = guest.run("mount -t holm /dev/vdb /mnt", BRIEF)
        assert done.status, f"[R6] after `{what}` it is mounted"
        assert digest(guest, "/dev/vdb") == before, f"[R6] after `{what}` mount writes"
    guest.healthy()


def tells_its_size(guest: Guest) -> None:
    for disk, megabytes, least in (
        ("/dev/vda", 64, 0.9),
        ("/dev/vdb", 16, 0.8),
        ("/dev/vdc", 1024, 0.9),
    ):
        size = megabytes << 20
        guest.fresh(disk)
        blocks, available, unit = guest.room()
        assert blocks * unit <= size, f"[R6] a device of {size} bytes has {blocks} of {unit}"
        assert size * least <= available * unit <= size, (
            f"[R6] of {size} bytes {available * unit} are free"
        )
        guest.leave()


def persists(guest: Guest, station: Station, make: str, look: str, why: str) -> None:
    seed = station.seed()
    guest.fresh()
    guest.part("posix", make, why=why, seed=seed)
    guest.part("posix", look, why=f"{why} before umount", seed=seed)
    guest.leave()
    guest.mount()
    guest.part("posix", look, why=f"{why} after umount and mount", seed=seed)
    guest.leave()
    guest.ok("rmmod holm && insmod /holm.ko", "[R4] rmmod", BRIEF)
    guest.mount("/dev/vda", "ro")
    guest.part("posix", look, why=f"{why} for a new module", seed=seed)
    guest.leave()


def digest(guest: Guest, disk: str = "/dev/vda") -> str:
    # Without what the kernel still has of the device: a module writes past it.
    drop = "sync; echo 3 > /proc/sys/vm/drop_caches"
    return guest.ok(f"{drop}; md5sum {disk}", "the device").split()[0]


def reads_only(guest: Guest, station: Station) -> None:
    seed = station.seed()
    guest.fresh("/dev/vdb")
    guest.part("posix", "persists", why="[R9]", seed=seed)
    guest.ok("mount -o remount,ro /mnt", "[R19] remount,ro", BRIEF)
    before = digest(guest, "/dev/vdb")
    for change in (
        *("touch /mnt/new", "mkdir /mnt/folder", "rm -r /mnt/kept1", "mv /mnt/kept1 /mnt/b"),
        *("chmod 700 /mnt/kept1", "ln -s a /mnt/l"),
    ):
        done = guest.run(change, BRIEF)
        assert done.status and "Read-only" in done.stdout, f"[R19] `{change}`: {done.stdout[-200:]}"
    guest.part("posix", "persisted", why="[R19]", seed=seed)
    guest.run("sync; sleep 7; sync", BRIEF)
    assert digest(guest, "/dev/vdb") == before, "[R19] after remount,ro the device changes"
    guest.ok("mount -o remount,rw /mnt", "[R19] remount,rw", BRIEF)
    guest.ok("echo more > /mnt/more && sync", "[R19] remount,rw")
    guest.leave()
    before = digest(guest, "/dev/vdb")
    guest.mount("/dev/vdb", "ro")
    done = guest.run("touch /mnt/new", BRIEF)
    assert done.status, "[R19] mounted with ro, a file is made"
    guest.part("posix", "persisted", why="[R19]", seed=seed)
    assert guest.ok("cat /mnt/more", "[R19]") == "more\n", "[R19] remount,rw, and nothing is kept"
    guest.run("sleep 6", BRIEF)
    guest.leave()
    assert digest(guest, "/dev/vdb") == before, "[R19] mounted with ro, the device changes"


# --- load ----------------------------------------------------------------------------------------


def sequences(guest: Guest, station: Station) -> None:
    guest.fresh()
    guest.ok("mount -t tmpfs -o size=40m twin /twin", "the tmpfs")
    for n in range(4):
        guest.run(f"mkdir /twin/{n}", BRIEF)
        guest.part(
            "load", "sequences", why="[R20]", where=f"/mnt/{n}", twin=f"/twin/{n}",
            seed=station.seed(), steps=1200,
        )  # fmt: skip
    guest.leave()
    guest.mount()
    for n in range(4):
        guest.part("load", "compared", why="[R20] after umount and mount", where=f"/mnt/{n}",
                   twin=f"/twin/{n}")  # fmt: skip
    guest.leave()
    guest.ok("umount /twin", "the tmpfs")


def is_clean_after_use(guest: Guest, station: Station) -> None:
    guest.fresh("/dev/vdb")
    guest.leave()
    guest.clean("[R22] a new one", "/dev/vdb")
    guest.mount("/dev/vdb")
    seed = station.seed()
    guest.part("posix", "persists", why="[R8]", seed=seed)
    for part in ("links", "symbolic", "kinds", "flags"):
        guest.use("posix", part, seed=seed)
    guest.run("rm -r /mnt/kept2 /mnt/list", BRIEF)
    guest.leave()
    before = digest(guest, "/dev/vdb")
    guest.clean("[R22] after use", "/dev/vdb")
    assert digest(guest, "/dev/vdb") == before, "[R22] fsck.holm -n writes"
    guest.says("fsck.holm -y /dev/vdb", 0, "[R22] nothing is wrong")
    guest.make("/dev/vdc")
    guest.clean("[R22] a new one of 1 GiB", "/dev/vdc")
    guest.run(ZEROS.format(disk="/dev/vdb"))
    done = guest.run("fsck.holm -n /dev/vdb", BRIEF)
    assert done.status not in (0, 1), "[R22] a disk of zeros is in order for fsck.holm -n"


def repairs_the_superblock(guest: Guest, station: Station) -> None:
    seed = station.seed()
    guest.fresh("/dev/vdb")
    guest.part("posix", "persists", why="[R8]", seed=seed)
    guest.leave()
    made = identity(guest, "/dev/vdb")
    guest.ok("dd if=/dev/urandom of=/dev/vdb bs=4096 count=1 conv=notrunc 2> /dev/null; sync",
             "the device")  # fmt: skip
    before = digest(guest, "/dev/vdb")
    guest.says("fsck.holm -n /dev/vdb", 4, "[R22] block 0 is spoilt")
    assert digest(guest, "/dev/vdb") == before, "[R22] fsck.holm -n writes"
    guest.says("fsck.holm -y /dev/vdb", 1, "[R27] block 0 is spoilt")
    guest.clean("[R27] block 0 was made whole", "/dev/vdb")
    found = identity(guest, "/dev/vdb")
    assert found == made, f"[R27] block 0 was made whole, and says {found}, not {made}"
    guest.mount("/dev/vdb")
    guest.part("posix", "persisted", why="[R27] block 0 was made whole", seed=seed)
    guest.leave()


# --- damage --------------------------------------------------------------------------------------


def fsck_sees_spoilt_content(guest: Guest, station: Station) -> None:
    """Where a spoilt block could not be read by a program, fsck.holm says so too."""
    made = damage.fill(guest, station.rng)
    damage.keep(guest)
    for block in station.rng.sample(made.data, min(len(made.data), 6)):
        damage.spoil(guest, station.seed() >> 3, block)
        status = guest.run(f"fsck.holm -n {damage.DISK}", BRIEF).status
        guest.mount(damage.DISK, "ro", why="[R26] mount")
        _, lost = damage.differences(made.listing, guest.listing("[R26]"))
        guest.leave()
        assert not lost or status == 4, (
            f"[R27] block {block} is spoilt, programs get EIO, and fsck.holm -n ends with {status}"
        )
        damage.restore(guest)


def is_made_whole(guest: Guest, station: Station) -> None:
    """All blocks but those of content are spoilt, one by one, with fsck.holm -y between."""
    made = damage.fill(guest, station.rng)
    for block in station.rng.sample(made.rest, min(len(made.rest), 120)):
        damage.spoil(guest, station.seed() >> 3, block)
        done = guest.run(f"fsck.holm -y {damage.DISK}", BRIEF)
        assert done.status in (0, 1, 4), f"[R27] fsck.holm -y ends with {done.status}"
    guest.mount(damage.DISK, why="[R27] one block after the other was spoilt and made whole: mount")
    now = guest.listing("[R27]")
    guest.leave()
    wrong, lost = damage.differences(made.listing, now)
    assert not wrong, f"[R27] one block after the other was spoilt and made whole: {wrong[:4]}"
    if not lost:
        guest.clean("[R27] one block after the other was spoilt and made whole", damage.DISK)


def bears_wide_damage(guest: Guest, station: Station) -> None:
    rng = station.rng
    made = damage.fill(guest, rng)
    damage.keep(guest)
    used = sorted(made.data + made.rest)
    for turn in range(12):
        if turn % 3 == 0:
            damage.spoil(guest, rng.getrandbits(60), rng.randint(0, 2000), rng.randint(2, 800))
        else:
            blocks = (made.data if turn % 3 == 1 else used) or used
            for block in rng.sample(blocks, min(len(blocks), rng.randint(3, 12))):
                damage.spoil(guest, rng.getrandbits(60), block)
        done = guest.run(f"mount -t holm {damage.DISK} /mnt", BRIEF)
        if not done.status:
            now = guest.run("timeout -s KILL 60 tools list /mnt")
            assert now.status in (0, 2), f"[R28] its files are read: status {now.status}"
            never_wrong(made.listing, now.stdout)
            guest.run("echo x > /mnt/new; rm -r /mnt/d1; mkdir /mnt/d9; sync", BRIEF)
            guest.leave("[R28] umount")
        for option in ("n", "y"):
            done = guest.run(f"fsck.holm -{option} {damage.DISK} > /dev/null", BRIEF)
            assert done.status < 128, f"[R28] fsck.holm -{option} ends with {done.status}"
        guest.healthy()
        damage.restore(guest)


def never_wrong(before: dict[str, str], said: str) -> None:
    """What is read at all is as it was."""
    for line in said.splitlines():
        kind, _, rest = line.partition(" ")
        path = rest.split(" ", 1)[0]
        if kind not in ("f", "l") or path not in before:
            continue
        now = f"{kind} {rest.split(' ', 1)[1]}".split(" ")
        old = before[path].split(" ")
        if kind == "l":
            assert now == old, f"[R28] {path} leads elsewhere"
            continue
        assert now[6] == old[6], f"[R28] {path} has {now[6]} bytes, not {old[6]}"
        for n, (one, other) in enumerate(
            zip(old[7].rstrip(",").split(","), now[7].rstrip(",").split(","), strict=False)
        ):
            assert other.startswith("!") or one == other, f"[R28] {path}: block {n} is wrong"


def none_wrong(found: list[Found], what: str, why: str) -> None:
    wrong = [
        f"before entry {one.moment}: {getattr(one, what)}" for one in found if getattr(one, what)
    ]
    assert not wrong, (
        f"{why} of {len(found)} cuts {len(wrong)} went wrong: {'; '.join(wrong)[:1500]}"
    )


# --- days and nights -----------------------------------------------------------------------------


def grows(guest: Guest, station: Station) -> None:
    seed = station.seed()
    guest.run("umount /mnt 2> /dev/null", BRIEF)
    guest.ok("truncate -s 24M /tmp/growing && losetup /dev/loop0 /tmp/growing", "the loop device")
    try:
        guest.make("/dev/loop0")
        guest.mount("/dev/loop0")
        guest.part("posix", "persists", why="[R8]", seed=seed)
        before = guest.free()
        guest.run("(while [ ! -e /tmp/stop ]; do cp /bin/busybox /mnt/busy; rm /mnt/busy; done;"
                  " touch /tmp/stopped) & sleep 1")  # fmt: skip
        guest.ok("truncate -s 56M /tmp/growing && tools capacity /dev/loop0", "the loop device")
        guest.ok("mount -o remount,grow /mnt", "[R33] remount,grow", BRIEF)
        waits = "touch /tmp/stop; until [ -e /tmp/stopped ]; do sleep 1; done"
        guest.ok(f"{waits}; rm /tmp/stop /tmp/stopped; sync", "[R33] programs write meanwhile")
        after = guest.free()
        assert after - before >= (32 << 20) * 0.9, (
            f"[R33] {before} bytes were free; the device has 32 MiB more, and {after} are free"
        )
        guest.part("load", "larger-than-memory", why="[R33]", seed=station.seed(), steps=28)
        guest.leave()
        guest.clean("[R33] after it has grown", "/dev/loop0")
        guest.mount("/dev/loop0")
        guest.part("posix", "persisted", why="[R33] after it has grown", seed=seed)
        now = guest.free()
        assert now >= after - (1 << 20), f"[R33] {after} bytes were free, {now} after a mount"
        guest.leave()
    finally:
        guest.run("umount /mnt 2> /dev/null; losetup -d /dev/loop0; rm -f /tmp/growing", BRIEF)


def available(guest: Guest) -> int:
    """KiB that are free, nothing kept that could be dropped."""
    told = guest.ok(
        "sync; echo 3 > /proc/sys/vm/drop_caches; sleep 1; echo 3 > /proc/sys/vm/drop_caches;"
        " grep MemFree /proc/meminfo",
        "the memory",
    )
    return int(told.split()[1])


def gives_memory_back(guest: Guest) -> None:
    guest.run("umount /mnt 2> /dev/null", BRIEF)
    guest.make("/dev/vdb")
    turn = (
        "mount -t holm /dev/vdb /mnt && for n in $(seq 300); do echo $n > /mnt/$n; done &&"
        " cat /mnt/* > /dev/null && rm /mnt/* && umount /mnt"
    )
    free = 0
    for n in range(35):
        guest.ok(turn, "[R34] mounting, files, unmounting")
        if n == 4:
            free = available(guest)
    left = available(guest)
    assert left >= free - 4096, f"[R34] {free} KiB were free, {left} after 30 more turns"
    guest.ok("rmmod holm && insmod /holm.ko", "[R34] rmmod", BRIEF)


def night(guest: Guest, station: Station) -> None:
    guest.fresh()
    guest.ok("sync", "sync")
    before = guest.free()
    begun = time.monotonic()
    guest.part("load", "night", why="[R35]", seed=station.seed(), seconds=30)
    assert time.monotonic() - begun >= 25, "[R35] the night was too short"
    guest.ok("rm -r /mnt/* && sync", "[R35] all is removed")
    after = guest.free()
    assert after >= before - before // 50, f"[R35] {before} bytes were free before, {after} after"
    guest.leave()
    guest.clean("[R35] after the night")
    guest.ok("rmmod holm && insmod /holm.ko", "[R35] rmmod", BRIEF)
