"""container/oci-base: its formats are read strictly, and the oracle's kit keeps to them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.catalogue.checkers import helpers
from tests.guests import busybox
from tests.needs import needs

from benchflow.bench import oci_reader, rootfs_tree, tar_canon
from benchflow.boot import BadDeliverable
from benchflow.tasks import Task, find

TASK = Path(__file__).parents[2] / "tasks/container/oci-base"
HELPERS = (
    "parcel", "compose", "reference", "orders", "certificate",
    "programs", "kit", "bench", "cases", "accounts", "authorities", "commands", "zones", "almanac",
)  # fmt: skip


@pytest.fixture(scope="module")
def task() -> Task:
    return find("container/oci-base")


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    with helpers("container/oci-base", *HELPERS) as loaded:
        yield {**loaded, "tarform": tar_canon, "layout": oci_reader, "rootfs": rootfs_tree}


def small(parts: dict[str, ModuleType]) -> Any:
    return parts["cases"].Small(random.Random(3))


def test_what_the_letter_says_is_what_the_checks_use(task: Task) -> None:
    letter = (TASK / "instruction.md").read_text()
    checks = (TASK / "tests/checks.py").read_text()
    assert "983,040 bytes" in letter and "MOST = 960 << 10" in checks
    assert "within 90 seconds" in letter and "SECONDS = 90" in checks
    conf = (TASK / "environment/order/almanac/almanac.conf").read_text()
    assert repr(conf)[1:-1] in checks
    pins = dict(
        reversed(line.split()) for line in (TASK / "tests/bench.sha256").read_text().splitlines()
    )
    for name in ("base.list", "commands"):
        shipped = (TASK / "environment/bench" / name).read_bytes()
        assert hashlib.sha256(shipped).hexdigest() == pins[name]


def test_the_bench_s_parcels_are_good_and_its_bad_ones_are_not(
    parts: dict[str, ModuleType],
) -> None:
    parcel, cases = parts["parcel"], small(parts)
    for made in (cases.one, cases.two):
        assert parcel.read(made.pack(), made.file).pack() == made.pack()
    damaged = [case for case in cases.damaged() if cases.one.file in case.files]
    assert len(damaged) >= 45
    for case in damaged:
        with pytest.raises(BadDeliverable):
            parcel.read(case.files[cases.one.file], cases.one.file)


def base_order(parts: dict[str, ModuleType]) -> Any:
    return parts["compose"].parse((TASK / "environment/bench/base.list").read_text())


def own(parts: dict[str, ModuleType]) -> dict[str, Any]:
    """Stand-ins for the three packages that each image begins with."""
    parcel = parts["parcel"]
    entry = parcel.Entry("dir", "bin", 0o755)
    versions = dict(base_order(parts).packages)
    names = ("base-files", "musl", "busybox")
    return {name: parcel.Parcel(name, versions[name], (entry,)) for name in names}


def test_a_list_comes_back_as_it_went(parts: dict[str, ModuleType]) -> None:
    for seed in range(5):
        order, held = parts["orders"].another(random.Random(seed), base_order(parts), own(parts))
        assert parts["compose"].parse(order.text()) == order
        for made in held.values():
            parts["parcel"].read(made.pack(), made.file)


class Kit:
    """The oracle's builder, under this machine's busybox."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tools = folder / "tools"
        self._tools.mkdir()
        (folder / "temp orary").mkdir()
        listed = subprocess.run([busybox(), "--list"], capture_output=True, text=True, check=True)
        for applet in listed.stdout.split():
            (self._tools / applet).symlink_to(busybox())

    def build(self, case: Any) -> tuple[int, bytes, str]:
        parcels = self._folder / f"par cels {case.name}"
        parcels.mkdir()
        for file, data in case.files.items():
            (parcels / file).write_bytes(data)
        listing, out = self._folder / "li'st", self._folder / "out"
        listing.write_bytes(case.listing)
        temp = self._folder / "temp orary"
        done = subprocess.run(
            [self._tools / "sh", TASK / "solution/kit/build", listing, parcels, out],
            env={"PATH": str(self._tools), "TMPDIR": str(temp), "TZ": "X-7"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert not list(temp.iterdir()), "something is left in TMPDIR"
        data = out.read_bytes() if out.exists() else b""
        out.unlink(missing_ok=True)
        return done.returncode, data, done.stderr


@pytest.fixture
@needs("busybox-static")
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


def test_the_oracle_s_kit_makes_what_the_model_says(parts: dict[str, ModuleType], kit: Kit) -> None:
    orders, compose = parts["orders"], parts["compose"]
    order, held = orders.another(random.Random(11), base_order(parts), own(parts))
    case = parts["cases"].Case(
        "second", order.text().encode(), {p.file: p.pack() for p in held.values()}
    )
    status, data, said = kit.build(case)
    assert status == 0, said
    made, wanted = parts["layout"].read(data), compose.layers(order, held)
    for found, want in zip(made.layers, wanted, strict=True):
        assert compose.difference(found, want) == ""
    assert made.configuration == order.configuration(made.diff_ids)
    changed = [replace(wanted[1][1], mode=0o1), *wanted[1][1:]]
    assert compose.difference(made.layers[1], changed)
    tree = parts["rootfs"].overlay(made.layers)
    pier = orders.PIER
    assert f"{pier}/gone" not in tree and f"{pier}/old/deep" not in tree
    assert parts["rootfs"].content(tree, f"{pier}/duty").startswith(b"second ")


@pytest.mark.needs("time")  # ninety builds
def test_the_oracle_s_kit_refuses_every_bad_case_and_no_right_one(
    parts: dict[str, ModuleType], kit: Kit
) -> None:
    cases, compose = small(parts), parts["compose"]
    for case in cases.right():
        status, data, said = kit.build(case)
        assert status == 0, f"{case.name}: {said}"
        wanted = compose.layers(case.order, case.parcels)
        for found, want in zip(parts["layout"].read(data).layers, wanted, strict=True):
            assert compose.difference(found, want) == "", case.name
    every = [*cases.damaged(), *cases.misfits(), *cases.listings()]
    assert len({case.name for case in every}) == len(every) >= 90
    for case in every:
        status, data, said = kit.build(case)
        assert status and not data and said.strip(), case.name


def layout_of(parts: dict[str, ModuleType], **changes: Any) -> bytes:
    """A small layout; `changes` spoil it."""
    tarform = parts["tarform"]
    plain = tarform.write([tarform.Member("a", "0", 0o644, 0, 0, 9, data=b"a")])
    packed = changes.get("packed") or gzip.compress(plain, mtime=0)
    blobs: dict[str, bytes] = {}

    def blob(data: bytes, kind: str) -> dict[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = data
        media_type = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    diff = f"sha256:{hashlib.sha256(plain).hexdigest()}"
    config = {"rootfs": {"type": "layers", "diff_ids": [changes.get("diff", diff)]}}
    manifest = {
        "schemaVersion": 2,
        "config": blob(json.dumps(config).encode(), "config.v1+json"),
        "layers": [blob(packed, changes.get("kind", "layer.v1.tar+gzip"))],
    }
    top = blob(json.dumps(manifest).encode(), "manifest.v1+json")
    top["annotations"] = {"org.opencontainers.image.ref.name": "x"}
    top["size"] += changes.get("more", 0)
    files = {
        **blobs,
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [top]}).encode(),
        "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
        **changes.get("files", {}),
    }
    folders = [tarform.Member(name, "5", 0o755, 0, 0, 9) for name in ("blobs", "blobs/sha256")]
    members = [tarform.Member(n, "0", 0o644, 0, 0, 9, data=d) for n, d in sorted(files.items())]
    return bytes(tarform.write([*folders, *members]))


def test_a_layer_may_say_that_it_is_text(parts: dict[str, ModuleType]) -> None:
    packed = bytearray(gzip.compress(b"plain", mtime=0))
    packed[3] = 1
    assert parts["layout"].gunzip(bytes(packed), 99, "a layer") == b"plain"
    packed[3] = 8
    with pytest.raises(BadDeliverable):
        parts["layout"].gunzip(bytes(packed), 99, "a layer")


def test_a_layout_is_read(parts: dict[str, ModuleType]) -> None:
    made = parts["layout"].read(layout_of(parts))
    assert made.ref == "x" and made.epoch == 9 and [m.name for m in made.layers[0]] == ["a"]


@pytest.mark.parametrize(
    "changes",
    [
        {"diff": "sha256:" + "0" * 64}, {"kind": "layer.v1.tar"}, {"more": 1},
        {"files": {"blobs/sha256/" + "0" * 64: b"nobody's"}}, {"files": {"notes": b""}},
        {"files": {"oci-layout": b"{}"}}, {"packed": gzip.compress(b"", mtime=1)},
        {"packed": gzip.compress(b"", mtime=0) + b"x"},
    ],
)  # fmt: skip
def test_a_layout_that_is_not_whole_is_refused(
    parts: dict[str, ModuleType], changes: dict[str, Any]
) -> None:
    with pytest.raises(BadDeliverable):
        parts["layout"].read(layout_of(parts, **changes))


def test_a_layer_that_unpacks_without_end_is_refused(
    parts: dict[str, ModuleType],
) -> None:
    with pytest.raises(BadDeliverable):
        parts["layout"].read(layout_of(parts, packed=gzip.compress(bytes(80 << 20), mtime=0)))


@pytest.mark.needs("openssl")
def test_the_subject_hash_is_openssl_s(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    for name in ("/C=SE/O=  Norra   KAJEN /CN=Å quay", "/CN=x/OU=a+OU=B"):
        pem = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-keyout", str(tmp_path / "key"), "-utf8", "-multivalue-rdn", "-subj", name],
            capture_output=True, check=True,
        ).stdout  # fmt: skip
        (der,) = parts["authorities"].certificates(pem)
        said = subprocess.run(
            ["openssl", "x509", "-noout", "-subject_hash"],
            input=pem,
            capture_output=True,
            check=True,
        )
        assert parts["certificate"].subject_hash(der) == said.stdout.decode().strip()


def test_local_times_and_changes_of_the_clock(parts: dict[str, ModuleType]) -> None:
    path = Path("/usr/share/zoneinfo/Europe/Berlin")
    if not path.exists():
        pytest.skip("no zones here")
    reference = parts["reference"]
    zone = reference.load(path.read_bytes())
    assert reference.local(zone, 1711846799) == "2024-03-31 01:59:59 CET +0100"
    assert reference.local(zone, 1711846800) == "2024-03-31 03:00:00 CEST +0200"
    managua = Path("/usr/share/zoneinfo/America/Managua")
    if managua.exists():
        old = reference.load(managua.read_bytes())
        assert reference.local(old, -1246675577)[20:] == "MMT -0545"
    assert reference.changes(zone, 1704067200, 1735603200) == [1711846800, 1729990800]


def linked(parts: dict[str, ModuleType], folder: Path, text: str) -> str:
    """What is said of a program with a start of its own that is loaded by musl's loader."""
    (folder / "own.c").write_text(text)
    subprocess.run(
        ["gcc", "-O1", "-nostartfiles", "-Wl,--no-as-needed,--build-id=none",
         "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1", "-o", folder / "own", folder / "own.c"],
        check=True,
    )  # fmt: skip
    made = (folder / "own").read_bytes().replace(b"libc.so.6\0", b"libc.so\0\0\0")
    rootfs = parts["rootfs"]
    tree = {
        "lib": rootfs.directory(), "bin/own": rootfs.file(made, 0o755),
        "lib/ld-musl-x86_64.so.1": rootfs.file(b"\x7fELF" + bytes(60)),
    }  # fmt: skip
    return str(parts["programs"].linked_otherwise(tree))


@pytest.mark.needs("binutils", "gcc", "libc6-dev")
def test_what_programs_tell_is_found(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    source = tmp_path / "p.c"
    source.write_text("#include <stdio.h>\nint main(void) { puts(TEXT); return 0; }\n")

    def told(text: str, *flags: str) -> str:
        target = tmp_path / "p"
        command = [
            "gcc",
            "-o",
            target,
            f'-DTEXT="{text}"',
            source,
            "-Wl,--build-id=none",
            *flags,
        ]
        subprocess.run(command, check=True)
        subprocess.run(["strip", "-R", ".comment", target], check=not flags)
        return str(parts["programs"].tells(target.read_bytes()))

    assert told("/tmp/fine") == "" and told("/applets and src/fts/fts.c") == ""
    assert "path" in told("/app/out/x") and "when" in told("Nov 22 2026")
    assert "path" in told("made of /work/a.c") and "when" in told("on 2026-11-22")
    assert "path" in told("/rustc/ab/lib.rs") and "path" in told("in /srv/harbour/almanac.cpp")
    for when in (
        "29.11.2026",
        "2026/11/29",
        "20261129",
        "Sun Nov 29 15:58 2026",
        "15.58 h",
        "15:58 UTC",
    ):
        assert "when" in told(f"made {when}"), when
    assert told("1.35.0, 10.11.12 and 20269999 of 8:30 with %H:%M") == ""
    plain = (tmp_path / "p").read_bytes()
    tells = parts["programs"].tells
    assert "after its end" in tells(plain + b"a manual")
    note = tmp_path / "note"
    note.write_text("made by us")
    subprocess.run(["objcopy", f"--add-section=.linker={note}", tmp_path / "p"], check=True)
    assert "not loaded" in tells((tmp_path / "p").read_bytes())
    subprocess.run(
        ["gcc", "-o", tmp_path / "q", '-DTEXT="x"', source, "-Wl,--build-id=none"], check=True
    )
    subprocess.run(["objcopy", "-R", ".comment", tmp_path / "q"], check=True)
    renamed = (
        (tmp_path / "q")
        .read_bytes()
        .replace(b".symtab\0", b".symtac\0")
        .replace(b".strtab\0", b".strtac\0")
    )
    assert "symbol table" in tells(renamed)
    assert "__libc_start_main" in parts["programs"].imports(plain)
    subprocess.run(["gcc", "-static", "-o", tmp_path / "s", '-DTEXT="x"', source], check=True)
    assert not parts["programs"].imports((tmp_path / "s").read_bytes())
    assert "build id" in told("x", "-Wl,--build-id=sha1")
    assert linked(parts, tmp_path, "extern void _exit(int); void _start(void) { _exit(0); }") == ""
    assert "takes nothing from" in linked(parts, tmp_path, "void _start(void) { for (;;); }")
    rootfs = parts["rootfs"]
    program = rootfs.file((tmp_path / "p").read_bytes(), 0o755)
    tree = {
        "lib": rootfs.directory(), "bin/p": program,
        "lib/ld-musl-x86_64.so.1": rootfs.file(b"\x7fELF" + bytes(60)),
    }  # fmt: skip
    assert "bin/p is loaded by /lib64" in parts["programs"].linked_otherwise(tree)
    tree["lib/libharm.so"] = tree.pop("bin/p")
    assert "another library" in parts["programs"].linked_otherwise(tree)


def test_what_lies_where_nothing_reads_it_is_found(parts: dict[str, ModuleType]) -> None:
    rootfs, misplaced = parts["rootfs"], parts["programs"].misplaced
    compiled = rootfs.file(b"\x7fELF" + bytes(60), 0o755)
    script = rootfs.file(b"#!/bin/sh\necho x\n", 0o755)
    honest = {
        "bin": rootfs.symlink("usr/bin"), "usr": rootfs.directory(), "usr/bin": rootfs.directory(),
        "usr/bin/a": compiled, "usr/bin/b": rootfs.symlink("a"), "usr/bin/c": compiled,
        "usr/bin/d": script, "etc": rootfs.directory(), "etc/passwd": rootfs.file(b""),
        "usr/lib": rootfs.directory(), "usr/lib/os-release": rootfs.file(b"ID=x\n"),
    }  # fmt: skip
    honest |= {
        "usr/share": rootfs.directory(), "usr/share/ca-certificates": rootfs.directory(),
        "usr/share/ca-certificates/mozilla": rootfs.directory(),
        "usr/share/ca-certificates/mozilla/one.crt": rootfs.file(b"-----"),
        "usr/bin/clear": rootfs.file(b"#!/bin/sh\nprintf '\x1b[H'\n", 0o755),
        "usr/bin/e": rootfs.file(b"\x7fELF" + bytes(60) + b"/etc/ld-musl-x86_64.path\0", 0o755),
        "etc/ld-musl-x86_64.path": rootfs.file(b"/lib\n"), "var": rootfs.directory(),
        "etc/ssl": rootfs.directory(), "etc/ssl/certs": rootfs.symlink("../pki/certs"),
        "etc/pki": rootfs.directory(), "etc/pki/certs": rootfs.directory(),
        "etc/pki/certs/a.pem": rootfs.file(b"-----"), "var/run": rootfs.symlink("/run"),
        "run": rootfs.directory(), "etc/localtime": rootfs.symlink("/proc/none"),
    }  # fmt: skip
    assert list(misplaced(honest)) == []
    for path, node in {
        "usr/share/doc": rootfs.directory(), "etc/.hidden": script, "usr/bin/x": rootfs.file(b"\1"),
        "usr/bin/copy": rootfs.file(compiled.data), "etc/tcb/root/shadow": rootfs.file(b"root::"),
        "usr/lib/libc.a": rootfs.file(b"!<arch>"), "README": rootfs.file(b""),
        "usr/src": rootfs.directory(), "var/left": rootfs.directory(),
        "etc/motd": rootfs.file(b"A manual."), "usr/bin/gcc": rootfs.symlink("../lib/gcc/12/cc1"),
    }.items():  # fmt: skip
        assert [found for found, _ in misplaced(honest | {path: node})] == [path]


PASSWD = b"root:x:0:0::/root:/bin/sh\nharbor:x:10001:10001::/home/harbor:/bin/sh\n"
SHADOW, GROUP = b"root:*:::::::\nharbor:!!:::::::\n", b"root:x:0:\nharbor:x:10001:\n"


@pytest.mark.parametrize(
    ("file", "data"),
    [
        ("passwd", b"root::0:0::/:/bin/sh\n" + PASSWD), ("passwd", PASSWD + b"\n"),
        ("passwd", PASSWD.replace(b"root:x", b"root:")), ("passwd", PASSWD + b"toor:x:0:0::/:\n"),
        ("shadow", b"root::::::::\n" + SHADOW), ("shadow", SHADOW.replace(b"*", b"")),
        ("shadow", SHADOW.replace(b"*", b"$6$x$y")), ("tcb", b""),
        ("group", GROUP.replace(b":0:", b":0:harbor")), ("group", GROUP.replace(b"10001", b"1")),
    ],
)  # fmt: skip
def test_accounts_are_compared_as_a_whole(
    parts: dict[str, ModuleType], file: str, data: bytes
) -> None:
    rootfs, wrong = parts["rootfs"], parts["accounts"].wrong
    honest = {
        "etc": rootfs.directory(), "etc/passwd": rootfs.file(PASSWD),
        "etc/shadow": rootfs.file(SHADOW, 0o600),
        "etc/group": rootfs.file(GROUP),
    }  # fmt: skip
    assert wrong(honest) == []
    assert wrong(honest | {f"etc/{file}": rootfs.file(data, 0o600)})
    assert wrong(honest | {"etc/shadow": rootfs.file(SHADOW, 0o644)})
    # Harbor may be in a group that owns nothing.
    assert wrong(honest | {"etc/group": rootfs.file(GROUP + b"users:x:100:harbor\n")}) == []
    linked = {path.replace("etc", "usr/etc", 1): node for path, node in honest.items()}
    linked |= {"usr": rootfs.directory(), "etc": rootfs.symlink("usr/etc")}
    assert wrong(linked) == [] and wrong(linked | {"usr/etc/tcb": rootfs.directory()})


@pytest.mark.needs("openssl")
def test_what_openssl_believes_is_seen(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    authorities, rootfs = parts["authorities"], parts["rootfs"]
    made, own = (
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-keyout", str(tmp_path / "key"), "-subj", name],
            capture_output=True, check=True,
        ).stdout
        for name in ("/CN=one", "/CN=two")
    )  # fmt: skip
    (der,) = authorities.certificates(b"# One\n" + made)
    assert authorities.believed(made, tmp_path) == (1, {der})
    trusted = subprocess.run(
        ["openssl", "x509", "-trustout"], input=own, capture_output=True, check=True
    ).stdout
    assert authorities.believed(made + trusted, tmp_path)[0] == 2
    for other in (trusted, made.replace(b"N CERT", b"N X509 CERT"), made[:-30], b"-----BEGIN X"):
        with pytest.raises(authorities.NotPem):
            authorities.certificates(made + other)
    tree = dict.fromkeys(("etc", "etc/ssl", "etc/ssl/certs"), rootfs.directory())
    tree["etc/ssl/certs/a.pem"] = rootfs.file(made)
    assert authorities.strangers(tree, {der}) == [] and authorities.strangers(tree, set())
    short = parts["certificate"].subject_hash(der)
    name = f"etc/ssl/certs/{short}.0"
    good = tree | {name: rootfs.symlink("a.pem")}
    assert authorities.found_by_hash(good) == [der]
    for path, node in (
        ("etc/ssl/certs/deadbeef.0", rootfs.symlink("a.pem")), (name, rootfs.file(made + own)),
        (f"etc/ssl/certs/{short}.2", rootfs.symlink("a.pem")),
    ):  # fmt: skip
        with pytest.raises(authorities.NotPem):
            authorities.found_by_hash(good | {path: node})
    linked = {path.replace("ssl/certs", "pki/certs"): node for path, node in good.items()}
    linked |= {"etc/pki": rootfs.directory(), "etc/ssl/certs": rootfs.symlink("../pki/certs")}
    assert authorities.found_by_hash(linked) == [der] and authorities.strangers(linked, set())


def test_links_are_followed_inside_the_tree(parts: dict[str, ModuleType]) -> None:
    rootfs = parts["rootfs"]
    tree = {
        "lib": rootfs.symlink("usr/lib"), "usr": rootfs.directory(), "usr/lib": rootfs.directory(),
        "usr/lib/a": rootfs.file(b"a"), "b": rootfs.symlink("/lib/../../usr/lib/a"),
        "c": rootfs.symlink("c"),
    }  # fmt: skip
    assert rootfs.find(tree, "lib/a") == rootfs.find(tree, "b") == "usr/lib/a"
    assert rootfs.content(tree, "lib/a") == b"a" and rootfs.find(tree, "") == ""
    assert rootfs.find(tree, "c") is None and rootfs.find(tree, "usr/lib/a/x") is None


def test_every_command_of_the_list_is_tried(parts: dict[str, ModuleType]) -> None:
    wanted = (TASK / "environment/bench/commands").read_text().split()
    commands = parts["commands"]
    assert set(commands.every()) == set(wanted)
    assert sum(len(known) > 1 for known in commands.every().values()) >= 60
    made = commands.trials(random.Random(5))
    assert set(made) == set(wanted)
    where = {name: f"/bin/{name}" for name in wanted}
    text = commands.script(made, where, random.Random(5))
    assert "{a}" not in text and "@echo" not in text
    said = "".join(f"\n<{name}>\n{' '.join(want)}\n<!{name}>\n" for name, (_, want) in made.items())
    assert parts["commands"].wrong(made, said) == []
    assert len(parts["commands"].wrong(made, said.replace("<sort>", "<x>"))) == 1
    # Which line of a command, under which name and where: all of it is drawn.
    others = [commands.script(commands.trials(d), where, d) for d in map(random.Random, range(9))]
    folders = [set(re.findall(r"mkdir (\S+) && cd", text)) for text in others]
    assert not set.intersection(*folders) and len({len(text) for text in others}) > 1
    assert {folder.rpartition("/")[0] for folder in folders[0]} >= {"", "/tmp", "/root"}
    harbor = commands.trials(random.Random(5), "harbor")
    assert set(wanted) - set(harbor) == {"chgrp", "chown", "stty", "tty"}
    assert harbor["id"][1][0] == "10001"
    for folder in re.findall(
        r"mkdir (\S+) && cd", commands.script(harbor, where, random.Random(1), "harbor")
    ):
        assert folder.startswith(("/tmp/", "/home/harbor/"))


@pytest.mark.needs("busybox-static")
def test_the_trials_are_what_busybox_does(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    commands = parts["commands"]
    listed = subprocess.run([busybox(), "--list"], capture_output=True, text=True, check=True)
    tools = tmp_path / "tools"
    tools.mkdir()
    for applet in listed.stdout.split():
        (tools / applet).symlink_to(busybox())
    # Those of files and texts that this busybox has: the others need a machine, or seconds.
    words = (
        "awk basename cat cmp cp cut dirname expr find fold grep gzip head ln ls mkdir mv od paste "
        "printf rm sed sha512sum sort split tail tar tee touch tr uniq wc xargs"
    )
    names = {*words.split()} & {*listed.stdout.split()}
    where = {name: str(tools / name) for name in commands.every()}
    for seed in range(3):
        draw = random.Random(seed)
        made = {n: trial for n, trial in commands.trials(draw, "harbor").items() if n in names}
        text = commands.script(made, where, draw, "harbor").replace("/home/harbor", str(tmp_path))
        text = text.replace("/tmp/", f"{tmp_path}/") if "/tmp/" not in str(tmp_path) else text
        user = subprocess.run(
            ["id", "-un"], capture_output=True, text=True, check=True
        ).stdout.strip()
        text = text.replace("-user harbor", f"-user {user}")
        said = subprocess.run(
            [tools / "sh"], input=text, env={"PATH": str(tools)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert commands.wrong(made, said.stdout, "harbor") == []


def test_the_second_list_has_what_the_format_allows(parts: dict[str, ModuleType]) -> None:
    for seed in range(5):
        order, held = parts["orders"].another(random.Random(seed), base_order(parts), own(parts))
        assert order.epoch >= 2**31 and len(order.layers) >= 10
        assert "" in dict(order.labels).values() and "\\" in order.ref and '"' in order.workdir
        assert {2, 3, 4} <= {len(c.encode()) for c in order.ref}
        assert max(len(entry.data) for p in held.values() for entry in p.entries) > 1 << 20
        # One after another, in the order of their bytes, and not in that of the numbers they are.
        paths = sorted(e.path for e in held["2.0"].entries if "/" not in e.path)
        numbers = [float(path) for path in paths if path[0] not in "0+-"]
        assert {"0", "00"} <= set(paths)
        assert len(held["2.0"].needs) == 4 and len(numbers) >= 3


def test_what_is_damaged_has_no_place_of_its_own(parts: dict[str, ModuleType]) -> None:
    cases = small(parts)
    damaged = cases.damaged()
    places = set()
    for case in damaged:
        named = [
            line.split("\t")[1] for line in case.listing.decode().splitlines() if line[:4] == "pack"
        ]
        places.add(named.index(cases.one.name))
    assert places >= {0, 1, 2}
    assert {"mode", "mode-of-the-manifest", "end-block", "other-form"} <= {c.name for c in damaged}
    names = {case.name for case in [*cases.listings(), *cases.misfits()]}
    for word in ("list", "ref", "epoch", "user", "workdir"):
        assert {f"list-no-{word}", f"list-{word}-twice"} <= names
    assert {"other-mode", "other-uid", "other-gid", "below-file"} <= names


def setting(parts: dict[str, ModuleType], folder: Path) -> Any:
    out, temp = folder / "out", folder / "temp or ary"
    out.mkdir()
    temp.mkdir()
    user = (os.getuid(), os.getgid())
    return replace(parts["bench"].PLAIN, uid=user[0], gid=user[1], out=str(out), temp=str(temp))


def test_what_lies_beside_output_is_looked_at(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    bench = parts["bench"]
    place = setting(parts, tmp_path)
    lying = bench._neighbours(place, random.Random(4))

    def run(script: str) -> list[str]:
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    run(bench._settle(place, lying))
    sums = [hashlib.sha256(text.encode()).hexdigest() for text in lying.values()]
    said = run(bench._look(place, lying))
    assert said[: len(lying)] == sums
    folders = {path.rpartition("/")[0] for path in lying} - {place.out, place.temp}
    assert set(said[len(lying) :]) == set(lying) | folders
    first, second = list(lying)[:2]
    Path(first).unlink()
    Path(second).write_text("other")
    assert run(bench._look(place, lying))[0] == "gone"
    assert run(bench._look(place, lying))[1] != sums[1]
    run(bench._settle(place, lying))
    assert run(bench._look(place, lying))[: len(lying)] == sums


def test_paths_of_any_form_lead_to_the_same(parts: dict[str, ModuleType], tmp_path: Path) -> None:
    bench = parts["bench"]
    (tmp_path / "a/b").mkdir(parents=True)
    path = str(tmp_path / "a/b")
    for form in ("//", "/./", "/../", "///"):
        made = bench._formed(path, form)
        assert made != path and form in made and Path(made).samefile(path)
    assert bench.odd(random.Random(1)).forms != bench.PLAIN.forms


def test_the_bench_has_no_name_of_its_own_in_an_image(parts: dict[str, ModuleType]) -> None:
    bench, draw = parts["bench"], random.Random(6)
    words = bench.ordinary_words(draw, 200, {"etc": None})
    assert len(set(words)) == 200 and "etc" not in words
    assert len({word[0] for word in words}) > 8 and len({len(word) for word in words}) > 4


def test_zones_under_other_names_are_found(parts: dict[str, ModuleType]) -> None:
    rootfs, zones = parts["rootfs"], parts["zones"]
    top = "usr/share/zoneinfo"
    tree = dict.fromkeys(("usr", "usr/share", top, f"{top}/Europe"), rootfs.directory())
    tree[f"{top}/Europe/Rome"] = rootfs.file(b"TZif")
    assert zones.names_in(tree) == ({"Europe/Rome"}, {"Europe"})
    assert zones.folders_of(["America/Argentina/Ushuaia", "UTC"]) == {
        "America",
        "America/Argentina",
    }
    names, folders = zones.names_in({**tree, f"{top}/Europa": rootfs.symlink("Europe")})
    assert "Europa/Rome" in names and "Europa" in folders
    assert "posix" in zones.names_in({**tree, f"{top}/posix": rootfs.symlink(".")})[1]
    assert "Leftover" in zones.names_in({**tree, f"{top}/Leftover": rootfs.directory()})[1]
    moved = {path.replace(top, "usr/zones"): node for path, node in tree.items()}
    moved[top] = rootfs.symlink("../zones")
    assert zones.names_in(moved) == ({"Europe/Rome"}, {"Europe"})


def test_a_system_says_its_name_in_lines(parts: dict[str, ModuleType]) -> None:
    system, good = parts["programs"].system, [("ID", "harbour"), ("VERSION_ID", "2.4")]
    assert system(b"NAME=x\nVERSION_ID='2.4'\n# a word\nID=\"harbour\"\n") == good
    for text in (b"ID=harbour VERSION_ID=2.4\n", b"ID=x\nID=harbour\nVERSION_ID=2.4\n", b""):
        assert system(text) != good


def test_zones_are_compared_in_every_second(parts: dict[str, ModuleType]) -> None:
    path = Path("/usr/share/zoneinfo/Europe/Berlin")
    if not path.exists():
        pytest.skip("no zones here")
    data, differ = path.read_bytes(), parts["zones"].differ
    assert differ(data, data) is None
    later = data.replace(b"M10.5.0/3\n", b"M10.5.0/4\n")
    assert later != data and differ(data, later) is not None
    with pytest.raises(ValueError, match="follows"):
        differ(data + b"more", data)


def sparse(size: int) -> bytes:
    header = bytearray(512)
    for at, data in (
        (0, b"build"), (100, b"0000644\0" b"0000000\0" b"0000000\0"), (124, b"00000000000\0" * 2),
        (156, b"S"), (257, b"ustar  \0"), (386, b"00000000000\0" * 2),
        (483, b"\x80" + size.to_bytes(11, "big")), (148, b" " * 8),
    ):  # fmt: skip
        header[at : at + len(data)] = data
    header[148:155] = b"%06o\0" % sum(header)
    return bytes(header) + bytes(1024)


def test_a_kit_that_says_it_is_endless_is_refused(
    parts: dict[str, ModuleType], tmp_path: Path
) -> None:
    path = tmp_path / "kit.tar"
    path.write_bytes(sparse(5))
    assert parts["kit"].read(path).files == {"build": bytes(5)}
    for data in (
        sparse(1 << 44),
        sparse(1 << 25),
        b"no tar",
        sparse(5).replace(b"build", b"../ld"),
        sparse(5) + b"\x7fELF",
    ):
        path.write_bytes(data)
        with pytest.raises(BadDeliverable):
            parts["kit"].read(path)


def test_a_thousand_names_of_a_file_are_one_file(parts: dict[str, ModuleType]) -> None:
    rootfs = parts["rootfs"]
    node = rootfs.file(bytes(1 << 20))
    assert len(rootfs.initramfs({f"n{n}": node for n in range(1000)})) < 2 << 20


def test_a_kit_with_something_compiled_is_unreadable(parts: dict[str, ModuleType]) -> None:
    unreadable = parts["kit"].unreadable
    assert unreadable({"build": b"echo\tx\n"}) == ""
    packed = base64.encodebytes(random.Random(1).randbytes(1500))
    for data in (b"\x7fELF\x02", b"\xff", b"x" * 201, b"x\n" * 40000, packed):
        assert unreadable({"build": data})


@pytest.mark.needs("busybox-static")
def test_the_root_file_system_is_what_cpio_reads(
    parts: dict[str, ModuleType], tmp_path: Path
) -> None:
    rootfs = parts["rootfs"]
    tree = {"a": rootfs.directory(), "a/b c": rootfs.file(b"text"), "l": rootfs.symlink("a/b c")}
    assert rootfs.content(tree, "l") == b"text"
    subprocess.run(
        [busybox(), "cpio", "-id"], input=rootfs.initramfs(tree), cwd=tmp_path, check=True
    )
    assert (tmp_path / "l").read_text() == "text"
