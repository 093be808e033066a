"""spin/fleet: its parts agree with each other, and its helpers can tell yes from no."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.catalogue import checkers

from benchflow.bench.apt_archive import IndexedPackage, Suite, signed_by
from benchflow.bench.deb_package import Deb, stanza
from benchflow.boot.inspect.openpgp import Key

TASK = Path(__file__).parents[2] / "tasks/spin/fleet"
HELPERS = ("archives", "releases", "station", "site_data", "fleet")


@pytest.fixture(scope="module")
def helpers() -> Iterator[dict[str, ModuleType]]:
    with checkers.helpers("spin/fleet", *HELPERS) as loaded:
        yield loaded


def _suite(name: str, **packages: str) -> Suite:
    found = {}
    for package, version in packages.items():
        deb = Deb(package.replace("_", "-"), version)
        data = deb.pack()
        path = f"pool/{deb.file_name}"
        paragraph = stanza(deb.control, path, data)
        found[deb.name] = IndexedPackage(deb.name, version, path, paragraph, data)
    origin = "Debian" if name == "bookworm" else "Holm"
    said = {"codename": name, "suite": name, "origin": origin, "date": "x", "label": "L"}
    return Suite(name, said, found)


def test_what_the_oracle_and_its_scripts_edit_is_there() -> None:
    """A `sed` that finds nothing leaves the honest oracle, and nobody would see it."""
    packages = TASK / "solution/packages"
    upgrade = (packages / "holm-upgrade").read_text()
    assert "--force-confold" in upgrade and "-o Dpkg::Options::=--force-confdef" in upgrade
    assert "--force-confdef --force" in upgrade and "\ngo_forward() {\n" in upgrade
    assert re.search(r"^give_up\(\) \{\n(.*\n)*?\texit 1\n\}", upgrade, re.MULTILINE)
    ledger = packages / "holm-ledger"
    postinst = (ledger / "DEBIAN/postinst").read_text()
    assert re.search(r"^tally=/var/lib/holm-tally ", postinst, re.MULTILINE)
    assert re.search(r"^\tfor old in .*registry.conf /etc/holm/tally.conf", postinst, re.MULTILINE)
    assert "\ninstall -d" in postinst
    assert len(re.findall(r"sed .*\$registry$", postinst, re.MULTILINE)) == 1
    unit = (ledger / "usr/lib/systemd/system/holm-ledger.service").read_text()
    assert "\nStartLimitIntervalSec=0\n" in unit and "\nRestartSec=1\n" in unit
    then = TASK.parent / "derivative/solution/packages/holm-base-2.0"
    unit = (then / "usr/lib/systemd/system/holm-upgrade.service").read_text()
    assert "\nConditionPathExists=/var/lib/holm-upgrade\n" in unit and "\nAfter=" in unit


def test_the_through_two_variant_finds_what_it_changes() -> None:
    upgrade = (TASK / "solution/packages/holm-upgrade").read_text()
    for once in (
        "SourceParts=$state/sources.d",
        "Lists=$state/lists -o Dir::Cache::Archives=$state/archives",
        "resume=${1:-}\n",
        '\tnext --download-only dist-upgrade || give_up "3.0 cannot be fetched"\n',
        "go_forward() {\n",
    ):
        assert upgrade.count(once) == 1, once


def test_the_order_names_every_package_that_is_asked_for(helpers: dict[str, ModuleType]) -> None:
    order = (TASK / "instruction.md").read_text()
    for content in helpers["releases"].CONTENT.values():
        for name, version in content.items():
            assert f"`{name}` {version}" in order


def test_what_a_new_configuration_holds_is_what_was_ordered(helpers: dict[str, ModuleType]) -> None:
    order, data = TASK / "environment/order", helpers["site_data"]
    assert (order / "ledger/ledger.conf").read_text() == data.LEDGER_CONF
    assert (order / "site-3.0.conf").read_text() == data.SITE_CONF
    assert (order / "tools-3.0/report.conf").read_text() == data.REPORT_CONF


def test_what_was_there_has_to_be_there(helpers: dict[str, ModuleType]) -> None:
    not_kept = helpers["releases"].not_kept
    then = {"alke": _suite("alke", hello="2.9-1holm1", holm_base="1.0")}
    assert not not_kept({"alke": _suite("alke", hello="2.9-1holm1", holm_base="1.1")}, then)
    for now, word in (
        (_suite("alke", holm_base="1.0"), "no hello"),
        (_suite("alke", hello="2.9-1holm1", holm_base="0.9"), "lower holm-base"),
    ):
        assert word in not_kept({"alke": now}, then)[0]
    base = {"bookworm": _suite("bookworm", bc="1")}
    assert "bc 2" in not_kept({"bookworm": _suite("bookworm", bc="2")}, base)[0]
    other = _suite("bookworm", bc="1")
    changed = IndexedPackage("bc", "1", "x", "", other.packages["bc"].data + b"x")
    other.packages["bc"] = changed
    assert "another bc" in not_kept({"bookworm": other}, base)[0]


@pytest.fixture
def made(helpers: dict[str, ModuleType]) -> tuple[Any, Any, dict[str, Key]]:
    """The archives of now, with a station's packages."""
    names = ("alke", "bris", "dorg", "base", "stranger")
    keys = {name: Key.stranger(secrets.token_bytes(32)) for name in names}
    archives, data = helpers["archives"], helpers["site_data"]
    suites = {name: _suite(name, **{f"holm_{name}": "1"}) for name in archives.SUITES}
    now = archives.Archives(suites, keys, archives.SIGNERS, archives.Clock())
    site = data.Site(changed=True)
    site.offer(now)
    return now, site, keys


