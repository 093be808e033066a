"""derivative: is it a Debian of one's own, that trusts whom it should and gets from 1.0 to 2.0?"""

from __future__ import annotations

import hashlib
import re

from cutting import START_SECONDS, UPGRADE_SECONDS
from debs import Deb
from delivered import INDEX, SUITES, holds
from refusing import hold_from, refused, still_one
from releases import ALKE, BRIS, DEBIAN

from benchflow.boot import Initramfs, check, milestone

# ---- archive --------------------------------------------------------------------------------


@milestone("archive", weight=1, proves=["R1"], title="The archives and their keys")
def test_the_keys(keys):
    assert len({key.public for key in keys.values()}) == 3, "the three keys do not differ"


@check("archive", proves=["R1"])
def test_no_secret_key_is_given_away(keys, deliverable, archive):
    texts = [deliverable(f"/app/out/{name}.key").read_bytes().split() for name in keys]
    lines = [line for words in texts for line in [w for w in words if len(w) > 40][:4]]
    secret = [*(key.seed for key in keys.values()), *lines]
    initrd = Initramfs(deliverable("/app/out/initrd").read_bytes())
    assert not any(part in data for _, data in initrd.contents("/") for part in secret), "in initrd"
    for path in [deliverable("/app/out/station.img"), *sorted(archive.rglob("*"))]:
        if path.is_file():
            assert not holds(path, secret), f"a secret key is in {path.name}"


@check("archive", proves=["R2"])
def test_the_suites(suites):
    for name, suite in suites.items():
        said = {key: suite.release.get(key) for key in ("codename", "suite", "origin")}
        origin = "Holm" if SUITES[name] == "holm" else "Debian"
        assert said == {"codename": name, "suite": name, "origin": origin}, f"{name}: {said}"
        assert "date" in suite.release and "valid-until" not in suite.release
        for package in suite.packages.values():
            control = package.control
            assert (control.get("package"), control.get("version")) == (
                package.name, package.version
            ), f"{package.path} is not what the index says"  # fmt: skip


@check("archive", proves=["R3"])
def test_the_packages_of_both_releases(suites):
    for name, wanted in (("alke", ALKE), ("bris", BRIS)):
        for package, version in wanted.items():
            assert suites[name].version(package) == version, f"{package} in {name}"
    assert "holm-relay" not in suites["bris"].packages


@check("archive", proves=["R3", "R4"])
def test_what_is_debians_is_in_base_alone(suites):
    for name, digest in DEBIAN.items():
        suites["bookworm"].version(name)
        found = hashlib.sha256(suites["bookworm"].packages[name].data).hexdigest()
        assert found == digest, f"{name} is not Debian's"
    for name in ("alke", "bris"):
        theirs = set(suites["bookworm"].packages) & set(suites[name].packages) - {"hello"}
        assert not theirs, f"{name} has packages of Debian's: {sorted(theirs)[:5]}"


# ---- boots ----------------------------------------------------------------------------------


@milestone("boots", weight=1, requires=["archive"], proves=["R5"], title="A station starts")
def test_it_starts(station, metric):
    station.start(START_SECONDS)
    metric("boot_seconds", station.machine.elapsed)
    assert station.machine.elapsed <= START_SECONDS, "it took longer"


@check("boots", proves=["R5"])
def test_the_disk(image, station):
    assert image("/app/out/station.img").ext4().exists("/etc/os-release"), "not one ext4"
    free = int(station.say("df -Pk / | awk 'END { print $4 }'"))
    assert free >= 100 << 10, f"{free} KiB are free"


@check("boots", proves=["R6"])
def test_it_says_who_it_is(station):
    assert station.release() == "holm 1.0 alke"
    assert station.say(". /etc/os-release; echo $ID_LIKE") == "debian"


# ---- packaged -------------------------------------------------------------------------------


@milestone("packaged", weight=2, requires=["boots"], proves=["R7"], title="All of it is packages")
def test_what_is_installed(station):
    there = station.installed()
    for name, version in (ALKE | {"holm-archive-keyring": "1.0"}).items():
        assert there.get(name) == version, f"{name}: {there.get(name)}"
    assert "bc" not in there


