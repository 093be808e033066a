"""What an installed machine has to be, asked of it or read from its disk."""

from __future__ import annotations

import ipaddress
import re
import secrets
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from answers import report_of
from bench import Bench, Pc, root_files
from lvm import Group, filesystem

from benchflow.bench.login_rules import rows, strange_members, strange_pam, strange_set_uid
from benchflow.boot import Image

#: Which disk of a machine was installed on.
TARGETS = {"alpha": 0, "bravo": 1}
PACKAGES = ("base-files", "lvm2", "openssh-server", "sudo")
_PUBLIC = re.compile(
    rb"(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\w+|sk-[\w.@-]+) (AAAA[\w+/]{40,2000})"
)
#: Mount point, kind, and the volume as device mapper names it.
MOUNTS = (
    "while read -r _ _ node _ place rest; do kind=${rest#* - }; case $place in /|/home*|/srv*) "
    'echo "$place ${kind%% *} $(cat /sys/dev/block/$node/dm/name)" ;; esac; '
    "done </proc/self/mountinfo | sort"
)


#: Accounts that Debian's base and its services make.
_DEBIANS = """root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc
gnats nobody messagebus sshd polkitd tss uuidd tcpdump dnsmasq avahi rtkit usbmux dhcpcd ntp ntpsec
chrony statd lxd colord geoclue saned pulse debian-tor Debian-exim postfix kernoops lldpd libuuid"""
DEBIANS = set(_DEBIANS.split())


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
    free = group.megabytes() - sum(sizes.values())
    if "rest" in [volume.size for volume in said.volumes]:
        assert free == said.free, f"{free} MiB of the group are free; wanted: {said.free} [R11]"
    else:
        assert free >= said.free, f"{free} MiB of the group are free; at least {said.free} [R11]"
    kinds = {name: filesystem(group.head(name))[0] for name in sizes}
    told = {volume.name: volume.fs for volume in said.volumes} | (
        {"swap": "swap"} if said.swap else {}
    )
    assert kinds == told, f"file systems are {kinds}, wanted {told}"


def mounted(text: str, said: Any) -> None:
    wanted = sorted(f"{v.mount} {v.fs} {said.group}-{v.name}" for v in said.volumes)
    assert text.splitlines() == wanted, f"mounted: {text!r}, wanted {wanted}"


