"""The firmware's variables: a store that holds the order's keys and nobody else's.

Layout: edk2, MdeModulePkg/Include/Guid/VariableFormat.h (authenticated variables), as OVMF's
pristine OVMF_VARS_4M.fd begins it.
"""

from __future__ import annotations

import struct
import uuid
from pathlib import Path

PRISTINE = Path("/usr/share/OVMF/OVMF_VARS_4M.fd")
CODE = Path("/usr/share/OVMF/OVMF_CODE_4M.secboot.fd")

GLOBAL = uuid.UUID("8be4df61-93ca-11d2-aa0d-00e098032b8c")
SECURITY = uuid.UUID("d719b2cb-3d3a-4596-a3bc-dad00e67656f")
SECURE_BOOT_ENABLE = uuid.UUID("f0a30bc7-af08-4556-99c4-001009c93a44")
CUSTOM_MODE = uuid.UUID("c076ec0c-7028-4399-a072-71ee5c448b9f")
_STORE = uuid.UUID("aaf32c78-947b-439a-a180-2e144ec37792")

_NV_BS, _NV_BS_RT = 0x3, 0x7
_AUTHENTICATED = 0x27  # and only changed by whoever signs with the key above it
_SIGNED_AT = struct.pack("<HBBBBBBIhBB", 2024, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
_NOWHEN = bytes(16)
_START, _ADDED = 0x55AA, 0x3F


def _variable(owner: uuid.UUID, name: str, value: bytes, attributes: int) -> bytes:
    text = name.encode("utf-16-le") + b"\0\0"
    signed_at = _SIGNED_AT if attributes == _AUTHENTICATED else _NOWHEN
    head = struct.pack("<HBBIQ", _START, _ADDED, 0, attributes, 0) + signed_at
    head += struct.pack("<III", 0, len(text), len(value)) + owner.bytes_le
    return head + text + value


def enrolled(target: Path, pk: bytes, kek: bytes, db: bytes, boot_options: bytes = b"") -> Path:
    """Write a store in which these signature lists are enrolled and secure boot is enforced.

    With `boot_options` there is a boot entry of an attacker's, tried first: the program at the
    usual place of the first virtio disk's ESP, started with these load options.
    """
    store = bytearray(PRISTINE.read_bytes())
    (start,) = struct.unpack_from("<H", store, 48)  # the firmware volume's HeaderLength
    assert store[start : start + 16] == _STORE.bytes_le, "OVMF's variables have another layout"
    (size,) = struct.unpack_from("<I", store, start + 16)
    position, end = start + 28, start + size
    variables = [
        (SECURITY, "db", db, _AUTHENTICATED),
        (GLOBAL, "KEK", kek, _AUTHENTICATED),
        (GLOBAL, "PK", pk, _AUTHENTICATED),
        (SECURE_BOOT_ENABLE, "SecureBootEnable", b"\1", _NV_BS),
        (CUSTOM_MODE, "CustomMode", b"\0", _NV_BS),
    ]
    if boot_options:
        variables += [
            (GLOBAL, "Boot0000", _entry(boot_options), _NV_BS_RT),
            (GLOBAL, "BootOrder", struct.pack("<H", 0), _NV_BS_RT),
        ]
    for owner, name, value, attributes in variables:
        position = (position + 3) & ~3
        record = _variable(owner, name, value, attributes)
        assert position + len(record) < end, "the keys do not fit into the firmware's store"
        store[position : position + len(record)] = record
        position += len(record)
    target.write_bytes(store)
    return target


def _entry(options: bytes) -> bytes:
    """An EFI_LOAD_OPTION with a short-form path: a file, on whichever disk has it."""
    name = "\\EFI\\BOOT\\BOOTX64.EFI".encode("utf-16-le") + b"\0\0"
    path = struct.pack("<BBH", 4, 4, 4 + len(name)) + name + b"\x7f\xff\x04\x00"
    title = "service".encode("utf-16-le") + b"\0\0"
    return struct.pack("<IH", 1, len(path)) + title + path + options


def board(variables: Path) -> tuple[str, list[str]]:
    """Machine type and arguments of a board whose firmware enforces what `variables` enrol."""
    return "q35,smm=on", [
        "-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={CODE}",
        "-drive", f"if=pflash,unit=1,format=raw,file={variables}",
        "-global", "driver=cfi.pflash01,property=secure,value=on",
    ]  # fmt: skip
