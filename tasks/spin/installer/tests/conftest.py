"""What the checks share: lanes that go on while the checks ask about what is there.

Machines, two of them on at any time: `alpha` (BIOS, DVD, virtio) and `bravo` (UEFI, stick, SATA)
are installed on blank disks; bravo's disk as `charlie` (NVMe), refused, cut off and finished;
alpha's again with its home kept, cut off and finished (`again`), then in another machine (`moved`);
the `technician`'s, between disks of many kinds.
Files: the medium; answers that are drawn for this run, on FAT and ext2; disks that each machine
leaves (`… disks`), read from outside, a root file system once for each.
Order: a lane begins when the one before it has switched off its last machine, most of them long
before the first check that asks for it: alpha and bravo; charlie behind bravo, again behind alpha;
the technician behind the first cut of again, moved at last.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from answers import Answers, User, Volume, deb, word
from bench import START_SECONDS, Bench, Pc
from desk import Technician
from installed import MOUNTS

from benchflow.bench.delivered_files import sparse_digest
from benchflow.bench.lanes import Steps
from benchflow.bench.media_disks import blank, owned_disk, serial
from benchflow.boot import Disk, GuestError

#: A report of an earlier start ([R18]: it is replaced), longer than any that follows.
OLD_REPORT = "result = refused\nreason = no-disk\norder = QS-OLD\n" + "note = of old\n" * 200
ODD = 'Kai\'s "$(reboot)" `halt` 100% \\n $HOME & ;*'


@pytest.fixture(scope="session")
def bench(machines: Any, deliverable: Callable[[], Path], work: Path) -> Iterator[Bench]:
    bench = Bench(machines, deliverable, work)
    yield bench
    bench.close()


def steps(size: int, spread: int) -> int:
    """A size that nobody can know: multiples of 4."""
    return size + 4 * secrets.randbelow(spread // 4)


def network() -> tuple[str, str, str]:
    """(network, address, gateway) of this run."""
    head = f"10.{secrets.randbelow(200) + 20}.{secrets.randbelow(250)}"
    return f"{head}.0/24", f"{head}.{secrets.randbelow(100) + 50}", f"{head}.2"


# ---- first: two empty machines ------------------------------------------------------------------


def first_alpha(bench: Bench) -> Steps:
    """BIOS, DVD, virtio; another disk is larger, and its name sorts before."""
    work, name = bench.work, serial()
    net, address, gateway = network()
    users = [User(word(), "admin").with_key(work), User(word(), "plain")]
    home = Volume(word(), steps(96, 64), "ext4", "/home")
    said = Answers(
        disk=name,
        volumes=[
            Volume(word(), steps(340, 60), "xfs", f"/srv/{word()}/{word()}"),
            home,
            Volume(word(), steps(820, 60), "ext4", "/"),
            Volume(word(), "rest", "ext4", f"/srv/{word()}"),
        ],
        users=users, address=f"{address}/24", gateway=gateway,
        swap=steps(64, 64), free=steps(100, 100), root=User("root", "admin"),
        banner=f"{ODD} {secrets.token_hex(4)}",
    )  # fmt: skip
    proof = word()
    note = f"{secrets.token_hex(8)}"
    said.packages = {
        f"{proof}_1.0_all.deb": deb(
            proof,
            {f"usr/share/{proof}/note": note.encode()},
            f"for n in /etc/hostname /usr/share/{proof}/note; do cat $n; echo; done >/etc/{proof}\n"
            f"id -un {users[0].name} >>/etc/{proof}",
        )
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
                f"{MOUNTS}; hostname",
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
    return Path(bench["alpha"].copy(0))


#: What is written to the home that is to be kept, as root. FOLDERS are of users of the answers.
KEEP = """umask 022 && cd /home && echo WORD >FIRST/diary && ln -s diary FIRST/link &&
chmod 640 FIRST/diary &&
mkdir LATER gone && echo of LATER >LATER/mine && chown -R 1777:1777 LATER &&
echo of gone >gone/mine &&
chown -R 1002:1002 gone && chown 1777:1002 FIRST/diary && touch -d @1234567890 FIRST/diary &&
chmod 710 gone &&
head -c 3000000 /dev/urandom >gone/noise && chown 1003 gone/noise && sync &&
sha256sum gone/noise FIRST/diary | sha256sum"""


#: The numbers that own anything in /home.
OWNERS = "find /home -exec stat -c %u {} + | sort -u"


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
        said, users = bench["alpha said"], bench["alpha users"]
        later = word()
        bench.facts["later"] = later
        script = KEEP.replace("WORD", secrets.token_hex(8)).replace("FIRST", users[1].name)
        bench.facts["kept sum"] = pc.say(said.root, script.replace("LATER", later), 120).split()[0]
        bench.facts["owners"] = pc.say(said.root, OWNERS).split()
        pc.notes_key(known_hosts(bench.work) / "alpha")
        bench.facts["alpha old id"] = pc.say(said.root, "cat /etc/machine-id")
        bench.facts["alpha obeys"] = pc.leave()
        bench.facts["alpha disks"] = {index: pc.copy(index) for index in (0, 1, 2)}
    except Exception as error:
        bench.failed["leaving alpha"] = str(error)[:300]
        pc.leave()


# ---- second: a disk that holds something; a volume that is kept ---------------------------------


def with_medium(
    bench: Bench, label: str, disks: list[Disk], *, firmware: str = "bios", as_stick: bool = False
) -> Pc:
    """A machine with the medium in its drive, the last to be tried; or `as_stick`, the first, as
    is needed where a disk starts by itself."""
    if not as_stick:
        return Pc(bench.machines, label, firmware=firmware, disks=disks, cdrom=bench.medium())
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

    def made(label: str, source: Path, **medium: Any) -> Pc:
        disks = [
            Disk(source, bus="nvme", serial=name),
            Disk(bench.volume(label, said), serial=serial()),
        ]
        return with_medium(bench, label, disks, firmware="uefi", **medium)

    said.consent = serial()  # of another disk: that is none
    pc = made("charlie-refused", disk, as_stick=True)
    try:
        yield from pc.refuses()
        bench.facts["refused"] = (pc, pc.copy(1), pc.copy(2))
    except GuestError as error:  # what comes after needs no refusal
        bench.failed["charlie-refused"] = str(error)[:300]

    said.consent = name
    pc = made("charlie-cut", disk, as_stick=True)
    yield from pc.cut_at(20 + secrets.randbelow(40))
    bench.facts["charlie cut"] = (pc.copy(1), pc.copy(2))

    said.consent = ""  # what is on the disk now is the setup's own
    pc = made("charlie", bench["charlie cut"][0])
    yield from pc.installs()
    bench.facts["charlie"] = pc


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
            User(users[1].name, "plain"), User(users[0].name, "admin"),
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
    pc = made("again", bench["again cut"])
    yield from pc.installs()
    bench.facts["again"] = pc


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
    """Alpha's disk, which was installed by BIOS as virtio: alone, by UEFI, as SATA."""
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
