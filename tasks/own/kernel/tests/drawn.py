"""Programs that are written for one verification: nobody who knows all others knows these.

A hidden program's proof could be computed by a kernel that knows the program and never runs it. Of
a drawn one nothing is known beforehand: its number goes through arithmetic and through what the
kernel gives (children, pipes, handlers, threads, files) in a drawn order with drawn numbers,
compiled with drawn options. Whoever has to say what comes out has to run it.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from drawn_kinds import KINDS
from drawn_steps import arithmetic, large
from exam import Bench, Sitting
from rootfs import MARK, Root, word

from benchflow.boot import VerifierBroken
from benchflow.boot.machine.disks import run_tool

HERE = Path(__file__).parent / "image/programs"
OPTIONS = (
    ("-O1", "-O2", "-O3", "-Os"),
    ("-fomit-frame-pointer", "-fno-omit-frame-pointer"),
    ("-falign-functions=1", "-falign-functions=16", "-falign-functions=64"),
    ("-fno-schedule-insns2", "-fschedule-insns2"),
    ("-freorder-blocks", "-fno-reorder-blocks"),
)


HEAD = """#include "exam.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
"""


def source(rng: random.Random, milestone: str) -> tuple[str, int]:
    """A program's text, and the number that it comes to."""
    makers = list(KINDS[milestone]) * 3 + [arithmetic] * 4
    rng.shuffle(makers)
    steps = [make(rng, n) for n, make in enumerate(makers)]
    x = first = large(rng)
    for step in steps:
        x = step.does(x)
    order = list(range(len(steps)))
    rng.shuffle(order)
    functions = [
        f"{steps[n].before}\nstatic __attribute__((noinline)) void step{n}(void)\n{{\n"
        f"\t{steps[n].body.strip()}\n}}\n"
        for n in order
    ]
    calls = "".join(f"\tstep{n}();\n" for n in range(len(steps)))
    bare = milestone == "elf"
    text = '#include "bare.h"\n' if bare else HEAD
    text += f"static volatile u64 x = {first}u;\n" + "".join(functions)
    if bare:
        text += f'void start(u64 *sp)\n{{\n\tbegin("drawn");\n{calls}\tu64 y = x;\n\tmix(&y, 8);\n'
        text += '\tpassed("drawn");\n\tcall(EXIT_GROUP, 0, 0, 0);\n}\n'
    else:
        text += f"static void drawn(void)\n{{\n{calls}\tu64 y = x;\n\tmix(&y, 8);\n}}\n"
        text += 'PARTS({"drawn", drawn})\n'
    return text, x


def compiled(rng: random.Random, text: str, bare: bool, work: Path) -> bytes:
    """The program, by a drawn C library and with drawn options."""
    work.mkdir()
    (work / "drawn.c").write_text(text)
    options = [rng.choice(some) for some in OPTIONS]
    if bare:
        command = ["gcc", *options, "-w", "-static", "-nostdlib", "-ffreestanding", "-fno-pie"]
        command += ["-fno-stack-protector", "-no-pie", "-fcf-protection=none"]
    else:
        command = [rng.choice(("gcc", "musl-gcc")), *options, "-w", "-static", "-pthread"]
    for needed in (command[0], "strip"):
        if not shutil.which(needed):
            raise VerifierBroken(f"{needed} is not there: image/build.sh installs it")
    run_tool([*command, f"-I{HERE}", "-o", str(work / "drawn"), str(work / "drawn.c")])
    run_tool(["strip", str(work / "drawn")])
    data = (work / "drawn").read_bytes()
    shutil.rmtree(work)
    return data


def sitting(bench: Bench, milestone: str, **spec) -> Sitting:
    """A start with a program of its own."""
    text, due = source(bench.rng, milestone)
    data = compiled(bench.rng, text, milestone == "elf", bench.path("drawn"))
    assert data.count(MARK) == 1, "the drawn program has no salt"
    root = Root(bench.rng)
    path = f"/{word(bench.rng)}/{word(bench.rng)}"
    root.salts[path] = bench.rng.randbytes(32)
    root.put(path, data.replace(MARK, root.salts[path]), 0o755)
    expected = {"drawn": due.to_bytes(8, "little")}
    return Sitting(bench, path, ["drawn"], root, [], expected, spec)
