"""The file systems of a sandbox.

Two steps, because the ids inside may not walk the caller's directories. What the sandbox is made
of is opened while the helper still is the caller, and `stage` shows it under short paths on a
private tmpfs. `build` runs as process 1 and puts the root together from them.
"""

# pathlib would cost every sandbox some milliseconds of its start
# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH114, PTH116, PTH119, PTH123, PTH211

from __future__ import annotations

import os
import stat

from benchflow.sandbox.inside import kernel_calls
from benchflow.sandbox.inside.wire import Message

STAGE = "/tmp"  # any directory that exists everywhere; a private tmpfs is laid over it
ROOT = f"{STAGE}/root"
STATE = f"{STAGE}/state"
NODES = f"{STAGE}/dev"
INERT = f"{STAGE}/inert"
CONSOLE = f"{INERT}/console"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
OPTIONAL_DEVICES = ("fuse", "net/tun")
LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
    "core": "/proc/kcore",
}


def open_sources(spec: Message) -> list[int]:
    """Open what will be shown, in the present mount namespace and with the caller's rights."""
    kernel_calls.mount("none", "/", "", kernel_calls.MS_REC | kernel_calls.MS_PRIVATE)
    paths = [*spec["layers"], spec["state"], *(item["host"] for item in spec["mounts"])]
    return [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in paths]


def stage(spec: Message, sources: list[int]) -> None:
    """Show the opened sources under the names that `build` uses."""
    names = [f"{STAGE}/l{number}" for number in range(len(spec["layers"]))] + [STATE]
    names += [f"{STAGE}/m{number}" for number in range(len(spec["mounts"]))]
    kernel_calls.mount("tmpfs", STAGE, "tmpfs", kernel_calls.MS_NOSUID, "mode=0755")
    os.mkdir(ROOT)
    for source, name in zip(sources, names, strict=True):
        if stat.S_ISDIR(os.fstat(source).st_mode):
            os.mkdir(name)
        else:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
        kernel_calls.mount(f"/proc/self/fd/{source}", name, "", kernel_calls.MS_BIND)
        os.close(source)
    if spec["privileged"]:
        devices = (*OPTIONAL_DEVICES, *spec["devices"])
        _own_nodes(devices, *spec["root_ids"])
        _open_devices(devices)


def _open_devices(devices: tuple[str, ...]) -> None:
    """Let the ids inside open the optional devices where udev did not (mode 0666 is what systemd
    gives both): nodes of our own, seen by this sandbox alone."""
    for name in devices:
        device = f"/dev/{name}"
        if not os.path.exists(device) or os.stat(device).st_mode & 0o006 == 0o006:
            continue
        node = f"{STAGE}/{os.path.basename(name)}"
        try:
            os.mknod(node, stat.S_IFCHR | 0o666, os.stat(device).st_rdev)
        except PermissionError:  # root without CAP_MKNOD: the sandbox has no such device, then
            continue
        os.chmod(node, 0o666)
        kernel_calls.mount(node, device, "", kernel_calls.MS_BIND)


def _own_nodes(devices: tuple[str, ...], uid: int, gid: int) -> None:
    """Make the sandbox's device nodes, as the host's root may: they belong to the sandbox's root,
    so that what copies or unpacks them can set owner, mode and time, too.

    The console is there to be seen and copied, not to be opened: it lies on a file system without
    devices, and the kernel locks that flag when the mount goes into the user namespace.
    """
    os.mkdir(NODES)
    kernel_calls.mount(
        "tmpfs",
        NODES,
        "tmpfs",
        kernel_calls.MS_NOSUID | kernel_calls.MS_NOEXEC,
        "mode=0755,size=64k",
    )
    nodes = [(f"{NODES}/{name}", 0o666, f"/dev/{name}") for name in DEVICES]
    os.mkdir(f"{NODES}/net")
    for name in devices:
        if os.path.exists(f"/dev/{name}"):
            nodes.append((f"{NODES}/{name}", 0o666, f"/dev/{name}"))
    for path, mode, like in nodes:
        os.mknod(path, stat.S_IFCHR | mode, os.stat(like).st_rdev)
        os.chmod(path, mode)
    os.mkdir(INERT)
    flags = kernel_calls.MS_NOSUID | kernel_calls.MS_NODEV | kernel_calls.MS_NOEXEC
    kernel_calls.mount("tmpfs", INERT, "tmpfs", flags, "mode=0755,size=64k")
    os.mknod(CONSOLE, stat.S_IFCHR | 0o600, os.makedev(5, 1))
    for path in (NODES, f"{NODES}/net", CONSOLE, *(node[0] for node in nodes)):
        os.chown(path, uid, gid)


def prepare_upper() -> None:
    """Make the sandbox's writable layer, owned by its own root."""
    for name in ("upper", "work", "empty"):
        os.makedirs(f"{STATE}/{name}", mode=0o755, exist_ok=True)


