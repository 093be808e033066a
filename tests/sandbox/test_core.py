"""What a namespace sandbox promises: isolation, exec, users, life and death."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchflow.base import process_identity
from benchflow.errors import InfrastructureError, UsageError
from benchflow.sandbox import Image, Limits, Sandbox, cleanup, debian, paths
from benchflow.sandbox.cpu_contention import Clock, taken
from benchflow.sandbox.inside.disk_limit import stored_bytes
from benchflow.sandbox.limits import cpu_seconds, create_groups, memory_peak

pytestmark = pytest.mark.needs("sandbox")


@pytest.fixture(scope="module")
def image() -> Image:
    return debian("bookworm")


@pytest.fixture(scope="module")
def box(image: Image) -> Iterator[Sandbox]:
    with Sandbox.start(image, limits=Limits(pids=300)) as running:
        yield running


def processes(box: Sandbox) -> list[str]:
    """Command lines of everything inside but our own helpers."""
    script = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null; echo; done"
    lines = [line.strip() for line in box.exec(script, user="root").text.splitlines()]
    return [line for line in lines if line and "/proc/" not in line and "tr" not in line.split()]


def eventually(truth: object, seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if truth():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


def test_streams_are_separate_and_bytes_stay_bytes(box: Sandbox) -> None:
    result = box.exec("printf 'out\\377'; printf err >&2; exit 7")
    assert (result.stdout, result.stderr, result.status) == (b"out\xff", b"err", 7)
    assert not result.timed_out


def test_a_death_by_signal_is_128_plus_its_number(box: Sandbox) -> None:
    assert box.exec("kill -TERM $$").status == 128 + signal.SIGTERM
    assert box.exec("kill -KILL $$").status == 128 + signal.SIGKILL


def test_what_cannot_be_run_says_why_on_its_own_stderr(box: Sandbox) -> None:
    missing = box.exec(["/no/such/program"])
    assert missing.status == 127 and b"No such file" in missing.stderr
    assert box.exec(["/etc/passwd"]).status == 126
    assert box.exec("true", cwd="/no/such/directory").status == 127
    assert box.exec("true", user="nobody-of-that-name").status == 126


def test_a_command_ignores_no_signal_that_our_caller_ignores(image: Image) -> None:
    script = (
        "import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]\n"
        "from benchflow.sandbox import Sandbox, debian\n"
        "with Sandbox.start(debian('bookworm')) as box:\n"
        "    print(box.exec('grep SigIgn /proc/self/status').text)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    ordinary = (1 << 31) - 1  # those above may be the host's own doing
    assert int(done.stdout.split()[1], 16) & ordinary == 0


def test_big_output_on_both_streams_does_not_deadlock(box: Sandbox) -> None:
    script = "head -c 20000000 /dev/zero & head -c 20000000 /dev/zero >&2; wait"
    result = box.exec(script, timeout=60)
    assert (len(result.stdout), len(result.stderr)) == (20_000_000, 20_000_000)


def test_of_endless_output_the_beginning_and_the_end_are_kept(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchflow.sandbox.execution._KEPT", 100_000)
    seen = 0

    def count(stream: str, data: bytes) -> None:
        nonlocal seen
        seen += len(data)

    result = box.exec("printf first; head -c 1000000 /dev/zero; printf last", on_output=count)
    assert seen == 1_000_009
    assert result.stdout.startswith(b"first\0") and result.stdout.endswith(b"\0last")
    assert b"[benchflow: 800009 bytes are left out here]" in result.stdout
    assert len(result.stdout) < 201_000


def test_stdin_is_empty_unless_given(box: Sandbox) -> None:
    assert box.exec("cat; echo end").text == "end\n"
    data = os.urandom(3_000_000)
    assert box.exec(["cat"], stdin=data).stdout == data
    assert box.exec("head -c 10 >/dev/null", stdin=data).status == 0


def test_output_is_seen_while_the_command_runs(box: Sandbox) -> None:
    seen: list[tuple[str, bytes, float]] = []
    begin = time.monotonic()
    box.exec(
        "echo first; sleep 1; echo second >&2",
        on_output=lambda stream, data: seen.append((stream, data, time.monotonic() - begin)),
    )
    assert [(stream, data) for stream, data, _ in seen] == [
        ("stdout", b"first\n"),
        ("stderr", b"second\n"),
    ]
    assert seen[1][2] - seen[0][2] > 0.5


def test_a_timeout_kills_daemons_that_left_session_and_parent(box: Sandbox) -> None:
    script = "(setsid sleep 4321 &) ; setsid setsid sleep 4322 & sleep 4323"
    begin = time.monotonic()
    result = box.exec(f"echo before; {script}", timeout=3)
    assert result.timed_out and result.status == 137 and result.stdout == b"before\n"
    assert time.monotonic() - begin < 30
    assert not [line for line in processes(box) if "sleep 432" in line]


def test_a_timeout_outruns_a_fork_bomb(box: Sandbox) -> None:
    result = box.exec("bomb() { bomb | bomb & }; bomb; sleep 60", timeout=1.5)
    assert result.timed_out
    assert eventually(lambda: len(processes(box)) <= 3), processes(box)
    assert box.exec("echo alive").text == "alive\n"


@pytest.mark.parametrize(
    "hide",
    [
        "mount -t tmpfs x /proc",
        "echo 'no such line' > /forged; for p in /proc/[0-9]*; do"
        " mount --bind /forged $p/stat; done",
    ],
    ids=["hidden", "forged"],
)
def test_a_timeout_finds_what_hides_behind_another_proc(image: Image, hide: str) -> None:
    with Sandbox.start(image) as own:
        result = own.exec(f"{hide}; setsid sleep 4328 & sleep 99", timeout=1)
        assert result.timed_out
        own.exec(
            "while umount -l /proc/*/stat /proc 2>/dev/null; do :; done; mount -t proc p /proc"
        )
        assert "sleep 4328" not in processes(own) and "sleep 99" not in processes(own)


def test_a_cancelled_command_ends_like_a_timed_out_one(box: Sandbox) -> None:
    read, write = os.pipe()
    threading.Timer(0.3, os.write, (write, b"c")).start()
    assert box.exec("sleep 4324", cancel=read).timed_out
    os.close(read)
    os.close(write)
    assert not [line for line in processes(box) if "sleep 4324" in line]


def test_a_daemon_survives_its_command_and_its_output_does_not_kill_it(box: Sandbox) -> None:
    begin = time.monotonic()
    result = box.exec("(while :; do echo noise || exit; sleep 0.05; done) & echo $!")
    assert time.monotonic() - begin < 10
    pid = result.text.split()[0] if "noise" not in result.text.split()[0] else None
    pid = pid or next(word for word in result.text.split() if word != "noise")
    time.sleep(0.5)
    assert box.exec(f"kill -0 {pid}").status == 0
    box.exec(f"kill -9 {pid}")


def test_killing_everything_inside_leaves_the_sandbox_usable(box: Sandbox) -> None:
    daemon = box.exec("setsid sleep 4325 & echo $!").text.strip()
    result = box.exec("kill -9 -1; echo survived")
    assert result.status in (0, 137)
    # Who is dead has still to be reaped, which takes a moment on a busy host.
    assert eventually(lambda: box.exec(f"kill -0 {daemon}").status != 0)
    assert box.exec("echo alive").text == "alive\n"


def test_no_search_by_name_finds_our_helpers(box: Sandbox) -> None:
    lines = box.exec("cat /proc/1/cmdline /proc/1/comm | tr '\\0' '\\n'").text.split()
    assert set(lines) == {"benchflow-init"}


def test_root_inside_cannot_look_into_process_1(box: Sandbox) -> None:
    for entry in ("mem", "environ", "maps"):
        assert box.exec(f"head -c 1 /proc/1/{entry}").status != 0, entry
    assert box.exec("ls /proc/1/fd/ /proc/1/root/").status != 0
    assert box.exec("kill -9 1; kill -INT 1; kill -TERM 1; sleep 0.1; echo alive").text == "alive\n"


def test_a_command_inherits_no_descriptor_of_ours(box: Sandbox) -> None:
    listed = box.exec(["ls", "-l", "/proc/self/fd"]).text
    assert len(listed.splitlines()) == 1 + 4, listed  # total, three streams, ls's own directory


def test_users_come_from_the_sandbox_own_tables(box: Sandbox) -> None:
    box.exec("useradd -m -u 1234 worker && groupadd -g 4321 crew && usermod -aG crew worker")
    assert box.exec("id -u; id -G; echo $HOME", user="worker").text.split() == [
        "1234",
        "1234",
        "4321",
        "/home/worker",
    ]
    assert box.exec("id -u", user=1234).text == "1234\n"
    assert box.exec("id -u; id -g", user="4242:4321").text.split() == ["4242", "4321"]
    assert box.exec("cat /etc/shadow", user="worker").status != 0
    assert box.exec("echo x > /etc/owned", user="worker").status != 0


def test_hostile_user_tables_stop_only_their_own_command(box: Sandbox) -> None:
    box.exec("cp /etc/passwd /etc/passwd.kept; rm /etc/passwd; mkfifo /etc/passwd")
    try:
        assert box.exec(["true"], user="worker", timeout=10).status == 126
        # A shell would read the table, too, and hang by itself.
        assert box.exec(["echo", "root works"], user="root", timeout=10).text == "root works\n"
    finally:
        box.exec(["mv", "-f", "/etc/passwd.kept", "/etc/passwd"], user="root", timeout=10)


def test_environment_and_directory(image: Image) -> None:
    with Sandbox.start(image, env={"A": "1", "B": "2"}, workdir="/made/for/it") as own:
        assert own.exec("echo $A $B $C; pwd", env={"B": "3", "C": "4"}).text == (
            "1 3 4\n/made/for/it\n"
        )
        assert own.exec("pwd", cwd="/tmp").text == "/tmp\n"
        assert "BENCHFLOW" not in own.exec("env").text


def test_a_very_long_command_line_is_carried_whole(box: Sandbox) -> None:
    text = "x" * 120_000
    assert box.exec(f"echo {text}").stdout == text.encode() + b"\n"
    too_long = box.exec("x" * 300_000)
    assert too_long.status == 126 and b"too long" in too_long.stderr


def test_commands_run_side_by_side(box: Sandbox) -> None:
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(box.exec(f"sleep 0.5; echo {n}").text))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [f"{n}\n" for n in range(8)]


def test_root_inside_is_nobody_on_the_host(box: Sandbox) -> None:
    box.exec("sleep 4326 & sleep 0.3; true")
    owners = {
        Path(f"/proc/{entry.name}").stat().st_uid
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and b"4326" in _cmdline(entry)
    }
    assert owners and all(uid >= 65_536 for uid in owners), owners
    box.exec("pkill -f 'sleep 432[6]' || kill $(pidof sleep)")


def _cmdline(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_namespaces_are_all_its_own(box: Sandbox) -> None:
    for kind in ("user", "mnt", "pid", "ipc", "uts", "net", "cgroup"):
        inside = box.exec(["readlink", f"/proc/self/ns/{kind}"]).text.strip()
        assert inside and inside != str(Path(f"/proc/self/ns/{kind}").readlink()), kind


def test_set_uid_programs_work_inside(box: Sandbox) -> None:
    box.exec("cp /usr/bin/id /usr/local/bin/rootid && chmod 4755 /usr/local/bin/rootid")
    assert box.exec("rootid -u", user="nobody").text == "0\n"


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p /m1 && mount -t tmpfs tmpfs /m1",
        "mkdir -p /m2 && mount --bind /usr /m2",
        "mkdir -p /m3 && mount --bind /dev /m3",
        "mkdir -p /m4 && mount --rbind /dev /m4",
        "mkdir -p /m5 && mount -t proc proc /m5",
        "mkdir -p /m6 && mount -t sysfs sysfs /m6",
        "chroot / true",
        "unshare --user --map-root-user --mount --pid --fork mount -t proc proc /proc",
        "hostname other && test $(hostname) = other",
        "echo 'int main(void){return 0;}' > /dev/null; test -c /dev/null; test -c /dev/urandom",
        "test -d /dev/shm -a -e /dev/ptmx -a -d /dev/pts; stat -c %a /tmp | grep -qx 1777",
    ],
)
def test_what_distribution_tools_need_works(box: Sandbox, command: str) -> None:
    result = box.exec(command)
    assert result.status == 0, result.error_text


@pytest.mark.parametrize(
    "path",
    [
        "/proc/sysrq-trigger",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/drop_caches",
        "/proc/sys/fs/binfmt_misc/register",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/power/state",
        "/sys/module/kernel/parameters/panic",
    ],
)
def test_the_host_kernel_cannot_be_written(box: Sandbox, path: str) -> None:
    result = box.exec(f"test -e {path} || exit 77; echo 1 > {path}")
    assert result.status != 0


def test_a_limit_is_enforced_or_reported(image: Image) -> None:
    limits = Limits(memory_mb=64, pids=40, cpus=1)
    with Sandbox.start(image, limits=limits) as own:
        report = own.limits_report()
        assert set(report) >= {"memory", "pids", "cpus"}
        assert all(text.startswith(("enforced: ", "not enforced: ")) for text in report.values())
        if report["memory"].startswith("enforced"):
            hog = own.exec("head -c 300000000 /dev/zero | tail -c 299999999 | wc -c")
            assert hog.text.strip() != "299999999"
            assert own.usage().memory_peak_mb == pytest.approx(64, rel=0.2)
        if report["pids"].startswith("enforced"):
            many = own.exec("for i in $(seq 100); do sleep 3 & done; wait", timeout=30)
            assert b"fork" in many.stderr or many.status != 0
        assert own.exec("echo alive").text == "alive\n"


def test_what_others_took_of_the_processors_is_told(image: Image) -> None:
    busy = [
        subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 1)
    ]
    try:
        with Sandbox.start(image) as idle:
            idle.exec("sleep 3")
            idle.kill()
            used = idle.usage()
    finally:
        for one in busy:
            one.kill()
            one.wait()
    if used.cpu_seconds is None:
        assert used.others_share is None
    else:
        assert used.others_share is not None
        assert 0.6 < used.others_share <= 1


def test_a_sandboxs_own_work_is_nobody_elses(tmp_path: Path) -> None:
    (tmp_path / "before").write_text("cpu  100 0 100 5000 300 0 0 50 20 0\ncpu0 1 2 3\n")
    (tmp_path / "after").write_text("cpu  700 0 200 5600 300 0 50 100 20 0\ncpu0 1 2 3\n")
    before, after = Clock.now(tmp_path / "before"), Clock.now(tmp_path / "after")
    assert before and after
    tick = os.sysconf("SC_CLK_TCK")
    assert after.busy - before.busy == pytest.approx(800 / tick)
    since, until = Clock(0.0, 0.0), Clock(10.0, 9.0 * (os.cpu_count() or 1))
    half = 5.0 * (os.cpu_count() or 1)
    assert taken(since, until, half) == pytest.approx(0.4)
    assert taken(since, until, 2 * half) == 0
    assert taken(since, until, None) is None
    assert Clock.now(tmp_path / "nothing") is None
    (tmp_path / "odd").write_text("intr 5\n")
    assert Clock.now(tmp_path / "odd") is None


def test_counters_can_be_read_while_somebody_removes_their_group() -> None:
    """The kernel answers ENODEV for a file that was opened a moment before its group went."""
    wanted = Limits(memory_mb=64)
    name = f"read-{os.getpid()}"
    groups = create_groups(name, wanted)
    assert groups.paths, groups.report
    faults: list[Exception] = []
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            try:
                memory_peak(groups)
                cpu_seconds(groups)
            except OSError as error:
                faults.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(200):
        groups.remove()
        create_groups(name, wanted)
    over.set()
    reader.join()
    groups.remove()
    assert faults == []


def test_a_disk_bomb_is_stopped_at_the_limit_and_the_sandbox_lives(image: Image) -> None:
    with Sandbox.start(image, limits=Limits(disk_mb=40)) as own:
        bomb = "while :; do i=$((i+1)); head -c 1000000 /dev/zero > /f$i; sleep 0.01; done"
        result = own.exec(bomb, timeout=180)
        assert result.status == 137 and not result.timed_out
        assert own.limits_report()["disk"].startswith("enforced")
        assert own.exec("rm -f /f*; sleep 2; echo alive").text == "alive\n"
        own.kill()
        assert 40 < (own.usage().disk_mb or 0) < 4000


def test_what_lies_deeper_than_any_path_counts_as_written(image: Image) -> None:
    """A path has at most 4,096 bytes, a tree any depth."""
    with Sandbox.start(image, limits=Limits(disk_mb=40)) as own:
        deep = "cd /root; n=$(printf %0250d 0); for i in $(seq 20); do mkdir $n; cd $n; done"
        result = own.exec(f"{deep}; head -c 60M /dev/zero > f; sleep 60", timeout=90)
        assert result.status == 137 and not result.timed_out


def test_a_tree_with_more_levels_than_descriptors_is_measured_whole(tmp_path: Path) -> None:
    wanted = 0
    above = os.open(tmp_path, os.O_RDONLY)
    for level in range(600):
        os.mkdir("side", dir_fd=above)
        os.mkdir("way", dir_fd=above)
        file = os.open("side/file", os.O_WRONLY | os.O_CREAT, dir_fd=above)
        os.write(file, b"x" * level)
        names = ("side", "way", "side/file")
        os.fsync(file)
        os.close(file)
        wanted += sum(os.stat(name, dir_fd=above).st_blocks * 512 for name in names)
        below = os.open("way", os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)
    assert stored_bytes(str(tmp_path)) == wanted > 0


def test_only_its_own_process_is_killed_with_a_sandbox(image: Image) -> None:
    """The number of a process 1 that died long ago may have become anybody's."""
    own = Sandbox.start(image)
    own._running.helper.kill()
    own._running.helper.wait()
    assert eventually(lambda: process_identity.start_time(own.init_pid) is None)
    with subprocess.Popen(["sleep", "60"]) as stranger:
        own._running.init_pid = stranger.pid
        own.stop()
        assert stranger.poll() is None
        stranger.kill()


