"""Everything at once, in a unit with little memory."""

from __future__ import annotations

import re

import draws
from power import mounted, unmounted
from unit import card, lease_script, leased

from benchflow.boot import Disk

NIGHT = 8  # rounds


def stopped(status: int) -> bool:
    """Refused, or ended by a signal."""
    return status == 3 or status > 128


def everything(starts, disk, rng, net, loopback, parts) -> None:
    """Parts, hogs, a disk and calls, each in a lane of its own."""
    unit = starts(
        name="night", memory_mb=rng.randrange(180, 230), cpus=2, disks=[Disk(disk)],
        extra_args=card(net), files=lease_script(),
    ).up()  # fmt: skip
    leased(unit, net)
    mounted(unit, "/dev/vda")
    asked = [(rng.choice(parts), draws.seed(rng)) for _ in range(3 * NIGHT)]
    words = [draws.word(rng) for _ in range(NIGHT)]
    seed, many = draws.seed(rng), 3000
    modest = unit.say("probe modest >/dev/null 2>&1 & echo $!")
    lanes = {
        "parts": "; ".join(f"{'probe32' if n % 3 == 0 else 'probe'} {part} {value}"
                           for n, (part, value) in enumerate(asked)),
        "hogs": "; ".join(["probe hog; echo $?"] * 2),
        "disk": "; ".join(f"for n in $(seq 20); do echo {word}$n >/mnt/{word}$n; done; sync; "
                          f"cat /mnt/{word}* | wc -c; rm /mnt/{word}1*" for word in words),
        "calls": "; ".join([f"probe calls {seed} {net.host} {loopback.tcp} {many}"] * NIGHT),
    }  # fmt: skip
    for name, script in lanes.items():
        unit.write(f"/tmp/{name}.sh", script.replace("; ", "\n") + "\necho over\n")
    for name in lanes:
        unit.say(f"sh /tmp/{name}.sh >/tmp/{name}.out 2>/tmp/{name}.err &")
    said = {}
    for name in lanes:
        unit.until(lambda name=name: unit.code(f"grep -q '^over' /tmp/{name}.out") == 0, 300,
                   f"end of {name} among everything at once [R23]", every=2)  # fmt: skip
        said[name] = unit.say(f"cat /tmp/{name}.out").splitlines()
    sent = b"".join(value.to_bytes(8, "little") for value in draws.first(seed, many))
    due = {
        "parts": [draws.due(part, value) for part, value in asked],
        "disk": [str(sum(len(f"{word}{n}\n") for n in range(1, 21))) for word in words],
        "calls": [draws.total(sent)] * NIGHT,
    }  # fmt: skip
    for name, lines in due.items():
        got = [line for line in said[name] if line][:-1]
        assert got == lines, f"{name}, among everything at once: {got[:6]}, not {lines[:6]} [R23]"
    ends = [int(line) for line in said["hogs"] if re.fullmatch(r"\d{1,3}", line)]
    assert len(ends) == 2 and all(map(stopped, ends)), f"hogs: {said['hogs']} [R22]"
    assert unit.code(f"kill -0 {modest}") == 0, "a program that takes little is ended [R22]"
    unmounted(unit, "[R23] after everything at once")
