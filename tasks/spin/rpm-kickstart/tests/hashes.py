"""SHA-512 crypt(3) in plain Python, so that a password of one run can be hashed."""

from __future__ import annotations

import hashlib
import secrets

_ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ROUNDS = 5000


def _repeated(digest: bytes, size: int) -> bytes:
    return (digest * (size // len(digest) + 1))[:size]


def hashed(password: str, salt: str = "") -> str:
    """`$6$SALT$…`, with a salt of its own unless one is given."""
    salt = salt or secrets.token_hex(8)
    word, grain = password.encode(), salt.encode()
    n = len(word)
    other = hashlib.sha512(word + grain + word).digest()
    text = word + grain + _repeated(other, n)
    bits = n
    while bits:
        text += other if bits & 1 else word
        bits >>= 1
    digest = hashlib.sha512(text).digest()
    long_word = _repeated(hashlib.sha512(word * n).digest(), n)
    long_salt = _repeated(hashlib.sha512(grain * (16 + digest[0])).digest(), len(grain))
    for turn in range(_ROUNDS):
        text = long_word if turn & 1 else digest
        text += long_salt if turn % 3 else b""
        text += long_word if turn % 7 else b""
        text += digest if turn & 1 else long_word
        digest = hashlib.sha512(text).digest()
    groups = []
    for number in range(21):
        a, b, c = number, number + 21, number + 42
        groups.append(((a, b, c), (b, c, a), (c, a, b))[number % 3])
    said = "".join(_base64(digest[a] << 16 | digest[b] << 8 | digest[c], 4) for a, b, c in groups)
    return f"$6${salt}${said}{_base64(digest[63], 2)}"


def _base64(value: int, count: int) -> str:
    return "".join(_ALPHABET[value >> 6 * place & 63] for place in range(count))
