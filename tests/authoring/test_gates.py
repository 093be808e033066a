"""For each gate: a task broken on purpose that it must catch, and one that it lets through."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from tests.lamp import Edit, edit, lamp

from benchflow.authoring import gate_rules, static_gates
from benchflow.authoring.gate import GateResult, Status
from benchflow.results.model import Check, Milestone, Phases, Trial, Verdict
from benchflow.tasks import Task, Variant, load
from benchflow.tasks.skills import SKILLS

__all__ = ["edit", "lamp"]


def trial(
    agent: str = "oracle", passed: tuple[str, ...] = (), error: str = "", seconds: float = 60
) -> Trial:
    """A finished trial of the lamp in which the milestones `passed` were reached."""
    ladder = tuple(
        Milestone(name, "passed" if name in passed else "failed", checks=(Check("c", "failed"),))
        for name in ("lit", "warm")
    )
    resolved = set(passed) == {"lit", "warm"}
    verdict = Verdict.RESOLVED if resolved else Verdict.FAILED
    return Trial(
        name=f"lamp__{agent}",
        path=Path("/jobs/lamp") / agent,
        task="embedded/lamp",
        agent=agent,
        model="",
        verdict=Verdict.ERROR if error else verdict,
        reward=len(passed) / 2,
        cause=error,
        milestones=ladder,
        phases=Phases(agent=seconds, verifier=seconds),
    )


@pytest.fixture
def task(lamp: Path) -> Task:
    return load(lamp)


def test_schema_names_what_is_too_little(lamp: Path) -> None:
    result = static_gates.schema(lamp)
    assert result.status is Status.FAILED
    assert "2 milestones, 10 are asked for" in result.findings


def test_schema_shows_why_a_task_does_not_load(edit: Edit) -> None:
    result = static_gates.schema(edit("task.toml", 'arch = "x86_64"', 'arch = "z80"'))
    assert result.status is Status.FAILED
    assert any("arch" in finding for finding in result.findings)


def test_schema_knows_the_words_for_skills(edit: Edit) -> None:
    result = static_gates.schema(
        edit("task.toml", 'skills = ["init"]', 'skills = ["init", "network"]')
    )
    finding = "skills: 'network' is not in the vocabulary; did you mean 'networking'?"
    assert finding in result.findings
    page = (Path(__file__).parents[2] / "docs" / "authoring.md").read_text()
    assert all(f"| `{word}` | {meaning} |" in page for word, meaning in SKILLS.items())


def test_schema_finds_memory_that_the_checks_fix(lamp: Path) -> None:
    """Determinism would find it after two verifications; another machine's memory is its own."""
    memory = load(lamp).machine_memory_mb
    bench = lamp / "tests" / "bench.py"
    bench.write_text(f"def lit(make):\n    return make('a', memory_mb={memory + 1})\n")
    before = static_gates.schema(lamp).findings
    bench.write_text(f"def lit(make):\n    return make('a', memory_mb={memory})\n")
    (found,) = set(static_gates.schema(lamp).findings) - set(before)
    assert found.startswith(f"tests/bench.py:2 fixes memory_mb={memory}, which task.toml says")


def test_coverage_finds_a_demand_that_nothing_proves(lamp: Path) -> None:
    assert static_gates.coverage(load(lamp)).status is Status.PASSED
    text = (lamp / "instruction.md").read_text()
    (lamp / "instruction.md").write_text(text + "[R3] It never burns anybody.\n")
    result = static_gates.coverage(load(lamp))
    assert result.findings == ("[R3] is proved by no check: write one, or take the demand out",)


def test_coverage_finds_a_check_that_proves_nothing(edit: Edit) -> None:
    result = static_gates.coverage(load(edit("tests/checks.py", ', proves=["R2"]', "")))
    assert any("test_warm (warm) proves nothing" in finding for finding in result.findings)


def test_the_matrix_shows_demand_check_and_milestone(task: Task) -> None:
    assert static_gates.grid(task) == [
        "  [R…]            1 2",
        "lit",
        "  test_lit        ● ·",
        "warm",
        "  test_warm       · ●",
        "  test_still_lit  ● ·",
        "  checks          2 1",
    ]


