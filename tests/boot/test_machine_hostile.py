"""Hostile guests, real ones: none of them is believed, hangs the verifier, or fills its disk."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest
from starting import Start

from benchflow.boot.errors import (
    ConsoleFlood,
    GuestExited,
    GuestPanic,
    GuestTimeout,
    LoginFailed,
    QemuFailed,
    RebootLoop,
)
from benchflow.boot.machine import instance, qmp
from benchflow.boot.machine.console import HEAD, TAIL
from benchflow.boot.machine.disks import Disk
from benchflow.boot.machine.virtual_machine import Machine
from guests import LOGIN_INIT, PASSWD, SHELL_INIT

pytestmark = pytest.mark.needs("qemu", "guests")

QUIET = "console=ttyS0 quiet"

# Says yes to everything a login wants to see, and repeats whatever it is told.
FAKE_LOGIN = r"""
stty -F /dev/console -echo
printf '\ngw login: '
read name
printf 'Password: '
read password
printf '\nLast login: today\n# '
while IFS= read -r line; do
  printf '%s\n# ' "$line"
  printf '%s\n' 1 12 123 0 "$((1+1))"
done
"""


def test_a_guest_that_prints_forever_is_a_flood_and_stays_small(start: Start) -> None:
    machine = start("while :; do cat /proc/kallsyms; done\n")
    machine.expect_kernel()
    with pytest.raises(ConsoleFlood) as caught:
        machine.expect("what never comes", timeout=10)
    assert len(caught.value.evidence) <= 2000
    assert len(machine.console.text) < HEAD + TAIL + 200_000


def test_a_shell_is_found_behind_escapes_nuls_and_bad_utf8(start: Start) -> None:
    noise = r"printf '\033]0;%s' never-ended; printf '\033[2J\000\000\377\376\303\033[5;5Hgw\n'"
    machine = start(noise + SHELL_INIT)
    shell = machine.attach()
    assert shell.run("echo $((6*7))").stdout == "42\n"
    assert "\x1b" not in machine.console.text


def test_a_shell_is_found_behind_a_huge_line(start: Start) -> None:
    machine = start("head -c 1000000 /dev/zero | tr '\\0' x" + SHELL_INIT, append=QUIET)
    assert machine.attach().run("echo here").stdout == "here\n"


def test_forged_prompts_and_a_parrot_do_not_log_anyone_in(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchflow.boot.machine.login.LOGIN_SECONDS", 5.0)
    machine = start(FAKE_LOGIN, append=QUIET)
    machine.expect("gw login: ", timeout=60)
    with pytest.raises((GuestTimeout, LoginFailed)):
        machine.login("root", "toor", timeout=5)
    assert "stty -echo" in machine.console.text, "it was not asked, so it repeated nothing"


def test_a_parrot_is_no_shell(start: Start) -> None:
    machine = start("printf '# '; exec cat\n", append=QUIET)
    machine.expect("# ", timeout=60)
    with pytest.raises(GuestTimeout):
        machine.attach(timeout=8)


def test_a_login_prompt_that_comes_back_is_a_refusal(start: Start, login_initrd: object) -> None:
    machine = start(login_initrd)  # type: ignore[arg-type]
    with pytest.raises(LoginFailed):
        machine.login("root", "wrong password")
    assert machine.login("root", "toor").run("echo in").stdout == "in\n"


def test_the_kernels_words_are_no_answer_to_a_password(start: Start) -> None:
    """What is typed while a wrong password is looked at is the next name."""
    talk = "(for i in $(seq 24); do echo said $i >/dev/kmsg; sleep 0.3; done) &\n"
    machine = start(talk + LOGIN_INIT, append="console=ttyS0 loglevel=7", files=PASSWD)
    with pytest.raises(LoginFailed):
        machine.login("root", "wrong password", timeout=60)
    assert "stty" not in machine.console.text
    assert machine.login("root", "toor", timeout=60).run("echo in").stdout == "in\n"


# Each takes longer than the first two questions that would be typed.
ECHO = "printf 'Password: '; read password; sleep 7"
HALF_A_LINE = """\
stty -echo; printf 'Password: '; read password; stty echo
echo; printf '[    5.21'; sleep 7; echo '0745] eth0: link up'"""
HALF_A_STAMP = HALF_A_LINE.replace("5.21'", "5.210745]'").replace("0745] ", " ")
BEGUN_BEFORE = """\
stty -echo; printf 'Password: [    5.21'; read password; stty echo
echo '0745] eth0: link up'; sleep 7"""
# What is typed half a second after the colon comes before the line that begins there.
BEGUN_BETWEEN = BEGUN_BEFORE.replace("'Password: ", "'Password:'; sleep 1; printf ' ")


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        pytest.param(ECHO, "Password: wrong password\n", id="echo"),
        pytest.param(HALF_A_LINE, "Password: \n[    5.210745] eth0", id="half-a-line"),
        pytest.param(HALF_A_STAMP, "Password: \n[    5.210745] eth0", id="half-a-stamp"),
        pytest.param(BEGUN_BEFORE, "Password: [    5.210745] eth0", id="begun-before"),
        pytest.param(BEGUN_BETWEEN, "Password: [    5.210745] eth0", id="begun-between"),
    ],
)
def test_neither_an_echo_nor_half_a_line_is_an_answer(start: Start, asked: str, seen: str) -> None:
    """An echo that is turned off late, and a line of the kernel's that is read before its end."""
    login = f"printf '\\ngw login: '; read name; {asked}"
    shell = f'if [ "$name/$password" = root/toor ]; then {SHELL_INIT} fi'
    init = f"while :; do {login}; {shell}\n printf '\\nLogin incorrect\\n\\n'; done\n"
    machine = start(init, append=QUIET)
    with pytest.raises(LoginFailed):
        machine.login("root", "wrong password", timeout=60)
    assert seen in machine.console.text
    assert "stty" not in machine.console.text
    assert machine.login("root", "toor", timeout=60).run("echo in").stdout == "in\n"


