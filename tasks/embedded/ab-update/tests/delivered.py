"""What was delivered, before anything is started: [R1], [R2], [R4], [R9]."""

from __future__ import annotations

from bundle import MANIFEST, SLOT, WHOLE, holds_nothing, manifest
from unit import same

from benchflow.bench.ext4_edit import is_ext4
from benchflow.bench.hidden_secrets import holds, of_ed25519, unpacked
from benchflow.boot.inspect import ed25519


def the_disk(disk, layout) -> None:
    assert disk.size <= 128 << 20, f"the image has {disk.size} bytes, at most 128 MiB are due"
    assert not layout.faults, f"{layout.faults} [R1]"
    sizes = {name: size for name, (_, size) in layout.places.items()}
    assert sizes["slot-a"] == sizes["slot-b"] == SLOT, f"{sizes}: slots of 32 MiB are due [R1]"
    assert sizes["data"] >= 32 << 20, f"{sizes}: data of at least 32 MiB is due [R1]"


def slot_a_is_the_first_bundle(disk, layout, vendor) -> None:
    same(vendor.release1.path.stat().st_size, WHOLE, "bytes of first.bundle [R9]")
    same(layout.digest(disk.path, "a"), vendor.release1.digest, "slot a is that of the bundle [R2]")
    start = layout.place("slot-a")[0]
    assert is_ext4(disk.bytes_at(start, 2048), SLOT), "slot a is no ext4 file system of 32 MiB [R2]"
    part = next(part for part in disk.partitions() if part.name == "slot-a")
    problems = disk.ext4(part).problems()
    assert not problems, f"the file system of slot a is not whole [R2]: {problems}"
    assert "health.d" in disk.ext4(part).listdir("/etc"), "slot a has no /etc/health.d [R8]"


def slot_b_holds_nothing(disk, layout, vendor) -> None:
    data = disk.bytes_at(*layout.place("slot-b"))
    part = next(part for part in disk.partitions() if part.name == "slot-b")
    assert holds_nothing(disk, part), "slot b holds files; nothing of use is due there [R2]"
    kernel = vendor.kernel()
    # A piece that no other thing has: kernels have zeros, too.
    pieces = (kernel[at : at + 64] for at in range(1 << 16, len(kernel), 64))
    middle = next((piece for piece in pieces if len(set(piece)) > 32), None)
    assert not middle or middle not in data, (
        "slot b holds a kernel; nothing of use is due there [R2]"
    )


def the_first_bundle_is_signed(vendor) -> None:
    text, head = manifest(1, vendor.release1.digest), vendor.head()
    same(head[:MANIFEST].rstrip(b"\0"), text.rstrip(b"\0"), "the first bundle's manifest [R9]")
    assert head[:MANIFEST] == text, "the manifest is not filled up with zero bytes [R9]"
    right = ed25519.verify(ed25519.public(vendor.seed), text, head[MANIFEST:])
    assert right, "the first bundle is not signed with vendor.pem [R9]"


def the_private_key_is_not_on_the_disk(disk, vendor) -> None:
    found = holds(unpacked(disk.path.read_bytes()), of_ed25519(vendor.seed))
    assert not found, f"on unit.img, or packed in it, lies {found} [R4]"
