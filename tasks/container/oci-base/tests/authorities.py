"""Whom an image trusts, read by OpenSSL's own library and by rules that leave nothing unread."""

from __future__ import annotations

import base64
import re
import ssl
from pathlib import Path

from certificate import subject_hash

from benchflow.bench import rootfs_tree as rootfs
from benchflow.bench.rootfs_tree import Tree

CERTIFICATES = "etc/ssl/certs"
BUNDLE = f"{CERTIFICATES}/ca-certificates.crt"
#: Where Debian keeps the certificates that it links to.
KEPT = "usr/share/ca-certificates"
_BLOCK = re.compile(
    rb"^-----BEGIN CERTIFICATE-----\r?\n((?:[A-Za-z0-9+/=]{1,76}\r?\n)+)"
    rb"-----END CERTIFICATE-----\r?$",
    re.MULTILINE,
)


class NotPem(ValueError):
    """A file that holds something beside certificates in PEM form."""


def certificates(data: bytes) -> list[bytes]:
    """The DER form of each certificate in a PEM file that holds nothing else but comments.

    Raises NotPem for any other kind of block (OpenSSL also believes `TRUSTED CERTIFICATE` and
    `X509 CERTIFICATE`), for a block that is not whole, and for what is no text.
    """
    rest = _BLOCK.sub(b"", data)
    if b"-----" in rest or b"\0" in rest:
        raise NotPem(f"beside whole certificates: {rest[max(rest.find(b'-----'), 0) :][:60]!r}")
    try:
        return [base64.b64decode(b"".join(m.split()), validate=True) for m in _BLOCK.findall(data)]
    except ValueError as error:
        raise NotPem(f"a certificate that is damaged: {error}") from None


def believed(data: bytes, work: Path) -> tuple[int, set[bytes]]:
    """How many certificates and lists OpenSSL takes from a file, and those that may sign others."""
    path = work / "bundle.pem"
    path.write_bytes(data)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cafile=str(path))
    except ssl.SSLError as error:
        raise NotPem(f"OpenSSL does not read it: {error}") from None
    stats = context.cert_store_stats()
    return stats["x509"] + stats["crl"], set(context.get_ca_certs(binary_form=True))


def strangers(tree: Tree, trusted: set[bytes]) -> list[str]:
    """Files in the folders of certificates that hold anything but certificates of `trusted`."""
    wrong = []
    places = [rootfs.find(tree, place) for place in ("etc/ssl", CERTIFICATES, KEPT)]
    folders = tuple(f"{place}/" for place in places if place is not None)
    for path, node in tree.items():
        if not path.startswith(folders) or rootfs.points_at_a_directory(tree, path):
            continue
        try:
            held = certificates(rootfs.content(tree, path))
        except NotPem as error:
            wrong.append(f"/{path}: {error}")
            continue
        if not held or set(held) - trusted or (node.is_file and len(held) != len(set(held))):
            wrong.append(f"/{path}: {len(held)} certificates, not all of them the shipped ones")
    return wrong


def found_by_hash(tree: Tree) -> list[bytes]:
    """What OpenSSL finds in the folder: for each hash from 0 on, until a number is missing.

    Raises NotPem for a hash under which something else lies than the one certificate that it is of,
    and for one that is never looked for.
    """
    folder = rootfs.find(tree, CERTIFICATES)
    names = {path.rpartition("/")[2] for path in tree if path.rpartition("/")[0] == folder}
    ahead = {name for name in names if re.fullmatch(r"[0-9a-f]{8}\.\d+", name)}
    found = []
    for short in sorted({name[:8] for name in ahead}):
        number = 0
        while (name := f"{short}.{number}") in ahead:
            held = certificates(rootfs.content(tree, f"{CERTIFICATES}/{name}"))
            if len(held) != 1 or subject_hash(held[0]) != short:
                hashes = [subject_hash(der) for der in held]
                raise NotPem(f"{name} holds the certificates {hashes}, not the one of its name")
            found += held
            ahead.remove(name)
            number += 1
    if ahead:
        raise NotPem(f"{sorted(ahead)[:3]} are never looked for: the numbers before are missing")
    return found
