"""own/filesystem: its models of names and contents, and its old disks."""

from __future__ import annotations

import random
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.catalogue.checkers import helpers

TASK = Path(__file__).parents[2] / "tasks/own/filesystem"
MODULES = ("bench", "cuts", "damage", "oldformat", "uses", "old_disks")
POSIX = (
    *(
        "contents",
        "appends",
        "tails",
        "persists",
        "persisted",
        "many",
        "changing",
        "names",
        "deep",
        "below",
    ),
    *(
        "renames",
        "flags",
        "links",
        "symbolic",
        "kinds",
        "keeps-kinds",
        "kept-kinds",
        "modes",
        "users",
        "times",
        "holes",
    ),
    *("overwrites", "mapped", "mapped-holes", "nameless-killed", "full", "full-of-files"),
)
HOWS = ("-n", "-y", "-n")
LOAD = ("together", "tokens", "appenders", "exclusive", "counters")


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    with helpers("own/filesystem", *MODULES) as loaded:
        yield loaded


def listing_of(state: dict[str, str]) -> dict[str, str]:
    listed = {}
    for name, what in state.items():
        kind, _, target = what.partition(" ")
        listed[name] = f"l 1 {target}" if kind == "l" else f"{kind} 755 0 0 1.0 1 0  "
    return listed


