"""The questions that the medium has to answer, in nine starts of eight PCs (see conftest.py)."""

from __future__ import annotations

import re
import secrets
import time

from disks import files_of
from inside import (
    ATTEMPTS,
    CMDLINES,
    ELSEWHERE,
    JOBS,
    KILLS,
    LISTENING,
    OS_RELEASE,
    OUTSIDE,
    PRESS_KEYS,
    READERS,
    UNASKED,
    WALL_SHA256,
    believed,
    bright,
    day,
    keysym,
    nothing_was_run,
    open_accounts,
    password_places,
    privileges,
    same_system,
    screen,
)
from keys import NAME, WORD
from medium import SUMS
from pc import PASSWORD, START_SECONDS
from wire import dhcp_options

from benchflow.bench.wrong_passwords import let_in, near
from benchflow.boot import check, milestone
from conftest import CLOCK_EPOCH, DAMAGED, RESCUED

SIZE_MB = 260


@milestone("medium", weight=1, proves=["R1"], title="A medium of the right form")
def test_it_is_the_volume_asked_for(medium, metric):
    metric("iso_mb", round(medium.size / (1 << 20), 1))
    assert medium.volume() == "EXPO_WALL_41", f"the volume is called {medium.volume()!r} [R1]"
    assert medium.size <= SIZE_MB << 20, f"{medium.size >> 20} MiB; [R1]: at most {SIZE_MB}"


@check("medium", proves=["R1", "R3"])
def test_it_holds_one_system_file(medium, image):
    names = {entry.path for entry in image().iso().walk("/") if entry.kind == "file"}
    assert names == set(medium.files) - {medium.catalog}, (
        "its Rock Ridge tree and its files do not agree [R1]"
    )
    with medium.path.open("rb") as file:
        file.seek(medium.system()[0].start)
        assert file.read(4) == b"hsqs", "the system file is no squashfs [R3]"
    found = [name for name in names if name.endswith(".squashfs")]
    assert found == ["/live/filesystem.squashfs"], f"{found}; [R3]: one, /live/filesystem.squashfs"


@check("medium", proves=["R2"])
def test_the_list_names_every_file_once(medium):
    names = [name for name, _ in medium.listed()]
    assert len(names) == len(set(names)), "a name stands in sha256sum.txt twice [R2]"
    missing = sorted(set(medium.files) - {SUMS} - set(names))
    assert not missing, f"{len(missing)} files are not in the list, {missing[0]} for one [R2]"
    too_many = sorted(set(names) - set(medium.files) | ({SUMS} & set(names)))
    assert not too_many, f"{too_many[0]} is in the list and no file but it [R2]"


@check("medium", proves=["R2"])
def test_every_file_is_as_the_list_says(medium):
    wrong = [
        name for name, wanted in medium.listed()
        if name not in medium.files or medium.sum_of(name) != wanted
    ]  # fmt: skip
    assert not wrong, f"{len(wrong)} files differ from their sum, {wrong[0]} for one [R2]"


@check("medium", proves=["R16"])
def test_the_password_is_not_on_it(medium):
    assert not medium.holds(PASSWORD.encode()), "the password stands on the medium [R16]"
    packed = medium.holds_packed(PASSWORD.encode())
    assert not packed, f"the password stands in {packed} [R16]"


@milestone("bios", weight=2, proves=["R5"], title="Starts by BIOS")
def test_it_starts_unattended_from_the_drive(lent, metric):
    metric("start_seconds", round(lent.start_seconds, 1))
    assert lent.start_seconds <= START_SECONDS, f"up after {lent.start_seconds:.0f} s; [R5]: 120"


@check("bios", proves=["R16"])
def test_root_logs_in_with_the_password_alone(lent, story):
    found = let_in(lent.machine, "root", near(PASSWORD))
    assert not found, f"root logs in with {found} [R16]"
    assert lent.say("id -u") == "0", "root has no root's powers [R16]"
    same_system(lent, story)


@check("bios", proves=["R16"])
def test_nobody_else_has_a_password(lent):
    wrong = open_accounts(lent.say("cat /etc/passwd"), lent.say("cat /etc/shadow"))
    assert not wrong, f"{wrong} [R16]"
    assert not (found := password_places(lent)), f"the password stands in {found} [R16]"


