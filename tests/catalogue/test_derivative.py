"""spin/derivative: its parts agree with each other, and its helpers can tell yes from no."""

from __future__ import annotations

import base64
import gzip
import hashlib
import lzma
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.catalogue import checkers

from benchflow.bench.packed_secrets import disk_has_secret, forms, has_secret
from benchflow.boot.inspect import openpgp
from benchflow.boot.inspect.ext4 import Ext4
from benchflow.boot.machine.deadline import Deadline
from benchflow.boot.machine.frames import Result

TASK = Path(__file__).parents[2] / "tasks/spin/derivative"
HELPERS = (
    "debs", "delivered", "owned", "publisher", "releases", "station", "site_data",
)  # fmt: skip


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("spin/derivative", *HELPERS) as loaded:
        yield loaded


@pytest.fixture
def key() -> openpgp.Key:
    return openpgp.Key.stranger(bytes(range(32)))


def archive(helpers: dict[str, ModuleType], folder: Path, key: Any, **changed: str) -> Path:
    """An archive with the suite alke, of one package."""
    debs, delivered = helpers["debs"], helpers["delivered"]
    deb = debs.Deb("holm-base", "1.0", {"/usr/bin/holm-x": "#!/bin/sh\n"})
    data = deb.pack()
    index = debs.stanza(deb.control, "pool/x.deb", data).encode() + b"\n"
    digest = f" {hashlib.sha256(index).hexdigest()} {len(index)} {delivered.INDEX}\n"
    release = "Codename: alke\nOrigin: Holm\nSHA256:\n" + changed.get("digest", digest)
    place = folder / "holm/dists/alke"
    (place / delivered.INDEX).parent.mkdir(parents=True)
    (folder / "holm/pool").mkdir()
    (folder / "holm/pool/x.deb").write_bytes(data + changed.get("more", "").encode())
    (place / delivered.INDEX).write_bytes(index)
    (place / "InRelease").write_bytes(key.clearsigned(release))
    return folder


def test_what_the_oracle_and_its_exploits_edit_is_there() -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    packages = TASK / "solution/packages"
    upgrade = (packages / "holm-upgrade").read_text()
    assert "--force-confold" in upgrade and "-o Dpkg::Options::=--force-confdef" in upgrade
    assert "now purge holm-relay holm-tally" in upgrade and "--force-confdef --force" in upgrade
    registry = (packages / "holm-registry-2.0/DEBIAN/postinst").read_text()
    assert re.search(r"^old=/var/lib/holm-tally ", registry, re.MULTILINE)
    for version in ("1.0", "2.0"):
        base = packages / f"holm-base-{version}"
        assert "\nSigned-By: " in (base / "etc/apt/sources.list.d/holm.sources").read_text()
        assert "\nURIs: mirror+file:/" in (base / "etc/apt/sources.list.d/holm.sources").read_text()
        assert "Pin-Priority: 990" in (base / "etc/apt/preferences.d/holm").read_text()
        unit = (base / "usr/lib/systemd/system/holm-upgrade.service").read_text()
        assert "\nConditionPathExists=/var/lib/holm-upgrade\n" in unit
    assert "\ngive_up() {\n" in upgrade and "\texit 1\n}\n\nprepare() {" in upgrade
    assert "\ngo_forward() {\n" in upgrade and "\nfor _ in 1 2 3; do\n" in upgrade
    unit = (packages / "holm-tally-1.0/usr/lib/systemd/system/holm-tally.service").read_text()
    assert "\nRestart=always\n" in unit


def test_the_letter_names_every_package_that_is_asked_for() -> None:
    letter = (TASK / "instruction.md").read_text()
    checks = (TASK / "tests/releases.py").read_text()
    for table in re.findall(r"^(?:ALKE|BRIS) = \{(.*?)\}", checks, re.MULTILINE | re.DOTALL):
        for name, version in re.findall(r'"([a-z-]+)": "([^"]+)"', table):
            assert f"`{name}` {version}" in letter


def test_a_suite_is_read_and_every_change_is_seen(
    helpers: dict[str, ModuleType], key: Any, tmp_path: Path
) -> None:
    delivered = helpers["delivered"]
    suite = delivered.suite(archive(helpers, tmp_path / "a", key), "alke", key)
    assert suite.version("holm-base") == "1.0"
    assert suite.packages["holm-base"].control["version"] == "1.0"
    other = openpgp.Key.stranger(bytes(32))
    assert not suite.problems
    foreign = delivered.suite(tmp_path / "a", "alke", other)
    assert any("signed by alke.key alone" in line for line in foreign.problems)
    assert foreign.version("holm-base") == "1.0", "the bench can still make an archive of it"
    for number, changed in enumerate(({"more": "x"}, {"digest": " 00 1 main/x\n"})):
        folder = archive(helpers, tmp_path / str(number), key, **changed)
        assert len(delivered.suite(folder, "alke", key).problems) == 1


