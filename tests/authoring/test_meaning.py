"""The key of a gate: what makes it due, what does not, and how records were carried over."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from benchflow.authoring.meaning.key import SOURCES, changed, key_of, parts_of, reached
from benchflow.authoring.meaning.renames import Renames
from benchflow.authoring.meaning.syntax import read
from benchflow.errors import UsageError
from benchflow.tasks import names, root
from benchflow.tasks.digest import digest_of
from benchflow.tasks.load import SCORED_PARTS

ROOT = Path(__file__).parents[2]
BOOT, BENCH = Path("benchflow/boot"), Path("benchflow/bench")
#: The content address of `boot` that records keyed by bytes were made for.
BYTES = "71d8ed943e6642bb2b6f"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of what travels into the verifier, to be changed."""
    for package in (BOOT, BENCH):
        shutil.copytree(SOURCES / package, tmp_path / "src" / package)
    (tmp_path / "src/benchflow/__init__.py").touch()
    return tmp_path / "src"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f"{path.name} has no {old!r}"
    path.write_text(text.replace(old, new, 1))


@cache
def now(name: str) -> dict[str, str]:
    return parts_of(root() / name)


def due(sources: Path, renames: Renames | None = None) -> dict[str, list[str]]:
    """Task → the parts that differ from today's, of the tasks that have any."""
    found = {n: changed(now(n), parts_of(root() / n, sources, renames)) for n in names()}
    return {name: parts for name, parts in found.items() if parts}


@pytest.mark.needs("time")
def test_what_says_nothing_makes_nothing_due(sources: Path) -> None:
    shell = sources / BOOT / "machine/shell.py"
    edit(shell, "import re\n", "import re  # for patterns\n")
    edit(shell, "class Shell:\n", "class Shell:\n    # A comment.\n\n")
    edit(shell, '"""', '"""Told otherwise. ')
    with shell.open("a") as file:
        file.write("\n\ndef nobody_calls_this() -> bool:\n    return 1 < 2\n")
    (sources / BOOT / "another.py").write_text("print('never imported')\n")
    assert due(sources) == {}


@pytest.mark.needs("time")
def test_a_new_method_that_nobody_names_makes_nothing_due(sources: Path) -> None:
    edit(
        sources / BOOT / "machine/shell.py",
        "    def __init__(",
        "    def a_method_of_no_task(self) -> int:\n        return 7\n\n    def __init__(",
    )
    assert due(sources) == {}


@pytest.mark.needs("time")
def test_a_changed_comparison_makes_due_who_comes_to_it(sources: Path) -> None:
    """`fat.py` is read by those who look into FAT; `shell.py` by all that ask a guest."""
    fat = sources / BOOT / "inspect/fat.py"
    tree = fat.read_text()
    fat.write_text(tree.replace(" != 0", " == 0", 1) if " != 0" in tree else tree + "\nprint(1)\n")
    users = {
        n for n in names() if any(m.endswith(".fat") for m, _ in reached(root() / n / "tests"))
    }
    assert 0 < len(users) < len(names())
    assert due(sources) == {name: ["boot/fat"] for name in users}


@pytest.mark.needs("time")
def test_a_change_in_the_runner_makes_all_due(sources: Path) -> None:
    edit(sources / BOOT / "runner/verify.py", "EXIT_VERDICT = 0", "EXIT_VERDICT = 5")
    assert due(sources) == {name: ["boot/verify"] for name in names()}


def table(**more: dict[str, str]) -> Renames:
    """The table in use, and `more`; a new one each time, for what was read is kept for one."""
    used = Renames.read()
    return Renames(
        {**used.modules, **more.get("modules", {})},
        {**used.definitions, **more.get("definitions", {})},
        used.members,
    )