@check("bios", proves=["R6"])
def test_the_menu_was_on_the_serial_port(lent):
    printed = lent.printed()
    titles = set(re.findall(r"Expo Wall 4\.1(?: rescue)?(?= *(?:\n|$|\W))", printed))
    assert {"Expo Wall 4.1", "Expo Wall 4.1 rescue"} <= titles, f"the menu shows {titles} [R6]"


@milestone("brand", weight=1, proves=["R9"], title="The customer's name")
def test_os_release_and_host_name(lent):
    text = lent.say("cat /etc/os-release").splitlines()
    lines = dict(line.split("=", 1) for line in text if "=" in line)
    found = {key: lines.get(key, "").strip("\"'") for key in OS_RELEASE}
    assert found == OS_RELEASE, f"/etc/os-release says {found}, not {OS_RELEASE} [R9]"
    assert (name := lent.say("uname -n")) == "expo-wall", f"the host name is {name!r} [R9]"


@check("brand", proves=["R10"])
def test_the_greeting(lent):
    printed = lent.printed()
    before = printed[: printed.find("login:")]
    assert "Expo Wall 4.1 (EW-2291)" in before, f"above the login stands {before[-200:]!r} [R10]"
    assert "debian" not in before.lower(), "Debian is named before the login [R10]"


@milestone("wall", weight=2, proves=["R20"], title="The wall is up")
def test_it_works_without_a_disk_of_ours(lent):
    assert lent.keeps() == "none", "with no disk of ours it does not say `none` [R20]"
    word = f"hello {secrets.token_hex(8)}"
    said = [lent.ask(f"ADD {word}"), lent.ask("GET 1")]
    assert said == ["OK 1", f"TEXT {word}"], f"without a disk of ours it says {said} [R20]"


@check("wall", proves=["R11"])
def test_it_has_no_privileges(lent):
    pid = lent.pid()
    status = dict(line.split(":", 1) for line in lent.say(f"cat /proc/{pid}/status").splitlines())
    wrong = privileges(status, lent.groups(pid))
    assert not wrong, f"{wrong} [R11]"


@check("wall", proves=["R11"])
def test_it_is_the_customers_program(lent):
    line = lent.say(f"tr '\\0' ' ' </proc/{lent.pid()}/cmdline")
    assert "/usr/bin/wall" in line.split(), f"port 7400 is held by {line!r}, not /usr/bin/wall"
    assert lent.say("sha256sum </usr/bin/wall").split()[0] == WALL_SHA256, "wall was changed"


@check("wall", proves=["R12"])
def test_the_first_screen_shows_it_and_nothing_else(lent):
    name, word = f"Hall {secrets.token_hex(4)}", f"seen {secrets.token_hex(8)}"
    assert lent.ask(f"VENUE {name}") == "OK"
    number = int(lent.ask(f"ADD {word}").removeprefix("OK "))
    messages = [lent.ask(f"GET {n}").removeprefix("TEXT ") for n in range(1, number + 1)]
    shown = screen(lent, 1)
    wanted = [f"EXPO WALL 4.1   {name}   none", *messages[-10:]]
    assert shown == wanted, f"the first screen shows {shown}, not {wanted} [R12]"
    assert lent.say("cat /sys/class/tty/tty0/active") == "tty1", "another screen is seen [R12]"


@milestone("alive", weight=2, proves=["R13"], title="Always there")
def test_it_is_back_however_often_it_dies(lent):
    pid = lent.pid()
    for signal in KILLS:
        lent.say(f"kill -{signal} {pid}")
        lent.back(10)
        before, pid = pid, lent.pid()
        assert pid != before, f"SIG{signal} did not end it [R13]"


@check("alive", proves=["R13"])
def test_it_is_replaced_when_it_hangs(lent):
    lent.say(f"kill -STOP {lent.pid()}")
    lent.back(60)


