"""Services that are looked after: alive, dead, given up, stopped."""

from __future__ import annotations

import re
import secrets

from serving import listening, name_of
from unit import (
    PORT,
    SERVICES,
    Ledger,
    clerk,
    messages,
    root,
    running,
    said,
    services,
    until,
    uptime,
)


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


DEADLY = ("TERM", "SEGV", "BUS", "ILL", "FPE", "ABRT")


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
        killed(unit, name, "TERM" if name == "ledgerd" else secrets.choice(DEADLY))
    opened = Ledger(unit).who()["opened"]
    assert opened == "clean", f"ended by SIGTERM, ledgerd says {opened!r} [R30]"
    for _ in range(3):
        killed(unit, "power", "KILL")
    shared["five"] = uptime(unit)


def services_obey(unit) -> None:
    shell = root(unit)
    pid = running(unit, "ledgerd")
    look = f"svc stop ledgerd; s=$?; echo exe: $(readlink /proc/{pid}/exe); svc status; exit $s"
    done = shell.run(look, timeout=60)
    assert done.status == 0, f"svc stop ledgerd ends with {done.status} [R29]"
    assert "exe: /" not in done.stdout, f"svc stop has returned, and {pid} runs on [R29]"
    assert re.search(r"^ledgerd\s+down\s+-", done.stdout, re.MULTILINE), (
        f"when svc stop ledgerd has returned: {done.stdout!r} [R29]"
    )
    shell.run("sleep 7")
    state = services(unit)["ledgerd"]
    assert state == ("down", 0), f"7 s after it was stopped ledgerd is {state} [R29]"
    ports = listening(unit)
    assert f"tcp {PORT}" not in ports, f"ledgerd is stopped, and {ports} listens [R29]"
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
    dhcp_does_its_work(unit, nonce)
    assert all(running(unit, name) for name in SERVICES), f"then: {services(unit)} [R29]"


def dhcp_does_its_work(unit, nonce) -> None:
    """What is called dhcp is what gives the unit its name and its name server."""
    shell, name, given = root(unit), nonce()[:12], name_of(unit)
    servers = said(unit, "/etc/resolv.conf")
    shell.run("svc stop dhcp", timeout=60, check=True)
    shell.run(f"echo {name} > /proc/sys/kernel/hostname; : > /etc/resolv.conf", check=True)
    shell.run("sleep 4")
    seen = name_of(unit), said(unit, "/etc/resolv.conf")
    shell.run("svc start dhcp", timeout=60, check=True)
    assert seen == (name, ""), f"dhcp is stopped, and {seen} comes from somewhere [R26] [R29]"
    until(unit, 30, lambda: (name_of(unit), said(unit, "/etc/resolv.conf")) == (given, servers))
    seen = name_of(unit), said(unit, "/etc/resolv.conf")
    assert seen == (given, servers), (
        f"dhcp was started, and name and name server are {seen}: it was {given} [R24] [R26]"
    )


def a_torn_line_is_cut_off(unit, nonce) -> None:
    shell, key, value = root(unit), nonce(), nonce()
    before = Ledger(unit).ask("COUNT")
    shell.run("svc stop ledgerd", timeout=60, check=True)
    shell.run(f"printf 'P {nonce()} to' >> /data/ledger/journal", check=True)
    shell.run("svc start ledgerd", timeout=60, check=True)
    ledger = Ledger(unit)
    answers = ledger.ask_all(["COUNT", f"PUT {key} {value}"])
    ledger.close()
    shell.run("svc restart ledgerd", timeout=60, check=True)
    answers.append(Ledger(unit).ask(f"GET {key}"))
    wanted = [before, f"OK {int(before.split()[1]) + 1}", f"VALUE {value}"]
    assert answers == wanted, f"after a torn line and a start {answers}, not {wanted} [R30]"


# In the guest, so that a slow bench does not stretch the minute.
KILL_AGAIN_AND_AGAIN = """
deaths=0 turns=0 last=
while [ $turns -lt 50 ] && [ $deaths -lt 8 ]; do
    set -- $(svc status | grep "^{name}[[:space:]]")
    [ "$2" = failed ] && break
    if [ "$2" = up ] && [ "$3" != "$last" ] && kill -9 "$3"; then
        last=$3 deaths=$((deaths + 1))
    fi
    sleep 1
    turns=$((turns + 1))
done
echo $deaths
"""