@pytest.mark.needs("time")
def test_a_move_with_its_line_in_the_table_is_the_same(sources: Path) -> None:
    boot = sources / BOOT
    (boot / "dos").mkdir()
    (boot / "dos/__init__.py").touch()
    (boot / "dos/fat_reader.py").write_text((boot / "inspect/fat.py").read_text())
    (boot / "inspect/fat.py").unlink()
    for path in boot.rglob("*.py"):
        path.write_text(path.read_text().replace("boot.inspect.fat ", "boot.dos.fat_reader "))
    assert due(sources), "it has another name"
    moved = {"benchflow.boot.dos.fat_reader": "benchflow.boot.fat"}
    assert due(sources, table(modules=moved)) == {}
    edit(boot / "dos/fat_reader.py", " + ", " - ")
    found = due(sources, table(modules=moved))
    assert any("boot/fat" in parts for parts in found.values())


@pytest.mark.needs("time")
def test_a_rename_with_its_line_in_the_table_is_the_same(sources: Path) -> None:
    for path in (sources / BOOT).rglob("*.py"):
        text = path.read_text()
        # What a module calls that which it imports is nobody's business.
        text = text.replace("load_manifest", "read_manifest")
        path.write_text(text.replace("decompress_first", "unpack_first"))
    new, old = (
        "benchflow.boot.inspect.archive:unpack_first",
        "benchflow.boot.archive:decompress_first",
    )
    assert due(sources), "a function has another name"
    assert due(sources, table(definitions={new: old})) == {}


def test_a_table_that_takes_two_for_one_is_no_proof(tmp_path: Path) -> None:
    path = tmp_path / "renames.toml"
    path.write_text('[modules]\n"a.b" = "c"\n"a.d" = "c"\n')
    with pytest.raises(UsageError, match=r"both a\.b and a\.d"):
        Renames.read(path)
    with pytest.raises(UsageError, match="boot: called old, and in use"):
        Renames(members={"anything": "boot"}).refuse_collisions([], ["boot", "anything"])
    with pytest.raises(UsageError, match="are taken for m:old"):
        Renames(definitions={"m:new": "m:old"}).refuse_collisions(["m:old", "m:new"], [])


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("from x import f\ndef g(a: int) -> int:\n  '''Doc.'''\n  return f(a) # why\n", True),
        ("import x\ndef g(a):\n  return x.f(a)\n", True),
        ("from x import f as h\ndef g(a): return h(a)\n", True),
        ("from x import f\ndef g(a):\n  import y\n  return f(a)\n", True),
        ("from y import f\ndef g(a): return f(a)\n", False),
        ("from x import f\ndef g(f): return f(f)\n", False),
        ("from x import f\ndef g(a=1): return f(a)\n", False),
        ("from x import f\n@cache\ndef g(a): return f(a)\n", False),
        ("from x import f\nasync def g(a): return f(a)\n", False),
        ("from x import f\ndef g(a): return f(a), 1\n", False),
    ],
)
def test_the_text_of_a_function_is_its_meaning(other: str, same: bool) -> None:
    future = "from __future__ import annotations\n"
    texts = [
        read(future + source, "m", lambda name: name).definitions["g"].text
        for source in ("from x import f\n\n\ndef g(a):\n    return f(a)\n", other)
    ]
    assert (texts[0] == texts[1]) is same


