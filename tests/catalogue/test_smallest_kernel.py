"""speedrun/smallest-kernel: what the verifier gives a kernel, and what it expects to hear."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.catalogue.checkers import helpers

from benchflow.bench.ethernet import (
    ACK,
    ARP,
    FIN,
    ICMPV6,
    IPV4,
    IPV6,
    SYN,
    UDP,
    Arp,
    Frame,
    Packet,
    Segment,
    ip_bytes,
    ip_packet,
    ip_text,
    summed,
)
from benchflow.boot import Image, Initramfs

TASK = Path(__file__).parents[2] / "tasks/speedrun/smallest-kernel"
MAC = "52:54:00:00:00:07"


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    names = ("draws", "initramfs", "unit", "peers", "disks", "lossy")
    with helpers("speedrun/smallest-kernel", *names) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("probe") / "probe"
    sources = [str(TASK / "tests/image" / name) for name in ("probe.c", "more.c")]
    command = ["gcc", "-O1", "-w", "-static", "-pthread", "-o", str(made), *sources]
    subprocess.run(command, check=True)
    return made


@pytest.mark.needs("gcc")
@pytest.mark.parametrize(
    "part",
    ["threads", "epoll", "eventfd", "timerfd", "signalfd", "timers", "unix", "mapped", "inotify",
     "locks", "mutexes", "edges", "heard", "times", "sealed", "watches", "ranges"],
)  # fmt: skip
def test_a_part_says_here_what_is_due(parts: dict[str, ModuleType], probe: Path, part: str) -> None:
    seed = random.Random(part).randrange(1 << 63)
    said = subprocess.run([probe, part, str(seed)], capture_output=True, text=True, check=False)
    assert said.stdout.strip() == parts["draws"].due(part, seed)
    assert parts["draws"].due(part, seed) != parts["draws"].due(part, seed + 1)


@pytest.mark.needs("gcc")
def test_the_sum_of_memory_and_of_records(
    parts: dict[str, ModuleType], probe: Path, tmp_path: Path
) -> None:
    draws = parts["draws"]
    said = subprocess.run([probe, "memory", "77", "3"], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == f"memory {draws.total(draws.first(77, 3 * 256))}"
    writing = subprocess.Popen([probe, "records", "9", tmp_path], stdout=subprocess.PIPE, text=True)
    assert writing.stdout is not None
    for number in range(5):
        assert writing.stdout.readline() == f"safe {number}\n"
    writing.kill()
    writing.communicate()
    assert sorted(path.name for path in tmp_path.iterdir())[0] == "last"  # what was held has gone
    asked: list[str | Path] = [probe, "recalled", "9", tmp_path, "5"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == f"recalled {draws.total(draws.first(9, 5))}"
    (tmp_path / "record-00003").write_bytes(bytes(512))
    assert subprocess.run(asked, capture_output=True, check=False).returncode == 1


def test_the_initramfs_is_one(
    parts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = parts["initramfs"]
    for name, data in (("busybox", b"b" * 99_999), ("probe", b"p" * 9999), ("probe32", b"n" * 777),
                       ("probe-pie", b"q" * 888)):  # fmt: skip
        (tmp_path / name).write_bytes(data)
    (tmp_path / "applets").write_text("busybox\nsh\nls\n")
    monkeypatch.setattr(made, "BENCH", tmp_path)
    kept = made.Kept.draw(random.Random(3), 2 << 20)
    data = made.archive("drawn", {"bin/more": b"more"}, kept)
    assert 2 << 20 <= len(data) < (2 << 20) + 9999
    for form in (data, made.packed(data)):
        tree = Initramfs(form)
        assert tree.read("/init") == b"p" * 9999 and tree.read("/bin/more") == b"more"
        assert tree.readlink("/bin/sh") == "busybox" and tree.read_text("/etc/drawn") == "drawn"
        assert tree.stat("/dev/console").kind == "device"
        owned = tree.stat("/etc/kept")
        assert (owned.mode & 0o7777, owned.uid, owned.gid) == (kept.mode, kept.uid, kept.gid)
        assert tree.read_text("/etc/same") == kept.word and tree.exists("/etc/queue")
    assert b"p" * 100 not in made.damaged(data, random.Random(1))


@pytest.mark.needs("sandbox", "sfdisk", "mkfs.ext4")
@pytest.mark.parametrize("seed", range(3))
def test_disks_have_the_partitions_that_were_drawn(
    parts: dict[str, ModuleType], tmp_path: Path, seed: int
) -> None:
    disks, rng = parts["disks"], random.Random(seed)
    tree = tmp_path / "tree"
    tree.mkdir()
    files = disks.files(tree, rng)
    system = disks.ext4(tmp_path / "system", 48, tree)
    gpt, mbr = disks.gpt(tmp_path / "gpt", rng, system), disks.mbr(tmp_path / "mbr", rng)
    for drawn in (gpt, mbr):
        found = {
            str(part.number): (part.start, part.size) for part in Image(drawn.path).partitions()
        }
        for number, (first, sectors) in drawn.parts.items():
            assert found[number] == (first * 512, sectors * 512)
    image = Image(gpt.path)
    inside = image.ext4(image.partition(2))
    assert all(inside.exists(f"/{path}") for path in files) and inside.problems() == ""


def test_the_neighbour_answers_what_is_for_it(parts: dict[str, ModuleType]) -> None:
    near = parts["peers"].Neighbour("test-smallest-kernel", random.Random(4))
    try:
        asks = b"\x87\0\0\0\0\0\0\0" + ip_bytes(near.address)
        said = to(near, "ff02::1:ff00:1", ICMPV6, asks, 2)
        assert said is not None and said.body[40] == 136 and said.source == near.mac
        said = to(near, near.address, ICMPV6, b"\x80\0\0\0\0\1\0\1word", 2)
        assert said is not None and said.body[40] == 129 and said.body[-4:] == b"word"
        assert near.pings == 1 and said.target == MAC
        head = (5).to_bytes(2, "big") + near.port.to_bytes(2, "big") + b"\0\x0c\0\0"
        said = to(near, near.address, UDP, head + b"word", 6)
        assert said is not None and said.body[48:] == b"drow"
        assert ip_text(said.body[24:40]) == near.guest
        spoilt = frame(near, near.address, UDP, head + b"word", 6)
        assert near.answers(spoilt[:-1] + b"x") == []
        assert to(near, "fd00::77", UDP, head + b"word", 6) is None
    finally:
        near.close()


def test_calls_on_a_line_that_loses(parts: dict[str, ModuleType]) -> None:
    there = parts["lossy"].Lossy("10.0.0.9", MAC, random.Random(5))
    asked = Arp(1, MAC, "10.0.0.7", "00:00:00:00:00:00", "10.0.0.9").pack()
    (said,) = there.answers(Frame("ff:ff:ff:ff:ff:ff", MAC, ARP, asked))
    found = Arp.read(said.body)
    assert found is not None and (found.mac, found.address) == (MAC, "10.0.0.9")

    def send(at: int, flags: int, data: bytes = b"") -> Segment | None:
        packet = Segment(77, there.port, at, 0, flags, data).pack("10.0.0.7", "10.0.0.9")
        heard = there.answers(Frame(MAC, MAC, IPV4, packet.pack()))
        answer = Packet.read(heard[0].body) if heard else None
        return Segment.read(answer) if answer else None

    begun = send(0xFFFFFFFE, SYN)
    assert begun is not None and begun.flags == SYN | ACK and begun.acknowledged == 0xFFFFFFFF
    assert send(0xFFFFFFFF, ACK, b"abc") is None and there.lost == 1
    for at, data, flags in ((0xFFFFFFFF, b"abc", ACK), (9, b"x", ACK), (2, b"de", ACK | FIN)):
        while (got := send(at, flags, data)) is None:
            pass
    assert (
        got is not None
        and got.data.decode() == parts["draws"].total(b"abcde")
        and got.acknowledged == 5
    )


def frame(near: object, target: str, protocol: int, body: bytes, at: int) -> bytes:
    source = near.guest  # type: ignore[attr-defined]
    kind, packet = ip_packet(source, target, protocol, summed(source, target, protocol, body, at))
    assert kind == IPV6
    return Frame("33:33:00:00:00:01", MAC, kind, packet).pack()


def to(near: object, target: str, protocol: int, body: bytes, at: int) -> Frame | None:
    said = near.answers(frame(near, target, protocol, body, at))  # type: ignore[attr-defined]
    return Frame.read(said[0]) if said else None


def test_the_order_says_what_the_checks_count_by(parts: dict[str, ModuleType]) -> None:
    unit = parts["unit"]
    text = (TASK / "instruction.md").read_text().replace(",", "")
    assert f"*Par* is {unit.PAR} bytes" in text and f"which is {int(1.25 * unit.PAR)} bytes" in text
    assert f"({unit.MOST_BYTES} bytes)" in text
    assert str(unit.PAR) in (TASK / "records.md").read_text().replace(",", "")


def test_the_fragment_says_each_option_once() -> None:
    lines = (TASK / "solution/kernel.config").read_text().splitlines()
    names = [found[1] for line in lines if (found := re.match(r"(?:# )?(CONFIG_\w+)[= ]", line))]
    assert len(names) == len(set(names)) > 50