def what_keeps_dying_is_given_up(unit, shared) -> None:
    # And one of those whose end the log can tell: `power` is minded elsewhere.
    shared["given up"] = ["ledgerd", secrets.choice(("dhcp", "klogd"))]
    for name in shared["given up"]:
        root(unit).run(f"svc restart {name}", timeout=60)
        script = KILL_AGAIN_AND_AGAIN.replace("{name}", name)
        deaths = root(unit).run(script, timeout=180).stdout.split()[-1]
        found = services(unit)
        assert deaths == "6" and found[name] == ("failed", 0), (
            f"{name} after {deaths} deaths within a minute: {found}; failed after the sixth [R28]"
        )
        root(unit).run("sleep 6")
        found = services(unit)
        assert found[name] == ("failed", 0), f"{name} is failed, then {found[name]} [R28]"
        others = [other for other in SERVICES if other not in shared["given up"]]
        others = [other for other in others if not running(unit, other)]
        assert not others, f"{others} do not go on when {name} has failed [R28]"


def what_was_given_up_can_be_started_again(unit, shared) -> None:
    for name in shared["given up"]:
        status = root(unit).run(f"svc start {name}", timeout=60).status
        assert status == 0, f"svc start of {name}, which failed, ends with {status} [R28]"
        # The count begins again: this is its first death, not its seventh.
        killed(unit, name, "KILL")
        found = until(unit, 20, lambda name=name: messages(unit, f"{name} failed"))
        assert found, f"no line of the log has '{name} failed' [R28]"
    pid = Ledger(unit).who()["pid"]
    assert pid == str(running(unit, "ledgerd")), f"process {pid} answers; {services(unit)} [R28]"
    # Four deaths by now; with three more and no new count in between it would be given up.
    for _ in range(3):
        killed(unit, "ledgerd", "KILL")
    status = root(unit).run("svc restart ledgerd", timeout=60).status
    assert status == 0, f"svc restart ledgerd ends with {status} [R29]"
    for _ in range(3):
        killed(unit, "ledgerd", "KILL")


#: One death, and the minute that begins with it: three within it, three after. The sixth within
#: a minute is the seventh of all. In the guest, as above.
SLIDE = """
die() {
    n=0
    while [ $n -lt 24 ]; do
        set -- $(svc status | grep "^klogd[[:space:]]")
        [ "$2" = up ] && [ "$3" != "$last" ] && kill -9 $3 && last=$3 && break
        [ "$2" = failed ] && break
        sleep 0.3 2>/dev/null || sleep 1
        n=$((n + 1))
    done
    s=; read s t < /proc/uptime; echo "at ${s%%.*} $2"
}
last=; svc restart klogd; die; sleep 41; die; die; die
"""
SLID = "last=; die; die; die; sleep 6"


def a_minute_is_any_minute(unit) -> None:
    shell = root(unit)
    text = shell.run(SLIDE, timeout=240).stdout
    at = [int(number) for number in re.findall(r"^at (\d+) up", text, re.MULTILINE)]
    assert len(at) == 4, f"klogd, killed four times: {text[-200:]!r} [R27]"
    rest = 62 - (uptime(unit) - at[0])
    shell.run(f"sleep {max(1, int(rest) + 1)}", timeout=120)
    text = shell.run(SLIDE[: SLIDE.index("last=;")] + SLID, timeout=120).stdout
    at += [int(number) for number in re.findall(r"^at (\d+) up", text, re.MULTILINE)]
    state = services(unit)["klogd"]
    shell.run("svc start klogd", timeout=60)
    assert len(at) == 7, f"killed at {at}, five times within a minute it is not back [R28]"
    # On a bench that is too slow for it the minute is over.
    assert state == ("failed", 0) or at[6] - at[1] >= 59, (
        f"killed at {at} it is {state}: six times within a minute, wherever it begins [R28]"
    )


def five_deaths_are_forgotten_after_a_minute(unit, shared) -> None:
    rest = 62 - (uptime(unit) - shared["five"])
    if rest > 0:
        root(unit).run(f"sleep {int(rest) + 1}", timeout=120)
    killed(unit, "power", "KILL")
