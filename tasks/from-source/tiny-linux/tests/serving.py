"""The network, the services, and what the log tells of them."""

from __future__ import annotations

import re
import secrets
import socket

import seal
from accounts import capabilities
from unit import (
    ORDER,
    PORT,
    SERVICES,
    Ledger,
    clerk,
    logged,
    messages,
    root,
    running,
    said,
    services,
    until,
    uptime,
)

DHCP_CLIENT = 68


# -- the network -----------------------------------------------------------------------------------


def addresses(unit) -> set[str]:
    """Every IPv4 address of the unit but those of its loopback."""
    found = re.findall(r"\|-- (\S+)\n\s+/32 host LOCAL", said(unit, "/proc/net/fib_trie"))
    return {address for address in found if not address.startswith("127.")}


def gateways(unit) -> list[str]:
    """Where the default routes lead."""
    rows = [line.split() for line in said(unit, "/proc/net/route").splitlines()[1:]]
    return [
        socket.inet_ntoa(int(row[2], 16).to_bytes(4, "little"))
        for row in rows
        if len(row) > 7 and row[1] == row[7] == "00000000"
    ]


def the_address_comes_by_dhcp(unit, lan) -> None:
    until(unit, 30, lambda: addresses(unit) == {lan.address})
    assert addresses(unit) == {lan.address}, (
        f"the unit has {addresses(unit)}; DHCP offers {lan.address} [R23]"
    )
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
    return found


def nothing_else_listens(unit) -> None:
    # A client of DHCP has to hear the answers.
    others = listening(unit) - {f"tcp {PORT}", f"udp {DHCP_CLIENT}"}
    assert not others, (
        f"{sorted(others)}: TCP port {PORT} is the only one on which anything listens [R25]"
    )


# -- the ledger ------------------------------------------------------------------------------------


def the_ledger_answers(unit, nonce) -> None:
    ledger = Ledger(unit)
    key, value = nonce(), nonce()
    before = int(ledger.ask("COUNT").split()[1])
    lines = [f"GET {key}", f"PUT {key} {value}", f"GET {key}", "COUNT"]
    wanted = ["NONE", f"OK {before + 1}", f"VALUE {value}", f"COUNT {before + 1}"]
    answers = ledger.ask_all(lines)
    assert answers == wanted, f"{lines} is answered by {answers}, not by {wanted} [R30]"
    ledger.close()


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


# -- supervision -----------------------------------------------------------------------------------


def all_services_are_up(unit) -> None:
    until(unit, 30, lambda: all(state == "up" for state, _ in services(unit).values()))
    found = services(unit)
    assert sorted(found) == sorted(SERVICES), f"svc status shows {found} [R26]"
    for name in SERVICES:
        assert running(unit, name), f"{name} is {found[name]}: up, with its process [R26]"
    pids = {pid for _, pid in found.values()}
    assert len(pids) == len(SERVICES), f"not each a process of its own: {found} [R26]"
    pid = Ledger(unit).who()["pid"]
    assert pid == str(running(unit, "ledgerd")), f"process {pid} answers; {found} [R26]"


# In the guest, so that what we type is not counted. Prints the new process and both times.
KILL = """
set -- $(svc status | grep "^{name}[[:space:]]"); old=$3
read from rest < /proc/uptime; to=$from
kill -{signal} $old
while [ $((${{to%%.*}} - ${{from%%.*}})) -lt 12 ]; do
    sleep 0.3 2>/dev/null || sleep 1
    set -- $(svc status | grep "^{name}[[:space:]]")
    read to rest < /proc/uptime
    [ "$2" = up ] && [ "$3" != "$old" ] && kill -0 "$3" && break
done
echo "again $old $2 $3 $from $to"
"""


def killed(unit, name: str, signal: str) -> None:
    """A service is killed, and comes back in time."""
    shell, limit = root(unit), unit.deadline(60)
    text = shell.run(KILL.format(name=name, signal=signal), timeout=60).stdout
    outside = limit.used()
    found = re.search(r"again (\d+) (\S+) (\S+) ([\d.]+) ([\d.]+)", text)
    assert found, f"{name} was killed by {signal}: {text[-200:]!r} [R27]"
    old, state, new, since, until_ = found.groups()
    # Its own clock runs on while the host is busy; ours counts what we typed, too.
    took = min(float(until_) - float(since), outside)
    assert state == "up" and new != old, f"{name}, killed by {signal}, is {state} {new} [R27]"
    assert took <= 6, f"{name}, killed by {signal}, is back after {took:.1f} s, not 5 [R27]"


