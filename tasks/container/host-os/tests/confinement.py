"""What a container can reach, and what it cannot: [R14] to [R19]."""

from __future__ import annotations

import hashlib
import http.server
import ipaddress
import re
import threading

from host import PORTS
from programs import PORT
from questions import KNOCK, ranges

#: Ports of the host that the first list declares, and those of clients of DHCP.
DECLARED = (8001, 8002, 8004, 8005)
DHCP = (68, 546)
DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}


def no_user_is_one_of_the_host(host) -> None:
    for kind in ("uid", "gid"):
        maps = {port: ranges(host, port, kind) for port in (8001, 8002, 8004, 8005)}
        taken: list[tuple[int, int]] = []
        for port, rows in maps.items():
            assert rows, f"behind {port} there is no {kind}_map [R14]"
            for _, outside, length in rows:
                assert outside > 0, f"behind {port}, {kind} 0 of the host is its own: {rows} [R14]"
                clash = [one for one in taken if outside < one[1] and one[0] < outside + length]
                assert not clash, f"two containers share {kind}s of the host: {maps} [R14]"
            taken += [(row[1], row[1] + row[2]) for row in rows]


def no_capabilities(host) -> None:
    script = "cat /proc/1/status /proc/$(cat /tmp/main)/status /proc/self/status"
    for port in DECLARED:
        rows = host.ask(port, script).splitlines()
        fields = [row.split() for row in rows if row.startswith(("Cap", "NoNewPrivs"))]
        assert len(fields) == 18, f"behind {port}: {fields}"
        held = [row for row in fields if row[0] != "NoNewPrivs:" and int(row[1], 16)]
        assert not held, f"behind {port} there are capabilities {held}; none are due [R14]"
        if any(row[0] == "NoNewPrivs:" and row[1] != "1" for row in fields):
            # Where set-user-id works nowhere, nothing is gained by it either.
            mounts = [row.split() for row in host.ask(port, "cat /proc/mounts").splitlines()]
            works = [row[1] for row in mounts if len(row) > 3 and "nosuid" not in row[3].split(",")]
            assert not works, f"behind {port} privileges can be gained by programs in {works} [R14]"


def nothing_is_gained(host) -> None:
    """In a user namespace that a container makes for itself, it would hold all capabilities."""
    for port in (8001, 8002):
        said = host.ask(port, "unshare -Ur cat /proc/self/status 2>/dev/null; :").splitlines()
        held = [row for row in said if row.startswith("Cap") and int(row.split()[1], 16)]
        assert not held, f"behind {port} it gives itself capabilities: {held} [R14]"


def only_volumes_and_tmp_can_be_written(host) -> None:
    script = (
        "for d in / /bin /etc /open /t /dev /proc/sys/kernel /sys /keep /tmp; do"
        " if (echo x >$d/bench.x) 2>/dev/null; then echo $d; rm $d/bench.x; fi; done"
    )
    found = {port: set(host.ask(port, script).split()) for port in DECLARED}
    due = {port: {"/keep", "/tmp"} if port in (8001, 8004) else {"/tmp"} for port in DECLARED}
    for port, places in due.items():
        wrote = found[port] - {"/dev"}
        assert wrote == places, f"behind {port} {wrote} can be written, {places} are due [R15]"
    kind = host.ask(8002, "sed -n 's/^[^ ]* \\/tmp \\([a-z]*\\) .*/\\1/p' /proc/mounts")
    assert kind in ("tmpfs", "ramfs"), f"/tmp is {kind!r}, memory is due [R15]"


def no_processes_of_others(host) -> None:
    # The first one may be an init that the host has given it.
    script = "for p in /proc/[0-9]*; do [ $p = /proc/1 ] || cat $p/comm; done 2>/dev/null"
    comms = set(host.ask(8002, script).split())
    # What `serve` and `ask` are made of.
    assert comms <= {"serve", "httpd", "ask", "sh", "cat", "ls", "busybox"}, (
        f"it sees {comms}: processes of others [R16]"
    )


def no_devices_and_nothing_of_the_host(host) -> None:
    nodes = host.ask(8002, "find /dev -type b -o -type c", seconds=60).split()
    odd = [n for n in nodes if n.removeprefix("/dev/") not in DEVICES
           and not n.startswith("/dev/pts/")]  # fmt: skip
    assert not odd, f"devices that [R16] does not name: {odd}"
    script = "find / -name host-release -o -name site.json -o -name vmlinuz 2>/dev/null; :"
    assert host.ask(8002, script, seconds=90, every=60) == "", "it sees files of the host [R16]"
    tries = (
        "mknod /tmp/sda b 254 0 && echo made; mount -t tmpfs x /tmp && echo mounted;"
        "mount -o remount,rw / && echo remounted; hostname other && echo named;"
        "echo 1 >/proc/sys/kernel/panic && echo set; echo b >/proc/sysrq-trigger && echo asked; :"
    )
    said = host.ask(8002, tries)
    done = [line for line in said.splitlines() if " " not in line.strip() and line.strip()]
    assert not done, f"what root in a container could do: {done} [R14, R16]"
    # As it is, and written again: some of these belong to root of a namespace.
    script = (
        "find /proc/sys -type f 2>/dev/null | while read -r f; do"
        ' { read -r v <$f && echo "$v" >$f; } 2>/dev/null && echo $f; done; :'
    )
    done = host.ask(8002, script, 90, 60).split()
    assert not done, f"root in a container can set {len(done)} values, {done[:3]} among them [R16]"


