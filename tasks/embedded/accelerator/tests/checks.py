"""The questions that a station has to answer, in three machines: see conftest.py.

From a log-in with a driver on, a milestone requires only what the machine cannot do without: one
demand that is not met hides no other.
"""

from __future__ import annotations

import secrets

import bus
import crowds
import leaving
import library
import packages
import people
import single
from unit import BAD, NO_CARD, compile_in, factorial, make_text, sha, text

from benchflow.boot import check, milestone

LENGTH_MB, STORED_MB = 2048, 768
DRIVER = leaving.DRIVER


# ---- boots ------------------------------------------------------------------------------------


@milestone("boots", weight=1, proves=["R1"], title="Starts from the disk")
def test_starts_and_root_logs_in(two, metric):
    two.start(150)
    metric("login_seconds", round(two.machine.elapsed, 1))
    name, root = two.say("id -un"), two.say("findmnt -n -o FSTYPE /")
    assert (name, root) == ("root", "ext4"), f"[R1] the root file system is ext4: {root}"


@milestone("system", weight=1, requires=["boots"], proves=["R1"], title="Debian, as it was asked")
def test_image_has_an_ext4_root(deliverable, image, metric):
    status = deliverable().stat()
    stored = status.st_blocks * 512 / (1 << 20)
    metric("stored_mb", round(stored, 1))
    assert status.st_size <= LENGTH_MB << 20, f"[R1] at most 2 GiB long: {status.st_size >> 20} MiB"
    assert stored <= STORED_MB, f"[R1] at most 768 MiB are stored: {stored:.0f}"
    disk = image()
    files = [disk.ext4(p) for p in disk.partitions() if disk.filesystem(p) == "ext4"]
    debian = [f for f in files if f.exists("/var/lib/dpkg/status")]
    assert debian, "[R1] ext4, on a partition of its own: in none of that kind is a Debian"


@check("system", proves=["R2"])
def test_is_debian_with_systemd(two, nonce):
    two.come_up()
    name = f"question-{nonce()[:12]}"
    two.say(f"systemd-run --quiet --unit={name} sh -c 'cat /proc/self/cgroup >/run/{name}'")
    written = f"for i in $(seq 60); do [ -s /run/{name} ] && break; sleep 0.5; done"
    said = two.say(f"{written}; cat /run/{name}")
    assert f"{name}.service" in said, f"[R2] with systemd: a unit of it ran in {said!r}"
    version = two.say("cat /etc/debian_version")
    assert version.startswith("12."), f"[R2] Debian 12: {version!r}"
    owner = two.say("dpkg-query -S /boot/vmlinuz-$(uname -r)")
    kernel = two.say("uname -r")
    assert owner.startswith(f"linux-image-{kernel}:"), f"[R2] Debian's own: {owner} has {kernel}"


@check("system", proves=["R4"])
def test_technicians_can_compile(two, nonce):
    word = nonce()
    source = f'#include <stdio.h>\nint main(void) {{ puts("{word}"); return 0; }}\n'.encode()
    said = two.say(compile_in(two, "hello", source, library=False))
    assert said == word, f"[R4] makes a program that runs: it said {said!r}"


# ---- loads ------------------------------------------------------------------------------------


@milestone("loads", weight=2, requires=["boots"], proves=["R5"], title="The driver takes its cards")
def test_driver_took_both_cards(two):
    found = two.say(f"ls {DRIVER}").split()
    assert set(two.slots) <= set(found), f"[R5] takes its cards by itself: {DRIVER} has {found}"
    name = two.say("test -d /sys/module/kvarn && modinfo -F name kvarn")
    assert name == "kvarn", f"[R5] a kernel module named `kvarn`: {name!r}"


@check("loads", proves=["R6"])
def test_kernel_is_not_tainted_further(two):
    taints = two.taints()
    assert taints == 0, f"[R6] tainted for no other reason: {taints:#x}"


# ---- alive ------------------------------------------------------------------------------------


@milestone("alive", weight=1, requires=["boots"], proves=["R13"], title="The cards answer")
def test_list(two):
    leaving.all_there(two)


@check("alive", proves=["R14", "R19"])
def test_each_card_answers(two):
    single.alive(two)


# ---- access -----------------------------------------------------------------------------------


@milestone("access", weight=1, requires=["boots"], proves=["R11"], title="The right people only")
def test_nodes(two):
    people.nodes(two)


