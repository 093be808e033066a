"""Make an SSH server prove that it holds a host key: one key exchange, checked, no login.

Curve25519 after RFC 7748, the exchange after RFC 4253 and RFC 8731; in Python because no SSH
client ends after the exchange.
"""

import base64
import hashlib
import secrets
import socket
import struct
from typing import BinaryIO

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from benchflow.boot.inspect import ed25519

CLIENT = b"SSH-2.0-benchflow"
KEXINIT, ECDH_INIT, ECDH_REPLY = 20, 30, 31


class NoProof(AssertionError):
    """What answered is no SSH server, or not the one with this key."""


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _take(data: bytes, at: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from(">I", data, at)
    return data[at + 4 : at + 4 + length], at + 4 + length


def _send(connection: socket.socket, payload: bytes) -> None:
    padding = 8 - (len(payload) + 5) % 8
    padding += 8 if padding < 4 else 0
    head = struct.pack(">IB", len(payload) + padding + 1, padding)
    connection.sendall(head + payload + bytes(padding))


def _receive(stream: "BinaryIO") -> bytes:
    head = stream.read(5)
    if head is None or len(head) != 5:
        raise NoProof("the connection ended during the key exchange")
    length, padding = struct.unpack(">IB", head)
    if not padding < length <= 35_000:
        raise NoProof("a packet of an impossible size")
    body = stream.read(length - 1)
    if body is None or len(body) != length - 1:
        raise NoProof("the connection ended within a packet")
    return body[: length - 1 - padding]


def prove_host_key(address: tuple[str, int], public_key: str, timeout: float = 60.0) -> None:
    """Raise NoProof unless the server at `address` signs a fresh exchange with `public_key`."""
    with socket.create_connection(address, timeout) as connection:
        connection.settimeout(timeout)
        try:
            _exchange(connection, base64.b64decode(public_key.split()[1]))
        except (OSError, struct.error, IndexError) as error:
            raise NoProof(f"no SSH key exchange: {error!r}") from None


def _shared(private: X25519PrivateKey, point: bytes) -> bytes:
    """The shared point. NoProof for a point of small order or another length (RFC 8731, 3)."""
    try:
        return private.exchange(X25519PublicKey.from_public_bytes(point))
    except ValueError as error:
        raise NoProof(f"no point of Curve25519: {error}") from None


def _exchange(connection: socket.socket, expected: bytes) -> None:
    stream = connection.makefile("rb")
    server = stream.readline(256).rstrip(b"\r\n")
    if not server.startswith(b"SSH-2.0-"):
        raise NoProof(f"no SSH server: {server[:60]!r}")
    connection.sendall(CLIENT + b"\r\n")
    lists = [b"curve25519-sha256", b"ssh-ed25519"]
    lists += [b"aes128-ctr"] * 2 + [b"hmac-sha2-256"] * 2 + [b"none"] * 2 + [b""] * 2
    mine = bytes([KEXINIT]) + secrets.token_bytes(16) + b"".join(map(_string, lists)) + bytes(5)
    _send(connection, mine)
    theirs = _receive(stream)
    private = X25519PrivateKey.generate()
    public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    _send(connection, bytes([ECDH_INIT]) + _string(public))
    reply = _receive(stream)
    if theirs[0] != KEXINIT or reply[0] != ECDH_REPLY:
        raise NoProof("not the key exchange that was asked for")
    host_key, at = _take(reply, 1)
    their_public, at = _take(reply, at)
    signature, _ = _take(_take(reply, at)[0], 4 + len(b"ssh-ed25519"))
    if host_key != expected:
        raise NoProof("another host key")
    shared = _shared(private, their_public).lstrip(b"\0")
    shared = b"\0" + shared if shared[:1] >= b"\x80" else shared
    parts = [CLIENT, server, mine, theirs, host_key, public, their_public, shared]
    digest = hashlib.sha256(b"".join(map(_string, parts))).digest()
    if not ed25519.verify(_take(host_key, 4 + len(b"ssh-ed25519"))[0], digest, signature):
        raise NoProof("the signature of the key exchange is wrong")
