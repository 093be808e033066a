"""Programs of a few dozen bytes that print a text on the first serial port and echo what comes.

All do the same: print the text, then echo each character, and after a newline the text again. The
eighth newline switches the machine off (QEMU's ACPI, port 0x604), so that a verifier need not wait
until its patience ends. The serial port is a 16550 at 0x3F8 (data) and 0x3FD (status: 1 = something
came, 0x20 = ready to send). Interrupts are off: a UEFI firmware's own console would take the input.
tests/authoring/asm holds the sources that these bytes were assembled from, and compares them.
"""

from __future__ import annotations

import struct

SECTOR = 512
#: The boot sector reads this many sectors behind itself to 0x7E00.
TEXT_SECTORS = 120
#: So much fits into all of the forms below.
TEXT_MAX = 28 << 10

_BIOS_DISK = bytes.fromhex(
    "fa31c08ed88ed0bc007cfbea107c0000b442be607ccd13fab8e0078ed8bd111131fffc31f689e9ace827"
    "00e2fabafd03eca80174f8b2f8ece817003c0d74043c0a75ea4783ff0875daba0406b80020efebd150ba"
    "fd03eca82074fb58b2f8eec3100078000000e0070100000000000000"
)
_REAL_MODE = bytes.fromhex(
    "fafcb822228ed8bd111131ff31f689e9ace82700e2fabafd03eca80174f8b2f8ece817003c0d74043c0a"
    "75ea4783ff0875daba0406b80020efebd150bafd03eca82074fb58b2f8eec3"
)
_LONG_MODE = bytes.fromhex(
    "fafcbd1111111131ff488d354900000089e9ace82f000000e2f8bafd030000eca80174f6b2f8ece81b00"
    "00003c0d74043c0a75e6ffc783ff0875ce66ba040666b8002066efebc288c3bafd030000eca82074fb88"
    "d8b2f8eec3"
)


def bios_disk(text: bytes, esp: bytes = b"") -> bytes:
    """A disk that a BIOS boots; `esp` becomes its one partition, at 1 MiB, for UEFI to boot."""
    code = _BIOS_DISK.replace(b"\x11\x11", struct.pack("<H", len(text)), 1)
    first = (1 << 20) // SECTOR
    entry = struct.pack(
        "<B3sB3sII", 0x80, b"\xfe\xff\xff", 0xEF, b"\xfe\xff\xff", first, len(esp) // SECTOR
    )
    table = entry if esp else bytes(16)
    head = code.ljust(446, b"\0") + table + bytes(48) + b"\x55\xaa"
    body = text.ljust(TEXT_SECTORS * SECTOR, b"\0")
    return (head + body).ljust(1 << 20, b"\0") + esp


def bios_cd(text: bytes) -> bytes:
    """An El Torito image without emulation, which a BIOS loads whole to 0x7C00."""
    return _real_mode(text, 0x07E0).ljust(SECTOR, b"\0") + text


def linux_x86(text: bytes) -> bytes:
    """A "bzImage" that is all set-up code (Linux/x86 boot protocol 2.06, boot.rst).

    QEMU loads the set-up code to 0x10000 and enters it at 0x200 in real mode.
    """
    start = 1024
    code = _real_mode(text, 0x1000 + start // 16)
    sectors = -(-(start + len(text)) // SECTOR)
    image = bytearray(sectors * SECTOR)
    image[0x1F1] = sectors - 1
    image[0x1FE:0x200] = b"\x55\xaa"
    image[0x200:0x202] = b"\xeb\x7e"  # jmp to 0x280, over the header
    image[0x202:0x206] = b"HdrS"
    image[0x206:0x208] = struct.pack("<H", 0x0206)
    image[0x211] = 1  # LOADED_HIGH
    image[0x280 : 0x280 + len(code)] = code
    image[start : start + len(text)] = text
    return bytes(image) + bytes(SECTOR)


def efi_x64(text: bytes) -> bytes:
    """An EFI application for x86-64: a PE32+ file with one section (UEFI 2.10, 2.1.1)."""
    code = _LONG_MODE.replace(b"\x11\x11\x11\x11", struct.pack("<I", len(text)), 1) + text
    align, header = 0x1000, 0x200
    raw = -(-len(code) // 0x200) * 0x200
    virtual = -(-len(code) // align) * align
    dos = b"MZ" + bytes(58) + struct.pack("<I", 64)
    coff = struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 0xF0, 0x222)
    optional = struct.pack("<HBBIIIII", 0x20B, 0, 0, raw, 0, 0, align, align)
    optional += struct.pack("<QII", 0, align, 0x200)
    optional += struct.pack("<HHHHHHI", 0, 0, 0, 0, 0, 0, 0)
    optional += struct.pack("<IIIHH", align + virtual, header, 0, 10, 0)
    optional += struct.pack("<QQQQII", 0x1000, 0x1000, 0x1000, 0x1000, 0, 16) + bytes(128)
    section = struct.pack(
        "<8sIIIIIIHHI", b".text", len(code), align, raw, header, 0, 0, 0, 0, 0xE0000020
    )
    head = dos + b"PE\0\0" + coff + optional + section
    return head.ljust(header, b"\0") + code.ljust(raw, b"\0")


def _real_mode(text: bytes, segment: int) -> bytes:
    code = _REAL_MODE.replace(b"\x22\x22", struct.pack("<H", segment), 1)
    return code.replace(b"\x11\x11", struct.pack("<H", len(text)), 1)
