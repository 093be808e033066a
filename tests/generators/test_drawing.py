"""Drawing: the same everywhere, met demands, clear refusals."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchflow.errors import TaskError, UsageError
from benchflow.generators import draw, generators
from benchflow.generators.compose import Level, compose, pairs
from benchflow.generators.draw import Draw
from benchflow.generators.generator import HIGHEST_SEED, Generator
from benchflow.generators.generator import load as load_generator
from benchflow.generators.instances import Instance, instances, private, split
from benchflow.generators.spec import spec
from benchflow.tasks import find, select
from benchflow.tasks.catalogue import in_catalogue_or_drawn, root

_PROBE = """
import importlib.util, json, sys
told = importlib.util.spec_from_file_location("draw", sys.argv[1])
draw = importlib.util.module_from_spec(told)
sys.modules["draw"] = draw
told.loader.exec_module(draw)
one = draw.Draw("topic/name", 17)
stream = one.stream("parts")
print(json.dumps([one.uuid("a"), one.hex("b", 9), stream.shuffled(range(40)),
                  [stream.below(7) for _ in range(50)]]))
"""


@pytest.fixture(scope="module")
def server() -> Generator:
    return generators(root())["repair/server"]


def test_draws_are_the_same_in_another_python(tmp_path: Path) -> None:
    names = ("python3", "python3.11", "python3.12", "python3.13", "/usr/bin/python3")
    found = {path for name in names if (path := shutil.which(name))}
    # A shim of pyenv's may stand for a version that is not there.
    others = [
        path
        for path in found
        if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0
    ]
    said = {
        subprocess.run(
            [python, "-I", "-c", _PROBE, draw.__file__], capture_output=True, text=True, check=True
        ).stdout
        for python in {sys.executable, *others}
    }
    assert len(said) == 1
    # Pinned: a change of the stream would change every instance that was ever published.
    digest = hashlib.sha256(json.dumps(json.loads(said.pop())).encode()).hexdigest()
    assert digest == "9c02138204ab738c912dfb05b71d17d74c6a9bb5a8d26978dfcebefa1d13da2a"


def test_one_label_moves_no_other() -> None:
    one = Draw("topic/name", 1)
    before = [one.stream("b").below(1000) for _ in range(3)]
    one.stream("a").shuffled(range(100))
    assert [one.stream("b").below(1000) for _ in range(3)] == before
    assert len({one.hex("x", 32), one.hex("y", 32), Draw("topic/name", 2).hex("x", 32)}) == 3


@pytest.mark.parametrize(
    "name",
    [
        "embedded/router",
        "embedded/update",
        "packages/manager",
        "repair/kernel",
        "repair/package-manager",
        "repair/server",
        "spin/image",
    ],
)
@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_every_level_is_met_by_fifty_seeds(name: str, level: int) -> None:
    server = generators(root())[name]
    asked = server.levels[level]
    seen: Counter[str] = Counter()
    specs = set()
    for seed in range(50):
        drawn = spec(server, level, seed)
        parts = drawn.parts
        names = {part.name for part in parts}
        assert len(parts) == asked.parts == len(names)
        assert len({part.layer for part in parts}) >= asked.layers
        assert sum(part.silent for part in parts) >= asked.silent
        assert len(pairs(parts)) >= asked.pairs
        assert sum(server.blocks(part) for part in parts) >= asked.blocking >= 1
        assert not any(part.conflicts & names for part in parts)
        seen.update(names)
        specs.add(drawn.digest)
    assert len(specs) == 50
    if level >= 4:  # at level 3 fifty seeds may miss one
        assert seen.keys() == server.parts.keys(), "every part can be drawn"


def test_the_same_seed_gives_the_same_bytes(
    server: Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv("BENCHFLOW_HOME", str(tmp_path / name))
        folder = Instance(server, 3, 17).folder(root())
        said.append(
            {
                path.relative_to(folder): path.read_bytes()
                for path in folder.rglob("*")
                if path.is_file()
            }
        )
    assert said[0] == said[1] and len(said[0]) > 40


def test_an_instance_is_a_task_like_any_other() -> None:
    task = find("repair/server#17@2")
    version = generators(root())["repair/server"].version
    assert task.name == f"repair/server-v{version}-l2-17"
    assert task.generator == "repair/server"
    assert len(task.milestones) == 16
    assert find(task.name).digest == task.digest
    with pytest.raises(UsageError, match="is of version 1"):
        find("repair/server-v1-l2-17")
    assert {each.name for each in select(["repair/server#3..5"])} == {
        f"repair/server-v{version}-l3-{seed}" for seed in (3, 4, 5)
    }


def test_nothing_of_the_draw_is_in_what_an_agent_sees(server: Generator) -> None:
    task = find("repair/server#17@5")
    drawn = spec(server, 5, 17)
    dockerfile = (task.path / "environment/Dockerfile").read_text()
    last = dockerfile.rpartition("\nFROM ")[2]
    assert "COPY --from=factory /srv/server.img.zst" in last and "COPY server" not in last
    for told in (last, (task.path / "instruction.md").read_text()):
        assert not [part.name for part in drawn.parts if part.name in told]
        assert str(drawn.digest) not in told


def test_every_part_has_its_place_and_its_repair(server: Generator, tmp_path: Path) -> None:
    from benchflow.generators import write
    from benchflow.generators.compose import Chosen
    from benchflow.generators.spec import Spec

    for part in server.parts.values():
        alone = Spec(server.name, 1, 1, 1, (Chosen(part, "alone"),), {})
        write.write(server, alone, root(), tmp_path / part.name)
        build = (tmp_path / part.name / "environment/server/build.sh").read_text()
        solve = (tmp_path / part.name / "solution/solve.sh").read_text()
        assert part.broken in build and part.repaired in solve
        section = solve.index(f"# --- {part.bites} ")
        assert section < solve.index(part.repaired) < solve.index(f"reached {part.bites}", section)
        for script in (build, solve):
            subprocess.run(["bash", "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize(
    ("reference", "wrong"),
    [
        ("repair/nothing#1", "no generator"),
        ("repair/server#x", "names no instance"),
        ("repair/server#1@9", "has no level 9"),
        (f"repair/server#{HIGHEST_SEED + 1}", "out of range"),
        ("repair/server#9..1", "no range"),
        ("repair/server#1..5000", "no range"),
        ("repair/server", "is a generator, and draws tasks"),
    ],
)
def test_wrong_references_are_refused(reference: str, wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong):
        select([reference])


def test_no_part_undoes_what_another_breaks(server: Generator) -> None:
    """What `breaks` says of a part holds beside every other that may be drawn with it."""

    def those(text: str) -> set[str]:
        found = {name for name, part in server.parts.items() if text in part.broken}
        assert found, text
        return found

    # Without the data volume nobody gets in, unless the machine may start without it.
    without_data = {"data-head-gone", "fstab-old-names", "table-data-late"}
    assert all("multi-user" in server.parts[name].breaks for name in without_data)
    for name in those("nofail"):
        assert without_data <= server.parts[name].conflicts
    # Who may be root by a rule needs no group for it.
    for name in those("NOPASSWD"):
        assert those("gpasswd -d ingrid sudo") <= server.parts[name].conflicts
    # An initramfs that is made wrong is made before none is made any more.
    last = max(server.parts[name].order for name in those("update-initramfs -u"))
    assert all(server.parts[name].order > last for name in those("update_initramfs=no"))


@pytest.mark.needs("e2fsprogs")
def test_no_inode_of_the_disk_was_changed_at_another_time(
    server: Generator, tmp_path: Path
) -> None:
    build = (server.folder / "template/environment/server/build.sh").read_text()
    began = build.index("for start in $root_start $data_start; do\n")
    ended = build.index("# @parts broken disk")
    (tmp_path / "files").mkdir()
    for number in range(40):
        (tmp_path / "files" / str(number)).write_text("x")
    image = tmp_path / "image"
    script = f"""set -eu
        image={image} root_start=64 data_start=8256
        truncate -s 8M {image}
        for start in 64 8256; do
            mke2fs -q -t ext4 -d {tmp_path}/files -E offset=$((start * 512)) {image} 3M
        done
        export E2FSPROGS_FAKE_TIME=1764000000
        {build[began:ended]}"""
    subprocess.run(["sh", "-c", script], check=True, capture_output=True)
    for start in (64, 8256):
        volume = f"{image}?offset={start * 512}"
        assert subprocess.run(["e2fsck", "-fn", volume], capture_output=True).returncode == 0
        asked = "".join(f"stat <{number}>\n" for number in range(11, 52))
        said = subprocess.run(
            ["debugfs", "-f", "-", volume], input=asked, capture_output=True, text=True, check=True
        ).stdout
        times = [line.split()[1] for line in said.splitlines() if line.startswith(" ctime")]
        assert times == ["0x69248100:00000000"] * 41


def test_a_level_asks_for_the_same_in_every_generator() -> None:
    found = generators(root())
    assert len(found) > 1
    assert len({str(generator.levels) for generator in found.values()}) == 1


def test_a_level_that_cannot_be_met_says_which_demand(server: Generator) -> None:
    few = {name: part for name, part in server.parts.items() if not part.silent}
    with pytest.raises(TaskError, match="of 2 silent"):
        compose(few, Level(parts=3, layers=2, silent=2), Draw("x", 1).stream("p"), server.blocks)


def test_a_private_split_follows_from_its_secret(server: Generator) -> None:
    secret = bytes(range(32))
    one = private(server, secret, 20, [2, 3])
    assert one == private(server, secret, 20, [2, 3])
    assert len({each.seed for each in one}) == 20
    assert {each.level for each in one} == {2, 3}
    other = private(server, bytes(range(1, 33)), 20, [2, 3])
    assert not {each.seed for each in one} & {each.seed for each in other}
    for bad in (b"short", bytes(32)):
        with pytest.raises(UsageError, match="the secret"):
            private(server, bad, 1, [2])


def test_the_public_split_is_what_was_pinned(server: Generator) -> None:
    public = split("public", root())
    assert len(public) >= 14
    assert {one.level for one in public} == {2, 3, 4, 5}
    with pytest.raises(UsageError, match="no published split") as told:
        split("nobodys", root())
    assert told.value.hint.startswith("published: public;")


def _copy(server: Generator, to: Path) -> Path:
    folder = to / "generators/repair/server"
    shutil.copytree(server.folder, folder)
    return folder


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (('layer = "rights"', 'layer = "rights"\nconflicts = ["nobody"]'), "no part 'nobody'"),
        (('breaks = ["rights"]', 'breaks = ["right"]'), "no milestone 'right'"),
        (('stage = "root"', 'stage = "moon"'), "stage 'moon'"),
        (('layer = "rights"', "layer = 5"), "layer"),
    ],
)
def test_a_wrong_part_is_named(
    server: Generator, tmp_path: Path, change: tuple[str, str], wrong: str
) -> None:
    folder = _copy(server, tmp_path)
    path = folder / "parts/shell-left.toml"
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(TaskError, match=wrong) as told:
        load_generator(folder)
    assert "shell-left" in told.value.message


def test_a_pinned_instance_that_is_drawn_otherwise_is_refused(
    server: Generator, tmp_path: Path
) -> None:
    folder = _copy(server, tmp_path)
    (tmp_path / "tasks").mkdir()
    (folder / "parts/shell-left.toml").rename(folder / "parts/shell-kept.toml")
    told = (folder / "generator.toml").read_text()
    later = server.version + 1
    told = told.replace(f"version = {server.version}\n", f"version = {later}\n", 1)
    (folder / "generator.toml").write_text(told)
    with pytest.raises(UsageError, match=rf"is pinned .* version {later} of repair/server draws"):
        split("public", tmp_path / "tasks")


def test_a_place_that_the_template_lacks_is_named(server: Generator, tmp_path: Path) -> None:
    folder = _copy(server, tmp_path)
    build = folder / "template/environment/server/build.sh"
    build.write_text(build.read_text().replace("# @parts broken disk\n", ""))
    one = load_generator(folder)
    seed = next(s for s in range(50) if any(p.stage == "disk" for p in spec(one, 3, s).parts))
    with pytest.raises(TaskError, match="no place for broken disk"):
        Instance(one, 3, seed).folder(root())


def test_a_changed_piece_that_tasks_share_is_seen(tmp_path: Path) -> None:
    name = "embedded/update"
    shutil.copytree(root().parent / "generators" / name, tmp_path / "generators" / name)
    shutil.copytree(root() / "lib", tmp_path / "tasks/lib")
    one = load_generator(tmp_path / "generators" / name)
    before = Instance(one, 2, 1).folder(tmp_path / "tasks")
    piece = tmp_path / "tasks/lib/python-station.sh"
    piece.write_text(piece.read_text() + "# said otherwise\n")
    after = Instance(one, 2, 1).folder(tmp_path / "tasks")
    built = "environment/unit/build.sh"
    assert "# said otherwise" not in (before / built).read_text()
    assert "# said otherwise" in (after / built).read_text()


def test_instances_are_read_as_one_generator() -> None:
    assert {instance.generator.name for instance in instances("repair/server#1..4", root())} == {
        "repair/server"
    }


def test_a_drawn_task_is_known_by_the_name_that_results_have() -> None:
    drawn = find("repair/server#77@2")
    known = in_catalogue_or_drawn(drawn.name)
    assert known is not None and known.path == drawn.path
    assert in_catalogue_or_drawn("repair/dead-server") == find("repair/dead-server")
    foreign = (
        drawn.name.replace("-v", "-v999"),
        drawn.name.replace("repair/", "repair/../"),
        f"{drawn.name}{'9' * 5000}",
        "repair/nothing",
    )
    assert [in_catalogue_or_drawn(name) for name in foreign] == [None] * 4
