"""Machines, files, order of events.

- `first`: the delivered image. It starts while the repository is read; then it composes an image
  of this run's kickstart file, and refuses wrong ones.
- `taker`: the delivered image once more. It takes packages of this run's repository (`supplier`)
  while the first composes, and is closed when the next starts.
- `other`: the image that was composed, asked while the first refuses.
- Files: `repository` as delivered, `disk` (the image as it lies), `second` (what this run's
  kickstart file asks for), `composed` (what came of it, as it lies).
"""

from __future__ import annotations

import contextlib
import secrets

import pytest
from bench import PASSWORD, Bench
from metadata import Repository, read_bounded
from plain import Plain
from publisher import Publisher
from rootfs import RootFs, judged
from second import Second

from benchflow.bench.lanes import Aside
from benchflow.bench.wrong_passwords import near
from benchflow.boot import GuestError
from benchflow.boot.inspect import openpgp

OUT = "/app/out"


@pytest.fixture(scope="session")
def armour(deliverable):
    text = read_bounded(deliverable(f"{OUT}/almar.key"), openpgp.ARMOUR_MAX)
    return text.decode("ascii", "replace")


@pytest.fixture(scope="session")
def key(armour):
    return openpgp.secret_key(armour)


@pytest.fixture(scope="session")
def stranger():
    return openpgp.Key.stranger(secrets.token_bytes(32))


@pytest.fixture(scope="session")
def repository(deliverable, key):
    return Repository(deliverable(f"{OUT}/repository"), key)


@pytest.fixture(scope="session")
def sources(repository):
    return repository.sources()


@pytest.fixture(scope="session")
def disk(deliverable, work):
    """The delivered image as it lies."""
    return RootFs(deliverable(f"{OUT}/machine.img"), work)


@pytest.fixture(scope="session")
def strange(deliverable, repository, work):
    """What is in it and should not be, found out while its machine starts."""
    image = deliverable(f"{OUT}/machine.img")
    return judged(image, work, repository.by_nevra(), {"/etc/almar-note"})


@pytest.fixture(scope="session")
def publisher(repository):
    """For machines that compose, and what they compose."""
    made = Publisher(repository)
    yield made
    made.close()


@pytest.fixture(scope="session")
def supplier(repository):
    """For the machine that takes packages."""
    made = Publisher(repository)
    yield made
    made.close()


@pytest.fixture(scope="session")
def first(machines, deliverable, work):
    """The machine of the delivered image, on which things are composed."""
    image = deliverable(f"{OUT}/machine.img")
    return Bench(machines, "first", image, work, composes=True).start()


@pytest.fixture(scope="session")
def early(request):
    """The first machine starts while the repository is read; what fails is said in `boots`."""
    with contextlib.suppress(GuestError):
        request.getfixturevalue("first")


@pytest.fixture(scope="session")
def taker(machines, deliverable, work):
    """Another machine of the delivered image, which takes packages while the first composes."""
    image = deliverable(f"{OUT}/machine.img")
    wrong = [("root", word) for word in near(PASSWORD)]
    return Bench(machines, "taker", image, work, composes=False).start(wrong=wrong)


@pytest.fixture(scope="session")
def composing(first, publisher, second, work):
    return Aside(lambda: second.made_on(first, publisher, work))


@pytest.fixture(scope="session")
def second():
    """What this run's kickstart file asks for."""
    return Second()


@pytest.fixture(scope="session")
def shared():
    """What one check leaves for a later one."""
    return {}


@pytest.fixture(scope="session")
def composed(shared):
    """The image of this run's kickstart file as it lies. AssertionError when there is none."""
    assert "root" in shared, "no image was composed"
    return shared["root"]


@pytest.fixture(scope="session")
def other(machines, shared, taker, second, work):
    """The machine of the image that was composed; there is memory for two."""
    assert "image" in shared, "no image was composed"
    taker.machine.close()
    bench = Bench(machines, "second", shared["image"], work, composes=False)
    return bench.start(second.password, second.not_theirs)


@pytest.fixture(scope="session")
def plain(second):
    """A kickstart file that leaves most to be understood."""
    return Plain(second)


@pytest.fixture(scope="session")
def made_plain(first, publisher, plain, work):
    """Its image, made while the other machine starts."""
    return Aside(lambda: plain.made_on(first, publisher, work))


@pytest.fixture(scope="session")
def differences(other):
    """What `rpm -Va` says there, asked while the first machine refuses files."""
    return Aside(other.differences)


@pytest.fixture(scope="session")
def composed_strange(shared, second, repository, work):
    """What is in the image that was composed and should not be, found out meanwhile."""
    assert "image" in shared, "no image was composed"
    had = repository.by_nevra() | second.by_nevra()
    return judged(shared["image"], work, had, {f"/etc/{second.app}.note"})


@pytest.fixture(scope="session")
def word():
    """`word(stem)`: a package's name that nobody knows."""
    return lambda stem: f"{stem}-{secrets.token_hex(3)}"
