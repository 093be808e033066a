"""What almanac's README says of it, asked in the running image."""

from __future__ import annotations

import base64

import reference

BEGIN, END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


def seal(word: str, where: str, user: int, conf: bytes) -> str:
    """What `almanac seal` prints."""
    return f"{reference.fnv(f'{word}:{where}:{user}:'.encode() + conf):016x}"


def trust(word: str, certificates: list[bytes]) -> list[str]:
    """What `almanac trust` prints, word by word."""
    total = sum(reference.fnv(word.encode() + der) for der in certificates) % 2**64
    return [str(len(certificates)), f"{total:016x}"]


def pem(der: bytes) -> str:
    """One certificate as a file holds it."""
    return f"{BEGIN}\n{base64.encodebytes(der).decode()}{END}\n"


def complaints(image, zone: str) -> list[str]:
    """What is wrong with how it complains: its status, or a word on the wrong stream."""
    wrong = []
    for words, status, begins in (
        (("time", zone, "0"), 3, ""), ((), 2, "almanac: "), (("trust",), 2, "almanac: "),
        (("time", "UTC"), 2, "almanac: "), ((zone, "x"), 2, "almanac: "),
    ):  # fmt: skip
        spoken = image.entry(*words, only="errors")
        printed = image.entry(*words, only="output").stdout
        text = spoken.stdout.strip()
        if spoken.status != status or printed or not text or not text.startswith(begins):
            wrong.append(
                f"almanac {' '.join(words)}: status {spoken.status}, {text[:100]!r} on standard "
                f"error and {printed[:100]!r} on output; the README says status {status} and a "
                f"line on standard error{f' that begins with {begins!r}' if begins else ''} [R12]"
            )
    return wrong
