"""A machine whose disk has somebody's service: on other hardware, its keys, its sources.

What tasks of the topic onboard ask of such a machine, each in its own words.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from benchflow.bench.guest import Guest
from benchflow.bench.hidden_secrets import all_unpacked, holds
from benchflow.bench.local_service import free_port
from benchflow.boot import Disk, Image, Machine
from benchflow.boot.inspect.ext4 import Ext4
from benchflow.boot.runner.fixtures import Machines

#: The host on the network of `on_other_hardware`, as the machine there sees it.
OTHER_HOST = "192.168.91.2"
#: Where keys may lie that are not on the disk, whose new blocks are searched (`disk_changes`).
MEMORY = (
    '$(awk -v own="$(blkid -L SETTINGS)" \'$2 != "/" && ($1 == own || $3 ~ '
    "/^(tmpfs|ramfs|devtmpfs)$/) {print $2}' /proc/self/mounts | sort -u)"
)


def on_other_hardware(machines: Machines, disks: Sequence[Disk], port: int) -> tuple[Machine, int]:
    """A machine that was started, with chipset Q35 and a network card Intel e1000 on another
    network, and the port of ours at which its TCP `port` is found."""
    found = free_port()
    net = "user,id=other,net=192.168.91.0/24,restrict=off"
    made = machines.create(
        "elsewhere", firmware="bios", cpus=2, machine_type="q35", disks=list(disks), nics=[],
        extra_args=[
            "-netdev", f"{net},hostfwd=tcp:127.0.0.1:{found}-:{port}",
            "-device", f"e1000,netdev=other,mac=52:54:{secrets.token_hex(1)}:aa:bb:02",
        ],
    )  # fmt: skip
    made.boot()
    return made, found


def filesystems(disk: Path) -> list[Ext4]:
    """What lies in partitions of a disk as ext4."""
    image = Image(disk)
    return [image.ext4(p) for p in image.partitions() if image.filesystem(p) == "ext4"]


def with_sources(found: Sequence[Ext4], file: str) -> tuple[Ext4, str]:
    """The file system that has `/srv/FILE`, and where its `/srv` is, which may be one of its own.

    AssertionError where none has.
    """
    for files in found:
        for top in ("/srv/", "/"):
            if files.exists(f"{top}{file}"):
                return files, top
    raise AssertionError(f"no ext4 in a partition has /srv/{file}")


def watch_arguments(guest: Guest) -> str:
    """Have the guest note the arguments of all processes, twice a second: the name of the notes."""
    path = f"/run/{secrets.token_hex(4)}"
    watch = f"while [ -e {path} ]; do cat /proc/[0-9]*/cmdline >>{path}; sleep 0.5; done"
    guest.say(f"( umask 077; : >{path}; setsid sh -c {quote(watch)} >/dev/null 2>&1 & )")
    return path


def watched_arguments(guest: Guest, path: str) -> str:
    """What was noted, each argument once, a line each; it ends the watch."""
    seen = guest.say(f"tr '\\0' '\\n' <{path} | sort -u | head -c 4M; rm {path}", 120)
    assert seen, "no process was seen"
    return seen


def keys_seen(guest: Guest, keys: Mapping[str, bytes], lines: Sequence[str], as_: str) -> str:
    """Which of the keys somebody can read who runs commands by `as_` (`su duty -c`), in files
    below usual folders and in what is mounted in memory, packed ones too; "" where none.

    `lines`: of keys that are no text a line of the file that has one, PEM's first of its data.
    """
    # What is typed is in the shell's history later: patterns that are not the keys themselves.
    words = [key.decode() for key in keys.values() if key.isascii()] + list(lines)
    ask = " ".join(f"-e '[{word[0]}]{word[1:]}'" for word in words)
    memory = " ".join(map(quote, guest.say(f"echo {MEMORY}").split()))
    places = f"/etc /tmp /var /home /root /mnt /media /opt {memory}"

    def asked(script: str) -> str:
        guest.write("/tmp/bench-ask", script)
        command = f"chmod 644 /tmp/bench-ask; {as_} 'sh /tmp/bench-ask'; rm /tmp/bench-ask"
        return guest.run(command, 240).stdout

    found = asked(f"grep -rls {ask} {places}\n").split()
    found = [path for path in found if path != "/tmp/bench-ask"]
    if found:
        return f"{found[:3]} show a key"
    small = f"find {memory} -xdev -readable \\( -type b -o -type f -size -256k \\)"
    data = asked(
        f"{small} -exec head -qc 8M {{}} + 2>/dev/null | head -c 24M | gzip | head -c 2M | base64\n"
    )
    shown = holds(all_unpacked([base64.b64decode(data)]), dict(keys))
    return f"others can read {shown}" if shown else ""
