"""Declarations that change, and what is kept of them: [R26] to [R29]."""

from __future__ import annotations

import secrets
import time

from host import Host, on_bench
from programs import ASKED
from questions import starts
from site_data import RUNNING, SHORT

from benchflow.bench.delivered_files import sha256_of


def what_is_malformed_changes_nothing(host, site, shared, nonce) -> None:
    before = _those_that_run(host)
    names = [name for name in site.others() if name.startswith("bad-")]
    said = {name: host.code(f"hostctl apply /carrier/{name}") for name in names}
    assert set(said.values()) == {1}, f"1 is due for each [R26]: {said}"
    assert host.code("hostctl apply /carrier/no-such-file") != 0, "a missing file was applied"
    after = _those_that_run(host)
    assert after == before, f"there was {before}, and is {after}: nothing was to change [R26]"
    shared["word"] = nonce()
    for port in (8001, 8004):
        host.ask(port, f"echo {shared['word']} >/keep/word; echo {shared['word']} >/tmp/mark; sync")
    host.ask_behind(8001, 9000, f"echo {shared['word']} >/keep/word; sync")


def _those_that_run(host) -> dict[str, dict]:
    containers = host.status()[1]
    return {name: containers.get(name) for name in RUNNING}


def another_declaration(host, site, metric) -> None:
    left = f"/tmp/{site.words['left']}"
    host.say(f"echo left >{left} && cp /carrier/next /tmp/list")
    began = host.machine.elapsed
    code = host.code("cd /tmp && hostctl apply list", 120)
    assert code == 0, f"a good declaration, called list in /tmp, ended with {code} [R26]"
    metric("apply_seconds", host.machine.elapsed - began)
    containers = host.status()[1]
    wanted = {"web": "running", "flood": "running", "eater": "running", "fresh": "running",
              "short": "running", "layers": "refused", "steady": "refused"}  # fmt: skip
    hostile = {name for name in containers if name.startswith("hostile")}
    assert hostile == {f"hostile{number}" for number in range(7, 10)}, f"{hostile} [R7, R26]"
    found = {name: one["state"] for name, one in containers.items() if name not in hostile}
    assert found == wanted, f"in force is {found}, due {wanted} [R26]"
    for port in (8003, 8006):
        assert host.ask(port, "cat /word") == site.words["web"], f"{port} does not answer [R17]"
    assert host.silent(8002), "a port of a container that is refused still answers [R17, R26]"
    assert host.code(f"grep -q left {left}") == 0, "a layer removed a file of the host [R12]"


def an_end_is_told(host) -> None:
    """[R7] `short` ends, and within 3 seconds, and what a slow host needs, the status says so."""
    deadline, told = host.machine.deadline(90), []
    while not told or told[-1][1] == "running":
        assert deadline.remaining() > 0, f"short does not end: {told[-1]} [R7]"
        up = float(host.say("cat /proc/uptime").split()[0])
        told.append((up, host.container("short")["state"]))
        time.sleep(0.3)
    one, ended = host.container("short"), starts(host, "short")
    assert (one["state"], one["exit"], len(ended)) == ("exited", SHORT, 1), f"short is {one} [R7]"
    room = 3 + 4 / min(1.0, host.machine.host.speed)
    late = [up - ended[0] for up, state in told if state == "running" and up > ended[0] + room]
    assert not late, f"{late[-1]:.1f} seconds after its end short is said to run [R7]"


def what_stayed_and_what_changed(host, shared) -> None:
    assert host.ask(8001, "cat /tmp/mark") == shared["word"], "web was started anew"
    assert host.container("web")["restarts"] == 0, "web was started again [R26]"
    assert host.ask(8004, "cat /tmp/mark /keep/word 2>/dev/null; :") == shared["word"], (
        "eater should be new, with its old volume [R26, R28]"
    )
    assert host.container("eater")["restarts"] == 0, "its count goes on from the entry before [R7]"
    said = host.ask_once(8004, "dd if=/dev/zero of=/dev/null bs=26M count=1 2>/dev/null; echo ok")
    assert said == "ok", f"its new memory does not hold [R26]: {said!r}"
    assert host.ask_behind(8001, 9000, "echo there") is None, "web still reaches who is gone"


