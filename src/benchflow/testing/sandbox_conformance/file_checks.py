"""files: what goes in and comes out, and what must not."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from harbor.environments.base import BaseEnvironment

from benchflow.testing.sandbox_conformance.catalogue import check
from benchflow.testing.sandbox_conformance.outcome import expect, fail
from benchflow.testing.sandbox_conformance.rig import Rig

_MIB = 1 << 20
_SPARSE = 1 << 30


async def _fetch(environment: BaseEnvironment, inside: str, host: Path) -> bool:
    """Download one file; an environment may refuse, which shows as no file."""
    try:
        await environment.download_file(inside, host)
    except (OSError, RuntimeError):
        return False
    return True


async def _fetch_dir(environment: BaseEnvironment, inside: str, host: Path) -> None:
    try:
        await environment.download_dir(inside, host)
    except (OSError, RuntimeError):
        return


def _holds(path: Path, secret: str) -> bool:
    """Whether reading a path on the host, as an unsuspecting reader would, shows the secret."""
    return path.is_file() and secret in path.read_text(errors="replace")


@check
async def files__round_trip(rig: Rig) -> None:
    """A binary file goes in and comes out byte for byte"""
    environment, folder = await rig.env(), rig.scratch("files")
    data = bytes(range(256)) * 4096 + b"\r\n\0end"
    (folder / "in").write_bytes(data)
    await environment.upload_file(folder / "in", "/srv/c/round-trip")
    await environment.download_file("/srv/c/round-trip", folder / "out")
    expect((folder / "out").read_bytes() == data, "the bytes differ")


@check
async def files__empty(rig: Rig) -> None:
    """An empty file is an empty file, in and out"""
    environment, folder = await rig.env(), rig.scratch("files")
    (folder / "in").touch()
    await environment.upload_file(folder / "in", "/srv/c/empty")
    await environment.download_file("/srv/c/empty", folder / "out")
    expect((folder / "out").read_bytes() == b"", "it is not")


@check
async def files__sparse(rig: Rig) -> None:
    """A 1 GiB image that holds 2 MiB comes out with its holes, and with its size"""
    environment, folder = await rig.env(), rig.scratch("files")
    await rig.out(
        "truncate -s 1G /srv/c/sparse && head -c 1M /dev/urandom | "
        "dd of=/srv/c/sparse bs=1M seek=512 conv=notrunc status=none && "
        "head -c 1M /dev/urandom >> /srv/c/sparse"
    )
    inside = await rig.out("sha256sum < /srv/c/sparse | cut -c1-64", timeout_sec=300)
    await environment.download_file("/srv/c/sparse", folder / "out")
    info = (folder / "out").stat()
    expect(info.st_size == _SPARSE + _MIB, f"{info.st_size} bytes")
    expect(info.st_blocks * 512 < 64 * _MIB, f"{info.st_blocks * 512 / _MIB:.0f} MiB on disk")
    await environment.upload_file(folder / "out", "/srv/c/sparse2")
    again = await rig.out("sha256sum < /srv/c/sparse2 | cut -c1-64", timeout_sec=300)
    expect(inside == again, "the bytes differ")
    stored = int(await rig.out("du -B1 /srv/c/sparse2 | cut -f1"))
    await rig.run("rm -f /srv/c/sparse /srv/c/sparse2")
    expect(stored < 64 * _MIB, f"{stored / _MIB:.0f} MiB on the sandbox's disk")


@check
async def files__modes(rig: Rig) -> None:
    """Executable and private files keep their modes, both ways"""
    environment, folder = await rig.env(), rig.scratch("files")
    for mode in (0o755, 0o600, 0o644):
        (folder / "in").write_text("#!/bin/sh\n")
        (folder / "in").chmod(mode)
        await environment.upload_file(folder / "in", f"/srv/c/mode-{mode:o}")
        shown = await rig.out(f"stat -c %a /srv/c/mode-{mode:o}")
        expect(shown == f"{mode:o}\n", f"{mode:o} went in and is {shown.strip()}")
        await environment.download_file(f"/srv/c/mode-{mode:o}", folder / f"out-{mode:o}")
        out = stat.S_IMODE((folder / f"out-{mode:o}").stat().st_mode)
        expect(out == mode, f"{mode:o} came out as {out:o}")


@check
async def files__owners(rig: Rig) -> None:
    """What goes in is root's inside; what comes out is the caller's"""
    environment, folder = await rig.env(), rig.scratch("files")
    (folder / "in").write_text("x")
    await environment.upload_file(folder / "in", "/srv/c/owned")
    expect(await rig.out("stat -c %u:%g /srv/c/owned") == "0:0\n", "not root's inside")
    await rig.out("chown nobody /srv/c/owned && chmod 600 /srv/c/owned")
    await environment.download_file("/srv/c/owned", folder / "out")
    expect((folder / "out").stat().st_uid in (os.getuid(), 65534), "not the caller's outside")
    expect((folder / "out").read_text() == "x", "not readable outside")


@check
async def files__directories(rig: Rig) -> None:
    """A tree goes in and comes out: nested, empty folders, hidden files"""
    environment, folder = await rig.env(), rig.scratch("files")
    tree = folder / "in"
    (tree / "a/b/c").mkdir(parents=True)
    (tree / "empty").mkdir()
    (tree / "a/b/c/deep").write_text("deep")
    (tree / ".hidden").write_text("hidden")
    await environment.upload_dir(tree, "/srv/c/tree")
    (folder / "out").mkdir()
    await environment.download_dir("/srv/c/tree", folder / "out")
    names = sorted(str(p.relative_to(folder / "out")) for p in (folder / "out").rglob("*"))
    expect(names == [".hidden", "a", "a/b", "a/b/c", "a/b/c/deep", "empty"], f"got {names}")
    expect((folder / "out/a/b/c/deep").read_text() == "deep", "contents differ")


@check
async def files__merge(rig: Rig) -> None:
    """A directory that goes into an existing one adds to it and replaces files of the same name"""
    environment, folder = await rig.env(), rig.scratch("files")
    await rig.out(
        "mkdir -p /srv/c/merge && echo old > /srv/c/merge/same && touch /srv/c/merge/kept"
    )
    (folder / "same").write_text("new\n")
    await environment.upload_dir(folder, "/srv/c/merge")
    expect(
        await rig.out("cat /srv/c/merge/same; ls /srv/c/merge") == "new\nkept\nsame\n",
        "it did not",
    )


@check
async def files__into_a_directory(rig: Rig) -> None:
    """A file that is uploaded to a directory lands in it under its own name"""
    environment, folder = await rig.env(), rig.scratch("files")
    (folder / "named").write_text("n")
    await rig.out("mkdir -p /srv/c/into")
    await environment.upload_file(folder / "named", "/srv/c/into/")
    expect(await rig.out("cat /srv/c/into/named") == "n", "it is not there")


@check
async def files__replace(rig: Rig) -> None:
    """A download replaces the file that is there"""
    environment, folder = await rig.env(), rig.scratch("files")
    (folder / "out").write_text("a much longer old content")
    await rig.out("printf new > /srv/c/replace")
    await environment.download_file("/srv/c/replace", folder / "out")
    expect((folder / "out").read_text() == "new", f"got {(folder / 'out').read_text()!r}")


@check
async def files__odd_names(rig: Rig) -> None:
    """Names with spaces, newlines, quotes, dashes and other alphabets survive"""
    environment, folder = await rig.env(), rig.scratch("files")
    names = ["with space", "new\nline", "quo'te\"", "-rf", "馬", "$(id)", "*"]
    tree = folder / "in"
    tree.mkdir()
    for name in names:
        (tree / name).write_text(name)
    await environment.upload_dir(tree, "/srv/c/odd")
    (folder / "out").mkdir()
    await environment.download_dir("/srv/c/odd", folder / "out")
    for name in names:
        path = folder / "out" / name
        expect(path.is_file() and path.read_text() == name, f"{name!r} was lost or changed")


@check
async def files__names_that_are_no_text(rig: Rig) -> None:
    """A name that is not UTF-8 does not stop a directory from coming out"""
    environment, folder = await rig.env(), rig.scratch("files")
    await rig.out(
        "mkdir -p /srv/c/raw && echo r > /srv/c/raw/$(printf 'x\\377y') && echo s > /srv/c/raw/z"
    )
    (folder / "out").mkdir()
    await environment.download_dir("/srv/c/raw", folder / "out")
    names = sorted(os.fsencode(path.name) for path in (folder / "out").iterdir())
    expect(names == [b"x\xffy", b"z"], f"got {names}")


@check
async def files__missing(rig: Rig) -> None:
    """Fetching what does not exist is an error, and makes no file"""
    environment, folder = await rig.env(), rig.scratch("files")
    expect(not await _fetch(environment, "/no/such/file", folder / "out"), "no error was raised")
    expect(not (folder / "out").exists(), "a file appeared")


@check
async def files__hard_links(rig: Rig) -> None:
    """Two names of one file both come out with its content"""
    environment, folder = await rig.env(), rig.scratch("files")
    await rig.out(
        "mkdir -p /srv/c/hard && echo h > /srv/c/hard/a && ln -f /srv/c/hard/a /srv/c/hard/b"
    )
    (folder / "out").mkdir()
    await environment.download_dir("/srv/c/hard", folder / "out")
    for name in ("a", "b"):
        expect((folder / "out" / name).read_text() == "h\n", f"{name} is missing or wrong")


@check
async def files__links_inside(rig: Rig) -> None:
    """A relative symlink within a tree comes out as that symlink or as the file it names"""
    environment, folder = await rig.env(), rig.scratch("files")
    await rig.out(
        "mkdir -p /srv/c/links && echo l > /srv/c/links/real && ln -sfn real /srv/c/links/soft"
    )
    (folder / "out").mkdir()
    await environment.download_dir("/srv/c/links", folder / "out")
    expect((folder / "out/soft").read_text() == "l\n", "it is missing or wrong")


@check
async def files__symlink_to_a_host_file(rig: Rig) -> None:
    """Fetching a symlink that names a file of the host's does not give that file"""
    environment, folder = await rig.env(), rig.scratch("files")
    await rig.out(f"ln -sfn {rig.secret_file} /srv/c/leak")
    await _fetch(environment, "/srv/c/leak", folder / "out")
    expect(not _holds(folder / "out", rig.secret), "the host's file came out")


