"""cross-toolchain: does it compile anywhere what nobody has seen, and does that run?"""

from __future__ import annotations

from pathlib import PurePosixPath

import archive
import elves
import programs
import pytest
import system
from bench import TARGET
from board import PASSWORD, START_SECONDS

from benchflow.boot import Elf, LoginFailed, check, kernel_banner, kernel_release, milestone

TOOLS = ("addr2line", "ar", "as", "c++", "c++filt", "cc", "cpp", "g++", "gcc", "ld", "nm",
         "objcopy", "objdump", "ranlib", "readelf", "size", "strings", "strip")  # fmt: skip
OF_GCC = ("c++", "cc", "cpp", "g++", "gcc")
LIBRARIES = ("ld-musl-riscv64.so.1", "libgcc_s.so.1", "libstdc++.so.6", "libatomic.so.1")
LOADER = "/lib/ld-musl-riscv64.so.1"
COMPILED = f"({TARGET}-gcc (Ferrum FX-31) 12.2.0, GNU ld (Ferrum FX-31) 2.40)"
LINUX = (6 << 16) + (1 << 8) + 176
COMPILE_SECONDS, GAUGE_SECONDS = 700, 60


@milestone("archive", weight=1, proves=["R1"], title="One archive")
def test_the_archive(tar):
    assert not tar.faults(), f"{tar.faults()[:5]}"


@check("archive", proves=["R2"])
def test_its_programs_need_nothing(tar):
    machines = tar.machines()
    assert machines[elves.X86_64] >= len(TOOLS), f"programs for x86-64: {machines[elves.X86_64]}"
    assert not tar.dynamic_programs(), f"not static: {tar.dynamic_programs()[:5]}"
    assert set(machines) == {elves.X86_64, elves.RISCV}, f"files for machines {set(machines)}"


@milestone("named", weight=1, requires=["archive"], proves=["R4"], title="It says what it is")
def test_its_tools_say_what_they_are(bench, metric):
    bench.start()
    metric("compile_seconds", bench.compile(COMPILE_SECONDS))
    for tool in TOOLS:
        first = bench.said(f"version-{tool}").splitlines()[0]
        version = "12.2.0" if tool in OF_GCC else "2.40"
        assert "(Ferrum FX-31)" in first, first[:200]
        assert any(part.startswith(version) for part in first.split()), first[:200]


@check("named", proves=["R4", "R9"])
def test_its_target(bench):
    assert bench.said("machine") == TARGET and bench.said("full") == "12.2.0"
    macros = bench.said("macros").splitlines()
    for one in ("__riscv_xlen 64", "__riscv_flen 64", "__riscv_compressed 1", "__riscv_atomic 1"):
        assert f"#define {one}" in macros, f"not defined: {one}"


@check("named", proves=["R6"])
def test_its_sysroot_is_its_own(bench, tar):
    said = bench.said("sysroot-real")
    assert said.startswith(f"{bench.tree}/"), f"the sysroot is {said[:200]}"
    folder = archive.TOP + said.removeprefix(bench.tree)
    for name in ("stdio.h", "linux/version.h"):
        places = [f"{folder}/{headers}/{name}" for headers in ("usr/include", "include")]
        assert any(tar.tree.exists(place) for place in places), f"there is no {name} in it"


@milestone(
    "compiles", weight=2, requires=["named"], proves=["R9", "R13"], title="C becomes programs"
)
def test_a_program_of_c(bench):
    facts = elves.read(bench.file("plain"))
    assert facts.machine == elves.RISCV and facts.interpreter == LOADER, f"{facts.interpreter}"
    assert facts.needed == ("libc.so",), f"it needs {facts.needed}"
    assert facts.flags & 7 == elves.RVC | elves.DOUBLE, f"flags {facts.flags:x}"


@check("compiles", proves=["R14"])
def test_a_static_program(bench):
    facts = elves.read(bench.file("plain-static"))
    assert facts.machine == elves.RISCV and not facts.interpreter and not facts.needed


@check("compiles", proves=["R8"])
def test_what_is_wrong_is_refused(bench):
    for job in ("wrong", "unresolved"):
        assert bench.status(job) not in (0, None), f"{job}.c was compiled"
        assert not bench.has(job), f"{job}.c left a program"
        assert bench.seed in bench.complaint(job), f"of {job}.c it says {bench.complaint(job)}"


@check("compiles", proves=["R5"])
def test_what_it_makes_names_it(bench):
    for name in ("plain", "plain-static", "plugin.so"):
        comments = elves.read(bench.file(name)).comments
        assert set(comments) == {archive.COMPILER}, f"{name}: {comments}"


@milestone("anywhere", weight=2, requires=["compiles"], proves=["R3"], title="Anywhere")
def test_however_it_is_called(bench):
    for way in ("by-path", "by-link", "by-place", "by-folder", "by-relative"):
        assert bench.status(way) == 0, f"{way}: {bench.complaint(way)}"


