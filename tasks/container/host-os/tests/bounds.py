"""Limits that hold, starts that are repeated: [R20] to [R24]."""

from __future__ import annotations

import re
import time
from itertools import pairwise

from questions import FORKS, starts

#: Percent of the processor for a share of 20: a clock's tick more at either end, and one more
#: period; and what only somebody without a limit takes.
MOST_SHARE, NO_LIMIT = 23, 50


def the_eater_of_memory(host, shared, nonce) -> None:
    word = nonce()
    host.ask(8001, f"echo {word} >/tmp/mark")
    said = host.ask(8004, "dd if=/dev/zero of=/dev/null bs=8M count=1 2>&1; echo ok")
    assert "ok" in said, f"8 MiB of 24 are refused: {said!r} [R20]"
    host.ask(8004, f"echo {word} >/tmp/mark")
    said = host.ask_once(8004, "dd if=/dev/zero of=/dev/null bs=60M count=1 && echo ate")
    assert said is None, f"it took 60 MiB of 24 and lived: {said!r} [R20]"
    one = host.comes_to("eater", 60, state="running", restarts=1)
    assert (one["oom_kills"], one["exit"]) == (1, 137), (
        f"the eater is {one}; one kill and status 137 are due [R7, R20]"
    )
    assert host.ask(8004, "cat /tmp/mark; :").strip() != word, (
        "it was not killed as a whole: its /tmp is there [R15, R20]"
    )
    shared["mark"] = word


def tmp_is_memory(host) -> None:
    said = host.ask_once(8004, "dd if=/dev/zero of=/tmp/x bs=1M count=40 && echo wrote", 40)
    assert said is None or "wrote" not in said.split(), "40 MiB lie in the /tmp of 24 MiB [R20]"
    host.comes_to("eater", 60, state="running")
    host.ask(8004, "rm -f /tmp/x; echo ok")


def processes(host) -> None:
    said = host.ask_once(8004, FORKS, 60)
    assert said is not None, "it does not answer when it has no more processes [R21, R22]"
    counts = [int(number) for number in re.findall(r"count (\d+)", said)]
    assert counts and 8 <= counts[0] <= 20, f"20 processes are declared: {said[-400:]!r} [R21]"


def processor(host) -> None:
    # Two who take what they get: a share is the container's, not each program's.
    script = (
        "used() { u=0; for p in $1 $2; do set -- $(cat /proc/$p/stat);"
        " u=$((u+${14}+${15})); done; };"
        " (while :; do :; done) & one=$!; (while :; do :; done) & two=$!; sleep 1;"
        " read -r a x </proc/uptime; used $one $two; b=$u; sleep 10;"
        " read -r d x </proc/uptime; used $one $two; kill -9 $one $two; echo $a $d $b $u"
    )
    shares = []
    # The guest's kernel charges whoever runs for time in which the host ran something else: 26.7
    # were seen beside other load, of a share that holds. What has no limit takes all there is.
    while len(shares) < 3 and (not shares or MOST_SHARE < shares[-1] < NO_LIMIT):
        said = host.ask_once(8004, script, 60)
        assert said is not None, "the container did not answer"
        began, ended, before, after = (float(word) for word in said.split()[-4:])
        shares.append((after - before) / (ended - began))
    told = ", ".join(f"{share:.1f}" for share in shares)
    assert shares[-1] <= MOST_SHARE, (
        f"of 20 percent of the processor it took {told} in ten seconds each [R21]"
    )
    assert shares[-1] >= 4, f"of 20 percent of the processor it got {told}: it does not run [R7]"


def the_others_were_not_disturbed(host, shared) -> None:
    assert host.ask(8001, "cat /tmp/mark") == shared["mark"], "web was started anew [R22]"
    containers = host.status()[1]
    for name in ("web", "layers", "ledger", "flood"):
        one = containers[name]
        found = (one["state"], one["restarts"], one["oom_kills"])
        assert found == ("running", 0, 0), f"{name} is {one}, running and undisturbed is due [R22]"


def policies(host) -> None:
    few = host.comes_to("few", state="failed")
    assert (few["restarts"], few["exit"]) == (2, 3), (
        f"on-failure, at most 2, ends with 3: {few} [R23]"
    )
    found = starts(host, "few")
    assert len(found) == 3, f"on-failure, at most 2, ran at {found}: three times are due [R23]"
    once = host.comes_to("once", state="exited")
    assert (once["restarts"], once["exit"]) == (0, 7), f"never, ends with 7: {once} [R23]"
    done = host.comes_to("done", state="exited")
    assert (done["restarts"], done["exit"]) == (0, 0), f"on-failure that ends with 0: {done} [R23]"
    always = host.container("always")
    assert always["exit"] == 0 and always["restarts"] >= 3, f"always: {always} [R23]"


def pauses_grow(host) -> None:
    deadline = host.machine.deadline(90)
    while len(times := starts(host, "always")) < 6:
        assert deadline.remaining() > 0, f"always was started at {times} [R23, R24]"
        time.sleep(2)
    gaps = [two - one for one, two in pairwise(times[:6])]
    # A start takes its time, on a slow host more of it.
    room = 12 / min(1.0, host.machine.host.speed)
    for gap, due in zip(gaps, (1, 2, 4, 8, 16), strict=True):
        assert due * 0.95 <= gap <= due + room, f"pauses of 1, 2, 4, 8, 16 are due [R24]: {gaps}"
