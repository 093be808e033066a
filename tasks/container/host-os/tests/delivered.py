"""What was delivered, before anything is started: [R1], [R2], [R4], [R30]."""

from __future__ import annotations

from bundle import HEAD, MANIFEST, manifest

from benchflow.bench.ext4_edit import is_ext4
from benchflow.bench.hidden_secrets import holds, of_ed25519, pieces, unpacked
from benchflow.boot import BadDeliverable, decompress, kernel_release
from benchflow.boot.inspect import ed25519


def the_disk(disk, layout) -> None:
    assert disk.size <= 768 << 20, f"the image has {disk.size} bytes, at most 768 MiB are due"
    assert not layout.faults, f"{layout.faults} [R1]"
    sizes = {name: size for name, (_, size) in layout.places.items()}
    assert sizes["slot-a"] == sizes["slot-b"], f"the slots differ: {sizes} [R1]"
    assert 32 << 20 <= sizes["slot-a"] <= 300 << 20, (
        f"{sizes}: slots between 32 and 300 MiB are due [R1]"
    )
    assert sizes["data"] >= 128 << 20, f"{sizes}: data of at least 128 MiB is due [R1]"


def slot_a_is_the_first_bundle(disk, layout, vendor) -> None:
    size = vendor.release1.path.stat().st_size
    assert size == HEAD + vendor.slot, f"first.bundle has {size} bytes, not a slot's [R30]"
    found = layout.digest(disk.path, "a")
    assert found == vendor.release1.digest, "slot a is not the slot image of first.bundle [R2]"
    start, whole = layout.place("slot-a")
    assert is_ext4(disk.bytes_at(start, 2048), whole), "slot a is no ext4 of the slot's size [R2]"
    part = next(part for part in disk.partitions() if part.name == "slot-a")
    problems = disk.ext4(part).problems()
    assert problems == "", f"the file system of slot a is not clean [R2]: {problems[:500]}"
    text = disk.ext4(part).read_text("/etc/host-release")
    assert "version=1" in text.splitlines(), f"/etc/host-release: {text[:200]!r}; version=1 [R3]"


def the_first_bundle_is_signed(vendor) -> None:
    text, head = manifest(1, vendor.release1.digest, vendor.slot), vendor.head()
    assert head[:MANIFEST] == text, f"the manifest is {head[:200]!r}, {text[:200]!r} is due [R30]"
    right = ed25519.verify(ed25519.public(vendor.seed), text, head[MANIFEST:])
    assert right, "the first bundle is not signed with vendor.pem [R30]"


def the_private_key_is_not_on_the_disk(disk, vendor) -> None:
    for piece in pieces(disk.path):
        found = holds(unpacked(piece), of_ed25519(vendor.seed))
        assert not found, f"on host.img, or packed in it, lies {found} [R1]"


def the_slot_holds_a_kernel(disk, release: str) -> None:
    """One that runs is in slot a: as the loader takes it, or packed once more. [R2]"""
    part = next(part for part in disk.partitions() if part.name == "slot-a")
    files, found = disk.ext4(part), set()
    for one in files.walk("/"):
        if one.kind != "file" or not 1 << 20 <= one.size <= 96 << 20:
            continue
        data = files.read(one.path, 96 << 20)
        for look in (lambda data=data: data, lambda data=data: decompress(data, 96 << 20)):
            try:
                found.add(kernel_release(look()))
            except BadDeliverable:
                continue
    assert release in found, f"{release} runs, and in slot a there are kernels {found} [R2]"
