"""What an installed machine has to be, asked of it or read from its disk."""

from __future__ import annotations

import secrets
import subprocess
from pathlib import Path
from typing import Any

import cases
from bench import Bench, Pc, root_files
from lvm import Group, filesystem

from benchflow.boot import Image

#: Which disk of a machine was installed on.
TARGETS = {"alpha": 0, "bravo": 1}
PACKAGES = ("base-files", "lvm2", "openssh-server", "sudo")
MOUNTS = 'awk \'$2 == "/" || $2 ~ "^/(home|srv)" {print $2, $3}\' /proc/mounts | sort'


def laid_out(group: Any, said: Any) -> None:
    """The group is as the answers say, volume by volume."""
    assert group.name == said.group, f"the group is called {group.name!r}"
    wanted: dict[str, Any] = {volume.name: volume.size for volume in said.volumes}
    if said.swap:
        wanted["swap"] = said.swap
    sizes = group.sizes()
    fixed = sum(size for size in wanted.values() if size != "rest")
    for name, size in wanted.items():
        if size == "rest":
            wanted[name] = group.megabytes() - fixed - said.free
    assert sizes == wanted, f"volumes are {sizes}, wanted {wanted}"
    if "rest" in [volume.size for volume in said.volumes]:
        assert group.megabytes() - sum(sizes.values()) == said.free, (
            "another part of the group is free"
        )
    kinds = {name: filesystem(group.head(name))[0] for name in sizes}
    told = {volume.name: volume.fs for volume in said.volumes} | (
        {"swap": "swap"} if said.swap else {}
    )
    assert kinds == told, f"file systems are {kinds}, wanted {told}"


def mounted(text: str, said: Any) -> None:
    wanted = sorted(f"{volume.mount} {volume.fs}" for volume in said.volumes)
    assert text.splitlines() == wanted, f"mounted: {text!r}, wanted {wanted}"


def fingerprint(known: Path) -> str:
    """Of the one host key that a connection wrote down."""
    done = subprocess.run(
        ["ssh-keygen", "-lf", str(known)], capture_output=True, check=True, timeout=60
    )
    return done.stdout.split()[1].decode()


def refusals(desk: Any, wanted: dict[str, tuple[cases.Case, str]]) -> None:
    """Each is refused for its reason, and answers like them are not."""
    sane = cases.right(desk.serials)
    said = desk.ask(
        {**{name: told for name, (told, _) in wanted.items()}, "sane": cases.case(sane)}
    )
    assert said.pop("sane") == ("WOULD INSTALL", sane.disk), "right answers are refused"
    wrong = {
        name: said[name]
        for name, (_, reason) in wanted.items()
        if said[name] != ("REFUSED", reason)
    }
    assert not wrong, f"{len(wrong)} of {len(wanted)}: {wrong}"


def is_debian(pc: Pc, root: Any) -> None:
    """Debian 12 with systemd, in order."""
    assert pc.say(root, f"echo {secrets.token_hex(8)} | sha256sum; id -u").split()[-1] == "0"
    assert pc.say(root, "dpkg --audit; cat /proc/1/comm") == "systemd"
    asked = "dpkg-query -W -f '${db:Status-Abbrev}${Package} ' " + " ".join(PACKAGES)
    assert pc.say(root, asked).split() == [word for name in PACKAGES for word in ("ii", name)]
    assert pc.say(root, "cut -d . -f 1 /etc/debian_version") == "12"


def has_zone(pc: Pc, said: Any) -> None:
    """Its clock shows the answers' zone, at a moment that nobody knew."""
    moment = 1_600_000_000 + secrets.randbelow(200_000_000)
    ask = f"date -d @{moment} '+%Y%m%d%H%M %z'"
    own, wanted = pc.say(said.root, f"{ask}; TZ={said.timezone} {ask}").splitlines()
    assert own == wanted and not own.endswith("+0000"), f"{own!r} in {said.timezone}"
    assert pc.say(said.root, "readlink -f /etc/localtime").endswith(said.timezone)


def identifiers(bench: Bench, name: str) -> list[str]:
    """Of a disk, its partitions, its group, volumes and file systems."""
    disk = bench[f"{name} disks"][TARGETS[name]]
    image, group = Image(disk), Group(disk)
    return [
        image.bytes_at(568, 16).hex(),  # the GPT's own
        *(part.uuid for part in image.partitions()),
        group.uuid,
        *(volume.uuid for volume in group.volumes.values()),
        *(filesystem(group.head(volume))[1] for volume in group.volumes),
    ]


def leftovers(bench: Bench, name: str) -> list[str]:
    """What of the setup and the answers is on an installed system and should not."""
    said = bench[f"{name} said"]
    files = root_files(bench, bench[f"{name} disks"][TARGETS[name]], said, name)
    hashes = [user.hash.encode() for user in [*said.users, *([said.root] if said.root else [])]]
    found = []
    for entry, data in files.contents("/", limit=128 << 20):
        if said.comment.encode() in data:
            found.append(f"{entry.path} holds the answers")
        if b"QUAY PROGRESS" in data:
            found.append(f"{entry.path} is of the setup")
        if entry.path not in ("/etc/shadow", "/etc/shadow-") and any(h in data for h in hashes):
            found.append(f"{entry.path} holds a password")
    rows = [row.split(":") for row in files.read_text("/etc/passwd").splitlines() if row]
    people = {row[0] for row in rows if len(row) > 2 and 1000 <= int(row[2]) < 60000}
    if people != {user.name for user in said.users}:
        found.append(f"accounts {people}")
    return [f"{name}: {text}" for text in found]


def is_as_it_was(second: Bench) -> None:
    """Contents, owners, permissions and times of the home that was kept."""
    said, later = second["again said"], second["later"]
    again, first_user = second["again"], second["alpha users"][1].name
    facts = again.say(
        said.root,
        f"cd /home; cat {later}/mine gone/mine; readlink {first_user}/link; "
        f"stat -c '%u %g %a' {later} gone gone/noise {first_user}/diary; "
        f"stat -c %Y {first_user}/diary; "
        f"sha256sum gone/noise {first_user}/diary | sha256sum",
        120,
    ).splitlines()
    assert facts[:3] == [f"of {later}", "of gone", "diary"], f"contents: {facts[:3]}"
    assert facts[3:7] == ["1777 1777 755", "1002 1002 710", "1003 0 644", "1777 1002 640"], (
        f"owners: {facts[3:7]}"
    )
    assert facts[7] == "1234567890", "a time was changed"
    assert facts[8].split()[0] == second["kept sum"], "contents were changed"


def grew(over: Bench) -> None:
    """The home that was kept is the same volume and file system, and larger."""
    before, after = Group(over["alpha disks"][0]), Group(over["again disk"])
    name = over["alpha home"].name
    assert after.volumes[name].uuid == before.volumes[name].uuid, "it is another volume"
    old, new = before.head(name), after.head(name)
    assert filesystem(old) == filesystem(new), "it is another file system"
    blocks = int.from_bytes(new[1028:1032], "little") << (
        10 + int.from_bytes(new[1048:1052], "little")
    )
    wanted = int(after.sizes()[name]) << 20
    assert wanted - (4 << 20) <= blocks <= wanted, "the file system did not grow"