def the_signal(host) -> None:
    said = host.ask(8004, "cat /keep/ends; :")
    # Asked twice while it does its last work, it may say so twice.
    assert set(said.split()) == {ASKED}, (
        f"eater was asked to end by {said!r}; its StopSignal, {ASKED}, is due [R27]"
    )
    # It went on until it was killed, and wrote down the time.
    first, last = (float(up) for up in host.ask(8004, "sed -n '1p;$p' /keep/last").split())
    room = 15 / min(1.0, host.machine.host.speed)
    assert 3 <= last - first <= 5 + room, (
        f"eater was killed {last - first:.1f} seconds after its signal, 5 are due [R27]"
    )


def volumes_of_who_was_gone(host, shared) -> None:
    assert host.code("cd /carrier && hostctl apply site.json", 240) == 0, "the first list [R26]"
    host.settled(RUNNING)
    began = host.logs("steady").splitlines()[:1]
    assert began and began[0].endswith(" 0"), (
        f"steady's volume, which its entry did not name, should be new [R29]: {began}"
    )
    said = host.ask_behind(8001, 9000, "cat /keep/word 2>/dev/null; wc -l </keep/starts")
    assert (said or "").split() == ["1"], f"ledger's volume should be new [R29]: {said!r}"
    assert host.ask(8001, "cat /tmp/mark") == shared["word"], "web was started anew"


def a_power_cut(host, site, shared, nonce) -> None:
    shared["kept"] = nonce()
    for port in (8001, 8004):
        host.ask(port, f"echo {shared['kept']} >/keep/cut; sync")
    host.ask_behind(8001, 9000, f"echo {shared['kept']} >/keep/cut; sync")
    host.machine.power_cut()
    host.start()
    host.settled(RUNNING)
    for port in (8001, 8004):
        script = "cat /keep/cut /keep/word 2>/dev/null; ls /tmp/mark 2>/dev/null; :"
        said, due = host.ask(port, script).split(), [shared["kept"]]
        due += [shared["word"]] if "word" in shared else []
        assert said == due, f"behind {port} is kept {said} [R28]"
    said = host.ask_behind(8001, 9000, "cat /keep/cut; id -u >/keep/mine && echo mine")
    assert (said or "").split() == [shared["kept"], "mine"], f"ledger keeps {said!r} [R28]"


def the_slots_are_as_they_were(host, disk, layout, first) -> None:
    carrier = host.machine.flatten(1)
    written = sha256_of(carrier) != sha256_of(first)
    carrier.unlink()
    assert not written, "the carrier was written on [R5]"
    now = host.slots(layout)
    wrong = [slot for slot in "ab" if now[slot] != layout.digest(disk.path, slot)]
    assert not wrong, f"these slots were written: {wrong} [R2]"


def a_start_without_a_carrier(host, machines, shared) -> None:
    host.up()
    host.power_off(why="[R27]")
    alone = Host(on_bench(machines, "alone", host.machine.flatten(), None))
    alone.start()
    found = alone.status()
    assert (found[0]["carrier"], found[1]) == ("absent", {}), f"without a carrier [R6]: {found}"
    alone.power_off(why="[R27]")
    shared["disk"] = alone.machine.flatten()


def a_start_with_a_malformed_list(site, machines, shared, work) -> None:
    assert "disk" in shared, "the cabinet could not be switched off before [R27]"
    carrier = site.carrier(work / "wrong.img", secrets.choice(site.malformed()))
    astray = Host(on_bench(machines, "astray", shared["disk"], carrier))
    astray.start()
    found = astray.status()
    assert (found[0]["carrier"], found[1]) == ("malformed", {}), f"[R9] asks otherwise: {found}"
    astray.power_off(why="[R27]")
    shared["disk"] = astray.machine.flatten()


def another_carrier(later, shared) -> None:
    later.up()
    later.settled(["web"])
    containers = later.status()[1]
    assert set(containers) == {"web", "eater"}, f"declared are web and eater: {set(containers)}"
    assert containers["eater"]["reason"] == "entry", f"eater: {containers['eater']}"
    assert later.ask(8001, "cat /keep/cut") == shared["kept"], "web's volume is not kept"
    assert later.ask(8001, "tail -n 1 /keep/ends") == "TERM", "poweroff did not ask it to end [R27]"
    assert later.code("hostctl apply /carrier/mended", 120) == 0
    later.settled(["web", "eater", "ledger"])
    said = later.ask(8004, "cat /keep/cut")
    assert said == shared["kept"], "the volume of who was only written wrongly is not kept [R29]"
    said = later.ask_behind(8001, 9000, "ls /keep")
    assert (said or "").split() == ["starts"], f"the volume of who was gone is kept [R29]: {said!r}"
