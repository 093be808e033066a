"""The home that is kept when a machine is installed again: what was there, and what is."""

from __future__ import annotations

import secrets
import time
from typing import Any

from bench import START_SECONDS, Bench
from lvm import Group, filesystem

#: What is written to the home that is to be kept, as root. FOLDERS are of users of the answers.
KEEP = """umask 022 && cd /home && echo WORD >FIRST/diary && ln -s diary FIRST/link &&
chmod 640 FIRST/diary &&
mkdir LATER gone "gone/two words" && echo of LATER >LATER/mine && chown -R NUMBER:NUMBER LATER &&
echo of gone >gone/mine && ln gone/mine "gone/two words/twin" && mkfifo gone/pipe &&
echo hidden >gone/.hidden && chown -R 1002:1002 gone && chown NUMBER:1002 FIRST/diary &&
ln -s /etc/shadow gone/away && chmod 620 gone/pipe && chmod 000 gone/.hidden &&
chmod 3775 "gone/two words" && chmod 710 gone &&
head -c 3000000 /dev/urandom >gone/noise && chown 1003 gone/noise &&
find FIRST/diary FIRST/link LATER gone -exec touch -h -d @WHEN {} + && sync"""
#: The numbers that own anything in /home.
OWNERS = "find /home -exec stat -c %u {} + | sort -u"
_LIST = (
    "cd /home && find . -mindepth 1 ! -name lost+found -printf '%P|%y %m %U:%G|%T@ %n %l\\n' | "
    "sort; find . -type f -exec sha256sum {} + | sort -k 2"
)


def write_home(bench: Bench) -> None:
    """Write to alpha's home, and note what is there."""
    said, alpha = bench["alpha said"], bench["alpha"]
    later, number = bench["later"], str(10_000 + secrets.randbelow(40_000))
    script = KEEP
    for name, value in (
        ("WORD", secrets.token_hex(8)),
        ("FIRST", bench["alpha users"][1].name),
        ("LATER", later),
        ("NUMBER", number),
        ("WHEN", str(1_000_000_000 + secrets.randbelow(500_000_000))),
    ):
        script = script.replace(name, value)
    alpha.say(said.root, script, 120)
    bench.facts["later number"] = number
    bench.facts["home"] = listed(alpha, said)
    bench.facts["owners"] = alpha.say(said.root, OWNERS).split()


def listed(pc: Any, said: Any) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Of what lies in /home, by path: kind, mode and owner, and the rest; sums of contents."""
    entries: dict[str, list[str]] = {}
    sums: dict[str, str] = {}
    for row in pc.say(said.root, _LIST, 120).splitlines():
        if "|" in row:
            path, *facts = row.split("|")
            entries[path] = facts
        else:
            digest, _, path = row.partition("  ./")
            sums[path] = digest
    return entries, sums


def is_as_it_was(bench: Bench) -> None:
    """Contents, owners, permissions and times of the home that was kept."""
    said = bench["again said"]
    users = {user.name for user in said.users}
    entries, sums = bench["home"]
    found, found_sums = listed(bench["again"], said)
    wrong = []
    for path, facts in entries.items():
        top, *below = path.split("/")
        if top in users and below[:1] == [".ssh"]:
            continue  # [R22]
        # A key that is made anew leaves its time on the folder that it lies in.
        count = 1 if top in users and not below else 2
        if found.get(path, [])[:count] != facts[:count]:
            wrong.append(f"{path}: {found.get(path)}, was {facts}")
        if found_sums.get(path) != sums.get(path):
            wrong.append(f"{path} has other contents")
    new = [path for path in found if path not in entries and path.split("/")[0] not in users]
    wrong += [f"{path} is new" for path in new]
    assert not wrong, f"the home that was kept: {wrong[:5]} [R20]"


def whose_files(bench: Bench) -> None:
    """Users have the numbers that own their folders, and a new one has nobody's."""
    said, again = bench["again said"], bench["again"]
    newcomer, later, plain, admin = (user.name for user in said.users)
    numbers = again.say(
        said.root, f"for u in {newcomer} {later} {plain} {admin}; do id -u $u; done"
    ).split()
    owners = again.say(said.root, f"stat -c %u /home/{later} /home/{plain} /home/{admin}").split()
    assert numbers[1:] == owners, f"numbers {numbers[1:]}, folders of {owners} [R22]"
    number = bench["later number"]
    assert numbers[1] == number, f"the number is {numbers[1]}, the folder was {number}'s [R22]"
    had = bench["owners"]
    assert numbers[0] not in had, f"a new user is {numbers[0]}, who owned files there [R22]"


def who_gets_in(bench: Bench) -> None:
    """The answers' key opens a home that was kept; the one of the system before does not."""
    said, pc = bench["again said"], bench["again"]
    plain = next(user for user in said.users if user.key is not None)
    for _ in pc.until(pc.greets, START_SECONDS, "SSH"):
        time.sleep(0.5)
    assert pc.opens(plain, plain.key), f"the key of {plain.name}, whose home was kept [R12]"
    old = bench["alpha users"][0]
    assert old.key is not None
    assert not pc.opens(old, old.key), f"a key of the old system still lets {old.name} in [R12]"


def room_of(head: bytes) -> int:
    """Bytes that a file system says it has."""
    if filesystem(head)[0] == "xfs":
        return int.from_bytes(head[8:16], "big") * int.from_bytes(head[4:8], "big")
    shift = int.from_bytes(head[1048:1052], "little")
    return int.from_bytes(head[1028:1032], "little") << (10 + min(shift, 6))


def grew(over: Bench) -> None:
    """The home that was kept is the same volume and file system, and larger."""
    before, after = Group(over["alpha disks"][0]), Group(over["again disk"])
    name = over["alpha home"].name
    assert after.volumes[name].uuid == before.volumes[name].uuid, "it is another volume"
    old, new = before.head(name), after.head(name)
    assert filesystem(old) == filesystem(new), "it is another file system"
    was, room, wanted = room_of(old), room_of(new), int(after.sizes()[name]) << 20
    # ext4 leaves out a last group of blocks that has no room for its own tables.
    assert was < room and wanted - (12 << 20) <= room <= wanted, (
        f"the file system has {room >> 20} of the volume's {wanted >> 20} MiB [R21]"
    )