@check("alive", proves=["R14"])
def test_keys_do_no_harm(lent):
    boots = lent.machine.boots
    assert lent.say("cat /proc/sys/kernel/sysrq") == "0", "the magic SysRq key is on [R14]"
    assert lent.say("cat /proc/sys/kernel/ctrl-alt-del") == "0", "the kernel restarts itself [R14]"
    lent.say("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do kill -INT 1; done")
    time.sleep(5)
    assert lent.machine.alive and lent.machine.boots == boots, "Ctrl-Alt-Del restarts it [R14]"
    assert lent.say(JOBS) == "0", "Ctrl-Alt-Del begins a restart [R14]"
    lent.back(10)


@check("alive", proves=["R12"])
def test_no_screen_has_a_login(lent):
    for number in range(2, 13):
        lent.say(PRESS_KEYS.format(number))
    time.sleep(3)
    texts = {number: " ".join(screen(lent, number)) for number in range(1, 13)}
    lent.say(PRESS_KEYS.format(1))
    found = [number for number, text in texts.items() if "login" in text.lower()]
    assert not found, f"a login on the screens {found} [R12]"
    waiting = lent.say(READERS)
    assert waiting == "", f"something reads what is typed on other screens: {waiting} [R12]"


@milestone("local", weight=1, proves=["R15"], title="It speaks Norwegian")
def test_the_wall_names_days_in_norwegian(lent):
    for _ in range(2):
        for month in (1, 7):
            moment, wanted = day(month)
            said = lent.ask(f"DAY {moment}")
            assert said == f"DAY {wanted}", f"the wall says {said!r}, not {wanted!r} [R15]"


@check("local", proves=["R15"])
def test_whoever_logs_in_has_it_too(lent):
    moment, wanted = day(7)
    said = lent.say(f"date -d @{moment} '+%A %d %B %Y %H:%M %Z'")
    assert said == wanted, f"date says {said!r} to who logs in, not {wanted!r} [R15]"
    locale = lent.say("echo ${LC_ALL:-$LANG}")
    assert re.fullmatch("nb_NO.(UTF-8|utf8)", locale), f"the locale is {locale!r} [R15]"


@check("local", proves=["R15"])
def test_the_keyboard(lent):
    found = [keysym(lent, code) & 0xFF for code in (26, 39, 40)]
    assert found == [0xE5, 0xF8, 0xE6], f"the keys beside P and L give {found}, no å ø æ [R15]"


@check("local", proves=["R15"])
def test_the_clock_is_the_pcs(lent):
    now = int(lent.say("date +%s"))
    assert 0 <= now - CLOCK_EPOCH <= 3600, f"its clock is {now - CLOCK_EPOCH} s off [R15]"


@milestone("quiet", weight=2, proves=["R27"], title="It phones nobody")
def test_its_requests_say_nothing_of_it(lent):
    requests = [dhcp_options(frame) for frame in lent.wire.requests]
    assert requests, "it asked for no address [R27]"
    for options in requests:
        assert not {12, 81} & set(options), "a host name is in the request [R27]"
        address = b"\1" + bytes.fromhex(lent.mac.replace(":", ""))
        assert options.get(61, address) == address, f"client identifier {options[61]!r} [R27]"


@check("quiet", proves=["R27"])
def test_its_requests_do_not_name_the_system(lent):
    words = [b"expo", b"debian", b"linux", lent.say("cat /etc/machine-id; :").encode()]
    words.append(lent.say("uname -r").encode())
    said = [word for frame in lent.wire.requests for word in words if word in frame.lower()]
    assert not [word for word in said if word], f"its requests say {set(said)} [R27]"


@check("quiet", proves=["R28"])
def test_nothing_else_listens(lent):
    ports = set(lent.say(LISTENING, 90).split())
    assert ports <= {"tcp:7400", "udp:68"}, f"open: {sorted(ports)}; [R28]: 7400, DHCP"


@check("quiet", proves=["R29"])
def test_nothing_leaves_whoever_tries(lent):
    assert lent.wire.seen()["fine: answers of the wall"], "the record is empty [R28]"
    assert not lent.wire.strange(), f"sent by itself: {lent.wire.strange()} [R29]"
    name = f"{secrets.token_hex(6)}.example"
    lent.root().run(ATTEMPTS.replace("NAME", name), timeout=180)
    lent.back(10)
    time.sleep(3)
    assert not lent.wire.strange(), f"sent when root tried: {lent.wire.strange()} [R29]"


