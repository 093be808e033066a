"""The customer's bench: where images are started, and the machines that build them."""

from __future__ import annotations

import hashlib
import random
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from kit import Kit

from benchflow.bench import rootfs_tree as rootfs
from benchflow.bench.rootfs_tree import Tree
from benchflow.boot import BadDeliverable, Disk, Machine

_ROOM_MB = 16
#: The folder itself, what lies there already (two files and a folder), OUTPUT, and one file more.
_INODES = 6
_STREAMS = {"": "", "output": " 2> /dev/null", "errors": " 2>&1 > /dev/null"}
#: What a path "of any form" may be made of; each machine has some of them.
_ODD = ("build kit", "it's", "a & b", "c;d", "[x]*", "-n", "$HOME", "%s {}", 'say "hi"', "b\\i",
        "#1", "~", "(e)", "f=g", "h!", "`i`")  # fmt: skip


def _machine(
    machines, name: str, bench: Path, tree: Tree, init: str, work: Path, **spec
) -> Machine:
    initrd = work / f"{name}.cpio"
    initrd.write_bytes(rootfs.initramfs(tree, spec.pop("mtimes", None)))
    return machines.create(
        name, firmware="direct", kernel=bench / "vmlinuz", initrd=initrd,
        append=f"console=ttyS0,115200 quiet loglevel=1 panic=-1 rdinit={init}", **spec,
    )  # fmt: skip