def test_leaks_finds_the_answer_in_what_the_agent_is_given(lamp: Path, task: Task) -> None:
    assert static_gates.leaks(task).status is Status.PASSED
    secret = "solder --iron 350 lamp.img\nscrew --tight lamp.img 12\nbulb --watt 40 lamp.img\n"
    (lamp / "solution" / "solve.sh").write_text("#!/bin/sh\n" + secret)
    (lamp / "environment" / "notes.txt").write_text("Dear colleague,\n  " + secret)
    result = static_gates.leaks(load(lamp))
    assert result.findings == (
        "environment/notes.txt:2 repeats solution/solve.sh:2: move it out of reach",
    )


def test_leaks_finds_a_variant_too(lamp: Path) -> None:
    secret = "solder --iron 350 lamp.img\nscrew --tight lamp.img 12\nbulb --watt 40 lamp.img\n"
    (lamp / "variants").mkdir()
    (lamp / "variants" / "tin.sh").write_text("#!/bin/sh\n" + secret)
    (lamp / "environment" / "notes.txt").write_text(secret)
    (finding,) = static_gates.leaks(load(lamp)).findings
    assert finding.startswith("environment/notes.txt:1 repeats variants/tin.sh:2")


def test_nop_must_gain_nothing() -> None:
    assert gate_rules.nop([trial("nop")]).status is Status.PASSED
    result = gate_rules.nop([trial("nop", passed=("lit",))])
    assert "doing nothing passes lit" in result.findings[0]
    assert gate_rules.nop([]).status is Status.ERROR, "nothing was tried"


def test_the_oracle_must_resolve_every_time() -> None:
    good = trial(passed=("lit", "warm"))
    assert gate_rules.oracle([good] * 3, 3).status is Status.PASSED
    assert gate_rules.oracle([good, good, trial(passed=("lit",))], 3).status is Status.FAILED
    assert gate_rules.oracle([good] * 2, 3).status is Status.FAILED


def test_the_ladder_names_what_passes_early_and_what_never_does(task: Task) -> None:
    good = {"lit": trial(passed=("lit",)), "warm": trial(passed=("lit", "warm"))}
    assert gate_rules.ladder(task, good).status is Status.PASSED
    early = gate_rules.ladder(task, {**good, "lit": trial(passed=("lit", "warm"))})
    assert early.findings == ("stopped after lit, warm pass too early",)
    ended = msgspec.structs.replace(good["lit"], cause="NonZeroAgentExitCodeError")
    assert gate_rules.ladder(task, {**good, "lit": ended}).findings == (
        "stopped after lit, solve.sh did not run to its end (NonZeroAgentExitCodeError)",
    )
    never = gate_rules.ladder(task, {**good, "warm": trial(passed=("lit",))})
    assert never.findings == ("stopped after warm, warm do not pass",)
    assert "was not stopped there" in gate_rules.ladder(task, {"lit": good["lit"]}).findings[0]


def test_an_exploit_gains_what_is_declared_no_more_and_no_less(task: Task) -> None:
    tried = {"painted": trial("exploit:painted", passed=("lit",))}
    assert gate_rules.exploits(task.exploits, tried).status is Status.PASSED
    undeclared = [replace(task.exploits[0], allowed=())]
    assert gate_rules.exploits(undeclared, tried).findings == ("painted gains lit",)
    assert gate_rules.exploits(task.exploits, {}).findings == ("painted was not tried",)
    early = gate_rules.exploits(task.exploits, {"painted": trial("exploit:painted")})
    assert "painted is declared to gain lit and does not" in early.findings[0]


