"""The packages of a system volume, as dpkg keeps them, and the files that they brought."""

import hashlib
import re

import known

from benchflow.boot.inspect.ext4 import Ext4

# Where programs, libraries and units lie. Kernel modules are loaded or the machine does not start.
_PLACES = (
    "/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/libexec/",
    "/usr/share/initramfs-tools/", "/usr/share/perl5/",
)  # fmt: skip
_LEFT_OUT = ("/usr/lib/modules/", "/usr/lib/firmware/")
_MERGED = re.compile(r"^/(bin|sbin|lib|lib64)/")


def installed(system: Ext4) -> dict[str, dict[str, str]]:
    """The fields of every package in dpkg's database, by its name."""
    found = {}
    for text in system.read_text("/var/lib/dpkg/status", 16 << 20).split("\n\n"):
        fields = dict(re.findall(r"(?m)^([\w-]+): (.*)$", text))
        if "Package" in fields:
            found[fields["Package"]] = fields
    return found


def out_of_order(system: Ext4) -> list[str]:
    """Packages that are missing, or neither installed nor removed."""
    packages = installed(system)
    states = {name: fields.get("Status", "") for name, fields in packages.items()}
    whole = {name for name, state in states.items() if state.endswith(" ok installed")}
    wrong = [f"{name} is missing" for name in sorted({*known.PACKAGES.split()} - whole)]
    if not any(re.match(r"linux-image-\d", name) for name in whole):
        wrong.append("the kernel's package is missing")
    kept = " ok config-files"
    wrong += [
        f"{name}: {state}"
        for name, state in states.items()
        if name not in whole and not state.endswith(kept)
    ]
    wrong += [
        f"dpkg has not finished: updates/{n}" for n in system.listdir("/var/lib/dpkg/updates")
    ]
    return wrong


def altered(system: Ext4) -> list[str]:
    """Files below `_PLACES` that are not what their package brought, or are gone."""
    wanted = _checksums(system)
    found = {
        entry.path: hashlib.md5(content, usedforsecurity=False).hexdigest()
        for place in _PLACES
        for entry, content in system.contents(place)
        if entry.path in wanted
    }
    gone = [f"{path} is gone" for path in wanted.keys() - found.keys()]
    return sorted(gone + [f"{path} was changed" for path in found if found[path] != wanted[path]])


def _checksums(system: Ext4) -> dict[str, str]:
    wanted = {}
    for entry, content in system.contents("/var/lib/dpkg/info"):
        if not entry.path.endswith(".md5sums"):
            continue
        for line in content.decode(errors="replace").splitlines():
            digest, _, name = line.partition("  ")
            path = _MERGED.sub(r"/usr/\1/", "/" + name)
            if path.startswith(_PLACES) and not path.startswith(_LEFT_OUT):
                wanted[path] = digest
    return wanted
