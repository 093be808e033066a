"""Signatures of answers: made in a browser by WebCrypto, verified here with `cryptography`.

A signature says that a file is as the holder of its key left it, and that two files are of one
holder. It does not say who that is: that is what one-time links are for.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Literal

Algorithm = Literal["Ed25519", "ECDSA-P256-SHA256"]
#: Bytes of r and s each, as WebCrypto puts them after each other.
_P256_HALF = 32


def fingerprint(key: str) -> str:
    """The name of a rater: 32 hexadecimal digits of the SHA-256 of a public key (SPKI, base64).

    Raises ValueError when `key` is not base64.
    """
    return hashlib.sha256(_decoded(key)).hexdigest()[:32]


def is_signed(algorithm: Algorithm, key: str, signature: str, text: str) -> bool:
    """Whether `signature` (base64) of the UTF-8 of `text` was made with the private half of `key`.

    Whatever is no key or signature of the algorithm named has signed nothing: False, no error.
    """
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import (
        ECDSA,
        SECP256R1,
        EllipticCurvePublicKey,
    )
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        public = load_der_public_key(_decoded(key))
        given = _decoded(signature)
        data = text.encode()
        if algorithm == "Ed25519" and isinstance(public, Ed25519PublicKey):
            public.verify(given, data)
            return True
        if (
            algorithm == "ECDSA-P256-SHA256"
            and isinstance(public, EllipticCurvePublicKey)
            and isinstance(public.curve, SECP256R1)
            and len(given) == 2 * _P256_HALF
        ):
            r, s = (int.from_bytes(half) for half in (given[:_P256_HALF], given[_P256_HALF:]))
            public.verify(encode_dss_signature(r, s), data, ECDSA(SHA256()))
            return True
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return False


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
