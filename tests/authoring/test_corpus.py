"""The common exploits: what they know, what they are made of, and what they may gain."""

from __future__ import annotations

import json
import struct
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as with_changes
from test_gates import trial
from tests.lamp import Edit, edit, lamp

from benchflow.authoring import gate_rules
from benchflow.authoring.corpus import exploits, known, payload
from benchflow.authoring.gate import Status
from benchflow.errors import TaskError
from benchflow.tasks import Exploit, load

__all__ = ["edit", "lamp"]
ASM = Path(__file__).parent / "asm"
DECLARED = """[[metadata.benchflow.common_exploits]]
exploit = "stock-guest"
allowed = ["lit"]
why = "any lamp lights up"
"""


@pytest.mark.needs("binutils")
@pytest.mark.parametrize(
    ("name", "form", "code"),
    [
        ("bios_disk", "elf_i386", payload._BIOS_DISK),
        ("real_mode", "elf_i386", payload._REAL_MODE),
        ("long_mode", "elf_x86_64", payload._LONG_MODE),
    ],
)
def test_the_bytes_are_what_the_source_says(
    name: str, form: str, code: bytes, tmp_path: Path
) -> None:
    made, binary = tmp_path / "o", tmp_path / "bin"
    size = "--64" if form == "elf_x86_64" else "--32"
    subprocess.run(["as", size, f"-I{ASM}", str(ASM / f"{name}.s"), "-o", str(made)], check=True)
    link = ["ld", "-m", form, "-Ttext", "0", "--oformat", "binary", str(made), "-o", str(binary)]
    subprocess.run(link, check=True)
    assert binary.read_bytes() == code


def test_a_boot_sector_has_its_text_and_its_partition() -> None:
    disk = payload.bios_disk(b"hello", esp=b"\xeb" * 4096)
    assert disk[510:512] == b"\x55\xaa"
    assert struct.pack("<H", 5) in disk[:96]
    assert disk[512:517] == b"hello"
    assert struct.unpack("<II", disk[454:462]) == (2048, 8)
    assert disk[1 << 20 :] == b"\xeb" * 4096


def test_words_are_the_literals_of_the_checks(edit: Edit) -> None:
    folder = edit(
        "tests/checks.py", "assert machine.alive\n\n\n@check", "assert 'glow'\n\n\n@check"
    )
    (folder / "tests/data.txt").write_text("forty watts\n")
    (folder / "tests/blob").write_bytes(b"\xff\xfe")
    words = known.words(folder)
    assert {"lit", "warm", "glow", "forty watts"} <= set(words)
    assert words.index("glow") < words.index("forty watts")


def test_words_of_the_shared_library_are_known_too(edit: Edit) -> None:
    """What moves from a task into `bench` stays known to the exploit that carries every word."""
    folder = edit("task.toml", "1.0.0", "1.0.0")
    assert "pam_rootok" not in known.words(folder)
    taken = "from benchflow.bench import (\n    apt_archive,\n    login_rules,\n)\n"
    (folder / "tests/helper.py").write_text(taken)
    words = set(known.words(folder))
    assert "pam_rootok" in words and " has no package " in words
    assert "InRelease" in words and "control.tar.gz" in words, "what that imports counts"
    assert not any("slot image" in word for word in words)


def test_answers_are_read_from_a_recording(tmp_path: Path) -> None:
    frame = (
        ' printf "\\n%s[\\n" "$((1+2))"; ( eval "$__b" ) </dev/null 2>&1; set -- $?; '
        'printf "\\n]%s:%s:%s;\\n]%s:%s:%s;\\n" "$((4+5))" "$1" "$((4+5))" '
        '"$((4+5))" "$1" "$((4+5))"\n'
    )
    events = [
        [0, "o", "Linux version 6.1\r\n# "],
        [1, "i", " __b=$(printf 'echo 100%% \\055n.'); __b=${__b%.}\n"],
        [1, "i", " __b=$__b$(printf ' \\047x\\047.'); __b=${__b%.}\n"],
        [1, "i", frame],
        [2, "o", "\r\n3[\r\ntwo\r\nlines\r\n\r\n]9:7:"],
        [2, "o", "9;\r\n"],
        [3, "i", " echo $((1+1))\n"],
    ]
    (tmp_path / "verifier").mkdir()
    lines = [json.dumps(event) for event in [{"version": 2}, *events]]
    (tmp_path / "verifier/main.console.cast").write_text("\n".join(lines) + "\ntorn")
    oracle = with_changes(trial(), path=tmp_path)
    assert known.answers(oracle) == [known.Answer(b"echo 100% -n 'x'", "two\nlines\n", 7)]
    assert known.console(oracle).startswith("Linux version 6.1")
    assert known.answers(None) == []