@check
async def files__symlink_in_the_path(rig: Rig) -> None:
    """A parent directory that is a symlink to the host's is not followed on the host"""
    environment, folder = await rig.env(), rig.scratch("files")
    await rig.out(f"ln -sfn {rig.secret_file.parent} /srv/c/parent")
    await _fetch(environment, f"/srv/c/parent/{rig.secret_file.name}", folder / "out")
    expect(not _holds(folder / "out", rig.secret), "the host's file came out")


@check
async def files__upload_through_a_symlink(rig: Rig) -> None:
    """An upload through a symlink of the sandbox's does not write on the host"""
    environment, folder = await rig.env(), rig.scratch("files")
    victim = rig.scratch("victim")
    (folder / "in").write_text("written")
    await rig.out(f"ln -sfn {victim} /srv/c/outward && ln -sfn {victim}/direct /srv/c/outward-file")
    for target in ("/srv/c/outward/dropped", "/srv/c/outward-file"):
        try:
            await environment.upload_file(folder / "in", target)
        except (OSError, RuntimeError):
            continue
    expect(not list(victim.iterdir()), "a file appeared on the host")


@check
async def files__symlinks_in_a_tree(rig: Rig) -> None:
    """A fetched tree with symlinks to the host's files holds none of their content"""
    environment, folder = await rig.env(), rig.scratch("files")
    await rig.out(
        "mkdir -p /srv/c/trap/sub && cd /srv/c/trap && "
        f"ln -sfn {rig.secret_file} file && ln -sfn {rig.secret_file.parent} dir && "
        f"ln -sfn ../../../../../..{rig.secret_file} sub/up && echo fine > ok"
    )
    (folder / "out").mkdir()
    await _fetch_dir(environment, "/srv/c/trap", folder / "out")
    for path in (folder / "out").rglob("*"):
        if path.is_symlink():
            continue
        expect(not _holds(path, rig.secret), f"{path.name} holds the host's file")