@check("access", proves=["R3", "R12", "R14"])
def test_anna_works(two):
    people.member_works(two)


@check("access", proves=["R3", "R12"])
def test_bert_is_refused(two):
    people.stranger_is_refused(two)


@check("access", proves=["R3"])
def test_nobody_gets_in_with_another_password(two):
    people.passwords(two)


@check("access", proves=["R12"])
def test_no_helpers_with_more_rights(two):
    people.nothing_has_more_rights(two)


# ---- calculates -------------------------------------------------------------------------------


@milestone("calculates", weight=2, requires=["boots"], proves=["R15"], title="Calculations")
def test_factorials_come_from_a_card(two):
    single.calculations(two)


@check("calculates", proves=["R19"])
def test_the_named_card_calculates(two):
    for slot in reversed(two.slots):
        single.calculations_of(two, slot)


@check("calculates", proves=["R15", "R19"])
def test_bad_requests_reach_no_card(two):
    single.bad_requests(two)


# ---- interrupts -------------------------------------------------------------------------------


@milestone(
    "interrupts", weight=2, requires=["boots"], proves=["R8"], title="Interrupts, not polling"
)
def test_each_card_has_a_message_signalled_interrupt(two):
    single.interrupt_lines(two)


@check("interrupts", proves=["R8"])
def test_every_calculation_interrupts(two):
    single.every_calculation(two)


@check("interrupts", proves=["R8"])
def test_a_long_calculation_is_waited_for_in_sleep(two, metric):
    metric("long_calculation_seconds", single.a_long_one(two))


@check("interrupts", proves=["R9"])
def test_nobody_else_maps_the_registers(two):
    single.registers_are_the_drivers(two)


# ---- transfers --------------------------------------------------------------------------------


@milestone("transfers", weight=2, requires=["boots"], proves=["R16"], title="Transfers")
def test_copies_go_through_a_card(two, nonce):
    single.copies(two, nonce)


@check("transfers", proves=["R8"])
def test_every_transfer_interrupts(two, nonce):
    single.every_transfer(two, nonce)


@check("transfers", proves=["R7", "R10"])
def test_transfers_keep_the_rules(two):
    assert bus.transfers(two.bus.all()), "[R16] no transfer was seen"
    broken = two.broken_rules()
    assert not broken, f"[R7] every rule of the data sheet: {broken}"
    memory = int(two.say("awk '/MemTotal/ {print $2}' /proc/meminfo")) >> 10
    assert memory > 400, f"[R10] a station with more memory than a card can address: {memory} MiB"


# ---- shelf ------------------------------------------------------------------------------------


@milestone("shelf", weight=1, requires=["boots"], proves=["R17"], title="The shelves")
def test_each_card_keeps_its_own_shelf(two, story, nonce):
    story.shelves = single.put_on_shelves(two, nonce)
    last = two.say(f"printf A | kvarn -c {two.slots[0]} put 1023; "
                   f"kvarn -c {two.slots[0]} get 1023 1")  # fmt: skip
    assert last == "A", f"[R17] the first 1024 bytes: the last of them is {last!r}"
    single.on_shelves(two, story.shelves)


@check("shelf", proves=["R17"])
def test_work_leaves_the_shelves_alone(two, story, nonce):
    for slot in two.slots:
        two.say(f"{make_text(nonce(), 200)} | kvarn -c {slot} copy | tail -n 1; kvarn fact 9", 120)
    assert story.shelves, "[R17] nothing could be put on a shelf"
    single.on_shelves(two, story.shelves)


@check("shelf", proves=["R19"])
def test_what_is_not_on_the_shelf_is_refused(two):
    single.shelf_requests(two)


# ---- together ---------------------------------------------------------------------------------


@milestone("together", weight=2, requires=["boots"], proves=["R20"], title="Many jobs at once")
def test_32_jobs_of_all_kinds(two, nonce):
    crowds.all_kinds(two, nonce)


@check("together", proves=["R20"])
def test_the_cards_share_the_work(two):
    crowds.shared_out(two)


@check("together", proves=["R21"])
def test_the_units_do_not_wait_for_each_other(two):
    crowds.units_do_not_wait(two)


@check("together", proves=["R21"])
def test_a_long_copy_holds_up_nobody(two, nonce):
    crowds.short_before_long(two, nonce)


