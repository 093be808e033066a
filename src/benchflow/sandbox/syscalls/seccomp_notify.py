"""Seccomp user notification: the filter, and the three ioctls of its listener.

A process that `install()`s the filter has a few rare system calls (the making of device nodes,
mounts of new file systems, removal of a name) stopped until the holder of the listener answers.
Everything else runs at full speed. The filter is not a fence: whatever the holder does not
answer itself is handed back to the kernel, which applies its own rules.

The ABI is seccomp_unotify(2); programs are classic BPF as in linux/filter.h. Only the standard
library is used, and little of it: this is imported at the start of every sandbox.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct

SYS_SECCOMP = {"x86_64": 317, "aarch64": 277, "riscv64": 277}

# AUDIT_ARCH_* of linux/audit.h: what seccomp_data.arch says.
X86_64, I386, AARCH64, ARM, RISCV64 = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028, 0xC00000F3
_X32 = 0x40000000

# Names of the calls that are stopped, by architecture and number.
CALLS: dict[int, dict[int, str]] = {
    X86_64: {133: "mknod", 259: "mknodat", 165: "mount", 87: "unlink", 263: "unlinkat"},
    I386: {14: "mknod", 297: "mknodat", 21: "mount", 10: "unlink", 301: "unlinkat"},
    AARCH64: {33: "mknodat", 40: "mount", 35: "unlinkat"},
    ARM: {14: "mknod", 324: "mknodat", 21: "mount", 10: "unlink", 328: "unlinkat"},
    RISCV64: {33: "mknodat", 40: "mount", 35: "unlinkat"},
}
_FSOPEN = 430  # one number on every architecture since Linux 5.2

_RET_ALLOW, _RET_NOTIFY, _RET_ERRNO = 0x7FFF0000, 0x7FC00000, 0x00050000
_LOAD, _JUMP_EQUAL, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_OFFSET_NR, _OFFSET_ARCH, _OFFSET_ARGS = 0, 4, 16

# Calls that the kernel is left alone with: (argument, bits) of which one set bit means "allow".
# mount: MS_REMOUNT, MS_BIND, MS_MOVE and the changes of propagation; unlinkat: AT_REMOVEDIR.
_PASS_IF_SET = {"mount": (3, 0x20 | 0x1000 | 0x2000 | 0x1E0000), "unlinkat": (2, 0x200)}
# Calls that are stopped only if one of these bits is set. mknod: the bit that only character
# and block devices (and symlinks, which mknod refuses) have in their file type.
_STOP_IF_SET = {"mknod": (1, 0x2000), "mknodat": (2, 0x2000)}

_RECV, _SEND, _ID_VALID = 0xC0502100, 0xC0182101, 0x40082102
_SET_FLAGS = 0x40082104
_SYNC_WAKE_UP = 1
_CONTINUE = 1
_NOTIF = struct.Struct("=QIIiIQ6Q")
_RESPONSE = struct.Struct("=QqiI")

_libc = ctypes.CDLL(None, use_errno=True)


class Notification:
    """One stopped system call. `pid` is the thread, as the listener's holder sees it."""

    __slots__ = ("args", "call", "id", "number", "pid")

    def __init__(
        self, cookie: int, pid: int, call: str, args: tuple[int, ...], number: int = -1
    ) -> None:
        self.id = cookie
        self.pid = pid
        self.call = call
        self.args = args
        self.number = number