@check("anywhere", proves=["R3"])
def test_it_leaves_nothing(bench):
    assert not bench.said("left"), f"it left {bench.said('left')[:300]}"


@check("anywhere", proves=["R7"])
def test_the_same_bytes_everywhere(bench):
    wanted = bench.file("plain")
    for way in ("by-path", "by-link", "by-place", "by-folder", "by-relative"):
        assert bench.file(way) == wanted, f"{way}: other bytes"
    assert bench.file("libparts.a") == bench.file("libparts2.a"), "ar made other bytes"


@milestone("defaults", weight=3, requires=["compiles"], proves=["R10"], title="Safe by default")
def test_programs_and_libraries_are_bound_and_read_only(bench):
    for name in ("plain", "smash", "whole", "host", "plugin.so"):
        assert not system.faults(bench.file(name)), f"{name}: {system.faults(bench.file(name))}"


@check("defaults", proves=["R14", "R10"])
def test_static_programs(bench):
    for name in ("plain-static", "plain-static-pie"):
        facts = elves.read(bench.file(name))
        assert facts.stack_flags is not None and not facts.stack_flags & 1, f"{name}: stack"
        assert not facts.writable_code and facts.build_id and not facts.interpreter, name
    pie = elves.read(bench.file("plain-static-pie"))
    assert pie.kind == elves.DYN and pie.dynamic and not pie.needed, "no static PIE"


@check("defaults", proves=["R11"])
def test_arrays_are_watched(bench):
    assert b"\0__stack_chk_fail\0" in elves.read(bench.file("smash")).imports


@milestone(
    "cxx", weight=2, requires=["compiles"], proves=["R9", "R10"], title="C++ becomes programs"
)
def test_programs_of_cxx(bench):
    for name in ("main", "libfault.so", "cxxplugin.so"):
        facts = elves.read(bench.file(name))
        assert "libstdc++.so.6" in facts.needed, f"{name} needs {facts.needed}"
        assert not system.faults(bench.file(name)), f"{name}: {system.faults(bench.file(name))}"
    facts = elves.read(bench.file("main-static"))
    assert facts.machine == elves.RISCV and not facts.interpreter and not facts.needed


@check("cxx", proves=["R30"])
def test_it_does_not_take_long(bench, metric):
    assert bench.status("gauge") == 0, f"gauge.cc was not compiled: {bench.complaint('gauge')}"
    metric("gauge_seconds", bench.gauge_seconds)
    assert bench.gauge_seconds <= GAUGE_SECONDS, f"it took {bench.gauge_seconds:.0f} s"


@milestone("tools", weight=2, requires=["compiles"], proves=["R18"], title="Its tools work")
def test_libraries_and_names(bench):
    names = bench.said("names")
    assert " T part_1" in names and " T part_2" in names, names[:300]
    assert elves.read(bench.file("whole")).machine == elves.RISCV
    assert (
        bench.said("demangled") == "std::vector<int, std::allocator<int> >::push_back(int const&)"
    )
    assert bench.seed in bench.said("strings"), "strings does not find the program's word"
    assert "RISC-V" in bench.said("header") and "double-float ABI" in bench.said("header")


@check("tools", proves=["R18"])
def test_what_a_debugger_needs(bench):
    line, debug = Elf(bench.file("line")), Elf(bench.file("line.debug"))
    assert line.section(".debug_info") is None and line.section(".symtab") is None
    assert debug.section(".debug_info"), "there is nothing for a debugger"
    said = bench.said("line-at").splitlines()
    text = programs.sources(bench.seed)["line.c"].splitlines()
    number = text.index("int answer(int n) {") + 1
    assert said[0] == "answer" and said[1].split()[0].endswith(f"line.c:{number}"), said[1][:200]
    assert "<answer>:" in bench.said("line-dump") and "ret" in bench.said("line-dump")


@milestone("kernel", weight=2, requires=["archive"], proves=["R19"], title="The kernel is its work")
def test_the_kernel_as_it_lies(kernel):
    data = kernel.read_bytes()
    assert len(data) <= 16 << 20 and data[56:60] == b"RSC\x05", "it is no kernel for RISC-V"
    assert kernel_release(data) == "6.1.176-fx31", f"it is {kernel_release(data)!r}"
    banner = kernel_banner(data)
    assert COMPILED in banner, f"it says {banner[:300]!r}"


@check("kernel", proves=["R29"])
def test_the_kernel_names_no_place(kernel):
    assert not elves.places(kernel.read_bytes()), f"{elves.places(kernel.read_bytes())[:5]}"


