"""Distribution tools find the device nodes and file systems that they ask for."""

from __future__ import annotations

import pytest

from benchflow.sandbox import Sandbox
from benchflow.sandbox.image import images
from benchflow.sandbox.syscalls import seccomp_notify

pytestmark = pytest.mark.needs("sandbox")

SAFE = {
    "null": "1:3",
    "zero": "1:5",
    "full": "1:7",
    "random": "1:8",
    "urandom": "1:9",
    "tty": "5:0",
}


@pytest.fixture(scope="module")
def box():
    with Sandbox.start(images.debian()) as box:
        box.exec("mkdir -p /w")
        yield box


def out(box, command, **options):
    result = box.exec(command, cwd="/w", timeout=60, **options)
    assert result.status == 0, result.error_text
    return result.text


@pytest.mark.parametrize(("name", "number"), SAFE.items())
def test_mknod_makes_the_safe_devices_and_rm_removes_them(box, name, number):
    major, minor = number.split(":")
    shown = out(
        box, f"mknod -m 600 d c {major} {minor} && stat -c '%F %t:%T %u %a' d && rm d && ls"
    )
    assert shown.splitlines()[0] == f"character special file {number} 0 600"
    assert "d" not in shown.splitlines()[1:]


def test_a_node_behaves_as_its_device(box):
    assert out(box, "mknod z c 1 5; head -c 3 z | od -An -tx1; rm z").split() == ["00"] * 3
    assert out(box, "mknod n c 1 3; echo gone > n; wc -c < n; rm n").strip() == "0"


def test_copies_and_archives_of_nodes_come_out_whole(box):
    out(box, "cp -a /dev/null copy && [ -c copy ] && rm copy")
    out(
        box,
        "tar cf n.tar -C / dev/null dev/full && mkdir t && tar xpf n.tar -C t && [ -c t/dev/full ]",
    )
    out(box, "rm -r t n.tar")


@pytest.mark.parametrize("kind", ["b 254 0", "b 7 0", "c 1 1", "c 1 11", "c 10 232"])
def test_every_other_device_is_refused_by_the_kernel(box, kind):
    result = box.exec(f"mknod /w/x {kind}")
    assert result.status == 1
    assert "not permitted" in result.error_text


def test_the_console_can_be_made_and_not_opened(box):
    out(box, "mknod con c 5 1 && [ -c con ]")
    assert box.exec("timeout 2 head -c 1 /w/con").status == 1
    out(box, "rm con")


def test_a_second_sysfs_and_devtmpfs_can_be_mounted_in_a_chroot(box):
    out(box, "mkdir -p c/sys c/dev && mount -t sysfs none c/sys && ls c/sys/class && umount c/sys")
    out(box, "mount -t devtmpfs none c/dev && [ -c c/dev/null ] && umount c/dev")
    assert box.exec("mount -t sysfs none /w/c/sys && echo 1 > /w/c/sys/kernel/mm/ksm/run").status
    out(box, "umount c/sys")


def test_nodes_are_made_where_a_chrooted_process_stands(box):
    out(
        box,
        "mkdir -p r && for d in bin lib lib64 usr; do mkdir -p r/$d; mount --rbind /$d r/$d; done; "
        "mkdir -p r/dev; chroot r mknod /dev/null c 1 3; [ -c r/dev/null ] && rm r/dev/null; "
        "umount -R r/usr r/bin r/lib r/lib64",
    )


def test_a_name_that_exists_is_not_replaced(box):
    out(box, "echo kept > k")
    result = box.exec("mknod /w/k c 1 3")
    assert "File exists" in result.error_text
    assert out(box, "cat k") == "kept\n"


def test_other_users_make_and_remove_nothing(box):
    out(box, "chmod 777 . && mknod root-made c 1 3")
    assert box.exec("mknod /w/u c 1 3", user="nobody").status == 1
    assert box.exec("chmod 755 /w; rm -f /w/root-made", user="nobody").status == 1
    out(box, "chmod 755 . && [ -c root-made ] && rm root-made")


def test_a_nested_user_namespace_gets_no_more_than_the_kernel_gives(box):
    assert box.exec("unshare --user --map-root-user mknod /w/nested c 1 3").status == 1


def test_many_at_once_are_all_answered(box):
    command = (
        "for i in $(seq 40); do mknod m$i c 1 3 & done; wait; ls m* | wc -l; "
        "rm -f m*; ls | grep -c ^m"
    )
    shown = box.exec(command, cwd="/w", timeout=60).text.split()
    assert int(shown[0]) >= 16
    assert shown[1] == "0"


def test_hostile_arguments_are_refused_and_the_supervisor_lives_on(box):
    program = (
        "syscall(133, 1, 0x2180, 0x103); syscall(133, -1, 0x2180, 0x103); "
        "my $long = q(/) . q(a) x 70000; syscall(133, $long, 0x2180, 0x103); "
        "my $self = q(/proc/self/fd/0/x); syscall(133, $self, 0x2180, 0x103); "
        "my $up = q(/..); syscall(133, $up, 0x2180, 0x103); syscall(165, 0, 0, 0, 0, 0);"
    )
    box.exec(f"perl -e '{program}'", timeout=60)
    out(box, "mknod after c 1 3 && rm after")


def test_the_filter_is_small_and_lets_nothing_be_made_worse():
    program = seccomp_notify.program()
    assert len(program) % 8 == 0
    assert len(program) // 8 < 256


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "debootstrap --variant=minbase bookworm rootfs",
        "debootstrap --foreign --arch=arm64 --variant=minbase bookworm rootfs",
        "mmdebstrap --mode=root --variant=minbase bookworm rootfs.tar",
        "mmdebstrap --mode=unshare --variant=minbase bookworm rootfs.tar",
    ],
)
def test_bootstrapping_tools_work(command, tmp_path):
    (tmp_path / "Dockerfile").write_text(
        "FROM debian:bookworm\nRUN apt-get update && apt-get install -y --no-install-recommends "
        "debootstrap mmdebstrap && rm -rf /var/lib/apt/lists/*\n"
    )
    with Sandbox.start(images.build(tmp_path), network="user") as box:
        mirror = box.exec(
            "sed -n 's/^deb .*\\(http[^ ]*\\).*/\\1/p; s/^URIs: *//p' "
            "/etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1"
        ).text.strip()
        box.exec("mkdir -p /w")
        result = box.exec(f"{command} {mirror}", cwd="/w", timeout=900)
        assert result.status == 0, (result.text + result.error_text)[-2000:]
        if "rootfs.tar" not in command:
            assert box.exec("[ -c /w/rootfs/dev/null ] || [ -d /w/rootfs/debootstrap ]").status == 0
            assert box.exec("rm -rf --one-file-system /w/rootfs && [ ! -e /w/rootfs ]").status == 0