@check("packaged", proves=["R7"])
def test_every_file_of_ours_is_a_packages(station):
    command = (
        "for f in /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/apt/preferences "
        "/etc/apt/preferences.d/* /etc/apt/trusted.gpg /etc/apt/trusted.gpg.d/* /etc/holm/* "
        "/etc/holm/mirrors/* /usr/share/keyrings/* /usr/bin/holm-* /usr/sbin/holm-* "
        "/usr/bin/hello; "
        'do [ ! -f "$f" ] || echo "$f"; done | LC_ALL=C xargs dpkg -S 2>&1 >/dev/null'
    )
    assert station.run(command, 120).stdout.strip() == "", "files that are no package's"
    unit = station.say("systemctl show -P FragmentPath holm-tally").rpartition("/")[2]
    assert unit and station.run(f"dpkg -S '*/{unit}'").status == 0, "holm-tally has no unit"
    names = " ".join(ALKE)
    assert station.say(f"dpkg --verify {names}", 120) == "", "files that are not their package's"


@check("packaged", proves=["R6"])
def test_base_files_cannot_take_the_name_away(station, word):
    name = word("base-more")
    deb = Deb(name, "1", {"/usr/lib/os-release": "ID=debian\n"}, fields={"Replaces": "base-files"})
    station.machine.shell.write_file("/tmp/more.deb", deb.pack(), 120)
    station.run("dpkg -i /tmp/more.deb", 120)
    assert station.release() == "holm 1.0 alke"
    station.run(f"dpkg --purge {name}; rm /tmp/more.deb", 120)
    assert station.release() == "holm 1.0 alke"


# ---- service --------------------------------------------------------------------------------


@milestone("service", weight=1, requires=["packaged"], proves=["R8"], title="The registers")
def test_it_counts(station, nonce, shared):
    name = nonce()
    asked = ("version", "name", f"get {name}", "get x")
    assert station.ask(*asked) == ["version 1.0", "name station", "total 0", "total 0"]
    # Singly: what is asked anew, after the service hung up on a slow machine, is added twice.
    for number, total in ((40, 40), (2, 42)):
        assert station.ask(f"add {name} {number}") == [f"total {total}"]
    assert station.ask(f"get {name}") == ["total 42"]
    shared["counted"] = name


@check("service", proves=["R8"])
def test_registers_are_its_own(station, shared):
    path = f"/var/lib/holm-tally/{shared['counted']}"
    assert station.say(f"cat {path}") == "42"
    owner, mode = station.say(f"stat -c '%U %a' {path}").split()
    assert owner == "holm-tally" and not int(mode, 8) & 0o022, f"{owner} {mode}"
    process = "/proc/$(systemctl show -P MainPID holm-tally)"
    assert station.say(f"stat -c %U {process}") == "holm-tally", "it runs as another user"


@check("service", proves=["R8"])
def test_it_comes_back(station, shared):
    station.say("kill -9 $(systemctl show -P MainPID holm-tally)")
    assert station.ask(f"get {shared['counted']}", seconds=60) == ["total 42"]
    station.say(f"rm /var/lib/holm-tally/{shared['counted']}")


# ---- supply ---------------------------------------------------------------------------------


@milestone(
    "supply", weight=2, requires=["service"], proves=["R9"], title="Packages come from there"
)
def test_the_delivered_archives_are_taken(station, publisher, archive):
    for name, folder in SUITES.items():
        if name != "bris":
            root = archive / folder
            paths = [p for p in sorted((root / "dists" / name).rglob("*")) if p.is_file()]
            publisher.deliver(name, {str(p.relative_to(root)): p.read_bytes() for p in paths})
    station.online()
    station.look_to(publisher)
    assert station.apt("update") == 0
    assert station.candidate("holm-archive-keyring") == "1.1", "the archive's index is not used"
    assert station.candidate("bc"), "the base's index is not used"
    repositories = set(station.say("apt-get indextargets --format '$(REPO_URI)'").split())
    assert len(repositories) == 2, f"sources: {sorted(repositories)[:5]}"