# ---- library ----------------------------------------------------------------------------------


@milestone("library", weight=1, requires=["boots"], proves=["R4"], title="The library")
def test_a_technicians_program(two, story, nonce):
    word = nonce()
    library.a_tour(two, word)
    story.shelves[two.slots[1]] = (700, word)


@check("library", proves=["R25"])
def test_header_and_library_are_what_was_asked_for(two):
    library.header_and_tool(two)


@check("library", proves=["R26"])
def test_threads_share_a_handle(two, nonce):
    library.threads(two, nonce())


@check("library", proves=["R27"])
def test_bad_requests_of_programs(two):
    library.bad_requests(two)


# ---- suspended --------------------------------------------------------------------------------


@milestone("suspended", weight=2, requires=["boots"], proves=["R22"],
           title="Suspended, killed and disturbed jobs")  # fmt: skip
def test_a_suspended_copy_holds_up_nobody(two, nonce):
    crowds.a_stopped_copy(two, nonce)


@check("suspended", proves=["R22"])
def test_a_suspended_calculation_ends_right(two):
    crowds.a_stopped_calculation(two)


@check("suspended", proves=["R23"])
def test_a_killed_calculation_spoils_nothing(two):
    crowds.a_killed_calculation(two)


@check("suspended", proves=["R23"])
def test_killed_copies_spoil_nothing(two, nonce):
    crowds.killed_copies(two, nonce)


# ---- pings ------------------------------------------------------------------------------------


@milestone("pings", weight=1, requires=["boots"], proves=["R18"], title="Causes raised by hand")
def test_a_ping_comes_back(two):
    crowds.a_ping(two)


@check("pings", proves=["R24"])
def test_pings_harm_no_job(two, nonce):
    crowds.pings_during_work(two, nonce)


# ---- reload -----------------------------------------------------------------------------------


@milestone("reload", weight=1, requires=["boots"], proves=["R28"], title="Drivers that go")
def test_the_driver_is_not_taken_from_a_job(two):
    leaving.not_from_a_job(two)


@check("reload", proves=["R28"])
def test_an_idle_handle_does_not_hold_the_driver(two):
    leaving.an_idle_handle(two)


@check("reload", proves=["R31"])
def test_a_driver_that_finds_the_card_calculating(two):
    leaving.still_calculating(two)


# ---- leaves -----------------------------------------------------------------------------------


@milestone("leaves", weight=2, requires=["boots"], proves=["R29"], title="Cards that go")
def test_a_card_is_taken_from_the_driver(two, nonce):
    leaving.unbound(two, nonce)


@check("leaves", proves=["R11", "R30"])
def test_a_card_is_removed_and_found_again(two, nonce):
    leaving.removed(two, nonce)


# ---- package ----------------------------------------------------------------------------------


@milestone("package", weight=2, requires=["boots"], proves=["R34"], title="Packages")
def test_every_file_belongs_to_a_package(two):
    packages.every_file(two)


@check("package", proves=["R34"])
def test_purged_and_installed_again(two):
    packages.purged_and_installed(two)


# ---- absent -----------------------------------------------------------------------------------


@milestone("absent", weight=2, requires=["boots"], proves=["R33"], title="Cards that are not there")
def test_without_a_card(none, story):
    none.start()
    none.come_up()
    listed = none.say("kvarn list")
    assert listed == "", f"[R33] `kvarn list` prints nothing: {listed!r}"
    word, card = secrets.token_hex(4), "-c 0000:00:05.0"
    for command in (f"alive {word}", "fact 3", "copy", f"{card} fact 3", f"{card} put 0",
                    f"{card} get 0 4", f"{card} ping {word}"):  # fmt: skip
        status = none.anna_status(f"echo {word} | kvarn {command} >/dev/null 2>&1")
        assert status == NO_CARD, f"[R33] ends with status 3: `kvarn {command}`: {status}"
    status = none.anna_status("kvarn fact x 2>/dev/null")
    assert status == BAD, f"[R19] a bad request, 2: status {status}"
    story.complaints += none.complaints()


@check("absent", proves=["R5"])
def test_the_driver_is_not_loaded_without_a_card(none):
    loaded = none.status("test -d /sys/module/kvarn") == 0
    assert not loaded, "[R5] where there is no card it is not loaded: it is"
    left = none.say("ls -d /dev/kvarn* 2>/dev/null; :")
    assert left == "", f"[R33] a node where there is no card: {left}"
    none.machine.power_cut()