@milestone("kept", weight=2, proves=["R18", "R24"], title="What is ours is kept")
def test_a_full_disk_is_read(keeping, story):
    assert keeping.keeps() == "kept", "with a disk of ours it does not say `kept` [R18]"
    said = [keeping.ask(f"GET {n}") for n in (1, 2, 3)]
    wanted = [f"TEXT {text}" for text in story.ours.messages]
    assert said == wanted, f"of what our disk has it says {said}, not {wanted} [R18], [R24]"
    assert keeping.ask("VENUE") == f"VENUE {story.ours.venue}", "it has another venue [R18]"
    answers = keeping.ask_all(["ADD " + secrets.token_hex(90) for _ in range(60)])
    assert "ERR full" in answers, "a full disk takes 60 messages [R24]"


@check("kept", proves=["R24"])
def test_it_keeps_again_when_there_is_room(keeping, story):
    keeping.say("rm /var/lib/wall/filler-*; sync")
    text = f"later {secrets.token_hex(8)}"
    number = int(keeping.ask(f"ADD {text}").removeprefix("OK "))
    story.acknowledged[number] = text


@check("kept", proves=["R19"])
def test_nothing_on_our_disk_is_obeyed(keeping):
    evil = keeping.say("ls /run/evil 2>/dev/null; "
                       "find /etc/systemd /run/systemd -name 'evil*' 2>/dev/null; :")  # fmt: skip
    assert evil == "", f"what lies on our disk was run or obeyed: {evil} [R19]"
    assert "somebody" not in keeping.say("cat /etc/issue /etc/shadow"), "it was obeyed [R19]"
    outside = keeping.say(OUTSIDE)
    assert outside == "", f"{outside.split()} in /var/lib/wall is not of `wall` [R18], [R19]"
    found = believed(keeping)
    assert not found, f"{found} on our disk is believed [R19]"


@milestone("power-cut", weight=3, proves=["R23"], title="The power may go")
def test_what_was_acknowledged_is_there(keeping, story, metric):
    word = secrets.token_hex(16)
    story.machine_ids.append(keeping.say("cat /etc/machine-id"))
    keeping.say(ELSEWHERE.replace("WORD", word))
    story.elsewhere.append(word)
    story.acknowledged.update(keeping.add_many(4.0, at_least=5))
    keeping.power_cut()
    metric("messages_before_cut", len(story.acknowledged))
    assert len(story.acknowledged) >= 5, "too few messages were acknowledged [R23]"
    keeping.start()
    assert keeping.keeps() == "kept", "after a power cut it does not say `kept` [R23]"
    answers = keeping.ask_all([f"GET {n}" for n in story.acknowledged])
    asked = dict(zip(story.acknowledged, answers, strict=True))
    there = {n: text for n, text in story.acknowledged.items() if asked[n] == f"TEXT {text}"}
    lost, story.acknowledged = len(asked) - len(there), there
    assert not lost, f"{lost} of {len(asked)} acknowledged messages are lost [R23]"


@check("power-cut", proves=["R19"])
def test_each_start_is_new(keeping, story):
    identity = keeping.say("cat /etc/machine-id")
    assert re.fullmatch("[0-9a-f]{32}", identity), f"the machine-id is {identity!r} [R19]"
    assert identity not in story.machine_ids, "the machine-id was kept [R19]"
    kept = keeping.say(f"grep -rl {story.elsewhere[0]} /root /etc /var /srv /home; :", 120)
    assert kept == "", f"{kept.split()} was kept [R19]"
    boots = keeping.say("journalctl --list-boots -q 2>/dev/null | wc -l")
    assert boots in ("0", "1"), f"the journal knows of {boots} starts [R19]"