def test_an_exploit_whose_script_failed_was_not_tried(task: Task) -> None:
    """A mirror that is down would make every exploit that fetches something gain nothing."""
    ended = msgspec.structs.replace(trial("exploit:painted"), cause="NonZeroAgentExitCodeError")
    honest = [replace(task.exploits[0], allowed=())]
    result = gate_rules.exploits(honest, {"painted": ended})
    assert result.status is Status.FAILED
    assert "painted did not run to its end (NonZeroAgentExitCodeError)" in result.findings[0]
    assert gate_rules.common(task, honest, {"painted": ended}).status is Status.FAILED
    assert (
        gate_rules.exploits(honest, {"painted": trial("exploit:painted")}).status is Status.PASSED
    )


def varied(task: Task, *names: str) -> Task:
    return replace(task, variants=tuple(Variant(name, Path(), "other") for name in names))


def test_every_honest_other_solution_must_resolve(task: Task) -> None:
    names = ("brass", "tin", "glass", "wood")
    good = {name: trial(f"variant:{name}", passed=("lit", "warm")) for name in names}
    found = gate_rules.variants(varied(task, *names), good)
    assert found.status is Status.PASSED
    assert found.summary == "4 of 4 variants resolved"
    said = Check("test_warm", "failed", message="its base is not of brass")
    ladder = (Milestone("lit", "passed"), Milestone("warm", "failed", checks=(said,)))
    refused = msgspec.structs.replace(trial("variant:tin", passed=("lit",)), milestones=ladder)
    found = gate_rules.variants(varied(task, *names), {**good, "tin": refused})
    assert found.findings == ("tin stops at warm by test_warm: its base is not of brass",)
    late = msgspec.structs.replace(good["wood"], cause="AgentTimeoutError")
    (finding,) = gate_rules.variants(varied(task, *names), {**good, "wood": late}).findings
    assert finding.startswith("wood did not run to its end (AgentTimeoutError)")
    full = trial("variant:tin", error="VerifierOutOfDisk")
    (finding,) = gate_rules.variants(varied(task, *names), {**good, "tin": full}).findings
    assert finding.startswith("tin leaves the verifier without a verdict")


def test_too_few_variants_are_a_finding_and_none_fails(task: Task) -> None:
    one = gate_rules.variants(
        varied(task, "tin"), {"tin": trial("variant:tin", passed=("lit", "warm"))}
    )
    assert one.status is Status.FAILED
    assert one.findings[0].startswith("1 variant, 4 are asked for: write 3 more")
    none = gate_rules.variants(task, {})
    assert none.status is Status.FAILED
    assert "variants/NAME.sh" in none.findings[0]
    silent = replace(task, variants=(Variant("tin", Path()),))
    assert "tin does not say what it does otherwise" in gate_rules.variants(silent, {}).findings[1]
    assert gate_rules.variants(silent, {}).findings[2] == "tin was not tried"


def test_a_host_that_others_had_is_named_as_a_cause(task: Task, tmp_path: Path) -> None:
    def beside(share: float) -> Trial:
        folder = tmp_path / f"{share}"
        folder.mkdir()
        boxes = {"env": {"used": {"others_share": 0.9}}}
        boxes["verifier__trial"] = {"used": {"others_share": share}}
        (folder / "sandbox.json").write_text(json.dumps({"schema": 1, "sandboxes": boxes}))
        return msgspec.structs.replace(trial("exploit:painted"), path=folder)

    busy, calm = beside(0.79), beside(0.5)
    word = "others had 79% of the host's processors meanwhile"
    assert word in gate_rules.exploits(task.exploits, {"painted": busy}).findings[0]
    assert word in gate_rules.oracle([busy], 1).findings[0]
    assert word in gate_rules.same(trial(passed=("lit", "warm")), [busy], ["busy"]).findings[0]
    assert word in gate_rules.ladder(task, {"lit": busy, "warm": busy}).findings[0]
    assert "meanwhile" not in gate_rules.exploits(task.exploits, {"painted": calm}).findings[0]


def test_limits_must_leave_room(task: Task) -> None:
    assert gate_rules.budget(task, [trial(seconds=100)]).status is Status.PASSED
    result = gate_rules.budget(task, [trial(seconds=250)])
    assert len(result.findings) == 2
    assert "at least 750 s" in result.findings[0]


