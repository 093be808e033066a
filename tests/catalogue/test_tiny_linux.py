"""from-source/tiny-linux: the verifier's own tools can tell yes from no, and the parts agree."""

from __future__ import annotations

import gzip
import lzma
import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.catalogue.checkers import helper

from benchflow.base import shell_pieces
from benchflow.tasks import Task, find

TASK = Path(__file__).parents[2] / "tasks/from-source/tiny-linux"
ORDER = (TASK / "environment/order").read_text().strip()


@pytest.fixture(scope="module")
def task() -> Task:
    return find("from-source/tiny-linux")


def test_the_order_is_the_same_everywhere() -> None:
    assert f'ORDER = "{ORDER}"' in (TASK / "tests/unit.py").read_text()
    assert f"# Order {ORDER}:" in (TASK / "instruction.md").read_text()


def test_the_passwords_of_the_letter_are_those_of_the_checks() -> None:
    letter, checks = (TASK / "instruction.md").read_text(), (TASK / "tests/unit.py").read_text()
    for password in re.findall(r'^(?:ROOT|CLERK) = \("\w+", "(.*)"\)$', checks, re.MULTILINE):
        assert f"`{password}`" in letter


@pytest.mark.needs("gcc", "libc6-dev")
def test_the_verifier_computes_the_tag_that_the_driver_computes(tmp_path: Path) -> None:
    driver = (TASK / "environment/customer/seal/seal.c").read_text()
    start, end = driver.index("static u64 seal_mix"), driver.index("static int seal_answer")
    source = tmp_path / "tag.c"
    source.write_text(
        "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
        "typedef uint64_t u64; typedef uint32_t u32; typedef uint8_t u8;\n"
        f'#define CONFIG_SEAL_ORDER "{ORDER}"\n{driver[start:end]}\n'
        "int main(int c, char **v) { (void)c;"
        ' printf("seal1 %llu %016llx\\n", strtoull(v[2], 0, 10), (unsigned long long)'
        "seal_tag((unsigned char *)v[1], strlen(v[1]), strtoull(v[2], 0, 10))); }\n"
    )
    subprocess.run(["gcc", "-o", tmp_path / "tag", source], check=True)
    seal = helper("from-source/tiny-linux", "seal")
    for challenge, count in (("a", 1), ("x" * 64, 2**40 + 7), ("0123456789abcdef", 4711)):
        answer = subprocess.run(
            [tmp_path / "tag", challenge, str(count)], check=True, capture_output=True, text=True
        ).stdout
        assert seal.verify(ORDER, challenge, answer) == count
        with pytest.raises(AssertionError, match="wrong tag"):
            seal.verify("k7q2-94d1ee", challenge, answer)


def test_programs_are_told_apart() -> None:
    elf = helper("from-source/tiny-linux", "elf")
    shell = elf.parse(Path("/bin/sh").resolve().read_bytes())
    assert (shell.dynamic and "ld-linux" in shell.interpreter) or "ld-musl" in shell.interpreter
    assert any(name.startswith("libc") for name in shell.needed)
    assert {"fork", "execve"} & shell.imported
    for damaged in (b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 200, b"#!/bin/sh\n"):
        with pytest.raises(elf.BadElf):
            elf.parse(damaged)


def kernel_file(packed: bytes) -> bytes:
    """The frame of an x86 boot image around a packed kernel."""
    head = bytearray(1024)
    head[0x1F1] = 1
    head[0x202:0x206] = b"HdrS"
    head[0x248:0x250] = struct.pack("<II", 0, len(packed))
    return bytes(head) + packed


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_kernel_is_opened_and_read(pack) -> None:  # type: ignore[no-untyped-def]
    vmlinux = helper("from-source/tiny-linux", "vmlinux")
    config = gzip.compress(b'CONFIG_SEAL=y\nCONFIG_SEAL_ORDER="x"\n# CONFIG_MODULES is not set\n')
    image = b"\x7fELF..\0Linux version 6.1.176-x (order@x) (gcc) #1 Sat\n\0IKCFG_ST" + config
    kernel = vmlinux.unpack(kernel_file(pack(image + b"IKCFG_ED")))
    assert kernel.banner == "Linux version 6.1.176-x (order@x) (gcc) #1 Sat"
    assert kernel.config == {"SEAL": "y", "SEAL_ORDER": '"x"'}


@pytest.mark.parametrize(
    "packed",
    [
        lambda: b"",
        lambda: b"\x28\xb5\x2f\xfd rest",
        lambda: b"\x1f\x8b broken",
        lambda: gzip.compress(b"\0" * (129 << 20), 1),
    ],
    ids=["nothing", "zstd", "damaged", "bomb"],
)
def test_what_is_no_kernel_is_refused(packed: Callable[[], bytes]) -> None:
    vmlinux = helper("from-source/tiny-linux", "vmlinux")
    with pytest.raises(vmlinux.BadKernel):
        vmlinux.unpack(kernel_file(packed()))


def test_a_mirror_that_moved_on_is_named(tmp_path: Path) -> None:
    script = shell_pieces.read(TASK / "environment/sources/fetch.sh", TASK).decode()
    tools = tmp_path / "bin"
    tools.mkdir()
    apt = tools / "apt-get"
    apt.write_text('#!/bin/sh\n[ "$1" = update ]\n')
    apt.chmod(0o755)
    # The lists of packages of this machine are not touched.
    copy = tmp_path / "fetch.sh"
    copy.write_text(
        script.replace("/etc/apt", str(tmp_path / "etc")).replace("/app/sources", str(tmp_path))
    )
    done = subprocess.run(
        ["sh", str(copy)],
        env={"PATH": f"{tools}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "no longer has linux-source-6.1 6.1.176-1" in done.stderr
