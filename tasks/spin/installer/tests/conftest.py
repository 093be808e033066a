"""What the checks share: lanes that go on while the checks ask about what is there.

Machines, two of them on at any time: `alpha` (BIOS, DVD, virtio) and `bravo` (UEFI, stick, SATA)
are installed on blank disks; bravo's disk as NVMe, refused, cut off and finished, and started by
BIOS as virtio (`charlie`); alpha's again with its home kept, cut off and finished (`again`), then
in another machine (`moved`); the `technician`'s, between disks of many kinds; one with two volumes
of answers.
Files: the medium; answers that are drawn for this run, on FAT and ext2; disks that each machine
leaves (`… disks`), read from outside, a root file system once for each.
Order: a lane begins when the one before it has switched off its last machine, most of them long
before the first check that asks for it: alpha and bravo; charlie behind bravo, again behind alpha;
the technician behind the first cut of again, two answers and moved at last.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from answers import Answers, User, Volume, deb, network, odd_banner, steps, word
from bench import START_SECONDS, Bench, Pc
from desk import Technician
from installed import MOUNTS
from kept import write_home
from later import second_alpha, second_charlie, two_answers

from benchflow.bench.delivered_files import sparse_digest
from benchflow.bench.lanes import Steps
from benchflow.bench.media_disks import blank, owned_disk, serial
from benchflow.boot import Disk

#: A report of an earlier start ([R18]: it is replaced), longer than any that follows.
OLD_REPORT = "result = refused\nreason = no-disk\norder = QS-OLD\n" + "note = of old\n" * 200


@pytest.fixture(scope="session")
def bench(machines: Any, deliverable: Callable[[], Path], work: Path) -> Iterator[Bench]:
    bench = Bench(machines, deliverable, work)
    yield bench
    bench.close()


# ---- first: two empty machines ------------------------------------------------------------------


def first_alpha(bench: Bench) -> Steps:
    """BIOS, DVD, virtio; another disk is larger, and its name sorts before."""
    work, name = bench.work, serial()
    net, address, gateway = network()
    users = [User(word(), "admin").with_key(work).with_key(work), User(word(), "plain")]
    # One of them is XFS, which has 320 MiB at least.
    kinds = secrets.choice((("ext4", "xfs"), ("xfs", "ext4")))
    sizes = {"ext4": steps(96, 64), "xfs": steps(324, 56)}
    home = Volume(word(), sizes[kinds[0]], kinds[0], "/home")
    said = Answers(
        disk=name,
        volumes=[
            Volume(word(), sizes[kinds[1]], kinds[1], f"/srv/{word()}/{word()}"),
            home,
            Volume(word(), steps(820, 60), "ext4", "/"),
            Volume(word(), "rest", "ext4", f"/srv/{word()}"),
        ],
        users=users, address=f"{address}/{net.partition('/')[2]}", gateway=gateway,
        swap=steps(64, 64), free=steps(100, 100), root=User("root", "admin"),
        banner=odd_banner(),
    )  # fmt: skip
    proof, wanted = word(), word()
    note = f"{secrets.token_hex(8)}"
    said.packages = {
        f"{proof}_1.0_all.deb": deb(
            proof,
            {},
            f"for n in /etc/hostname /usr/share/{wanted}/note; do cat $n; echo; done "
            f">/etc/{proof}\n"
            f"id -un {users[0].name} >>/etc/{proof}",
            depends=wanted,
        ),
        f"{wanted}_1.0_all.deb": deb(wanted, {f"usr/share/{wanted}/note": note.encode()}),
    }
    bench.facts.update(
        {"alpha said": said, "alpha users": users, "alpha home": home, "proof": (proof, note)}
    )
    size = steps(2100, 200)
    bench.facts["alpha size"] = size
    disks = [
        # BIOS tries the first disk alone; drivers find the other one first
        Disk(blank(work / "alpha.img", size), serial=name),
        Disk(owned_disk(work / "other.img", 2400), bus="sata", serial=serial()),
        Disk(bench.volume("alpha", said, old=OLD_REPORT), bus="sata", serial=serial()),
    ]
    bench.facts["other digest"] = sparse_digest(disks[1].path)
    pc = Pc(bench.machines, "alpha", disks=disks, cdrom=bench.medium(), network=net, host=address)
    yield from pc.installs()
    bench.facts["alpha"] = pc


def first_bravo(bench: Bench) -> Steps:
    """UEFI, stick, SATA; answers on FAT; an address by DHCP; no password for root."""
    work, name = bench.work, serial()
    net, address, _ = network()
    user = User(word(), "admin").with_key(work)
    said = Answers(
        disk=name,
        volumes=[
            Volume(word(), 800, "ext4", "/"),  # [R8]: room enough
            Volume(word(), steps(332, 60), "xfs", "/home"),
        ],
        users=[user], swap=0, free=steps(40, 200),
    )  # fmt: skip
    package = word()
    said.packages = {f"{package}_1.0_all.deb": deb(package, {})}  # a long name, on FAT
    bench.facts.update({"bravo said": said, "bravo user": user})
    disks = [
        Disk(owned_disk(work / "mate.img", 64), bus="sata", serial=serial()),
        Disk(blank(work / "bravo.img", steps(1700, 200)), bus="sata", serial=name),
        Disk(bench.medium(), bus="usb", serial=serial()),
        Disk(bench.volume("bravo", said, as_fat=True), bus="sata", serial=serial()),
    ]
    bench.facts["mate digest"] = sparse_digest(disks[0].path)
    pc = Pc(bench.machines, "bravo", firmware="uefi", disks=disks, network=net, host=address)
    yield from pc.installs()
    bench.facts["bravo"] = pc
    yield from pc.until(pc.greets, START_SECONDS, "SSH")
    known = known_hosts(bench.work) / "bravo"
    try:
        # Nobody may have had the time yet to listen to the button.
        ready = "timeout 60 systemctl is-system-running --wait; udevadm settle -t 60"
        try:
            bench.facts["bravo told"] = pc.ssh(
                user,
                f"echo {user.password} | sudo -S -p '' sh -c '{ready}' >/dev/null 2>&1; "
                f"{MOUNTS}; dpkg-query -W -f '${{db:Status-Abbrev}}\\n' {package}; hostname",
                known,
            )
        except AssertionError as error:  # its disk is asked all the same
            bench.failed["asking bravo"] = str(error)[:300]
        pc.notes_key(known)
        bench.facts["bravo obeys"] = pc.leave()
        bench.facts["bravo disks"] = {index: pc.copy(index) for index in (0, 1, 2, 3)}
    except Exception:
        pc.machine.close()  # it would go on beside all that is started later
        raise


@pytest.fixture
def first(bench: Bench) -> Bench:
    """Two machines are installed. What comes after the second one, which is asked by its lane
    alone, does not wait for what is asked of the first."""
    bench.start(alpha=first_alpha(bench), bravo=first_bravo(bench), charlie=second_charlie(bench))
    bench.wait("alpha")
    bench.wait("bravo", "bravo")
    return bench


@pytest.fixture(scope="session")
def running(bench: Bench) -> Path:
    """Alpha's disk while alpha runs: good enough for what does not change any more."""
    bench.facts["running"] = bench["alpha"].copy(0)
    return Path(bench["running"])


