"""The questions that the medium has to answer, in seven starts of six PCs (see conftest.py)."""

from __future__ import annotations

import re
import secrets
import time

import pytest
from inside import (
    ATTEMPTS,
    CMDLINES,
    ELSEWHERE,
    JOBS,
    KILLS,
    LISTENING,
    OUTSIDE,
    PRESS_KEYS,
    SYSTEM,
    WALL_SHA256,
    bright,
    day,
    keysym,
    screen,
)
from keys import NAME, WORD
from medium import SUMS
from pc import PASSWORD, START_SECONDS
from wire import dhcp_options

from benchflow.boot import Image, LoginFailed, check, milestone
from conftest import CLOCK_EPOCH, DAMAGED, RESCUED

SIZE_MB = 260


# ---- medium -----------------------------------------------------------------------------------


@milestone("medium", weight=1, proves=["R1"], title="A medium of the right form")
def test_it_is_the_volume_asked_for(medium, metric):
    metric("iso_mb", round(medium.size / (1 << 20), 1))
    assert medium.volume() == "EXPO_WALL_41", f"the volume is called {medium.volume()!r}"
    assert medium.size <= SIZE_MB << 20, f"{medium.size >> 20} MiB, {SIZE_MB} are allowed"


@check("medium", proves=["R1", "R3"])
def test_it_holds_one_system_file(medium, image):
    names = {entry.path for entry in image().iso().walk("/") if entry.kind == "file"}
    assert names == set(medium.files), "the ISO's trees do not agree"
    system = medium.system()
    with medium.path.open("rb") as file:
        file.seek(system[0].start)
        assert file.read(4) == b"hsqs", "the system file is no squashfs"
    assert [name for name in names if name.endswith(".squashfs")] == ["/live/filesystem.squashfs"]


@check("medium", proves=["R2"])
def test_the_list_names_every_file_once(medium):
    names = [name for name, _ in medium.listed()]
    assert len(names) == len(set(names)), "a name stands there twice"
    missing = sorted(set(medium.files) - {SUMS} - set(names))
    assert not missing, f"{len(missing)} files are not in the list, {missing[0]} for one"
    too_many = sorted(set(names) - set(medium.files) | ({SUMS} & set(names)))
    assert not too_many, f"{too_many[0]} should not be in the list"


@check("medium", proves=["R2"])
def test_every_file_is_as_the_list_says(medium):
    wrong = [
        name for name, wanted in medium.listed()
        if name not in medium.files or medium.sum_of(name) != wanted
    ]  # fmt: skip
    assert not wrong, f"{len(wrong)} files differ from their sum, {wrong[0]} for one"


@check("medium", proves=["R16"])
def test_the_password_is_not_on_it(medium):
    assert not medium.holds(PASSWORD.encode()), "the password stands on the medium"


# ---- bios -------------------------------------------------------------------------------------


@milestone("bios", weight=2, requires=["medium"], proves=["R5"], title="Starts by BIOS")
def test_it_starts_unattended_from_the_drive(lent, metric):
    metric("start_seconds", round(lent.start_seconds, 1))
    assert lent.start_seconds <= START_SECONDS, f"it took {lent.start_seconds:.0f} s"


@check("bios", proves=["R16"])
def test_root_logs_in_with_the_password(lent):
    assert lent.say("id -u") == "0"
    assert lent.say("cat /proc/1/comm") == "systemd"


@check("bios", proves=["R5"])
def test_no_unit_failed(lent, story):
    story.system = {name: lent.say(line, 90) for name, line in SYSTEM.items()}
    assert story.system["failed"] == "0", "units failed"


@check("bios", proves=["R16"])
def test_nobody_else_has_a_password(lent):
    said = lent.say("awk -F: '$2 !~ /^[!*]/ {print $1, length($2)}' /etc/shadow").split()
    assert len(said) == 2 and said[0] == "root", f"accounts with a password: {said[::2]}"
    assert lent.say(f"grep -rIl {PASSWORD[:5]}-{PASSWORD[6:]} /etc /root /var; :", 120) == ""


@check("bios", proves=["R6"])
def test_the_menu_was_on_the_serial_port(lent):
    printed = lent.printed()
    titles = set(re.findall(r"Expo Wall 4\.1(?: rescue)?(?= *(?:\n|$|\W))", printed))
    assert {"Expo Wall 4.1", "Expo Wall 4.1 rescue"} <= titles, f"the menu shows {titles}"


