"""What BusyBox's programs say of a unit, against what is known of it."""

from __future__ import annotations

import re

import draws


def shows(unit, rng) -> str:
    """What one of them does not show; "" where they show all."""
    word, kilobytes, seconds = (
        draws.word(rng, 7),
        4 * rng.randrange(100, 900),
        rng.randrange(90_000),
    )
    unit.say(f"mkdir /tmp/{word}; mount -t tmpfs -o size={kilobytes}k {word} /tmp/{word}")
    number = unit.say(f"sleep 9{seconds:05} >/dev/null 2>&1 & echo $!")
    due = {
        "ps": rf"\b{number}\b.*sleep 9{seconds:05}",
        "top -bn1": rf"(?m)^Mem: \d+K used, [1-9]\d*K free[\s\S]*^ *{number}\b.*sleep",
        "pidof sleep": rf"\b{number}\b",
        "df": rf"(?m)^{word} +{kilobytes} .* /tmp/{word}$",
        "mount": rf"(?m)^{word} on /tmp/{word} type tmpfs ",
        "uptime": r"load average: \d+\.\d\d, \d+\.\d\d, \d+\.\d\d",
        "dmesg": "",
        "ifconfig -a": r"(?m)^lo\b",
        "netstat -ltn": "Local Address",
    }
    for command, pattern in due.items():
        done = unit.run(command, 30)
        if done.status != 0 or not re.search(pattern, done.stdout):
            return f"{command}: status {done.status}, no /{pattern}/ in {done.stdout[-400:]!r}"
    unit.say(f"umount /tmp/{word}; kill {number}")
    had = unit.say("free -k | sed -n 's/^Mem: *//p'").split()
    least, most = unit.megabytes * 1024 * 85 // 100, unit.megabytes * 1024
    if len(had) < 3 or not least <= int(had[0]) <= most or not 0 < int(had[2]) < int(had[0]):
        return f"free: {had}, of {most} KiB"
    return ""


def shows_of_networks(unit, net, rng) -> str:
    """The same of the address and the route that came by DHCP, and of sockets."""
    tcp, udp = rng.sample(range(1024, 60_000), 2)
    unit.say(f"probe serves {tcp} 1 >/dev/null 2>&1 & probe turns {udp} >/dev/null 2>&1 &")
    listens = f"netstat -ltn | grep -q :{tcp} && netstat -lun | grep -q :{udp}"
    unit.until(lambda: unit.code(listens) == 0, 20, "sockets that listen, by netstat [R6]")
    own, host = re.escape(net.own), re.escape(net.host)
    due = {
        "ifconfig -a": rf"inet addr:{own} ",
        "ip addr": rf"inet {own}/24 ",
        "ip route": rf"(?m)^default via {host} dev ",
        "route -n": rf"(?m)^0\.0\.0\.0 +{host} +0\.0\.0\.0 ",
        "netstat -rn": rf"(?m)^0\.0\.0\.0 +{host} ",
    }
    for command, pattern in due.items():
        done = unit.run(command, 30)
        if done.status != 0 or not re.search(pattern, done.stdout):
            return f"{command}: status {done.status}, no /{pattern}/ in {done.stdout[-400:]!r}"
    unit.say("kill $(pidof probe)")
    return ""
