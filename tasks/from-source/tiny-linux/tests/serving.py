"""The network, the services, and what the log tells of them."""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket

import seal
from accounts import capabilities
from unit import (
    ORDER,
    PORT,
    Ledger,
    logged,
    messages,
    root,
    said,
    until,
)

DHCP_CLIENT = 68


# -- the network -----------------------------------------------------------------------------------


def addresses(unit) -> set[str]:
    """Every IPv4 address of the unit but those of its loopback."""
    found = re.findall(r"\|-- (\S+)\n\s+/32 host LOCAL", said(unit, "/proc/net/fib_trie"))
    return {address for address in found if not address.startswith("127.")}


def routes(unit) -> list[list[str]]:
    rows = [line.split() for line in said(unit, "/proc/net/route").splitlines()[1:]]
    return [row for row in rows if len(row) > 7]


def gateways(unit) -> list[str]:
    """Where the default routes lead."""
    return [of_hex(row[2]) for row in routes(unit) if row[1] == row[7] == "00000000"]


def of_hex(word: str) -> str:
    return socket.inet_ntoa(int(word, 16).to_bytes(4, "little"))


def network(row: list[str]) -> ipaddress.IPv4Network:
    """What a route leads to."""
    return ipaddress.ip_network(f"{of_hex(row[1])}/{of_hex(row[7])}", strict=False)


def the_address_comes_by_dhcp(unit, lan) -> None:
    until(unit, 30, lambda: addresses(unit) == {lan.address})
    assert addresses(unit) == {lan.address}, (
        f"the unit has {addresses(unit)}; DHCP offers {lan.address} [R23]"
    )
    wanted = ipaddress.ip_network(f"{lan.address}/{lan.width}", strict=False)
    seen = {network(row) for row in routes(unit) if row[2] == "0" * 8}
    wider = [net for net in seen if net.supernet_of(wanted) and net != wanted]
    assert wanted in seen and not wider, f"the unit is on {seen}; DHCP offers {wanted} [R23]"
    assert set(gateways(unit)) == {lan.router}, (
        f"default routes lead to {gateways(unit)}; DHCP offers {lan.router} [R23]"
    )


def the_name_server_comes_by_dhcp(unit, lan) -> None:
    found = re.findall(r"^nameserver\s+(\S+)", said(unit, "/etc/resolv.conf"), re.MULTILINE)
    assert set(found) == {lan.server}, (
        f"/etc/resolv.conf has {found}; DHCP offers {lan.server} [R23]"
    )


def name_of(unit) -> str:
    return root(unit).run("uname -n").stdout.strip()


def the_name_comes_by_dhcp(unit, lan) -> None:
    until(unit, 15, lambda: name_of(unit) == lan.name)
    assert name_of(unit) == lan.name, f"it is {name_of(unit)!r}; DHCP offers {lan.name} [R24]"


def listening(unit) -> set[str]:
    """What waits for somebody to come, of every transport: `tcp 7070` and the like."""
    tables = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07", "udplite": "07"}
    found = set()
    for name, state in tables.items():
        text = root(unit).run(f"cat /proc/net/{name} 2>/dev/null").stdout
        ports = re.findall(rf":([0-9A-F]{{4}}) [0-9A-F]+:0000 {state} ", text)
        found |= {f"{name.removesuffix('6')} {int(port, 16)}" for port in ports}
    # Here the number is the protocol's; UDP may be how a client of DHCP hears.
    raw = root(unit).run("cat /proc/net/raw 2>/dev/null").stdout
    protocols = re.findall(r":([0-9A-F]{4}) [0-9A-F]+:0000 07 ", raw)
    found |= {f"protocol {int(number, 16)}" for number in protocols if int(number, 16) != 17}
    sctp = root(unit).run("cat /proc/net/sctp/eps 2>/dev/null").stdout.splitlines()
    return found | {f"sctp {line.split()[5]}" for line in sctp[1:] if len(line.split()) > 5}


def nothing_else_listens(unit) -> None:
    # A client of DHCP has to hear the answers.
    others = listening(unit) - {f"tcp {PORT}", f"udp {DHCP_CLIENT}"}
    assert not others, (
        f"{sorted(others)}: TCP port {PORT} is the only one on which anything listens [R25]"
    )