@pytest.fixture
def armour(key: Any) -> str:
    """A secret key as gpg exports it, without its identity."""
    body = key.body + b"\0\1\0" + key.seed
    body = body[: len(key.body) + 1] + openpgp._mpi(key.seed) + b"\0\0"
    packet = b"\xc5" + bytes([len(body)]) + body
    text = base64.encodebytes(packet).decode()
    return f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{text}-----END PGP PRIVATE KEY BLOCK-----\n"


def test_a_key_that_ends_is_seen(helpers: dict[str, ModuleType], armour: str) -> None:
    never_ends = helpers["delivered"].never_ends
    assert never_ends(armour)
    data = openpgp.unarmoured(armour, "PGP PRIVATE KEY BLOCK")
    for days, ends in ((0, False), (30, True)):
        hashed = openpgp._sub(2, bytes(4)) + openpgp._sub(9, (days * 86400).to_bytes(4, "big"))
        body = bytes([4, 0x13, 22, 10]) + len(hashed).to_bytes(2, "big") + hashed + bytes(10)
        text = base64.encodebytes(data + b"\xc2" + bytes([len(body)]) + body).decode()
        block = "PGP PRIVATE KEY BLOCK"
        signed = f"-----BEGIN {block}-----\n\n{text}-----END {block}-----\n"
        assert never_ends(signed) is not ends


def test_a_secret_is_found_in_what_is_packed(
    helpers: dict[str, ModuleType], key: Any, armour: str, tmp_path: Path
) -> None:
    debs = helpers["debs"]
    secret = forms(key, armour)
    assert key.seed.lstrip(b"\0") in secret
    wide = armour.replace("\n", "")
    assert has_secret(wide.encode(), secret), "lines of another length"
    deb = debs.Deb("x", "1", {"/usr/share/x": armour}).pack()
    assert has_secret(deb, secret) and has_secret(lzma.compress(deb), secret)
    assert not has_secret(debs.Deb("x", "1", {"/usr/share/x": "y"}).pack(), secret)
    disk = tmp_path / "disk"
    for content in (armour.encode(), gzip.compress(armour.encode()), lzma.compress(deb)):
        disk.write_bytes(bytes(1 << 20) + content + bytes(1 << 20))
        assert disk_has_secret(disk, secret)
    disk.write_bytes(bytes(1 << 20) + gzip.compress(b"nothing")[:-3] + bytes(1 << 20))
    assert not disk_has_secret(disk, secret)


@pytest.mark.needs("e2fsprogs")
def test_what_is_no_packages_is_found(helpers: dict[str, ModuleType], tmp_path: Path) -> None:
    root, disk = tmp_path / "root", tmp_path / "disk"
    for path in ("usr/sbin/ours", "usr/sbin/alien", "etc/apt/sources.list",
                 "etc/apt/sources.list.d/more.list", "usr/share/doc/readme"):  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("# nothing\n" if path.endswith("sources.list") else "deb x\n")
    for name in ("ours", "alien"):
        (root / "usr/sbin" / name).chmod(0o755)
    info = root / "var/lib/dpkg/info"
    info.mkdir(parents=True)
    (info / "ours.list").write_text("/.\n/sbin/ours\n")
    subprocess.run(["truncate", "-s", "8M", disk], check=True)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", root, disk], check=True)
    found = helpers["owned"].not_a_packages(Ext4(disk))
    assert found == ["/etc/apt/sources.list.d/more.list", "/usr/sbin/alien"]


def test_what_a_suite_must_be(helpers: dict[str, ModuleType], key: Any, tmp_path: Path) -> None:
    releases = helpers["releases"]
    suite = helpers["delivered"].suite(archive(helpers, tmp_path, key), "alke", key)
    assert [line for line in releases.not_as_ordered(suite) if "the Release says" in line]
    assert len(releases.not_the_content(suite)) == 5
    assert releases.not_unchanged(suite) == ["hello", "bc"]
    assert releases.debians(suite, suite) == ["holm-base"]


