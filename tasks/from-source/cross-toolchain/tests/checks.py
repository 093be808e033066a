"""cross-toolchain: does it compile anywhere what nobody has seen, and does that run?"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import archive
import elves
import programs
import system
from bench import TARGET
from board import PASSWORD, START_SECONDS

from benchflow.boot import Elf, check, kernel_banner, kernel_release, milestone

TOOLS = ("addr2line", "ar", "as", "c++", "c++filt", "cc", "cpp", "g++", "gcc", "ld", "nm",
         "objcopy", "objdump", "ranlib", "readelf", "size", "strings", "strip")  # fmt: skip
OF_GCC = ("c++", "cc", "cpp", "g++", "gcc")
LIBRARIES = ("ld-musl-riscv64.so.1", "libgcc_s.so.1", "libstdc++.so.6", "libatomic.so.1")
WAYS = ("by-path", "by-link", "by-place", "by-folder", "by-relative")
LOADER = "/lib/ld-musl-riscv64.so.1"
#: Each by the name under which it was called: `gcc`, `cc`, `gcc-12.2.0`, what a wrapper calls.
COMPILER = rf"{TARGET}-g?cc[\w.-]* \(Ferrum FX-31\) 12\.2\.0"
COMPILED = re.compile(rf"\({COMPILER}, GNU ld \(Ferrum FX-31\) 2\.40[^)]*\)")
GUARD = b"\0__stack_chk_"
LINUX = (6 << 16) + (1 << 8) + 176
COMPILE_SECONDS, GAUGE_SECONDS = 700, 60


@milestone("archive", weight=1, proves=["R1"], title="One archive")
def test_the_archive(tar):
    assert not tar.faults(), f"{tar.faults()[:5]} [R1]"


@check("archive", proves=["R2"])
def test_its_programs_need_nothing(tar):
    machines = tar.machines()
    assert machines[elves.X86_64], "it holds no program for x86-64 [R2]"
    assert not tar.dynamic_programs(), f"not linked statically: {tar.dynamic_programs()[:5]} [R2]"
    others = set(machines) - {elves.X86_64, elves.RISCV}
    assert not others, f"files for machines {others}: x86-64 and RISC-V are asked for [R2] [R5]"


@milestone("named", weight=1, proves=["R4"], title="It says what it is")
def test_its_tools_say_what_they_are(bench, metric):
    bench.start()
    metric("compile_seconds", bench.compile(COMPILE_SECONDS))
    for tool in TOOLS:
        first = bench.said(f"version-{tool}").splitlines()[0]
        version = "12.2.0" if tool in OF_GCC else "2.40"
        assert "(Ferrum FX-31)" in first and any(
            part.startswith(version) for part in first.split()
        ), f"{tool} --version says {first[:200]!r}, without (Ferrum FX-31) and {version} [R4]"


@check("named", proves=["R4", "R9"])
def test_its_target(bench):
    said = bench.said("machine"), bench.said("full")
    assert said == (TARGET, "12.2.0"), f"-dumpmachine and -dumpfullversion say {said} [R4]"
    macros = bench.said("macros").splitlines()
    for one in ("__riscv_xlen 64", "__riscv_flen 64", "__riscv_compressed 1", "__riscv_atomic 1"):
        assert f"#define {one}" in macros, f"not defined: {one}; rv64gc, lp64d [R9]"


@check("named", proves=["R6"])
def test_its_sysroot_is_its_own(bench, tar):
    said = bench.said("sysroot-real")
    assert said.startswith(f"{bench.tree}/"), f"the sysroot is {said[:200]}, not in fx31 [R6]"
    folder = archive.TOP + said.removeprefix(bench.tree)
    for name in ("stdio.h", "linux/version.h"):
        places = [f"{folder}/{headers}/{name}" for headers in ("usr/include", "include")]
        assert any(tar.tree.exists(place) for place in places), (
            f"there is no {name} in the sysroot [R6]"
        )


@milestone("compiles", weight=2, proves=["R9", "R13"], title="C becomes programs")
def test_a_program_of_c(bench):
    facts = elves.read(bench.file("plain"))
    assert facts.machine == elves.RISCV and facts.interpreter == LOADER, (
        f"machine {facts.machine}, loader {facts.interpreter!r}; wanted is {LOADER} [R9]"
    )
    assert len(facts.needed) == 1, (
        f"it needs {facts.needed}: what needs no library for atomics asks for none [R13]"
    )
    assert facts.flags & 7 == elves.RVC | elves.DOUBLE, (
        f"flags {facts.flags:x}: not rv64gc with lp64d [R9]"
    )


@check("compiles", proves=["R14"])
def test_a_static_program(bench):
    facts = elves.read(bench.file("plain-static"))
    assert facts.machine == elves.RISCV and not facts.interpreter and not facts.needed, (
        f"-static: loader {facts.interpreter!r}, needed {facts.needed} [R14]"
    )


@check("compiles", proves=["R8"])
def test_what_is_wrong_is_refused(bench):
    for job in ("wrong", "unresolved"):
        assert bench.status(job) not in (0, None), f"{job}.c was compiled [R8]"
        assert not bench.has(job), f"{job}.c left a program: leaves no output [R8]"
        assert bench.seed in bench.complaint(job), f"of {job}.c it says {bench.complaint(job)}"


@check("compiles", proves=["R5"])
def test_what_it_makes_names_it(bench):
    for name in ("plain", "plain-static", "plugin.so"):
        comments = elves.read(bench.file(name)).comments
        assert set(comments) == {archive.COMPILER}, f"{name} names {comments} [R5]"


@milestone("anywhere", weight=2, proves=["R3"], title="Anywhere")
def test_however_it_is_called(bench):
    for way in WAYS:
        assert bench.status(way) == 0, f"{way}: {bench.complaint(way)} [R3]"


@check("anywhere", proves=["R3"])
def test_it_leaves_nothing(bench):
    assert not bench.said("left"), f"left in $TMPDIR: {bench.said('left')[:300]} [R3]"


@check("anywhere", proves=["R7"])
def test_the_same_bytes_everywhere(bench):
    wanted = bench.file("plain")
    assert archive.COMPILER in elves.read(wanted).comments, "it is another compiler's [R5]"
    for way in WAYS:
        assert bench.file(way) == wanted, f"{way}: other bytes [R7]"
    assert bench.file("libparts.a") == bench.file("libparts2.a"), "ar made other bytes [R7]"


@check("anywhere", proves=["R3", "R7"])
def test_the_same_bytes_for_another_user_on_another_day(bench):
    assert bench.status("by-another") == 0, f"as root: {bench.complaint('by-another')} [R3]"
    same = bench.file("by-another") == bench.file("plain")
    assert same, "another user, folder and day: gcc made other bytes [R7]"
    same = bench.file("libparts3.a") == bench.file("libparts.a")
    assert same, "another user, folder and day: ar made other bytes [R7]"


@milestone("defaults", weight=3, proves=["R10"], title="Safe by default")
def test_programs_and_libraries_are_bound_and_read_only(bench):
    for name in ("plain", "smash", "whole", "host", "plugin.so"):
        assert not system.faults(bench.file(name)), (
            f"{name}: {system.faults(bench.file(name))} [R10]"
        )


@check("defaults", proves=["R14", "R10"])
def test_static_programs(bench):
    for name in ("plain-static", "plain-static-pie"):
        facts = elves.read(bench.file(name))
        assert facts.stack_flags is not None and not facts.stack_flags & 1, f"{name}: stack [R14]"
        assert not facts.writable_code and facts.build_id and not facts.interpreter, (
            f"{name}: build-id {facts.build_id!r}, loader {facts.interpreter!r}, segments both "
            f"written and executed: {facts.writable_code} [R10] [R14]"
        )
    pie = elves.read(bench.file("plain-static-pie"))
    assert pie.kind == elves.DYN and pie.dynamic and not pie.needed, "no static PIE [R14]"


@check("defaults", proves=["R11"])
def test_arrays_are_watched(bench):
    assert GUARD in elves.read(bench.file("smash")).imports, "nothing watches its array [R11]"


@milestone("cxx", weight=2, proves=["R9", "R10"], title="C++ becomes programs")
def test_programs_of_cxx(bench):
    for name in ("main", "libfault.so", "cxxplugin.so"):
        facts = elves.read(bench.file(name))
        assert "libstdc++.so.6" in facts.needed, f"{name} needs {facts.needed}"
        assert not system.faults(bench.file(name)), (
            f"{name}: {system.faults(bench.file(name))} [R10]"
        )
    facts = elves.read(bench.file("main-static"))
    assert facts.machine == elves.RISCV and not facts.interpreter and not facts.needed


@check("cxx", proves=["R30"])
def test_it_does_not_take_long(bench, metric):
    assert bench.status("gauge") == 0, f"gauge.cc was not compiled: {bench.complaint('gauge')}"
    metric("gauge_seconds", bench.gauge_seconds)
    assert bench.gauge_seconds <= GAUGE_SECONDS, f"it took {bench.gauge_seconds:.0f} s"


@milestone("tools", weight=2, proves=["R18"], title="Its tools work")
def test_libraries_and_names(bench):
    names = bench.said("names")
    assert " T part_1" in names and " T part_2" in names, names[:300]
    facts = elves.read(bench.file("whole"))
    assert facts.machine == elves.RISCV and archive.COMPILER in facts.comments, (
        f"whole is for machine {facts.machine}, made by {facts.comments} [R5] [R18]"
    )
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


@milestone("kernel", weight=2, proves=["R19"], title="The kernel is its work")
def test_the_kernel_as_it_lies(kernel):
    data = kernel.read_bytes()
    assert data[56:60] == b"RSC\x05", "it is no kernel for RISC-V that is not compressed [R19]"
    release = kernel_release(data)
    assert release == "6.1.176-fx31", f"it is {release!r}, not 6.1.176-fx31 [R19]"
    banner = kernel_banner(data)
    assert COMPILED.search(banner), f"it says {banner[:300]!r}, not {COMPILED.pattern} [R19]"


@check("kernel", proves=["R29"])
def test_the_kernel_names_no_place(kernel):
    assert not elves.places(kernel.read_bytes()), f"{elves.places(kernel.read_bytes())[:5]} [R29]"


@milestone("login", weight=2, proves=["R20", "R22"], title="The board starts")
def test_it_starts(board, metric):
    metric("boot_seconds", board.start())
    uid = board.say("id -u")
    assert uid == "0", f"root has the uid {uid} [R22]"


@milestone("system", weight=2, requires=["login"], proves=["R20"], title="The board is as ordered")
def test_it_starts_in_time_with_both_processors(board):
    assert board.spent <= START_SECONDS, f"a login after {board.spent:.0f} s, not 60 [R20]"
    number = board.say("grep -c ^processor /proc/cpuinfo")
    assert number == "2", f"{number} processors are at work, not both [R20]"


@check("system", proves=["R19"])
def test_its_kernel_is_the_delivered_one(board, kernel):
    release = board.say("uname -r")
    assert release == "6.1.176-fx31", f"uname -r says {release!r} [R19]"
    said = board.say("cat /proc/version")
    assert COMPILED.search(said) and said.encode() in kernel.read_bytes(), (
        f"/proc/version: {said[:300]!r} [R19]"
    )
    config = board.say("zcat /proc/config.gz | grep -e ^CONFIG_CC_VERSION_TEXT -e ^CONFIG_LOCALV")
    assert re.search(f'VERSION_TEXT="{COMPILER}', config), f"/proc/config.gz: {config[:300]} [R19]"


@check("system", proves=["R21"])
def test_its_root_stays_as_it_is(board):
    assert board.run("touch /stray /etc/passwd").status != 0, "/ can be written [R21]"
    mounts = [line.split() for line in board.say("cat /proc/mounts").splitlines()]
    last = {words[1]: words for words in mounts}
    assert "ro" in last["/"][3].split(",") and last["/"][2] == "ext4", f"{last['/']} [R21]"
    place = PurePosixPath(board.say("readlink -f /tmp"))
    kind = next(last[f"{one}"][2] for one in (place, *place.parents) if f"{one}" in last)
    assert kind in ("tmpfs", "ramfs"), f"/tmp lies in {kind}, not in memory [R21]"
    said = board.trial("sh -c 'echo x >/tmp/own && cat /tmp/own'").stdout.strip()
    assert said == "x", f"trial writes in /tmp: {said[:200]!r} [R21]"


@check("system", proves=["R22"])
def test_another_password_is_refused(board, word):
    board.machine.shell.close()
    for password in (f"{PASSWORD[:-1]}7", "", f"{PASSWORD}{word[0]}", word):
        assert board.refuses("root", password), f"root gets in with {password!r} [R22]"
    assert board.refuses("trial", ""), "trial gets in without a password [R22]"
    board.machine.login("root", PASSWORD, timeout=START_SECONDS)
    assert board.say("id -u") == "0"


@check("system", proves=["R22"])
def test_nobody_else_has_rights(board):
    found = system.people_faults(board)
    assert not found, f"{found[:5]} [R22]"


@check("system", proves=["R22"])
def test_no_file_gives_rights(rootfs):
    # BusyBox, under each of its names, drops by itself what an applet must not have.
    busybox = rootfs.stat("/bin/busybox").key if rootfs.exists("/bin/busybox") else None
    loose = [
        f"{e.path} ({e.mode:o})"
        for e in rootfs.walk("/")
        if e.kind == "file" and (e.mode & 0o002 or (e.mode & 0o6000 and e.key != busybox))
    ]
    assert not loose, f"{loose[:5]} give rights to trial, who has none [R22]"


@check("system", proves=["R21"])
def test_the_root_file_system_is_clean(rootfs):
    assert not rootfs.problems(), f"not clean: {rootfs.problems()[:300]} [R21]"


@milestone("runs", weight=3, requires=["login"], proves=["R23", "R27", "R14"],
           title="What it makes runs")  # fmt: skip
def test_a_program_in_three_forms(board, bench, word):
    mounts = [line.split() for line in board.say("cat /proc/mounts").splitlines()]
    trial = [words for words in mounts if words[1] == "/trial"][-1:]
    assert trial and "ro" in trial[0][3].split(","), (
        f"/trial is mounted as {trial}, not read-only [R23]"
    )
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


@milestone("threads", weight=3, requires=["login"], proves=["R12", "R13", "R15"], title="Threads")
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


@milestone("exceptions", weight=3, requires=["login"], proves=["R16", "R15", "R13"],
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


@milestone("same", weight=2, proves=["R25"], title="One toolchain")
def test_its_libraries_are_the_toolchains(bench, tar, rootfs):
    def linked_to(name):
        place = bench.said(f"file-{name}")
        assert place.startswith(f"{bench.tree}/"), f"{name} is {place[:200]}"
        return tar.tree.read(archive.TOP + place.removeprefix(bench.tree), archive.FILE_MAX)

    for name in LIBRARIES:
        wanted = linked_to(name)
        folders = ("/lib",) if name.startswith("ld-") else ("/lib", "/usr/lib")
        there = [f"{folder}/{name}" for folder in folders if rootfs.exists(f"{folder}/{name}")]
        assert there, f"the root file system has no {name} [R25]"
        for path in there:
            same = rootfs.read(path, archive.FILE_MAX) == wanted
            assert same, f"{path} is another than the toolchain links to [R25]"
    assert linked_to("libc.so") == linked_to(LIBRARIES[0]), "two C libraries"


@check("same", proves=["R26"])
def test_gauge_is_what_we_make(bench, rootfs):
    same = rootfs.read("/usr/bin/gauge", archive.FILE_MAX) == bench.file("gauge")
    assert same, "/usr/bin/gauge is not what the bench makes of gauge.cc [R26]"


@check("same", proves=["R26", "R27"])
def test_gauge_works(board, word):
    number = int(word[:6], 16)
    lines = f"b {number}\\na 1.5\\nb {number + 4}\\n"
    said = board.say(f"printf '{lines}' | gauge").splitlines()
    wanted = ["a 1.500000 0.000000", f"b {number + 2}.000000 2.000000"]
    assert said == wanted, f"gauge says {said[:3]}, not {wanted} [R26]"
    said = board.run(f"echo {word} | gauge 2>&1").stdout.strip()
    assert said == f"gauge: {word}", f"of a wrong line gauge says {said[:200]!r} [R26]"


@check("same", proves=["R24", "R5"])
def test_its_programs_are_the_toolchains(installed, rootfs):
    assert not archive.strangers(installed), f"{archive.strangers(installed)[:5]} [R24] [R5]"
    assert all(part.facts.machine == elves.RISCV for part in installed), "another machine's [R24]"
    for part in installed:
        assert part.facts.interpreter in ("", LOADER), (
            f"{part.path} is loaded by {part.facts.interpreter}, and not the toolchain's [R24]"
        )
    for path in ("/bin/busybox", "/usr/bin/gauge"):
        data = rootfs.read(path, archive.FILE_MAX)
        assert path != "/bin/busybox" or b"BusyBox v1.35.0" in data, "another BusyBox [R24]"
        facts = elves.read(data)
        assert facts.interpreter == LOADER and not system.faults(data), (
            f"{path}: loader {facts.interpreter!r}, {system.faults(data)} [R24] [R10]"
        )
        assert GUARD in facts.imports, f"{path}: arrays are not watched [R24] [R11]"
        assert archive.COMPILER in facts.comments, f"{path} names {facts.comments} [R24]"


@milestone("clean", weight=2, proves=["R29"], title="Nobody else's")
def test_no_place_is_named(tar, installed):
    found = archive.loose(tar.parts) + archive.loose(installed)
    assert not found, f"{found[:5]} name sources by places of somebody's machine [R29]"


@check("clean", proves=["R5"])
def test_no_other_compiler_is_named(tar):
    libraries = [part.path for part in tar.parts if part.facts.kind == elves.DYN
                 and part.facts.machine == elves.RISCV
                 and archive.COMPILER not in part.facts.comments]  # fmt: skip
    assert not libraries, f"{libraries[:5]} do not name their compiler [R5]"
    assert archive.named(tar.parts), "nothing for RISC-V names its compiler [R5]"
    assert not archive.strangers(tar.parts), f"{archive.strangers(tar.parts)[:5]} [R5]"


@check("clean", proves=["R6"])
def test_its_c_library_is_musl(tar, board):
    said = board.run("/lib/ld-musl-riscv64.so.1 2>&1").stdout
    assert "Version 1.2.3" in said, f"the C library says {said[:200]!r} [R6]"
    names = [entry.path for entry in tar.entries if "ld-linux" in entry.path]
    assert not names, f"another C library: {names[:3]} [R6]"


@milestone("poweroff", weight=1, requires=["login"], proves=["R28"], title="It ends")
def test_it_ends(board):
    assert board.ends(30), "it still runs 30 s after poweroff [R28]"


@check("system", proves=["R21"])
def test_its_root_is_as_it_was(board):
    if board.machine.alive:
        board.machine.power_cut()
    written = board.written()
    assert not written, f"{len(written)} sectors of / were written, {written[:3]} first [R21]"