def test_suites_are_signed_as_the_order_says_or_by_a_thief(
    made: tuple[Any, Any, dict[str, Key]], helpers: dict[str, ModuleType]
) -> None:
    now, site, keys = made
    files, dates = now.all(), []
    for name, signers in helpers["archives"].SIGNERS.items():
        below = f"{helpers['archives'].SUITES[name]}/dists/{name}"
        text = signed_by(files[f"{below}/InRelease"], *(keys[key] for key in signers))
        dates.append(re.search(r"^Date: (.*)$", text, re.MULTILINE))
        assert f"Codename: {name}\n" in text and "Label: L\n" in text
        index = files[f"{below}/{helpers['archives'].INDEX}"].decode()
        paths = re.findall(r"^Filename: (.*)$", index, re.MULTILINE)
        assert paths and all(f"{below.partition('/')[0]}/{path}" in files for path in paths)
    assert len({found[1] for found in dates if found}) == 4
    evil = now.suite("bris", Deb("evil", "6.6"), keys=("bris",))
    assert signed_by(evil["holm/dists/bris/InRelease"], keys["bris"])
    assert now.place("dorg", site.local) in files and now.place("alke", "holm-alke") in files


def test_two_stations_have_nothing_in_common(helpers: dict[str, ModuleType]) -> None:
    one, other = (helpers["site_data"].Site(changed=True) for _ in range(2))
    assert not set(one.registers) & set(other.registers)
    assert {one.local, one.extra, *one.spares}.isdisjoint({other.local, other.extra, *other.spares})
    assert len(set(one.words.values()) | set(other.words.values())) == 8


def test_a_line_serves_what_lies_at_its_end(helpers: dict[str, ModuleType]) -> None:
    line = helpers["archives"].Line("127.0.0.1")
    try:
        line.serve({"holm/a": b"1", "holm/dists/dorg/x": b"2"}, "holm/dists/dorg/")
        assert line.files == {line.place("holm/a"): b"1"}
        line.change({"holm/a": b"3"})
        assert line.files == {line.place("holm/a"): b"3"}
        seen = line.hold_debs_from(2)
        assert not line.is_held("/x/Packages") and not line.is_held("/x/1.deb")
        assert line.is_held("/x/2.deb") and not line.is_held("/x/1.deb") and len(seen) == 2
    finally:
        line.close()
