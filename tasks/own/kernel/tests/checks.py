"""own/kernel: what the delivered kernel does, from its first line to power cuts."""

from __future__ import annotations

import builder
import cuts
import lives
import nets
import rungs

from benchflow.bench.delivered_source import MOST_KNOWN, MOST_TABLES
from benchflow.boot import Elf, check, milestone


@milestone("builds", weight=1, proves=["R1"], title="The source is built by make")
def test_make_builds_a_kernel(built):
    assert built.kernel is not None, (
        f"[R1] `make` ended with {built.status}; its last words: {built.log[-600:]!r}"
    )
    elf = built.kernel.read_bytes()
    Elf(elf)
    assert elf[:6] == b"\x7fELF\x02\x01" and elf[18:20] == b"\x3e\0", (
        "[R1] no 64-bit ELF file for x86-64"
    )


@check("builds", proves=["R2"])
def test_the_source_is_text(source):
    wrong = source.no_text()
    assert not wrong, f"[R2] no text: {wrong[:5]}"
    packed = source.packed()
    assert not packed, f"[R2] stretches that hardly compress: {packed[:5]}"
    tables = source.tables()
    assert tables <= MOST_TABLES, f"[R2] {tables} bytes are tables of numbers"


@check("builds", proves=["R3"])
def test_the_source_is_no_other_kernel(source):
    share, whole = source.known(builder.BENCH / "known-kernels.bin")
    assert share <= MOST_KNOWN, f"[R3] {share:.0%} of its fingerprints are another kernel's"
    assert not whole, f"[R3] files of another kernel: {whole[:5]}"


@milestone(
    "first-line", weight=2, requires=["builds"], proves=["R4", "R5"], title="It says its first line"
)
def test_the_word_of_its_command_line(bench):
    rungs.greets(bench)


@check("first-line", proves=["R3"])
def test_no_other_kernel_is_in_memory(bench):
    rungs.has_no_other_kernel_in_memory(bench)


@milestone(
    "memory-map", weight=2, requires=["first-line"], proves=["R6"], title="It knows its memory"
)
def test_the_usable_memory(bench):
    rungs.knows_its_memory(bench)


@milestone(
    "panic", weight=2, requires=["first-line"], proves=["R7"], title="Its own faults are told"
)
def test_an_invalid_instruction(bench):
    rungs.panics(bench, "ud", 6, lambda code: code[:2] in (b"\x0f\x0b", b"\x0f\xff", b"\x0f\xb9"))


@check("panic", proves=["R7"])
def test_a_division_by_zero(bench):
    rungs.panics(bench, "de", 0, lambda code: b"\xf7" in code[:3] or b"\xf6" in code[:3])


@check("panic", proves=["R7"])
def test_a_page_that_is_not_there(bench):
    place = 0x5000_0000_0000 + (bench.rng.getrandbits(40) << 4)
    rungs.panics(bench, f"pf@{place:#x}", 14, lambda code: True, place)


@milestone(
    "power-off",
    weight=2,
    requires=["first-line"],
    proves=["R8"],
    title="It switches the machine off",
)
def test_it_switches_itself_off(bench):
    rungs.powers_off(bench)


@check("power-off", proves=["R8"])
def test_it_resets_the_machine(bench):
    rungs.resets(bench)


@milestone("elf", weight=3, requires=["power-off"], proves=["R9"], title="A program runs")
def test_a_program_runs_with_its_arguments(first_program):
    first_program.holds("arguments")


@check("elf", proves=["R10"])
def test_what_the_program_finds(first_program):
    first_program.holds("vector", "data", "processor")


@check("elf", proves=["R11"])
def test_the_end_of_the_first_program(bench):
    rungs.ends_with_its_status(bench)


@check("elf", proves=["R9"])
def test_elf_of_a_drawn_program(sit):
    sit.drawn("elf")


@milestone(
    "write-read",
    weight=3,
    requires=["elf"],
    proves=["R12"],
    title="Programs read and write the console",
)
def test_what_is_written_arrives(bench):
    rungs.writes_much(bench)


@check("write-read", proves=["R12"])
def test_lines_are_read(bench):
    rungs.reads_lines(bench)


@check("write-read", proves=["R13"])
def test_what_cannot_be_written_is_refused(bench):
    rungs.refuses(bench)


@milestone(
    "memory", weight=4, requires=["write-read"], proves=["R14"], title="Programs have memory"
)
def test_memory_is_given_and_taken(sit):
    sit("memory", "heap", "mapping", "moving", "dropped")
    sit.drawn("memory")


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


@milestone("files", weight=4, requires=["memory"], proves=["R16"], title="Files are read")
def test_contents_of_small_large_and_sparse_files(sit):
    sit("files", "contents", "places", "offsets", "sparse")


