"""What a container can reach, and what it cannot: [R14] to [R19]."""

from __future__ import annotations

import hashlib
import re

from host import PORTS
from programs import PORT
from questions import KNOCK, ranges

DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}


def no_user_is_one_of_the_host(host) -> None:
    maps = {port: ranges(host, port) for port in (8001, 8002, 8004, 8005)}
    taken: list[tuple[int, int]] = []
    for port, rows in maps.items():
        assert rows, f"behind {port} there is no map of users"
        for _, outside, length in rows:
            assert outside > 0, f"behind {port}, a user is root on the host: {rows}"
            clash = [one for one in taken if outside < one[1] and one[0] < outside + length]
            assert not clash, f"two containers share users of the host: {maps}"
        taken += [(row[1], row[1] + row[2]) for row in rows]


def no_capabilities(host) -> None:
    for port in (8001, 8002):
        rows = host.ask(port, "cat /proc/1/status; cat /proc/self/status").splitlines()
        fields = [row.split() for row in rows if row.startswith(("Cap", "NoNewPrivs"))]
        assert len(fields) == 12, f"behind {port}: {fields}"
        for name, value in fields:
            wanted = "1" if name == "NoNewPrivs:" else "0" * 16
            assert value == wanted, f"behind {port}: {name} {value}"


def only_volumes_and_tmp_can_be_written(host) -> None:
    script = (
        "for d in / /bin /etc /t /dev /proc/sys/kernel /sys /keep /tmp; do"
        " if (echo x >$d/bench.x) 2>/dev/null; then echo $d; rm $d/bench.x; fi; done"
    )
    found = {port: set(host.ask(port, script).split()) for port in (8001, 8002)}
    assert found[8001] - {"/dev"} == {"/keep", "/tmp"}, f"web can write in {found[8001]}"
    assert found[8002] - {"/dev"} == {"/tmp"}, f"layers can write in {found[8002]}"
    kind = host.ask(8002, "sed -n 's/^[^ ]* \\/tmp \\([a-z]*\\) .*/\\1/p' /proc/mounts")
    assert kind == "tmpfs", f"/tmp is {kind!r}"


def no_processes_of_others(host) -> None:
    said = host.ask(8002, "cat /proc/[0-9]*/comm; echo; ls -d /proc/[0-9]*")
    comms = set(said.partition("\n\n")[0].split())
    # What `serve` and `ask` are made of.
    assert comms <= {"serve", "httpd", "ask", "sh", "cat", "ls", "busybox"}, f"it sees {comms}"


def no_devices_and_nothing_of_the_host(host) -> None:
    nodes = host.ask(8002, "find /dev -type b -o -type c", seconds=60).split()
    odd = [n for n in nodes if n.removeprefix("/dev/") not in DEVICES
           and not n.startswith("/dev/pts/")]  # fmt: skip
    assert not odd, f"devices: {odd}"
    script = "find / -name host-release -o -name site.json -o -name vmlinuz 2>/dev/null; :"
    assert host.ask(8002, script, seconds=90, every=60) == "", "it sees files of the host"
    tries = (
        "mknod /tmp/sda b 254 0 && echo made; mount -t tmpfs x /tmp && echo mounted;"
        "mount -o remount,rw / && echo remounted; hostname other && echo named;"
        "echo 1 >/proc/sys/kernel/panic && echo set; echo b >/proc/sysrq-trigger && echo asked; :"
    )
    said = host.ask(8002, tries)
    done = [line for line in said.splitlines() if " " not in line.strip() and line.strip()]
    assert not done, f"as root in a container: {done}"


def reach(host, nonce) -> None:
    word = nonce()
    host.ask(8001, "cat /word")
    said = host.ask_behind(8001, 9000, f"hostname; id -u; echo {word} | sha256sum | cut -c 1-64")
    wanted = ["ledger", "1234", hashlib.sha256(f"{word}\n".encode()).hexdigest()]
    assert (said or "").split() == wanted, f"web reaches, at 9000, {said!r}"


def nothing_else_answers(host) -> None:
    declared = (8001, 8002, 8004, 8005)
    heard = [port for port in PORTS if port not in declared and not host.silent(port)]
    assert not heard, f"these ports of the host answer: {heard}"


def containers_reach_nothing_else(host) -> None:
    addresses = {"10.0.2.15", "10.0.2.2"}
    script = "ip -4 addr; ip -4 route"
    for said in (host.say(script), host.ask(8001, script), host.ask(8002, script)):
        addresses |= set(re.findall(r"\b\d{1,3}(?:\.\d{1,3}){3}\b", said)[:24])
    addresses -= {a for a in addresses if a.startswith("127.") or a.endswith((".255", ".0"))}
    places = [f"{a} {port}" for a in sorted(addresses)[:12] for port in (8001, 8002, PORT)]
    places += ["127.0.0.1 8001", "127.0.0.1 8002", "127.0.0.1 9000"]
    control = f"127.0.0.1 {PORT}"
    own = set(re.findall(r"inet (\S+?)/", host.ask(8002, "ip -4 addr")))
    for place in range(0, len(places), 6):
        part = " ".join(f"'{one}'" for one in [control, *places[place : place + 6]])
        said = host.ask(8002, KNOCK.replace("PLACES", part), 120, 60).splitlines()
        assert control in said, f"it does not reach itself: {said}"
        odd = [one for one in places if one in said and one not in (f"{a} {PORT}" for a in own)]
        assert not odd, f"a container reaches {odd}"