# -- the ledger ------------------------------------------------------------------------------------


def the_ledger_answers(unit, nonce, trees) -> None:
    ledger = Ledger(unit)
    key, value = nonce(), nonce()
    before = int(ledger.ask("COUNT").split()[1])
    path = "/ledger/journal"
    empty = all(not tree.exists(path) or not tree.stat(path).size for tree in trees)
    if empty and unit.boots == 1:
        opened = ledger.who()["opened"]
        assert (opened, before) == ("new", 0), (
            f"where no journal was it says opened={opened} and COUNT {before}, not new and 0 [R30]"
        )
    lines = [f"GET {key}", f"PUT {key} {value}", f"GET {key}", "COUNT"]
    wanted = ["NONE", f"OK {before + 1}", f"VALUE {value}", f"COUNT {before + 1}"]
    answers = ledger.ask_all(lines)
    assert answers == wanted, f"{lines} is answered by {answers}, not by {wanted} [R30]"
    ledger.close()


def the_ledger_keeps_to_its_manual(unit, nonce) -> None:
    ledger = Ledger(unit)
    key, values = nonce() + nonce()[:16], [nonce() * 6, nonce()]
    before = int(ledger.ask("COUNT").split()[1])
    lines = [line for value in values for line in (f"PUT {key} {value}", f"GET {key}")]
    wanted = [
        word for n, value in enumerate(values, before + 1) for word in (f"OK {n}", f"VALUE {value}")
    ]  # fmt: skip
    answers = ledger.ask_all(lines)
    assert answers == wanted, f"one key, put twice, is answered by {answers} [R30]"
    found = root(unit).run(f"grep -c {key} /data/ledger/journal").stdout.strip()
    assert found not in ("", "0"), f"/data/ledger/journal has {found!r} lines of what was put [R30]"
    who = ledger.who()
    ledger.close()
    gid = re.search(r"^Gid:\s+(\d+)", said(unit, f"/proc/{who['pid']}/status"), re.MULTILINE)
    assert gid and who["gid"] == gid[1], f"WHO says {who}, its Gid is {gid and gid[1]} [R30]"


def the_ledger_proves_where_it_runs(unit, nonce) -> None:
    ledger, shell = Ledger(unit), root(unit)
    one, two, three = nonce(), nonce(), nonce() + nonce()
    first = seal.verify(ORDER, one, ledger.ask(f"SEAL {one}"))
    counts = [
        first,
        seal.verify(ORDER, two, shell.run(f"seal {two}").stdout),
        seal.verify(ORDER, three, ledger.ask(f"SEAL {three}")),
    ]
    assert counts == [first, first + 1, first + 2], (
        f"ledgerd and the applet in turn: COUNT goes {counts}, whoever asked [R11] [R12]"
    )
    ledger.close()


def several_clients_are_served_at_once(unit, nonce) -> None:
    ledgers = [Ledger(unit) for _ in range(6)]
    values = {nonce(): nonce() for _ in range(6)}
    for ledger, (key, value) in zip(ledgers, values.items(), strict=True):
        answers = ledger.ask_all([f"PUT {key} {value}", *[f"GET {key}"] * 400])[1:]
        wrong = [answer for answer in answers if answer != f"VALUE {value}"]
        assert not wrong, f"of 400 GETs {len(wrong)} are wrong: {wrong[:2]} [R31]"
    for key, value in values.items():
        seen = {ledger.ask(f"GET {key}") for ledger in ledgers}
        assert seen == {f"VALUE {value}"}, f"several clients are told {seen} [R31]"
    for ledger in ledgers:
        ledger.close()