def what_dies_comes_back(unit, shared) -> None:
    for name in SERVICES:
        killed(unit, name, "KILL")
    opened = Ledger(unit).who()["opened"]
    assert opened == "recovered", f"killed, ledgerd says {opened!r} [R27] [R30]"
    for name in SERVICES:
        killed(unit, name, "TERM" if name == "ledgerd" else secrets.choice(["TERM", "SEGV", "BUS"]))
    opened = Ledger(unit).who()["opened"]
    assert opened == "clean", f"ended by SIGTERM, ledgerd says {opened!r} [R30]"
    for _ in range(3):
        killed(unit, "power", "KILL")
    shared["five"] = uptime(unit)


def services_obey(unit) -> None:
    shell = root(unit)
    done = shell.run("svc stop ledgerd; s=$?; svc status; exit $s", timeout=60)
    assert done.status == 0, f"svc stop ledgerd ends with {done.status} [R29]"
    assert re.search(r"^ledgerd\s+down\s+-", done.stdout, re.MULTILINE), (
        f"when svc stop ledgerd has returned: {done.stdout!r} [R29]"
    )
    shell.run("sleep 7")
    state = services(unit)["ledgerd"]
    assert state == ("down", 0), f"7 s after it was stopped ledgerd is {state} [R29]"
    done = shell.run("svc start ledgerd; s=$?; svc status; exit $s", timeout=60)
    assert done.status == 0 and re.search(r"^ledgerd\s+up\s+\d", done.stdout, re.MULTILINE), (
        f"when svc start ledgerd has returned (status {done.status}): {done.stdout!r} [R29]"
    )
    ledger = Ledger(unit)
    who = ledger.who()
    ledger.close()
    assert who["opened"] == "clean", f"stopped in order, it says {who['opened']!r} [R29] [R38]"
    status = shell.run("svc restart ledgerd", timeout=60).status
    again = Ledger(unit).who()
    assert status == 0 and again["pid"] != who["pid"] and again["opened"] == "clean", (
        f"svc restart ledgerd ends with {status}; before {who}, after {again} [R29]"
    )
    for word in ("start", "stop", "restart"):
        assert shell.run(f"svc {word} nonesuch").status != 0, f"svc {word} nonesuch is 0 [R29]"
        assert clerk(unit).run(f"svc {word} ledgerd").status != 0, f"clerk may {word} [R29]"
        shell = root(unit)
    pid = running(unit, "ledgerd")
    assert pid == int(again["pid"]), f"clerk replaced ledgerd {again['pid']} by {pid} [R29]"


def stopped_services_do_nothing(unit, nonce) -> None:
    """What `svc` calls klogd and syslogd is what does their work."""
    shell = root(unit)
    one, two = nonce(), nonce()
    shell.run("svc stop klogd", timeout=60, check=True)
    shell.run(f"echo '<4>bench {one}' > /dev/kmsg; sleep 3", check=True)
    seen = messages(unit, one)
    shell.run("svc start klogd", timeout=60, check=True)
    assert not seen, f"klogd is stopped, and the log has {seen[:1]} [R26] [R29]"
    shell.run("svc stop syslogd", timeout=60, check=True)
    shell.run(f"logger -t bench {two} & sleep 3")
    seen = messages(unit, two)
    shell.run("svc start syslogd", timeout=60, check=True)
    assert not seen, f"syslogd is stopped, and the log has {seen[:1]} [R26] [R29]"
    assert all(running(unit, name) for name in SERVICES), f"then: {services(unit)} [R29]"