# ---- brand ------------------------------------------------------------------------------------


@milestone("brand", weight=1, requires=["bios"], proves=["R9"], title="The customer's name")
def test_os_release_and_host_name(lent):
    text = lent.say("cat /etc/os-release")
    lines = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    wanted = {
        "NAME": "Expo Wall", "PRETTY_NAME": "Expo Wall 4.1", "ID": "expo-wall",
        "ID_LIKE": "debian", "VERSION_ID": "4.1", "BUILD_ID": "EW-2291",
    }  # fmt: skip
    assert {key: lines.get(key, "").strip("\"'") for key in wanted} == wanted
    assert lent.say("uname -n") == "expo-wall"


@check("brand", proves=["R10"])
def test_the_greeting(lent):
    printed = lent.printed()
    before = printed[: printed.find("login:")]
    assert "Expo Wall 4.1 (EW-2291)" in before, "the name does not stand above the login"
    assert "debian" not in before.lower(), "Debian is named before the login"


# ---- wall -------------------------------------------------------------------------------------


@milestone("wall", weight=2, requires=["bios"], proves=["R20"], title="The wall is up")
def test_it_works_without_a_disk_of_ours(lent):
    assert lent.keeps() == "none"
    word = f"hello {secrets.token_hex(8)}"
    assert lent.ask(f"ADD {word}") == "OK 1"
    assert lent.ask("GET 1") == f"TEXT {word}"


@check("wall", proves=["R11"])
def test_it_has_no_privileges(lent):
    pid = lent.pid()
    status = dict(line.split(":", 1) for line in lent.say(f"cat /proc/{pid}/status").splitlines())
    users = {int(word) for word in status["Uid"].split()}
    assert len(users) == 1 and users.isdisjoint({0, 65534}), f"it runs as {users}"
    for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[field], 16) == 0, f"{field} is {status[field].strip()}"
    assert status["NoNewPrivs"].strip() == "1", "it can gain privileges"


@check("wall", proves=["R11"])
def test_it_is_the_customers_program(lent):
    line = lent.say(f"tr '\\0' ' ' </proc/{lent.pid()}/cmdline")
    assert "/usr/bin/wall" in line.split(), f"port 7400 is held by {line!r}"
    assert lent.say("sha256sum </usr/bin/wall").split()[0] == WALL_SHA256, "it was changed"


@check("wall", proves=["R12"])
def test_the_first_screen_shows_it_and_nothing_else(lent):
    name, word = f"Hall {secrets.token_hex(4)}", f"seen {secrets.token_hex(8)}"
    assert lent.ask(f"VENUE {name}") == "OK"
    number = int(lent.ask(f"ADD {word}").removeprefix("OK "))
    messages = [lent.ask(f"GET {n}").removeprefix("TEXT ") for n in range(1, number + 1)]
    shown = screen(lent, 1)
    assert shown == [f"EXPO WALL 4.1   {name}   none", *messages[-10:]], f"it shows {shown}"
    assert lent.say("cat /sys/class/tty/tty0/active") == "tty1"


# ---- alive ------------------------------------------------------------------------------------


@milestone("alive", weight=2, requires=["wall"], proves=["R13"], title="Always there")
def test_it_is_back_however_often_it_dies(lent):
    pid = lent.pid()
    for signal in KILLS:
        lent.say(f"kill -{signal} {pid}")
        lent.back(10)
        before, pid = pid, lent.pid()
        assert pid != before, f"SIG{signal} did not end it"


@check("alive", proves=["R13"])
def test_it_is_replaced_when_it_hangs(lent):
    lent.say(f"kill -STOP {lent.pid()}")
    lent.back(60)


@check("alive", proves=["R14"])
def test_keys_do_no_harm(lent):
    boots = lent.machine.boots
    assert lent.say("cat /proc/sys/kernel/sysrq") == "0", "SysRq is on"
    lent.say("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do kill -INT 1; done")
    time.sleep(5)
    assert lent.machine.alive and lent.machine.boots == boots, "Ctrl-Alt-Del restarts it"
    assert lent.say(JOBS) == "0"
    lent.back(10)


