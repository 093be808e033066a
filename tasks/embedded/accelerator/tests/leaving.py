"""Drivers and cards that go away, and come again."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import programs
from unit import Station, compile_in, factorial, long_operand, make_text, sha, text

DRIVER = "/sys/bus/pci/drivers/kvarn"
GONE_SECONDS = 5
ASKING_SECONDS = 1.5  # for what it takes to look, after the letter's five
Nonce = Callable[[], str]

CROWD = r"""
card=$1; other=$2; action=$3
cd /tmp/jobs
for i in 1 2 3 4 5 6 7 8; do
	( kvarn copy <in >free.$i 2>/dev/null; echo $? >free.$i.status ) &
done
kvarn -c $other copy <in >other.1 2>/dev/null &
for i in 1 2; do
	( cat in in in in | kvarn -c $card copy >named.$i 2>/dev/null; echo $? >named.$i.status ) &
done
( kvarn -c $card fact @LONG@ @LONG@ @LONG@ >named.3 2>/dev/null; echo $? >named.3.status ) &
sleep 1
: >acting
echo $action >@FILE@
wait
: >done
"""


def not_from_a_job(unit: Station) -> None:
    said = unit.say(
        f"kvarn fact {long_operand()} {long_operand()} >/tmp/jobs/long & sleep 1.5; "
        "rmmod kvarn 2>/dev/null && echo gone; wait $!; cat /tmp/jobs/long",
        300,
    )
    assert said.split() == ["0", "0"], (
        f"[R28] while one runs, it is refused and the job goes on: {said!r}"
    )


def an_idle_handle(unit: Station) -> None:
    n = secrets.randbelow(30)
    program = compile_in(unit, "idle", programs.fill(programs.IDLE, FACT=n))
    unit.say("rm -f /tmp/go /tmp/idle.out")
    said = unit.say(
        f"{program} {unit.slots[0]} /tmp/go >/tmp/idle.out & "
        "for i in $(seq 100); do grep -q ready /tmp/idle.out && break; sleep 0.1; done; "
        "rmmod kvarn && echo away; ls -d /sys/module/kvarn /dev/kvarn* 2>/dev/null; "
        "kvarn fact 5 2>/dev/null || echo none; "
        "modprobe kvarn; udevadm settle; touch /tmp/go; wait $!; cat /tmp/idle.out",
        120,
    )
    result = f"0 {factorial(n)}"
    wanted = ["away", "none", "ready 0", result, result]
    assert said.splitlines() == wanted, (
        f"[R28] rmmod succeeds at once, modprobe brings everything back: {said!r} instead of "
        f"{wanted}"
    )
    all_there(unit)


def all_there(unit: Station) -> None:
    listed = unit.say("kvarn list").split("\n")
    assert listed == list(unit.slots), f"[R13] the cards that the driver has: {listed}"


def crowd(unit: Station, gone: str, other: str, path: str, action: str, nonce: Nonce) -> None:
    """Jobs of all kinds while a card goes away, and what is to become of them."""
    word, lines = nonce(), 250
    unit.say("cd /tmp/jobs; rm -f free.* named.* other.* acting done")
    unit.say(f"{make_text(word, lines)} >/tmp/jobs/in")
    script = programs.fill(CROWD, LONG=long_operand(), FILE=path)
    unit.root().write_file("/tmp/crowd.sh", script)
    started = f"bash /tmp/crowd.sh {gone} {other} {action} >/dev/null 2>&1 &"
    unit.say(f"{started} while sleep 0.1; do [ -e /tmp/jobs/acting ] && break; done", 60)
    clock = unit.machine.deadline(GONE_SECONDS + ASKING_SECONDS)
    while len(ended := unit.say("cat /tmp/jobs/named.*.status 2>/dev/null; :").split()) < 3:
        assert clock.remaining() > 0, f"[R29] end within 5 seconds: {len(ended)} of 3 jobs did"
    assert ended == ["3", "3", "3"], f"[R29] with status 3: those of that card ended with {ended}"
    listed = unit.say(f"[ -e /dev/kvarn-{gone} ] && echo node; kvarn list")
    assert listed == other, f"[R29] taken from the driver: there are {listed.split()}"
    unit.say("while sleep 0.2; do [ -e /tmp/jobs/done ] && break; done", 300)
    free = unit.say("cat /tmp/jobs/free.*.status").split()
    assert free == ["0"] * 8, f"[R29] those without -c are all completed: status {free}"
    sums = unit.say("cd /tmp/jobs; sha256sum free.? other.1 | cut -d ' ' -f 1").split()
    right = sums.count(sha(text(word, lines)))
    assert right == 9, f"[R29] those of the other card notice nothing: {right} of 9 copies right"


def unbound(unit: Station, nonce: Nonce) -> None:
    here, gone = unit.slots
    crowd(unit, gone, here, f"{DRIVER}/unbind", gone, nonce)
    unit.say(f"echo {gone} >{DRIVER}/bind; udevadm settle")
    all_there(unit)
    said = unit.anna(f"kvarn -c {gone} fact 10")
    assert said == "3628800", f"[R29] given back: 10! is {said!r}"


def removed(unit: Station, nonce: Nonce) -> None:
    gone, here = unit.slots
    crowd(unit, gone, here, f"/sys/bus/pci/devices/{gone}/remove", "1", nonce)
    unit.say("echo 1 >/sys/bus/pci/rescan; udevadm settle")
    all_there(unit)
    shown = unit.say(f"stat -c '%U %G %a' /dev/kvarn-{gone}")
    assert shown == "root kvarn 660", f"[R11] from the moment that it appears: {shown}"
    said = unit.anna(f"kvarn -c {gone} fact 11")
    assert said == "39916800", f"[R30] found again: 11! is {said!r}"


def still_calculating(unit: Station) -> None:
    slot, n, mark = unit.slots[0], secrets.randbelow(20) + 5, unit.bus.mark()
    said = unit.say(
        f"exec 2>/dev/null; kvarn -c {slot} fact {long_operand()} & sleep 1; kill -KILL $!; "
        "for i in $(seq 50); do rmmod kvarn 2>/dev/null && break; sleep 0.1; done; "
        f"modprobe kvarn; udevadm settle; kvarn -c {slot} fact {n} {n + 1}",
        300,
    )
    assert said.split() == [str(factorial(n)), str(factorial(n + 1))], (
        f"[R31] right results from the first job on: {n}! and the next are {said!r}"
    )
    broken = unit.broken_rules(mark)
    assert not broken, f"[R7] every rule of the data sheet: {broken}"