def test_dpkg_takes_the_packages_that_are_made(
    helpers: dict[str, ModuleType], tmp_path: Path
) -> None:
    site = helpers["site_data"].Site()
    deb = site.package("2.0")
    (tmp_path / "x.deb").write_bytes(deb.pack())
    run = ["dpkg-deb", "-x", str(tmp_path / "x.deb"), str(tmp_path / "tree")]
    subprocess.run(run, check=True)
    assert (tmp_path / "tree" / site.program.lstrip("/")).stat().st_mode & 0o111
    said = subprocess.run(
        ["dpkg-deb", "-f", str(tmp_path / "x.deb"), "Package", "Version"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout == f"Package: {site.local}\nVersion: 2.0\n"
    assert helpers["debs"].control_of(deb.pack())["package"] == site.local


@pytest.mark.parametrize("cut", [0, 8, 40, 70, 150])
def test_broken_packages_are_the_deliverers_fault(helpers: dict[str, ModuleType], cut: int) -> None:
    from benchflow.boot import BadDeliverable

    data = helpers["debs"].Deb("x", "1").pack()[:cut]
    with pytest.raises((AssertionError, BadDeliverable)):
        helpers["debs"].control_of(data)


class Between:
    """What a station answers that became a 2.0, and removes a package just while it is asked."""

    alive, elapsed = True, 0.0

    def __init__(self, versions: dict[str, str]) -> None:
        rest = [f"{name} {version} ii" for name, version in versions.items()]
        self.lists = [rest, [*rest, "holm-relay 1.0 pF"], rest, rest]
        self.shell = self

    def deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds, 1.0, lambda: 0.0)

    def run(self, command: str, **_: object) -> Result:
        if command.startswith("dpkg-query"):
            return Result("\n".join(self.lists.pop(0)), 0)
        if command.startswith("test -e"):
            return Result("", 1)
        if command.startswith("apt-get indextargets"):
            return Result("http://x/holm bris\nhttp://x/base bookworm\n", 0)
        assert command.startswith(". /etc/os-release"), command
        return Result("holm 2.0 bris", 0)


def test_a_station_between_two_states_is_asked_again(
    helpers: dict[str, ModuleType], key: Any
) -> None:
    site, releases = helpers["site_data"].Site(), helpers["releases"]
    own = {site.local: "2.0", site.extra: "3.1", site.ahead: "3.0", site.by_hand: "1"}
    machine = Between({**releases.BRIS, **own, "bc": "1"})
    station = helpers["station"].Station(machine)
    suite = helpers["delivered"].Suite("bris", {}, {})
    station.publisher = helpers["publisher"].Publisher({"bris": key}, {"bris": suite})
    try:
        site.becomes_whole(station, 60)
        assert not machine.lists, "it was not seen between two states"
    finally:
        station.publisher.close()


def test_an_archive_of_this_run(helpers: dict[str, ModuleType], key: Any, tmp_path: Path) -> None:
    debs, delivered = helpers["debs"], helpers["delivered"]
    suite = delivered.suite(archive(helpers, tmp_path, key), "alke", key)
    publisher = helpers["publisher"].Publisher({"alke": key}, {"alke": suite})
    try:
        publisher.offer("alke", debs.Deb("new-one", "3"))
        first = publisher.publish("alke", valid_for=60)
        assert "Valid-Until: " in first and "Origin: Holm\n" in first
        second = debs.fields(publisher.publish("alke", Origin="Other"))
        assert second["origin"] == "Other"
        assert "label" not in second, "apt takes another Label for another archive"
        assert second["date"] != debs.fields(first)["date"]
        base = f"http://127.0.0.1:{publisher.port}"
        place = publisher.path("alke", "dists/alke")
        with urllib.request.urlopen(f"{base}{place}/InRelease") as answer:
            assert openpgp_text(helpers, answer.read(), key)["origin"] == "Other"
        with urllib.request.urlopen(f"{base}{place}/{delivered.INDEX}") as answer:
            assert b"Package: new-one\n" in answer.read()
        publisher.serve("alke", "pool/a+b.deb", b"a plus")
        with urllib.request.urlopen(f"{base}{publisher.path('alke', 'pool/a%2bb.deb')}") as answer:
            assert answer.read() == b"a plus"
        assert not publisher.marked("here")
        urllib.request.urlopen(f"{base}/mark/here").close()
        assert publisher.marked("here")
        publisher.down = True
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{base}{place}/InRelease")
        urllib.request.urlopen(f"{base}/mark/here").close()
    finally:
        publisher.close()


def openpgp_text(helpers: dict[str, ModuleType], data: bytes, key: Any) -> dict[str, str]:
    text = openpgp.signed_text(data, key)
    fields: dict[str, str] = helpers["debs"].fields(text)
    return fields
