"""smallest-kernel: does the kernel run what it is given, and in how few bytes?"""

from __future__ import annotations

import calendar
import re
import time

import disks
import draws
import night
import peers
import power
import shows
import users
from draws import CALLS, FILES
from initramfs import SHOWS
from power import in_order, mounted
from terminal import after_key, lines, state
from unit import KERNEL, MOST_BYTES, OFF, PAR, cards, leased, pinged

from benchflow.boot import Disk, Image, check, milestone

#: The word, but not that of the command line.
PANIC = "(?i:panic)[^=]"


@milestone("starts", weight=2, proves=["R1"], title="It starts what the loader gives it")
def test_the_file_fits_into_the_partition(deliverable):
    size = deliverable(KERNEL).stat().st_size
    assert size <= MOST_BYTES, f"{size} bytes; the partition has {MOST_BYTES} [R1]"


@check("starts", proves=["R2"])
def test_the_first_program_of_a_packed_initramfs_runs(main):
    main.switch_on().speaks("[R2] of an initramfs packed by gzip")


@check("starts", proves=["R1", "R2"])
def test_a_large_plain_initramfs_and_long_words(starts, rng):
    unit = starts(packed=False, cpus=1, memory_mb=rng.randrange(128, 160), most=True)
    unit.switch_on().speaks("[R2] of an initramfs that is not packed")
    given, kept = unit.up().say("cat /proc/cmdline"), unit.say(SHOWS)
    assert given == unit.append, f"/proc/cmdline is {given!r}, not {unit.append!r} [R2]"
    assert kept == unit.kept.due, f"{kept!r}, not {unit.kept.due!r} [R2]"
    unit.off()


@milestone("console", weight=1, requires=["starts"], proves=["R3"],
           title="The serial line is a terminal")  # fmt: skip
def test_a_shell_answers(unit, rng):
    word = draws.word(rng)
    assert unit.say(f"echo {word} | tr a-z A-Z") == word.upper(), "no shell answers [R3]"


@check("console", proves=["R3"])
def test_ctrl_c_ends_a_program(unit):
    status = after_key(unit, "sleep 987", "\x03")
    assert status == 130, f"status {status} of a program after Ctrl-C, not 130 [R3]"
    assert "sleep 987" not in unit.say("ps"), "the program goes on after Ctrl-C [R3]"


@check("console", proves=["R3"])
def test_ctrl_z_stops_a_program_and_it_goes_on(unit):
    status = after_key(unit, "sleep 986", "\x1a")
    assert status in (146, 147, 148), f"status {status} of a program after Ctrl-Z, not 148 [R3]"
    number = unit.say("pidof sleep").split()[0]
    assert state(unit, number) == "T", "after Ctrl-Z the program is not stopped [R3]"
    unit.machine.send(" bg %1\n")
    unit.until(lambda: state(unit, number) == "S", 10, "program that goes on after bg [R3]")
    unit.say(f"kill {number}")


@check("console", proves=["R3"])
def test_lines_and_keys(unit, rng):
    for part in lines(unit, rng):
        assert part[0] == part[1], f"{part[2]}: {part[0]!r}, not {part[1]!r} [R3]"


@milestone("programs", weight=2, requires=["starts"], proves=["R4"], title="Programs and scripts")
def test_scripts_are_run_by_what_they_name(unit, rng):
    a, b = draws.word(rng), draws.word(rng)
    unit.write("/tmp/outer", f"#!/tmp/inner {a}\nnot to be run\n")
    unit.write("/tmp/inner", "#!/bin/sh\necho $# $1 $2 $3\n")
    said = unit.say(f"chmod 755 /tmp/outer /tmp/inner; /tmp/outer {b}")
    assert said == f"3 {a} /tmp/outer {b}", f"a script of a script: {said!r} [R4]"


@check("programs", proves=["R4"])
def test_programs_that_may_lie_anywhere(unit, seeds):
    unit.probe("threads", seeds(), "[R4] of a static-pie", program="probe-pie")