# However slow the host is, the wrong password is looked at until a question was typed; and the
# prompt behind the refusal is seen before what waits there answers it.
PATIENT_LOGIN = f"""
stty -F /dev/console -echo
printf '\\ngw login: '; read name; echo "$name"
printf 'Password: '; read password; echo
read question
while :; do
  printf '\\nLogin incorrect\\n\\ngw login: '
  sleep 3
  name=$question question=
  [ "$name" ] || read name
  echo "$name"
  printf 'Password: '; read password; echo
  if [ "$name/$password" = root/toor ]; then {SHELL_INIT} fi
done
"""


@pytest.mark.slow
def test_a_question_that_became_a_name_is_got_rid_of(start: Start) -> None:
    machine = start(PATIENT_LOGIN, append=QUIET)
    with pytest.raises(LoginFailed):
        machine.login("root", "wrong password", timeout=60)
    assert machine.login("root", "toor", timeout=60).run("echo in").stdout == "in\n"
    assert machine.console.text.count("gw login: stty -echo") == 1


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param("sleep 4; printf 'eth0: link becomes ready\\n' >/dev/console", id="once"),
        pytest.param(
            "while sleep 0.3; do printf 'eth0: link up\\neth0: ' >/dev/console; done",
            id="on-and-on",
        ),
    ],
)
def test_what_is_printed_behind_the_prompt_does_not_hide_it(start: Start, noise: str) -> None:
    machine = start(f"({noise}) &\n{LOGIN_INIT}", append=QUIET, files=PASSWD)
    machine.expect(r"(?s)login: .*eth0: link", timeout=60)
    said = machine.login("root", "toor", timeout=60).run("echo in").stdout
    # The noise may come before the answer and behind it.
    assert re.sub(r"eth0: (link (up|becomes ready)\n)?", "", said) == "in\n"


def test_what_is_printed_behind_the_question_for_a_password_does_not_hide_it(start: Start) -> None:
    late = "printf 'Password: eth0: link becomes ready\\n'"
    init = f"stty -F /dev/console -echo; printf 'gw login: '; read name; {late}; read password\n"
    machine = start(f"{init}[ $password = toor ] && {SHELL_INIT}", append=QUIET)
    assert machine.login("root", "toor", timeout=60).run("echo in").stdout == "in\n"


# The terminal is the kernel's own: `read` shows what is typed, and `stty` turns that off.
OTHER_WORDS = f"""
while :; do
  stty sane; printf '\\n登录：'; read name; [ "$name" ] || continue
  stty -echo; printf 'Mot de passe : '; read password; stty echo; echo; sleep 2
  if [ "$name/$password" = root/toor ]; then {SHELL_INIT} fi
  printf '登录不正确\\n'
done
"""