@milestone("only-ours", weight=3, proves=["R17"], title="No traces")
def test_the_button_switches_it_off(keeping, story):
    text = f"last {secrets.token_hex(8)}"
    story.acknowledged[int(keeping.ask(f"ADD {text}").removeprefix("OK "))] = text
    assert keeping.press_power(), "the power button does not switch it off within 60 s [R17]"
    story.used = keeping.machine.flatten()
    files = files_of(story.used)
    assert not files.problems(), "our disk is not in order afterwards [R17]"
    lines = files.read("/wall/messages", 4 << 20).decode().splitlines()
    kept = {n: lines[n - 1] for n in story.acknowledged if n <= len(lines)}
    assert kept == story.acknowledged, "a message is not in wall/messages [R17], [R18]"


@check("only-ours", proves=["R19"])
def test_our_disk_holds_nothing_else(story):
    assert story.used, "it was not switched off"
    wrong = story.ours.problems(story.used)
    assert not wrong, f"outside of `wall` on our disk: {wrong} [R19]"
    data = story.used.read_bytes()
    assert story.acknowledged[max(story.acknowledged)].encode() in data, "nothing was kept [R18]"
    assert not [word for word in story.elsewhere if word.encode() in data], "more is kept [R19]"
    assert not [word for word in story.machine_ids if word.encode() in data], "its id is kept [R19]"


@check("only-ours", proves=["R17", "R22"])
def test_the_owners_disks_are_as_they_were(owners):
    assert "error" not in owners, owners["error"]
    assert owners.get("in use") == "", f"the owner's disks are in use: {owners.get('in use')} [R22]"
    assert owners["switched off"], "the power button does not switch it off [R17]"
    assert not owners["changed"], f"the owner's disks were written: {owners['changed']} [R22]"


@milestone("uefi", weight=2, proves=["R5", "R8"], title="The same by UEFI")
def test_uefi_starts_the_same_system(uefi, story):
    assert uefi.say("ls -d /sys/firmware/efi") == "/sys/firmware/efi", "not by UEFI [R1]"
    same_system(uefi, story)


@check("uefi", proves=["R8", "R12"])
def test_its_screen_is_not_dark(uefi):
    assert uefi.ask("VENUE here") == "OK"
    time.sleep(2)
    drawn = bright(uefi.machine.screenshot("uefi"))
    assert drawn > 500, f"{drawn} bytes of the picture are not black: it is dark [R12]"


@check("uefi", proves=["R21"])
def test_a_disk_that_cannot_be_mended(uefi):
    assert uefi.keeps() == "damaged", "e2fsck -p does not mend our disk [R21]"
    word = secrets.token_hex(8)
    said = [uefi.ask(f"ADD {word}"), uefi.ask("GET 1")]
    assert said == ["OK 1", f"TEXT {word}"], f"with a damaged disk it says {said} [R21]"


@check("uefi", proves=["R27", "R29"])
def test_it_is_as_quiet_there(uefi):
    assert uefi.wire.seen()["fine: DHCP"], "it asked for no address [R27]"
    assert not uefi.wire.strange(), f"sent: {uefi.wire.strange()} [R29]"


@milestone("locked", weight=2, proves=["R7"], title="A menu and nothing else")
def test_keys_open_nothing_by_bios(tried_by_bios):
    assert tried_by_bios is not None, "by BIOS there was no menu to press keys in [R6], [R7]"
    assert not tried_by_bios, f"by BIOS the menu opened: {tried_by_bios} [R7]"


@check("locked", proves=["R7"])
def test_keys_open_nothing_in_the_menu(uefi, story):
    assert not story.tried_keys, f"the menu opened: {story.tried_keys} [R7]"


@check("locked", proves=["R7", "R8"])
def test_it_starts_as_ever_after_that(uefi):
    line = uefi.say("cat /proc/cmdline")
    assert NAME not in line and WORD not in line, f"visitors wrote on {line!r} [R7]"
    assert uefi.ask("HELLO"), "after such attempts the wall does not start [R7]"


@milestone("stick", weight=2, proves=["R1", "R8"], title="From a stick")
def test_a_stick_starts_the_same_system(stick, story, metric):
    metric("stick_start_seconds", round(stick.start_seconds, 1))
    assert stick.start_seconds <= START_SECONDS, f"after {stick.start_seconds:.0f} s; [R5]: 120"
    same_system(stick, story)


