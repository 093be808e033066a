"""own/kernel: what the delivered kernel does, from its first line to power cuts."""

from __future__ import annotations

import re

import builder
import rungs
from source import MOST_KNOWN

from benchflow.boot import Elf, check, milestone

# ---- builds -------------------------------------------------------------------------------------


@milestone("builds", weight=1, proves=["R1"], title="The source is built by make")
def test_make_builds_a_kernel(built):
    assert built.kernel is not None, f"[R1] `make` ended with {built.status}; its last words: {built.log[-600:]!r}"
    elf = built.kernel.read_bytes()
    Elf(elf)
    assert elf[:6] == b"\x7fELF\x02\x01" and elf[18:20] == b"\x3e\0", "[R1] no 64-bit ELF file for x86-64"


@check("builds", proves=["R2"])
def test_the_source_is_text(source):
    wrong = source.no_text()
    assert not wrong, f"[R2] no text: {wrong[:5]}"
    packed = source.packed()
    assert not packed, f"[R2] stretches that hardly compress: {packed[:5]}"


@check("builds", proves=["R3"])
def test_the_source_is_no_other_kernel(source):
    share, whole = source.known(builder.BENCH / "known-kernels.bin")
    assert share <= MOST_KNOWN, f"[R3] {share:.0%} of its fingerprints are another kernel's"
    assert not whole, f"[R3] files of another kernel: {whole[:5]}"


# ---- first-line ---------------------------------------------------------------------------------


@milestone("first-line", weight=2, requires=["builds"], proves=["R4", "R5"], title="It says its first line")
def test_the_word_of_its_command_line(bench):
    rungs.greets(bench)


@check("first-line", proves=["R3"])
def test_no_other_kernel_is_in_memory(bench):
    rungs.has_no_other_kernel_in_memory(bench)


# ---- memory-map ---------------------------------------------------------------------------------


@milestone("memory-map", weight=2, requires=["first-line"], proves=["R6"], title="It knows its memory")
def test_the_usable_memory(bench):
    rungs.knows_its_memory(bench)


# ---- panic --------------------------------------------------------------------------------------


@milestone("panic", weight=2, requires=["first-line"], proves=["R7"], title="Its own faults are told")
def test_an_invalid_instruction(bench):
    rungs.panics(bench, "ud", 6, lambda code: code[:2] in (b"\x0f\x0b", b"\x0f\xff", b"\x0f\xb9"))


@check("panic", proves=["R7"])
def test_a_division_by_zero(bench):
    rungs.panics(bench, "de", 0, lambda code: b"\xf7" in code[:3] or b"\xf6" in code[:3])


@check("panic", proves=["R7"])
def test_a_page_that_is_not_there(bench):
    place = 0x5000_0000_0000 + (bench.rng.getrandbits(40) << 4)
    rungs.panics(bench, f"pf@{place:#x}", 14, lambda code: True, place)


# ---- power-off ----------------------------------------------------------------------------------


@milestone("power-off", weight=2, requires=["first-line"], proves=["R8"], title="It switches the machine off")
def test_it_switches_itself_off(bench):
    rungs.powers_off(bench)


@check("power-off", proves=["R8"])
def test_it_resets_the_machine(bench):
    rungs.resets(bench)


# ---- elf ----------------------------------------------------------------------------------------


@milestone("elf", weight=3, requires=["power-off"], proves=["R9"], title="A program runs")
def test_a_program_runs_with_its_arguments(first_program):
    first_program.holds("arguments")


@check("elf", proves=["R10"])
def test_what_the_program_finds(first_program):
    first_program.holds("vector", "data", "processor")


@check("elf", proves=["R11"])
def test_the_end_of_the_first_program(bench):
    rungs.ends_with_its_status(bench)


# ---- write-read ---------------------------------------------------------------------------------


@milestone("write-read", weight=3, requires=["elf"], proves=["R12"], title="Programs read and write the console")
def test_what_is_written_arrives(bench):
    rungs.writes_much(bench)


@check("write-read", proves=["R12"])
def test_lines_are_read(bench):
    rungs.reads_lines(bench)


@check("write-read", proves=["R13"])
def test_what_cannot_be_written_is_refused(bench):
    rungs.refuses(bench)


# ---- memory -------------------------------------------------------------------------------------


@milestone("memory", weight=4, requires=["write-read"], proves=["R14"], title="Programs have memory")
def test_memory_is_given_and_taken(sit):
    sit("memory", "heap", "mapping", "moving", "dropped")


@check("memory", proves=["R14"])
def test_the_c_libraries_allocate_and_have_thread_local_memory(sit):
    sit("memory", "many", "thread-local", "stack")


@check("memory", proves=["R13"])
def test_memory_that_cannot_be_had(sit):
    sit("memory", "refusals")


@check("memory", proves=["R15"])
def test_programs_write_programs(sit):
    sit("memory", "code")


@check("memory", proves=["R15"])
def test_what_is_protected_is_protected(bench):
    rungs.protects(bench)


# ---- files --------------------------------------------------------------------------------------


@milestone("files", weight=4, requires=["memory"], proves=["R16"], title="Files are read")
def test_contents(sit):
    sit("files", "contents", "places", "offsets")


@check("files", proves=["R16"])
def test_large_and_sparse_files(sit):
    sit("files", "sparse")


@check("files", proves=["R17"])
def test_what_is_told_of_files(sit):
    sit("files", "facts", "listing")


@check("files", proves=["R17"])
def test_links_and_paths(sit):
    sit("files", "links")
    sit("relative", "relative")


@check("files", proves=["R18"])
def test_who_may_read(sit):
    sit("files", "permissions")


@check("files", proves=["R13"])
def test_files_that_cannot_be_had(sit):
    sit("files", "errors")


# ---- processes ----------------------------------------------------------------------------------


@milestone("processes", weight=4, requires=["memory"], proves=["R19"], title="Processes are made and waited for")
def test_processes_begin_and_end(sit):
    sit("processes", "forking", "statuses", "waiting")


@check("processes", proves=["R19"])
def test_programs_are_replaced(sit):
    sit("processes", "replaced", "script", "large", "borrowed")


@check("processes", proves=["R20"])
def test_orphans_and_crowds(sit):
    sit("processes", "orphans", "many", "deep")


@check("processes", proves=["R20"])
def test_everybody_has_a_turn(sit):
    sit("processes", "turns")


@check("processes", proves=["R21"])
def test_who_they_are(sit):
    sit("processes", "identities")


@check("processes", proves=["R13"])
def test_what_cannot_be_started(sit):
    sit("processes", "refusals")


# ---- pipes --------------------------------------------------------------------------------------


@milestone("pipes", weight=3, requires=["processes"], proves=["R22"], title="Pipes connect programs")
def test_pipes_carry(sit):
    sit("pipes", "simple", "transfer", "row")


@check("pipes", proves=["R22"])
def test_pipes_end_and_fill(sit):
    sit("pipes", "broken", "unblocked")


@check("pipes", proves=["R22"])
def test_what_is_written_at_once_stays_together(sit):
    sit("pipes", "together")


@check("pipes", proves=["R23"])
def test_descriptors_are_copied(sit):
    sit("pipes", "copies")