def _statement(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _verdict(call: str) -> list[bytes]:
    """The tail of the program for one call, ending in a return on every path."""
    if call in _PASS_IF_SET:
        argument, bits = _PASS_IF_SET[call]
        on_set, otherwise = _RET_ALLOW, _RET_NOTIFY
    elif call in _STOP_IF_SET:
        argument, bits = _STOP_IF_SET[call]
        on_set, otherwise = _RET_NOTIFY, _RET_ALLOW
    else:
        return [_statement(_RETURN, _RET_NOTIFY)]
    return [
        _statement(_LOAD, _OFFSET_ARGS + 8 * argument),
        _statement(_JUMP_BITS, bits, 0, 1),
        _statement(_RETURN, on_set),
        _statement(_RETURN, otherwise),
    ]


def program() -> bytes:
    """The filter as classic BPF, the same for every architecture that Linux could enter here."""
    code: list[bytes] = [_statement(_LOAD, _OFFSET_ARCH)]
    for arch, calls in CALLS.items():
        block: list[bytes] = [_statement(_LOAD, _OFFSET_NR)]
        for number, call in calls.items():
            tail = _verdict(call)
            numbers = [number, number | _X32] if arch == X86_64 else [number]
            for candidate in numbers:
                block.append(_statement(_JUMP_EQUAL, candidate, 0, len(tail)))
                block += tail
        # The newer mount interface is answered "no such call": every tool falls back to
        # mount(2), whose arguments can be read in one piece.
        block.append(_statement(_JUMP_EQUAL, _FSOPEN, 0, 1))
        block.append(_statement(_RETURN, _RET_ERRNO | errno.ENOSYS))
        block.append(_statement(_RETURN, _RET_ALLOW))
        code.append(_statement(_JUMP_EQUAL, arch, 0, len(block)))
        code += block
    code.append(_statement(_RETURN, _RET_ALLOW))
    return b"".join(code)


def install() -> int:
    """Put the calling thread, and all it will ever start, under the filter.

    Returns the listener's descriptor (close-on-exec). Needs CAP_SYS_ADMIN in the caller's user
    namespace: `no_new_privs` is left alone, so that set-uid programs work in the sandbox.
    Raises OSError when the kernel refuses.
    """
    filter_bytes = program()
    buffer = ctypes.create_string_buffer(filter_bytes, len(filter_bytes))
    descriptor = struct.pack("@HP", len(filter_bytes) // 8, ctypes.addressof(buffer))
    set_mode_filter, new_listener = 1, 8
    fd: int = _libc.syscall(
        SYS_SECCOMP[os.uname().machine], set_mode_filter, new_listener, descriptor
    )
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"seccomp listener: {os.strerror(code)}")
    os.set_inheritable(fd, False)
    return fd


def prefer_same_cpu(listener: int) -> None:
    """Ask the kernel to wake this side on the caller's processor (Linux 6.6): half the delay."""
    try:
        fcntl.ioctl(listener, _SET_FLAGS, _SYNC_WAKE_UP)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTTY):
            raise


def receive(listener: int) -> Notification | None:
    """The next stopped call; None when its thread died before it could be read."""
    raw = bytearray(_NOTIF.size)
    try:
        fcntl.ioctl(listener, _RECV, raw)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINTR):
            return None
        raise
    notification_id, pid, _flags, number, arch, _ip, *args = _NOTIF.unpack(raw)
    call = CALLS.get(arch, {}).get(number & ~_X32 if arch == X86_64 else number, "")
    return Notification(notification_id, pid, call, tuple(args), number)


def still_waiting(listener: int, notification: Notification) -> bool:
    """Whether the thread still waits, so that its pid has not come to mean another process."""
    try:
        fcntl.ioctl(listener, _ID_VALID, struct.pack("=Q", notification.id))
    except OSError as error:
        if error.errno == errno.ENOENT:
            return False
        raise
    return True


def _send(listener: int, response: bytes) -> None:
    try:
        fcntl.ioctl(listener, _SEND, bytearray(response))
    except OSError as error:
        # The thread was killed meanwhile: there is nobody left to tell.
        if error.errno != errno.ENOENT:
            raise


def let_kernel_decide(listener: int, notification: Notification) -> None:
    """Run the call as if it had never been stopped."""
    _send(listener, _RESPONSE.pack(notification.id, 0, 0, _CONTINUE))


def answer(listener: int, notification: Notification, code: int = 0) -> None:
    """Return from the call: 0, or -1 with `errno` set to `code`."""
    _send(listener, _RESPONSE.pack(notification.id, 0, -code, 0))
