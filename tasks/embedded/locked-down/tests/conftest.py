"""What the checks share.

Machines: `meter`, of which most is asked, in its first start; `attacked`, the same meter on a disk
to whose ESP files were added, with another's boot options; `second`, another meter with a system
that we changed and signed; and short ones, each on a copy of a disk, that have to refuse to start
or say why they are locked. One is on at a time.
Files: the delivered disk as `layout`, the firmware's `lists` and their `certificates`, `db_key`,
`service`; `copy` makes a disk on which somebody works, `kept` is the meter's after its first start.
Order: what was delivered is read; `meter` starts, takes commands, opens for the service key, and
loses its power; `kept` is read; `attacked` goes on with it, is asked, and sees a block go bad;
then locked and tampered copies; `second` at last. `shared` is what one check leaves for a later.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
from pathlib import Path

import pytest
import rsa
from disk import EFI, Copy, Layout
from meter import Bench, secret
from probes import reads_root
from tampering import ATTACK_FILES, ATTACK_QEMU, LOAD_OPTIONS

from benchflow.bench.hidden_secrets import all_unpacked
from benchflow.boot import BadDeliverable, Initramfs, unpack_kernel
from benchflow.boot.inspect import ed25519

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
        counts = [len(each) for _, each in entries]
        assert counts == [1], f"[R3] wants one certificate in {name}.esl: entries {counts}"
        assert entries[0][0] == rsa.X509_LIST, (
            f"[R3] wants a certificate in {name}.esl: another kind"
        )
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
def number_at(shared):
    """Where in `root` the line of /etc/build lies, as the meter itself has shown it."""
    assert "number at" in shared, "[R5]: where /etc/build lies on root is not known"
    return shared["number at"]


@pytest.fixture(scope="session")
def bench(machines, lists, deliverable, work):
    folder = work / "bench"
    folder.mkdir()
    text = deliverable(f"{OUT}/service.key").read_bytes
    return Bench(machines, lists, lambda: ed25519.seed_of(text(), "service.key"), folder)


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
def delivered(layout):
    """All in which a delivered file may lie: the disk, and what is packed in it."""
    whole = layout.image.path.read_bytes()
    packed = [data for _, data in Initramfs(layout.program.content(".initrd")).contents("/")]
    with contextlib.suppress(BadDeliverable):
        packed.append(unpack_kernel(layout.program.content(".linux")))
    return list(all_unpacked([whole, *packed]))


@pytest.fixture(scope="session")
def kept(meter, shared, work):
    """The meter's disk after its first start, ended by a power cut."""
    meter.machine.power_cut()
    return Path(shutil.move(meter.machine.flatten(), work / "kept.img"))


@pytest.fixture
def unlocked(shared):
    """The first meter's volume and its key, once the unit secret has opened it."""
    assert "volume key" in shared, "[R10]: the unit secret did not open the volume"
    return shared["volume"], shared["volume key"]


@pytest.fixture(scope="session")
def attacked(bench, copy, kept, own_secret, shared):
    """The meter again, on a disk to whose ESP files were added, started by another's boot entry."""
    disk = copy("attacked", kept)
    for where, text in ATTACK_FILES.items():
        disk.add(where, text)
    programs = {"reads-root": reads_root(shared.get("number at", 0))}
    again = bench.meter(
        "again", disk.path, own_secret, boot_options=LOAD_OPTIONS, extra_args=ATTACK_QEMU,
        programs=programs,
    )  # fmt: skip
    again.disk = disk
    return again


@pytest.fixture(scope="session")
def second(bench, layout, copy, db_key, number_at, shared):
    """Another meter, with a system that we changed and signed."""
    disk = copy("second")
    shared["number"] = secrets.token_hex(32)
    root_hash = disk.rebuild(number_at, shared["number"].encode()).root_hash
    section = layout.program.section(".cmdline")
    place = layout.program.content(".cmdline").index(layout.root_hash.encode())
    changed = layout.program.patched(section.start + place, root_hash.encode())
    disk.add(EFI, changed.signed(db_key))
    shared["root hash"] = root_hash
    shared["second secret"] = secrets.token_bytes(32)
    return bench.meter("second", disk.path, shared["second secret"])