@pytest.fixture
def left(first: Bench) -> Bench:
    """The first two machines, switched off by their buttons, and their disks."""
    bench = first
    if "left" not in bench.facts:
        bench.facts["left"] = True
        leave_alpha(bench)
        bench.start(again=second_alpha(bench))
    bench.wait("bravo")
    return bench


def leave_alpha(bench: Bench) -> None:
    pc = bench.facts.get("alpha")
    if pc is None:
        return
    try:
        said = bench["alpha said"]
        bench.facts["later"] = word()
        write_home(bench)
        pc.notes_key(known_hosts(bench.work) / "alpha")
        bench.facts["alpha old id"] = pc.say(said.root, "cat /etc/machine-id")
        bench.facts["alpha obeys"] = pc.leave()
        bench.facts["alpha disks"] = {index: pc.copy(index) for index in (0, 1, 2)}
        bench.forgets("running")
    except Exception as error:
        bench.failed["leaving alpha"] = str(error)[:300]
        pc.leave()


# ---- second: a disk that holds something; a volume that is kept (later.py) ----------------------


@pytest.fixture
def second(left: Bench) -> Bench:
    """The machine that refused, was cut off, and begun anew."""
    left.wait("charlie")
    return left


@pytest.fixture
def again(left: Bench) -> Bench:
    """The machine whose home is kept."""
    left.wait("again")
    return left


def switched_off(bench: Bench, name: str) -> None:
    """Leave a machine that was begun anew, and keep its disks."""
    pc = bench.facts.get(name)
    if pc is not None and f"{name} disk" not in bench.facts:
        pc.leave()
        bench.facts[f"{name} disk"] = pc.copy(0)
        if f"{name} answers" not in bench.facts:
            bench.facts[f"{name} answers"] = pc.copy(1)


@pytest.fixture
def charlie_over(second: Bench) -> Bench:
    """That machine is switched off, and the technician's has its place."""
    switched_off(second, "charlie")
    second.start(technician=third_technician(second))
    return second


@pytest.fixture
def over(charlie_over: Bench, again: Bench) -> Bench:
    """The machine whose home was kept is switched off too, and its disk is elsewhere."""
    switched_off(again, "again")
    again.start(moved=third_moved(again))
    return again


# ---- third: the technician's machine, and a disk that has moved ---------------------------------


def third_technician(bench: Bench) -> Steps:
    yield from bench.after("again", "again cut")
    desk = Technician(bench)
    yield from desk.starts()
    bench.facts["technician"] = desk


def third_moved(bench: Bench) -> Steps:
    """Two disks with answers; then alpha's disk, which was installed by BIOS as virtio: alone, by
    UEFI, as SATA."""
    yield from two_answers(bench)
    root = bench["again said"].root
    pc = Pc(bench.machines, "moved", firmware="uefi", disks=[Disk(bench["again disk"], bus="sata")])
    pc.switch_on()
    yield from pc.logs_in()
    pc.say(root, "true")  # the check finds a session
    bench.facts["moved"] = pc


@pytest.fixture
def third(over: Bench) -> Bench:
    over.wait("moved")
    return over


@pytest.fixture
def desk(over: Bench) -> Technician:
    over.wait("technician")
    found: Technician = over["technician"]
    return found


def known_hosts(work: Path) -> Path:
    """Where hosts' keys are written."""
    path = work / "known"
    path.mkdir(exist_ok=True)
    return path


@pytest.fixture
def lists(work: Path) -> Path:
    return known_hosts(work)
