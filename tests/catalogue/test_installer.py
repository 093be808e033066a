"""spin/installer: its parts agree with each other, and its helpers can tell yes from no."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.catalogue import checkers

from benchflow.bench.delivered_files import sparse_digest
from benchflow.bench.media_disks import files_on
from benchflow.boot import BadDeliverable, GuestError, VerifierBroken

TASK = Path(__file__).parents[2] / "tasks/spin/installer"
HELPERS = ("answers", "lvm", "bench", "cases", "desk", "decisions", "installed", "kept")
SERIALS = {name: name.upper() for name in ("stick", "blank", "tiny", "unknown", "twin")}


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("spin/installer", *HELPERS) as loaded:
        yield loaded


def test_what_the_oracle_and_its_exploits_edit_is_there() -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    medium = TASK / "solution/medium"
    init, disks, answers, install, setup = (
        (medium / name).read_text()
        for name in ("init", "disks", "answers", "install", "quay-setup")
    )
    assert "\n/bin/quay-setup auto\n" in init
    assert '\n\t"$MARK"*) echo unfinished; return ;;\n' in disks
    assert " count=64 2>" in disks and "nothing_in $1 0 &&" in disks
    assert '\n\t[ $(echo "$devices" | wc -l) = 1 ] ' in setup
    for text in (
        ' || refuse data "$DISK is not empty"',
        ' || refuse data "a volume that was kept"',
        'refuse contradiction "the gateway is not in the network"',
        "\n\tDISK=$found\n",
        "refuse missing user\n",
        "{1,3})' || refuse value \"volume",
        '\n\t[ "$A_consent" = "$SERIAL" ] &&',
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
        "\n\t\trm -f $ssh/authorized_keys\n",
        "\n\tdd if=/run/medium/quay/boot.img ",
        '"$(value address)" "$(value gateway)"',
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
    twice = "QUAY REFUSED value\nQUAY REFUSED value: x\n\nSTATUS 1\n"
    assert decided(twice.replace(":", "")) == ("REFUSED", "value")
    for text in ("QUAY REFUSED value\n\nSTATUS 0\n", "QUAY WOULD INSTALL S1\n\nSTATUS 1\n", "",
                 "QUAY REFUSED a\nQUAY REFUSED b\n\nSTATUS 1\n"):  # fmt: skip
        assert decided(text)[0] == "neither"


def test_no_two_cases_are_the_same(helpers: dict[str, ModuleType]) -> None:
    cases = helpers["cases"]
    groups = (cases.taken, cases.values, cases.contradictions, cases.unreadable, cases.disks)
    found = [str(told) for group in groups for told in group(SERIALS).values()]
    assert len(found) == len(set(found)) == 116


class Told:
    """A machine, or a service of it, that says one thing."""

    def __init__(self, text: str) -> None:
        self.text = text

    def say(self, *_: object) -> str:
        return self.text

    def reason(self) -> str:
        return self.text

    seconds = 1.0


HOME = """gone/pipe|p 620 1002:1002|1.0 1
gone|d 710 1002:1002|1.0 3
qold/.ssh|d 700 1000:1000|1.0 2
qold/diary|f 640 1777:1002|1.0 1
qold|d 755 1000:1000|1.0 3
aaaa  ./qold/diary"""


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        ("", "", ""),
        ("qold|d 755 1000:1000|1.0 3", "qold|d 755 1000:1000|9.0 3", ""),
        ("qold/.ssh|d 700 1000:1000|1.0 2\n", "", ""),
        ("gone|d 710 1002:1002|1.0", "gone|d 710 1002:1002|9.0", "gone"),
        ("qold/diary|f 640 1777:1002|1.0", "qold/diary|f 640 1777:1002|2.0", "qold/diary"),
        ("gone/pipe|p 620", "gone/pipe|f 620", "gone/pipe"),
        ("gone/pipe|p 620 1002:1002|1.0 1\n", "", "gone/pipe"),
        ("qold|d 755 1000:1000", "qold|d 777 1000:1000", "qold"),
        ("aaaa", "bbbb", "other contents"),
        ("gone/pipe", "gone/more|f 620 1002:1002|1.0 1\ngone/pipe", "gone/more is new"),
    ],
)
def test_what_was_kept_is_compared_entry_by_entry(
    helpers: dict[str, ModuleType], before: str, after: str, wrong: str
) -> None:
    kept = helpers["kept"]
    said = helpers["cases"].right(SERIALS)
    said.users[0].name = "qold"
    bench = {"home": kept.listed(Told(HOME), said), "again said": said}
    bench["again"] = Told(HOME.replace(before, after, 1))
    if not wrong:
        kept.is_as_it_was(bench)
        return
    with pytest.raises(AssertionError, match=wrong):
        kept.is_as_it_was(bench)


def test_what_a_file_system_says_it_has(helpers: dict[str, ModuleType]) -> None:
    xfs = b"XFSB" + (4096).to_bytes(4, "big") + (2560).to_bytes(8, "big") + bytes(4096)
    assert helpers["kept"].room_of(xfs) == 10 << 20


@pytest.mark.needs("e2fsprogs", "mtools", "fdisk")
def test_two_volumes_of_answers(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    office, judge = helpers["answers"], helpers["decisions"].refuses_two
    said = helpers["cases"].right(SERIALS)
    blank = tmp_path / "blank.img"
    blank.write_bytes(bytes(1 << 20))
    digest = sparse_digest(blank)
    report = {"report.txt": b"result = refused\n"}
    disks = [
        blank,
        office.ext2(tmp_path / "a.img", said.files() | report),
        office.fat(tmp_path / "b.img", said.files()),
    ]
    judge(Told("two-answers"), digest, disks, said)
    assert office.strangers_on(disks[1]) == office.strangers_on(disks[2]) == []
    with pytest.raises(AssertionError, match="two-answers"):
        judge(Told("data"), digest, disks, said)
    more = office.ext2(tmp_path / "c.img", said.files() | {"log.txt": b"", "logs/a": b""})
    assert office.strangers_on(more) == ["/logs"]
    with pytest.raises(AssertionError, match="more than a report"):
        judge(Told("two-answers"), digest, [blank, more, disks[2]], said)
    blank.write_bytes(bytes(1000) + b"x" + bytes((1 << 20) - 1001))
    with pytest.raises(AssertionError, match="written"):
        judge(Told("two-answers"), digest, disks, said)


def test_whose_account_it_is(helpers: dict[str, ModuleType]) -> None:
    said = helpers["cases"].right(SERIALS)
    users = [f"{u.name}:x:{1000 + n}:{1000 + n}::/:/bin/sh" for n, u in enumerate(said.users)]
    shadow = [f"{u.name}:{u.hash}:1::::::" for u in said.users]

    class Files:
        more = ""

        def read_text(self, path: str) -> str:
            own = users if path == "/etc/passwd" else shadow if path == "/etc/shadow" else []
            return "\n".join([*own, *([self.more] if path == "/etc/passwd" else [])])

    files = Files()
    assert helpers["installed"].strange_accounts(files, said) == []
    files.more = "svc:x:998:998::/:/bin/sh"
    assert "svc" in helpers["installed"].strange_accounts(files, said)[0]


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
