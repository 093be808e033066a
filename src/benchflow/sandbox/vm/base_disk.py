"""The disk that machines start from: a task's image as an ext4 file system, with systemd and the
kernel's modules beside it. Made once and kept; each machine writes to an overlay of its own."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchflow.base.home import home
from benchflow.errors import InfrastructureError, MissingTool, TaskError
from benchflow.sandbox import idmap, userns
from benchflow.sandbox.model import Image, Mount
from benchflow.sandbox.namespace import Sandbox
from benchflow.sandbox.vm import room_image

_FORMAT = "1"
#: MiB that a program in a machine may write where its task does not say.
DEFAULT_DISK_MB = 20_480
#: What ext4 takes for itself, of each file system and for each thing in it.
_OWN_MB, _OWN_SHARE = 96, 1.15
_MODULES = "/run/benchflow-modules"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#: Brings what a machine has and an image has not. No trace of apt's lists or archives is left.
_INSTALL = f"""set -eu
fetch() {{
    lists=$(mktemp -d) && mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial"
    set -- -q -y -o APT::Sandbox::User=root -o Dir::State::lists="$lists/lists" \
        -o Dir::Cache="$lists/cache" --no-install-recommends -- "$@"
    DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND
    apt-get -q -o APT::Sandbox::User=root -o Dir::State::lists="$lists/lists" \
        -o Dir::Cache="$lists/cache" update
    apt-get install "$@"
    rm -rf "$lists"
}}
if command -v apt-get >/dev/null; then
    missing=
    [ -x /lib/systemd/systemd ] || missing="systemd-sysv"
    [ -x /sbin/init ] || missing="systemd-sysv"
    [ -x /lib/systemd/systemd-udevd ] || missing="$missing udev"
    command -v kmod >/dev/null || missing="$missing kmod"
    [ -e /usr/bin/dbus-daemon ] || missing="$missing dbus"
    [ -z "$missing" ] || fetch $missing
fi
mkdir -p /lib/modules
cp -a {_MODULES}/. /lib/modules/
chown -R 0:0 /lib/modules
rm -f /etc/machine-id /var/lib/dbus/machine-id
"""

#: $1 megabytes; the layers are /mnt/l0, /mnt/l1 …, in that order.
_PACK = """set -eu
lower=
for n in $(seq 0 $(($2 - 1))); do lower=/mnt/l$n${lower:+:$lower}; done
mount -t tmpfs tmpfs /tmp && mkdir /tmp/tree
mount -t overlay overlay -o ro,userxattr,lowerdir=$lower /tmp/tree
used=$(du -sm /tmp/tree | cut -f1)
files=$(find /tmp/tree -xdev | wc -l)
size=$(awk "BEGIN { print int($used * $3 + $4 + $1) }")
inodes=$((files + 16384 + size * 32))
mke2fs -q -F -t ext4 -L benchflow -m 0 -N "$inodes" -J size=16 \
    -E lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0 \
    -d /tmp/tree /mnt/out/disk.raw "${size}M"
"""

OnProgress = Callable[[str], None]


def _folder() -> Path:
    path = home() / "machines"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def base_disk(
    image: Image, room: Image, disk_mb: int | None, on_progress: OnProgress | None = None
) -> Path:
    """The folder with the `disk.raw` of `image`, of which `disk_mb` are free. Raises TaskError
    where the image cannot become a machine, InfrastructureError where we cannot make it."""
    free = disk_mb or DEFAULT_DISK_MB
    parts = (_FORMAT, image.digest, room.digest, _INSTALL, _PACK, str(free))
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    place = _folder() / key
    if (place / "disk.raw").is_file():
        return place
    with _turn(key):
        if not (place / "disk.raw").is_file():
            _make(image, room, free, place, on_progress or (lambda line: None))
    return place


@contextmanager
def _turn(key: str) -> Iterator[None]:
    with (_folder() / f"{key}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(image: Image, room: Image, free: int, place: Path, progress: OnProgress) -> None:
    if shutil.which("mke2fs", path=_PATH) is None:
        raise MissingTool("mke2fs is not installed", hint="apt-get install e2fsprogs")
    draft = place.with_name(f".{place.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o755)
    draft.chmod(0o777)  # the sandbox's ids make their file in it
    modules = Mount(room_image.modules_of(room), _MODULES)
    progress("installing systemd beside the image")
    with Sandbox.start(image, network="user", mounts=[modules]) as box:
        done = box.exec(["/bin/sh", "-c", _INSTALL], user="root", cwd="/", timeout=1800)
        if done.status:
            raise _not_installed(done.text[-300:] + done.error_text[-700:], done.status)
        box.kill()
        progress("making the machine's disk")
        _pack([*image.layers, box.state / "fs" / "upper"], free, draft)
    draft.chmod(0o755)
    draft.rename(place)


def _not_installed(said: str, status: int) -> Exception:
    if status == 127:
        return TaskError(
            "the image has no /bin/sh: it cannot become a machine",
            hint="start the Dockerfile from an image with a shell",
        )
    return InfrastructureError(
        f"systemd could not be installed beside the image (status {status}):\n{said.strip()}",
        hint="check `apt-get update`; or install systemd-sysv, udev and kmod in the Dockerfile",
    )


def _pack(layers: list[Path], free: int, out: Path) -> None:
    shown = {f"l{number}": layer for number, layer in enumerate(layers)}
    arguments = [str(free), str(len(layers)), str(_OWN_SHARE), str(_OWN_MB)]
    userns.check(
        ["sh", "-c", _PACK, "sh", *arguments],
        idmap.current(),
        what="making the machine's disk",
        shown={**shown, "out": out},
        env={"PATH": _PATH, "TMPDIR": "/mnt/out"},
    )
