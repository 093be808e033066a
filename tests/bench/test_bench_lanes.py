"""Work beside the checks: order, results, failures, and an end that is an end."""

from __future__ import annotations

import threading
import time

import pytest

from benchflow.bench.lanes import Aside, Lane, Lanes, Step, Steps, waits
from benchflow.boot import GuestError, GuestExited, GuestTimeout, Machine, VerifierBroken


def test_a_lane_does_its_steps_in_order_beside_the_caller() -> None:
    go, done = threading.Event(), []

    def first() -> str:
        assert go.wait(10)
        done.append("first")
        return "said"

    steps = {"first": Step(first), "second": Step(lambda: done.append("second"))}
    with Lane(steps, lambda: done.append("closed")) as lane:
        assert done == [], "the caller was made to wait"
        go.set()
        assert lane.result("second") is None and lane.result("first") == "said"
    assert done == ["first", "second", "closed"]


def test_a_step_that_fails_ends_those_that_come_after_it_and_no_other() -> None:
    done: list[str] = []

    def broken() -> None:
        raise GuestTimeout("no prompt")

    def does(name: str, *after: str) -> Step:
        return Step(lambda: done.append(name), after)

    steps = {"good": does("good"), "broken": Step(broken, ("good",)),
             "later": does("later", "broken"), "other": does("other", "good")}  # fmt: skip
    with Lane(steps, lambda: None) as lane:
        lane.result("other")
        for name in ("broken", "later"):
            with pytest.raises(GuestTimeout, match="no prompt"):
                lane.result(name)
    assert done == ["good", "other"]


def test_a_lane_that_is_left_ends_what_is_under_way() -> None:
    off, began, done = threading.Event(), threading.Event(), []

    def under_way() -> None:
        began.set()
        assert off.wait(10), "the machine was not switched off"

    steps = {"waits": Step(under_way), "later": Step(lambda: done.append("later"))}
    with Lane(steps, off.set) as lane:
        assert began.wait(10)
    assert done == []
    with pytest.raises(GuestExited, match="later: the machine was switched off before"):
        lane.result("later")


def test_work_aside_gives_its_result_or_its_error_to_all_who_ask() -> None:
    assert Aside(lambda: 42).result() == 42

    def fails() -> int:
        raise GuestTimeout("no prompt")

    aside = Aside(fails)
    depths = set()
    for _ in range(3):
        with pytest.raises(GuestTimeout, match="no prompt") as caught:
            aside.result()
        depths.add(len(caught.traceback))
    assert len(depths) == 1, "the error grows with each who asks"


def test_lanes_leave_facts_for_each_other_and_for_checks() -> None:
    lanes = Lanes(lambda: None)

    def first() -> Steps:
        lanes.facts["address"] = "10.0.0.1"
        yield
        lanes.facts["first"] = True

    def second() -> Steps:
        yield from lanes.after("first", "address")
        lanes.facts["second"] = lanes["address"]

    lanes.start(first=first(), second=second())
    lanes.start(first=iter(()))  # type: ignore[arg-type]  # a lane goes once
    lanes.wait("second")
    assert lanes["second"] == "10.0.0.1" and lanes.is_over("second") and lanes.is_over("nobody")
    with pytest.raises(GuestError, match="there is no third: it was not reached"):
        _ = lanes["third"]
    lanes.close()


def test_a_lane_that_fails_says_why_and_the_verifiers_fault_is_everybodys() -> None:
    closed: list[str] = []
    lanes = Lanes(lambda: closed.append("closed"))

    def agents_fault() -> Steps:
        yield
        raise AssertionError("it stayed on")

    def wrong_check() -> Steps:
        yield
        raise KeyError("of the check's")

    lanes.start(fault=agents_fault(), wrong=wrong_check())
    lanes.wait("fault")
    assert lanes.failed == {"fault": "it stayed on"}
    with pytest.raises(GuestError, match="there is no end: fault: it stayed on"):
        _ = lanes["end"]
    with pytest.raises(KeyError):
        lanes.wait("wrong")

    def broken() -> Steps:
        yield
        raise VerifierBroken("no QEMU")

    lanes.start(broken=broken())
    with pytest.raises(VerifierBroken):
        lanes.wait("broken")
    with pytest.raises(VerifierBroken):
        lanes.wait("fault")
    lanes.close()
    assert closed == ["closed"]


def test_lanes_that_are_closed_go_no_further() -> None:
    lanes, done = Lanes(lambda: None), []

    def endless() -> Steps:
        while True:
            done.append(1)
            yield

    lanes.start(endless=endless())
    time.sleep(0.1)
    lanes.close()
    so_far = len(done)
    time.sleep(0.8)
    assert len(done) == so_far and lanes.is_over("endless")


def test_waiting_in_a_lane(machine: Machine) -> None:
    if not machine.alive:
        machine.boot()
    answers = iter([False, False, True])
    assert len(list(waits(machine, lambda: next(answers), 30, "answer"))) == 2
    with pytest.raises(GuestTimeout, match=r"gw: no pony in 0 s"):
        for _ in waits(machine, lambda: False, 0.1, "pony"):
            time.sleep(0.05)
    assert not machine.alive, "what is waited for in vain goes on"
    with pytest.raises(GuestExited):
        list(waits(machine, lambda: False, 30, "answer"))