def the_ledger_runs_without_privileges(unit, inodes) -> None:
    ledger = Ledger(unit)
    who = ledger.who()
    ledger.close()
    people = [line.split(":") for line in said(unit, "/etc/passwd").splitlines()]
    wanted = {row[2] for row in people if row[0] == "ledger"}
    status = said(unit, f"/proc/{who['pid']}/status")
    uids = set(re.search(r"^Uid:\s+(.*)$", status, re.MULTILINE)[1].split())
    assert uids == wanted == {who["uid"]} and uids != {"0"}, (
        f"ledgerd runs as uid {sorted(uids)}, and the user ledger is {sorted(wanted)} [R30]"
    )
    groups = re.findall(r"^(?:Gid|Groups):\s+(.*)$", status, re.MULTILINE)
    assert "0" not in " ".join(groups).split(), f"ledgerd is in root's group: {groups} [R30]"
    assert not capabilities(status), f"ledgerd has {capabilities(status)}: no privileges [R30]"
    path = root(unit).run(f"readlink /proc/{who['pid']}/exe").stdout.strip()
    assert path in inodes.values() or path.endswith("/ledgerd"), f"{path} answers [R30]"


# -- the log ---------------------------------------------------------------------------------------


def messages_arrive_from_everywhere(unit, nonce) -> None:
    mark, note, kernel, later = nonce(), nonce(), nonce(), nonce()
    logged(root(unit), mark)
    # Each of the eight weights, of facilities that anybody may use.
    marks = {level: nonce() for level in LEVELS}
    for level, text in marks.items():
        facility = secrets.choice(("user", "daemon", "mail", "cron", "local0", "local7"))
        root(unit).run(f"logger -p {facility}.{level} {text}", check=True)
    ledger = Ledger(unit)
    answer = ledger.ask(f"NOTE {note}")
    assert answer == "OK", f"NOTE is answered by {answer!r} [R30]"
    ledger.close()
    root(unit).run(f"echo '<{secrets.randbelow(8)}>bench {kernel}' > /dev/kmsg", check=True)
    for text in (mark, f"note {note}", f"bench {kernel}", *marks.values()):
        found = until(unit, 20, lambda text=text: messages(unit, text))
        assert found, f"{text!r} is not in /data/log/messages [R32]"
    logged(root(unit), later)
    # Its parts may be of any name, and what is new is not in a part.
    until(unit, 20, lambda: messages(unit, later))
    new = root(unit).run(f"grep -l {later} /data/log/*").stdout.split()
    assert "/data/log/messages" in new, f"a new message is in {new}, not in messages [R32]"


def deaths_are_in_the_log(unit) -> None:
    for text in ("ledgerd failed", r"opened with [0-9]+ records \(recovered\)"):
        assert messages(unit, text), f"no line of the log has {text!r} [R28] [R32]"


LEVELS = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
#: All files of /data/log, however they are called: what they hold together.
HELD = (
    "s=0; ls -lnaR /data/log | while read -r mode links uid gid size rest; do "
    "case $mode in -*) s=$((s + size)); echo $s;; esac; done"
)
FLOOD = """
i=0
while [ $i -lt 3000 ]; do
    echo {line} $(({part} * 3000 + i)) {end}
    i=$((i + 1))
    [ $((i % 250)) = 0 ] && {{ {held}; }} >&2
done
"""


def a_flood_does_not_fill_the_disk(unit, nonce) -> None:
    shell, last = root(unit), nonce()
    line, sizes = "flood" * (4 + secrets.randbelow(37)), []
    for part in range(4):
        # What the log holds is asked all the while, and told beside what is logged.
        flood = FLOOD.format(line=line, part=part, end="end", held=HELD)
        told = shell.run(f"( ({flood}) | logger ) 2>&1", timeout=240).stdout
        told += shell.run(HELD, check=True).stdout
        sizes += [int(word) for word in re.findall(r"^(\d+)\s*$", told, re.MULTILINE)]
    logged(shell, last)
    assert until(unit, 20, lambda: messages(unit, last)), "the last message was lost [R33]"
    sizes += [int(word) for word in shell.run(HELD, check=True).stdout.split()]
    assert max(sizes) <= 256 * 1024, f"/data/log holds {max(sizes)} bytes: at most 256 KiB [R33]"
    found = re.findall(rf"{line} (\d+) end", "\n".join(messages(unit, "flood.* end$")))
    kept = [int(number) for number in found]
    assert len(kept) >= 20 and kept == list(range(12000 - len(kept), 12000)), (
        f"of 12000 numbered messages {len(kept)} are left, {kept[:3]} … {kept[-3:]}: what is "
        "lost is the oldest [R33]"
    )
