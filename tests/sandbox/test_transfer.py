"""Files cross the wall whole, sparse, owned by who receives them, and lead nowhere else."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchflow.errors import InfrastructureError, UsageError
from benchflow.sandbox import Image, Limits, Mount, Sandbox, debian

pytestmark = pytest.mark.needs("sandbox")


@pytest.fixture(scope="module")
def image() -> Image:
    return debian("bookworm")


@pytest.fixture(scope="module")
def box(image: Image) -> Iterator[Sandbox]:
    with Sandbox.start(image) as running:
        yield running


def test_a_file_goes_in_and_comes_out_the_same(box: Sandbox, tmp_path: Path) -> None:
    data = os.urandom(3_000_001)
    (tmp_path / "in").write_bytes(data)
    (tmp_path / "in").chmod(0o751)
    box.put(tmp_path / "in", "/made/on/the/way/file")
    stated = box.exec("stat -c '%u %g %a %s' /made/on/the/way/file").text.split()
    assert stated == ["0", "0", "751", "3000001"]
    assert box.get("/made/on/the/way/file", tmp_path / "out") == []
    out = (tmp_path / "out").stat()
    assert (tmp_path / "out").read_bytes() == data
    assert (out.st_uid, stat.S_IMODE(out.st_mode)) == (os.getuid(), 0o751)


def test_a_tree_keeps_names_modes_and_links(box: Sandbox, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "sub" / "empty").mkdir(parents=True)
    (tree / "sub" / "with space\nand line").write_text("x")
    (tree / os.fsdecode(b"not-utf8-\xff")).write_text("y")
    (tree / "link").symlink_to("/etc/passwd")
    (tree / "closed").mkdir(mode=0o500)
    box.put(tree, "/tree")
    assert box.get("/tree", tmp_path / "back") == []
    names = {str(path.relative_to(tree)) for path in tree.rglob("*")}
    back = tmp_path / "back"
    assert {str(path.relative_to(back)) for path in back.rglob("*")} == names
    assert (back / "link").readlink() == Path("/etc/passwd")


@pytest.mark.parametrize("dead", [False, True], ids=["living", "dead"])
def test_a_sparse_file_stays_sparse(image: Image, tmp_path: Path, dead: bool) -> None:
    with Sandbox.start(image) as own:
        own.exec("truncate -s 1T /huge; printf end | dd of=/huge bs=1 seek=1G conv=notrunc 2>&1")
        if dead:
            own.kill()
        own.get("/huge", tmp_path / "huge")
    info = (tmp_path / "huge").stat()
    assert info.st_size == 1 << 40 and info.st_blocks * 512 < 1 << 20
    with (tmp_path / "huge").open("rb") as file:
        file.seek(1 << 30)
        assert file.read(4) == b"end\0"
    assert (info.st_uid, info.st_nlink) == (os.getuid(), 1)


def test_a_symlink_leads_to_nothing_of_the_host(box: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the host's")
    box.exec(f"ln -sf {secret} /link; mkdir -p /d; ln -sfn {tmp_path} /d/up; ln -sfn / /d/root")
    assert box.get("/link", tmp_path / "out") == ["/link"]
    assert not (tmp_path / "out").exists() and not (tmp_path / "out").is_symlink()
    with pytest.raises(FileNotFoundError):
        box.get("/d/up/secret", tmp_path / "out")
    box.get("/d/root/etc/hostname", tmp_path / "name")
    assert (tmp_path / "name").read_text() == "sandbox\n"
    with pytest.raises(FileNotFoundError):
        box.get("/../../../../../../" + str(secret), tmp_path / "out")


def test_a_symlink_does_not_lead_a_put_to_the_host(box: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("in")
    (tmp_path / "target").write_text("the host's")
    box.exec(f"mkdir -p /p; ln -s {tmp_path}/target /p/file")
    box.put(tmp_path / "in", "/p/file")
    assert (tmp_path / "target").read_text() == "the host's"


def test_special_files_are_left_out_and_named(box: Sandbox, tmp_path: Path) -> None:
    box.exec(
        "mkdir -p /special && cd /special && echo x > file && mkfifo fifo && cp -a /dev/null ."
    )
    assert sorted(box.get("/special", tmp_path / "out")) == ["/special/fifo", "/special/null"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["file"]


@pytest.mark.parametrize("dead", [False, True], ids=["living", "dead"])
def test_set_uid_bits_do_not_come_out(image: Image, tmp_path: Path, dead: bool) -> None:
    with Sandbox.start(image) as own:
        own.exec("cp /usr/bin/id /id; chmod 6755 /id")
        if dead:
            own.kill()
        own.get("/id", tmp_path / "id")
    info = (tmp_path / "id").stat()
    assert stat.S_IMODE(info.st_mode) == 0o755 and info.st_uid == os.getuid()


def test_a_tree_that_changes_while_it_is_read_never_blocks(box: Sandbox, tmp_path: Path) -> None:
    box.exec("mkdir /race")
    script = (
        "while :; do rm -f /race/x; mkfifo /race/x; rm -f /race/x; "
        "echo y > /race/x; rm -f /race/x; ln -s /etc/shadow /race/x; done"
    )
    read, write = os.pipe()
    racing = threading.Thread(target=lambda: box.exec(script, cancel=read))
    racing.start()
    try:
        for number in range(30):
            try:
                box.get("/race", tmp_path / f"out{number}")
            except OSError:
                continue
    finally:
        os.write(write, b"c")
        racing.join()
        os.close(read)
        os.close(write)
    assert list(tmp_path.glob("out*")), "nothing was read"
    came = [path for path in tmp_path.glob("out*/x") if not path.is_symlink()]
    assert all(path.is_file() and path.read_bytes() in (b"", b"y\n") for path in came)


def test_after_death_files_of_every_layer_can_be_taken(image: Image, tmp_path: Path) -> None:
    with Sandbox.start(image) as own:
        own.exec("mkdir -p /out/tree; echo 1 > /out/tree/a; echo 2 > /out/b; ln /out/b /out/c")
        own.kill()
        own.get("/out/b", tmp_path / "b")
        own.get("/out/tree", tmp_path / "tree")
        own.get("/etc/debian_version", tmp_path / "version")
        with pytest.raises(FileNotFoundError):
            own.get("/out/missing", tmp_path / "missing")
    assert (tmp_path / "b").read_text() == "2\n"
    assert (tmp_path / "tree" / "a").read_text() == "1\n"
    assert (tmp_path / "version").read_text().startswith("12")
    assert {(tmp_path / name).stat().st_uid for name in ("b", "tree/a")} == {os.getuid()}


def test_what_is_missing_is_said_plainly(box: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        box.get("/no/such/file", tmp_path / "x")
    with pytest.raises(UsageError, match="does not exist"):
        box.put(tmp_path / "absent", "/x")
    with pytest.raises(UsageError, match="absolute"):
        box.put(tmp_path, "relative")


def test_a_read_only_mount_cannot_be_made_writable(image: Image, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "file").write_text("before")
    shown.chmod(0o777)
    (shown / "file").chmod(0o666)
    tmp_path.chmod(0o755)
    with Sandbox.start(image, mounts=[Mount(shown, "/shown")]) as own:
        assert own.exec("cat /shown/file").text == "before"
        script = "mount -o remount,rw /shown; mount -o remount,bind,rw /shown; echo x > /shown/file"
        own.exec(script)
        own.exec("umount /shown; echo x > /shown/file; rm -rf /shown/*")
    assert (shown / "file").read_text() == "before"


def test_a_lent_directory_comes_back_owned_and_disarmed(image: Image, tmp_path: Path) -> None:
    lent = tmp_path / "lent"
    lent.mkdir()
    (lent / "given").write_text("before")
    with Sandbox.start(image, mounts=[Mount(lent, "/lent", read_only=False)]) as own:
        done = own.exec(
            "cd /lent && echo more >> given && mkdir -m 700 new && cp /usr/bin/id new/id && "
            "chmod 6755 new/id && mkfifo new/fifo && ln -s /etc/shadow new/link"
        )
        assert done.status == 0, done.error_text
    assert (lent / "given").read_text() == "beforemore\n"
    assert sorted(path.name for path in (lent / "new").iterdir()) == ["id", "link"]
    assert stat.S_IMODE((lent / "new" / "id").stat().st_mode) == 0o755
    assert {path.lstat().st_uid for path in lent.rglob("*")} == {os.getuid()}


@pytest.fixture(scope="module")
def fuse_server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("fuse") / "fuse_server"
    source = Path(__file__).with_name("fuse_server.c")
    subprocess.run(["gcc", "-static", "-O1", "-o", program, source], check=True)
    return program


@pytest.mark.parametrize(
    "script",
    [
        "mkdir /w; cd /w; ln -s itself itself; ln -s itself wanted",
        "mkdir /w; ln -s wanted /w/wanted",
        # `wanted` holds a path that is longer than any that the host could make.
        "mkdir -p /w/wanted; cd /w/wanted; n=$(printf %0250d 0);"
        " for i in $(seq 20); do mkdir $n && cd $n; done",
        "mkdir -p /w/wanted; mount -t tmpfs t /w/wanted; truncate -s 8191P /w/wanted/huge",
    ],
    ids=["links in a circle", "link to itself", "deep", "larger than any disk"],
)
@pytest.mark.parametrize("below", ["", "/below"])
def test_what_nobody_could_fetch_is_as_good_as_missing(
    image: Image, tmp_path: Path, script: str, below: str
) -> None:
    """Whatever works inside could otherwise make its own failure look like the machine's."""
    with Sandbox.start(image) as own:
        assert own.exec(script).status == 0
        wanted = f"/w/wanted{below}"
        with contextlib.suppress(FileNotFoundError):
            assert own.get(wanted, tmp_path / "out") == [wanted]


