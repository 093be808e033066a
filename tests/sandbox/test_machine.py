"""A machine in the agent's place: real guests of QEMU, booted from a task's image."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchflow.errors import UsageError
from benchflow.gateway.doors.netns_listener import listen_inside
from benchflow.sandbox import Limits, Mount, debian, gc
from benchflow.sandbox.transfer import Unreadable
from benchflow.sandbox.vm.machine import Machine, MachineLost

pytestmark = [pytest.mark.needs("sandbox", "e2fsprogs"), pytest.mark.slow]
LIMITS = Limits(memory_mb=512, cpus=1, disk_mb=1024)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown")
    (folder / "bin").mkdir()
    (folder / "bin/tool").write_text("#!/bin/sh\necho it runs\n")
    (folder / "bin/tool").chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def machine(shown: Path) -> Iterator[Machine]:
    mounts = [Mount(shown, "/opt/tools/shown")]
    with Machine.start(debian(), limits=LIMITS, mounts=mounts, hostname="builder") as made:
        yield made


def out(machine: Machine, command: str, **how: object) -> str:
    done = machine.exec(command, timeout=300, **how)  # type: ignore[arg-type]
    assert done.status == 0, (command, done.text, done.error_text)
    return done.text


def test_systemd_is_process_one_and_nothing_failed(machine: Machine) -> None:
    assert out(machine, "cat /proc/1/comm; hostname") == "systemd\nbuilder\n"
    assert out(machine, "systemctl list-units --failed --no-legend") == ""


def test_a_loop_device_is_partitioned_formatted_and_mounted(machine: Machine) -> None:
    first, sectors = 2048, 90 * 2048
    entry = struct.pack("<B3sB3sII", 0, b"", 0x83, b"", first, sectors)
    table = bytes(446) + entry + bytes(48) + b"\x55\xaa"
    out(machine, "truncate -s 96M /var/disk; dd of=/var/disk conv=notrunc status=none", stdin=table)
    made = out(
        machine,
        "set -e; cd /var; d=$(losetup -fP --show disk); mkfs.ext4 -q ${d}p1; mkdir -p /mnt/p; "
        "mount ${d}p1 /mnt/p; echo kept >/mnt/p/f; umount /mnt/p; losetup -d $d; "
        "mount -o loop,offset=1048576 disk /mnt/p; cat /mnt/p/f; umount /mnt/p",
    )
    assert made == "kept\n"


def test_modules_load_and_settings_are_its_own(machine: Machine) -> None:
    before = Path("/proc/sys/kernel/panic").read_text()
    shown = out(
        machine, "modprobe dummy && grep -c ^dummy /proc/modules; echo 77 >/proc/sys/kernel/panic"
    )
    assert shown == "1\n"
    assert Path("/proc/sys/kernel/panic").read_text() == before != "77\n"


def test_a_service_is_started_by_systemd(machine: Machine) -> None:
    unit = "[Service]\\nExecStart=/bin/sleep 1000\\n"
    out(machine, f"printf '{unit}' >/etc/systemd/system/nap.service; systemctl start nap")
    assert out(machine, "systemctl is-active nap") == "active\n"


def test_a_folder_of_the_hosts_is_shown_read_only(machine: Machine) -> None:
    assert out(machine, "/opt/tools/shown/bin/tool", user="nobody") == "it runs\n"
    assert machine.exec("echo x >/opt/tools/shown/bin/tool").status != 0


def test_a_writable_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="shares no folder"):
        Machine.start(debian(), mounts=[Mount(tmp_path, "/x", read_only=False)])


def test_of_a_gigabyte_of_output_both_ends_are_kept(machine: Machine) -> None:
    done = machine.exec("echo first; head -c 300M /dev/zero; echo last", timeout=600)
    assert done.status == 0 and len(done.stdout) < 70 << 20
    assert done.stdout.startswith(b"first\n") and done.stdout.endswith(b"last\n")
    assert b"bytes are left out here" in done.stdout


def test_standard_input_of_some_megabytes_arrives(machine: Machine) -> None:
    data = os.urandom(3 << 20)
    done = machine.exec("cat", stdin=data, timeout=300)
    assert done.stdout == data


def test_what_a_program_inside_asks_of_its_loopback_reaches_the_rooms(machine: Machine) -> None:
    with listen_inside(machine.init_pid, 4141) as door:
        machine.forward(4141)

        def answer() -> None:
            for _ in range(2):
                taken, _ = door.accept()
                with taken:
                    taken.sendall(b"got " + taken.recv(1000))
                    taken.shutdown(socket.SHUT_WR)

        answering = threading.Thread(target=answer, daemon=True)
        answering.start()
        ask = "exec 3<>/dev/tcp/127.0.0.1/4141; echo hello >&3; cat <&3"
        assert out(machine, f"{ask}; exec 3>&-; {ask}") == "got hello\ngot hello\n"
        answering.join(30)


def test_killing_everything_leaves_the_machine_up(machine: Machine) -> None:
    done = machine.exec("kill -9 -1; sleep 60", timeout=300)
    assert done.status == 137
    assert out(machine, "echo up") == "up\n"


def test_a_restart_ends_what_ran_and_keeps_the_disk(machine: Machine) -> None:
    out(machine, "echo kept >/var/kept")
    before = out(machine, "cat /proc/sys/kernel/random/boot_id")
    done = machine.exec("systemctl reboot; sleep 600", timeout=500)
    assert done.status in (137, 143)
    deadline = time.monotonic() + 300
    while machine.exec("cat /proc/sys/kernel/random/boot_id").text in ("", before):
        assert time.monotonic() < deadline
        time.sleep(1)
    assert out(machine, "cat /var/kept /etc/hostname") == "kept\nbuilder\n"


def test_a_machine_that_was_switched_off_is_switched_on_again(machine: Machine) -> None:
    out(machine, "echo off >/var/kept; sync")
    machine.exec("echo o >/proc/sysrq-trigger; sleep 600", timeout=300)
    assert out(machine, "cat /var/kept") == "off\n"


def test_a_broken_system_is_read_all_the_same(tmp_path: Path) -> None:
    with Machine.start(debian(), limits=LIMITS) as machine:
        machine.exec(
            "echo done >/var/work; rm -rf /usr/lib/systemd /bin /sbin /etc; :", timeout=300
        )
        machine.kill()
        assert not machine.alive
        assert machine.get("/var/work", tmp_path / "work") == []
        assert (tmp_path / "work").read_text() == "done\n"
        with pytest.raises(FileNotFoundError):
            machine.get("/var/nothing", tmp_path / "nothing")


def test_a_wiped_disk_is_the_doing_of_who_worked_there(tmp_path: Path) -> None:
    with Machine.start(debian(), limits=LIMITS) as machine:
        wipe = "dd if=/dev/zero of=/dev/vda bs=1M count=64 conv=fsync status=none"
        machine.exec(f"{wipe}; echo b >/proc/sysrq-trigger; sleep 600", timeout=300)
        with pytest.raises(MachineLost):
            machine.exec("true", timeout=300)
        machine.kill()
        with pytest.raises(Unreadable):
            machine.get("/etc/passwd", tmp_path / "passwd")


def test_a_wrong_fstab_locks_nobody_out(machine: Machine) -> None:
    out(machine, "echo '/dev/vdz /mnt ext4 defaults,x-systemd.device-timeout=5 0 0' >>/etc/fstab")
    before = out(machine, "cat /proc/sys/kernel/random/boot_id")
    machine.exec("sync; echo b >/proc/sysrq-trigger; sleep 600", timeout=500)
    assert out(machine, "cat /proc/sys/kernel/random/boot_id") != before


def test_a_disk_that_was_kept_is_started_over(tmp_path: Path) -> None:
    marker = tmp_path / "wanted"
    marker.touch()
    how = {"name": f"kept-{os.getpid()}", "limits": LIMITS, "keep_while": [marker]}
    machine = Machine.start(debian(), **how)  # type: ignore[arg-type]
    machine.exec("echo kept >/var/kept")
    machine.stop(delete=False)
    (machine.state / "owner.json").write_text(
        (machine.state / "owner.json").read_text().replace(f'"pid": {os.getpid()}', '"pid": 1')
    )
    with Machine.start(debian(), again=True, **how) as again:  # type: ignore[arg-type]
        assert out(again, "cat /var/kept") == "kept\n"
    marker.unlink()
    gc()


def test_the_dead_are_collected_with_their_qemu(tmp_path: Path) -> None:
    with Machine.start(debian(), limits=LIMITS, label=f"tale-{os.getpid()}") as machine:
        state = machine.state
        named = [
            path
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if f"guest=tale-{os.getpid()}".encode() in path.read_bytes()
        ]
        assert len(named) == 1
    assert not named[0].exists() and not state.exists()
