"""What almanac's README says of it, asked in the running image."""

from __future__ import annotations

import base64
import random

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


def bundles(
    word: str, trusted: set[bytes], draw: random.Random
) -> list[tuple[str | None, int, list[str]]]:
    """(content or no file, status, what `almanac trust` prints) of files for SSL_CERT_FILE."""
    some = draw.sample(sorted(trusted), 2)
    text = "# some of them\n" + "".join(pem(der) for der in some)
    return [
        (text, 0, trust(word, some)), (text.replace("\n-----END", "!\n-----END"), 4, []),
        ("nothing\n", 4, []), (None, 4, []),
        (text[: -draw.randrange(30, 900)], 4, []), (f"{text}{BEGIN}\n", 4, []),
    ]  # fmt: skip


def complaints(image, zone: str) -> list[str]:
    """What is wrong with how it complains: its status, or a word on the wrong stream."""
    wrong = []
    for words, status, begins in (
        (("time", zone, "0"), 3, ""), ((), 2, "almanac: "), (("trust",), 2, "almanac: "),
        (("time", "UTC"), 2, "almanac: "), ((zone, "x"), 2, "almanac: "),
        (("time", "../../../etc/localtime", "0"), 3, ""), (("time", "Europe/../UTC", "0"), 3, ""),
        (("version", zone), 2, "almanac: "), (("trust", zone, "x"), 2, "almanac: "),
        (("seal",), 2, "almanac: "), (("time",), 2, "almanac: "), (("", ""), 2, "almanac: "),
        (("versions",), 2, "almanac: "), (("seals", zone), 2, "almanac: "),
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
