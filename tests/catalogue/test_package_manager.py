"""from-source/package-manager: its parts agree, and its helpers can tell yes from no."""

from __future__ import annotations

import base64
import hashlib
import random
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from types import ModuleType

import pytest
from tests.catalogue import checkers

from benchflow.boot import Tar
from benchflow.boot.inspect import ed25519
from benchflow.tasks import Task, find

NAME = "from-source/package-manager"
TASK = Path(__file__).parents[2] / "tasks" / NAME
HELPERS = (
    "form", "repository", "station", "cases", "power", "tides", "hidden", "accounts", "line",
    "standing", "tools",
)  # fmt: skip


@pytest.fixture(scope="module")
def task() -> Task:
    return find(NAME)


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers(NAME, *HELPERS) as loaded:
        yield loaded


def edits() -> list[tuple[str, str]]:
    """(what for, shell commands) of every edit of the oracle's files, for ladder and exploits."""
    script = (TASK / "solution/solve.sh").read_text()
    found = re.findall(r"^has (\S+) \|\| (sed -i .*)$", script, re.MULTILINE)
    for exploit in sorted((TASK / "exploits").glob("*.sh")):
        block = re.search(
            r"<<'CHANGES'\n(.*?)^CHANGES$", exploit.read_text(), re.DOTALL | re.MULTILINE
        )
        if not block:
            continue
        found += [(exploit.stem, line) for line in block[1].splitlines() if line.startswith("sed")]
    return found


@pytest.mark.parametrize(("what", "command"), edits())
def test_what_the_ladder_and_the_exploits_edit_is_there(
    what: str, command: str, tmp_path: Path
) -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    shutil.copytree(TASK / "solution/lade", tmp_path / "lade")
    shutil.copytree(TASK / "solution/rootfs", tmp_path / "root")

    def content() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    before = content()
    subprocess.run(["bash", "-euc", command], check=True, cwd=tmp_path)
    assert content() != before, f"{what} changes nothing"


def test_what_is_nearly_the_password_is_another(helpers: dict[str, ModuleType]) -> None:
    """Also of a drawn one: repair/package-manager's are twelve hexadecimal digits."""
    for password in ("Cold-Lake-51", "0123456789a2", "012345678901"):
        near = helpers["standing"].near_misses(password)
        assert password not in near and len(near) >= 3


def test_packages_are_what_was_packed(helpers: dict[str, ModuleType]) -> None:
    form = helpers["form"]
    package = form.Package(
        "one", "1.2", needs=["two>=1"], conflicts=["three"], check=b"#!/bin/sh\n"
    )
    package.config("etc/one", "x\n").file("opt/a b/c", bytes(700), 0o4755, 7, 8)
    package.link("opt/l", "a b").dir("opt/empty", 0o700)
    data = package.pack()
    again = form.read(data)
    assert again.pack() == data and again.entries == package.entries
    assert again.meta() == package.meta() and again.check == package.check
    assert len(data) % 512 == 0 and data[257:265] == b"ustar\x0000"


def test_every_damaged_package_is_damaged(helpers: dict[str, ModuleType]) -> None:
    form, draw = helpers["form"], random.Random(1)
    damaged = helpers["cases"].damaged("odd", draw)
    assert len(damaged) >= 35
    for what, (listed, data) in damaged.items():
        try:
            found = form.read(data)
        except AssertionError:
            continue
        assert found.meta() != listed.meta(), f"nothing is wrong with {what}"


def test_every_odd_index_is_another(helpers: dict[str, ModuleType]) -> None:
    form, cases = helpers["form"], helpers["cases"]
    packages = [(p, p.pack()) for p in (form.Package("b", "1"), form.Package("a", "2", ["b"]))]
    good = form.index(packages, 7)
    assert good.splitlines()[:2] == [b"lade-index 1", b"serial 7"]
    assert good.splitlines()[2].startswith(b"a 2 ") and good.splitlines()[2].endswith(b" b -")
    for what, data in cases.indexes(packages, 7).items():
        assert data != good, what