def test_limits_are_held_against_the_trials_that_others_disturbed_least(
    task: Task, tmp_path: Path
) -> None:
    def beside(share: float, seconds: float) -> Trial:
        folder = tmp_path / f"{share}"
        folder.mkdir()
        boxes = {"verifier__trial": {"used": {"others_share": share}}}
        (folder / "sandbox.json").write_text(json.dumps({"schema": 1, "sandboxes": boxes}))
        return msgspec.structs.replace(trial(seconds=seconds), path=folder)

    crowded, calm, calm_too, slow = (
        beside(0.8, 400), beside(0.4, 90), beside(0.45, 100), beside(0.3, 250),
    )  # fmt: skip
    result = gate_rules.budget(task, [crowded, calm, calm_too])
    assert result.status is Status.PASSED
    assert result.summary == "oracle 1 min 40 s, verification 1 min 40 s (the least disturbed of 3)"
    long = replace(task, agent_timeout_sec=1200)
    unknown = gate_rules.budget(long, [crowded])
    assert unknown.status is Status.ERROR, "nothing better was measured"
    assert "others had 80%" in unknown.findings[0] and "--again" in unknown.findings[1]
    roomy = replace(long, verifier_timeout_sec=800)
    assert gate_rules.budget(roomy, [crowded]).status is Status.PASSED
    assert gate_rules.budget(task, [crowded]).status is Status.FAILED, (
        "the work was too long as well"
    )
    assert gate_rules.budget(task, [crowded, slow]).status is Status.FAILED
    assert "least" not in gate_rules.budget(task, [calm, calm_too]).summary


def test_a_verdict_that_depends_on_the_weather_is_found() -> None:
    good = trial(passed=("lit", "warm"))
    assert gate_rules.same(good, [good, good], ["idle", "busy"]).status is Status.PASSED
    result = gate_rules.same(good, [good, trial(passed=("lit",))], ["idle", "busy"])
    assert result.findings == ("busy: failed, milestones that differ: warm",)
    bad = trial(passed=("lit",))
    assert gate_rules.same(bad, [bad, bad], ["idle", "busy"]).status is Status.FAILED, (
        "of a failure"
    )


def test_more_memory_that_reaches_no_machine_is_found(tmp_path: Path) -> None:
    def verified(name: str, *commands: str) -> Trial:
        folder = tmp_path / name / "verifier"
        folder.mkdir(parents=True)
        boots = [{"command": command.split()} for command in commands]
        (folder / "main.qemu.json").write_text(json.dumps({"boots": boots}))
        return msgspec.structs.replace(trial(passed=("lit", "warm")), path=folder.parent)

    good = verified("good", "qemu -m 512M -smp 1", "qemu -m 256M")
    fixed = verified("fixed", "qemu -m 256M", "qemu -m 512M -smp 1")
    larger = verified("larger", "qemu -m 640M -smp 1", "qemu -m 256M")
    without = trial(passed=("lit", "warm"))
    assert gate_rules.same(good, [larger], ["more"], larger).status is Status.PASSED
    assert gate_rules.same(without, [without], ["more"], without).status is Status.PASSED
    result = gate_rules.same(good, [fixed], ["more"], fixed)
    assert "more memory reached no machine" in result.findings[0]


def test_infrastructure_faults_are_never_a_gates_answer(task: Task) -> None:
    lost = trial(error="MirrorUnreachable")
    for result in (
        gate_rules.nop([lost]),
        gate_rules.oracle([lost] * 3, 3),
        gate_rules.ladder(task, {"lit": lost, "warm": lost}),
        gate_rules.exploits(task.exploits, {"painted": lost}),
        gate_rules.variants(varied(task, "tin"), {"tin": lost}),
        gate_rules.budget(task, [lost]),
        gate_rules.same(lost, [lost], ["idle"]),
    ):
        assert result.status is Status.ERROR
        assert "MirrorUnreachable" in result.findings[0]


def test_a_result_is_remembered_as_it_was() -> None:
    result = gate_rules.nop([trial("nop", passed=("lit",))])
    again = GateResult.from_json(result.to_json())
    assert again == replace(result, cached=True)