@check("files", proves=["R17"])
def test_what_is_told_of_files_links_and_paths(sit):
    sit("files", "facts", "listing", "links")
    sit("relative", "relative")


@check("files", proves=["R18"])
def test_who_may_read(sit):
    sit("files", "permissions")


@check("files", proves=["R13"])
def test_files_that_cannot_be_had(sit):
    sit("files", "errors")


@milestone(
    "processes",
    weight=4,
    requires=["memory"],
    proves=["R19"],
    title="Processes are made and waited for",
)
def test_processes_begin_and_end(sit):
    sit("processes", "forking", "statuses", "waiting")
    sit.drawn("processes")


@check("processes", proves=["R19"])
def test_programs_are_replaced(sit):
    sit("processes", "replaced", "script", "large", "borrowed")


@check("processes", proves=["R20"])
def test_orphans_crowds_and_turns(sit):
    sit("processes", "orphans", "many", "deep", "turns")


@check("processes", proves=["R21"])
def test_who_they_are(sit):
    sit("processes", "identities")


@check("processes", proves=["R13"])
def test_what_cannot_be_started(sit):
    sit("processes", "refusals")


@milestone(
    "pipes", weight=3, requires=["processes"], proves=["R22"], title="Pipes connect programs"
)
def test_pipes_carry(sit):
    sit("pipes", "simple", "transfer", "row", "together")
    sit.drawn("pipes")


@check("pipes", proves=["R22"])
def test_pipes_end_and_fill(sit):
    sit("pipes", "broken", "halved", "unblocked")


@check("pipes", proves=["R23"])
def test_descriptors_are_copied(sit):
    sit("pipes", "copies")


@milestone("signals", weight=4, requires=["pipes"], proves=["R24"], title="Signals arrive")
def test_signals_are_handled_masked_and_queued(sit):
    sit("signals", "handlers", "information", "nesting", "masks", "awaited")
    sit.drawn("signals")


@check("signals", proves=["R24"])
def test_faults_are_told_and_registers_live(sit):
    sit("signals", "fault-addresses", "stacks", "registers", "rounding")


@check("signals", proves=["R24"])
def test_what_signals_do_by_themselves(sit):
    sit("signals", "defaults", "groups", "orphaned")


@check("signals", proves=["R25"])
def test_calls_are_interrupted_or_go_on(sit):
    sit("signals", "restarted")


@milestone(
    "shell", weight=4, requires=["signals", "files"], proves=["R26"], title="BusyBox's shell"
)
def test_scripts_run(living):
    lives.scripts(living)


@check("shell", proves=["R27"])
def test_applets_find_what_they_need(living, sit):
    lives.applets(living)
    sit("mounted", "proc", "opened-again", "emptied")


@check("shell", proves=["R27"])
def test_the_shell_switches_off(bench):
    lives.goes_off(bench)


@milestone(
    "time", weight=3, requires=["processes"], proves=["R28"], title="Time goes on as outside"
)
def test_time_goes_on_as_outside(bench):
    lives.keeps_time(bench)


@check("time", proves=["R28"])
def test_clocks_sleep_timers_and_processor_time(sit):
    sit("clocks", "clocks", "sleeping", "timers", "overruns", "processor-time")


@milestone(
    "terminal", weight=4, requires=["signals", "files"], proves=["R29"], title="The terminal"
)
def test_its_attributes(bench):
    lives.terminal(bench, "attributes")


@check("terminal", proves=["R29"])
def test_raw_input(bench):
    lives.terminal(bench, "raw")


@check("terminal", proves=["R29"])
def test_lines_are_edited(bench):
    lives.terminal(bench, "editing")
    lives.terminal(bench, "silent")
    lives.terminal(bench, "erasing")


@check("terminal", proves=["R30"])
def test_keys_reach_the_process_group_in_front(bench):
    lives.terminal(bench, "jobs")


@check("terminal", proves=["R30"])
def test_jobs_of_the_shell(bench):
    lives.job_control(bench)


@check("terminal", proves=["R27"])
def test_pseudo_terminals(bench):
    lives.terminal(bench, "pseudo")


@milestone("demand-paging", weight=4, requires=["processes", "files"], proves=["R31"],
           title="Memory when it is touched")  # fmt: skip
def test_vast_mappings_and_copies(sit):
    sit("paging", "vast", "again", "copied")


@check("demand-paging", proves=["R32"])
def test_files_and_shared_memory(sit):
    sit("paging", "mapped", "behind", "shared")
    sit.drawn("demand-paging")


@milestone("file-writes", weight=5, requires=["processes", "files"], proves=["R33"],
           title="Files are written")  # fmt: skip
def test_files_are_made_and_changed(sit):
    sit("writes", "makes", "changes")
    sit.drawn("file-writes")


@check("file-writes", proves=["R33"])
def test_names_folders_owners_and_times(sit):
    sit("writes", "names", "removes", "crowd", "facts", "corners")


