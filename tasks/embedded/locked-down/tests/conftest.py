"""What the checks share: the order's files, the bench, and what one check leaves for another."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import rsa
from disk import Copy, Layout
from meter import Bench, secret

from benchflow.boot import ed25519

OUT = "/app/out"
HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def lists(deliverable):
    """The three signature lists, as they were delivered."""
    return {name: deliverable(f"{OUT}/{name}.esl").read_bytes() for name in ("PK", "KEK", "db")}


@pytest.fixture(scope="session")
def certificates(lists):
    """The one certificate of each list."""
    found = {}
    for name, data in lists.items():
        entries = rsa.signature_lists(data)
        assert len(entries) == 1 and len(entries[0][1]) == 1, f"{name}.esl: not one certificate"
        assert entries[0][0] == rsa.X509_LIST, f"{name}.esl holds another kind of entry"
        found[name] = rsa.Certificate.of(entries[0][1][0])
    return found


@pytest.fixture(scope="session")
def layout(image):
    return Layout(image())


@pytest.fixture(scope="session")
def db_key(deliverable, certificates):
    return rsa.private_key(deliverable(f"{OUT}/db.key").read_bytes(), certificates["db"])


@pytest.fixture(scope="session")
def foreign_key():
    """Somebody else's key, with a certificate."""
    text = (HERE / "foreign.pem").read_bytes()
    return rsa.private_key(text, rsa.Certificate.of(rsa.pem(text, b"CERTIFICATE")))


@pytest.fixture(scope="session")
def service(deliverable):
    return ed25519.seed_of(deliverable(f"{OUT}/service.key").read_bytes(), "service.key")


@pytest.fixture(scope="session")
def number_at(layout):
    """Where in `root` the line of /etc/build lies."""
    part = next(p for p in layout.image.partitions() if p.name == "root")
    text = layout.image.ext4(part).read("/etc/build", 100).rstrip(b"\n")
    assert len(text) == 64 and not text.strip(b"0123456789abcdef"), f"/etc/build: {text!r}"
    root = layout.read("root")
    assert root.count(text) == 1, f"that number is {root.count(text)} times on root"
    return root.index(text)


@pytest.fixture(scope="session")
def bench(machines, lists, service, work):
    folder = work / "bench"
    folder.mkdir()
    return Bench(machines, lists, service, folder)


@pytest.fixture(scope="session")
def own_secret():
    return secret()


@pytest.fixture(scope="session")
def copy(layout, work):
    """`copy(name, source)`: a disk on which somebody works; the delivered one by default."""
    return lambda name, source=None: Copy(layout, work / f"{name}.img", source)


@pytest.fixture(scope="session")
def meter(bench, deliverable, own_secret):
    """The meter of which most is asked, in its first start."""
    return bench.meter("meter", deliverable(), own_secret)


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}


@pytest.fixture(scope="session")
def kept(meter, shared, work):
    """The meter's disk after its first start, ended by a power cut."""
    meter.machine.power_cut()
    return Path(shutil.move(meter.machine.flatten(), work / "kept.img"))