@check("stick", proves=["R21"])
def test_a_link_is_not_followed(stick):
    assert stick.keeps() == "damaged", "`wall` on our disk is a link [R21]"
    said = stick.ask(f"ADD {secrets.token_hex(8)}")
    assert said == "OK 1", f"with a damaged disk it says {said} [R21]"
    etc = stick.say("stat -c %U:%a /etc; ls /etc/messages /etc/venue 2>/dev/null; :")
    assert etc == "root:755", f"where the link leads: {etc} [R21]"


@check("stick", proves=["R1", "R8"])
def test_a_stick_starts_it_by_bios(bare, story):
    assert bare.start_seconds <= START_SECONDS, f"after {bare.start_seconds:.0f} s; [R5]: 120"
    same_system(bare, story)


@check("stick", proves=["R18"])
def test_a_partition_of_ours_that_is_new(bare):
    assert bare.keeps() == "kept", "with a partition of ours that has no `wall` [R18]"
    word = secrets.token_hex(8)
    assert bare.ask(f"ADD {word}") == "OK 1", "nothing is kept on it [R18]"
    assert bare.press_power(), "the power button does not switch it off within 60 s [R17]"
    lines = files_of(bare.machine.flatten(1)).read("/wall/messages", 1 << 16)
    assert word.encode() in lines, "its `wall` has not the message [R18]"


@milestone("rescue", weight=2, proves=["R1", "R6", "R25"], title="The technician's way")
def test_r_starts_the_rescue_system(rescue):
    assert rescue.start_seconds <= START_SECONDS, f"it took {rescue.start_seconds:.0f} s; [R25]"
    found = let_in(rescue.machine, "root", near(PASSWORD)[:2])
    assert not found, f"root logs in with {found} [R25]"
    assert rescue.say("id -u") == "0", "root has no root's powers [R25]"


@check("rescue", proves=["R25"])
def test_nothing_else_is_going_on(rescue):
    waiting = rescue.say(UNASKED)
    assert waiting == "", f"without a password something reads on a screen: {waiting} [R25]"
    walls = f"{CMDLINES} | tr '\\0' '\\n' | grep -cx '/usr/bin/wal[l]'; :"
    assert rescue.say(walls) == "0", "the wall runs [R25]"
    mounts = rescue.say("grep '^/dev/vd' /proc/mounts; tail -n +2 /proc/swaps; :")
    assert mounts == "", f"disks are in use: {mounts} [R25]"
    assert not rescue.wire.seen(), f"sent: {dict(rescue.wire.seen())}; [R25]: no network"


@check("rescue", proves=["R26"])
def test_the_tools_are_there(rescue):
    missing = rescue.say("for t in e2fsck mount blkid sfdisk; do command -v $t >/dev/null || "
                         "echo $t; done")  # fmt: skip
    assert missing == "", f"{missing.split()} are missing [R26]"
    assert "EXPO-STATE" in rescue.say("blkid -p -s LABEL /dev/vda"), "blkid is of no use [R26]"


@check("rescue", proves=["R22", "R25"])
def test_all_disks_are_as_they_were(rescue, bench):
    rescue.power_cut()
    assert not bench.unchanged(rescue, RESCUED), "a disk was written [R25]"


@milestone("checked", weight=2, proves=["R4"], title="A bad medium is refused")
def test_a_flipped_bit_is_seen(damaged, story):
    assert DAMAGED in damaged.printed(), "it says nothing of one wrong bit [R4]"
    assert "damaged" in story.refused, "it is not off 120 s after power-on [R4]"


@check("checked", proves=["R4"])
def test_nothing_of_it_was_run(damaged, bench):
    nothing_was_run(damaged, bench)


@check("checked", proves=["R4"])
def test_the_rescue_entry_checks_it_too(spoiled, story, bench):
    assert DAMAGED in spoiled.printed(), "the rescue entry says nothing of one wrong bit [R4]"
    assert "spoiled" in story.refused, "it is not off 120 s after power-on [R4]"
    nothing_was_run(spoiled, bench)