@check("absent", proves=["R2", "R33"])
def test_one_card_in_another_slot(one, nonce):
    one.start()
    one.come_up()
    leaving.all_there(one)
    n, word, mark = secrets.randbelow(30), nonce(), one.bus.mark()
    said = one.anna(f"kvarn fact {n}; {make_text(word, 90)} | kvarn copy | sha256sum").split()[:2]
    wanted = [str(factorial(n)), sha(text(word, 90))]
    assert said == wanted, f"[R33] in any slots, also behind a bridge: {said} instead of {wanted}"
    seen = one.bus.since(mark)
    begun = [a.value for a in bus.writes(seen, bus.OPERAND)]
    assert begun == [n] and bus.transfers(seen), f"[R15, R16] by a card: it began {begun}"


@check("absent", proves=["R19"])
def test_the_card_that_is_not_there(one, two):
    mark = one.bus.mark()
    for command in ("alive 00000000", "fact 3"):
        status = one.status(f"kvarn -c {two.slots[0]} {command} 2>/dev/null")
        assert status == NO_CARD, f"[R19] not that card, 3: `{command}`: {status}"
    reached = bus.orders(one.bus.since(mark))
    assert not reached, f"[R19] the other card did it: {reached[:3]}"


# ---- restart ----------------------------------------------------------------------------------


@milestone("restart", weight=2, requires=["boots"], proves=["R32"], title="What a card keeps")
def test_shelves_outlive_the_driver(two, story):
    assert story.shelves, "[R17] nothing could be put on a shelf"
    two.say("rmmod kvarn; modprobe kvarn; udevadm settle")
    single.on_shelves(two, story.shelves)


@check("restart", proves=["R32", "R5", "R11"])
def test_shelves_outlive_a_warm_restart(two, story, nonce):
    story.complaints += two.complaints()
    taints = two.taints()
    assert taints == 0, f"[R6] tainted for no other reason: {taints:#x}"
    shelves = single.put_on_shelves(two, nonce)
    two.machine.reboot()
    two.come_up()
    leaving.all_there(two)
    single.on_shelves(two, shelves)
    said = two.anna("kvarn fact 8")
    assert said == "40320", f"[R5] at the start, by itself: 8! is {said!r}"


@check("restart", proves=["R32"])
def test_after_power_on_the_shelf_is_empty(one):
    mark, card = one.bus.mark(), f"kvarn -c {one.slots[0]}"
    said = one.say(f"{card} get 0 1024 | sha256sum")
    assert said.split()[0] == sha(bytes(1024)), "[R32] after power-on it is zeros: it is not"
    read = sum(t.count for t in bus.transfers(one.bus.since(mark)) if not t.to_store)
    assert read >= 1024, f"[R17] prints what is there: {read} of 1024 bytes came from the store"
    said = one.say(f"printf full | {card} put 9; {card} get 9 4")
    assert said == "full", f"[R17] put and get: {said!r}"


# ---- quiet ------------------------------------------------------------------------------------


@milestone("quiet", weight=2, requires=["boots"], proves=["R6"], title="Nothing to complain about")
def test_kernel_logs_are_clean(two, one, story):
    found = [*story.complaints, *two.complaints(), *one.complaints()]
    assert not found, f"[R6] the kernel's log stays clean: {found[:5]}"
    taints = two.taints() | one.taints()
    assert taints == 0, f"[R6] tainted for no other reason: {taints:#x}"


@check("quiet", proves=["R7"])
def test_analysers_saw_no_rule_broken(two, none, one):
    seen = len(two.bus.all())
    assert seen > 2000, f"nothing to judge: of all that was asked the cards saw {seen} accesses"
    for unit in (two, one, none):
        broken = unit.broken_rules()
        assert not broken, f"[R7] every rule of the data sheet: {broken}"


@check("quiet", proves=["R8"])
def test_cards_were_asked_seldom(two, metric):
    seen = two.bus.all()
    work = len(bus.transfers(seen)) + len(bus.writes(seen, bus.OPERAND))
    metric("accesses", len(seen))
    metric("transfers", len(bus.transfers(seen)))
    asked = bus.questions(seen)
    assert asked <= 2 * work + 64, f"[R8] at most two reads each: {asked} for {work} operations"