@milestone("login", weight=2, requires=["kernel"], proves=["R20", "R22"], title="The board starts")
def test_it_starts(board, metric):
    spent = board.start()
    metric("boot_seconds", spent)
    assert spent <= START_SECONDS, f"it took {spent:.0f} s"
    assert board.say("grep -c ^processor /proc/cpuinfo") == "2"
    assert board.say("id -u trial") == "1000"


@check("login", proves=["R19"])
def test_its_kernel_is_the_delivered_one(board, kernel):
    assert board.say("uname -r") == "6.1.176-fx31"
    said = board.say("cat /proc/version")
    assert COMPILED in said and said.encode() in kernel.read_bytes(), f"/proc/version: {said[:300]}"
    config = board.say("zcat /proc/config.gz | grep -e ^CONFIG_CC_VERSION_TEXT -e ^CONFIG_LOCALV")
    assert f'CONFIG_CC_VERSION_TEXT="{TARGET}-gcc (Ferrum FX-31) 12.2.0"' in config, config[:300]


@check("login", proves=["R21"])
def test_its_root_stays_as_it_is(board):
    assert board.run("touch /stray /etc/passwd").status != 0, "/ can be written"
    mounts = [line.split() for line in board.say("cat /proc/mounts").splitlines()]
    last = {words[1]: words for words in mounts}
    assert "ro" in last["/"][3].split(",") and last["/"][2] == "ext4", f"{last['/']}"
    place = PurePosixPath(board.say("readlink -f /tmp"))
    kind = next(last[f"{one}"][2] for one in (place, *place.parents) if f"{one}" in last)
    assert kind in ("tmpfs", "ramfs"), f"/tmp lies in {kind}"
    assert board.trial("sh -c 'echo x >/tmp/own && cat /tmp/own'").stdout.strip() == "x"


@check("login", proves=["R22"])
def test_another_password_is_refused(board):
    board.machine.shell.close()
    with pytest.raises(LoginFailed):
        board.machine.login("root", f"{PASSWORD[:-1]}7", timeout=START_SECONDS)
    board.machine.login("root", PASSWORD, timeout=START_SECONDS)
    assert board.say("id -u") == "0"


@check("login", proves=["R21"])
def test_the_root_file_system_is_clean(rootfs):
    assert not rootfs.problems(), f"{rootfs.problems()[:300]}"


@milestone("runs", weight=3, requires=["login", "compiles"], proves=["R23", "R27", "R14"],
           title="What it makes runs")  # fmt: skip
def test_a_program_in_three_forms(board, bench, word):
    mounts = [line.split() for line in board.say("cat /proc/mounts").splitlines()]
    trial = [words for words in mounts if words[1] == "/trial"][-1:]
    assert trial and "ro" in trial[0][3].split(","), f"/trial is mounted as {trial}"
    for name in ("plain", "plain-static", "plain-static-pie"):
        said = board.told(f"/trial/{name} {word}")
        assert said[0] == f"plain {programs.mix(bench.seed, word)}", f"{name}: {said[0][:200]}"
        assert said[1] == f"{LINUX} 16 42", f"{name}: {said[1][:200]}"


@check("runs", proves=["R10", "R14"])
def test_they_lie_elsewhere_each_time(board, word):
    for name in ("plain", "plain-static-pie"):
        places = {board.told(f"/trial/{name} {word}")[2] for _ in range(4)}
        assert len(places) > 1, f"{name} always lies at {places}"


@check("runs", proves=["R11"])
def test_an_overrun_ends_a_program(board, bench, word):
    said = board.told(f"/trial/smash {word} short")
    assert said == [f"smash {programs.mix(bench.seed, word)}"], f"{said[:2]}"
    assert board.trial(f"/trial/smash {word} {'x' * 40}").status > 128, "it went on"


@check("runs", proves=["R18"])
def test_static_libraries_and_stripped_programs(board, bench, word):
    said = board.told(f"/trial/whole {word}")
    assert said == [f"part{n} {programs.mix(bench.seed, word)}" for n in (2, 1)], f"{said[:2]}"
    assert board.told(f"/trial/line {word}") == [f"line {programs.mix(bench.seed, word)}"]


@milestone("threads", weight=3, requires=["runs"], proves=["R12", "R13", "R15"], title="Threads")
def test_threads_with_deep_stacks(board, bench, word):
    said = board.told(f"/trial/threads {word}")
    assert said == [f"threads {programs.mix(bench.seed, word)}", programs.THREADS], f"{said[:2]}"


@check("threads", proves=["R12", "R13", "R15"])
def test_the_same_in_a_static_program(board, bench, word):
    said = board.told(f"/trial/threads-static {word}")
    assert said == [f"threads {programs.mix(bench.seed, word)}", programs.THREADS], f"{said[:2]}"