@check("programs", proves=["R4"])
def test_a_pipeline_of_many_programs(unit, rng):
    many = rng.randrange(2000, 4000)
    said = unit.say(
        f"seq {many} | sed s/7/x/g | grep -v x | sort -r | awk '{{s+=$1}}END{{print s}}'"
    )
    due = sum(n for n in range(1, many + 1) if "7" not in str(n))
    assert said == str(due), f"{said!r}, not {due} [R4]"


@check("programs", proves=["R6"])
def test_what_is_mounted_can_be_read(unit):
    kept = "grep -c ' /tmp tmpfs ' /proc/mounts"
    own = unit.say(f"cat /proc/self/comm; ls /sys/class /dev | grep -c .; {kept}")
    said = own.split()
    assert said[0] == "cat" and int(said[1]) > 8 and said[2] == "1", f"{said} [R6]"
    for device, due in (("/dev/zero", "00"), ("/dev/null", "")):
        assert unit.say(f"head -c 1 {device} | xxd -p") == due, f"{device} [R6]"


@check("programs", proves=["R6"])
def test_busybox_reads_what_it_shows(unit, rng):
    name = draws.word(rng)
    said = unit.say(
        f"sysctl -w kernel.hostname={name} >/dev/null; sysctl -n kernel.hostname; hostname"
    )
    assert said.split() == [name, name], f"sysctl kernel.hostname={name}: {said!r} [R6]"
    missing = shows.shows(unit, rng)
    assert not missing, f"BusyBox's {missing} [R6]"


@milestone("calls", weight=3, requires=["starts"], proves=["R5"],
           title="What programs ask of a kernel")  # fmt: skip
def test_threads_events_and_timers(unit, seeds):
    for part in (*CALLS, "times"):
        unit.probe(part, seeds(), "[R5]")


@check("calls", proves=["R5"])
def test_sockets_memory_and_files(unit, seeds):
    for part in FILES:
        unit.probe(part, seeds(), "[R5]")


@milestone("users", weight=2, requires=["starts"], proves=["R7"],
           title="Users are kept from each other")  # fmt: skip
def test_a_user_does_what_is_allowed(unit, rng):
    said = users.could(unit, rng)[0]
    good = len(said) == users.ALLOWED and set(said.values()) == {"done"}
    assert good, f"what a user may do: {said} [R7]"


@check("users", proves=["R7"])
def test_a_user_does_not_do_what_is_not(unit, rng):
    said = users.could(unit, rng)[1]
    wrong = users.wrong(said)
    assert len(said) == users.DENIED and not wrong, f"what a user may not do: {wrong or said} [R7]"


@check("users", proves=["R7"])
def test_a_program_with_the_bit_runs_as_its_owner(unit, rng):
    uid, whose = rng.randrange(1000, 9000), rng.randrange(10_000, 60_000)
    unit.say(f"cp /init /tmp/id && chown {whose}:0 /tmp/id && chmod 4755 /tmp/id")
    said = unit.say(f"probe as {uid} /tmp/id ids; chmod 755 /tmp/id; probe as {uid} /tmp/id ids")
    assert said.split() == [str(uid), str(whose), str(uid), str(uid)], f"{said!r} [R7]"


@milestone("narrow", weight=1, requires=["starts"], proves=["R8"], title="32-bit programs run")
def test_programs_of_32_bits(unit, seeds):
    assert unit.say("xxd -s 4 -l 1 -p /bin/probe32") == "01"
    for part in ("threads", "unix", "mapped", "shared", "eventfd", "old"):
        unit.probe(part, seeds(), "[R8]", program="probe32")


@check("narrow", proves=["R8"])
def test_more_calls_of_32_bits(unit, seeds):
    for part in (*CALLS, *FILES, "times"):
        unit.probe(part, seeds(), "[R8]", program="probe32")


@check("narrow", proves=["R7", "R8"])
def test_users_of_32_bits(unit, rng):
    allowed, kept = users.could(unit, rng, "probe32")
    assert set(allowed.values()) == {"done"}, f"what a user of 32 bits may do: {allowed} [R8]"
    wrong = users.wrong(kept)
    assert len(kept) == users.DENIED and not wrong, f"of 32 bits: {wrong or kept} [R7] [R8]"