@check("supply", proves=["R9", "R10"])
def test_packages_of_the_bench_are_installed(station, publisher, word, nonce, shared):
    ours, theirs, text = word("own"), word("deb"), nonce()
    publisher.offer(
        "alke", Deb(ours, "1.0", {f"/usr/share/{ours}": text}, fields={"Depends": theirs})
    )
    publisher.offer("bookworm", Deb(theirs, "1.0", {f"/usr/share/{theirs}": text}))
    publisher.publish("alke")
    publisher.publish("bookworm")
    shared["old"] = {
        n: publisher.files[publisher.path("alke", f"dists/alke/{n}")] for n in ("InRelease", INDEX)
    }
    assert station.apt("update") == 0
    assert station.apt(f"install {ours}") == 0, "a package of ours cannot be installed"
    assert station.say(f"cat /usr/share/{ours} /usr/share/{theirs}") == text * 2
    shared["ours"] = ours


# ---- precedence -----------------------------------------------------------------------------


@milestone(
    "precedence", weight=2, requires=["supply"], proves=["R10"], title="Ours before Debian's"
)
def test_ours_before_a_higher_version(station, publisher, word, nonce, shared):
    both, alien, text = word("both"), word("holm"), nonce()
    shared["alien"] = alien
    publisher.offer(
        "alke", Deb(both, "1.0", {f"/usr/share/{both}": text}), Deb(shared["ours"], "1.1")
    )
    publisher.offer(
        "bookworm", Deb(both, "7:9", {f"/usr/share/{both}": "theirs"}), Deb(alien, "1"),
        Deb("hello", "9:99"), Deb(shared["ours"], "99"), Deb("holm-base", "99"),
    )  # fmt: skip
    publisher.publish("alke")
    publisher.publish("bookworm")
    assert station.apt("update") == 0
    assert station.apt(f"install {both}") == 0
    assert station.say(f"cat /usr/share/{both}") == text
    assert station.candidate("hello") == ALKE["hello"]


@check("precedence", proves=["R11"])
def test_no_holm_from_the_base(station, shared):
    station.apt(f"install {shared['alien']}")
    assert station.version(shared["alien"]) is None, "a holm-… was taken from the base"


@check("precedence", proves=["R10", "R12"])
def test_an_upgrade_keeps_to_it(station, shared):
    assert station.apt(f"install --only-upgrade {shared['ours']} hello holm-base") == 0
    assert station.version(shared["ours"]) == "1.1"
    assert station.version("hello") == ALKE["hello"] and station.version("holm-base") == "1.0"


# ---- trust ----------------------------------------------------------------------------------


@milestone("trust", weight=3, requires=["precedence"], proves=["R13"], title="Who is believed")
def test_other_signatures_are_refused(station, publisher, word, stranger):
    refused(station, publisher, word, stranger, alke="stranger", bookworm="alke")


@check("trust", proves=["R13", "R14"])
def test_another_of_our_keys_and_a_changed_index(station, publisher, word, stranger):
    refused(station, publisher, word, stranger, alke="base", bookworm="index")


@check("trust", proves=["R13", "R15"])
def test_no_signature_and_a_base_that_calls_itself_ours(station, publisher, word, stranger):
    refused(station, publisher, word, stranger, alke="unsigned", bookworm="origin")
    assert station.candidate("hello") == ALKE["hello"]


@check("trust", proves=["R16", "R20"])
def test_the_key_of_two_and_an_expired_release(station, publisher, word, stranger):
    refused(station, publisher, word, stranger, alke="bris", bookworm="expired")


@check("trust", proves=["R14", "R17"])
def test_a_package_that_was_changed(station, publisher, word, nonce):
    name, good = word("own"), nonce()
    deb = Deb(name, "1.0", {f"/usr/share/{name}": good})
    other = Deb(name, "1.0", {f"/usr/share/{name}": nonce()}).pack()
    publisher.offer("alke", deb)
    publisher.publish("alke")
    publisher.publish("bookworm")
    place = f"pool/bench/{deb.file_name}"
    publisher.put("alke", place, other)
    assert station.apt("update") == 0, "an archive that is in order again is refused"
    assert station.apt(f"install {name}") != 0 and station.version(name) is None
    publisher.put("alke", place, deb.pack())
    assert station.apt(f"install {name}") == 0, "the right package is not taken any more"
    assert station.say(f"cat /usr/share/{name}") == good