@pytest.mark.parametrize("seed", range(8))
def test_the_names_of_one_moment_are_known(parts: dict[str, ModuleType], seed: int) -> None:
    cuts = parts["cuts"]
    script = cuts.Script(random.Random(seed))
    text = script.write()
    assert text.count("say ") == len(script.at_least) > 30 and "wait" in text
    last = len(script.at_least) - 1
    for promise in (0, last // 2, last):
        least = script.at_least[promise]
        for n, state in enumerate(script.states):
            said = cuts.wrong_names(listing_of(state), script, promise)
            later = state in script.states[least:]
            assert bool(said) is not later, (n, promise, said)
    both = dict(script.states[-1])
    both["a/nobody"] = "l 77"
    assert "no moment" in cuts.wrong_names(listing_of(both), script, 0)


def file_of(content: bytes) -> str:
    sums = "".join(
        f"{zlib.crc32(content[at : at + 4096]):x}," for at in range(0, len(content), 4096)
    )
    return f"f 644 0 0 1.0 1 {len(content)} {sums} "


@pytest.mark.parametrize("seed", range(8))
def test_contents_since_a_promise_are_known(parts: dict[str, ModuleType], seed: int) -> None:
    cuts = parts["cuts"]
    script = cuts.Script(random.Random(seed))
    script.write()
    last = len(script.promised) - 1
    good = {name: file_of(all_[-1]) for name, all_ in script.contents.items()}
    assert not cuts.wrong_contents(good, script, last)
    name, kept = next(
        (name, n) for name, n in script.promised[last].items() if script.contents[name][n]
    )
    gone = {key: value for key, value in good.items() if key != name}
    assert "not there" in cuts.wrong_contents(gone, script, last)
    other = bytearray(script.contents[name][-1] or b"x" * 100)
    other[-1] ^= 1
    assert cuts.wrong_contents(good | {name: file_of(bytes(other))}, script, last)
    assert cuts.has_had([b"a", b"abc"], 2) and not cuts.has_had([b"abc", b"a"], 2)
    promised = script.contents[name][kept]
    assert not cuts.wrong_contents(good | {name: file_of(promised)}, script, last)


def test_an_error_is_no_wrong_content(parts: dict[str, ModuleType]) -> None:
    differences = parts["damage"].differences
    whole = {"f": "f 644 0 0 1.0 1 8192 aa,bb, ", "d": "d 755 0 0 1.0"}
    assert differences(whole, dict(whole)) == ([], 0)
    assert differences(whole, whole | {"f": "f 644 0 0 1.0 1 8192 !5,bb, "}) == ([], 1)
    assert differences(whole, whole | {"f": "f 644 0 0 1.0 1 8192 cc,bb, "})[0]
    assert differences(whole, whole | {"f": "f 600 0 0 1.0 1 8192 aa,bb, "})[0]
    assert differences(whole, {"f": whole["f"]})[0]


def test_checksums_of_format_1_are_those_of_its_description(parts: dict[str, ModuleType]) -> None:
    assert parts["oldformat"].crc32c(b"123456789") == 0xE3069283
    assert "0xE3069283" in (TASK / "environment/FORMAT-1.md").read_text()


@pytest.fixture(scope="module")
def fsck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("fsck") / "fsck.holm"
    source = TASK / "solution/src"
    files = [str(source / name) for name in ("fsck.c", "upgrade.c", "tool.c")]
    subprocess.run(["gcc", "-O1", "-w", "-o", str(program), *files], check=True)
    return program


@pytest.mark.needs("gcc", "libc6-dev")
@pytest.mark.parametrize("seed", range(3))
def test_old_disks_become_new_ones(
    parts: dict[str, ModuleType], fsck: Path, tmp_path: Path, seed: int
) -> None:
    old = parts["oldformat"].whole(random.Random(seed))
    image = old.image()
    assert len(old.listing()) > 100
    used = sum(image[at : at + 4096] != bytes(4096) for at in range(0, len(image), 4096))
    assert used < len(image) // 4096 / 2
    disk = tmp_path / "disk"
    disk.write_bytes(image)
    assert subprocess.run([fsck, "-u", disk], check=False).returncode == 0
    assert subprocess.run([fsck, "-n", disk], check=False).returncode == 0
    assert disk.read_bytes()[:8] == b"HOLMFS-2"


@pytest.mark.needs("gcc", "libc6-dev")
def test_old_disks_that_lie_end_nothing(
    parts: dict[str, ModuleType], fsck: Path, tmp_path: Path
) -> None:
    for kind in range(parts["oldformat"].KINDS):
        disk = tmp_path / "disk"
        disk.write_bytes(parts["oldformat"].hostile(random.Random(kind), kind))
        for option in ("-n", "-u"):
            done = subprocess.run(
                [fsck, option, disk], check=False, timeout=60, capture_output=True
            )
            assert 0 <= done.returncode < 128, (kind, option)


@pytest.mark.needs("gcc", "libc6-dev")
@pytest.mark.parametrize("pairs", [1, 2])
def test_whichever_superblock_is_spoilt_is_seen_and_made_whole(
    parts: dict[str, ModuleType], fsck: Path, tmp_path: Path, pairs: int
) -> None:
    """Also where the youngest state is not that of block 0."""
    source, mkfs, disk = TASK / "solution/src", tmp_path / "mkfs.holm", tmp_path / "disk"
    files = [str(source / name) for name in ("mkfs.c", "tool.c")]
    subprocess.run(["gcc", "-O1", "-w", "-o", str(mkfs), *files], check=True)
    disk.write_bytes(bytes(16 << 20))
    subprocess.run([mkfs, disk], check=True)
    whole = bytearray(disk.read_bytes())
    later = bytearray(whole[:508])
    later[72] += 1
    later += parts["oldformat"].crc32c(bytes(later)).to_bytes(4, "little")
    for at in (4096, 3 * 4096) if pairs == 2 else ():
        whole[at : at + 512] = later
    for block in range(4) if pairs == 2 else (0, 2):
        spoilt = bytearray(whole)
        spoilt[block * 4096 + 30] ^= 1
        disk.write_bytes(spoilt)
        said = [subprocess.run([fsck, how, disk], check=False).returncode for how in HOWS]
        assert said == [4, 1, 0], block
        assert disk.read_bytes()[:72] == whole[:72]


@pytest.mark.needs("gcc", "libc6-dev")
def test_a_module_that_mounts_another_is_seen(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    source, module = tmp_path / "a.c", tmp_path / "a.ko"
    for text, found in (
        ("void *get_fs_type(char *); void *f(void) { return get_fs_type(0); }", ["get_fs_type"]),
        ("void *get_fs_type(char *a) { return a; }", []),
    ):
        source.write_text(text)
        subprocess.run(["gcc", "-c", "-o", str(module), str(source)], check=True)
        assert parts["uses"].refused_symbols(module.read_bytes()) == found


@pytest.mark.needs("gcc", "libc6-dev", "root", "unshare")
@pytest.mark.parametrize(("program", "asked"), [("posix", POSIX), ("load", LOAD)])
def test_the_hidden_programs_hold_on_a_tmpfs(
    parts: dict[str, ModuleType], tmp_path: Path, program: str, asked: tuple[str, ...]
) -> None:
    built = tmp_path / program
    source = TASK / f"tests/image/programs/{program}.c"
    subprocess.run(["gcc", "-O1", "-w", "-static", "-o", str(built), str(source)], check=True)
    salt = bytes(range(32))
    script = (
        f"mount -t tmpfs -o size=48m none {tmp_path}/on && cd {tmp_path}/on && exec "
        + " ".join([str(built), ".", f"salt={salt.hex()}", "seed=77", *asked])
    )
    (tmp_path / "on").mkdir()
    said = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], check=False, capture_output=True, text=True
    ).stdout
    proof = parts["bench"].proof
    assert said.splitlines() == [f"@{part} ok {proof(salt, part)}" for part in asked]