@milestone("processors", weight=2, requires=["starts"], proves=["R9"],
           title="All of the machine is used")  # fmt: skip
def test_two_processors_work_side_by_side(unit, seeds):
    unit.probe("both", seeds(), "[R9] on two processors", seconds=90)
    unit.probe("balance", seeds(), "[R9] wherever they began", seconds=90)


@check("processors", proves=["R10"])
def test_all_memory_is_there(unit, seeds):
    seed, megabytes = seeds(), unit.megabytes * 88 // 100
    said = unit.say(f"probe memory {seed} {megabytes}", 240)
    due = f"memory {draws.total(draws.first(seed, megabytes * 256))}"
    assert said == due, f"{megabytes} of {unit.megabytes} MiB: {said[:200]!r} [R10]"


@milestone("clock", weight=1, requires=["starts"], proves=["R11"], title="It knows the time")
def test_the_date_is_the_boards(main):
    main.off()
    early = time.time()
    main.switch_on().speaks().up()
    late = time.time()
    base = calendar.timegm(time.strptime(main.when, "%Y-%m-%dT%H:%M:%S"))
    before = time.time()
    said = int(main.say("date +%s"))
    least, most = base + before - late - 4, base + time.time() - early + 4
    assert least <= said <= most, f"{said}, not within {least:.0f} and {most:.0f} [R11]"


@check("clock", proves=["R11"])
def test_its_seconds_are_as_long_as_ours(unit):
    early, (first, late) = time.monotonic(), (uptime(unit), time.monotonic())
    time.sleep(12)
    before, (last, after) = time.monotonic(), (uptime(unit), time.monotonic())
    least, most = (before - late) * 0.9 - 0.1, (after - early) * 1.1 + 0.1
    assert least <= last - first <= most, f"{last - first:.1f} s of {before - early:.1f} [R11]"


def uptime(unit) -> float:
    return float(unit.say("cut -d' ' -f1 /proc/uptime"))


@check("clock", proves=["R12"])
def test_chance_differs_between_starts(unit, starts):
    seen = unit.say("probe chance")
    other = starts(cpus=2).up()
    seen += "\n" + other.say("probe chance")
    other.off()
    values = [line.split()[-1] for line in seen.splitlines()]
    assert len(values) == 8 and len(set(values)) == 8, f"{seen!r} [R12]"


@check("clock", proves=["R12"])
def test_hwrng_has_the_units_entropy(starts, work, rng):
    source = work / "entropy"
    source.write_bytes(rng.randbytes(1 << 20))
    unit = starts(entropy=source).up()
    said = bytes.fromhex(unit.say("dd if=/dev/hwrng bs=16 count=1 2>/dev/null | xxd -p"))
    unit.off()
    assert len(said) == 16 and said in source.read_bytes(), f"{said.hex()} is not of it [R12]"


@milestone("disks", weight=1, requires=["starts"], proves=["R13"],
           title="Disks and their partitions")  # fmt: skip
def test_what_is_on_the_partitions(unit, drawn):
    for path, at, due in drawn.places:
        said = unit.say(f"dd if={path} bs=512 skip={at} count=8 2>/dev/null | md5sum").split()
        assert said[:1] == [due], f"{path}, sector {at}: other bytes than were there [R13]"


@check("disks", proves=["R13"])
def test_what_is_written_is_on_the_disk(unit, drawn, rng):
    for device, disk, number, part in (("vda", drawn.gpt, 0, "3"), ("vdb", drawn.mbr, 1, "6")):
        first, sectors = disk.parts[part]
        word, at = draws.word(rng, 40), rng.randrange(sectors)
        unit.say(f"echo {word} | dd of=/dev/{device}{part} bs=512 seek={at} conv=sync,fsync")
        copy = unit.machine.flatten(number)
        found = Image(copy).bytes_at((first + at) * 512, 40)
        copy.unlink()
        assert found == word.encode(), f"{device}{part}, sector {at}: {found!r} [R13]"


@milestone("files", weight=2, requires=["disks"], proves=["R14"], title="ext4 is read and written")
def test_files_are_as_they_were_made(unit, drawn):
    mounted(unit, "/dev/vda2")
    for path, due in drawn.files.items():
        said = unit.say(f"md5sum </mnt/'{path}'", 60).split()
        assert said[:1] == [due], f"{path!r} has other content [R14]"