@check("alive", proves=["R12"])
def test_no_screen_has_a_login(lent):
    for number in range(2, 7):
        lent.say(PRESS_KEYS.format(number))
    time.sleep(3)
    texts = {number: " ".join(screen(lent, number)) for number in range(1, 7)}
    lent.say(PRESS_KEYS.format(1))
    found = [number for number, text in texts.items() if "login" in text.lower()]
    assert not found, f"a login on screen {found}"
    logins = f"{CMDLINES} | tr '\\0' ' ' | grep -c '[a]getty.*tty[1-9]'; :"
    assert lent.say(logins) == "0"


# ---- local ------------------------------------------------------------------------------------


@milestone("local", weight=1, requires=["wall"], proves=["R15"], title="It speaks Norwegian")
def test_the_wall_names_days_in_norwegian(lent):
    for _ in range(2):
        for month in (1, 7):
            moment, wanted = day(month)
            assert lent.ask(f"DAY {moment}") == f"DAY {wanted}"


@check("local", proves=["R15"])
def test_whoever_logs_in_has_it_too(lent):
    moment, wanted = day(7)
    said = lent.say(f"date -d @{moment} '+%A %d %B %Y %H:%M %Z'")
    assert said == wanted
    assert lent.say("echo $LANG") == "nb_NO.UTF-8"


@check("local", proves=["R15"])
def test_the_keyboard(lent):
    found = [keysym(lent, code) & 0xFF for code in (26, 39, 40)]
    assert found == [0xE5, 0xF8, 0xE6], f"the keys beside P and L give {found}"


@check("local", proves=["R15"])
def test_the_clock_is_the_pcs(lent):
    now = int(lent.say("date +%s"))
    assert 0 <= now - CLOCK_EPOCH <= 3600, f"its clock is {now - CLOCK_EPOCH} s off"


# ---- quiet ------------------------------------------------------------------------------------


@milestone("quiet", weight=2, requires=["wall"], proves=["R27"], title="It phones nobody")
def test_its_requests_say_nothing_of_it(lent):
    requests = [dhcp_options(frame) for frame in lent.wire.requests]
    assert requests, "it asked for no address"
    for options in requests:
        assert not {12, 81} & set(options), "a host name is in the DHCP request"
        address = b"\1" + bytes.fromhex(lent.mac.replace(":", ""))
        assert options.get(61, address) == address, "the client identifier is not the address"


@check("quiet", proves=["R28"])
def test_nothing_else_listens(lent):
    ports = set(lent.say(LISTENING, 90).split())
    assert ports <= {"tcp:7400", "udp:68"}, f"open: {sorted(ports)}"


@check("quiet", proves=["R29"])
def test_nothing_leaves_whoever_tries(lent):
    assert lent.wire.seen()["fine: answers of the wall"], "the record is empty"
    assert not lent.wire.strange(), f"sent by itself: {lent.wire.strange()}"
    name = f"{secrets.token_hex(6)}.example"
    lent.root().run(ATTEMPTS.replace("NAME", name), timeout=180)
    lent.back(10)
    time.sleep(3)
    assert not lent.wire.strange(), f"sent when root tried: {lent.wire.strange()}"


# ---- kept -------------------------------------------------------------------------------------


@milestone("kept", weight=2, requires=["wall"], proves=["R18", "R24"], title="What is ours is kept")
def test_a_full_disk_is_read(keeping, story):
    assert keeping.keeps() == "kept"
    said = [keeping.ask(f"GET {n}") for n in (1, 2, 3)]
    assert said == [f"TEXT {text}" for text in story.ours.messages]
    assert keeping.ask("VENUE") == f"VENUE {story.ours.venue}"
    answers = keeping.ask_all(["ADD " + secrets.token_hex(90) for _ in range(60)])
    assert "ERR full" in answers, "a full disk takes 60 messages"


@check("kept", proves=["R24"])
def test_it_keeps_again_when_there_is_room(keeping, story):
    keeping.say("rm /var/lib/wall/filler-*; sync")
    text = f"later {secrets.token_hex(8)}"
    number = int(keeping.ask(f"ADD {text}").removeprefix("OK "))
    story.acknowledged[number] = text


