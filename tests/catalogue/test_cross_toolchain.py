"""from-source/cross-toolchain: its parts agree, and its helpers tell yes from no."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from types import ModuleType

import pytest
from tests.catalogue import checkers

TASK = Path(__file__).parents[2] / "tasks/from-source/cross-toolchain"
HELPERS = ("programs", "elves", "archive", "system", "bench", "board")


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("from-source/cross-toolchain", *HELPERS) as loaded:
        yield loaded


def compiled(text: str, folder: Path, *options: str) -> Path:
    (folder / "source.c").write_text(text)
    program = folder / "program"
    command = ["gcc", *options, "-o", str(program), str(folder / "source.c"), "-latomic"]
    subprocess.run(command, check=True)
    return program


@pytest.mark.needs("gcc", "libc6-dev")
def test_programs_say_what_the_checks_expect(
    helpers: dict[str, ModuleType], tmp_path: Path
) -> None:
    """On this machine, which is none of RISC-V: the sums are the same."""
    programs = helpers["programs"]
    texts = programs.sources("some-seed")
    for name, expected in (("threads", programs.THREADS), ("atomics", programs.ATOMICS)):
        program = compiled(texts[f"{name}.c"], tmp_path, "-w", "-pthread")
        said = subprocess.run([str(program), "word"], capture_output=True, text=True).stdout
        assert said.splitlines() == [f"{name} {programs.mix('some-seed', 'word')}", expected]


@pytest.mark.needs("gcc", "libc6-dev")
def test_an_overrun_is_the_only_thing_that_ends_the_program(
    helpers: dict[str, ModuleType], tmp_path: Path
) -> None:
    text = helpers["programs"].sources("s")["smash.c"]
    program = compiled(text, tmp_path, "-w", "-fstack-protector-strong")
    assert subprocess.run([str(program), "w", "short"], capture_output=True).returncode == 0
    assert subprocess.run([str(program), "w", "x" * 40], capture_output=True).returncode < 0


@pytest.mark.needs("gcc", "libc6-dev")
def test_facts_of_a_program(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    elves = helpers["elves"]
    text = "int main(void) { return 0; }"
    safe = ["-pie", "-fPIE", "-Wl,-z,relro,-z,now,--hash-style=gnu,--build-id"]
    facts = elves.read(compiled(text, tmp_path, *safe).read_bytes())
    assert facts.pie and facts.now and facts.relro and facts.gnu_hash and facts.build_id
    assert facts.interpreter and facts.needed and facts.machine == elves.X86_64
    assert not facts.sysv_hash and not facts.writable_code and facts.stack_flags == 6
    weak = ["-no-pie", "-Wl,-z,norelro,-z,lazy,--hash-style=both,-z,execstack,--build-id=none"]
    facts = elves.read(compiled(text, tmp_path, *weak).read_bytes())
    assert not (facts.pie or facts.now or facts.relro or facts.build_id)
    assert facts.sysv_hash and facts.stack_flags == 7


@pytest.mark.needs("gcc", "libc6-dev")
def test_damaged_files_are_refused(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    from benchflow.boot import BadDeliverable

    elves = helpers["elves"]
    data = bytearray(compiled("int main(void) { return 0; }", tmp_path).read_bytes())
    for change in (b"", b"\x7fELF", bytes(64)):
        with pytest.raises(BadDeliverable):
            elves.read(change)
    struct.pack_into("<H", data, 56, 65535)
    with pytest.raises(BadDeliverable):
        elves.read(bytes(data))
    with pytest.raises(BadDeliverable):
        elves.objects(b"!<arch>\n" + b"x" * 60)
    assert elves.objects(b"nothing") == []


def test_members_of_libraries_are_found(helpers: dict[str, ModuleType]) -> None:
    body = b"\x7fELF" + bytes(61)
    head = f"{'one.o/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(body):<10}`\n".encode()
    library = b"!<arch>\n" + (head + body + b"\n") * 2
    assert helpers["elves"].objects(library) == [body, body]


def test_places_are_those_of_sources(helpers: dict[str, ModuleType]) -> None:
    places = helpers["elves"].places
    assert places(b"\0/home/me/gcc/gcc/toplev.c\0") == ["/home/me/gcc/gcc/toplev.c"]
    assert places(b"at /build/src/musl/src/exit.S:") == ["/build/src/musl/src/exit.S"]
    assert places(b"\0/build/gcc/vec.h\0") == ["/build/gcc/vec.h"]
    for text in (b"../../src/gcc/gcc/toplev.c", b"/usr/include/stdio.h", b"/etc/rc.conf",
                 b"gcc/toplev.c", b"/a/b.cfg", b"/var/run/nscd/sodl-find_object.c"):  # fmt: skip
        assert not places(text), text


def archive_of(
    helpers: dict[str, ModuleType], folder: Path, *members: tarfile.TarInfo
) -> list[str]:
    with tarfile.open(folder / "one.tar", "w") as tar:
        for member in members:
            tar.addfile(member, BytesIO(b"x" * member.size))
    found: list[str] = helpers["archive"].Toolchain(folder / "one.tar").faults()
    return found


def member(name: str, mode: int = 0o644, **more: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mode = mode
    for key, value in more.items():
        setattr(info, key, value)
    return info


def test_archives(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    top = member("fx31", 0o755, type=tarfile.DIRTYPE)
    good = [top, member("fx31/file"),
            member("fx31/link", type=tarfile.SYMTYPE, linkname="file")]  # fmt: skip
    assert archive_of(helpers, tmp_path, *good) == []
    for bad in (
        member("stray"), member("fx31/open", 0o666), member("fx31/set", 0o4755),
        member("fx31/hidden", 0o600), member("fx31/mine", uid=1000),
        member("fx31/out", type=tarfile.SYMTYPE, linkname="../../etc/passwd"),
        member("fx31/absolute", type=tarfile.SYMTYPE, linkname="/fx31/file"),
        member("fx31/dangling", type=tarfile.SYMTYPE, linkname="nothing"),
        member("fx31/pipe", type=tarfile.FIFOTYPE),
        member("fx31/closed", 0o644, type=tarfile.DIRTYPE),
    ):  # fmt: skip
        assert archive_of(helpers, tmp_path, *good, bad), bad.name


def test_the_bench_compiles_all_that_is_asked_for(helpers: dict[str, ModuleType]) -> None:
    script = (TASK / "tests/bench.py").read_text()
    checks = (TASK / "tests/checks.py").read_text()
    for name in helpers["bench"].FOR_THE_BOARD:
        assert f"/out/{name}" in script, name
        assert name in checks, f"{name} is compiled and never looked at"
    tools = re.search(r"for tool in (.*?); do", script, re.DOTALL)
    assert tools and tools[1].replace("\\\n", "").split() == list(
        re.findall(r'"([a-z2+-]+)"', checks[checks.index("TOOLS = ") : checks.index("OF_GCC")])
    )
    letter = (TASK / "instruction.md").read_text()
    assert " ".join(tools[1].replace("\\\n", "").split()) in letter


def test_the_bench_is_what_was_shipped() -> None:
    sums = dict(
        reversed(line.split()) for line in (TASK / "tests/bench.sha256").read_text().splitlines()
    )
    gauge = (TASK / "environment/bench/gauge.cc").read_bytes()
    assert sums["gauge.cc"] == hashlib.sha256(gauge).hexdigest()
    assert set(sums) == {"busybox", "gauge.cc", "vmlinuz"}


def test_the_password_and_the_sizes_are_the_letters(helpers: dict[str, ModuleType]) -> None:
    letter = (TASK / "instruction.md").read_text()
    assert f"`{helpers['board'].PASSWORD}`" in letter
    assert helpers["board"].COMMAND_LINE in letter
    assert helpers["board"].PASSWORD in (TASK / "solution/solve.sh").read_text()
    for words in ("at most 192 MiB", "at most 16 MiB", "at most 32 MiB"):
        assert words in letter


SPECS = """*link:
%{!static|static-pie:--eh-frame-hdr} -melf64lriscv %{shared} %{!shared: %{!static: \
%{rdynamic:-export-dynamic} -dynamic-linker /lib/ld.so} %{static:-static}}