@check
async def files__special_files(rig: Rig) -> None:
    """A tree with a fifo, a socket and a device does not hang, and makes no device on the host"""
    environment, folder = await rig.env(), rig.scratch("files")
    await rig.run(
        "mkdir -p /srv/c/special && cd /srv/c/special && rm -f * && mkfifo pipe; mknod null c 1 3; "
        "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local=>\"sock\",Listen=>1)'; echo x > ok"
    )
    (folder / "out").mkdir()
    await _fetch_dir(environment, "/srv/c/special", folder / "out")
    for path in (folder / "out").rglob("*"):
        mode = path.lstat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            fail(f"a device node came out: {path.name}")
    expect((folder / "out/ok").is_file(), "the ordinary file beside them was lost")


@check
async def files__set_uid_stays_inside(rig: Rig) -> None:
    """A set-uid file of the sandbox's root is no set-uid file of the host's root"""
    environment, folder = await rig.env(), rig.scratch("files")
    await rig.out("cp /usr/bin/id /srv/c/suid && chmod 6755 /srv/c/suid")
    await environment.download_file("/srv/c/suid", folder / "out")
    info = (folder / "out").stat()
    bits = info.st_mode & (stat.S_ISUID | stat.S_ISGID)
    expect(not bits, f"mode {stat.S_IMODE(info.st_mode):o} owned by {info.st_uid}")