class Image:
    """An image, unpacked and started as the root file system of a plain kernel.

    Process 1 and the shell that we talk to are the bench's own static busybox, in a folder whose
    name, and those in it, no image can know: the image's programs run when they are called, and not
    before.
    """

    def __init__(
        self, machines, name: str, bench: Path, tree: Tree, configuration: dict,
        work: Path, scripts: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._config = configuration["config"]
        hidden = random.Random(secrets.randbits(64))
        words = ordinary_words(hidden, 3 + len(scripts or {}), tree)
        own, folder, init = words[:3]
        self._own, self._bin = f"/{own}", f"/{own}/{folder}"
        self._scripts = dict(zip(scripts or {}, words[3:], strict=True))
        busybox = (bench / "busybox").read_bytes()
        # Mount points that every run-time makes.
        whole = {path: rootfs.directory() for path in ("proc", "sys", "dev")}
        whole |= tree
        whole[own] = rootfs.directory()
        whole[f"{own}/{folder}"] = rootfs.directory()
        whole[f"{own}/busybox"] = rootfs.file(busybox, 0o755)
        for script, text in (scripts or {}).items():
            whole[f"{own}/{self._scripts[script]}"] = rootfs.file(text.encode(), 0o755)
        whole[f"{own}/{init}"] = rootfs.file(_image_init(own, folder).encode(), 0o755)
        self.machine = _machine(
            machines, name, bench, whole, f"/{own}/{init}", work, memory_mb=256, rng=False
        )

    def start(self) -> Image:
        """Boot it and take the bench's shell."""
        self.machine.boot()
        self.machine.attach()
        return self

    def bench(self, command: str, timeout: float = 60) -> str:
        """What the bench's own tools, as root, say of the image."""
        return self.machine.shell.run(command, timeout=timeout, check=True).stdout

    def root(self, command: str, timeout: float = 60):
        """A command of the image's own shell, as root, with the image's PATH."""
        line = f"cd /; env -i {self._env()} /bin/sh -c {quote(command)}"
        return self.machine.shell.run(line, timeout=timeout)

    def script(self, name: str, *words: str, user: bool = False, timeout: float = 120):
        """One of the bench's scripts, by the bench's own shell; its programs are the image's."""
        command = [f"{self._bin}/sh", f"{self._own}/{self._scripts[name]}", *words]
        if user:
            return self._user(command, timeout, "")
        line = f"cd /; env -i {self._env()} {' '.join(map(quote, command))}"
        return self.machine.shell.run(line, timeout=timeout)

    def entry(self, *words: str, timeout: float = 60, only: str = ""):
        """The entry point with these words, as the image's user, where the image says.

        `only`: "output" or "errors" to get that stream alone.
        """
        return self._user([*self._config["Entrypoint"], *words], timeout, only)

    def user(self, command: str, timeout: float = 60):
        """A command of the image's own shell, as the image's user."""
        return self._user(["/bin/sh", "-c", command], timeout, "")

    def bench_as_user(self, command: str, timeout: float = 60) -> str:
        """What the bench's own tools say when the image's user has them."""
        return self._user(
            [f"{self._bin}/sh", "-c", f"PATH={self._bin}; {command}"], timeout, ""
        ).stdout

    def _user(self, words: list[str], timeout: float, only: str):
        user, where = self._config["User"], self._config.get("WorkingDir", "/")
        if not re.fullmatch(r"\d+:\d+", user):
            raise BadDeliverable(f"the user {user!r}")
        # A pid file that is not there, or it would look for programs of that name.
        starter = f"{self._bin}/start-stop-daemon -S -q -p /none -c {user} -x {quote(words[0])} --"
        rest = " ".join(quote(word) for word in words[1:])
        line = f"cd {quote(where)} && env -i {self._env()} {starter} {rest}{_STREAMS[only]}"
        return self.machine.shell.run(line, timeout=timeout)

    def _env(self) -> str:
        return " ".join(quote(value) for value in self._config.get("Env", ()))


def ordinary_words(draw: random.Random, count: int, tree: Tree) -> list[str]:
    """Names such as any folder or file may have, none of them at the top of `tree`."""
    found: list[str] = []
    while len(found) < count:
        parts = "".join(
            draw.choice("bdfgklmnprstvz") + draw.choice("aeiou")
            for _ in range(draw.randrange(1, 4))
        )
        word = (
            draw.choice(("", "", "s", "x", "u"))
            + parts
            + draw.choice(("", "", "n", "rd", "s", "2", "64"))
        )
        if word not in tree and word not in found:
            found.append(word)
    return found


def _image_init(own: str, folder: str) -> str:
    # Hard links, and the two that are called like it taken away: nothing there says whose it is.
    return f"""#!/{own}/busybox sh
/{own}/busybox --install /{own}/{folder}
export PATH=/{own}/{folder} PS1='# '
rm -f /{own}/busybox /{own}/{folder}/busybox
chmod 755 /
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
# Not process 1 itself: what the image's programs leave behind is that one's to bury.
while :; do setsid sh -c 'exec sh -i </dev/ttyS0 >/dev/ttyS0 2>&1'; done
"""


@dataclass(frozen=True)
class Setting:
    """How one build machine differs from another."""

    uid: int
    gid: int
    umask: str
    clock: str
    env: Mapping[str, str]
    cwd: str
    kit: str
    parcels: str
    lists: str
    out: str
    temp: str
    host: str
    cpus: int
    seed: int
    #: How the paths of the kit, the list and the parcels are written, and how the last one ends.
    forms: tuple[str, ...] = ("/", "/", "/")
    end: str = ""


PLAIN = Setting(
    1000, 1000, "022", "2024-11-05T08:00:00", {}, "/", "/kit", "/parcels", "/lists",
    "/out", "/scratch", "plain", 1, 1,
)  # fmt: skip


def odd(draw: random.Random) -> Setting:
    """A machine that differs in all that MACHINE.md says, drawn for this verification."""
    word = f"{draw.randrange(16**6):06x}"
    year = draw.choice((1998, 2001, 2035))
    zone = draw.choice(("XYZ-13:45", "Pacific/Chatham", "WST12EDT,M3.2.0,M11.1.0"))
    language = draw.choice(("sv_SE.UTF-8", "tr_TR.UTF-8", "de_DE@euro"))
    kit, parcels, lists, out, temp, cwd = (
        f"/{top}/{word}/{odd}"
        for top, odd in zip(
            ("srv", "opt", "mnt", "data", "data", "srv"), draw.sample(_ODD, 6), strict=True
        )
    )
    return Setting(
        4000 + draw.randrange(999), 600 + draw.randrange(99),
        draw.choice(("000", "002", "027", "077")),
        f"{year}-0{1 + draw.randrange(9)}-17T23:59:3{draw.randrange(9)}",
        {"TZ": zone, "LANG": language, "LC_ALL": language},
        cwd, kit, parcels, lists, out, temp, f"odd-{word}", draw.choice((1, 2)),
        draw.randrange(2, 10**6), tuple(draw.sample(("//", "/./", "/../", "///"), 3)), "/",
    )  # fmt: skip


class Builder:
    """A build machine with a kit, folders of parcels, and lists.

    The names of lists and folders are drawn, so that they say nothing of what they hold.
    """

    def __init__(
        self, machines, name: str, bench: Path, setting: Setting, kit: Kit,
        parcels: Mapping[str, Mapping[str, bytes]], lists: Mapping[str, bytes], work: Path,
    ) -> None:  # fmt: skip
        self.setting = setting
        self.limit = 600.0
        draw = random.Random(setting.seed)
        hidden = random.Random(secrets.randbits(64))
        self._names = {key: f"{hidden.randrange(16**8):08x}" for key in [*parcels, *lists]}
        files = {f"{setting.kit}/{path}": data for path, data in kit.files.items()}
        for folder, held in parcels.items():
            place = f"{setting.parcels}/{self._names[folder]}"
            files |= {f"{place}/{file}": data for file, data in held.items()}
        files |= {f"{setting.lists}/{self._names[key]}": data for key, data in lists.items()}
        names = sorted(files)
        if setting.seed != PLAIN.seed:
            draw.shuffle(names)
        tree: Tree = {}
        for folder in ("/bin", "/dev", "/proc", "/etc", setting.out, setting.temp, setting.cwd):
            _folders(tree, folder)
        for path in names:
            _folders(tree, path.rpartition("/")[0])
            mode = draw.choice((0o644, 0o444, 0o604))
            tree[path[1:]] = rootfs.file(files[path], mode)
        for folder in parcels:
            _folders(tree, f"{setting.parcels}/{self._names[folder]}")
        for folder in kit.folders:
            _folders(tree, f"{setting.kit}/{folder}")
        who = f"{setting.uid}:{setting.gid}"
        tree["etc/passwd"] = rootfs.file(
            f"root:x:0:0::/:/bin/sh\nmaker:x:{who}::/:/bin/sh\n".encode()
        )
        tree["etc/group"] = rootfs.file(f"root:x:0:\nmaker:x:{setting.gid}:\n".encode())
        tree["bin/busybox"] = rootfs.file((bench / "busybox").read_bytes(), 0o755)
        self._neighbours = _neighbours(setting, hidden)
        tree["etc/settle"] = rootfs.file(_settle(setting, self._neighbours).encode(), 0o700)
        tree["etc/look"] = rootfs.file(_look(setting, self._neighbours).encode(), 0o700)
        tree["init"] = rootfs.file(_builder_init(setting).encode(), 0o755)
        self._disk = Disk.empty(work / f"{name}.out", _ROOM_MB, bus="nvme")
        self.machine = _machine(
            machines, name, bench, tree, "/init", work, cpus=setting.cpus,
            rng=False, disks=[self._disk], extra_args=["-rtc", f"base={setting.clock},clock=vm"],
            mtimes={path: draw.randrange(2**31) for path in tree},
        )  # fmt: skip

    def start(self) -> Builder:
        self.machine.boot()
        self.machine.attach()
        return self

    def build(self, name: str, out: str = "image.tar") -> tuple[int, str, float]:
        """(status, what was said on standard error, reference seconds) of one build."""
        s = self.setting
        env = " ".join(f"{key}={quote(value)}" for key, value in s.env.items())
        words = (
            f"{_formed(s.kit, s.forms[0])}/build",
            f"{_formed(s.lists, s.forms[1])}/{self._names[name]}",
            f"{_formed(s.parcels, s.forms[2])}/{self._names[name]}{s.end}",
            f"{s.out}/{out}",
        )
        line = (
            f"cd {quote(s.cwd)}; umask {s.umask}; "
            f"env -i PATH=/bin TMPDIR={quote(s.temp)} {env} "
            f"start-stop-daemon -S -q -p /none -c {s.uid}:{s.gid} -x /bin/sh -- "
            + " ".join(quote(word) for word in words)
            + _STREAMS["errors"]
        )
        before = self.machine.elapsed
        done = self.machine.shell.run(line, timeout=self.limit)
        return done.status, done.stdout, self.machine.elapsed - before

    def digest(self, out: str = "image.tar") -> str:
        """The SHA-256 of what was built, "" when there is nothing."""
        path = quote(f"{self.setting.out}/{out}")
        done = self.machine.shell.run(f"sha256sum < {path}", timeout=60)
        return done.stdout.split()[0] if done.status == 0 else ""

    def left(self) -> list[str]:
        """All that lies in the two places where the user can write and was not there before, by
        path, and what is no longer as it was."""
        said = self.machine.shell.run("sh /etc/look", timeout=60, check=True).stdout.splitlines()
        sums, paths = said[: len(self._neighbours)], said[len(self._neighbours) :]
        changed = [
            f"{path}: changed or gone"
            for path, found in zip(self._neighbours, sums, strict=True)
            if found != hashlib.sha256(self._neighbours[path].encode()).hexdigest()
        ]
        known = {*self._neighbours, *(path.rpartition("/")[0] for path in self._neighbours)}
        found = [path.removeprefix(f"{self.setting.out}/") for path in paths if path not in known]
        return sorted(found + changed)

    def clear(self) -> None:
        """Takes away all that was built, and puts back what lay beside it."""
        self.machine.shell.run("sh /etc/settle", check=True)

    def fetch(self, out: str = "image.tar") -> bytes:
        """What was built, by way of a disk."""
        path = quote(f"{self.setting.out}/{out}")
        shell = self.machine.shell
        size = int(shell.run(f"wc -c < {path}", check=True).stdout)
        if size > _ROOM_MB << 20:
            raise BadDeliverable(f"{size} bytes were built")
        shell.run(f"dd if={path} of=/dev/nvme0n1 bs=64k 2>&1 && sync", timeout=120, check=True)
        return self.machine.flatten(self._disk).read_bytes()[:size]


def _neighbours(s: Setting, draw: random.Random) -> dict[str, str]:
    """Files of others beside OUTPUT and in TMPDIR, by path, with what is in them."""
    one, two, three, four = (f"{draw.randrange(16**6):06x}" for _ in range(4))
    names = (
        f"{s.out}/{one}.tar", f"{s.out}/of {two}/image.tar", f"{s.temp}/{three}",
        f"{s.temp}/build.{four}/list",
    )  # fmt: skip
    return {name: f"{draw.randrange(16**30):x}" for name in names}


def _settle(s: Setting, neighbours: Mapping[str, str]) -> str:
    places = f"{quote(s.out)} {quote(s.temp)}"
    lines = [f"find {places} -mindepth 1 -maxdepth 1 -exec rm -rf {{}} ';'"]
    for path, text in neighbours.items():
        folder = quote(path.rpartition("/")[0])
        lines.append(f"mkdir -p {folder} && echo -n {text} > {quote(path)} || exit 1")
    return "\n".join([*lines, f"chown -R {s.uid}:{s.gid} {places}"]) + "\n"


def _look(s: Setting, neighbours: Mapping[str, str]) -> str:
    paths = " ".join(map(quote, neighbours))
    return (
        f"for path in {paths}; do\n"
        '[ -f "$path" ] && sha256sum < "$path" | cut -c 1-64 || echo gone\n'
        f"done\nfind {quote(s.out)} {quote(s.temp)} -mindepth 1\n"
    )


def _formed(path: str, form: str) -> str:
    """The same path, with `form` in the place of its second slash."""
    top, rest = path[1:].split("/", 1) if path.count("/") > 1 else (path[1:], "")
    middle = f"/../{top}/" if form == "/../" else form
    return f"/{top}{middle}{rest}" if rest else path


def _folders(tree: Tree, path: str) -> None:
    parts = path.strip("/").split("/")
    for depth in range(1, len(parts) + 1):
        tree.setdefault("/".join(parts[:depth]), rootfs.directory())


def _builder_init(s: Setting) -> str:
    options = f"noexec,nosuid,nodev,size=128m,mode=755,uid={s.uid},gid={s.gid}"
    # Beside OUTPUT there is no room for a folder of work.
    rooms = ((s.out, f"{options},nr_inodes={_INODES}"), (s.temp, options))
    mounts = "\n".join(f"mount -t tmpfs -o {how} tmpfs {quote(place)}" for place, how in rooms)
    return f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
/bin/chmod 755 /
export PATH=/bin PS1='# '
mount -t proc proc /proc
mount -t devtmpfs dev /dev
chmod 666 /dev/null /dev/zero
hostname {s.host}
{mounts}
sh /etc/settle
exec setsid sh -c 'exec sh -i </dev/ttyS0 >/dev/ttyS0 2>&1'
"""
