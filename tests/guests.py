"""Real guests for tests: a Debian kernel, a busybox initramfs, small bootable disks.

Everything is fetched from the machine's own Debian mirror once, into
`$BENCHFLOW_HOME/testdata`, and built without privileges.
"""

from __future__ import annotations

import contextlib
import gzip
import lzma
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from benchflow.boot.inspect.elf import Elf

DEBIAN_ARCH = {"x86_64": "amd64", "aarch64": "arm64", "riscv64": "riscv64"}


class MirrorUnreachable(RuntimeError):
    """A Debian package could not be fetched; the text says which and why."""


def testdata() -> Path:
    """The cache of fetched and built guests."""
    # An empty XDG_CACHE_HOME is one that is not set; apt must not be given a relative path.
    home = os.environ.get("BENCHFLOW_HOME") or (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "benchflow"
    )
    path = Path(home) / "testdata"
    path.mkdir(parents=True, exist_ok=True)
    return path


def cpio(files: Mapping[str, tuple[int, bytes]]) -> bytes:
    """A "newc" archive (kernel's buffer-format.rst): path → (mode with type bits, content).

    The content of a symlink is its target, that of a device node `b"MAJOR MINOR"`.
    """
    out = bytearray()
    for inode, (name, (mode, content)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))]):
        major = minor = 0
        if mode & 0o170000 in (0o020000, 0o060000):
            major, minor = (int(word) for word in content.split())
            content = b""
        path = name.encode() + b"\0"
        fields = [inode + 1, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(path), 0]
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + path
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def fetch_package(package: str, *, arch: str = "x86_64", suite: str = "") -> Path:
    """The unpacked tree of a Debian package, of the host's suite unless `suite` says otherwise.

    Another architecture or suite is fetched with apt's files in a folder of our own; the host's
    dpkg never hears of it. Raises MirrorUnreachable.
    """
    native = arch == platform.machine() and not suite
    target = testdata() / "packages" / "-".join(filter(None, (package, DEBIAN_ARCH[arch], suite)))
    if target.is_dir():
        return target
    scratch = target.with_name(f"{target.name}.{os.getpid()}.new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    options = [] if native else _private_apt(arch, suite)
    _apt([*options, "download", package], scratch)
    (deb,) = scratch.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", str(deb), str(scratch / "x")], check=True)
    with contextlib.suppress(OSError):  # another test process was faster
        (scratch / "x").rename(target)
    shutil.rmtree(scratch)
    return target


def _apt(arguments: list[str], cwd: Path) -> str:
    command = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise MirrorUnreachable(f"{' '.join(arguments[-2:])}: {done.stderr.strip()[-800:]}")
    return done.stdout


@cache
def _private_apt(arch: str, suite: str) -> list[str]:
    """apt options for a foreign architecture or suite, from the host's own mirror and key."""
    repositories = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    plain = [line.split() for line in repositories if line and "-" not in line.split()[1]]
    if not plain:
        raise MirrorUnreachable("apt knows no Debian archive (run apt-get update)")
    uri, release = plain[0]
    suite = suite or release
    root = testdata() / "apt" / f"{DEBIAN_ARCH[arch]}-{suite}"
    for folder in ("lists/partial", "cache/archives/partial"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (root / "sources.list").write_text(f"deb [signed-by={key}] {uri} {suite} main\n")
    (root / "status").touch()
    settings = {
        "APT::Architecture": DEBIAN_ARCH[arch],
        "APT::Architectures": DEBIAN_ARCH[arch],
        "Dir::State::status": root / "status",
        "Dir::State::lists": root / "lists",
        "Dir::Cache": root / "cache",
        "Dir::Etc::sourcelist": root / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Acquire::Languages": "none",
    }
    options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
    if not list((root / "lists").glob("*_Packages*")):
        _apt([*options, "update"], root)
    return options


# Debian 12 has no riscv64. A mirror that is in the middle of a sync refuses a suite's index for
# as long as that takes (days have been seen), so that one suite alone is not enough.
SUITES = {"x86_64": ("",), "aarch64": ("",), "riscv64": ("trixie", "forky", "sid")}
KERNELS = {
    "x86_64": "linux-image-cloud-amd64",
    "aarch64": "linux-image-cloud-arm64",
    "riscv64": "linux-image-riscv64",
}


@cache
def suite_for(arch: str) -> str:
    """The first Debian suite for `arch` that the mirror has whole; empty for the host's own.

    Raises MirrorUnreachable with what was said of each.
    """
    refused = []
    for suite in SUITES[arch]:
        try:
            if suite:
                _private_apt(arch, suite)
        except MirrorUnreachable as error:
            refused.append(f"{suite}: {error}")
        else:
            return suite
    raise MirrorUnreachable("\n".join(refused))


@cache
def debian_kernel(arch: str = "x86_64") -> Path:
    """A Debian kernel image for `arch`: vmlinuz, with Debian 12's modules beside it (`modules`)."""
    suite = suite_for(arch)
    options = [] if arch == platform.machine() and not suite else _private_apt(arch, suite)
    shown = subprocess.run(
        ["apt-cache", *options, "depends", KERNELS[arch]], capture_output=True, text=True
    ).stdout
    found = re.search(r"Depends: linux-image-(\S+)", shown)
    if found is None:
        raise MirrorUnreachable(f"apt does not know {KERNELS[arch]} (run apt-get update)")
    # Since Debian 14 the image's package is empty and needs another that holds the kernel.
    for kind in ("image", "binary"):
        tree = fetch_package(f"linux-{kind}-{found.group(1)}", arch=arch, suite=suite)
        for kernel in tree.glob("**/vmlinu*"):
            return kernel
    raise FileNotFoundError(f"no package of {KERNELS[arch]} has a vmlinu*")


def kernel_at_hand() -> Path | None:
    """A kernel for x86_64 that `debian_kernel` has fetched before, whichever."""
    return next((testdata() / "packages").glob("linux-*-amd64/boot/vmlinuz-*"), None)


@cache
def busybox(arch: str = "x86_64") -> Path:
    """A static busybox for `arch`; fetched where there is none."""
    if arch == "x86_64" and (found := busybox_at_hand()):
        return found
    tree = fetch_package("busybox-static", arch=arch, suite=suite_for(arch))
    return next(tree.glob("**/bin/busybox"))


def busybox_at_hand() -> Path | None:
    """A static busybox for x86_64: the machine's own, or one that was fetched before."""
    own = shutil.which("busybox")
    if own and platform.machine() == "x86_64":
        data = Path(own).read_bytes()
        if data.startswith(b"\x7fELF") and not Elf(data).interpreter:
            return Path(own)
    return next((testdata() / "packages/busybox-static-amd64").glob("**/bin/busybox"), None)


def modules(*names: str, arch: str = "x86_64") -> dict[str, tuple[int, bytes]]:
    """Kernel modules with all that they need, as `files` of an initramfs that loads them.

    They are loaded in the right order before `init` runs.
    """
    (tree,) = (debian_kernel(arch).parents[1] / "lib/modules").iterdir()
    builtin = {Path(line).stem for line in (tree / "modules.builtin").read_text().split()}
    paths = {path.name.split(".ko")[0].replace("-", "_"): path for path in tree.rglob("*.ko*")}
    ordered: list[str] = []

    def add(name: str) -> None:
        if name in ordered or name in builtin:
            return
        if name not in paths:
            raise KeyError(f"the kernel has no module {name}")
        needs = re.findall(rb"\0depends=([^\0]*)", _module(paths[name]))[0].decode().split(",")
        for need in filter(None, needs):
            add(need.replace("-", "_"))
        ordered.append(name)

    for name in names:
        add(name)
    return {
        f"modules/{number:02d}-{name}.ko": (0o100644, _module(paths[name]))
        for number, name in enumerate(ordered)
    }


def _module(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def build_initramfs(
    target: Path,
    init: str,
    *,
    arch: str = "x86_64",
    files: Mapping[str, tuple[int, bytes]] | None = None,
) -> Path:
    """Write an initramfs with busybox whose /init is the given shell script; returns `target`.

    Before `init` runs, /proc, /sys and /dev are mounted and busybox's applets are installed.
    `files` are added (path → (mode with type bits, content); see `cpio`).
    """
    script = (
        "#!/bin/busybox sh\n"
        "/bin/busybox mount -t proc proc /proc\n"
        "/bin/busybox mount -t sysfs sys /sys\n"
        "/bin/busybox mount -t devtmpfs dev /dev\n"
        "/bin/busybox --install -s /bin\n"
        "export PATH=/bin\n"
        "for m in /modules/*.ko; do [ -e $m ] && insmod $m; done\n"
    ) + init
    folders = ("bin", "proc", "sys", "dev", "tmp", "etc", "root", "mnt", "modules")
    tree = dict.fromkeys(folders, (0o040755, b""))
    tree["dev/console"] = (0o020600, b"5 1")
    tree["bin/busybox"] = (0o100755, busybox(arch).read_bytes())
    tree["init"] = (0o100755, script.encode())
    tree.update(files or {})
    target.write_bytes(gzip.compress(cpio(tree), compresslevel=1))
    return target


# root's password is "toor".
PASSWD = {
    "etc/passwd": (0o100644, b"root:x:0:0:root:/root:/bin/sh\n"),
    "etc/group": (0o100644, b"root:x:0:\n"),
    "etc/shadow": (
        0o100600,
        b"root:$6$benchflow$EEOCdBZZI.cC73jHxH32gbc0sKARPH6S5yszU2slFXbf7IdLDmOkiYRt8U6dfb93dcrTHHffdW74FajkmSx1Q.:19000:0:99999:7:::\n",
    ),
}

LOGIN_INIT = """
hostname gw
while :; do getty -L 115200 $(basename $(readlink /proc/self/fd/0)) vt100 </dev/null; done
"""

SHELL_INIT = """
setsid cttyhack sh
poweroff -f
"""


def build_bios_disk(target: Path, kernel: Path, initrd: Path, append: str = "") -> Path:
    """Write a disk that a BIOS boots: MBR, one FAT partition, syslinux; returns `target`."""
    boot = fetch_package("syslinux-common") / "usr/lib/syslinux/mbr/mbr.bin"
    installer = fetch_package("syslinux") / "usr/bin/syslinux"
    config = (
        f"DEFAULT linux\nPROMPT 0\nTIMEOUT 0\nSERIAL 0 115200\nLABEL linux\n"
        f"LINUX /vmlinuz\nINITRD /initrd\nAPPEND console=ttyS0 {append}\n"
    )
    _fat_disk(
        target, "dos", "c, bootable", {"vmlinuz": kernel, "initrd": initrd, "syslinux.cfg": config}
    )
    _run(str(installer), "--install", "--offset", str(1 << 20), str(target))
    with target.open("r+b") as file:
        file.write(boot.read_bytes()[:440])
    return target


def build_uefi_disk(
    target: Path, kernel: Path, initrd: Path, append: str = "", arch: str = "x86_64"
) -> Path:
    """Write a disk that UEFI boots: GPT, an ESP, systemd-boot; returns `target`."""
    short, console = {"x86_64": ("x64", "ttyS0"), "aarch64": ("aa64", "ttyAMA0")}[arch]
    tree = fetch_package("systemd-boot-efi", arch=arch)
    loader = tree / f"usr/lib/systemd/boot/efi/systemd-boot{short}.efi"
    entry = f"title t\nlinux /vmlinuz\ninitrd /initrd\noptions console={console} {append}\n"
    files: dict[str, Path | str] = {
        f"EFI/BOOT/BOOT{short.upper()}.EFI": loader,
        "loader/loader.conf": "timeout 0\n",
        "loader/entries/t.conf": entry,
        "vmlinuz": kernel,
        "initrd": initrd,
    }
    return _fat_disk(target, "gpt", "U", files)


def _fat_disk(target: Path, label: str, kind: str, files: Mapping[str, Path | str]) -> Path:
    size = 64 + sum(file.stat().st_size >> 20 for file in files.values() if isinstance(file, Path))
    target.unlink(missing_ok=True)
    with target.open("wb") as image:
        image.truncate(size << 20)
    end = f"size={size - 2}MiB, "
    _run("sfdisk", "-q", str(target), text=f"label: {label}\nstart=1MiB, {end}type={kind}\n")
    place = f"{target}@@1M"
    _run("mformat", "-i", place, "-F", "-T", str((size - 2) << 11), "::")
    folders: set[str] = set()
    for name, content in files.items():
        for folder in reversed(Path(name).parents[:-1] if "/" in name else []):
            if str(folder) not in folders:
                folders.add(str(folder))
                _run("mmd", "-i", place, f"::/{folder}")
        if isinstance(content, str):
            scratch = target.with_suffix(".file")
            scratch.write_text(content)
            _run("mcopy", "-i", place, str(scratch), f"::/{name}")
            scratch.unlink()
        else:
            _run("mcopy", "-i", place, str(content), f"::/{name}")
    return target


def _run(*command: str, text: str = "") -> None:
    environment = {
        **os.environ,
        "MTOOLS_SKIP_CHECK": "1",
        "PATH": f"{os.environ['PATH']}:/usr/sbin",
    }
    done = subprocess.run(command, input=text, text=True, capture_output=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