def reach(host, nonce) -> None:
    word = nonce()
    host.ask(8001, "cat /word")
    script = f"hostname; id -u; id -g; echo {word} | sha256sum | cut -c 1-64"
    said = host.ask_behind(8001, 9000, script)
    wanted = ["ledger", "1234", "2345", hashlib.sha256(f"{word}\n".encode()).hexdigest()]
    assert (said or "").split() == wanted, f"web reaches, at 9000, {said!r}, due {wanted} [R19]"


def nothing_else_answers(host) -> None:
    heard = [port for port in PORTS if port not in DECLARED and not host.silent(port)]
    assert not heard, f"these ports of the host answer: {heard} [R18]"


def nothing_else_listens(host, declared=DECLARED) -> None:
    """All that waits for somebody outside, as the kernel has it: TCP, UDP, both families."""
    allowed = {("tcp", port) for port in declared} | {("udp", port) for port in DHCP}
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in host.say(f"cat /proc/net/{table} 2>/dev/null; :").splitlines()[1:]:
            address, _, port = line.split()[1].rpartition(":")
            waits = line.split()[3] == ("0A" if table.startswith("tcp") else "07")
            if waits and not _loopback(address):
                found.add((table.removesuffix("6"), int(port, 16)))
    assert found <= allowed, f"somebody listens at {sorted(found - allowed)} [R18]"


def _loopback(address: str) -> bool:
    """Of an address as /proc/net has it: words of four bytes, the last byte first."""
    data = b"".join(bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8))
    mapped = data[:12] == bytes(10) + b"\xff\xff"
    return data[-4:][0] == 127 if len(data) == 4 or mapped else data == bytes(15) + b"\x01"


def containers_reach_nothing_else(host) -> None:
    addresses = {"10.0.2.15", "10.0.2.2"}
    script = "cat /proc/net/fib_trie /proc/net/route 2>/dev/null; ip -4 addr 2>/dev/null; :"
    for said in (host.say(script), host.ask(8001, script), host.ask(8002, script)):
        addresses |= set(re.findall(r"\b\d{1,3}(?:\.\d{1,3}){3}\b", said)[:24])
    addresses -= {a for a in addresses if a.startswith("127.") or a.endswith((".255", ".0"))}
    places = [f"{a} {port}" for a in sorted(addresses)[:12] for port in (8001, 8002, PORT)]
    places += ["127.0.0.1 8001", "127.0.0.1 8002", "127.0.0.1 9000"]
    places += [*_sixth_places(host), *_doors(host, 8002, PORT)]
    control = f"127.0.0.1 {PORT}"
    own = set(re.findall(r"inet (\S+?)/", host.ask(8002, "ip -4 addr")))
    own |= set(_sixth(host.ask(8002, SIXTH)))
    for place in range(0, len(places), 6):
        part = " ".join(f"'{one}'" for one in [control, *places[place : place + 6]])
        said = host.ask(8002, KNOCK.replace("PLACES", part), 120, 60).splitlines()
        assert control in said, f"it does not reach itself: {said} [R19]"
        odd = [one for one in places if one in said and one not in (f"{a} {PORT}" for a in own)]
        assert not odd, f"a container reaches {odd}, which nobody declared [R19]"


def _doors(host, port: int, *own: int) -> list[str]:
    """Where else than at `own` somebody listens in the container behind `port`, by TCP."""
    rows = [row.split() for row in host.ask(port, "cat /proc/net/tcp /proc/net/tcp6").splitlines()]
    waits = [row[1] for row in rows if len(row) > 3 and row[3] == "0A"]
    ports = {int(address.rpartition(":")[2], 16) for address in waits}
    return [f"127.0.0.1 {one}" for one in sorted(ports - set(own))]


class _Outside(http.server.BaseHTTPRequestHandler):
    """Somebody beyond the network card."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"outside\n")

    def log_message(self, *_words: object) -> None:
        pass


def containers_reach_nobody_outside(host) -> None:
    """A web server of ours, which the host's network has at 10.0.2.2."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Outside) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            control, outside = f"127.0.0.1 {PORT}", f"10.0.2.2 {server.server_address[1]}"
            for port, own in ((8001, (PORT, 9000)), (8002, (PORT,))):
                places = [control, outside, *_doors(host, port, *own)]
                script = KNOCK.replace("PLACES", " ".join(f"'{one}'" for one in places))
                said = set(host.ask(port, script, 120, 60).splitlines())
                assert control in said, f"behind {port} it does not reach itself: {said} [R19]"
                assert said == {control}, f"behind {port}, {said - {control}} is reached [R19]"
        finally:
            server.shutdown()


SIXTH = "cat /proc/net/if_inet6 2>/dev/null; :"


def _sixth(text: str) -> list[str]:
    """Addresses of the sixth family, but ::1, from /proc/net/if_inet6."""
    words = [line.split()[0] for line in text.splitlines() if len(line.split()) == 6]
    return [str(ipaddress.IPv6Address(bytes.fromhex(word))) for word in words
            if len(word) == 32 and int(word, 16) > 1]  # fmt: skip


def _sixth_places(host) -> list[str]:
    """Where others than `layers` may be reached by IPv6; nowhere, if it has a loopback alone."""
    links = {line.split(":")[0].strip() for line in host.ask(8002, "cat /proc/net/dev").splitlines()
             if ":" in line} - {"lo"}  # fmt: skip
    if not links:
        return []
    addresses = _sixth(host.say(SIXTH)) + _sixth(host.ask(8001, SIXTH))
    link = sorted(links)[0]
    return [f"{a}%{link} {port}" if a.startswith("fe80") else f"{a} {port}"
            for a in addresses[:6] for port in (8001, PORT)]  # fmt: skip