@check("kept", proves=["R19"])
def test_nothing_on_our_disk_is_obeyed(keeping):
    assert keeping.say("ls /run/evil 2>/dev/null; :") == ""
    assert "somebody" not in keeping.say("cat /etc/issue /etc/shadow")
    assert keeping.say("find /etc/systemd /run/systemd -name 'evil*' 2>/dev/null; :") == ""
    options = keeping.say("awk '$2 == \"/var/lib/wall\" {print $4}' /proc/mounts").split(",")
    assert {"nosuid", "nodev", "noexec"} <= set(options), f"mounted with {options}"
    assert keeping.say(OUTSIDE) == "", "more of our disk than `wall` can be reached"


# ---- power-cut --------------------------------------------------------------------------------


@milestone("power-cut", weight=3, requires=["kept"], proves=["R23"], title="The power may go")
def test_what_was_acknowledged_is_there(keeping, story, metric):
    word = secrets.token_hex(16)
    story.machine_ids.append(keeping.say("cat /etc/machine-id"))
    keeping.say(ELSEWHERE.replace("WORD", word))
    story.elsewhere.append(word)
    story.acknowledged.update(keeping.add_many(4.0, at_least=5))
    keeping.power_cut()
    metric("messages_before_cut", len(story.acknowledged))
    assert len(story.acknowledged) >= 5, "too few messages were acknowledged"
    keeping.start()
    assert keeping.keeps() == "kept"
    answers = keeping.ask_all([f"GET {n}" for n in story.acknowledged])
    wanted = [f"TEXT {text}" for text in story.acknowledged.values()]
    lost = [answer for answer, text in zip(answers, wanted, strict=True) if answer != text]
    assert not lost, f"{len(lost)} of {len(story.acknowledged)} acknowledged messages are lost"


@check("power-cut", proves=["R19"])
def test_each_start_is_new(keeping, story):
    assert re.fullmatch("[0-9a-f]{32}", keeping.say("cat /etc/machine-id"))
    assert keeping.say("cat /etc/machine-id") not in story.machine_ids, "the machine-id was kept"
    assert keeping.say(f"grep -rl {story.elsewhere[0]} /root /etc /var /srv /home; :", 120) == ""
    assert keeping.say("journalctl --list-boots -q | wc -l") in ("0", "1")


# ---- only-ours --------------------------------------------------------------------------------


@milestone("only-ours", weight=3, requires=["power-cut"], proves=["R17"], title="No traces")
def test_the_button_switches_it_off(keeping, story):
    text = f"last {secrets.token_hex(8)}"
    story.acknowledged[int(keeping.ask(f"ADD {text}").removeprefix("OK "))] = text
    assert keeping.press_power(), "the power button does not switch it off"
    story.used = keeping.machine.flatten()
    assert not Image(story.used).ext4().problems(), "our disk is not in order afterwards"
    lines = Image(story.used).ext4().read("/wall/messages", 4 << 20).decode().splitlines()
    kept = {n: lines[n - 1] for n in story.acknowledged if n <= len(lines)}
    assert kept == story.acknowledged, "a message is not where it was"


@check("only-ours", proves=["R19"])
def test_our_disk_holds_nothing_else(story):
    assert story.used, "it was not switched off"
    assert not story.ours.problems(story.used), story.ours.problems(story.used)
    data = story.used.read_bytes()
    assert story.acknowledged[max(story.acknowledged)].encode() in data
    assert not [word for word in story.elsewhere if word.encode() in data], "more is kept"
    assert not [word for word in story.machine_ids if word.encode() in data], "its id is kept"


@check("only-ours", proves=["R17", "R22"])
def test_the_owners_disks_are_as_they_were(owners):
    assert "error" not in owners, owners["error"]
    assert owners.get("in use") == "", f"in use: {owners.get('in use')}"
    assert owners["switched off"], "the power button does not switch it off"
    assert not owners["changed"], f"the owner's disks were written: {owners['changed']}"


# ---- uefi -------------------------------------------------------------------------------------


@milestone("uefi", weight=2, requires=["wall"], proves=["R5", "R8"], title="The same by UEFI")
def test_uefi_starts_the_same_system(uefi, story):
    assert uefi.say("ls -d /sys/firmware/efi") == "/sys/firmware/efi"
    found = {name: uefi.say(line, 90) for name, line in SYSTEM.items()}
    assert found == story.system, "another system than by BIOS"


@check("uefi", proves=["R8", "R12"])
def test_its_screen_is_not_dark(uefi):
    assert uefi.ask("VENUE here") == "OK"
    time.sleep(2)
    drawn = bright(uefi.machine.screenshot("uefi"))
    assert drawn > 500, f"{drawn} bytes of the picture are not black"


