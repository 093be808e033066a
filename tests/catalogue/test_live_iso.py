"""spin/live-iso: its parts agree with each other, and its helpers can tell yes from no."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.catalogue import checkers
from tests.needs import needs

from benchflow.boot import BadDeliverable, GuestError, GuestTimeout, Image

TASK = Path(__file__).parents[2] / "tasks/spin/live-iso"
HELPERS = ("wire", "disks", "medium", "inside", "pc", "conftest")


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("spin/live-iso", *HELPERS) as loaded:
        yield loaded


def udp(source: int, target: int, payload: bytes = b"", to: bytes = b"\xff\xff\xff\xff") -> bytes:
    return ipv4(17, struct.pack(">HHHH", source, target, 8 + len(payload), 0) + payload, to)


def ipv4(protocol: int, payload: bytes, to: bytes = b"\x0a\0\2\2", offset: int = 0) -> bytes:
    head = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, offset, 64, protocol, 0, bytes(4), to
    )
    return b"\xff" * 6 + b"\x52" * 6 + b"\x08\x00" + head + payload


def tcp(source: int, target: int, flags: int) -> bytes:
    return ipv4(6, struct.pack(">HHIIBBHHH", source, target, 0, 0, 0x50, flags, 0, 0, 0))


def test_what_the_oracle_and_its_exploits_edit_is_there() -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    rootfs = TASK / "solution/rootfs"
    state = (rootfs / "usr/sbin/expo-state").read_text()
    for line in ("\nours=\n", "\ne2fsck -p ", "\numount $state\n", "\nif [ -L $state/wall ] || "):
        assert line in state
    assert "LABEL=EXPO-STATE" in state
    script = (rootfs / "etc/initramfs-tools/scripts/expo").read_text()
    assert "\n\tfound=$(sha256sum $system)" in script
    assert script.count(" || refuse DAMAGED\n") == 2
    hook = (rootfs / "etc/initramfs-tools/hooks/expo").read_text()
    assert "\n\tusb_storage uas xhci_pci\n" in hook
    unit = (rootfs / "etc/systemd/system/wall.service").read_text()
    for line in ("\nNoNewPrivileges=", "\nWatchdogSec=", "\nEnvironment="):
        assert line in unit
    assert "hook output priority 0; policy drop" in (rootfs / "etc/nftables.conf").read_text()
    menu = (TASK / "solution/grub.cfg").read_text()
    assert "\n\tlinux /live" in menu and " --hotkey=r {" in menu
    assert menu.count("\n#locked ") == 2 and "@PASSWORD@" in menu
    assert "\nStorage=volatile\n" in (rootfs / "etc/systemd/journald.conf.d/expo.conf").read_text()
    assert "BUILD_ID=EW-2291" in (rootfs / "usr/lib/os-release").read_text()


def test_the_program_is_the_one_that_is_asked_for(helpers: dict[str, ModuleType]) -> None:
    data = (TASK / "environment/order/wall").read_bytes()
    assert hashlib.sha256(data).hexdigest() == helpers["inside"].WALL_SHA256


def test_the_letter_says_what_is_checked() -> None:
    letter = (TASK / "instruction.md").read_text()
    for word in ("EXPO_WALL_41", "EXPO-STATE", "EXPO MEDIUM DAMAGED", "Varde-1184", "260 MiB"):
        assert f"{word}" in letter
    assert "\nSIZE_MB = 260\n" in (TASK / "tests/checks.py").read_text()


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (b"\xff" * 12 + b"\x08\x06" + bytes(28), "fine: ARP"),
        (udp(68, 67), "fine: DHCP"),
        (tcp(7400, 40000, 0x12), "fine: answers of the wall"),
        (tcp(7400, 40000, 0x04), "fine: answers of the wall"),
        (ipv4(1, b"\0\0\0\0"), "fine: pong"),
        (tcp(7400, 80, 0x02), "TCP to 10.0.2.2 port 80"),
        (tcp(40000, 443, 0x02), "TCP to 10.0.2.2 port 443"),
        (udp(40000, 53, to=b"\x0a\0\2\3"), "UDP to 10.0.2.3 port 53"),
        (udp(68, 53), "UDP to 255.255.255.255 port 53"),
        (ipv4(1, b"\x08\0\0\0"), "ICMP type 8 to 10.0.2.2"),
        (ipv4(2, b"\x16\0\0\0"), "IPv4 protocol 2 to 10.0.2.2"),
        (ipv4(17, bytes(8), offset=5), "a later fragment to 10.0.2.2"),
        (b"\xff" * 12 + b"\x86\xdd" + bytes(40), "IPv6"),
        (b"\xff" * 12 + b"\x81\x00" + bytes(40), "Ethernet type 0x8100"),
        (ipv4(17, b""), "broken IPv4"),
        (b"\xff" * 12 + b"\x08\x00\x4f", "broken IPv4"),
        (b"", "a frame of less than 14 bytes"),
    ],
)
def test_frames_are_told_apart(helpers: dict[str, ModuleType], frame: bytes, kind: str) -> None:
    assert helpers["wire"].classify(frame) == kind


def test_options_of_a_request(helpers: dict[str, ModuleType]) -> None:
    options = b"\x35\1\1\0\x0c\4expo\xff"
    frame = udp(68, 67, bytes(236) + b"\x63\x82\x53\x63" + options)
    assert helpers["wire"].dhcp_options(frame) == {53: b"\1", 12: b"expo"}
    with pytest.raises(AssertionError):
        helpers["wire"].dhcp_options(udp(68, 67, bytes(240)))


def record(*frames: bytes) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 2048, 1)
    return head + b"".join(struct.pack("<IIII", 0, 0, len(f), len(f)) + f for f in frames)


def wait_for(wire: Any, count: int) -> None:
    deadline = time.monotonic() + 10
    while sum(wire.seen().values()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_record_over_two_starts(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    wire = helpers["wire"].Wire(tmp_path / "line")
    try:
        wire.begin()
        pipe = os.open(tmp_path / "line", os.O_WRONLY)
        data = record(udp(68, 67), udp(1, 53))
        os.write(pipe, data[:50])
        time.sleep(0.1)
        os.write(pipe, data[50:] + record(udp(68, 67))[24:60])  # cut off in the middle of a frame
        wait_for(wire, 2)
        time.sleep(0.1)
        wire.begin()
        os.write(pipe, record(tcp(7400, 9, 0x10)))
        wait_for(wire, 3)
        assert wire.strange() == {"UDP to 255.255.255.255 port 53": 1}
        assert len(wire.requests) == 1
        os.close(pipe)
    finally:
        wire.close()


def test_a_record_without_end_is_bounded(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    wire = helpers["wire"].Wire(tmp_path / "line")
    try:
        wire.begin()
        with (tmp_path / "line").open("wb") as pipe:
            pipe.write(record(*[udp(1, port) for port in range(1, 2001)], *[udp(68, 67)] * 200))
        time.sleep(0.5)
        assert len(wire.seen()) <= helpers["wire"].KINDS_MAX
        assert len(wire.requests) <= helpers["wire"].REQUESTS_MAX
    finally:
        wire.close()


@pytest.mark.parametrize(
    ("passwd", "shadow", "wrong"),
    [
        ("", "", ""),
        ("ghost::0:0::/:/bin/sh\n", "", "root's number"),
        ("guest::1001:1001::/:/bin/sh\n", "", "guest"),
        ("", "guest:$y$j9T$x:1::::::\n", "guest"),
        ("", "guest::1::::::\n", "guest"),
    ],
)
def test_accounts_that_are_open(
    helpers: dict[str, ModuleType], passwd: str, shadow: str, wrong: str
) -> None:
    said = helpers["inside"].open_accounts(
        f"root:x:0:0:root:/root:/bin/bash\nwall:x:999:999::/:/bin/false\n{passwd}",
        f"root:$y$j9T$x:1::::::\nwall:!:1::::::\n{shadow}",
    )
    assert wrong in said and bool(said) is bool(wrong)


@pytest.fixture
@needs("cpio", "xorriso")
def iso(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "live").mkdir(parents=True)
    (tree / "live/filesystem.squashfs").write_bytes(b"hsqs" + os.urandom(5000))
    (tree / "it's here").write_bytes(b"x")
    initrd = tmp_path / "initrd"
    (initrd / "etc").mkdir(parents=True)
    (initrd / "etc/password").write_text("Varde-1184")
    packed = subprocess.run(
        ["cpio", "-o", "-H", "newc", "--quiet"], cwd=initrd, input=b".\netc\netc/password\n",
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    (tree / "live/initrd").write_bytes(gzip.compress(packed))
    sums = "".join(
        f"{hashlib.sha256((tree / name).read_bytes()).hexdigest()} {how}./{name}\n"
        for name, how in (
            ("live/filesystem.squashfs", " "),
            ("it's here", "*"),
            ("live/initrd", "*"),
        )
    )
    (tree / "sha256sum.txt").write_text(sums)
    run = ["xorriso", "-report_about", "SORRY", "-as", "mkisofs", "-R", "-V", "EXPO_WALL_41"]
    run += ["-b", "live/initrd", "-c", "boot.cat", "-no-emul-boot"]
    subprocess.run([*run, "-o", str(tmp_path / "x.iso"), str(tree)], check=True)
    return tmp_path / "x.iso"


def test_a_medium_is_read(helpers: dict[str, ModuleType], iso: Path, tmp_path: Path) -> None:
    medium = helpers["medium"].Medium(iso)
    assert medium.volume() == "EXPO_WALL_41"
    names = {"/live/filesystem.squashfs", "/live/initrd", "/it's here", "/sha256sum.txt"}
    assert set(medium.files) - {"/boot.cat"} == names
    # As whoever mounts it sees it: the boot catalog is a file of 2,048 bytes, which begins with 1.
    assert medium.catalog == "/boot.cat"
    (catalog,) = medium.files["/boot.cat"]
    assert catalog.size == 2048 and iso.read_bytes()[catalog.start] == 1
    assert all(medium.sum_of(name) == wanted for name, wanted in medium.listed())
    assert medium.holds(b"hsqs") and not medium.holds(b"Varde-1184")
    assert medium.holds_packed(b"Varde-1184") == ["/live/initrd"]
    for offset in (0, 4999, 5003):
        other = helpers["medium"].flipped(medium, tmp_path / f"{offset}.iso", offset)
        changed = helpers["medium"].Medium(other)
        wrong = [name for name, wanted in changed.listed() if changed.sum_of(name) != wanted]
        assert wrong == ["/live/filesystem.squashfs"]


@pytest.mark.needs("xorriso")
@pytest.mark.parametrize("data", [b"", b"\0" * 40000, b"\0" * 0x8001 + b"CD001" + b"\xff" * 5000])
def test_what_is_no_medium_is_the_deliverers_fault(
    helpers: dict[str, ModuleType], tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "x.iso").write_bytes(data)
    with pytest.raises((BadDeliverable, AssertionError)):
        medium = helpers["medium"].Medium(tmp_path / "x.iso")
        medium.listed()


@pytest.mark.needs("qemu")
@pytest.mark.parametrize("table", ["gpt", "dos"])
def test_the_bios_goes_on_from_a_disk_with_partitions_to_the_next(
    helpers: dict[str, ModuleType], tmp_path: Path, table: str
) -> None:
    """Else the medium in the drive, which comes after it, would never be read."""
    first = tmp_path / "first.img"
    first.write_bytes(bytes(1 << 20))
    helpers["disks"].in_a_partition(first, table)
    # mov dx, 0x3f8; mov al, "K"; out dx, al; cli; hlt
    code = b"\xba\xf8\x03\xb0K\xee\xfa\xf4"
    floppy = code.ljust(510, b"\0") + b"\x55\xaa"
    (tmp_path / "next.img").write_bytes(floppy.ljust(2880 * 512, b"\0"))
    serial = tmp_path / "serial"
    command = ["qemu-system-x86_64", "-nodefaults", "-display", "none", "-serial", f"file:{serial}"]
    for name, device in (("first", "virtio-blk-pci,bootindex=0"), ("next", "floppy")):
        command += ["-drive", f"if=none,format=raw,id={name},file={tmp_path / name}.img",
                    "-device", f"{device},drive={name}"]  # fmt: skip
    command += ["-global", "isa-fdc.bootindexA=1"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as qemu:
        try:
            end = time.monotonic() + 60
            while not (serial.exists() and serial.read_bytes()) and time.monotonic() < end:
                time.sleep(0.2)
        finally:
            qemu.kill()
    assert serial.read_bytes() == b"K"


@pytest.mark.needs("root")
@pytest.mark.parametrize("table", ["", "gpt", "dos"])
def test_a_disk_of_ours_is_full_and_read_again(
    helpers: dict[str, ModuleType], tmp_path: Path, table: str
) -> None:
    disks = helpers["disks"]
    ours = disks.Ours(tmp_path / "ours.img", table)
    assert ours.problems(ours.path) == []
    start = Image(ours.path).partition(2).start if table else 0
    place = f"{ours.path}?offset={start}" if table else str(ours.path)
    said = subprocess.run(["dumpe2fs", "-h", place], capture_output=True, text=True)
    assert re.search(r"^Free blocks: +0$", said.stdout, re.MULTILINE)
    disks.debugfs(Path(place), "rm autorun.sh", "mkdir new")
    assert ours.problems(ours.path) == ["new is new", "autorun.sh is gone"]


@pytest.mark.needs("root")
def test_a_look_at_the_owners_disk_leaves_a_trace(
    helpers: dict[str, ModuleType], tmp_path: Path
) -> None:
    disks = helpers["disks"]
    path = disks.unclean(tmp_path / "x.img")
    before = disks.digest(path)
    subprocess.run(["e2fsck", "-p", str(path)], capture_output=True, check=True)
    assert disks.digest(path) != before
    lost = disks.not_mendable(tmp_path / "lost.img")
    assert subprocess.run(["e2fsck", "-p", str(lost)], capture_output=True).returncode >= 4
    assert disks.decoy(tmp_path / "decoy.img").stat().st_size > 1 << 20
    assert disks.swap(tmp_path / "swap.img").stat().st_size == 16 << 20


def test_moments_are_named_as_in_oslo(helpers: dict[str, ModuleType]) -> None:
    for month in (1, 7):
        for _ in range(50):
            moment, text = helpers["inside"].day(month)
            said = subprocess.run(
                ["date", "-u", "-d", f"@{moment + (7200 if month == 7 else 3600)}", "+%d %Y %H:%M"],
                capture_output=True, text=True, check=True,
            ).stdout.split()  # fmt: skip
            assert set(said) <= set(text.split())
            assert text.split()[0].endswith("dag")


@pytest.fixture
def bench(helpers: dict[str, ModuleType], tmp_path: Path) -> Any:
    conftest = helpers["conftest"]
    return conftest.Bench(None, lambda: tmp_path / "x.iso", tmp_path, conftest.Story())


def test_a_start_that_fails_fails_whoever_asks_for_it_and_nobody_else(bench: Any) -> None:
    def fail(_: Any) -> None:
        raise GuestTimeout("no answer")

    bench.begin("next", fail)
    bench.ended("next", fail)
    assert bench.outcome("other", lambda _: 1) == 1
    with pytest.raises(GuestTimeout, match="no answer"):
        bench.outcome("next", fail)
    with pytest.raises(GuestError, match="next failed before: no answer"):
        bench.outcome("next", fail)
    bench.begin("crash", lambda _: 1 // 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            bench.outcome("crash", fail)
    bench.close()


def test_a_start_under_way_is_ended_with_the_run(
    bench: Any, helpers: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pc:
        def __init__(self, *_: Any) -> None:
            self.machine, self.wire, self.closed = self, self, 0
            self.alive = False

        def power_cut(self) -> None:
            self.alive = False

        def close(self) -> None:
            self.closed += 1

    monkeypatch.setattr(helpers["conftest"], "Pc", Pc)
    made = []

    def start(bench: Any) -> None:
        time.sleep(0.3)  # the end may come before there is a PC
        made.append(bench.create("pc"))
        made[0].alive = True
        while made[0].alive:
            time.sleep(0.01)

    bench.begin("pc", start)
    bench.begin("pc", start)
    bench.close()
    assert len(made) == 1 and made[0].closed == 1 and not made[0].alive
