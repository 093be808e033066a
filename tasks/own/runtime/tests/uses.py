"""What is asked of skarn's smaller commands."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import programs
import testing
import typed
from asked_server import asked_server
from bench import HOST, Station

TEST_SECONDS = 90


def fetches(station: Station) -> None:
    """[R16] The same as with Node.js, of a server of ours."""
    with asked_server() as asked, station.guest() as guest:
        for name in programs.names("fetches"):
            program = programs.draw(station.rng, "fetches", name)
            here, there = (
                replace(program, arguments=(*program.arguments, f"http://{host}:{asked.port}"))
                for host in ("127.0.0.1", HOST)
            )
            wanted = programs.by_node(here, Path("/tmp/work/fetches"))
            got = guest.program(there, Path("/tmp/work/fetches"))
            said = programs.difference(program, wanted, got)
            assert not said, f"[R16] {said}"
        # Names are those of /etc/hosts.
        word = station.rng.randbytes(4).hex()
        url = f"http://{word}.test:{asked.port}/echo?{word}"
        text = f"fetch('{url}').then((r) => r.json()).then((r) => console.log(r.url))"
        guest.ok(f"echo '10.0.2.2 other {word}.test' >> /etc/hosts", "a name")
        said = guest.ok(f'skarn -e "{text}"', "[R16] a name of /etc/hosts").strip()
        assert said == f"/echo?{word}", f"[R16] a name of /etc/hosts: {said[:100]!r}"


def types(station: Station) -> None:
    """[R18] The same as without types."""
    with station.guest() as guest:
        for name in programs.names("types"):
            program = programs.draw(station.rng, "types", name)
            place = Path(f"/tmp/work/{program.name}")
            wanted = programs.by_node(typed.without(program), place)
            got = guest.program(typed.with_types(program), place)
            said = programs.difference(program, wanted, got)
            assert not said, f"[R18] {said}"


def refuses_types(station: Station) -> None:
    """[R18] What is more than a type ends before anything runs."""
    with station.guest() as guest:
        for what, text in typed.REFUSED.items():
            guest.give("/tmp/work/refused", {"main.ts": text.encode()})
            done = guest.run("cd /tmp/work/refused; skarn main.ts 2> err < /dev/null; echo =$?")
            said, _, status = done.stdout.rpartition("=")
            assert int(status) == 1 and not said, (
                f"[R18] {what}: it ends with {status.strip()} and has printed {said[:100]!r}"
            )


def tests(station: Station, rng: random.Random) -> None:
    """[R17] Reports of drawn tests."""
    with station.guest() as guest:
        for count in (1, 3):
            names = [
                f"{rng.choice(('a', 'b/c', 'd-e'))}{n}.test.{rng.choice(('js', 'cjs'))}"
                for n in range(count)
            ]
            files = [(name, testing.file_of(rng, name)) for name in names]
            guest.give(
                "/tmp/work/tests", {name: "\n".join(made.lines).encode() for name, made in files}
            )
            wanted, status = testing.report_of(files)
            done = guest.run(
                f"cd /tmp/work/tests; skarn test {' '.join(names)} > .out 2> .err < /dev/null; "
                "echo =$?",
                TEST_SECONDS,
            )
            got = int(done.stdout.rpartition("=")[2])
            said = testing.difference(
                wanted, guest.read("/tmp/work/tests/.out").decode("utf-8", "replace")
            )
            assert not said, (
                f"[R17] the report: {said}; {guest.read('/tmp/work/tests/.err', 300)!r}"
            )
            assert got == status, f"[R17] `skarn test` ends with {got}, not {status}"


def broken_tests(station: Station, rng: random.Random) -> None:
    """[R17] Files that fail outside of their tests, and one that does not."""
    texts = list(testing.BROKEN)
    rng.shuffle(texts)
    files = {f"bad{n}.js": text for n, text in enumerate(texts)}
    good = "import { test } from 'node:test'; test('fine', () => {});\n"
    with station.guest() as guest:
        given = {name: text.encode() for name, text in files.items()} | {"good.mjs": good.encode()}
        guest.give("/tmp/work/tests", given)
        names = [*files, "good.mjs"]
        done = guest.run(
            f"cd /tmp/work/tests; skarn test {' '.join(names)} > .out 2> .err < /dev/null; "
            "echo =$?",
            TEST_SECONDS,
        )
        lines = ["TAP version 13", *(f"not ok {n + 1} - {name}" for n, name in enumerate(files))]
        lines += [
            f"ok {len(names)} - good.mjs > fine",
            f"1..{len(names)}",
            "# pass 1",
            f"# fail {len(files)}",
            "# skip 0",
            "# todo 0",
        ]
        said = testing.difference(
            "\n".join(lines), guest.read("/tmp/work/tests/.out").decode("utf-8", "replace")
        )
        assert not said, f"[R17] files that fail: {said}"
        assert done.stdout.endswith("=1\n") or done.stdout.strip() == "=1", (
            "[R17] files that fail, and the status is not 1"
        )
        done = guest.run(
            "cd /tmp/work/tests; skarn test good.mjs > /dev/null 2>&1; echo =$?", TEST_SECONDS
        )
        assert done.stdout.strip() == "=0", (
            f"[R17] all is well, and it ends with {done.stdout.strip()}"
        )
