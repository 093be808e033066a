"""The network, the services, and what the log tells of them."""

from __future__ import annotations

import re

import seal
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
    services,
    until,
)


def the_address_comes_by_dhcp(unit, lan) -> None:
    shell = root(unit)
    found = until(unit, 30, lambda: lan.address in shell.run("ip -4 addr show").stdout)
    assert found, f"no card has the address {lan.address} that was offered"
    assert f"via {lan.prefix}.2 " in shell.run("ip route show default").stdout + " "


def the_name_server_comes_by_dhcp(unit, lan) -> None:
    text = root(unit).run("cat /etc/resolv.conf").stdout
    assert re.findall(r"^nameserver +(\S+)", text, re.MULTILINE) == [f"{lan.prefix}.3"]


def the_name_comes_by_dhcp(unit, lan) -> None:
    assert until(unit, 15, lambda: root(unit).run("hostname").stdout.strip() == lan.name)


def the_ledger_answers(unit, nonce) -> None:
    ledger = Ledger(unit)
    key, value = nonce(), nonce()
    before = int(ledger.ask("COUNT").split()[1])
    assert ledger.ask(f"GET {key}") == "NONE"
    assert ledger.ask(f"PUT {key} {value}") == f"OK {before + 1}"
    assert ledger.ask(f"GET {key}") == f"VALUE {value}"
    ledger.close()


def the_ledger_proves_where_it_runs(unit, nonce) -> None:
    ledger, shell = Ledger(unit), root(unit)
    one, two, three = nonce(), nonce(), nonce() + nonce()
    first = seal.verify(ORDER, one, ledger.ask(f"SEAL {one}"))
    assert seal.verify(ORDER, two, shell.run(f"seal {two}").stdout) == first + 1
    assert seal.verify(ORDER, three, ledger.ask(f"SEAL {three}")) == first + 2
    ledger.close()


def several_clients_are_served_at_once(unit, nonce) -> None:
    ledgers = [Ledger(unit) for _ in range(6)]
    values = {nonce(): nonce() for _ in range(6)}
    for ledger, (key, value) in zip(ledgers, values.items(), strict=True):
        lines = [f"PUT {key} {value}", *[f"GET {key}"] * 400]
        assert ledger.ask_all(lines)[1:] == [f"VALUE {value}"] * 400
    for key, value in values.items():
        assert {ledger.ask(f"GET {key}") for ledger in ledgers} == {f"VALUE {value}"}
    for ledger in ledgers:
        ledger.close()


def the_ledger_runs_without_privileges(unit) -> None:
    ledger = Ledger(unit)
    who = ledger.who()
    ledger.close()
    shell = root(unit)
    status = shell.run(f"cat /proc/{who['pid']}/status", check=True).stdout
    uids = re.search(r"^Uid:\s+(.*)$", status, re.MULTILINE)[1].split()
    assert set(uids) == {who["uid"]} and who["uid"] != "0"
    assert shell.run("id -u ledger").stdout.strip() == who["uid"]
    assert re.search(r"^CapEff:\s+0+$", status, re.MULTILINE), "ledgerd has capabilities"
    assert shell.run(f"readlink /proc/{who['pid']}/exe").stdout.strip().endswith("/ledgerd")


def nothing_else_listens(unit) -> None:
    text = root(unit).run("cat /proc/net/tcp; echo; cat /proc/net/tcp6 2>/dev/null").stdout
    ports = {int(p, 16) for p in re.findall(r":([0-9A-F]{4}) [0-9A-F]+:0000 0A ", text)}
    assert ports == {PORT}


def all_services_are_up(unit) -> None:
    found = services(unit)
    assert sorted(found) == sorted(SERVICES)
    for name in SERVICES:
        pid = running(unit, name)
        assert pid, f"{name}: {found[name]}"
    assert len({pid for _, pid in services(unit).values()}) == len(SERVICES)
    assert Ledger(unit).who()["pid"] == str(running(unit, "ledgerd"))


def what_dies_comes_back(unit) -> None:
    for name in SERVICES:
        pid = running(unit, name)
        assert pid, f"{name} is not up"
        root(unit).run(f"kill -9 {pid}", check=True)
        new = until(unit, 8, lambda name=name, pid=pid: running(unit, name) not in (0, pid))
        assert new, f"{name} did not come back"
    assert Ledger(unit).who()["opened"] == "recovered"


def services_obey(unit) -> None:
    shell = root(unit)
    assert shell.run("svc stop ledgerd", timeout=60).status == 0
    shell.run("sleep 7")
    assert services(unit)["ledgerd"] == ("down", 0), "a stopped service came back"
    assert shell.run("svc start ledgerd", timeout=60).status == 0
    ledger = Ledger(unit)
    who = ledger.who()
    ledger.close()
    assert who["opened"] == "clean", "ledgerd was not stopped in order"
    assert shell.run("svc restart ledgerd", timeout=60).status == 0
    again = Ledger(unit).who()
    assert again["pid"] != who["pid"] and again["opened"] == "clean"
    assert shell.run("svc start nonesuch").status != 0
    assert clerk(unit).run("svc stop ledgerd").status != 0
    assert running(unit, "ledgerd") == int(again["pid"])


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
    assert services(unit)["ledgerd"] == ("failed", 0), f"after {deaths} deaths: {services(unit)}"
    assert deaths == "6", f"given up after {deaths} deaths"
    root(unit).run("sleep 6")
    assert services(unit)["ledgerd"] == ("failed", 0)
    assert all(running(unit, name) for name in SERVICES if name != "ledgerd")


def what_was_given_up_can_be_started_again(unit) -> None:
    assert root(unit).run("svc start ledgerd", timeout=60).status == 0
    assert Ledger(unit).who()["pid"] == str(running(unit, "ledgerd"))


def messages_arrive_from_everywhere(unit, nonce) -> None:
    mark, note = nonce(), nonce()
    logged(root(unit), mark)
    ledger = Ledger(unit)
    assert ledger.ask(f"NOTE {note}") == "OK"
    ledger.close()
    kernel = nonce()
    root(unit).run(f"echo '<3>bench {kernel}' > /dev/kmsg", check=True)
    for text in (mark, f"ledgerd\\[[0-9]+\\]: note {note}", f"bench {kernel}"):
        assert until(unit, 10, lambda text=text: messages(unit, text)), f"{text} is not logged"


def deaths_are_in_the_log(unit) -> None:
    assert messages(unit, "ledgerd failed"), "nothing says that ledgerd failed"
    assert messages(unit, "ledgerd.*opened with [0-9]+ records \\(recovered\\)")


def a_flood_does_not_fill_the_disk(unit, nonce) -> None:
    shell, last = root(unit), nonce()
    line = "flood" * 40
    for part in range(4):
        shell.run(
            f"i=0; while [ $i -lt 3000 ]; do echo {line} {part} $i; i=$((i+1)); done | logger",
            timeout=240,
        )
    logged(shell, last)
    assert until(unit, 20, lambda: messages(unit, last)), "the last message was lost"
    size = int(shell.run("cat /data/log/* | wc -c", check=True).stdout)
    assert size <= 256 * 1024, f"/data/log holds {size} bytes"
    assert len(messages(unit, f"{line} 3 2[0-9][0-9][0-9]$")) > 150, "recent messages are gone"
