"""Private keys, in the forms in which programs keep them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator

from benchflow.boot.inspect import ed25519

PKCS8 = bytes.fromhex("302e020100300506032b657004220420")
SEED = 32
# What can be base64 or hexadecimal digits, over lines too: PEM, OpenSSH and signify keep keys so.
_WORDS = re.compile(rb"[A-Za-z0-9+/\n]{40,}")
_HEX = re.compile(rb"(?<![0-9a-fA-F])[0-9a-fA-F]{64}(?:[0-9a-fA-F]{64})?(?![0-9a-fA-F])")
_LINES = re.compile(rb"(?:[A-Za-z0-9+/]{16,76}\n)*[A-Za-z0-9+/]{16,4096}")


class Searcher:
    """Looks for the private half of public keys. `sums`: hexadecimal words that are no secret."""

    def __init__(self, publics: Iterable[bytes], sums: Iterable[str]) -> None:
        self.publics = set(publics)
        self.tried = {bytes.fromhex(word) for word in sums} | self.publics

    def finds(self, data: bytes) -> bool:
        """Whether a private key is in there, plain, in base64 or in hexadecimal digits."""
        return any(self._opens(seed) for seed in self._seeds(data))

    def _opens(self, seed: bytes) -> bool:
        # However many there are: a delivery has room for a million, and each takes some 60 µs.
        if len(seed) != SEED or seed in self.tried:
            return False
        self.tried.add(seed)
        return ed25519.public(seed) in self.publics

    def _seeds(self, data: bytes) -> Iterator[bytes]:
        yield from self._raw(data)
        for words in _WORDS.finditer(data):
            for found in _HEX.finditer(words[0]):
                yield bytes.fromhex(found[0].decode())[:SEED]
            for found in _LINES.finditer(words[0]):
                word = found[0].replace(b"\n", b"")
                try:
                    inner = base64.b64decode(word + b"=" * (-len(word) % 4))
                except binascii.Error:
                    continue
                yield from self._raw(inner)

    def _raw(self, data: bytes) -> Iterator[bytes]:
        for found in re.finditer(re.escape(PKCS8), data):
            yield data[found.end() : found.end() + SEED]
        # libsodium, OpenSSH and signify: the seed, and the public half behind it.
        for public in self.publics:
            for found in re.finditer(re.escape(public), data):
                yield data[max(0, found.start() - SEED) : found.start()]
        if len(data) in (SEED, SEED + 1, 2 * SEED):
            yield data[:SEED]


def sums(contents: Iterable[bytes]) -> set[str]:
    """The SHA-256 of each."""
    return {hashlib.sha256(data).hexdigest() for data in contents}
