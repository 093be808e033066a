"""embedded/arm64-gateway: what it draws is what the letter says, and the oracle reads it so."""

from __future__ import annotations

import ipaddress
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.catalogue import checkers
from tests.guests import busybox

from benchflow.bench import ethernet as frames

TASK = Path(__file__).parents[2] / "tasks/embedded/arm64-gateway"
ROOTFS = TASK / "solution/rootfs"
HELPERS = ("streams", "dhcp", "names", "hosts", "site_data", "site_texts", "bench")


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("embedded/arm64-gateway", *HELPERS) as loaded:
        yield loaded


def checked(text: str, tmp_path: Path) -> tuple[int, str]:
    """Status and words of the oracle's check of a configuration, with the board's own awk."""
    path = tmp_path / "site.conf"
    path.write_bytes(text.encode().replace(b"\0", b"\1"))  # as `site apply` does
    command = [str(busybox()), "awk", "-f", str(ROOTFS / "usr/sbin/site-check"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout.strip()


def drawn(helpers: dict[str, ModuleType]) -> object:
    data = helpers["site_data"]
    return data.Site.draw(data.drawn_mac(), data.drawn_mac())


@pytest.mark.needs("busybox-static")
def test_the_oracle_finds_the_first_wrong_line(
    helpers: dict[str, ModuleType], tmp_path: Path
) -> None:
    texts = helpers["site_texts"]
    for _ in range(2):
        site = drawn(helpers)
        assert checked(site.text(), tmp_path) == (0, "")  # type: ignore[attr-defined]
        for text, number in texts.wrong(site):
            assert checked(text, tmp_path) == (1, f"line {number}"), text
        last = texts.too_large(site).count("\n")
        assert checked(texts.too_large(site), tmp_path) == (1, f"line {last}")


@pytest.mark.needs("busybox-static")
def test_the_oracle_takes_what_is_allowed(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    texts, mac = helpers["site_texts"], helpers["site_data"].drawn_mac()
    for _ in range(5):
        for _, text in (texts.smallest(mac), texts.largest(mac)):
            assert len(text) <= texts.SIZE_MAX
            assert checked(text, tmp_path) == (0, ""), text


@pytest.mark.needs("busybox-static")
@pytest.mark.parametrize("bits", range(16, 29))
def test_what_is_drawn_is_a_configuration(
    helpers: dict[str, ModuleType], tmp_path: Path, bits: int
) -> None:
    data = helpers["site_data"]
    for _ in range(20):
        site = data.Site.draw(data.drawn_mac(), data.drawn_mac(), (bits,))
        assert site.net.prefixlen == bits and not site.pooled(site.free())
        address, router, size = data.Carrier.draw().overlapping(site.net, site.own)
        offered = ipaddress.IPv4Network(f"{address}/{size}", strict=False)
        assert offered.overlaps(site.net) and ipaddress.IPv4Address(router) in offered
    assert checked(site.text(), tmp_path) == (0, "")


@pytest.mark.needs("busybox-static")
def test_the_factorys_configuration_is_right(
    helpers: dict[str, ModuleType], tmp_path: Path
) -> None:
    text = (TASK / "environment/order/site.conf").read_text()
    assert checked(text, tmp_path) == (0, "") and text == helpers["site_data"].FACTORY


def test_the_watchmans_examples(helpers: dict[str, ModuleType]) -> None:
    lines = (TASK / "environment/order/vakt.examples").read_text().splitlines()[1:]
    assert len(lines) == 3
    for line in lines:
        key, question, said = line.split()
        assert helpers["site_data"].vakt(key, bytes.fromhex(question)) == said


def test_the_password_is_the_letters(helpers: dict[str, ModuleType]) -> None:
    letter = (TASK / "instruction.md").read_text()
    assert f"`{helpers['bench'].PASSWORD}`" in letter
    assert helpers["bench"].PASSWORD in (TASK / "solution/solve.sh").read_text()


def test_frames_are_read_as_they_were_made(helpers: dict[str, ModuleType]) -> None:
    names = helpers["names"]
    packet = frames.udp("10.0.0.1", 5, "10.0.0.2", 6, b"word")
    again = frames.Packet.read(packet.pack())
    assert again == packet and frames.read_udp(again) == (5, 6, b"word")
    segment = frames.Segment(5, 6, 7, 8, frames.SYN, b"x")
    assert frames.Segment.read(segment.pack("10.0.0.1", "10.0.0.2")) == segment
    asked = names.Reply.read(names.question(7, "a.plant"))
    said = names.Reply.read(names.answer(names.question(7, "a.plant"), asked, ["10.0.0.9"], 60))
    assert (said.addresses, said.ttl, said.answered) == (("10.0.0.9",), 60, True)
    for cut in range(len(packet.pack())):
        assert frames.Packet.read(packet.pack()[:cut]) is None
    for data in (b"", bytes(12), bytes([192, 12]) * 40, names.question(1, "a.b")[:15]):
        names.Reply.read(data)


def changed_files(script: str, tmp_path: Path) -> set[str]:
    """What a change of the oracle's tree, as solve.sh makes it, really changes there."""
    root = tmp_path / "root"
    (tmp_path / "initrd").mkdir()
    shutil.copytree(ROOTFS, root)
    shutil.copytree(TASK / "solution/rootfs/usr/lib/gw", root / "usr/lib/gw", dirs_exist_ok=True)
    shutil.copy(TASK / "solution/initrd-init", tmp_path / "initrd/init")
    (root / "etc/shadow").write_text("root:x:19000:0:99999:7:::\n")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "lib/modules").mkdir(parents=True)
    (tmp_path / "tree").mkdir()
    for name in ("llc", "stp", "bridge"):
        (tmp_path / f"tree/{name}.ko").write_text(name)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    names = f"work={tmp_path}; root={root}; tree={tmp_path}/tree; gw={root}/usr/lib/gw"
    subprocess.run(["bash", "-euc", f"{names}\n{script}"], check=True)
    return {path.name for path in files if path.read_bytes() != before[path]}


def rungs() -> list[tuple[str, str]]:
    text = (TASK / "solution/solve.sh").read_text()
    found = re.findall(r"^has ([a-z-]+) \|\| (.*)$", text, re.MULTILINE)
    return [(rung, script) for rung, script in found if rung != "vakt"]


@pytest.mark.parametrize(("rung", "script"), rungs(), ids=[rung for rung, _ in rungs()])
def test_what_the_ladder_leaves_out_is_there(rung: str, script: str, tmp_path: Path) -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    assert len(changed_files(script, tmp_path)) == 1, rung


CHANGING = [
    path for path in sorted((TASK / "exploits").glob("*.sh")) if "CHANGES" in path.read_text()
]


@pytest.mark.parametrize("exploit", CHANGING, ids=lambda path: path.stem)
def test_what_the_exploits_change_is_there(exploit: Path, tmp_path: Path) -> None:
    found = re.search(r"<<'CHANGES'\n(.*?)^CHANGES$", exploit.read_text(), re.MULTILINE | re.DOTALL)
    assert found
    assert changed_files(found[1], tmp_path)
