"""Declarations that change, and what is kept of them: [R26] to [R29]."""

from __future__ import annotations

import secrets

from host import Host, on_bench
from site_data import RUNNING


def what_is_malformed_changes_nothing(host, site, shared, nonce) -> None:
    before = host.status()[1]["web"]
    names = [name for name in site.others() if name.startswith("bad-")]
    said = {name: host.code(f"hostctl apply /carrier/{name}") for name in names}
    assert set(said.values()) == {1}, f"1 is due for each [R26]: {said}"
    assert host.code("hostctl apply /carrier/no-such-file") != 0, "a missing file was applied"
    after = host.status()[1]["web"]
    assert after == before, f"web was {before}, and is {after}: nothing was to change [R26]"
    shared["word"] = nonce()
    for port in (8001, 8004):
        host.ask(port, f"echo {shared['word']} >/keep/word; echo {shared['word']} >/tmp/mark; sync")
    host.ask_behind(8001, 9000, f"echo {shared['word']} >/keep/word; sync")


def another_declaration(host, site, metric) -> None:
    began = host.machine.elapsed
    assert host.code("hostctl apply /carrier/next", 120) == 0, "a good declaration was refused"
    metric("apply_seconds", host.machine.elapsed - began)
    containers = host.status()[1]
    wanted = {"web": "running", "flood": "running", "eater": "running", "fresh": "running",
              "wrong": "refused"}  # fmt: skip
    found = {name: one["state"] for name, one in containers.items()}
    assert found == wanted, f"in force is {found}, due {wanted} [R26]"
    assert host.ask(8006, "cat /word") == site.words["web"], "the new container does not answer"
    assert host.silent(8002), "a port of a container that is gone still answers [R17, R26]"


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
    assert set(said.split()) == {"QUIT"}, (
        f"eater was asked to end by {said!r}; its StopSignal, QUIT, is due [R27]"
    )


def volumes_of_who_was_gone(host, shared) -> None:
    assert host.code("hostctl apply /carrier/site.json", 240) == 0, "the first list was refused"
    host.settled(RUNNING)
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
        said = host.ask(port, "cat /keep/cut /keep/word; ls /tmp/mark 2>/dev/null; :").split()
        assert said == [shared["kept"], shared["word"]], f"behind {port} is kept {said} [R28]"
    said = host.ask_behind(8001, 9000, "cat /keep/cut; id -u >/keep/mine && echo mine")
    assert (said or "").split() == [shared["kept"], "mine"], f"ledger keeps {said!r} [R28]"


def the_slots_are_as_they_were(host, disk, layout) -> None:
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
