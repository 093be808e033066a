#!/usr/bin/python3
"""Makes an RPM of each Debian package: repack.py DEBS OUT INITRD-PROGRAM.

Files keep their content; /bin, /lib and /sbin move below /usr, and what a small system does not
read (manuals, translations) is left out. Maintainer scripts are not carried over: what they did is
done by the distribution's own packages.
"""

from __future__ import annotations

import contextlib
import py_compile
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LEFT_OUT = re.compile(
    r"usr/share/(doc/(?!.*/copyright$)|man|info|locale/|lintian|bug|bash-completion|zsh|fish"
    r"|doc-base|menu|gdb|gcc|reportbug|initramfs-tools|icons|pixmaps|applications|apport)"
    r"|usr/lib/python3/dist-packages/debpython|etc/(cron|init\.d|default|logrotate|apt|bash_compl)"
    r"|usr/share/python3|usr/share/zoneinfo/(right|posix)/|usr/lib/x86_64-linux-gnu/audit"
    r"|usr/lib/modules/[^/]*/(?!kernel/(net/core|fs/(ext4|jbd2|mbcache|fat|nls)|lib/crc|crypto/crc|"
    r"drivers/(virtio|block|net/virtio|net/net_fail|char/hw_random))|modules\.)"
    r"|boot/(System|config)|usr/lib/systemd/(boot/efi/linux|portable)"
)
# Debian's own machinery, of which nothing is left once its scripts are.
NOT_HERE = re.compile(
    r"debconf|perl|libperl|dpkg|adduser|linux-base|initramfs|busybox|ucf|media-types|mime-support"
    r"|base-passwd|base-files|sensible-utils|debugedit|bzip2|dbus|default-dbus|pinentry"
    r"|init-system-helpers|logsave|ca-certificates|gcc-12-base|dash|debianutils|sqlite3"
    r"|util-linux-extra|python3-dbus|libpython3-stdlib|krb5-locales"
)
# What a name in one package stands for in another.
EXTRA = {
    "libc6": "Provides: rtld(GNU_HASH)\nRequires(pre): almar-filesystem\n",
    "bash": "Provides: /bin/sh /bin/bash /usr/bin/sh\n",
    "coreutils": "Provides: /bin/mkdir\n",
    "systemd-sysv": "Provides: init\n",
}
FILE_NAME = "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm"
SCRIPTS = {
    "libc-bin": "%transfiletriggerin -P 100 -- /usr/lib\n/usr/sbin/ldconfig\n",
    "systemd": (
        "%transfiletriggerin -P 900 -- /usr/lib/sysusers.d\n/usr/bin/systemd-sysusers\n"
        "%transfiletriggerin -P 800 -- /usr/lib/tmpfiles.d\n"
        "/usr/bin/systemd-tmpfiles --create >/dev/null 2>&1 || :\n"
        "%transfiletriggerin -P 700 -- /usr/lib/systemd/system\n"
        "[ ! -d /run/systemd/system ] || /usr/bin/systemctl daemon-reload || :\n"
    ),
}


def field(deb: Path, name: str) -> str:
    return subprocess.run(
        ["dpkg-deb", "-f", deb, name], check=True, capture_output=True, text=True
    ).stdout.strip()


def version(text: str) -> tuple[str, str, str]:
    """Debian's version as epoch, version and release of an RPM."""
    epoch, _, rest = text.rpartition(":")
    upstream, _, revision = rest.rpartition("-")
    if not upstream:
        upstream, revision = revision, "1"
    return epoch or "0", upstream.replace("-", "_"), revision


def requires(deb: Path, known: set[str]) -> list[str]:
    found = set()
    for part in f"{field(deb, 'Depends')},{field(deb, 'Pre-Depends')}".split(","):
        names = [re.sub(r"[ (:].*", "", one.strip()) for one in part.split("|")]
        found |= set([name for name in names if name in known][:1])
    return sorted(found)


def merge(tree: Path) -> None:
    """Moves what lies in the old places below /usr."""
    for old in ("bin", "sbin", "lib", "lib64"):
        if (tree / old).is_dir():
            shutil.copytree(tree / old, tree / "usr" / old, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(tree / old)


def prune(tree: Path) -> None:
    for path in sorted(tree.rglob("*"), reverse=True):
        name = str(path.relative_to(tree))
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()) and (LEFT_OUT.match(name + "/") or name == "boot"):
                path.rmdir()
        elif LEFT_OUT.match(name):
            path.unlink()