def test_a_stopped_sandbox_leaves_nothing(image: Image) -> None:
    own = Sandbox.start(image, network="user", limits=Limits(memory_mb=128))
    own.exec(
        "mkdir -p /deep; cd /deep; for i in $(seq 200); do mkdir d; cd d; done; setsid sleep 99 &"
    )
    for path in own._running.groups.paths.values():
        # Where the kernel counts swap: what is swapped out is no memory to be had beside the limit.
        for name, value in (("memory.swap.max", "0"), ("memory.memsw.limit_in_bytes", "134217728")):
            if (path / name).is_file():
                assert (path / name).read_text().strip() == value
    helper, groups = own._running.helper.pid, own._running.groups.paths.values()
    own.stop()
    assert not own.state.exists()
    assert not any(path.exists() for path in groups)
    assert (
        process_identity.start_time(helper) is None
        and process_identity.start_time(own.init_pid) is None
    )
    with pytest.raises(InfrastructureError):
        own.exec("true")
    own.stop()


def test_a_killed_owner_ends_its_sandbox_and_the_next_command_cleans_up(
    image: Image, tmp_path: Path
) -> None:
    script = (
        "from benchflow.sandbox import *\n"
        "import json\n"
        "box = Sandbox.start(debian('bookworm'), network='user', limits=Limits(memory_mb=64))\n"
        "box.exec('setsid sleep 4327 & true')\n"
        "print(json.dumps([box.init_pid, box._running.helper.pid, str(box.state),"
        " [str(p) for p in box._running.groups.paths.values()]]), flush=True)\n"
        "box.exec('sleep 1000')\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    init, helper, state, groups = json.loads(owner.stdout.readline())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert eventually(lambda: process_identity.start_time(init) is None)
    assert eventually(lambda: process_identity.start_time(helper) is None)
    assert Path(state).exists()
    assert Path(state).name in cleanup.gc()
    assert not Path(state).exists()
    assert not any(Path(group).exists() for group in groups)


def test_what_somebody_deletes_is_left_to_him_while_he_lives() -> None:
    other = subprocess.Popen(["sleep", "600"])
    theirs = paths.sandboxes() / f".large.{other.pid}.deleted"
    theirs.mkdir()
    os.utime(theirs, (0, 0))
    try:
        cleanup.gc()
        assert theirs.is_dir()
    finally:
        other.kill()
        other.wait()
    assert theirs.name in cleanup.gc()
    assert not [path for path in paths.sandboxes().iterdir() if "large" in path.name]


def test_what_a_killed_owner_left_is_kept_while_somebody_waits_and_gone_on_with(
    image: Image, tmp_path: Path
) -> None:
    waiting = tmp_path / "waiting"
    waiting.touch()
    script = (
        "from pathlib import Path\n"
        "from benchflow.sandbox import *\n"
        f"box = Sandbox.start(debian('bookworm'), name='cut-off', keep_while=[Path('{waiting}')])\n"
        "box.exec('echo written > /root/file; setsid sleep 4328 & true')\n"
        "print(box.init_pid, flush=True)\n"
        "box.exec('sleep 1000')\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    init = int(owner.stdout.readline())
    with pytest.raises(UsageError, match="no sandbox was left"):
        Sandbox.start(image, name="cut-off", again=True)  # its owner lives
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert eventually(lambda: process_identity.start_time(init) is None)
    assert "cut-off" not in cleanup.gc()
    assert "cut-off" in cleanup.kept()
    other = Image("sha256:0", image.layers, image.config)
    with pytest.raises(UsageError, match="image has changed"):
        Sandbox.start(other, name="cut-off", again=True)
    with Sandbox.start(image, name="cut-off", again=True, keep_while=[waiting]) as box:
        assert box.exec("cat /root/file").text == "written\n"
        assert "sleep 4328" not in processes(box)
        assert "cut-off" not in cleanup.kept()
        box.stop(delete=False)
    waiting.unlink()
    assert "cut-off" not in cleanup.kept()  # this process lives, and owns it still
    cleanup.delete(box.state, box.id_map)


def test_a_killed_helper_ends_its_sandbox(image: Image) -> None:
    own = Sandbox.start(image, network="user")
    own._running.helper.kill()
    assert eventually(lambda: process_identity.start_time(own.init_pid) is None)
    with pytest.raises(InfrastructureError):
        own.exec("true")
    assert not own.alive
    own.stop()


def test_the_living_are_not_collected(box: Sandbox) -> None:
    assert box.name not in cleanup.gc()
    assert box.exec("echo alive").text == "alive\n"


def test_a_start_that_fails_says_why_and_leaves_nothing(image: Image, tmp_path: Path) -> None:
    name = f"broken-{os.getpid()}"
    broken = Image("sha256:0", (tmp_path / "missing",), image.config)
    with pytest.raises(InfrastructureError, match="missing"):
        Sandbox.start(broken, name=name)
    assert not (paths.sandboxes() / name).exists()
    with pytest.raises(UsageError):
        Sandbox.start(image, name=f"../{name}")
    assert not (paths.sandboxes().parent / name).exists()


def test_two_sandboxes_cannot_share_a_name(image: Image) -> None:
    with Sandbox.start(image, name="one-of-a-kind"), pytest.raises(UsageError, match="in use"):
        Sandbox.start(image, name="one-of-a-kind")
