"""What the checks share: what was delivered, the repository of this run, and the station."""

from __future__ import annotations

import random
import re
import secrets

import form
import pytest
from repository import Repository
from station import Station

from benchflow.boot import Nic

FILE_MAX = 16 << 20


@pytest.fixture(scope="session")
def draw():
    return random.Random(secrets.randbits(64))


@pytest.fixture(scope="session")
def delivered(deliverable):
    """The delivered repository's files by name."""
    folder = deliverable("/app/out/repo")
    found = {}
    for path in sorted(folder.iterdir()):
        assert path.is_file() and not path.is_symlink(), f"repo/{path.name} is no file"
        assert path.stat().st_size <= FILE_MAX, f"repo/{path.name} is too large"
        found[path.name] = path.read_bytes()
    return found


@pytest.fixture(scope="session")
def own(delivered):
    """The delivered packages by name."""
    names = [name for name in delivered if name.endswith(".pkg")]
    read = {name: form.read(delivered[name], name) for name in names}
    for name, package in read.items():
        assert name == package.file_name, f"{name} holds {package.file_name}"
    packages = {package.name: package for package in read.values()}
    assert len(packages) == len(read), "a package is there in two versions"
    return packages


@pytest.fixture(scope="session")
def tree(image):
    """The delivered disk's files."""
    return image("/app/out/disk.img").ext4()


@pytest.fixture(scope="session")
def key(tree):
    """The public key in the delivered configuration."""
    found = re.findall(r"^key=([0-9a-fA-F]{64})$", tree.read_text("/etc/lade.conf"), re.MULTILINE)
    assert len(found) == 1, "/etc/lade.conf has not one key"
    return bytes.fromhex(found[0])


@pytest.fixture(scope="session")
def repository(own):
    made = Repository()
    made.offer(*own.values())
    yield made
    made.close()


@pytest.fixture(scope="session")
def station(machines, deliverable, repository):
    disk = deliverable("/app/out/disk.img")
    return Station.create(machines, "station", deliverable, disk, repository)


@pytest.fixture(scope="session")
def lonely(machines, deliverable, repository):
    """A station whose card is on a line where nobody answers."""
    disk = deliverable("/app/out/disk.img")
    nics = [Nic(lan="nobody")]
    return Station.create(machines, "lonely", deliverable, disk, repository, nics)


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}


@pytest.fixture(scope="session")
def word(draw):
    """`word(stem)`: a package's name that nobody knows."""
    return lambda stem: f"{stem}-{draw.randrange(16**6):06x}"