def test_fields_of_a_dataclass_are_read_with_their_annotations() -> None:
    def text(kind: str) -> str:
        source = f"from __future__ import annotations\nclass A:\n    x: {kind} = 1\n"
        return read(source, "m", lambda name: name).definitions["A"].text

    assert text("int") != text("ClassVar[int]")


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_every_python_reads_the_same(version: str) -> None:
    script = (
        "import hashlib, sys, pathlib; from benchflow.authoring.meaning.syntax import read\n"
        "total = hashlib.sha256()\n"
        "for path in sorted(pathlib.Path('src/benchflow/boot').rglob('*.py')):\n"
        "    for each in read(path.read_text(), path.stem, str).definitions.values():\n"
        "        total.update(repr((each.name, each.text, sorted(each.mentions))).encode())\n"
        "print(sys.version_info[:2], total.hexdigest())\n"
    )
    found = [
        str(path) for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    ]
    found += [path for path in [shutil.which(f"python{version}")] if path]
    # One of pyenv's may be there and lead nowhere.
    python = next(
        (each for each in found if subprocess.run([each, "-V"], check=False).returncode == 0), None
    )
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    told = [
        subprocess.run(
            [each, "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, check=True
        ).stdout.split()[-1]
        for each in (sys.executable, python)
    ]
    assert told[0] == told[1]


@cache
def at(commit: str) -> tarfile.TarFile:
    done = subprocess.run(
        ["git", "archive", commit, "src/benchflow", "tasks"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"the history does not reach back to {commit}: {done.stderr.decode()[-200:]}")
    return tarfile.open(fileobj=io.BytesIO(done.stdout))


def listed(sources: Path) -> Callable[[str, str], list[str]]:
    """The verifier's packages as the program in `sources`, of before its modules moved, says."""
    program = "import json, sys; from benchflow.boot.requirements import packages; "
    program += "print(json.dumps(packages(*sys.argv[1:])))"

    def packages(arch: str, firmware: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", program, arch, firmware],
            check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(sources)},
        )  # fmt: skip
        found: list[str] = json.loads(done.stdout)
        return found

    return packages


@pytest.mark.needs("time")
def test_records_that_were_carried_over_meant_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At that commit the record held by the old rule, to the byte; what its tasks and `boot` meant
    then, by the present program, is what the record says now."""
    recorded = json.loads((ROOT / "tasks/gates.json").read_text())["tasks"]
    carried = {name: entry for name, entry in recorded.items() if "carried" in entry}
    for commit in {entry["carried"] for entry in carried.values()}:
        at(commit).extractall(tmp_path / commit, filter="data")
    for name, entry in carried.items():
        then = tmp_path / entry["carried"]
        folder = then / "tasks" / name
        old = json.loads((then / "tasks/gates.json").read_text())["tasks"][name]
        digest = digest_of(folder, SCORED_PARTS)
        word = hashlib.sha256(f"2 {digest} {BYTES}".encode()).hexdigest()[:12]
        assert old["key"] == word, f"{name}: the old record did not hold"
        monkeypatch.setattr(sys.modules["benchflow.tasks.stage"], "packages", listed(then / "src"))
        meant = parts_of(folder, then / "src", Renames())
        assert changed(meant, entry["meaning"]) == [], name
        assert entry["key"] == key_of(meant)


@pytest.mark.needs("time")
def test_bench_is_followed_as_boot_is(sources: Path) -> None:
    """A word of no meaning makes nothing due, a comparison exactly those that come to it."""
    tar = sources / BENCH / "tar_canon.py"
    edit(tar, '"""One form of tar', '"""A form of tar')
    edit(tar, "BLOCK = 512", "BLOCK = 512  # bytes")
    (sources / BENCH / "nobody.py").write_text("print('never imported')\n")
    assert due(sources) == {}
    edit(tar, "if len(header) < BLOCK:", "if len(header) <= BLOCK:")
    users = {
        n for n in names() if ("benchflow.bench.tar_canon", "read") in reached(root() / n / "tests")
    }
    assert 0 < len(users) < len(names())
    # Another table of the same content: what was read with the first is kept.
    assert due(sources, table()) == {name: ["tests/tarform"] for name in users}


def test_what_a_task_had_before_the_library_is_the_same(tmp_path: Path) -> None:
    """The record of container/oci-base holds: its modules moved, and that is all."""
    task = root() / "container/oci-base"
    shutil.copytree(root() / "lib", tmp_path / "lib")
    copy = shutil.copytree(task, tmp_path / "container/oci-base")
    assert parts_of(copy) == now("container/oci-base")
    moved = copy / "tests/tarform.py"
    moved.write_text((SOURCES / BENCH / "tar_canon.py").read_text())
    edit(copy / "tests/checks.py", "import zones\n", "import tarform\nimport zones\n")
    edit(copy / "tests/checks.py", "MOST = 960 << 10", "MOST = tarform.BLOCK * 1920")
    with pytest.raises(UsageError, match="both"):  # two of that name: its own, and that of `bench`
        parts_of(copy)