def fingerprint(known: Path) -> str:
    """Of the one host key that a connection wrote down."""
    done = subprocess.run(
        ["ssh-keygen", "-lf", str(known)], capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, f"SSH showed no Ed25519 host key of {known.name} [R10]"
    return done.stdout.split()[1].decode()


def is_debian(pc: Pc, root: Any) -> None:
    """Debian 12 with systemd, in order."""
    assert pc.say(root, f"echo {secrets.token_hex(8)} | sha256sum; id -u").split()[-1] == "0"
    assert pc.say(root, "dpkg --audit; cat /proc/1/comm") == "systemd"
    asked = "dpkg-query -W -f '${db:Status-Abbrev}${Package} ' " + " ".join(PACKAGES)
    assert pc.say(root, asked).split() == [word for name in PACKAGES for word in ("ii", name)]
    assert pc.say(root, "cut -d . -f 1 /etc/debian_version") == "12"


def has_zone(pc: Pc, said: Any) -> None:
    """Its clock shows the answers' zone, at a moment that nobody knew."""
    start = 1_600_000_000 + secrets.randbelow(100_000_000)
    moments = [start + quarter * 7_900_000 for quarter in range(4)]  # whatever the season
    ask = "; ".join(f"date -d @{moment} '+%Y%m%d%H%M %z'" for moment in moments)
    own = pc.say(said.root, f"unset TZ; {ask}").splitlines()
    wanted = pc.say(said.root, f"export TZ={said.timezone}; {ask}").splitlines()
    assert own == wanted, f"its clock shows {own}, in {said.timezone} it is {wanted} [R12]"
    assert not own[0].endswith("+0000"), f"it does not know {said.timezone} [R12]"


def people_and_address(first: Bench, lists: Path) -> None:
    """Who is who over SSH, who may what, and the way out."""
    said, (admin, plain) = first["alpha said"], first["alpha users"]
    alpha = first["alpha"]
    assert alpha.ssh(admin, "id -un", lists / "alpha") == admin.name
    root = f"echo {admin.password} | sudo -S -p '' sh -c 'id -u; hostname'"
    assert alpha.ssh(admin, root, lists / "alpha").split() == ["0", said.hostname]
    alone = "sudo -k; sudo -n id -u 2>/dev/null; :"
    assert "0" not in alpha.ssh(admin, alone, lists / "alpha").split(), (
        "the admin needs no password for sudo; [R12], ANSWERS.md: the own one"
    )
    routes = [row.split() for row in alpha.say(said.root, "cat /proc/net/route").splitlines()]
    ways = {bytes.fromhex(row[2])[::-1] for row in routes[1:] if row[1] == "00000000"}
    assert ways == {ipaddress.IPv4Address(said.gateway).packed}, f"routes: {routes} [R12]"
    line = ipaddress.IPv4Interface(said.address).network
    near = [
        (bytes.fromhex(row[1])[::-1], bytes.fromhex(row[7])[::-1])
        for row in routes[1:]
        if row[2] == "00000000"
    ]
    wanted = (line.network_address.packed, line.netmask.packed)
    assert wanted in near, f"its network is not {line}, routes: {routes} [R12]"
    powers = (
        "for u in $(cut -d : -f 1 /etc/passwd); do LC_ALL=C sudo -n -l -U $u 2>&1 | "
        "grep -q 'may run' && echo $u; done; :"
    )
    strong = set(alpha.say(said.root, powers, 180).split()) - {"root", admin.name}
    assert not strong, f"sudo lets {sorted(strong)} do what root can [R12], [R17]"
    may = alpha.say(
        said.root,
        f"LC_ALL=C sudo -l -U {plain.name}; su {plain.name} -s /bin/sh -c id",
    )
    assert "may run" not in may and plain.name in may, f"the plain user: {may!r} [R12]"


def identifiers(disk: Path) -> list[str]:
    """Of a disk, its partitions, its group, volumes and file systems."""
    image, group = Image(disk), Group(disk)
    return [
        image.bytes_at(568, 16).hex(),  # the GPT's own
        *(part.uuid for part in image.partitions()),
        group.uuid,
        *(volume.uuid for volume in group.volumes.values()),
        *(filesystem(group.head(volume))[1] for volume in group.volumes),
        *(fat for part in image.partitions() if (fat := fat_serial(image, part.start))),
    ]


def packages_and_order(first: Bench) -> None:
    """The answers' packages, what their scripts saw, and whose order it was."""
    said, (package, note) = first["alpha said"], first["proof"]
    alpha = first["alpha"]
    assert (
        alpha.say(said.root, f"dpkg-query -W -f '${{Status}} ${{Version}}' {package}")
        == "install ok installed 1.0"
    )
    told = alpha.say(said.root, f"cat /etc/{package}").split()
    wanted = [said.hostname, note, said.users[0].name]
    assert told == wanted, f"its script saw {told} inside of the new system, not {wanted} [R13]"
    assert (
        alpha.machine.shell.read_file("/etc/quay-release", limit=4096)
        == f"order = {said.order}\n".encode()
    )


def reported(left: Bench, lists: Path) -> None:
    """Machine ids and host keys are those of the reports, and each machine's own."""
    reports = {
        "alpha": report_of(left["alpha disks"][2]),
        "bravo": report_of(left["bravo disks"][3]),
    }
    for name, report in reports.items():
        assert report.get("hostkey") == fingerprint(lists / name), (
            f"{name}: another key than reported"
        )
        files = root_files(left, left[f"{name} disks"][TARGETS[name]], left[f"{name} said"], name)
        assert files.read_text("/etc/machine-id").strip() == report.get("machine-id"), (
            f"{name}: machine-id"
        )
        assert re.fullmatch("[0-9a-f]{32}", report["machine-id"])
    for key in ("hostkey", "machine-id"):
        assert reports["alpha"][key] != reports["bravo"][key], f"both have one {key}"


def all_new(disks: list[Path], whose: str = "two machines") -> None:
    """No two of these installations have an identifier in common."""
    seen = [found for disk in disks for found in identifiers(disk)]
    twice = {found for found in seen if seen.count(found) > 1}
    assert not twice, f"{whose} share {twice} [R16]"


def fat_serial(image: Any, start: int) -> str:
    """Of a FAT file system that begins there: what its own identifier is."""
    head = image.bytes_at(start, 512)
    if head[82:87] == b"FAT32":
        return f"FAT {head[67:71].hex()}"
    return f"FAT {head[39:43].hex()}" if head[54:57] == b"FAT" else ""


@dataclass
class Survey:
    """What one look at all files of an installed system found."""

    left: list[str] = field(default_factory=list)
    private: set[bytes] = field(default_factory=set)


def survey(bench: Bench, name: str) -> Survey:
    """Look once at each file of a root file system, from outside."""
    key = f"survey {name}"
    if key in bench.facts:
        return bench[key]
    said, found = bench[f"{name} said"], Survey()
    files = root_files(bench, bench[f"{name} disks"][TARGETS[name]], said, name)
    hashes = [user.hash.encode() for user in [*said.users, *([said.root] if said.root else [])]]
    known = {text.split()[1].encode() for user in said.users for text in user.public()}
    hosts = {entry.path for entry in files.walk("/etc/ssh") if entry.kind == "file"}
    for entry, data in files.contents("/", limit=128 << 20):
        if said.comment.encode() in data:
            found.left.append(f"{entry.path} holds the answers")
        if b"QUAY PROGRESS" in data:
            found.left.append(f"{entry.path} is of the setup")
        if entry.path != "/etc/shadow" and any(h in data for h in hashes):
            found.left.append(f"{entry.path} holds a password")
        if b"PRIVATE KEY-----" in data[:200] and entry.path.startswith(
            ("/etc/", "/var/", "/root/")
        ):
            found.private.add(data)
        if len(data) < 1 << 16:
            strange = set(_PUBLIC.findall(data)) - known
            # The public half of a host key has its other half beside it.
            if strange and not (entry.path[-4:] == ".pub" and entry.path[:-4] in hosts):
                found.left.append(f"{entry.path} has a key that is not in the answers")
        if entry.path.startswith("/etc/pam"):
            found.left += [
                f"{entry.path}: {rule!r}" for rule in strange_pam(data.decode(errors="replace"))
            ]
    found.left += strange_accounts(files, said) + strange_programs(files)
    image = Image(bench[f"{name} disks"][TARGETS[name]])
    for part in image.partitions():
        if image.filesystem(part) == "fat":
            for entry, data in image.fat(part).contents("/", limit=128 << 20):
                if any(text in data for text in (said.comment.encode(), b"QUAY PROGRESS", *hashes)):
                    found.left.append(f"{entry.path} on the start partition is of the setup")
    bench.facts[key] = found
    return found


def strange_accounts(files: Any, said: Any) -> list[str]:
    """What of accounts and groups, taken together, is neither Debian's nor the answers'."""
    accounts, shadow = (rows(files.read_text(f"/etc/{name}")) for name in ("passwd", "shadow"))
    users = {user.name for user in said.users}
    admins = {user.name for user in said.users if user.role == "admin"}
    found = []
    people = {row[0] for row in accounts if int(row[2]) >= 1000 and row[0] != "nobody"}
    if people != users:
        found.append(f"accounts {sorted(people)}, in the answers {sorted(users)}")
    found += [
        f"the account {row[0]} is neither Debian's nor the answers'"
        for row in accounts
        if row[0] not in users | DEBIANS and not row[0].startswith(("systemd-", "_"))
    ]
    for row in accounts:
        if (row[2] == "0") != (row[0] == "root") or (row[3] == "0" and row[0] != "root"):
            found.append(f"{row[0]} has the number {row[2]} and the group {row[3]}")
        if row[1] not in ("x", "*", "!"):
            found.append(f"/etc/passwd has a password, or none, for {row[0]}")
    wanted = {user.name: user.hash for user in said.users}
    wanted |= {"root": said.root.hash} if said.root else {}
    for row in shadow:
        if (row[1] != wanted[row[0]]) if row[0] in wanted else (row[1][:1] not in ("!", "*")):
            found.append(f"the password of {row[0]} is not the answers'")
    for group, others in strange_members(files.read_text("/etc/group"), admins):
        found.append(f"{others} are in the group {group}")
    return found


def strange_programs(files: Any) -> list[str]:
    """Set-uid programs that are no package's of Debian's."""
    marked = [e.path for e in files.walk("/") if e.kind == "file" and e.mode & 0o6000]
    return [f"{path} runs as another user" for path in strange_set_uid(marked)]
