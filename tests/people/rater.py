"""A rater's side in Python: keys, bodies and envelopes as a page makes them."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


class Rater:
    """Who answers, with a key of their own."""

    def __init__(self, algorithm: str = "Ed25519") -> None:
        self.algorithm = algorithm
        self._private: Any = (
            ed25519.Ed25519PrivateKey.generate()
            if algorithm == "Ed25519"
            else ec.generate_private_key(ec.SECP256R1())
        )
        spki = self._private.public_key().public_bytes(
            Encoding.DER, PublicFormat.SubjectPublicKeyInfo
        )
        self.key = base64.b64encode(spki).decode()
        self.name = hashlib.sha256(spki).hexdigest()[:32]

    def signature(self, text: str) -> str:
        if self.algorithm == "Ed25519":
            raw = self._private.sign(text.encode())
        else:
            r, s = decode_dss_signature(self._private.sign(text.encode(), ec.ECDSA(SHA256())))
            raw = r.to_bytes(32) + s.to_bytes(32)
        return base64.b64encode(raw).decode()

    def body(self, pack: str, **more: Any) -> dict[str, Any]:
        """What all answers have."""
        return {
            "schema": 1,
            "id": secrets.token_hex(16),
            "pack": pack,
            "key": self.name,
            "revision": 1,
            "made": "2026-11-28T12:00:00Z",
            "consent": True,
            "seconds": 900,
            **more,
        }

    def envelope(self, body: dict[str, Any] | str, **changed: Any) -> bytes:
        """The signed file; `changed` replaces parts of it after signing."""
        text = body if isinstance(body, str) else canonical(body)
        made = {
            "format": "benchflow-answers/1",
            "algorithm": self.algorithm,
            "key": self.key,
            "signature": self.signature(text),
            "body": text,
        }
        return json.dumps({**made, **changed}).encode()


def canonical(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
