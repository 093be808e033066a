"""Ciphers and key derivation by libgcrypt, which every Debian has (apt is linked to it)."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools

# gcrypt.h of libgcrypt 1.10
_PBKDF2, _ARGON2 = 34, 64
_ARGON = {"argon2i": 1, "argon2id": 2}
_MODES = {"ecb": 1, "cbc": 3, "xts": 13}
_CIPHERS = {
    ("aes", 16): 7, ("aes", 24): 8, ("aes", 32): 9,
    ("twofish", 16): 303, ("twofish", 32): 10,
    ("serpent", 16): 304, ("serpent", 24): 305, ("serpent", 32): 306,
    ("camellia", 16): 310, ("camellia", 24): 311, ("camellia", 32): 312,
}  # fmt: skip
# Initial vectors from a sector's number, as dm-crypt makes them (drivers/md/dm-crypt.c).
_VECTORS = {
    "plain": lambda number: (number & 0xFFFFFFFF).to_bytes(16, "little"),
    "plain64": lambda number: number.to_bytes(16, "little"),
    "plain64be": lambda number: number.to_bytes(16, "big"),
    "benbi": lambda number: ((number << 5) + 1).to_bytes(16, "big"),
    "null": lambda number: bytes(16),
}
# As LUKS names them, and as libgcrypt does.
_HASHES = {"blake2b-512": "BLAKE2B_512", "blake2s-256": "BLAKE2S_256"}


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL("libgcrypt.so.20")
    library.gcry_check_version.restype = ctypes.c_char_p
    library.gcry_check_version(None)
    return library


def _done(error: int, what: str) -> None:
    assert not error, f"{what}: libgcrypt's error {error & 0xFFFF}"


def _algorithm(name: str) -> int:
    number = _library().gcry_md_map_name(_HASHES.get(name, name.upper()).encode())
    assert number, f"a LUKS2 header with the hash {name!r}"
    return int(number)


def digest_size(name: str) -> int:
    """The length of a hash."""
    return int(_library().gcry_md_get_algo_dlen(_algorithm(name)))


def digest(name: str, data: bytes) -> bytes:
    """The hash of `data`, by LUKS' name of the hash."""
    out = ctypes.create_string_buffer(digest_size(name))
    _library().gcry_md_hash_buffer(_algorithm(name), out, data, ctypes.c_size_t(len(data)))
    return out.raw


def pbkdf2(name: str, password: bytes, salt: bytes, rounds: int, size: int) -> bytes:
    """PBKDF2 with HMAC."""
    out = ctypes.create_string_buffer(size)
    _done(
        _library().gcry_kdf_derive(
            password, ctypes.c_size_t(len(password)), _PBKDF2, _algorithm(name),
            salt, ctypes.c_size_t(len(salt)), ctypes.c_ulong(rounds), ctypes.c_size_t(size), out,
        ),
        "PBKDF2",
    )  # fmt: skip
    return out.raw


def argon2(kind: str, password: bytes, salt: bytes, cost: tuple[int, int, int], size: int) -> bytes:
    """Argon2i or Argon2id; `cost` is rounds, KiB and lanes."""
    library, handle = _library(), ctypes.c_void_p()
    rounds, memory, lanes = cost
    numbers = (ctypes.c_ulong * 4)(size, rounds, memory, lanes)
    out = ctypes.create_string_buffer(size)
    _done(
        library.gcry_kdf_open(
            ctypes.byref(handle), _ARGON2, _ARGON[kind], numbers, 4,
            password, ctypes.c_size_t(len(password)), salt, ctypes.c_size_t(len(salt)),
            None, ctypes.c_size_t(0), None, ctypes.c_size_t(0),
        ),
        kind,
    )  # fmt: skip
    try:
        _done(library.gcry_kdf_compute(handle, None), kind)
        _done(library.gcry_kdf_final(handle, ctypes.c_size_t(size), out), kind)
    finally:
        library.gcry_kdf_close.restype = None
        library.gcry_kdf_close(handle)
    return out.raw


class Cipher:
    """Decrypts sectors as dm-crypt does: `cipher-mode-iv`, AssertionError for one not known."""

    def __init__(self, encryption: str, key: bytes) -> None:
        name, _, rest = encryption.partition("-")
        mode, _, vector = rest.partition("-")
        vector, _, hashed = vector.partition(":")
        known = mode in ("xts", "cbc") and (vector == "essiv" or vector in _VECTORS)
        number = _CIPHERS.get((name, len(key) // 2 if mode == "xts" else len(key)))
        assert known and number, f"it is encrypted by {encryption!r}, {8 * len(key)} bits"
        self._handle = self._open(number, mode, key)
        self._vector = _VECTORS.get(vector, _VECTORS["plain64"])
        self._essiv = None
        if vector == "essiv":
            salt = digest(hashed, key)
            inner = _CIPHERS.get((name, len(salt)))
            assert inner, f"it is encrypted by {encryption!r}, which no kernel does"
            self._essiv = self._open(inner, "ecb", salt)

    @staticmethod
    def _open(number: int, mode: str, key: bytes) -> ctypes.c_void_p:
        library, handle = _library(), ctypes.c_void_p()
        _done(library.gcry_cipher_open(ctypes.byref(handle), number, _MODES[mode], 0), mode)
        _done(library.gcry_cipher_setkey(handle, key, ctypes.c_size_t(len(key))), mode)
        return handle

    def decrypt(self, data: bytes, sector: int) -> bytes:
        """One encrypted unit, whose first sector of 512 bytes has this number."""
        library = _library()
        start = self._vector(sector % (1 << 64))
        if self._essiv:
            vector = ctypes.create_string_buffer(16)
            library.gcry_cipher_encrypt(
                self._essiv, vector, ctypes.c_size_t(16), start, ctypes.c_size_t(16)
            )
            start = vector.raw
        _done(library.gcry_cipher_setiv(self._handle, start, ctypes.c_size_t(16)), "setiv")
        out, size = ctypes.create_string_buffer(len(data)), ctypes.c_size_t(len(data))
        _done(library.gcry_cipher_decrypt(self._handle, out, size, data, size), "decrypt")
        return out.raw