def test_versions_are_numbers(helpers: dict[str, ModuleType]) -> None:
    by_number = helpers["form"].by_number
    assert by_number("1.10") > by_number("1.9") and by_number("2") == by_number("2.0")


def test_a_moved_file_is_in_both_versions_of_a_family(helpers: dict[str, ModuleType]) -> None:
    words = iter(range(10**6))
    old, new = helpers["cases"].family(lambda stem: f"{stem}-1", lambda: f"{next(words):032x}")
    moved = f"opt/{old[0].name}/moves"
    assert moved in old[0].plain and moved not in new[0].plain and moved in new[1].plain
    kinds = {
        (old[0].entries[path].kind, new[0].entries[path].kind)
        for path in set(old[0].entries) & set(new[0].entries)
    }
    assert {("file", "directory"), ("directory", "file"), ("symlink", "directory")} <= kinds
    assert {("directory", "symlink"), ("file", "symlink"), ("symlink", "file")} <= kinds


def test_the_repository_serves_and_cuts(helpers: dict[str, ModuleType]) -> None:
    form = helpers["form"]
    repository = helpers["repository"].Repository("127.0.0.1")
    try:
        package = form.Package("one", "1").file("opt/one", "x")
        repository.offer(package)

        def get(name: str) -> bytes:
            with urllib.request.urlopen(f"{repository.url}/{name}", timeout=10) as answer:
                data: bytes = answer.read()
                return data

        assert get(package.file_name) == package.pack()
        key = bytes.fromhex(repository.key)
        assert ed25519.verify(key, get("INDEX"), get("INDEX.sig"))
        assert repository.fetched() == [package.file_name]
        place = repository.place(package.file_name)
        repository.slow = {place: (1500, 0.2)}
        began = time.monotonic()
        assert get(package.file_name) == package.pack()
        assert time.monotonic() - began > 0.2
        repository.calm()
        repository.cut = {place: 100}
        with pytest.raises(Exception, match="IncompleteRead"):
            get(package.file_name)
        with pytest.raises(urllib.error.HTTPError):
            get("none")
    finally:
        repository.close()


def test_a_private_key_is_found_in_every_usual_form(helpers: dict[str, ModuleType]) -> None:
    hidden = helpers["hidden"]
    seed = bytes(range(7, 39))
    public = ed25519.public(seed)
    noise = random.Random(5).randbytes(4000)
    der = hidden.PKCS8 + seed

    def finds(data: bytes) -> bool:
        found: bool = hidden.Searcher([public], {"00" * 32}).finds(data)
        return found

    for what, data in {
        "DER": der,
        "PEM": b"\n-----BEGIN PRIVATE KEY-----\n" + base64.encodebytes(der) + b"-----END",
        "the seed before the public half": seed + public,
        "hexadecimal digits": b"\n" + seed.hex().encode() + b"\n",
        "base64": b"\n" + base64.b64encode(seed) + b"\n",
        "signify": b"\n" + base64.b64encode(b"EdBK" + bytes(36) + seed + public) + b"\n",
    }.items():
        assert finds(noise + data + noise), what
    assert finds(seed) and finds(seed + b"\n")
    # However many words there are before it that may be one.
    decoys = b"".join(b"%064x\n" % noise for noise in range(1, 6000))
    assert finds(decoys + seed.hex().encode() + b"\n") and not finds(decoys)
    for data in (noise, b"key=" + public.hex().encode() + b"\n", public, b"\n" + b"ab" * 32):
        assert not finds(data)