*other:


*lib:
-lc %{pthread:--as-needed -latomic --no-as-needed}

"""


def test_the_oracles_specs(tmp_path: Path) -> None:
    gcc = tmp_path / "gcc"
    (tmp_path / "dumped").write_text(SPECS)
    gcc.write_text(
        f"#!/bin/sh\ncase $1 in -dumpspecs) cat {tmp_path}/dumped ;;\n"
        f"*) echo {tmp_path}/libgcc.a ;; esac\n"
    )
    gcc.chmod(0o755)
    subprocess.run(
        [sys.executable, str(TASK / "solution/specs.py"), str(gcc)], check=True, capture_output=True
    )
    text = (tmp_path / "specs").read_text()
    assert text.count("{") == text.count("}") and "\n\n*other:\n\n\n*lib:\n-lc " in text
    assert (
        "%{!static:%{!static-pie:" in text and "-dynamic-linker /lib/ld.so}} %{static-pie:" in text
    )
    assert "--no-dynamic-linker -z text}" in text
    for words in (" -z now", " -z stack-size=1048576", " -latomic"):
        assert words in text, f"an exploit or a rung takes{words} away"


def test_what_the_oracle_and_its_exploits_edit_is_there() -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    assert "-o ro,nosuid" in (TASK / "solution/rootfs/etc/rc").read_text()
    solve = (TASK / "solution/solve.sh").read_text()
    assert 'echo "root:$(perl' in solve and "\nspecs=pack/" in solve
    assert '"-fx31"' in (TASK / "solution/kernel.config").read_text()
