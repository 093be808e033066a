"""Keeps the user-mode network away from the host itself.

slirp4netns turns what a sandbox sends into sockets of the host. `--disable-host-loopback` closes
10.0.2.2; a service that listens on all of the host's addresses could still be reached by one of
them, and so could a cloud's metadata service. Here each address that slirp4netns is about to talk
to is looked at first, by seccomp notification: it is trusted, single-threaded and stopped
meanwhile, so that what was read is what the kernel will use.
"""

from __future__ import annotations

import _socket as socket
import errno
import os
import select
import struct

from benchflow.sandbox.inside import kernel_calls
from benchflow.sandbox.syscalls import seccomp_notify

_LISTENER = 8  # SECCOMP_FILTER_FLAG_NEW_LISTENER
_CALLS = {
    "x86_64": {"connect": 42, "sendto": 44, "sendmsg": 46, "sendmmsg": 307},
    "aarch64": {"connect": 203, "sendto": 206, "sendmsg": 211, "sendmmsg": 269},
    "riscv64": {"connect": 203, "sendto": 206, "sendmsg": 211, "sendmmsg": 269},
}[os.uname().machine]
_NAMES = {number: name for name, number in _CALLS.items()}
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_NUMBER, _FIRST_ARGUMENT = 0, 16
_DNS = 53
_MAPPED = bytes(10) + b"\xff\xff"  # an IPv4 address in IPv6's clothes


def install(exempt: int) -> int:
    """Stop this process's sends and connects from now on, but for sendmsg on the descriptor
    `exempt`, which carries the returned listener away."""
    program = [
        (_LOAD, _NUMBER, 0, 0),
        (_EQUAL, _CALLS["sendmsg"], 0, 3),
        (_LOAD, _FIRST_ARGUMENT, 0, 0),
        (_EQUAL, exempt, 5, 0),
        (_RETURN, _NOTIFY, 0, 0),
        (_EQUAL, _CALLS["connect"], 2, 0),
        (_EQUAL, _CALLS["sendto"], 1, 0),
        (_EQUAL, _CALLS["sendmmsg"], 0, 1),
        (_RETURN, _NOTIFY, 0, 0),
        (_RETURN, _ALLOW, 0, 0),
    ]
    code = b"".join(struct.pack("=HBBI", op, yes, no, value) for op, value, yes, no in program)
    return kernel_calls.seccomp(code, _LISTENER)


def serve(listener: int) -> None:
    """Answer until the guarded process is gone."""
    servers = _name_servers()
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    while True:
        for _fd, events in poller.poll():
            if events & select.POLLIN:
                _answer(listener, servers)
            elif events & (select.POLLHUP | select.POLLERR):
                return


def _answer(listener: int, servers: set[str]) -> None:
    stopped = seccomp_notify.receive(listener)
    if stopped is None:
        return
    try:
        allowed = all(_allowed(raw, servers) for raw in _addresses(stopped))
    except OSError:  # it died, or handed us a bad pointer: the kernel will say so
        allowed = True
    if not seccomp_notify.still_waiting(listener, stopped):
        return
    if allowed:
        seccomp_notify.let_kernel_decide(listener, stopped)
    else:
        seccomp_notify.answer(listener, stopped, errno.ECONNREFUSED)


def _addresses(stopped: seccomp_notify.Notification) -> list[bytes]:
    """The socket addresses that a stopped call names."""
    name, args = _NAMES.get(stopped.number, ""), stopped.args
    memory = os.open(f"/proc/{stopped.pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if name == "connect":
            places = [(args[1], args[2])]
        elif name == "sendto":
            places = [(args[4], args[5])]
        else:
            count, size = (args[2], 64) if name == "sendmmsg" else (1, 56)
            headers = os.pread(memory, count * size, args[1])
            places = [struct.unpack_from("=QI", headers, size * item) for item in range(count)]
        return [os.pread(memory, min(length, 128), place) for place, length in places if place]
    finally:
        os.close(memory)


def _allowed(raw: bytes, servers: set[str]) -> bool:
    if len(raw) < 8:
        return True
    (family,) = struct.unpack_from("=H", raw)
    (port,) = struct.unpack_from("!H", raw, 2)
    if family == socket.AF_INET:
        packed = raw[4:8]
    elif family == socket.AF_INET6 and len(raw) >= 24:
        packed = raw[8:24]
    else:
        return True
    address = socket.inet_ntop(family, packed)
    if port == _DNS and address in servers:
        return True
    return not (_link_local(packed) or _local(family, address))


def _link_local(packed: bytes) -> bool:
    if packed.startswith(_MAPPED):
        packed = packed[len(_MAPPED) :]
    return packed[:2] == b"\xa9\xfe" or (packed[0] == 0xFE and packed[1] & 0xC0 == 0x80)


def _local(family: int, address: str) -> bool:
    """Whether the host itself answers to this address: then, and only then, it can be bound."""
    probe = socket.socket(family, socket.SOCK_DGRAM)
    try:
        probe.bind((address, 0))
    except OSError:
        return False
    finally:
        probe.close()
    return True


def _name_servers() -> set[str]:
    with open("/etc/resolv.conf", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        lines = [line.split() for line in file]
    return {line[1] for line in lines if len(line) > 1 and line[0] == "nameserver"}