# ---- forward --------------------------------------------------------------------------------


@milestone("forward", weight=2, requires=["trust"], proves=["R16", "R17"], title="Never backwards")
def test_an_older_release(station, publisher, word, shared):
    name = word("own")
    publisher.offer("alke", Deb(name, "1"))
    publisher.publish("alke")
    assert station.apt("update") == 0
    now = {n: publisher.files[publisher.path("alke", f"dists/alke/{n}")] for n in shared["old"]}
    for path, data in shared["old"].items():
        publisher.put("alke", f"dists/alke/{path}", data)
    station.apt("update")
    assert station.candidate(shared["ours"]) == "1.1", "an older Release was believed"
    assert station.apt(f"install {name}") == 0, "what the newer Release had is forgotten"
    for path, data in now.items():
        publisher.put("alke", f"dists/alke/{path}", data)


@check("forward", proves=["R18"])
def test_a_lower_version(station, publisher, word):
    name, lower = word("own"), word("own")
    # The keyring of 1.1 is not to be had yet: see the next milestone.
    publisher.offer("alke", Deb("holm-archive-keyring", "0.9"))
    publisher.offer("alke", Deb(name, "1"), Deb(lower, "1.2"))
    publisher.publish("alke")
    assert station.apt("update") == 0 and station.apt(f"install {name} {lower}") == 0
    publisher.offer("alke", Deb(name, "1.1"), Deb(lower, "1.0"))
    publisher.publish("alke")
    assert station.apt("update") == 0
    assert station.apt("upgrade") == 0, "apt-get upgrade fails"
    assert station.version(lower) == "1.2", "it went back to a lower version"
    assert station.version(name) == "1.1", "the others were not brought up to date"


# ---- gate -----------------------------------------------------------------------------------


@milestone("gate", weight=2, requires=["forward"], proves=["R20", "R21"], title="Not on bad ground")
def test_without_the_key_of_two(station, publisher, site):
    site.offer(publisher)
    for suite in SUITES:
        publisher.publish(suite)
    assert station.apt("update") == 0
    site.settle(station)
    assert station.upgrade() != 0, "it goes to a release whose key it cannot know"
    still_one(station)
    publisher.own["alke"].pop("holm-archive-keyring")
    publisher.publish("alke")


@check("gate", proves=["R14", "R21"])
def test_a_two_with_one_bad_package(station, publisher, site):
    publisher.publish("bris")
    package = publisher.suites["bris"].packages["holm-clock"]
    place = publisher.path("bris", package.path)
    publisher.files[place] = package.data[:-1] + bytes([package.data[-1] ^ 1])
    assert station.upgrade() != 0, "it goes to a release of which a package is broken"
    still_one(station)
    publisher.files[place] = package.data


@check("gate", proves=["R20", "R21"])
def test_it_still_takes_packages_of_one(station, publisher, word):
    name = word("own")
    publisher.offer("alke", Deb(name, "1"))
    publisher.publish("alke")
    assert station.apt("update") == 0 and station.apt(f"install {name}") == 0
    station.machine.snapshot("ready")


# ---- release --------------------------------------------------------------------------------


@milestone("release", weight=3, requires=["gate"], proves=["R19"], title="From 1.0 to 2.0")
def test_the_upgrade(station, publisher, metric, cut):
    publisher.asked.clear()
    began = station.machine.elapsed
    status = station.upgrade(UPGRADE_SECONDS)
    assert status == 0, f"holm-upgrade: {status}, {station.upgrade_log()}"
    metric("upgrade_seconds", station.machine.elapsed - began)


@check("release", proves=["R22"])
def test_it_is_a_whole_two(station, site):
    assert site.whole(station) == ""
    assert station.say(site.program) == site.answers["2.0"]
    assert not station.has("/etc/holm/relay.conf"), "the configuration of holm-relay is still there"
    assert station.say("dpkg --audit") == ""