# In the guest, so that a slow bench does not stretch the minute.
KILL_AGAIN_AND_AGAIN = """
deaths=0 turns=0 last=
while [ $turns -lt 50 ] && [ $deaths -lt 8 ]; do
    set -- $(svc status | grep "^ledgerd[[:space:]]")
    [ "$2" = failed ] && break
    if [ "$2" = up ] && [ "$3" != "$last" ] && kill -9 "$3"; then
        last=$3 deaths=$((deaths + 1))
    fi
    sleep 1
    turns=$((turns + 1))
done
echo $deaths
"""


def what_keeps_dying_is_given_up(unit) -> None:
    root(unit).run("svc restart ledgerd", timeout=60)
    deaths = root(unit).run(KILL_AGAIN_AND_AGAIN, timeout=180).stdout.split()[-1]
    found = services(unit)
    assert deaths == "6" and found["ledgerd"] == ("failed", 0), (
        f"after {deaths} deaths within a minute: {found}; failed after the sixth [R28]"
    )
    root(unit).run("sleep 6")
    found = services(unit)
    assert found["ledgerd"] == ("failed", 0), f"failed, then {found['ledgerd']} [R28]"
    others = [name for name in SERVICES if name != "ledgerd" and not running(unit, name)]
    assert not others, f"{others} do not go on when ledgerd has failed [R28]"


def what_was_given_up_can_be_started_again(unit) -> None:
    status = root(unit).run("svc start ledgerd", timeout=60).status
    assert status == 0, f"svc start of a failed service ends with {status} [R28]"
    # The count begins again: this is its first death, not its seventh.
    killed(unit, "ledgerd", "KILL")
    pid = Ledger(unit).who()["pid"]
    assert pid == str(running(unit, "ledgerd")), f"process {pid} answers; {services(unit)} [R28]"


def five_deaths_are_forgotten_after_a_minute(unit, shared) -> None:
    rest = 62 - (uptime(unit) - shared["five"])
    if rest > 0:
        root(unit).run(f"sleep {int(rest) + 1}", timeout=120)
    killed(unit, "power", "KILL")


# -- the log ---------------------------------------------------------------------------------------


def messages_arrive_from_everywhere(unit, nonce) -> None:
    mark, note, kernel = nonce(), nonce(), nonce()
    logged(root(unit), mark)
    ledger = Ledger(unit)
    answer = ledger.ask(f"NOTE {note}")
    assert answer == "OK", f"NOTE is answered by {answer!r} [R30]"
    ledger.close()
    root(unit).run(f"echo '<3>bench {kernel}' > /dev/kmsg", check=True)
    for text in (mark, f"note {note}", f"bench {kernel}"):
        found = until(unit, 20, lambda text=text: messages(unit, text))
        assert found, f"{text!r} is not in /data/log/messages [R32]"


def deaths_are_in_the_log(unit) -> None:
    for text in ("ledgerd failed", r"opened with [0-9]+ records \(recovered\)"):
        assert messages(unit, text), f"no line of the log has {text!r} [R28] [R32]"


FLOOD = "i=0; while [ $i -lt 3000 ]; do echo {line} $(({part} * 3000 + i)) {end}; i=$((i+1)); done"


def a_flood_does_not_fill_the_disk(unit, nonce) -> None:
    shell, last = root(unit), nonce()
    line, sizes = "flood" * 40, []
    for part in range(4):
        flood = FLOOD.format(line=line, part=part, end="end")
        shell.run(f"({flood}) | logger", timeout=240)
        sizes.append(int(shell.run("cat /data/log/* | wc -c", check=True).stdout))
    logged(shell, last)
    assert until(unit, 20, lambda: messages(unit, last)), "the last message was lost [R33]"
    sizes.append(int(shell.run("cat /data/log/* | wc -c", check=True).stdout))
    assert max(sizes) <= 256 * 1024, f"/data/log holds {max(sizes)} bytes: at most 256 KiB [R33]"
    found = re.findall(rf"{line} (\d+) end", "\n".join(messages(unit, "flood.* end$")))
    kept = [int(number) for number in found]
    assert len(kept) >= 20 and kept == list(range(12000 - len(kept), 12000)), (
        f"of 12000 numbered messages {len(kept)} are left, {kept[:3]} … {kept[-3:]}: what is "
        "lost is the oldest [R33]"
    )