@check("uefi", proves=["R21"])
def test_a_disk_that_cannot_be_mended(uefi):
    assert uefi.keeps() == "damaged"
    word = secrets.token_hex(8)
    assert uefi.ask(f"ADD {word}") == "OK 1"
    assert uefi.ask("GET 1") == f"TEXT {word}"
    assert uefi.say("grep -c '^/dev/sd' /proc/mounts; :") == "0"


@check("uefi", proves=["R27", "R29"])
def test_it_is_as_quiet_there(uefi):
    assert uefi.wire.seen()["fine: DHCP"], "it asked for no address"
    assert not uefi.wire.strange(), f"sent: {uefi.wire.strange()}"


# ---- locked -----------------------------------------------------------------------------------


@milestone("locked", weight=2, requires=["uefi"], proves=["R7"], title="A menu and nothing else")
def test_keys_open_nothing_in_the_menu(uefi, story):
    assert not story.tried_keys, f"the menu opened: {story.tried_keys}"


@check("locked", proves=["R7", "R8"])
def test_it_starts_as_ever_after_that(uefi):
    line = uefi.say("cat /proc/cmdline")
    assert NAME not in line and WORD not in line
    assert uefi.ask("HELLO")


# ---- stick ------------------------------------------------------------------------------------


@milestone("stick", weight=2, requires=["uefi"], proves=["R1", "R8"], title="From a stick")
def test_a_stick_starts_the_same_system(stick, story):
    found = {name: stick.say(line, 90) for name, line in SYSTEM.items()}
    assert found == story.system, "another system than by BIOS from the drive"


@check("stick", proves=["R21"])
def test_a_link_is_not_followed(stick):
    assert stick.keeps() == "damaged"
    assert stick.ask(f"ADD {secrets.token_hex(8)}") == "OK 1"
    assert stick.say("stat -c %U:%a /etc") == "root:755"
    assert stick.say("ls /etc/messages /etc/venue 2>/dev/null; :") == ""


# ---- rescue -----------------------------------------------------------------------------------


@milestone(
    "rescue", weight=2, requires=["uefi"], proves=["R1", "R6", "R25"], title="The technician's way"
)
def test_r_starts_the_rescue_system(rescue):
    assert rescue.start_seconds <= START_SECONDS, f"it took {rescue.start_seconds:.0f} s"
    with pytest.raises(LoginFailed):
        rescue.machine.login("root", secrets.token_hex(4), timeout=60)
    assert rescue.say("id -u") == "0"


@check("rescue", proves=["R25"])
def test_nothing_else_is_going_on(rescue):
    walls = f"{CMDLINES} | tr '\\0' '\\n' | grep -cx '/usr/bin/wal[l]'; :"
    assert rescue.say(walls) == "0", "the wall runs"
    assert rescue.say("grep '^/dev/vd' /proc/mounts; tail -n +2 /proc/swaps; :") == ""
    assert not rescue.wire.seen(), f"sent: {dict(rescue.wire.seen())}"


@check("rescue", proves=["R26"])
def test_the_tools_are_there(rescue):
    tools = "for t in e2fsck mount blkid sfdisk; do command -v $t >/dev/null || echo $t; done"
    assert rescue.say(tools) == "", "tools are missing"
    assert "EXPO-STATE" in rescue.say("blkid -p -s LABEL /dev/vda")


@check("rescue", proves=["R22", "R25"])
def test_all_disks_are_as_they_were(rescue, bench):
    rescue.power_cut()
    assert not bench.unchanged(rescue, RESCUED), "a disk was written"


# ---- checked ----------------------------------------------------------------------------------


@milestone("checked", weight=2, requires=["uefi"], proves=["R4"], title="A bad medium is refused")
def test_a_flipped_bit_is_seen(damaged, story):
    assert DAMAGED in damaged.printed(), "it says nothing of the damage"
    assert story.refused, "it does not switch itself off"


@check("checked", proves=["R4"])
def test_nothing_of_it_was_run(damaged, bench):
    assert "login:" not in damaged.printed()
    assert not damaged.wire.seen(), f"sent: {dict(damaged.wire.seen())}"
    damaged.power_cut()
    assert not bench.unchanged(damaged, {0: "spare"}), "a disk was written"