@pytest.mark.parametrize(
    ("passwd", "shadow", "closed"),
    [
        ("root:x:0:0::/:/bin/sh\nnobody:x:65534:1:::", "root:$6$a$b:1::::::\nnobody:*:1", True),
        ("root:x:0:0::/:/bin/sh\ndaemon:!:1:1:::\nbin:*:2:2:::", "root:$6$a$b:1::::::", True),
        ("root:x:0:0::/:/bin/sh\nroot::0:0:::", "root:$6$a$b:1::::::", True),
        ("root:x:0:0::/:/bin/sh\ntoor:*:0:0:::", "root:$6$a$b:1::::::", False),
        ("root:x:0:0::/:/bin/sh\ntoor:*:00:0:::", "root:$6$a$b:1::::::", False),
        ("root:x:0:0::/:/bin/sh\nguest::5:5:::", "root:$6$a$b:1::::::", False),
        ("root:x:0:0::/:/bin/sh\nguest:x:5:5:::", "root:$6$a$b:1\nguest:$1$a$b:1", False),
        ("root:x:0:0::/:/bin/sh\nguest:x:5:5:::", "root:$6$a$b:1\nguest::1", False),
        ("root::0:0::/:/bin/sh", "root:$6$a$b:1::::::", False),
        ("root:x:0:0::/:/bin/sh", "root::1::::::", False),
    ],
)
def test_who_can_log_in(
    helpers: dict[str, ModuleType], passwd: str, shadow: str, closed: bool, tmp_path: Path
) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text(f"{passwd}\n")
    (tmp_path / "etc/shadow").write_text(f"{shadow}\n")
    archive = tmp_path / "a.tar"
    subprocess.run(["tar", "-C", tmp_path, "-cf", archive, "etc"], check=True)
    try:
        helpers["accounts"].only_root(Tar(archive))
    except AssertionError:
        assert not closed
    else:
        assert closed


def test_needs_that_go_round(helpers: dict[str, ModuleType]) -> None:
    circle = helpers["form"].circle
    assert circle({"a": ["b>=1", "c"], "b": ["c"], "c": []}) == []
    assert circle({"a": ["b"], "b": ["c>=2"], "c": ["b"]}) == ["b", "c"]
    assert circle({"a": ["a"]}) == ["a"]


def test_the_next_version_has_other_programs(helpers: dict[str, ModuleType]) -> None:
    form = helpers["form"]
    package = form.Package("libc", "1.2.9").file("lib/l", b"\x7fELF" + bytes(60), 0o755)
    late = helpers["cases"].bumped(package.file("etc/x", "x"), "word")
    assert late.version == "1.2.10" and late.entries["lib/l"].data.endswith(b"word")
    assert late.entries["lib/l"].mode == 0o755 and late.entries["etc/x"] == package.entries["etc/x"]


def test_each_run_has_another_network(helpers: dict[str, ModuleType]) -> None:
    lines = [helpers["line"].Line.drawn(random.Random(seed)) for seed in range(200)]
    hosts = {line.host for line in lines}
    assert len(hosts) > 150 and not any(host.startswith("10.0.") for host in hosts)
    assert len({line.net.rpartition("/")[2] for line in lines}) == 5
    for line in lines:
        for here in (line, line.elsewhere()):
            net = ip_network(here.net)
            first, host = ip_address(here.first), ip_address(here.host)
            assert first in net and first + 16 in net and host in net
            assert not first <= host <= first + 16
        assert line.host == line.elsewhere().host and line.first != line.elsewhere().first


def test_an_address_of_the_network_is_told_from_others(helpers: dict[str, ModuleType]) -> None:
    line = helpers["line"].Line("10.99.16.0/21", "10.99.16.200", "10.99.16.60")
    for address, given in {
        "10.99.16.60/21": True, "10.99.16.75/21": True, "10.99.16.76/21": False,
        "10.99.16.60/24": False, "10.99.17.60/21": False, "10.0.2.15/24": False,
    }.items():  # fmt: skip
        assert line.gave(f"2: eth0\n    inet {address} brd 10.99.23.255 scope global") is given


def test_sockets_that_listen_are_told_from_others(helpers: dict[str, ModuleType]) -> None:
    table = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        "   0: 00000000:0913 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
        "   1: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
        "   2: 0F02000A:9000 C802000A:1F90 01 00000000:00000000 00:00000000 00000000     0\n"
        " 102: 00000000:0045 00000000:0000 07 00000000:00000000 00:00000000 00000000     0\n"
        " 103: 0F02000A:9001 C802000A:0035 01 00000000:00000000 00:00000000 00000000     0\n"
    )
    ports = helpers["standing"].open_ports
    assert ports(table, "0A") == {0x913} and ports(table, "07") == {69}


