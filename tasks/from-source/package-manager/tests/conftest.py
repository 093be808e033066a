"""What the checks share.

Machines: `fresh`, the delivered station, kept in a snapshot after its first start (`station`: as it
was; `client`: it follows the repository of this run); `lonely`, one whose card is on a line where
nobody answers; `wake` starts others from disks that power cuts have left. One is on at a time.
Files: the delivered repository by name (`delivered`, read in `readings`, `own`), the disk (`tree`),
the `keys` in its configuration; `repository` serves the delivered packages and ours, signed with a
key of this run, at an address that is drawn (`line`).
Order: what was delivered is read; the station starts, is looked at and saved; it is given packages,
good and bad; the power goes while it works; disks that this left are started and judged.

A check that fails leaves the station in a state that says nothing of others' demands. So the next
one finds it as it was when it had started for the first time, and a repository without what the
failed one had put there: what a check finds does not hang on another one.
"""

from __future__ import annotations

import random
import re
import secrets
from collections.abc import Generator
from typing import Any

import form
import pytest
from line import Line
from repository import Repository
from station import Station

from benchflow.bench.other_draws import never_twice
from benchflow.boot import Nic

NEW = "new"


class Past:
    """Whether the station is as the last check wanted to leave it."""

    def __init__(self) -> None:
        self.saved = False
        self.spoilt = False


_PAST = Past()


@pytest.fixture(scope="session")
def past():
    return _PAST


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    yield
    if call.excinfo is not None and "past" in getattr(item, "fixturenames", ()):
        _PAST.spoilt = True


@pytest.fixture(scope="session")
def draw():
    return random.Random(secrets.randbits(64))


@pytest.fixture(scope="session")
def delivered(deliverable):
    """The delivered repository's files by name."""
    folder = deliverable("/app/out/repo")
    found = {}
    for path in sorted(folder.iterdir()):
        assert path.is_file() and not path.is_symlink(), (
            f"repo/{path.name} is no file: a repository has packages, INDEX and INDEX.sig [R6]"
        )
        found[path.name] = path.read_bytes()
    return found


@pytest.fixture(scope="session")
def readings(delivered):
    """Each delivered package's file name, with the package or why it is none."""
    found = {}
    for name in (name for name in delivered if name.endswith(".pkg")):
        try:
            package = form.read(delivered[name], name)
            assert name == package.file_name, f"{name} holds {package.file_name}"
            found[name] = package
        except AssertionError as error:
            found[name] = str(error)
    return found


@pytest.fixture(scope="session")
def own(readings):
    """The delivered packages by name, as far as they are packages."""
    return {p.name: p for p in readings.values() if isinstance(p, form.Package)}


@pytest.fixture(scope="session")
def tree(image):
    """The delivered disk's files."""
    return image("/app/out/disk.img").ext4()


@pytest.fixture(scope="session")
def keys(tree):
    """The public keys in the delivered configuration."""
    text = tree.read_text("/etc/lade.conf")
    found = re.findall(r"^key=([0-9a-fA-F]{64})$", text, re.MULTILINE)
    assert found, "/etc/lade.conf has no line key= with 64 hexadecimal digits [R6]"
    return [bytes.fromhex(key) for key in found]


@pytest.fixture(scope="session")
def line(draw):
    return Line.drawn(draw)


@pytest.fixture(scope="session")
def repository(own, line):
    made = Repository(line.host)
    made.offer(*own.values())
    yield made
    made.close()


@pytest.fixture(scope="session")
def fresh(machines, deliverable, repository, line):
    """The station before anybody changed anything."""
    disk = deliverable("/app/out/disk.img")
    return Station.create(machines, "station", deliverable, disk, repository, line)


@pytest.fixture
def station(fresh, past, repository, own):
    """The station, ready to be asked."""
    if past.spoilt and past.saved:
        repository.only(*own.values())
        fresh.machine.restore(NEW)
        fresh.follows = False
    elif not past.saved:
        fresh.machine.snapshot(NEW)
        past.saved = True
    past.spoilt = False
    return fresh


@pytest.fixture
def client(station, repository):
    """The station, which believes the repository of this run and has its index."""
    if not station.follows:
        station.follow(repository)
        station.done("update")
    return station


@pytest.fixture(scope="session")
def lonely(machines, deliverable, repository, line):
    """A station whose card is on a line where nobody answers."""
    disk = deliverable("/app/out/disk.img")
    nics = [Nic(lan="nobody")]
    return Station.create(machines, "lonely", deliverable, disk, repository, line, nics)


@pytest.fixture
def wake(machines, deliverable, repository, line):
    """`wake(name, disk)`: a station that starts from a disk, at another lake."""
    return lambda name, disk: Station.create(
        machines, name, deliverable, disk, repository, line.elsewhere()
    ).start()


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}


@pytest.fixture(scope="session")
def word(draw):
    """`word(stem)`: a package's name that nobody knows, another each time."""
    return never_twice(lambda stem: f"{stem}-{draw.randrange(16**6):06x}")