def test_what_a_program_inside_serves_is_as_good_as_missing(
    image: Image, fuse_server: Path, tmp_path: Path
) -> None:
    with Sandbox.start(image) as own:
        own.put(fuse_server, "/fuse_server")
        done = own.exec("mkdir /m && /fuse_server /m && cat /m/file")
        assert (done.text, done.error_text) == ("fused", "")
        with pytest.raises(FileNotFoundError, match="program"):
            own.get("/m/file", tmp_path / "out")


def test_a_program_that_never_answers_holds_nobody_up(
    image: Image, fuse_server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchflow.sandbox.transfer.GET_PATIENCE", 1.0)
    with Sandbox.start(image) as own:
        own.put(fuse_server, "/fuse_server")
        done = own.exec("mkdir /m && echo below > /m/file && /fuse_server /m mute")
        assert done.status == 0, done.error_text
        with pytest.raises(InfrastructureError, match="answer"):
            own.get("/m/file", tmp_path / "out")
        own.kill()
        own.get("/m/file", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "below\n"


def test_after_death_nothing_that_was_done_to_the_root_is_in_the_way(
    image: Image, tmp_path: Path
) -> None:
    with Sandbox.start(image) as own:
        done = own.exec(
            "echo 1 > /out; mkdir /x; mount --move /dev /x; umount -l /proc /sys;"
            " rm -rf /tmp /etc /dev /proc /sys; ln -s /nowhere /tmp; ln -s etc /etc;"
            " echo > /dev; ln -s /out /proc"
        )
        assert done.status == 0, done.error_text
        own.kill()
        own.get("/out", tmp_path / "linked")
        own.get("/usr/bin/env", tmp_path / "env")
    assert (tmp_path / "linked").read_text() == "1\n"


def test_what_is_taken_from_a_dead_sandbox_stays_that_of_who_goes_on_with_it(
    image: Image, tmp_path: Path
) -> None:
    with Sandbox.start(image, keep_while=[tmp_path]) as own:
        own.exec("echo 1 > /out")
        own.kill()
        own.get("/out", tmp_path / "out")
        left = (own.state / "fs" / "upper" / "out").stat()
        assert (left.st_uid, left.st_nlink) == (own.id_map.uid_base, 1)
    assert (tmp_path / "out").read_text() == "1\n"


def test_a_get_that_was_cut_off_can_be_done_again(image: Image, tmp_path: Path) -> None:
    """What the first brought is replaced, and a symlink among it is not followed."""
    away = tmp_path / "away"
    away.mkdir()
    with Sandbox.start(image) as own:
        own.exec(f"mkdir -p /t/a/b; echo 1 > /t/a/b/c; ln -s {away} /t/d; echo > /t/e")
        own.get("/t", tmp_path / "out")
        own.exec("rm /t/d /t/e; mkdir -p /t/d /t/e; echo 2 > /t/d/f; echo 3 > /t/a/b/c")
        own.get("/t", tmp_path / "out")
    assert (tmp_path / "out" / "a" / "b" / "c").read_text() == "3\n"
    assert (tmp_path / "out" / "d" / "f").read_text() == "2\n"
    assert list(away.iterdir()) == []


def test_no_more_is_fetched_than_may_be_written(image: Image, tmp_path: Path) -> None:
    """One file can be mounted many times, and would be copied as often."""
    with Sandbox.start(image, limits=Limits(disk_mb=64)) as own:
        script = "mkdir /many; head -c 32M /dev/urandom > /big"
        script += "; for i in $(seq 40); do touch /many/$i; mount --bind /big /many/$i; done"
        assert own.exec(script).status == 0
        own.exec("echo small > /small")
        with pytest.raises(FileNotFoundError, match="more than may be copied"):
            own.get("/many", tmp_path / "out")
        own.get("/small", tmp_path / "small")
    fetched = sum(path.stat().st_blocks for path in (tmp_path / "out").iterdir()) * 512
    assert fetched <= (64 << 20) + (1 << 30)


def test_thousands_of_small_files_cross_whole(tmp_path: Path) -> None:
    """Small ones share a packet; what is larger, empty, executable or a link is among them."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for n in range(3000):
        (tree / f"{n:04d}").write_bytes(b"x" * (n % 50))
    (tree / "0000-large").write_bytes(os.urandom(200_000))
    (tree / "1500-just").write_bytes(b"j" * 16 * 1024)
    (tree / "1500-over").write_bytes(b"o" * (16 * 1024 + 1))
    (tree / "run").write_bytes(b"#!")
    (tree / "run").chmod(0o755)
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "deep" / "er" / "é").write_text("é")
    (tree / "link").symlink_to("deep/er")
    with Sandbox.start(debian("bookworm")) as box:
        box.put(tree, "/tree")
        assert box.exec("ls /tree | wc -l").text.strip() == str(len(list(tree.iterdir())))
        assert box.get("/tree", tmp_path / "back") == []
    for path in tree.rglob("*"):
        back = tmp_path / "back" / path.relative_to(tree)
        if path.is_symlink():
            assert back.readlink() == path.readlink()
        elif path.is_file():
            assert back.read_bytes() == path.read_bytes()
            assert back.stat().st_mode == path.stat().st_mode
            assert back.stat().st_mtime_ns == path.stat().st_mtime_ns