@check("file-writes", proves=["R33"])
def test_a_full_disk(sit):
    sit("writes", "full")


@check("file-writes", proves=["R33"])
def test_many_write_at_once(sit):
    sit("writes", "together")


@check("file-writes", proves=["R34"])
def test_all_is_on_the_disk_in_the_end(sit):
    sit.written_is_on_the_disk()


@milestone("threads", weight=4, requires=["signals"], proves=["R35"], title="Threads")
def test_threads_share_and_wait(sit):
    sit("threads", "sums", "turns", "others")
    sit.drawn("threads")


@check("threads", proves=["R35"])
def test_who_threads_are_and_how_they_end(sit):
    sit("threads", "identities", "signalled", "endings", "cancelling")


@check("threads", proves=["R35"])
def test_futexes(sit):
    sit("threads", "futexes")


@milestone(
    "polling", weight=3, requires=["signals"], proves=["R36"], title="Waiting for many things"
)
def test_poll_select_and_epoll(sit):
    sit("waits", "polls", "selects")
    sit.drawn("polling")
    sit("waits", "epolls", "circles")


@check("polling", proves=["R36"])
def test_events_timers_and_signals_as_files(sit):
    sit("waits", "events", "timer-files", "signal-files", "told-by-files")


@milestone("unix-sockets", weight=3, requires=["polling", "file-writes"], proves=["R37"],
           title="Sockets on one machine")  # fmt: skip
def test_streams_packets_and_descriptors_handed_over(sit):
    sit("unixes", "pairs", "datagrams", "handed", "ends")


@check("unix-sockets", proves=["R37"])
def test_servers_by_name(sit):
    sit("unixes", "named", "abstract")


@check("unix-sockets", proves=["R37"])
def test_unix_sockets_of_a_drawn_program(sit):
    sit.drawn("unix-sockets")


@milestone("network", weight=4, requires=["elf"], proves=["R38", "R39"], title="On the network")
def test_it_has_an_address_and_answers(bench):
    nets.answers_arp_and_echo(bench)


@check("network", proves=["R40"])
def test_datagrams(bench):
    nets.udp(bench)


@check("network", proves=["R39", "R40"])
def test_ping_and_ifconfig(bench):
    nets.pings_and_tells(bench)


@milestone("tcp", weight=6, requires=["network", "polling"], proves=["R41"], title="TCP")
def test_a_client(bench):
    nets.fetches(bench, 1 << 20, 0)


@check("tcp", proves=["R40", "R41"])
def test_on_lo(sit):
    sit("loopback", "loopback", "lingering")


@check("tcp", proves=["R41"])
def test_a_server_of_64(bench):
    nets.crowd_of_connections(bench, 64, 20_000)


@check("tcp", proves=["R42"])
def test_frames_get_lost(bench):
    nets.fetches(bench, 1 << 20, 0.05, 100 << 10)


@check("tcp", proves=["R43"])
def test_wget_and_httpd(bench):
    nets.busybox_web(bench)


@milestone("two-processors", weight=6, requires=["threads", "demand-paging"], proves=["R44"],
           title="Two processors")  # fmt: skip
def test_both_run_in_their_places_with_one_memory(sit):
    sit("races", "two-processes", "two-threads", "placed", "shot-down")


@check("two-processors", proves=["R44"])
def test_programs_race(sit):
    sit("races", "together", "families")
    sit.drawn("two-processors", cpus=2)


@check("two-processors", proves=["R44"])
def test_what_held_on_one_holds_on_two(sit):
    sit("threads-on-two")
    sit("pipes-on-two")
    sit("processes-on-two")


@milestone("memory-pressure", weight=5, requires=["demand-paging"], proves=["R45"],
           title="Memory that runs out")  # fmt: skip
def test_who_takes_all_is_ended(sit):
    sit("pressure", "proc", "eaten")


@check("memory-pressure", proves=["R45"])
def test_nothing_leaks(sit):
    sit("pressure", "leaks")


@check("memory-pressure", proves=["R45"])
def test_what_was_read_is_not_used(sit):
    sit("pressure", "reads", "in-memory")


@milestone("stress-night", weight=6, requires=["two-processors", "unix-sockets"],
           proves=["R46"], title="A night of everything")  # fmt: skip
def test_a_night_on_one_processor(bench):
    lives.night(bench, 1)


@check("stress-night", proves=["R46"])
def test_a_night_on_two(bench, sit):
    sit("races", "made-at-once")
    lives.night(bench, 2)


@milestone("power-cuts", weight=8, requires=["file-writes"], proves=["R47"],
           title="The power goes, and nothing that was safe is lost")  # fmt: skip
def test_what_was_acknowledged_is_there(bench, records):
    cuts.whole_after_cuts(bench, records)
