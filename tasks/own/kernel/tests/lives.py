"""The kernel with BusyBox: its shell, its terminal, its nights."""

from __future__ import annotations

import contextlib
import hashlib
import re
import subprocess
import time
from collections.abc import Callable

from exam import Bench, proof
from rootfs import Root, word

from benchflow.boot import GuestError, Image

RC = """mount -t proc proc /proc
export PATH=/bin PS1='# '
{more}
"""
SHELL = """setsid sh -c 'exec sh -i </dev/ttyS0 >/dev/ttyS0 2>&1'
while :; do sleep 1000; done"""


class Living:
    """A machine with BusyBox; `run` asks its shell, as any other machine's."""

    def __init__(
        self,
        bench: Bench,
        why: str,
        more: str = "",
        root: Root | None = None,
        append: str = "",
        **spec,
    ) -> None:
        self.bench = bench
        self.root = root or Root(bench.rng)
        self.root.busybox()
        self.root.put("/etc/rc", RC.format(more=more or SHELL).encode())
        self.image = self.root.image(bench.path("root.img"), megabytes=spec.pop("megabytes", None))
        self.start = bench.start(
            f"{append} init=/bin/busybox -- sh /etc/rc".strip(), why, self.image, **spec
        )
        self.machine = self.start.machine
        try:
            self.shell = self.machine.attach(60)
        except GuestError as error:
            self.start.close()
            raise AssertionError(
                f"{why}: no shell answers: {error}; the console ends: {self.start.end()}"
            ) from None

    def say(self, command: str, seconds: float = 30) -> str:
        """What the command printed, without its last newline."""
        return self.shell.run(command, timeout=seconds).stdout.rstrip("\n")

    def becomes(self, command: str, right: Callable[[str], bool]) -> str:
        """What the command prints once that is right, or after ten seconds of asking."""
        deadline = self.machine.deadline(10)
        while not right(said := self.say(command)) and deadline.remaining() > 0:
            time.sleep(0.2)
        return said

    def close(self) -> None:
        """Off."""
        self.start.close()


