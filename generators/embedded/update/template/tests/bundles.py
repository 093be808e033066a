"""Versions and bundles, as the order says, and such as it does not allow."""

from __future__ import annotations

import base64
import bz2
import gzip
import hashlib
import io
import json
import lzma
import random
import secrets
import struct
import tarfile
import zlib
from dataclasses import dataclass, field, replace

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from ordered import AXES, WORD, has

_ORDER = "<" if AXES["endian"] == "little" else ">"


class Key:
    """A private key of the drawn kind."""

    def __init__(self) -> None:
        kind = AXES["signature"]
        if kind == "ed25519":
            self._key = ed25519.Ed25519PrivateKey.generate()
        elif kind == "ecdsa":
            self._key = ec.generate_private_key(ec.SECP256R1())
        else:
            self._key = rsa.generate_private_key(65537, 2048)

    def _public(self, encoding: serialization.Encoding) -> bytes:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self._key.public_key().public_bytes(encoding, form)

    def pem(self) -> bytes:
        return self._public(serialization.Encoding.PEM)

    def der64(self) -> str:
        return base64.b64encode(self._public(serialization.Encoding.DER)).decode()

    def sign(self, data: bytes) -> bytes:
        kind = AXES["signature"]
        if kind == "ed25519":
            return self._key.sign(data)
        if kind == "ecdsa":
            return self._key.sign(data, ec.ECDSA(hashes.SHA256()))
        pss = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=32)
        return self._key.sign(data, pss, hashes.SHA256())


@dataclass
class Version:
    """A version: its image, whether its system comes up, and what its manifest says besides."""

    version: str
    image: bytes
    lives: bool = True
    more: dict[str, str] = field(default_factory=dict)
    next_key: Key | None = None

    def but(self, **changes: str) -> Version:
        return replace(self, more=self.more | changes)


def image(draw: random.Random, version: str, lives: bool, size: int, files: dict) -> bytes:
    """A small system: it says its version on standard output, and ends well where it is to live."""
    made = io.BytesIO()
    script = f"#!/bin/sh\necho up {version}\nexit {0 if lives else 1}\n"
    rows = [("start", script.encode(), 0o755)]
    rows += [(path, text.encode(), 0o755) for path, text in files.items()]
    rows.append(("data", draw.randbytes(size), 0o644))
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, data, mode in rows:
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


def digest(data: bytes) -> str:
    return hashlib.new(AXES["digest"], data).hexdigest()


def digest_of(data: bytes) -> str:
    """What a manifest says of an image."""
    if not has("tree"):
        return digest(data)
    size = int(AXES["piece"])
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return digest(b"".join(bytes.fromhex(digest(one)) for one in pieces))


def trailer(data: bytes) -> bytes:
    """What stands at the end of a slot with this image, where that is asked for."""
    crc = zlib.crc32(data)
    return AXES["mark"].encode() + struct.pack(f"{_ORDER}II", len(data), crc)


def packed(data: bytes) -> bytes:
    kind = AXES["packing"]
    if kind == "gzip":
        return gzip.compress(data, 1, mtime=0)
    if kind == "xz":
        return lzma.compress(data, preset=0)
    return bz2.compress(data, 1) if kind == "bzip2" else data


def delta(base: bytes, result: bytes) -> bytes:
    """How `result` is made of `base`: what stands somewhere in it in pieces of 512 is copied."""
    places = {base[at : at + 512]: at for at in range(len(base) - 512, -1, -512)}
    made, at, fresh = b"", 0, b""

    def insert() -> bytes:
        return b"I" + struct.pack(f"{_ORDER}I", len(fresh)) + fresh if fresh else b""

    while at < len(result):
        piece = result[at : at + 512]
        if len(piece) == 512 and piece in places:
            start = places[piece]
            length = 512
            while (
                at + length < len(result)
                and start + length < len(base)
                and result[at + length] == base[start + length]
            ):
                length += 1
            made += insert() + b"C" + struct.pack(f"{_ORDER}II", start, length)
            fresh, at = b"", at + length
        else:
            fresh, at = fresh + piece, at + len(piece)
    return made + insert()


