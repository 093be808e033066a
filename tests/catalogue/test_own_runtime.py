"""own/runtime: what it expects of programs, packages, tests and answers."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import re
import socket
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.catalogue.checkers import helpers

TASK = Path(__file__).parents[2] / "tasks/own/runtime"
MODULES = (
    *("programs", "bench", "talker", "serving", "asked_server", "testing", "typed", "registry"),
    *("trees", "bad_archives", "installs", "bundling", "endurance", "uses"),
)
PARTS = sorted(path.name for path in (TASK / "tests/programs").iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    with helpers("own/runtime", *MODULES) as loaded:
        yield loaded


@pytest.mark.parametrize("part", PARTS)
def test_every_text_can_be_drawn(parts: dict[str, ModuleType], part: str) -> None:
    programs = parts["programs"]
    assert programs.names(part)
    for name in programs.names(part):
        first, second = (programs.draw(random.Random(seed), part, name) for seed in (1, 2))
        assert first.arguments and set(first.files)
        whole = json.dumps(first.files) + repr(first.arguments)
        assert "@@" not in whole, name
        assert (
            first != second or "@@" not in (TASK / f"tests/programs/{part}/{name}.txt").read_text()
        )


def test_what_is_not_the_same_is_named(parts: dict[str, ModuleType]) -> None:
    programs = parts["programs"]
    program = programs.draw(random.Random(1), "runs", "pieces")
    wanted = programs.Outcome(0, b"a\nb\n")
    assert not programs.difference(program, wanted, programs.Outcome(0, b"a\nb\n", b"noise"))
    assert "line 2" in programs.difference(program, wanted, programs.Outcome(0, b"a\nc\n"))
    assert "nothing" in programs.difference(program, wanted, programs.Outcome(0, b"a\n"))
    assert "ends with 1" in programs.difference(program, wanted, programs.Outcome(1, b"a\nb\n"))


def test_types_are_blank_without_them(parts: dict[str, ModuleType]) -> None:
    programs, typed = parts["programs"], parts["typed"]
    for name in programs.names("types"):
        program = programs.draw(random.Random(3), "types", name)
        bare, full = typed.without(program), typed.with_types(program)
        assert bare.arguments[0].replace("js", "ts") == full.arguments[0]
        for path, text in full.files.items():
            other = bare.files[re.sub(r"\.(m?)ts$", r".\1js", path)]
            assert len(other.splitlines()) == len(text.splitlines())
            assert not set("«»") & set(text + other)
            assert "interface Point" not in other


class Drawn:
    """A universe without node-semver: every range gets the highest version, or the one it names."""

    @staticmethod
    def of(parts: dict[str, ModuleType], seed: int) -> Any:
        base = parts["registry"].Universe

        class Universe(base):  # type: ignore[misc, valid-type]
            def resolve(self, asked: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
                found = {}
                for name, range_ in asked:
                    made = self.packages.get(name, {})
                    if range_ in made:
                        found[name, range_] = range_
                    elif made and range_ != "9.9.9":
                        found[name, range_] = [text for text in made if "-" not in text][-1]
                return found

        return Universe(random.Random(seed))


def installed(universe: Any) -> dict[str, str]:
    """What an honest installer leaves."""
    versions = universe.needed()
    places: dict[str, str] = {}
    queue = [("", universe.wanted | universe.wanted_optional)]
    asked: dict[str, set[str]] = {}
    for made in universe.packages.values():
        for version in made.values():
            for pair in (version.dependencies | version.optional).items():
                if pair in versions:
                    asked.setdefault(pair[0], set()).add(versions[pair])

    def found(where: str, name: str) -> str | None:
        while True:
            place = f"{where}/node_modules/{name}".lstrip("/")
            if place in places:
                return places[place]
            if not where:
                return None
            where = where.rpartition("/node_modules/")[0] if "/node_modules/" in where else ""

    while queue:
        where, needs = queue.pop(0)
        for name, range_ in needs.items():
            version = versions.get((name, range_))
            if version is None or found(where, name) == version:
                continue
            at = "" if f"node_modules/{name}" not in places else where
            place = f"{at}/node_modules/{name}".lstrip("/")
            places[place] = version
            package = universe.packages[name][version]
            queue.append((place, package.dependencies | package.optional))
    state = {}
    for place, version in places.items():
        name = place.rpartition("node_modules/")[2]
        package = universe.packages[name][version]
        top = place == f"node_modules/{name}"
        commands = {target.removeprefix("./") for target in package.bin.values()}
        for path, (data, executable) in package.files.items():
            mark = " x" if executable or (top and path in commands) else ""
            state[f"{place}/{path}"] = f"f {hashlib.sha256(data).hexdigest()}{mark}"
        for command, target in package.bin.items() if top else ():
            state[f"node_modules/.bin/{command}"] = f"l ../{name}/{target.removeprefix('./')}"
    return state


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_is_judged_by_what_programs_find(parts: dict[str, ModuleType], seed: int) -> None:
    trees = parts["trees"]
    universe = Drawn.of(parts, seed)
    versions, manifest = universe.needed(), universe.manifest
    state = installed(universe)
    assert len(state) > 15

    def said(changed: dict[str, str]) -> str:
        told = trees.tree_faults(changed, universe, manifest, versions)
        assert isinstance(told, str)
        return told

    assert not said(state)
    path = next(path for path in state if path.endswith("/index.js"))
    assert "is nothing" in said({key: value for key, value in state.items() if key != path})
    assert path in said(state | {path: "f 0"})
    assert "belongs to no package" in said(state | {"node_modules/more.js": "f 0"})
    folder = path.rpartition("/")[0]
    assert said({key: value for key, value in state.items() if not key.startswith(f"{folder}/")})
    assert not said(state | {"node_modules/.ours/x": "f 0", "node_modules/.bin": "d"})
    link = next((path for path in state if state[path].startswith("l ")), "")
    if link:
        assert link in said(state | {link: "l ../../outside"})
        assert link in said({key: value for key, value in state.items() if key != link})
    held = [name for name in universe.packages if f"node_modules/{name}/package.json" in state]
    for text, package in universe.packages[held[0]].items():
        below = f"node_modules/{held[0]}/node_modules/{held[0]}"
        copied = {
            f"{below}/{path}": f"f {hashlib.sha256(data).hexdigest()}"
            for path, (data, _) in package.files.items()
        }
        assert said(state | copied), text


def test_a_lock_is_held_to_the_tree(parts: dict[str, ModuleType]) -> None:
    trees, registry = parts["trees"], parts["registry"]
    universe = Drawn.of(parts, 4)
    served = registry.Registry(universe)
    try:
        state = installed(universe)
        packages = {}
        for path in sorted(state):
            if path.endswith("/package.json"):
                place = path.rpartition("/")[0]
                name = place.rpartition("node_modules/")[2]
                version = next(
                    one
                    for one in universe.packages[name].values()
                    if hashlib.sha256(one.files["package.json"][0]).hexdigest() in state[path]
                )
                packages[place] = {
                    "version": version.version,
                    "resolved": served.url + served.place(name, version.version),
                    "integrity": registry.sri(version.archive),
                }
        packages = dict(sorted(packages.items()))
        asks = dict(sorted((universe.wanted | universe.wanted_optional).items()))
        lock: dict[str, Any] = {"lockVersion": 1, "asks": asks, "packages": packages}

        def said(changed: Any) -> str:
            data, manifest = json.dumps(changed).encode(), universe.manifest
            return str(trees.lock_faults(data, state, universe, served, manifest))

        assert not said(lock)
        first = next(iter(packages))
        assert "no lock" in said({"packages": packages}) and "no lock" in said([])
        assert "asks for" in said(lock | {"asks": {}})
        assert "not those" in said(lock | {"packages": {first: packages[first]}})
        wrong = packages | {first: packages[first] | {"integrity": "sha512-x"}}
        assert first in said(lock | {"packages": wrong})
        assert "sorted" in said(lock | {"packages": dict(reversed(packages.items()))})
    finally:
        served.close()


def test_bad_archives_are_bad(parts: dict[str, ModuleType]) -> None:
    universe = Drawn.of(parts, 1)
    good = next(iter(next(iter(universe.packages.values())).values()))
    archives = parts["bad_archives"].bad_archives(good.name, good.version, good.archive)
    assert len(archives) == 12
    for what, data in archives.items():
        try:
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(data))) as archive:
                entries = archive.getmembers()
        except (OSError, EOFError, tarfile.TarError):
            continue
        assert (
            any(
                not entry.isfile()
                or ".." in entry.name
                or entry.name.startswith("/")
                or entry.size > 64 << 20
                for entry in entries
            )
            or what == "has a spoilt header"
        ), what


@pytest.mark.parametrize("seed", range(12))
def test_a_report_is_what_was_drawn(parts: dict[str, ModuleType], seed: int) -> None:
    testing = parts["testing"]
    made = testing.file_of(random.Random(seed), "a.test.js")
    report, status = testing.report_of([("a.test.js", made)])
    lines = report.splitlines()
    assert lines[0] == "TAP version 13" and f"1..{len(made.told)}" in lines
    assert status == int(any(not good and not mark for good, _, mark in made.told))
    assert not testing.difference(report, report)
    assert not testing.difference(report, report.replace("# SKIP", "# SKIP because"))
    assert testing.difference(report, report.replace("ok 1 ", "not ok 1 ", 1))
    assert testing.difference(report, report + "more\n") and testing.difference(report, "")


ANSWERS = (
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-A: 1\r\nx-a: 2\r\n\r\nabc",
        (200, [("x-a", "1, 2")], b"abc"),
    ),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
        (200, [], b"abc"),
    ),
    (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 None\r\n\r\n", (204, [], b"")),
    (b"HTTP/1.0 200 OK\r\n\r\nto the end", (200, [], b"to the end")),
)  # fmt: skip
WRONG = (
    b"garbage\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
    b"",
)


def answered(parts: dict[str, ModuleType], data: bytes) -> Any:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(data)

        threading.Thread(target=serve, daemon=True).start()
        with parts["talker"].Line(server.getsockname()[1], 10) as line:
            return line.answer()


@pytest.mark.parametrize(("data", "wanted"), ANSWERS)
def test_answers_are_read(parts: dict[str, ModuleType], data: bytes, wanted: Any) -> None:
    assert answered(parts, data).told() == wanted


@pytest.mark.parametrize("data", WRONG)
def test_no_answer_is_a_failed_check(parts: dict[str, ModuleType], data: bytes) -> None:
    with pytest.raises(AssertionError):
        answered(parts, data)


def test_programs_of_limits_are_read(parts: dict[str, ModuleType]) -> None:
    small = parts["endurance"].small_programs
    assert len(small("limit")) == 5 and len(small("deep")) == 16
    assert small("deep")["in turn"][1] == ("RangeError\non",)
    assert all(says for _, says in small("deep").values())


def test_bytes_come_and_go_by_a_drawn_word(parts: dict[str, ModuleType]) -> None:
    bench = parts["bench"]
    ferry = bench.Ferry()
    try:
        word = ferry.load(b"for the guest")
        with socket.create_connection(("127.0.0.1", ferry.port)) as line:
            line.sendall(f"{word}\n".encode())
            assert line.recv(100) == b"for the guest"
        word = ferry.expect()
        with socket.create_connection(("127.0.0.1", ferry.port)) as line:
            line.sendall(f"{word}\nfrom the guest".encode())
        assert ferry.arrived(word) == b"from the guest"
        many = [socket.create_connection(("127.0.0.1", ferry.port)) for _ in range(200)]
        assert threading.active_count() < 120
        for line in many:
            line.close()
    finally:
        ferry.close()


def test_the_order_is_short_and_the_ladder_long() -> None:
    order = (TASK / "instruction.md").read_text()
    assert len(order.splitlines()) <= 130
    assert [f"[R{n}]" for n in range(1, 27) if f"- [R{n}] " not in order] == []