def in_order(path, why: str) -> None:
    """`e2fsck -fn` finds nothing."""
    done = subprocess.run(
        ["e2fsck", "-f", "-n", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"{why} e2fsck -fn ends with {done.returncode}: {done.stdout[-500:]!r}"
    )


# ---- shell --------------------------------------------------------------------------------------


def scripts(living: Living) -> None:
    """Scripts, each with words of this verification."""
    rng = living.bench.rng
    a, b, c = (word(rng) for _ in range(3))
    n = rng.randint(11, 40)
    cases = {
        f"echo {a} {b} | tr ' ' '\\n' | sort -r | head -n 1": max(a, b),
        (f"for i in $(seq {n}); do echo $i; done | awk '{{s += $1}} END {{print s}}'"): str(
            n * (n + 1) // 2
        ),
        f'f() {{ echo "$1-$#"; return 3; }}; f {c} x y; echo $?': f"{c}-3\n3",
        f'x={a}; x=${{x%?}}; echo "${{x}}.${{#x}}"': f"{a[:-1]}.{len(a) - 1}",
        f"cat <<E | sed s/{b}/{c}/\none {b}\nE": f"one {c}",
        (
            f"echo {a} >/tmp/{a}; echo {b} >>/tmp/{a}; wc -l </tmp/{a}; "
            f"cat /tmp/{a} | md5sum | cut -c1-32"
        ): f"2\n{hashlib.md5(f'{a}{chr(10)}{b}{chr(10)}'.encode()).hexdigest()}",
        f"(trap 'echo {c}' EXIT; exit 5); echo $?": f"{c}\n5",
        f"sh -c 'trap \"echo {b}\" USR1; kill -USR1 $$; echo on'": f"{b}\non",
        f"sleep 0.3 & p=$!; wait $p; echo $? {a}": f"0 {a}",
        (
            f"(sleep 100 & echo $! >/tmp/p; wait) & while [ ! -s /tmp/p ]; do sleep 0.1; done; "
            f"kill $(cat /tmp/p); wait; echo {c}"
        ): c,
        "i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; echo $i": "300",
        f"case {a} in {a[:2]}*) echo yes;; *) echo no;; esac": "yes",
        f"yes {b} | head -n 5000 | uniq -c | awk '{{print $1, $2}}'": f"5000 {b}",
        f"ls /not/there 2>&1 >/dev/null | grep -c {'not/there'}": "1",
        f'set -- {a} {b} {c}; shift; echo $# $1; echo "$*"': f"2 {b}\n{b} {c}",
        f"mkfifo /tmp/f{n}; cat /tmp/f{n} & echo {b} >/tmp/f{n}; wait": b,
        (
            f"printf '%s\\n' {c} {a} {b} | xargs -n 1 echo got | sort | tail -n 1"
        ): f"got {max(a, b, c)}",
        (
            f"echo {a} | (read x; echo ${{x}}${{x}}) | tee /tmp/tee | cat; cat /tmp/tee"
        ): f"{a}{a}\n{a}{a}",
    }
    wrong = []
    for command, due in cases.items():
        try:
            said = living.say(command)
        except GuestError as error:
            said = str(error)[:200]
            if len(wrong) > 2:
                break
        if said != due:
            wrong.append(f"`{command}` said {said!r}, not {due!r}")
    assert not wrong, f"[R26] {'; '.join(wrong[:4])}"


def applets(living: Living) -> None:
    """What applets need of /proc and /dev."""
    assert living.say("uname -s") == "Linux", "[R27] uname -s"
    living.say("sleep 77 &")
    listed = living.becomes("ps", lambda said: "sleep 77" in said)
    assert re.search(r"^ *1 .*\n", listed, re.MULTILINE) and "sleep 77" in listed, (
        f"[R27] ps: {listed[-300:]!r}"
    )
    number = living.say("pidof sleep").split()
    assert number and living.say(f"tr '\\0' ' ' </proc/{number[0]}/cmdline").strip().endswith(
        "sleep 77"
    ), "[R27] pidof, cmdline"
    assert living.say(
        f"grep -c '^PPid:' /proc/{number[0]}/status; ls /proc/{number[0]}/fd | head -n 1"
    ).split() == ["1", "0"]
    living.say(f"kill {number[0]}")
    left = living.becomes("ps", lambda said: "sleep 77" not in said)
    assert "sleep 77" not in left, f"[R27] kill: {left[-300:]!r}"
    free = re.search(r"Mem: +(\d+) +(\d+)", living.say("free"))
    assert free and 150_000 < int(free[1]) < 262_144 and int(free[2]) < int(free[1]), "[R27] free"
    assert "up" in living.say("uptime") and "load average" in living.say("uptime"), "[R27] uptime"
    assert "/proc" in living.say("mount") and "ext2" in living.say("mount"), "[R27] mount"
    assert re.search(r"PID", living.say("top -b -n 1")), "[R27] top"
    itself = living.say("readlink /proc/self/exe")
    assert itself == "/bin/busybox", f"[R27] /proc/self/exe of readlink leads to {itself!r}"
    some = living.say(
        "mount -t tmpfs none /tmp && echo there >/tmp/x && cat /tmp/x && grep tmpfs /proc/mounts"
    )
    assert some.startswith("there") and " /tmp " in some, f"[R27] tmpfs: {some!r}"
    devices = living.say(
        "head -c 5 /dev/zero | od -An -tx1; echo x >/dev/null; echo x >/dev/full; echo $?; "
        "head -c 16 /dev/urandom | wc -c; "
        "ls /dev/console /dev/tty /dev/ttyS0 /dev/random /dev/ptmx /dev/vda | wc -l"
    )
    numbers = devices.split("\n")
    assert "00 00 00 00 00" in numbers[0] and numbers[-2:] == ["16", "6"], (
        f"[R27] devices: {devices!r}"
    )
    two = {living.say("head -c 16 /dev/urandom | od -An -tx1") for _ in range(3)}
    assert len(two) == 3, "[R27] /dev/urandom gives the same again"


def goes_off(bench: Bench) -> None:
    """`poweroff -f` and `reboot -f`, and what was written is there."""
    for command in ("poweroff -f", "reboot -f"):
        living = Living(bench, f"[R27] {command}")
        said = word(bench.rng)
        try:
            assert living.say(f"mkdir /kept; echo {said} >/kept/word; cat /kept/word") == said
            boots = living.machine.boots
            living.machine.send(f"{command}\n")
            deadline = living.machine.deadline(20)
            while living.machine.alive and living.machine.boots == boots:
                assert deadline.remaining() > 0, (
                    f"[R27] {command}: nothing happens; the console ends: {living.start.end()}"
                )
                time.sleep(0.05)
            assert (command == "reboot -f") == living.machine.alive, (
                f"[R27] {command}: the machine is {'on' if living.machine.alive else 'off'}"
            )
            if command == "poweroff -f":
                disk = living.machine.flatten()
                in_order(disk, "[R34] after poweroff")
                assert Image(disk).ext4().read_text("/kept/word") == f"{said}\n", (
                    "[R34] what was written is not on the disk"
                )
        finally:
            living.close()


# ---- time ---------------------------------------------------------------------------------------


def keeps_time(bench: Bench) -> None:
    """The time of day, and ten seconds of it beside ours."""
    root = Root(bench.rng)
    path = root.program("clocks")
    image = root.image(bench.path("root.img"))
    start = bench.start(f"init={path} -- day rate", "[R28] time", image)
    marks: list[tuple[float, float]] = []
    try:
        day = start.hears(r"^<day (\d+)>\n", 20)
        assert abs(int(day[1]) - time.time()) <= 3, (
            f"[R28] it is {int(day[1]) - time.time():+.0f} s off the time of day"
        )
        seen, deadline = 0, start.machine.deadline(40)
        while len(marks) < 41:
            text = start.text
            now = time.monotonic()
            for found in re.finditer(r"^<at (\d+)>\n", text, re.MULTILINE):
                if found.start() >= seen:
                    marks.append((int(found[1]) / 1e6, now))
                    seen = found.end()
            assert deadline.remaining() > 0, (
                f"[R28] ten seconds are not over; the console ends: {start.end()}"
            )
            time.sleep(0.002)
    finally:
        start.close()
    # Each mark arrives late by what the host was busy; the least late of both ends tell the rate.
    early = min(marks[:14], key=lambda mark: mark[1] - mark[0])
    late = min(marks[-14:], key=lambda mark: mark[1] - mark[0])
    rate = (late[0] - early[0]) / (late[1] - early[1])
    assert abs(rate - 1) <= 0.02, f"[R28] its second is {1 / rate:.3f} of ours"


# ---- terminal -----------------------------------------------------------------------------------


def terminal(bench: Bench, part: str) -> None:
    """One part of the terminal's program, typed to."""
    rng = bench.rng
    root = Root(rng)
    path = root.program("tty")
    image = root.image(bench.path("root.img"))
    start = bench.start(f"init={path} -- {part}", f"[R29] {part}", image)
    mixed = b""
    try:
        if part == "raw":
            typed = "".join(rng.choices("abcXYZ019\x03\x04\x1a\x15", k=11)) + "\r"
            start.hears(r"^<raw>\n", 20)
            start.machine.send(typed)
            mixed = typed.encode()
        if part == "editing":
            start.hears(r"^<editing>\n", 20)
            one, two, three, four, five = (word(rng) for _ in range(5))
            for typed, comes in (
                (f"{one}xyz\x7f\x7f\x7f\r", f"{one}\n"),
                (f"{two}\x15{three}\n", f"{three}\n"),
                (f"{four}\x04", four),
                ("\x04", ""),
                (f"{one} {two}\x17{five}\n", f"{one} {five}\n"),
            ):
                start.machine.send(typed)
                mixed += comes.encode()
                time.sleep(0.3)
        if part == "silent":
            start.hears(r"^<silent>\n", 20)
            hidden = word(rng, 5)
            start.machine.send(f"{hidden}\n")
            mixed = f"{hidden}\n".encode()
        if part == "jobs":
            for mark, key in (("interrupt", "\x03"), ("suspend", "\x1a"), ("quit", "\x1c")):
                start.hears(rf"<{mark}>\n", 20, f"[R30] {mark}")
                start.machine.send(key)
        found = start.hears(rf"^.*@{part} (ok|no) ([^\n]*)\n", 40)
        assert found[1] == "ok", f"[R29] {part}: {found[2]}"
        assert found[2] == proof(root.salts[path], part, mixed), (
            f"[R29] {part}: other bytes came than were typed"
        )
        if part == "silent":
            assert hidden not in start.text, "[R29] what is typed is shown without ECHO"
        if part == "editing":
            assert five in start.text, "[R29] what is typed is not shown"
    finally:
        start.close()


def in_front(living: Living, seconds: int) -> None:
    """A program sleeps in front of the shell, and has said so."""
    said = word(living.bench.rng)
    living.machine.send(f"sh -c 'echo {said[:3]}\"\"{said[3:]}; exec sleep {seconds}'\n")
    living.start.hears(rf"^{said}\n", 20, "[R30] a program in front of the shell")


def types_until(living: Living, keys: str, pattern: str, why: str) -> None:
    """Keys and a line are typed until the answer comes: keys also take away what was typed."""
    deadline = living.machine.deadline(20)
    while True:
        living.machine.send(keys)
        with contextlib.suppress(AssertionError):
            living.start.hears(pattern, 3, why)
            return
        if deadline.remaining() <= 0:
            living.start.hears(pattern, 1, why)


def job_control(bench: Bench) -> None:
    """^C, ^Z, bg, fg and jobs in BusyBox's shell."""
    living = Living(bench, "[R30] job control")
    start, machine = living.start, living.machine
    try:
        said = word(bench.rng)
        in_front(living, 500)
        machine.send("\x03")
        machine.send(f"echo $?-{said[:3]}''{said[3:]}\n")
        start.hears(rf"130-{said}\n", 20, "[R30] ^C ends what is in front, and the shell goes on")
        in_front(living, 501)
        machine.send("\x1a")
        machine.send("jobs\n")
        start.hears(r"Stopped.*sleep 501", 20, "[R30] ^Z stops what is in front")
        machine.send("fg\n")
        ended = f"\x03jobs; echo {said[:2]}''{said[2:]}-$?\n"
        types_until(living, ended, rf"^{said}-0\n", "[R30] fg, then ^C")
        in_front(living, 502)
        machine.send("\x1a")
        machine.send("bg; jobs\n")
        start.hears(r"Running.*sleep 502", 20, "[R30] bg")
    finally:
        living.close()


# ---- nights -------------------------------------------------------------------------------------

MIX = (
    "while :; do find / -xdev -type f | head -n 200 | xargs sha256sum >/dev/null; done",
    (
        "while :; do i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo $i; done | "
        "sort -rn | awk '{{s+=$1}} END {{print s}}' >/dev/null; done"
    ),
    (
        "sh -c 'while :; do mkdir -p /kept/$$; for f in 1 2 3 4 5 6 7 8; do "
        "head -c 30000 /dev/urandom >/kept/$$/$f; mv /kept/$$/$f /kept/$$/x$f; done; "
        "rm -r /kept/$$; done'"
    ),
    "while :; do yes x | head -c 2000000 | md5sum >/dev/null; done",
    "while :; do sleep 0.02 & sleep 0.01; kill $! 2>/dev/null; wait; done 2>/dev/null",
    "while :; do {threads} seed=1 sums turns futexes signalled >/dev/null; done",
    "while :; do {pipes} seed=2 transfer together row >/dev/null; done",
    "while :; do {memory} seed=3 mapping many dropped >/dev/null; done",
    "while :; do {unixes} seed=4 pairs abstract >/dev/null; done",
    "while :; do {signals} seed=5 masks registers defaults >/dev/null; done",
    "while :; do {paging} seed=6 vast shared >/dev/null; done",
    "while :; do {waits} seed=7 polls epolls events >/dev/null; done",
)


def night(bench: Bench, cpus: int) -> None:
    """A drawn mix for a minute; it still answers, programs still hold, the disk is in order."""
    root = Root(bench.rng)
    names = ("threads", "pipes", "memory", "unixes", "signals", "paging", "waits")
    paths = {name: root.program(name) for name in names}
    living = Living(bench, "[R46] a night", root=root, cpus=cpus, megabytes=64)
    try:
        living.say("mkdir -p /kept")
        chosen = bench.rng.sample(MIX, 7)
        for command in chosen:
            living.say(f"({command.format(**paths)}) >/dev/null 2>&1 &")
        deadline = living.machine.deadline(60)
        slowest = 0.0
        while deadline.remaining() > 0:
            said, begun = word(bench.rng), living.machine.deadline(600)
            assert living.say(f"echo {said}", 60) == said, "[R46] it answers with something else"
            slowest = max(slowest, begun.used())
            time.sleep(2)
        assert slowest <= 5 + 3, f"[R46] an answer took {slowest:.1f} s"
        living.machine.send("kill -9 -1\n")
        time.sleep(1)
        found = living.say(f"{paths['pipes']} seed=9 simple row | grep -c ' ok '", 60)
        assert found == "2", f"[R46] after that night programs do not hold: {found!r}"
        living.machine.send("sync; poweroff -f\n")
        living.start.off(60, "[R46] after a night")
        in_order(living.machine.flatten(), "[R46] after a night")
    except GuestError as error:
        raise AssertionError(
            f"[R46] {cpus} processors: {error}; the console ends: {living.start.end()}"
        ) from None
    finally:
        living.close()