def test_exploits_without_a_guest_need_no_workshop(edit: Edit, tmp_path: Path) -> None:
    task = load(edit("task.toml", 'kind = "disk"', 'kind = "archive"'))
    made = exploits.prepare(task, None, tmp_path / "c")
    assert [exploit.name for exploit in made] == ["poisoned-machine", "hostile-file", "known-text"]
    for exploit in made:
        subprocess.run(["bash", "-n", str(exploit.path)], check=True)
    poison = made[0].path.read_text()
    assert '"milestone.warm": 1' in poison and "/app/lamp.img" in poison
    with tarfile.open(made[0].path.parent / "files/known.tar") as archive:
        assert b"warm" in archive.extractfile("known.txt").read()  # type: ignore[union-attr]
    assert made == exploits.prepare(task, None, tmp_path / "c")


def test_a_plain_tasks_artifacts_are_what_is_delivered(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text(
        'schema_version = "1.4"\nartifacts = ["/app/a", {source = "/app/b/"}]\n'
        '[[steps]]\nname = "one"\nartifacts = ["/app/c"]\n'
    )
    task = load(tmp_path)
    assert [item.path for item in exploits.wanted(task)] == ["/app/a", "/app/b", "/app/c"]


def test_a_gain_needs_a_declaration_with_a_reason(lamp: Path) -> None:
    guest = Exploit("stock-guest", Path())
    tried = {"stock-guest": trial("exploit:stock-guest", passed=("lit",))}
    task = load(lamp)
    assert gate_rules.common(task, [guest], tried).findings == ("stock-guest gains lit",)
    config = lamp / "task.toml"
    config.write_text(config.read_text() + DECLARED)
    task = load(lamp)
    declared = replace(guest, allowed=task.common_exploits[0].allowed)
    assert gate_rules.common(task, [declared], tried).status is Status.PASSED
    config.write_text(config.read_text().replace('"any lamp lights up"', '"yes"'))
    with pytest.raises(TaskError, match="why"):
        load(lamp)


def test_a_declaration_for_no_exploit_or_milestone_is_found(lamp: Path) -> None:
    config = lamp / "task.toml"
    text = config.read_text()
    config.write_text(text + DECLARED.replace("stock-guest", "stock-gust"))
    found = gate_rules.common(load(lamp), [], {})
    assert found.findings == ("common_exploits: there is no exploit 'stock-gust' for this task",)
    config.write_text(text + DECLARED.replace('["lit"]', '["dark"]'))
    with pytest.raises(TaskError, match="no milestone 'dark'"):
        load(lamp)


def test_who_can_prevent_a_verdict_has_gained_where_the_machine_is_shared(lamp: Path) -> None:
    exploit = Exploit("poisoned-machine", Path())
    lost = {"poisoned-machine": trial(error="RewardFileNotFoundError")}
    assert gate_rules.common(load(lamp), [exploit], lost).status is Status.ERROR
    plain = replace(load(lamp), is_benchflow=False, milestones=())
    found = gate_rules.common(plain, [exploit], lost)
    assert found.status is Status.FAILED
    assert "leaves the verifier without a verdict" in found.findings[0]
    away = {"poisoned-machine": trial(error="MirrorUnreachable")}
    assert gate_rules.common(plain, [exploit], away).status is Status.ERROR


def test_a_reward_without_milestones_is_a_gain(lamp: Path) -> None:
    plain = replace(load(lamp), is_benchflow=False, milestones=())
    won = with_changes(trial(), milestones=(), reward=0.25)
    exploit = Exploit("known-text", Path())
    found = gate_rules.common(plain, [exploit], {"known-text": won})
    assert found.findings == ("known-text gains a reward of 0.25",)