@pytest.mark.needs("busybox-static")
def test_what_options_do_is_what_busybox_does(
    helpers: dict[str, ModuleType], tmp_path: Path
) -> None:
    """A busybox of this host may be of another configuration; most of what is asked it has."""
    tools, draw = helpers["tools"], random.Random(3)
    word = f"{draw.randrange(16**32):032x}"
    there = tools.rows(draw, word)
    asked = tools.probes(draw, word, there)
    assert len(asked) > 20 and len(tools.COMMANDS.split()) == 398
    (tmp_path / "rows").write_text("".join(f"{row}\n" for row in there))
    right = 0
    for command, wanted in asked.items():
        done = subprocess.run(
            ["busybox", "sh", "-c", command], cwd=tmp_path, capture_output=True, text=True
        )
        right += done.stdout.strip() == wanted
    assert right > len(asked) * 3 // 4


def test_what_is_compared_with_the_disk(helpers: dict[str, ModuleType]) -> None:
    form = helpers["form"]
    package = form.Package("one", "1").file("a/b", "x", 0o4755, 1, 2).link("a/l", "b")
    found = helpers["station"].lines(package.entries)
    assert "41ed|0|0|./a" in found and "89ed|1|2|./a/b" in found and "a1ff|0|0|./a/l -> b" in found
    assert any(line.endswith("  ./a/b") and len(line) == 64 + 7 for line in found)


def test_of_many_moments_some_are_kept(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    power, made = helpers["power"], iter(range(1000))

    class Bench:
        class repository:
            @staticmethod
            def fetched() -> list[str]:
                return []

        class machine:
            @staticmethod
            def flatten() -> Path:
                number = next(made)
                path = tmp_path / str(number)
                path.write_text(str(number // 2))
                return path

    moments: list[object] = []
    for _ in range(400):
        power.take(Bench, moments)
    told = [int(moment.path.read_text()) for moment in moments]  # type: ignore[attr-defined]
    assert told[0] == 0 and told[-1] == 199 and told == sorted(set(told))
    assert power.KEPT_MAX // 2 <= len(told) <= power.KEPT_MAX
    assert len(list(tmp_path.iterdir())) == len(told)


def test_moments_are_chosen_from_all_stretches(
    helpers: dict[str, ModuleType], tmp_path: Path
) -> None:
    power = helpers["power"]
    moments = []
    for number in range(40):
        path = tmp_path / str(number)
        path.write_bytes(b"")
        moments.append(power.Moment(path, bytes([number]), min(number, 10)))
    some = power.chosen(moments, 6, random.Random(3))
    assert len(some) == 6 and some[-1] is moments[-1] and some[0].fetched < 10
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(m.path.name for m in some)


@pytest.mark.needs("gcc", "libc6-dev")
def test_tide_is_computed_as_its_source_does(
    helpers: dict[str, ModuleType], tmp_path: Path
) -> None:
    program = tmp_path / "tide"
    source = TASK / "environment/order/tide.c"
    assert hashlib.sha256(source.read_bytes()).hexdigest() == helpers["tides"].SHA256
    subprocess.run(["gcc", "-o", str(program), str(source)], check=True)
    for seed, hours in (("", 0), ("abc", 1000), ("f" * 32, 20000)):
        said = subprocess.run(
            [program, seed, str(hours)], check=True, capture_output=True, text=True
        )
        assert said.stdout.strip() == helpers["tides"].tide(seed, hours)


def test_what_the_letter_says_is_what_the_checks_use(helpers: dict[str, ModuleType]) -> None:
    letter = (TASK / "instruction.md").read_text()
    station = helpers["station"]
    assert f"`{station.PASSWORD}`" in letter and f"`{station.APPEND}`" in letter
    statuses = {int(row) for row in re.findall(r"^\| (\d+) \|", letter, re.MULTILINE)}
    header = (TASK / "solution/lade/lade.h").read_text()
    assert "UNREACHABLE = 10" in header and statuses == {2, *range(10, 19)}
