"""What is asked of a cabinet more than once, and the scripts for its containers."""

from __future__ import annotations

import re
import secrets
import time
from pathlib import PurePosixPath
from types import SimpleNamespace

from benchflow.boot.errors import LoginFailed

LIST = (
    'cd /t && for f in {}; do if [ -e "$f" ]; then echo "$f=$(cat "$f")"; else echo "$f-"; fi; done'
)


def look(host, *names: str) -> dict[str, str]:
    """The content of files below /t of the container `layers`; "" for those that are missing."""
    said = host.ask(8002, LIST.format(" ".join(f"'{name}'" for name in names)))
    return {name: next((line.removeprefix(f"{name}=") for line in said.splitlines()
                        if line.startswith(f"{name}=")), "") for name in names}  # fmt: skip


def root_cannot_be_written(host, number: int) -> None:
    """[R5]; `number` is that of slot a's partition. What it tried may only show on the disk."""
    rows = [line.split() for line in host.say("cat /proc/mounts").splitlines()]
    mounts = {row[1]: (row[2], row[3].split(",")) for row in rows if len(row) > 3}
    kind, options = mounts["/"]
    assert kind == "ext4" and "ro" in options, f"/ is {kind} {options}; ext4, ro are due [R5]"
    for place in ("/run", "/tmp"):
        real = PurePosixPath(host.say(f"readlink -f {place}"))
        kind = next(mounts[f"{one}"][0] for one in (real, *real.parents) if f"{one}" in mounts)
        assert kind in ("tmpfs", "ramfs"), f"{place} lies in {kind}; memory is due [R5]"
        host.say(f"echo word >{place}/bench && rm {place}/bench")
    for way in ("mount -o remount,rw /", "mkdir -p /tmp/r; mount --bind / /tmp/r;"
                " mount -o remount,rw,bind /tmp/r; echo x >/tmp/r/bench"):  # fmt: skip
        host.machine.shell.run(way, timeout=30)
        done = host.code("echo word >/bench")
        assert done != 0, f"a file could be made in / after {way!r} [R5]"
    # Where it can be mounted, what is written there shows on the disk.
    host.machine.shell.run(
        f"mkdir -p /tmp/m && mount -t ext4 -o rw /dev/vda{number} /tmp/m; echo x >/tmp/m/bench;"
        " sync; umount /tmp/m /tmp/r"
    )


def passwords_that_let_in(machine, right: str) -> list[str]:
    """Which wrong passwords root gets in with, tried at a login prompt."""
    more, found = secrets.token_hex(3), []
    for wrong in ("", right[:8], f"{right}{more}", f"{right[:-1]}5", more):
        try:
            machine.login("root", wrong, timeout=60)
            found.append(wrong)
        except LoginFailed:
            pass
    return found


def refused(host, site, reason: str) -> None:
    """Every entry for which this reason is due is refused for it."""
    names = [name for name, due in site.refused.items() if due == reason]
    assert names
    deadline = host.machine.deadline(90)
    while True:
        containers = host.status()[1]
        said = {name: containers.get(name) or {} for name in names}
        found = {name: (one.get("state"), one.get("reason")) for name, one in said.items()}
        wrong = {name: pair for name, pair in found.items() if pair != ("refused", reason)}
        if not wrong:
            return
        late = all(state == "waiting" for state, _ in wrong.values()) and deadline.remaining() > 0
        assert late, f"refused for {reason!r} is due [R10], and this is said: {wrong}"
        time.sleep(1)


def ranges(host, port: int, kind: str) -> list[tuple[int, int, int]]:
    """The map of users (`uid`) or groups (`gid`) that holds behind a port."""
    rows = host.ask(port, f"cat /proc/self/{kind}_map").splitlines()
    return [tuple(int(word) for word in row.split()) for row in rows]


#: Prints the places at which anything answers.
KNOCK = """for p in PLACES; do
    set -- $p
    [ -z "$(printf 'GET / HTTP/1.0\\r\\n\\r\\n' | timeout 3 nc $1 $2 2>/dev/null)" ] || echo "$p"
done"""


#: Starts what it can, counts, and ends it again, in a shell that then cannot start anything.
FORKS = """read -r main </tmp/main
(i=0; while [ $i -lt MOST ]; do sleep 60 & i=$((i+1)); done) 2>&1
set -- /proc/[0-9]*; echo "count $#"
for p in "$@"; do
    read -r c <$p/comm
    [ $p = /proc/1 ] || [ $p = /proc/$main ] || [ $p = /proc/$$ ] || [ "$c" = httpd ] ||
        kill -9 ${p#/proc/}
done"""


class AsItRuns:
    """The accounts of a running host, for `ways_in`: what is mounted over a file counts."""

    def __init__(self, host) -> None:
        self._host = host

    def exists(self, path: str) -> bool:
        return self._host.has(path)

    def stat(self, path: str) -> SimpleNamespace:
        return SimpleNamespace(kind="file" if self._host.code(f"test -f {path}") == 0 else "other")

    def read_text(self, path: str) -> str:
        return self._host.say(f"cat {path}")


def starts(host, name: str) -> list[float]:
    """When a container started, in seconds of the machine's, from what it wrote."""
    return [float(text) for text in re.findall(r"^at (\d+\.\d+)$", host.logs(name), re.MULTILINE)]


def runs(host, release, slot: str, **wanted: object) -> None:
    """Assert that `release` runs and is confirmed."""
    deadline = host.machine.deadline(60)
    while (found := host.status()[0])["state"] != "confirmed":
        assert deadline.remaining() > 0, f"it is not confirmed: {found}"
        time.sleep(1)
    wanted = {"version": release.version, "slot": slot, **wanted}
    said = {key: found[key] for key in wanted}
    assert said == wanted, f"the host says {said}, due: {wanted} [R7]"
    text = host.say("cat /etc/host-release")
    assert release.build in text, f"/etc/host-release is not its own [R3]: {text!r}"


def keeps(host, shared) -> None:
    """Of web's volume; where no earlier check has left anything there, this is what is kept."""
    host.settled(["web"])
    if "kept" not in shared:
        shared["kept"] = secrets.token_hex(16)
        host.ask(8001, f"echo {shared['kept']} >/keep/cut; sync")
    assert host.ask(8001, "cat /keep/cut") == shared["kept"], "web's volume is not kept [R28]"
