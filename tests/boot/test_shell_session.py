"""What a shell returns is what the guest computed after the question, byte for byte."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.boot.errors import CheckMisuse, CommandFailed, CommandTimeout, ShellBroken
from benchflow.boot.machine.guest import Watch
from benchflow.boot.machine.login import _PASSWORD_ANYWHERE
from benchflow.boot.machine.shell import Shell, quote, typeable
from benchflow.boot.machine.virtual_machine import Machine
from guests import busybox

SHELLS = {
    "bash": ["bash", "--norc", "-i"],
    "dash": ["dash", "-i"],
    "ash": ["busybox", "sh", "-i"],
}
PARAMS = ["bash", "dash", pytest.param("ash", marks=pytest.mark.needs("busybox-static"))]


def _hear() -> None:
    """A shell never takes back a key that it was born to ignore, as `pytest &` has it."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class LocalShell:
    """A real shell on a real terminal of this host, as a guest's console would show it."""

    def __init__(self, command: list[str]) -> None:
        if command[0] == "busybox":
            command = [str(busybox()), *command[1:]]
        self.typed = ""
        self._child = pexpect.spawn(
            command[0],
            command[1:],
            env={**os.environ, "TERM": "vt100"},
            preexec_fn=_hear,
        )
        self._watch = Watch("local", 1.0, lambda: None)
        self._watch.running = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.shell = Shell(self._watch, self._send, "")
        self.shell.take(60)

    def close(self) -> None:
        self._child.close(force=True)
        self._reader.join(10)

    @property
    def output(self) -> str:
        return self._watch.console.text

    def _send(self, text: str) -> None:
        self.typed += text
        self._child.send(text)

    def _read(self) -> None:
        try:
            while data := os.read(self._child.child_fd, 65536):
                self._watch.console.feed(data)
        except OSError:
            return  # the terminal was closed


@pytest.fixture(scope="module", params=PARAMS)
def local(request: pytest.FixtureRequest) -> Iterator[LocalShell]:
    opened = LocalShell(SHELLS[request.param])
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("command", "stdout", "status"),
    [
        ("echo hello", "hello\n", 0),
        ("printf 'no newline'", "no newline", 0),
        ("true", "", 0),
        ("exit 7", "", 7),
        ("echo out; echo err >&2; (exit 3)", "out\nerr\n", 3),
        ("printf '\\n\\n'", "\n\n", 0),
        ("echo 'it'\"'\"'s'", "it's\n", 0),
        ("printf '%s ' \"$((6*7))\" 100% '\\n' '!!' '$HOME'", "42 100% \\n !! $HOME ", 0),
        ("for i in a b\ndo\n\techo $i\ndone", "a\nb\n", 0),
        ("cat <<'END'\nhere\nEND\n", "here\n", 0),
        ("cat", "", 0),
        ("echo ']123:0:123;'", "]123:0:123;\n", 0),
        ("echo é→", "é→\n", 0),
        ("cd /; x=1", "", 0),
        ("no-such-command-anywhere 2>/dev/null", "", 127),
        ("", "", 0),
    ],
)
def test_output_and_status_are_exact(
    local: LocalShell, command: str, stdout: str, status: int
) -> None:
    result = local.shell.run(command)
    assert (result.stdout, result.status) == (stdout, status)


@pytest.mark.parametrize(
    ("command", "stdout", "stderr", "status"),
    [
        ("echo out; echo err >&2; (exit 3)", "out\n", "err\n", 3),
        ("echo err >&2; exit 7", "", "err\n", 7),
        ("printf one; printf two >&2; printf three; printf four >&2", "onethree", "twofour", 0),
        ("printf '\\n\\n'; printf '\\n\\n\\n' >&2", "\n\n", "\n\n\n", 0),
        ("cat; cat >&2", "", "", 0),
        ("true", "", "", 0),
        ("echo ']1;' >&2; echo ']1['; echo '%s \\ $HOME' >&2", "]1[\n", "]1;\n%s \\ $HOME\n", 0),
        ("echo é→ >&2; printf 'a\\0b' >&2", "", "é→\nab", 0),
        ("(sleep 0.2; echo late) 2>/dev/null & echo on >&2; wait", "late\n", "on\n", 0),
    ],
)  # fmt: skip
def test_the_two_streams_are_told_apart(
    local: LocalShell, command: str, stdout: str, stderr: str, status: int
) -> None:
    result = local.shell.run_apart(command)
    assert (result.stdout, result.stderr, result.status) == (stdout, stderr, status)
    assert not result.truncated


def test_much_on_either_stream_is_told_apart(local: LocalShell) -> None:
    loud = "i=0; while [ $i -lt 20000 ]; do echo $i{0}; i=$((i+1)); done; echo {1} >&{2}"
    result = local.shell.run_apart(loud.format(" >&2", "out", 1), 60)
    assert (result.stdout, result.stderr.count("\n")) == ("out\n", 20000)
    result = local.shell.run_apart(loud.format("", "err", 2), 60)
    assert (result.stderr, result.stdout.count("\n")) == ("err\n", 20000)


