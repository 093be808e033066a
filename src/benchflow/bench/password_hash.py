"""crypt(5)'s `$6$`, because Python's own module is gone from newer versions."""

from __future__ import annotations

import hashlib

_LETTERS = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ROUNDS = 5000


def sha512_crypt(password: str, salt: str) -> str:
    """The hash of a password, as it stands in /etc/shadow; Ulrich Drepper's description, 2007.

    `salt` has 16 characters of crypt's alphabet at most.
    """
    word, grain = password.encode(), salt.encode()

    def sha(*parts: bytes) -> bytes:
        return hashlib.sha512(b"".join(parts)).digest()

    def stretched(block: bytes, length: int) -> bytes:
        return (block * (length // 64 + 1))[:length]

    other = sha(word, grain, word)
    mixed = [word, grain, stretched(other, len(word))]
    bits = len(word)
    while bits:
        mixed.append(other if bits & 1 else word)
        bits >>= 1
    state = sha(*mixed)
    p = stretched(sha(word * len(word)), len(word))
    s = stretched(sha(grain * (16 + state[0])), len(grain))
    for turn in range(_ROUNDS):
        odd = turn & 1
        state = sha(
            p if odd else state,
            s if turn % 3 else b"",
            p if turn % 7 else b"",
            state if odd else p,
        )
    text = ""
    order = [(0, 21, 42)]
    for _ in range(20):
        a, b, c = order[-1]
        order.append((b + 1, c + 1, a + 1))
    for a, b, c in order:
        number = state[a] << 16 | state[b] << 8 | state[c]
        for _ in range(4):
            text += _LETTERS[number & 63]
            number >>= 6
    number = state[63]
    text += _LETTERS[number & 63] + _LETTERS[number >> 6]
    return f"$6${salt}${text}"
