"""Ed25519 signatures (RFC 8032), by the library that the verifier's image has: cryptography.

What it leaves open is refused here: a key of small order, and an encoding that is not canonical.
"""

from __future__ import annotations

import base64
import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_P = 2**255 - 19
_EIGHTH = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
# The y of the eight points of small order: such a key accepts one signature for every message, and
# the library takes it.
_SMALL_ORDER = frozenset({0, 1, _P - 1, _EIGHTH, _P - _EIGHTH})
#: RFC 8410: the head of a PKCS #8 structure of version 0 that holds an Ed25519 key.
PKCS8_HEAD = bytes.fromhex("302e020100300506032b657004220420")
_PEM = re.compile(rb"-----BEGIN PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----")


def public(seed: bytes) -> bytes:
    """The 32 bytes of the public key that belongs to the 32 of a private one.

    ValueError for a seed of another length.
    """
    return _private(seed).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def sign(seed: bytes, message: bytes) -> bytes:
    """The signature of 64 bytes. ValueError for a seed that is not 32 bytes long."""
    return _private(seed).sign(message)


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` is that of `message` by the owner of the public `key`.

    No for a key of small order: it would accept one signature for every message.
    """
    if len(key) != 32 or len(signature) != 64:
        return False
    y = int.from_bytes(key, "little") & ((1 << 255) - 1)
    if y >= _P or y in _SMALL_ORDER:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def seed_of(pem: bytes, name: str) -> bytes:
    """The secret bytes of an Ed25519 key as PEM and PKCS #8; AssertionError, which calls the file
    `name`, for anything else."""
    found = _PEM.search(pem[:4096])
    assert found, f"{name} holds no unencrypted PKCS #8 private key"
    try:
        der = base64.b64decode(b"".join(found[1].split()), validate=True)
    except ValueError:
        raise AssertionError(f"{name} is not base64") from None
    assert der[:16] == PKCS8_HEAD and len(der) == 48, f"{name} is not an Ed25519 key"
    return der[16:]


def _private(seed: bytes) -> Ed25519PrivateKey:
    # cryptography 38 raises InternalError, which is no ValueError, for some lengths.
    if len(seed) != 32:
        raise ValueError(f"a seed of {len(seed)} bytes instead of 32")
    return Ed25519PrivateKey.from_private_bytes(bytes(seed))