@check("release", proves=["R6"])
def test_it_still_is_a_holm(station):
    assert station.release() == "holm 2.0 bris"
    wrong = station.run("dpkg --verify holm-base hello").stdout.splitlines()
    assert [line for line in wrong if " c /etc/" not in line] == []


@check("release", proves=["R19"])
def test_twice_is_once(station, site):
    before = station.installed()
    assert station.upgrade() == 0
    assert station.installed() == before


# ---- carried --------------------------------------------------------------------------------


@milestone(
    "carried", weight=3, requires=["release"], proves=["R23"], title="What was there is there"
)
def test_the_registers(station, site):
    site.registers_are_there(station)


@check("carried", proves=["R23"])
def test_the_settings_of_the_service(station, site):
    site.settings_are_there(station)


@check("carried", proves=["R9", "R25"])
def test_the_configuration(station, site):
    site.configuration_is_right(station)


@check("carried", proves=["R24"])
def test_the_tools(station, site):
    assert station.say("holm-clock 180000") == "2 d 2 h 0 min"
    heading = re.search(r"heading=(.*)\n", site.heading)[1]
    assert station.say("holm-report 12") == f"{heading}: volume 1728"
    assert station.say("dpkg -S /usr/bin/holm-clock") == "holm-clock: /usr/bin/holm-clock"


@check("carried", proves=["R31"])
def test_nothing_is_left_behind(station, site):
    site.nothing_is_left(station)


# ---- retired --------------------------------------------------------------------------------


@milestone("retired", weight=2, requires=["carried"], proves=["R27"], title="What was, is over")
def test_it_starts_as_two(station, site):
    station.restart()
    assert site.whole(station) == ""
    site.registers_are_there(station)


@check("retired", proves=["R26"])
def test_the_old_key_is_worth_nothing(station, publisher, word, stranger):
    station.online()
    publisher.publish("bris")
    assert station.apt("update") == 0
    refused(station, publisher, word, stranger, bris="alke")


@check("retired", proves=["R26", "R27"])
def test_packages_of_two_are_taken(station, publisher, word, nonce):
    name, text = word("own"), nonce()
    publisher.offer("bris", Deb(name, "1", {f"/usr/share/{name}": text}))
    publisher.offer("alke", Deb(name, "5", {f"/usr/share/{name}": "old"}))
    publisher.publish("bris")
    publisher.publish("alke")
    assert station.apt("update") == 0 and station.apt(f"install {name}") == 0
    assert station.say(f"cat /usr/share/{name}") == text


# ---- line -----------------------------------------------------------------------------------


@milestone("line", weight=2, requires=["retired"], proves=["R28"], title="Cut off while it fetches")
def test_power_goes_while_it_fetches(station, publisher, site):
    station.machine.restore("ready")
    publisher.asked.clear()
    seen = hold_from(publisher, 3)
    station.begin_upgrade()
    station.until(lambda: len(seen) > 2, UPGRADE_SECONDS, "third package")
    station.machine.power_cut()
    publisher.release_held()
    station.start(START_SECONDS)
    site.becomes_whole(station, 400)


@check("line", proves=["R28", "R30"])
def test_all_is_there_after_it(station, site):
    site.registers_are_there(station)
    site.settings_are_there(station)
    site.configuration_is_right(station)


# ---- power ----------------------------------------------------------------------------------


@milestone(
    "power", weight=3, requires=["line"], proves=["R28", "R29"], title="Cut off while it installs"
)
def test_power_goes_while_it_installs(cut):
    cut.becomes_whole.result()


@check("power", proves=["R22", "R30"])
def test_it_is_a_whole_two_all_the_same(cut, site):
    assert cut.station.say("dpkg --audit") == ""
    assert cut.station.say(site.program) == site.answers["2.0"]
    assert not cut.station.has("/etc/holm/relay.conf")


@check("power", proves=["R30"])
def test_no_register_is_lost(cut, site):
    site.registers_are_there(cut.station)
    site.settings_are_there(cut.station)


@check("power", proves=["R25", "R30"])
def test_no_configuration_is_lost(cut, site):
    site.configuration_is_right(cut.station)


@check("power", proves=["R31"])
def test_nothing_is_left_after_that(cut, site):
    site.nothing_is_left(cut.station)