def test_a_login_in_other_words_refuses_and_lets_in(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchflow.boot.machine.login.NAME_STANDS", 6.0)
    machine = start(f"exec 0<>/dev/ttyS0 1>&0 2>&0\n{OTHER_WORDS}", append=QUIET)
    with pytest.raises(LoginFailed):
        machine.login("root", "wrong password", timeout=60)
    assert machine.login("root", "toor", timeout=60).run("echo in").stdout == "in\n"


def test_a_guest_that_never_answers_times_out(start: Start) -> None:
    machine = start("sleep 10000\n", append=QUIET)
    before = time.monotonic()
    with pytest.raises(GuestTimeout, match="no login prompt within 4 reference seconds"):
        machine.login("root", "toor", timeout=4)
    assert time.monotonic() - before >= 4


def test_a_panic_is_noticed_at_once(start: Start) -> None:
    machine = start("exit 1\n")
    before = machine.elapsed
    with pytest.raises(GuestPanic, match="Attempted to kill init"):
        machine.login("root", "toor", timeout=1000)
    assert machine.elapsed - before < 200


def test_an_early_power_off_is_noticed_at_once(start: Start) -> None:
    machine = start("echo bye; poweroff -f\n")
    with pytest.raises(GuestExited, match="switched itself off"):
        machine.expect("what never comes", timeout=1000)
    assert "bye" in machine.console.text
    assert not machine.alive
    with pytest.raises(GuestExited):
        machine.login("root", "toor", timeout=1000)


def test_a_loop_of_reboots_ends(tmp_path: Path) -> None:
    sector = tmp_path / "disk.img"
    reset = bytes.fromhex("b0fe e664 f4")  # mov $0xfe,%al; out %al,$0x64; hlt
    sector.write_bytes(reset.ljust(510, b"\0") + b"\x55\xaa")
    with Machine(disks=[Disk(sector, bus="ide")]) as machine:
        machine.boot()
        with pytest.raises(RebootLoop):
            machine.expect("what never comes", timeout=1000)
        assert machine.boots == 1  # it never printed anything
        end = time.monotonic() + 120
        while machine._hardware.ask("query-status")["status"] != "shutdown":
            assert time.monotonic() < end
            time.sleep(0.1)
        assert machine.flatten().read_bytes() == sector.read_bytes()


def test_a_firmware_that_restarts_itself_often_is_no_loop(tmp_path: Path) -> None:
    sector = tmp_path / "disk.img"
    # Counts its starts in byte 0x51 of the clock's memory and resets six times (SeaBIOS adds its
    # own); then it says so: cli; mov $0x51,%al; out %al,$0x70; in $0x71,%al; inc %ax; mov %al,%ah;
    # mov $0x51,%al; out %al,$0x70; mov %ah,%al; out %al,$0x71; cmp $7,%al; jae 1f; mov $0xfe,%al;
    # out %al,$0x64; hlt; 1: mov $0x3f8,%dx; mov $'K',%al; out %al,%dx; mov $10,%al; out %al,%dx
    counting = "fa b051 e670 e471 40 88c4 b051 e670 88e0 e671 3c07 7305 b0fe e664 f4"
    saying = "baf803 b04b ee b00a ee f4"
    sector.write_bytes(bytes.fromhex(counting + saying).ljust(510, b"\0") + b"\x55\xaa")
    with Machine(disks=[Disk(sector, bus="ide")]) as machine:
        machine.boot()
        machine.expect("K", timeout=60)
        assert machine.boots == 1


def test_answers_prepared_before_the_question_do_not_count(start: Start) -> None:
    # Prints every frame that it has seen on the way in, computed by nobody.
    script = r"""
    stty -F /dev/console -echo; printf '# '
    while IFS= read -r line; do
      case "$line" in *printf*) printf '%s[\n0\n]%s:0:%s;\n' "$line" "$line" "$line";; esac
      printf '%s\n# ' "${line##*echo }"
    done
    """
    machine = start(script, append=QUIET)
    with pytest.raises(GuestTimeout):
        machine.attach(timeout=6)


#: A boot sector that prints K and then has QEMU fill 496 MiB of memory again and again (fw_cfg's
#: DMA, docs/specs/fw_cfg.rst of QEMU): nothing else goes on in there meanwhile.
BUSY_WITH_ITSELF = """
fa31c08ed8baf803b04beeb00aee66c706327c0000000aba14056631c066ef66b8327c000086c466c1c010ba180566ef
ebdc0000000a1f0000000000000000100000
"""


def test_a_guest_that_keeps_qemu_from_answering_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qmp, "ANSWER_SECONDS", 0.02)  # it takes a tenth each time
    monkeypatch.setattr(instance, "_PATIENCE", 0.1)
    disk = tmp_path / "disk.img"
    sector = bytes.fromhex(BUSY_WITH_ITSELF).ljust(510, b"\0") + b"\x55\xaa"
    disk.write_bytes(sector + bytes(1 << 20))
    with Machine(memory_mb=512, disks=[Disk(disk)]) as machine:
        machine.boot().expect("K\n", timeout=300)
        with pytest.raises(GuestTimeout, match="keeps QEMU from answering"):
            for _ in range(200):
                machine._hardware.ask("query-status")


def test_a_qemu_that_stands_still_is_no_guests_fault(
    start: Start, shell_initrd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qmp, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(instance, "_PATIENCE", 1.0)
    machine = start(shell_initrd)
    machine.attach()
    os.kill(machine._hardware.process.pid, signal.SIGSTOP)
    with pytest.raises(QemuFailed, match="did not answer"):
        machine._hardware.ask("query-status")