@check("threads", proves=["R13"])
def test_atomics_without_threads(board, bench, word):
    for name in ("atomics", "atomics-static"):
        assert bench.status(name) == 0, f"{name}: {bench.complaint(name)}"
        said = board.told(f"/trial/{name} {word}")
        assert said == [f"atomics {programs.mix(bench.seed, word)}", programs.ATOMICS], f"{said}"


@milestone("exceptions", weight=3, requires=["runs", "cxx"], proves=["R16", "R15", "R13"],
           title="Exceptions")  # fmt: skip
def test_exceptions_out_of_a_library_and_threads(board, bench, word):
    for name in ("main", "main-static"):
        said = board.told(f"/trial/{name} {word}")
        assert said == [f"main {programs.mix(bench.seed, word)}", f"{bench.seed} 7 3 2"], f"{said}"


@check("exceptions", proves=["R17", "R16", "R15"])
def test_plug_ins(board, bench, word):
    mixed = programs.mix(bench.seed, word)
    said = board.told(f"/trial/host {word} /trial/plugin.so /trial/cxxplugin.so /trial/plugin.so")
    plain = [f"plugin {mixed}", "called back 3"]
    wanted = [*plain, f"cxxplugin {mixed}", "thrown in a plugin kept", plain[0], "called back 4"]
    assert said == wanted, f"{said[:6]}"


@milestone("same", weight=2, requires=["login", "cxx"], proves=["R25"], title="One toolchain")
def test_its_libraries_are_the_toolchains(bench, tar, rootfs):
    def linked_to(name):
        place = bench.said(f"file-{name}")
        assert place.startswith(f"{bench.tree}/"), f"{name} is {place[:200]}"
        return tar.tree.read(archive.TOP + place.removeprefix(bench.tree), archive.FILE_MAX)

    for name in LIBRARIES:
        wanted = linked_to(name)
        folders = ("/lib",) if name.startswith("ld-") else ("/lib", "/usr/lib")
        there = [f"{folder}/{name}" for folder in folders if rootfs.exists(f"{folder}/{name}")]
        assert there, f"the root file system has no {name}"
        for path in there:
            same = rootfs.read(path, archive.FILE_MAX) == wanted
            assert same, f"{path} is another"
    assert linked_to("libc.so") == linked_to(LIBRARIES[0]), "two C libraries"


@check("same", proves=["R26"])
def test_gauge_is_what_we_make(bench, rootfs):
    same = rootfs.read("/usr/bin/gauge", archive.FILE_MAX) == bench.file("gauge")
    assert same, "/usr/bin/gauge is not what the bench makes"


@check("same", proves=["R26", "R27"])
def test_gauge_works(board, word):
    number = int(word[:6], 16)
    lines = f"b {number}\\na 1.5\\nb {number + 4}\\n"
    said = board.say(f"printf '{lines}' | gauge").splitlines()
    assert said == ["a 1.500000 0.000000", f"b {number + 2}.000000 2.000000"], f"{said[:3]}"
    assert board.run(f"echo {word} | gauge 2>&1").stdout.strip() == f"gauge: {word}"


@check("same", proves=["R24", "R5"])
def test_its_programs_are_the_toolchains(installed, rootfs):
    assert not archive.strangers(installed), f"{archive.strangers(installed)[:5]}"
    assert all(part.facts.machine == elves.RISCV for part in installed), "another machine's"
    for path in ("/bin/busybox", "/usr/bin/gauge"):
        data = rootfs.read(path, archive.FILE_MAX)
        assert path != "/bin/busybox" or b"BusyBox v1.35.0" in data, "another BusyBox"
        facts = elves.read(data)
        assert facts.interpreter == LOADER and not system.faults(data), f"{path}"
        assert b"\0__stack_chk_fail\0" in facts.imports, f"{path}: arrays are not watched"
        assert archive.COMPILER in facts.comments, f"{path} was compiled by {facts.comments}"


@milestone("clean", weight=2, requires=["login"], proves=["R29"], title="Nobody else's")
def test_no_place_is_named(tar, installed):
    found = archive.loose(tar.parts) + archive.loose(installed)
    assert not found, f"{found[:5]}"


@check("clean", proves=["R5"])
def test_no_other_compiler_is_named(tar):
    assert archive.named(tar.parts) > 100, "hardly anything names its compiler"
    assert not archive.strangers(tar.parts), f"{archive.strangers(tar.parts)[:5]}"


@check("clean", proves=["R6"])
def test_its_c_library_is_musl(tar, board):
    assert "Version 1.2.3" in board.run("/lib/ld-musl-riscv64.so.1 2>&1").stdout
    names = [entry.path for entry in tar.entries if "ld-linux" in entry.path]
    assert not names, f"another C library: {names[:3]}"


@milestone("poweroff", weight=1, requires=["login"], proves=["R28"], title="It ends")
def test_it_ends(board):
    assert board.ends(30), "it still runs after 30 s"