def test_streams_apart_end_in_time_and_fail_with_the_reason(local: LocalShell) -> None:
    with pytest.raises(CommandTimeout, match="sleep 1000"):
        local.shell.run_apart("sleep 1000", timeout=1)
    assert local.shell.run_apart("echo still here >&2").stderr == "still here\n"
    with pytest.raises(CommandFailed, match="why"):
        local.shell.run_apart("echo no; echo why >&2; exit 4", check=True)
    assert local.shell.run("echo on; echo both >&2").stdout == "on\nboth\n"


def test_a_command_of_ten_thousand_characters_arrives_whole(local: LocalShell) -> None:
    words = " ".join(f"w{number}" for number in range(2000))
    assert local.shell.run(f"echo '{words}'").stdout == words + "\n"


def test_what_is_typed_is_never_what_is_matched(local: LocalShell) -> None:
    local.shell.run("echo one")
    frames = re.findall(r"\](\d{9,}):0:", local.output)
    assert frames
    assert not [number for number in frames if number in local.typed]


def test_nobody_has_to_turn_pages(local: LocalShell) -> None:
    assert local.shell.run("echo $PAGER $SYSTEMD_PAGER").stdout == "cat cat\n"


@pytest.mark.needs("time")
@pytest.mark.parametrize("limit", ["TMOUT=3", "readonly TMOUT=999"])
def test_a_session_outlives_the_time_that_a_terminal_may_be_left(
    tmp_path: Path, limit: str
) -> None:
    profile = tmp_path / "profile"
    profile.write_text(f"{limit}\n")
    local = LocalShell(["bash", "--rcfile", str(profile), "-i"])
    try:
        time.sleep(4)
        assert local.shell.run("echo here").stdout == "here\n"
    finally:
        local.close()


@pytest.mark.needs("time")
def test_a_command_that_does_not_end_is_interrupted(local: LocalShell) -> None:
    with pytest.raises(CommandTimeout, match="sleep 1000"):
        local.shell.run("sleep 1000", timeout=1)
    assert local.shell.run("echo still here").stdout == "still here\n"
    with pytest.raises(CommandTimeout):
        local.shell.run("trap '' INT; sleep 1000", timeout=1)
    assert local.shell.run("echo still here").stdout == "still here\n"


@pytest.mark.needs("time")
def test_a_command_that_ignores_the_interrupt_breaks_the_shell() -> None:
    opened = LocalShell(SHELLS["dash"])
    try:
        with pytest.raises(CommandTimeout):
            opened.shell.run("trap '' INT QUIT; sleep 1000", timeout=1)
        with pytest.raises(ShellBroken):
            opened.shell.run("echo on")
    finally:
        opened.close()


def test_check_turns_a_status_into_a_failure(local: LocalShell) -> None:
    with pytest.raises(CommandFailed, match="status 4") as caught:
        local.shell.run("echo why; exit 4", check=True)
    assert (caught.value.status, caught.value.output) == (4, "why\n")
    with pytest.raises(CheckMisuse):
        local.shell.run("a\0b")


@given(st.binary(max_size=300))
@settings(max_examples=40)
@pytest.mark.parametrize("shell", PARAMS)
def test_every_byte_can_be_typed(shell: str, data: bytes) -> None:
    command = [str(busybox()), "sh"] if shell == "ash" else [shell]
    text = "".join(typeable(byte) for byte in data)
    assert text.isascii()
    assert text.isprintable()
    done = subprocess.run([*command, "-c", f"printf '{text}.'"], capture_output=True, check=True)
    assert done.stdout == data + b"."


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8")))
@settings(max_examples=40)
def test_a_quoted_word_stays_one_word(text: str) -> None:
    done = subprocess.run(
        ["dash", "-c", f"printf '%s' {quote(text)}"], capture_output=True, check=True
    )
    assert done.stdout.decode() == text


def test_files_cross_the_console_byte_for_byte(console_machine: Machine) -> None:
    shell = console_machine.shell
    data = bytes(range(256)) * 9 + b"\r\n\0end"
    shell.write_file("/tmp/it's a file", data)
    assert shell.read_file("/tmp/it's a file") == data
    shell.write_file("/tmp/empty", b"")
    assert shell.read_file("/tmp/empty") == b""
    assert shell.read_file("/tmp/it's a file", limit=10) == data[:10]
    with pytest.raises(CommandFailed):
        shell.read_file("/tmp/no such file")
    with pytest.raises(CommandFailed):
        shell.write_file("/proc/version", b"x")


def test_kernel_messages_do_not_get_into_results(console_machine: Machine) -> None:
    noisy = "for i in 1 2 3 4 5; do echo noise >/dev/kmsg; echo line $i; done"
    lines = [f"line {number}" for number in range(1, 6)]
    assert console_machine.shell.run(noisy).stdout.splitlines() == lines


def test_a_large_output_is_kept_and_an_endless_one_times_out(console_machine: Machine) -> None:
    shell = console_machine.shell
    result = shell.run("i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done", timeout=120)
    assert result.stdout.splitlines() == [str(number) for number in range(3000)]
    with pytest.raises(CommandTimeout):
        shell.run("yes", timeout=2)
    assert shell.run("echo after").stdout == "after\n"


def test_a_question_for_a_password_without_end_is_searched_at_once() -> None:
    start = time.process_time()
    assert not _PASSWORD_ANYWHERE.search("Password for " * (5 << 10))
    assert time.process_time() - start < 1