@check("files", proves=["R14"])
def test_rights_and_attributes_outlast_a_start(main, rng):
    unit = main.up()
    mounted(unit, "/dev/vda2")
    name, value, uid = draws.strange_name(rng), draws.word(rng), rng.randrange(1000, 30_000)
    unit.say(f"probe attributes /mnt/'{name}' {value} {uid}")
    unit.say(f"mkdir /mnt/'{name}.d' && mv /mnt/'{name}' /mnt/'{name}.in' "
             f"/mnt/'{name}.d/' && umount /mnt && sync")  # fmt: skip
    unit.off()
    mounted(unit.up(), "/dev/vda2")
    said = unit.say(f"probe rights /mnt/'{name}.d/{name}' {uid}").split()
    long = 800 - len(f"/mnt/{name}".encode()) % 9
    due = [f"user.drawn={value}", f"trusted.drawn={value}", f"long={long}", f"same={long}",
           "read=done", "write=EACCES", "read=EACCES", "write=EACCES",
           "read=done", "write=done", "read=EACCES", "write=EACCES"]  # fmt: skip
    assert said == due, f"{said}, not {due} [R14]"


@check("files", proves=["R14"])
def test_files_that_are_far_or_mapped(unit, rng, seeds):
    mounted(unit, "/dev/vda2")
    word, far, long = draws.word(rng, 40), rng.randrange(5 << 20, 12 << 20), draws.word(rng, 251)
    unit.say(f"echo {word} | dd of=/mnt/{long} bs=1024 seek={far} conv=notrunc && "
             f"ln -s /mnt/{long} /mnt/{word} && umount /mnt")  # fmt: skip
    mounted(unit, "/dev/vda2")
    said = unit.say(f"dd if=/mnt/{word} bs=1024 skip={far} 2>/dev/null; du -k /mnt/{long}").split()
    assert said[0] == word and int(said[1]) < 200, f"{far} KiB into a file: {said} [R14]"
    for part in ("mapped", "inotify", "locks", "ranges", "watches"):
        unit.probe(part, seeds(), "[R5] [R14] of files on a disk", program="PLACE=/mnt probe")


@check("files", proves=["R14"])
def test_the_file_system_is_in_order(unit, drawn, rng):
    mounted(unit, "/dev/vda2")
    name, many = draws.strange_name(rng), rng.randrange(200, 400)
    unit.say(f"mkdir /mnt/'{name}' && cd /mnt/'{name}' && for n in $(seq {many}); do echo $n >$n; "
             "done; rm 1?; ln 2 two; cd / && umount /mnt && sync", 120)  # fmt: skip
    copy = unit.machine.flatten(0)
    disk = Image(copy)
    problems, files = in_order(disk, disk.partition(2)), disk.ext4(disk.partition(2))
    assert not problems, f"e2fsck: {problems[:300]} [R14]"
    left = {str(n) for n in range(1, many + 1) if not 10 <= n <= 19} | {"two"}
    assert set(files.listdir(f"/{name}")) == left, "other files than were left [R14]"
    copy.unlink()


@milestone("power-cut", weight=2, requires=["files"], proves=["R15"],
           title="What was safe is there after a power cut")  # fmt: skip
def test_safe_records_are_there(starts, work, rng, seeds):
    power.safe(starts(name="cut", cpus=2, disks=[Disk(disks.ext4(work / "cut.img", 600))]),
               seeds(), rng)  # fmt: skip


@check("power-cut", proves=["R15"])
def test_what_was_removed_does_not_come_back(starts, work, seeds):
    power.used_again(starts(cpus=2, disks=[Disk(disks.ext4(work / "again.img", 24))]), seeds())


@milestone("network", weight=3, requires=["programs"], proves=["R16"],
           title="Two networks")  # fmt: skip
def test_an_address_by_dhcp(unit, net):
    said = leased(unit, net)
    assert said, f"{said!r} [R16]"


