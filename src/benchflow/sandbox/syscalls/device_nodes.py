"""What the supervisor does in a sandbox's own mount namespace: device nodes, sysfs, devtmpfs.

Every function here runs in a short-lived child of the supervisor that has entered the mount
namespace and the root directory of the *calling* process, with the rights of the sandbox's
root and no others. Paths come from hostile memory: they are resolved once, never through
`/proc` magic links, and everything acts on the descriptor that came out.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# (major, minor) of the character devices that hold no state of the host's: memory devices 1:*
# and the two that stand for the opener's own terminal (Documentation/admin-guide/devices.txt).
SAFE_DEVICES = {
    (1, 3): "null",
    (1, 5): "zero",
    (1, 7): "full",
    (1, 8): "random",
    (1, 9): "urandom",
    (5, 0): "tty",
    (5, 1): "console",
    (5, 2): "ptmx",
}
ANSWERED_FILESYSTEMS = ("sysfs", "devtmpfs")

_OPEN_TREE, _MOVE_MOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 437, 442
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_F_EMPTY, _MOVE_T_EMPTY = 1, 0x4, 0x40
_RESOLVE_NO_MAGICLINKS = 0x2
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NOEXEC = 0x1, 0x2, 0x8
_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8

_libc = ctypes.CDLL(None, use_errno=True)


def _syscall(name: str, number: int, *args: int | bytes | None) -> int:
    wrapped = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    result: int = _libc.syscall(ctypes.c_long(number), *wrapped)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def open_path(path: bytes, flags: int, at: int = _AT_FDCWD, mode: int = 0) -> int:
    """openat2 without magic links: `/proc/self/…` would mean this process, not the caller."""
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, mode, _RESOLVE_NO_MAGICLINKS)
    return _syscall("openat2", _OPENAT2, at, path, how, len(how))


def clone_tree(path: bytes) -> int:
    """A detached copy of the mount at `path`, to be attached elsewhere.

    Alone if the kernel lets us, so that one plain umount removes it again; with the mounts
    below it where they hide something that the copy must not show.
    """
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC
    try:
        return _syscall("open_tree", _OPEN_TREE, _AT_FDCWD, path, flags)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return _syscall("open_tree", _OPEN_TREE, _AT_FDCWD, path, flags | _AT_RECURSIVE)


def attach(tree: int, target: int) -> None:
    """Put a detached tree over the file or directory that `target` (O_PATH) is."""
    _syscall("move_mount", _MOVE_MOUNT, tree, b"", target, b"", _MOVE_F_EMPTY | _MOVE_T_EMPTY)


def make_read_only(tree: int) -> None:
    attributes = _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NOEXEC
    what = struct.pack("=QQQQ", attributes, 0, 0, 0)
    flags = _AT_EMPTY_PATH | _AT_RECURSIVE
    _syscall("mount_setattr", _MOUNT_SETATTR, tree, b"", flags, what, len(what))


def _split(path: bytes) -> tuple[bytes, bytes]:
    parent, _, name = path.rstrip(b"/").rpartition(b"/")
    if path.startswith(b"/") and not parent:
        parent = b"/"
    if not name or name in (b".", b".."):
        raise OSError(errno.EEXIST, "not a new name")
    return parent or b".", name


def device_source(number: int) -> bytes | None:
    """The sandbox's own node for a device number; None when it is not one of the safe ones."""
    name = SAFE_DEVICES.get((os.major(number), os.minor(number)))
    return None if name is None else b"/dev/" + name.encode()


def check_device(tree: int, number: int) -> None:
    """The sandbox's root may have put anything over its own /dev: look again at what we hold."""
    status = os.fstat(tree)
    if not stat.S_ISCHR(status.st_mode) or status.st_rdev != number:
        raise OSError(errno.EPERM, "the sandbox's own node is not that device")


def bind_device(tree: int, at: int, path: bytes) -> None:
    """Answer mknod: an empty file where the caller wants the node, the device over it."""
    parent, name = _split(path)
    directory = open_path(parent, os.O_PATH | os.O_DIRECTORY, at)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(name, flags, 0o600, dir_fd=directory))
    try:
        target = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        attach(tree, target)
    except OSError:
        os.unlink(name, dir_fd=directory)
        raise


def bind_filesystem(tree: int, path: bytes) -> None:
    """Answer mount of sysfs or devtmpfs: the sandbox's own /sys (read-only) or /dev."""
    attach(tree, open_path(path, os.O_PATH | os.O_DIRECTORY))


def uncover(at: int, path: bytes) -> None:
    """Before a removal: take one of our devices off its placeholder, so that the name can go.

    The kernel refuses to unlink what is a mount point in the caller's own namespace; a real
    device node it would remove. Does nothing unless a safe device is mounted right there.
    """
    parent, name = _split(path)
    directory = open_path(parent, os.O_PATH | os.O_DIRECTORY, at)
    node = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    status = os.fstat(node)
    if not stat.S_ISCHR(status.st_mode) or device_source(status.st_rdev) is None:
        return
    if status.st_dev == os.fstat(directory).st_dev:
        return
    os.fchdir(directory)
    if _libc.umount2(name, _MNT_DETACH | _UMOUNT_NOFOLLOW) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"umount: {os.strerror(code)}")


def enter(mount_namespace: int, root: int, directory: int | None) -> None:
    """Stand where the calling process stands: its mounts, its root, its directory."""
    os.setns(mount_namespace, os.CLONE_NEWNS)
    os.fchdir(root)
    os.chroot(".")
    os.fchdir(directory if directory is not None else root)


def in_child(action: Callable[[], None]) -> int:
    """Fork, do it, exit with its errno (0: done). Returns the child's pid."""
    pid = os.fork()
    if pid:
        return pid
    code = errno.EPERM
    try:
        action()
        code = 0
    except OSError as error:
        code = error.errno or errno.EPERM
    finally:
        os._exit(code)