def compiled(tree: Path) -> None:
    """Byte code that no clock can make stale, so that root's Python never writes its own."""
    for path in tree.rglob("*.py"):
        if "/usr/lib/python3" in str(path) and path.is_file():
            inside = "/" + str(path.relative_to(tree))
            with contextlib.suppress(py_compile.PyCompileError):
                py_compile.compile(
                    str(path), dfile=inside, doraise=True,
                    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
                )  # fmt: skip


def listing(tree: Path, conffiles: set[str]) -> str:
    lines = []
    shared = {"usr", "etc", "var", "var/lib", "var/log", "var/cache", "usr/bin", "usr/sbin",
              "usr/lib", "usr/lib64", "usr/share", "usr/lib/x86_64-linux-gnu", "usr/share/doc",
              "boot", "run", "tmp"}  # fmt: skip
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        mode = f"%attr({path.lstat().st_mode & 0o7777:o},root,root) "
        quoted = '"/' + name.replace("%", "%%") + '"'
        if path.is_symlink():
            lines.append(quoted)
        elif path.is_dir():
            if name not in shared and not name.startswith("var/run"):
                lines.append(f"%dir {mode}{quoted}")
        else:
            kind = "%config(noreplace) " if "/" + name in conffiles else ""
            lines.append(f"{kind}{mode}{quoted}")
    return "\n".join(lines)


def repack(deb: Path, known: set[str], out: Path, initrd: str) -> None:
    name = field(deb, "Package")
    epoch, ver, release = version(field(deb, "Version"))
    if list(out.glob(f"{name}-{ver}-{release}.*.rpm")):
        return
    work = out / "work" / name
    tree, control = work / "tree", work / "control"
    work.mkdir(parents=True)
    subprocess.run(["dpkg-deb", "-x", deb, tree], check=True)
    subprocess.run(["dpkg-deb", "-e", deb, control], check=True)
    conffiles = set()
    if (control / "conffiles").exists():
        conffiles = set((control / "conffiles").read_text().split())
    merge(tree)
    prune(tree)
    compiled(tree)
    if name == "bash":
        (tree / "usr/bin/sh").symlink_to("bash")
    if name == "gawk":
        (tree / "usr/bin/awk").symlink_to("gawk")
    if name.startswith("linux-image"):
        kernel = next((tree / "usr/lib/modules").iterdir()).name
        shutil.move(tree / f"boot/vmlinuz-{kernel}", tree / f"usr/lib/modules/{kernel}/vmlinuz")
        shutil.rmtree(tree / "boot")
        subprocess.run(["depmod", "-b", tree / "usr", kernel], check=False, capture_output=True)
        subprocess.run(["sh", initrd, tree, kernel], check=True)
    summary = field(deb, "Description").splitlines()[0] or name
    needs = "".join(f"Requires: {one}\n" for one in requires(deb, known))
    spec = work / f"{name}.spec"
    spec.write_text(
        f"Name: {name}\nEpoch: {epoch}\nVersion: {ver}\nRelease: {release}\n"
        f"Summary: {summary}\nLicense: see /usr/share/doc/{name}/copyright\n"
        f"{needs}{EXTRA.get(name, '')}"
        "%global debug_package %{nil}\n%global __os_install_post %{nil}\n"
        "%global _build_id_links none\n%global __requires_exclude ^(/.*|perl.*|python.*)$\n"
        f"%description\nDebian's {name}.\n"
        f"%install\nmkdir -p %{{buildroot}}\ncp -a {tree}/. %{{buildroot}}/\n"
        f"{SCRIPTS.get(name, '')}"
        f"%files\n{listing(tree, conffiles)}\n"
    )
    done = subprocess.run(
        ["rpmbuild", "-bb", "--define", f"_topdir {work}/rb", "--define", f"_rpmdir {out}",
         "--define", "_binary_payload w3.zstdio", "--define", f"_build_name_fmt {FILE_NAME}",
         spec], capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{name}: {done.stderr[-1500:]}")
    shutil.rmtree(work)


def main() -> None:
    debs, out, initrd = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    files = sorted(debs.glob("*.deb"))
    known = {path.name.partition("_")[0] for path in files}
    known = {name for name in known if not NOT_HERE.match(name)}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda deb: repack(deb, known, out, initrd), files))
    shutil.rmtree(out / "work", ignore_errors=True)


main()