@check("network", proves=["R16"])
def test_tcp_both_ways(unit, net, loopback, rng, seeds):
    leased(unit, net)
    seed, many = seeds(), rng.randrange(20_000, 60_000)
    said = unit.say(f"probe calls {seed} {net.host} {loopback.tcp} {many}", 120)
    sent = b"".join(value.to_bytes(8, "little") for value in draws.first(seed, many))
    assert said.split()[:1] == [draws.total(sent)], f"from the unit: {said!r} [R16]"
    unit.say(f"probe serves {net.port} 2 >/dev/null 2>&1 &")
    listens = f"netstat -ltn | grep -q :{net.port}"
    unit.until(lambda: unit.code(listens) == 0, 20, "server that listens [R16]")
    for size in (rng.randrange(1, 2000), rng.randrange(200_000, 500_000)):
        data = rng.randbytes(size)
        said = peers.ask(unit.machine.forward(net.port), data, 120)
        assert said == draws.total(data), f"{size} bytes to the unit: {said!r} [R16]"


@check("network", proves=["R16"])
def test_udp(unit, net, loopback, rng):
    leased(unit, net)
    for program, size in (("probe", 1), ("probe32", 700), ("probe", rng.randrange(1800, 1990))):
        word = draws.word(rng, size)
        said = unit.say(f"{program} asks {net.host} {loopback.udp} {word}")
        assert said == word[::-1], f"{size} bytes by UDP: {said[:100]!r} [R16]"
    missing = shows.shows_of_networks(unit, net, rng)
    assert not missing, f"BusyBox's {missing} [R6]"


@check("network", proves=["R16"])
def test_tcp_on_a_line_that_loses(unit, neighbour, rng, seeds):
    name, there = cards(unit)[unit.six], neighbour.four
    unit.say(f"ifconfig {name} {neighbour.guest_four} netmask 255.255.255.0 up")
    for program in ("probe", "probe32"):
        seed, many = seeds(), rng.randrange(1500, 3000)
        said = unit.say(f"{program} calls {seed} {there.address} {there.port} {many}", 240)
        sent = b"".join(value.to_bytes(8, "little") for value in draws.first(seed, many))
        assert said == draws.total(sent), f"{there.lost} frames were lost: {said!r} [R16]"


@check("network", proves=["R17"])
def test_ipv6_on_the_other_card(unit, neighbour, rng):
    name = cards(unit)[unit.six]
    unit.say(f"ip link set {name} up; ip -6 addr replace {neighbour.guest}/64 dev {name}")
    pinged(unit, neighbour.address)
    assert neighbour.pings, "no ping came [R17]"
    for size in (3, 1100):
        word = draws.word(rng, size)
        got = unit.say(f"probe asks {neighbour.address} {neighbour.port} {word}")
        assert got == word[::-1], f"UDP over IPv6: {got[:100]!r} [R17]"


@check("network", proves=["R17"])
def test_who_asks_by_ipv6_is_answered(unit, neighbour, rng):
    name, port = cards(unit)[unit.six], rng.randrange(1024, 60_000)
    unit.say(f"ip link set {name} up; ip -6 addr replace {neighbour.guest}/64 dev {name}")
    found = neighbour.finds_guest(20)
    assert found == unit.six, f"{found!r} is the neighbour that was asked for, not {unit.six} [R17]"
    for size in (20, 1000):
        data = rng.randbytes(size)
        assert neighbour.pings_guest(data, 20) == data, f"no answer to a ping of {size} bytes [R17]"
    unit.say(f"probe turns {port} >/dev/null 2>&1 &")
    data = rng.randbytes(600)
    assert neighbour.asks_guest(port, data, 20) == data[::-1], "UDP to the unit by IPv6 [R17]"


@check("network", proves=["R17"])
def test_ipv6_on_the_first_card(unit, net):
    name = cards(unit)[net.mac]
    unit.say(f"ip link set {name} up; ip -6 addr replace {net.six}77/64 dev {name}")
    pinged(unit, f"{net.six}2")


# -- ends -----------------------------------------------------------------------------------------


@milestone("ends", weight=2, requires=["starts"], proves=["R21"],
           title="Off, again, stuck and dead")  # fmt: skip