def build(spec: Message) -> int:
    """Put the root together and make it `/`. Returns a /proc that only its holder sees."""
    options = f"lowerdir={_lower(spec)},upperdir={STATE}/upper,workdir={STATE}/work,userxattr"
    kernel_calls.mount("overlay", ROOT, "overlay", 0, options)
    for name in ("proc", "sys", "dev", "tmp", "run", "etc"):
        os.makedirs(f"{ROOT}/{name}", exist_ok=True)
    hidden = kernel_calls.MS_NOSUID | kernel_calls.MS_NODEV | kernel_calls.MS_NOEXEC
    # Over the one that all see, root inside may mount whatever it likes: no part of that is proof.
    kernel_calls.mount("proc", f"{ROOT}/proc", "proc", hidden)
    own = os.open(f"{ROOT}/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    kernel_calls.unmount(f"{ROOT}/proc")
    kernel_calls.mount("proc", f"{ROOT}/proc", "proc", hidden)
    kernel_calls.mount("sysfs", f"{ROOT}/sys", "sysfs", hidden | kernel_calls.MS_RDONLY)
    _devices(spec)
    for number, item in enumerate(spec["mounts"]):
        _bind(f"{STAGE}/m{number}", item["inside"], item["read_only"])
    _pivot()
    os.chmod("/tmp", 0o1777)
    return own


def build_files(spec: Message) -> None:
    """Make what a sandbox left `/`, to be read: no directory need be what it was at a start."""
    options = f"lowerdir={STATE}/upper:{_lower(spec)},userxattr"
    kernel_calls.mount("overlay", ROOT, "overlay", kernel_calls.MS_RDONLY, options)
    _pivot()


def _lower(spec: Message) -> str:
    return ":".join(f"{STAGE}/l{number}" for number in reversed(range(len(spec["layers"]))))


def _pivot() -> None:
    os.chdir(ROOT)
    kernel_calls.pivot_root(".", ".")
    kernel_calls.unmount(".")
    os.chdir("/")


def _devices(spec: Message) -> None:
    dev = f"{ROOT}/dev"
    if os.path.isdir(NODES):
        kernel_calls.mount(NODES, dev, "", kernel_calls.MS_BIND)
        _show(CONSOLE, f"{dev}/console")
    else:
        flags = kernel_calls.MS_NOSUID | kernel_calls.MS_NOEXEC
        kernel_calls.mount("tmpfs", dev, "tmpfs", flags, "mode=0755,size=64k")
        os.mkdir(f"{dev}/net")
        for name in (*DEVICES, *OPTIONAL_DEVICES, *spec["devices"]):
            if os.path.exists(f"/dev/{name}"):
                _show(f"/dev/{name}", f"{dev}/{name}")
    for name, target in LINKS.items():
        os.symlink(target, f"{dev}/{name}")
    for name, kind, data in (
        ("pts", "devpts", "newinstance,ptmxmode=0666,mode=620,gid=5"),
        ("shm", "tmpfs", f"mode=1777,size={spec['shm']}"),
        ("mqueue", "mqueue", ""),
    ):
        os.mkdir(f"{dev}/{name}")
        flags = kernel_calls.MS_NOSUID | kernel_calls.MS_NOEXEC
        kernel_calls.mount(
            kind, f"{dev}/{name}", kind, flags | kernel_calls.MS_NODEV * (name != "pts"), data
        )


def _show(node: str, place: str) -> None:
    os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
    kernel_calls.mount(node, place, "", kernel_calls.MS_BIND)


def _bind(source: str, inside: str, read_only: bool) -> None:
    """Mount one staged source. The image is read from nobody's hands but the task author's, but a
    symlink in it must still not lead a mount out of the root."""
    target = _inside_root(inside, directory=os.path.isdir(source))
    if not read_only:
        kernel_calls.mount(source, target, "", kernel_calls.MS_BIND)
    elif os.path.isdir(source):
        # An overlay without an upper layer stays read-only whatever root inside tries; a
        # read-only bind mount could be remounted.
        options = f"lowerdir={source}:{STATE}/empty,userxattr"
        kernel_calls.mount("overlay", target, "overlay", kernel_calls.MS_RDONLY, options)
    else:
        with open(source, "rb") as reader, open(target, "wb") as writer:
            while chunk := reader.read(1 << 20):
                writer.write(chunk)


def _inside_root(inside: str, *, directory: bool) -> str:
    here = ROOT
    parts = [part for part in inside.split("/") if part not in ("", ".")]
    for number, part in enumerate(parts):
        here = f"{here}/{part}"
        last = number == len(parts) - 1
        if part == ".." or os.path.islink(here):
            raise ValueError(f"mount point {inside!r} goes through a symlink or '..'")
        if os.path.lexists(here):
            continue
        if directory or not last:
            os.mkdir(here)
        else:
            os.close(os.open(here, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
    return here