def manifest(fields: dict[str, str]) -> bytes:
    form = AXES["manifest"]
    if form == "json":
        return json.dumps(fields).encode()
    if form == "tlv":
        return b"".join(
            bytes([len(key)]) + key.encode() + struct.pack(f"{_ORDER}H", len(value))
            + value.encode()
            for key, value in fields.items()
        )  # fmt: skip
    sign = "=" if form == "lines" else " = "
    head = "" if form == "lines" else f"[{WORD}]\n"
    return (head + "".join(f"{key}{sign}{value}\n" for key, value in fields.items())).encode()


def container(told: bytes, signature: bytes, payload: bytes) -> bytes:
    magic, form = AXES["magic"].encode(), AXES["container"]
    parts = (told, signature, payload)
    if form == "binary":
        return magic + struct.pack(f"{_ORDER}III", *map(len, parts)) + b"".join(parts)
    if form == "line":
        return magic + b" %d %d %d\n" % tuple(map(len, parts)) + b"".join(parts)
    if form == "behind":
        ends = struct.pack(f"{_ORDER}III", len(payload), len(told), len(signature)) + magic
        return payload + told + signature + ends
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in zip(("manifest", "signature", "payload"), parts, strict=True):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


def encoded(signature: bytes) -> bytes:
    kind = AXES["encoded"]
    if kind == "hex":
        return signature.hex().encode()
    return base64.b64encode(signature) if kind == "base64" else signature


@dataclass
class Vendor:
    """Who signs: `keys` by name, `main` the first of them; `secret` enciphers."""

    keys: dict[str, Key]
    secret: bytes
    signer: str = "main"

    def payload(self, one: Version, base: Version | None) -> tuple[bytes, dict[str, str]]:
        """The payload, and what the manifest says of how it was made."""
        data = delta(base.image, one.image) if base else one.image
        data, told = packed(data), {"base": base.version} if base else {}
        if has("enciphered"):
            iv = secrets.token_bytes(16)
            told["iv"] = iv.hex()
            data = Cipher(algorithms.AES(self.secret), modes.CTR(iv)).encryptor().update(data)
        return data, told

    def bundle(
        self,
        one: Version,
        *,
        fields: dict[str, str] | None = None,
        without: tuple[str, ...] = (),
        payload: bytes | None = None,
        base: Version | None = None,
        signs: tuple[Key, ...] | None = None,
        signed: bytes | None = None,
    ) -> bytes:
        """A bundle; `fields` in place of what its manifest would say, `payload` in place of its
        payload, `signs` in place of those who sign, `signed` what they sign in place of it."""
        data, how = self.payload(one, base)
        told = {
            "version": one.version, "size": str(len(one.image)), "digest": digest_of(one.image),
        } | one.more | how  # fmt: skip
        if has("keyring"):
            told["signer"] = self.signer
        if one.next_key:
            told["next_key"] = one.next_key.der64()
        told = {key: v for key, v in (told | (fields or {})).items() if key not in without}
        text = manifest(told)
        return container(text, self.signature(text, signs, signed), payload or data)

    def signature(
        self, text: bytes, signs: tuple[Key, ...] | None = None, signed: bytes | None = None
    ) -> bytes:
        said = text if signed is None else signed
        if has("context") and signed is None:
            said = AXES["prefix"].encode() + b"\0" + said
        if not signs:
            signs = (self.keys[self.signer if has("keyring") else "main"],)
            signs += (self.keys["second"],) if has("two-signatures") else ()
        made = [encoded(key.sign(said)) for key in signs]
        if has("two-signatures"):
            made = [struct.pack(f"{_ORDER}H", len(one)) + one for one in made]
        return b"".join(made)
