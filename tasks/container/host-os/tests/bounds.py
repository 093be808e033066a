"""Limits that hold, starts that are repeated: [R20] to [R24]."""

from __future__ import annotations

import re
import secrets
import time
from itertools import pairwise

from questions import FORKS, starts
from site_data import DONE, LONG, QUICK

#: Percent of the processor for a share of 20: a clock's tick more at either end, and one more
#: period; and what only somebody without a limit takes.
MOST_SHARE, NO_LIMIT = 23, 50


def the_eater_of_memory(host, shared, nonce) -> None:
    word = nonce()
    host.ask(8001, f"echo {word} >/tmp/mark")
    said = host.ask(8004, "dd if=/dev/zero of=/dev/null bs=8M count=1 2>&1; echo ok")
    assert "ok" in said, f"8 MiB of 24 are refused: {said!r} [R20]"
    host.ask(8004, f"echo {word} >/tmp/mark")
    more = 25 + secrets.randbelow(20)
    said = host.ask_once(8004, f"dd if=/dev/zero of=/dev/null bs={more}M count=1 && echo ate")
    assert said is None, f"it took {more} MiB of 24 and lived: {said!r} [R20]"
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
    said = host.ask_once(8004, FORKS.replace("MOST", "60"), 60)
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


def policies(host, site) -> None:
    for name, most, code in (("few", site.few, site.codes[1]), ("zero", 0, 3)):
        one = host.comes_to(name, state="failed")
        assert (one["restarts"], one["exit"]) == (most, code), (
            f"on-failure, at most {most}, ends with {code}: {one} [R23]"
        )
        found = starts(host, name)
        assert len(found) == most + 1, (
            f"on-failure, at most {most}, ran at {found}: {most + 1} times are due [R23]"
        )
    once = host.comes_to("once", state="exited")
    assert (once["restarts"], once["exit"]) == (0, site.codes[0]), (
        f"never, ends with {site.codes[0]}: {once} [R23]"
    )
    done = host.comes_to(DONE, state="exited")
    assert (done["restarts"], done["exit"]) == (0, 0), f"on-failure that ends with 0: {done} [R23]"
    always = host.container("always")
    assert always["exit"] == 0 and always["restarts"] >= 3, f"always: {always} [R23]"


#: [R24]
PAUSES = (1, 2, 4, 8, 16, 30, 30)


def pauses_grow(host) -> None:
    deadline = host.machine.deadline(180)
    while len(times := starts(host, "always")) <= len(PAUSES):
        assert deadline.remaining() > 0, f"always was started at {times} [R23, R24]"
        time.sleep(2)
    _pauses(host, [two - one for one, two in pairwise(times[: len(PAUSES) + 1])], PAUSES)


def _pauses(host, gaps, due) -> None:
    # A start takes its time, on a slow host more of it.
    room = 12 / min(1.0, host.machine.host.speed)
    for gap, pause in zip(gaps, due, strict=True):
        assert pause * 0.95 <= gap <= pause + room, f"pauses of {due} are due [R24]: {gaps}"


def a_row_begins(host) -> None:
    """`steady` runs QUICK times for a moment, then for LONG seconds, which begins a new row."""
    deadline = host.machine.deadline(180)
    while True:
        said = re.findall(r"^(at|end) (\d+\.\d+)", host.logs("steady"), re.MULTILINE)
        began, ended = ([float(up) for word, up in said if word == one] for one in ("at", "end"))
        if len(began) >= QUICK + 2:
            break
        assert deadline.remaining() > 0, f"steady says {said} [R23, R24]"
        time.sleep(2)
    assert ended[QUICK] - began[QUICK] >= LONG - 1, f"steady was ended: {said} [R22]"
    gaps = [start - end for end, start in zip(ended, began[1:], strict=False)]
    _pauses(host, gaps[: QUICK + 1], (*PAUSES[:QUICK], 1))


def who_waits(host) -> None:
    """[R7] The state between two starts, and how many there were."""
    deadline = host.machine.deadline(60)
    while True:
        before, one, after = (
            starts(host, "always"),
            host.container("always"),
            starts(host, "always"),
        )
        if one["state"] == "waiting" and before == after:
            break
        assert deadline.remaining() > 0, (
            f"always pauses for 30 seconds, and is said to be {one} [R7]"
        )
        time.sleep(0.5)
    assert (one["restarts"], one["exit"]) == (len(after) - 1, 0), (
        f"always was started at {after}, and is said to be {one} [R7]"
    )
    assert host.container("web")["exit"] is None, "web, which never ended, has an exit [R7]"


def what_is_not_said(host) -> None:
    """[R8] 64 MiB, 64 processes: `fresh` says nothing of them."""
    said = host.ask_once(8006, FORKS.replace("MOST", "90"), 90)
    counts = [int(number) for number in re.findall(r"count (\d+)", said or "")]
    assert counts and 40 <= counts[0] <= 64, f"64 processes are due: {(said or '')[-400:]!r} [R8]"
    said = host.ask(8006, "dd if=/dev/zero of=/dev/null bs=44M count=1 2>&1; echo ok")
    assert "ok" in said.split(), f"44 MiB of 64 are refused: {said!r} [R8]"
    more = 65 + secrets.randbelow(20)
    said = host.ask_once(8006, f"dd if=/dev/zero of=/dev/null bs={more}M count=1 && echo ate")
    assert said is None, f"it took {more} MiB of 64 and lived: {said!r} [R8, R20]"
    one = host.comes_to("fresh", 60, state="running", restarts=1)
    assert one["oom_kills"] == 1, f"fresh is {one}; one kill is due [R7, R20]"


#: What all file systems of the host hold, in KiB.
USED = "df -kP 2>/dev/null | awk 'NR > 1 { used += $(NF - 3) } END { print used + 0 }'"


def a_flood(host, site) -> None:
    before = int(host.say(USED))
    host.ask(8005, "touch /tmp/go")
    deadline = host.machine.deadline(120)
    while host.ask(8005, "ls /tmp/gone 2>/dev/null; :", 60) != "/tmp/gone":
        assert deadline.remaining() > 0, "who writes much is stopped by it"
        time.sleep(1)
    time.sleep(1)
    host.say("hostctl logs flood >/tmp/flood", 120)
    size, same, last = host.say(
        f"wc -c </tmp/flood; grep -c '^{site.words['flood']}$' /tmp/flood; tail -n 1 /tmp/flood"
    ).splitlines()[:3]
    assert 64 << 10 <= int(size) <= 1 << 20, (
        f"hostctl logs prints {size} bytes; 64 KiB to 1 MiB are due [R25]"
    )
    lines = (64 << 10) // (len(site.words["flood"]) + 1) - 2
    assert int(same) >= lines and last == "end of flood", (
        f"of the last 64 KiB {same} lines are there, {lines} are due, and ends with {last!r} [R25]"
    )
    after = int(host.say(f"rm /tmp/flood; {USED}"))
    assert after - before < 6144, (
        f"the host has filled by {after - before} KiB of 24 MiB that were written [R25]"
    )
    assert host.container("web")["restarts"] == 0, "web was started again [R22]"