def test_poweroff_switches_it_off(starts):
    for cpus in (1, 2):
        unit = starts(cpus=cpus).up()
        unit.machine.shell.leave("poweroff -f")
        unit.goes_off(OFF, f"after poweroff -f, of {cpus} processors [R21]")


@check("ends", proves=["R21"])
def test_reboot_starts_it_again(starts, rng):
    unit = starts(cpus=rng.choice((1, 2))).up()
    unit.listen_from_now()
    unit.machine.shell.leave("reboot -f")
    unit.restarts(OFF, "after reboot -f [R21]")
    unit.speaks("[R21] after reboot -f")
    unit.off()


@check("ends", proves=["R18", "R19"])
def test_a_damaged_initramfs_is_said_and_it_starts_again(starts, rng):
    for packed, seconds in ((True, rng.randrange(3, 9)), (False, 0)):
        words = f"panic={seconds}" if seconds else ""
        unit = starts(words, hurt=True, packed=packed).switch_on()
        unit.hears(PANIC, 60, "[R18] of a damaged initramfs")
        unit.after_panic(seconds)
        assert unit.first_words not in unit.text, "a damaged initramfs was run [R18]"
        unit.off()


@check("ends", proves=["R18", "R19"])
def test_the_end_of_the_first_program(starts, rng):
    for seconds in (0, rng.randrange(3, 9)):
        end = rng.choice(("now", "fault"))
        words = f"panic={seconds} ends={end}" if seconds else f"ends={end}"
        unit = starts(words, cpus=rng.choice((1, 2))).switch_on().speaks()
        before, _, _ = unit.text.partition(unit.first_words)
        said = re.search(PANIC, before)
        assert not said, f"a panic in a start that is well [R18]: {before[-300:]!r}"
        after = rf"{re.escape(unit.first_words)}[\s\S]*{PANIC}"
        unit.hears(after, 30, "[R18] when the first program has ended")
        unit.after_panic(seconds)
        unit.off()


@check("ends", proves=["R20"])
def test_the_watchdog(starts, rng):
    unit, seconds = starts(cpus=1).up(), rng.randrange(10, 30)
    unit.say(f"watchdog -t 1 -T {seconds} /dev/watchdog; sleep 1; pidof watchdog")
    unit.stands(seconds + 5, "while its watchdog is fed [R20]")
    unit.say("kill -9 $(pidof watchdog)")
    took = unit.restarts(seconds + OFF, "when its watchdog is not fed [R20]")
    assert took >= seconds - 2.5, f"it restarted {took:.1f} s after its end, not {seconds} [R20]"
    unit.off()


@milestone("pressure", weight=3, requires=["files", "network", "calls", "narrow"], proves=["R22"],
           title="Everything at once, and no memory left")  # fmt: skip
def test_a_program_that_takes_all_memory_is_ended(starts, rng, seeds):
    unit = starts(memory_mb=rng.randrange(150, 200), cpus=2).up()
    for _ in range(2):
        status = unit.code("probe hog >/dev/null 2>&1", 200)
        assert night.stopped(status), f"a program that takes all memory: status {status} [R22]"
        unit.probe("shared", seeds(), "[R22] afterwards")
    unit.off()


@check("pressure", proves=["R22", "R23"])
def test_everything_at_once(starts, work, rng, net, loopback):
    night.everything(starts, disks.ext4(work / "night.img", 64), rng, net, loopback, CALLS + FILES)


# -- size -----------------------------------------------------------------------------------------


@milestone(
    "within-2",
    weight=2,
    requires=["console", "users", "processors", "clock", "power-cut", "ends", "pressure"],
    proves=["R24"],
    title="Within 2 times par",
)
def test_the_kernel_is_within_2_times_par(size):
    assert size <= 2 * PAR, f"{size} bytes; 2 times par are {2 * PAR} [R24]"


@milestone("within-par", weight=3, requires=["within-2"], proves=["R24"],
           title="Within 1.25 times par")  # fmt: skip
def test_the_kernel_is_within_1_25_times_par(size):
    assert size <= int(1.25 * PAR), f"{size} bytes; 1.25 times par are {int(1.25 * PAR)} [R24]"
