"""spin/installer: its parts agree with each other, and its helpers can tell yes from no."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.catalogue import checkers

from benchflow.bench.media_disks import files_on
from benchflow.boot import BadDeliverable, GuestError, VerifierBroken

TASK = Path(__file__).parents[2] / "tasks/spin/installer"
HELPERS = ("answers", "lvm", "bench", "cases", "desk")
SERIALS = {name: name.upper() for name in ("stick", "blank", "tiny", "unknown", "twin")}


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("spin/installer", *HELPERS) as loaded:
        yield loaded


def test_what_the_oracle_and_its_exploits_edit_is_there() -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    medium = TASK / "solution/medium"
    init, disks, answers, install = (
        (medium / name).read_text() for name in ("init", "disks", "answers", "install")
    )
    assert "\n/bin/quay-setup auto\n" in init
    assert '\n\t"$MARK"*) echo unfinished; return ;;\n' in disks
    for text in (
        ' || refuse data "$DISK is not empty"',
        ' || refuse data "a volume that was kept"',
        'refuse contradiction "the gateway is not in the network"',
        "\n\tDISK=$found\n",
    ):
        assert text in answers
    for text in (
        '-L "${size}m" --addtag',
        "\n\tln -sf /usr/share/zoneinfo/",
        "\n\tprogress 5\n",
        "\n\tprogress 10\n",
        "\n\trm -f $T/etc/ssh/ssh_host_",
        "\n\tinside ssh-keygen -q ",
        "\n\t\tcase $fs in ext4) resize2fs ",
        "\n\tcp /run/medium/quay/bootx64.efi ",
        "\n\tGROUP=$(value group)\n",
        '\n\t\tset_mark "$MARK keep ',
        "\n\t\t\town=$(stat -c %u ",
        "\n\tuid=1000\n",
        '\n\t\ttaken="$taken$own "\n',
    ):
        assert text in install, text


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("ext2", marks=pytest.mark.needs("e2fsprogs")),
        pytest.param("fat", marks=pytest.mark.needs("mtools", "fdisk")),
    ],
)
def test_answers_are_read_back(helpers: dict[str, ModuleType], tmp_path: Path, kind: str) -> None:
    office = helpers["answers"]
    said = helpers["cases"].right(SERIALS)
    path = getattr(office, kind)(tmp_path / "answers.img", said.files())
    assert files_on(path) == said.files()
    assert office.report_of(path) == {}


def test_a_package_is_one_for_dpkg(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    path = tmp_path / "note.deb"
    path.write_bytes(helpers["answers"].deb("note", {"usr/share/note/text": b"here"}, "true"))
    done = subprocess.run(["dpkg-deb", "-c", path], capture_output=True, text=True, check=True)
    assert "./usr/share/note/text" in done.stdout


def test_what_decides_is_one_line_and_the_status(helpers: dict[str, ModuleType]) -> None:
    decided = helpers["desk"].decided
    assert decided("QUAY REFUSED value x\n\nSTATUS 1\n") == ("REFUSED", "value")
    assert decided("QUAY WOULD INSTALL S1\n\nSTATUS 0\n") == ("WOULD INSTALL", "S1")
    for text in ("QUAY REFUSED value\n\nSTATUS 0\n", "QUAY WOULD INSTALL S1\n\nSTATUS 1\n", "",
                 "QUAY REFUSED a\nQUAY REFUSED b\n\nSTATUS 1\n"):  # fmt: skip
        assert decided(text)[0] == "neither"


def test_no_two_cases_are_the_same(helpers: dict[str, ModuleType]) -> None:
    cases = helpers["cases"]
    groups = (cases.taken, cases.values, cases.contradictions, cases.unreadable, cases.disks)
    found = [str(told) for group in groups for told in group(SERIALS).values()]
    assert len(found) == len(set(found)) == 83


@pytest.mark.needs("fdisk")
def test_a_disk_without_lvm_is_no_group(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    disk = tmp_path / "disk.img"
    disk.write_bytes(bytes(4 << 20))
    with pytest.raises(BadDeliverable):
        helpers["lvm"].Group(disk)
    subprocess.run(["sfdisk", "-q", disk], input="label: gpt\nstart=2048\n", text=True, check=True)
    data = bytearray(disk.read_bytes())
    at = (2048 + 1) * 512
    data[at : at + 8] = b"LABELONE"
    data[at + 20 : at + 24] = (32).to_bytes(4, "little")
    disk.write_bytes(data)
    with pytest.raises(BadDeliverable):
        helpers["lvm"].Group(disk)


class Machines:
    closed = False

    def close(self) -> None:
        self.closed = True


def test_lanes_go_on_beside_the_checks(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    bench = helpers["bench"].Bench(Machines(), lambda: tmp_path, tmp_path)
    told, asked = threading.Event(), threading.Event()

    def installed() -> Generator[None, None, None]:
        bench.facts["up"] = 1
        yield
        assert asked.wait(60)
        bench.facts["disks"] = 2

    def later() -> Generator[None, None, None]:
        yield from bench.after("bravo")
        bench.facts["later"] = bench["disks"]
        told.set()

    def fails() -> Generator[None, None, None]:
        yield
        raise AssertionError("no login")

    def breaks() -> Generator[None, None, None]:
        bench.facts["early"] = 3
        yield
        raise KeyError("of ours")

    def forever() -> Generator[None, None, None]:
        while True:
            yield

    bench.start(bravo=installed(), charlie=later(), alpha=fails(), moved=breaks(), desk=forever())
    bench.start(bravo=forever())
    bench.wait("bravo", "up")
    assert bench["up"] == 1 and "later" not in bench.facts
    asked.set()
    bench.wait("charlie")
    assert told.is_set() and bench["later"] == 2
    bench.wait("alpha")
    with pytest.raises(GuestError, match="there is no alpha: alpha: no login"):
        bench["alpha"]
    bench.wait("moved", "early")
    with pytest.raises(KeyError):
        bench.wait("moved")
    bench.wait("never begun")
    bench.close()
    assert bench.machines.closed and bench.is_over("desk")


def test_a_broken_verifier_is_heard_of_by_every_check(
    helpers: dict[str, ModuleType], tmp_path: Path
) -> None:
    bench = helpers["bench"].Bench(Machines(), lambda: tmp_path, tmp_path)

    def breaks() -> Generator[None, None, None]:
        yield
        raise VerifierBroken("no tool")

    def works() -> Generator[None, None, None]:
        yield from bench.after("alpha")
        bench.facts["up"] = 1

    bench.start(alpha=breaks(), bravo=works())
    with pytest.raises(VerifierBroken):
        bench.wait("bravo")
    bench.close()
