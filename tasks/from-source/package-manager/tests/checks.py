"""package-manager: does the station change as a whole, or not at all?"""

from __future__ import annotations

import re

import building
import configuring
import installing
import pytest
import refusing
import returning
import surviving
import trusting
import undoing
import upgrading
from form import by_number, index
from station import PASSWORD

from benchflow.boot import Elf, check, ed25519, is_elf, milestone
from benchflow.boot.errors import LoginFailed

REQUIRED = {"base", "libc", "busybox", "cc", "lade", "recipes", "tide"}
LOADER = "/lib/ld-musl-x86_64.so.1"
# Commands of BusyBox's default configuration that nothing here uses.
IDLE = {"cal", "factor", "tac", "nl", "rev", "expand", "unexpand", "zcip", "tsort", "fold"}
TOOLS = "sh awk sed grep find sort stat sha256sum wget tar vi"
PKCS8 = bytes.fromhex("302e020100300506032b657004220420")


# ---- repository --------------------------------------------------------------------------------


@milestone("repository", weight=1, proves=["R6"], title="The repository is as ordered")
def test_packages_have_the_form(own):
    assert set(own) >= REQUIRED, f"missing: {sorted(REQUIRED - set(own))}"
    for package in own.values():
        for need in package.needs:
            name, _, least = need.partition(">=")
            assert name in own, f"{package.name} needs {name}"
            assert not least or by_number(own[name].version) >= by_number(least), need


@check("repository", proves=["R6"])
def test_the_index_is_signed(delivered, own, key):
    text = index([(package, delivered[package.file_name]) for package in own.values()], 1)
    assert delivered.get("INDEX") == text, "INDEX is not that of these packages"
    assert ed25519.verify(key, text, delivered.get("INDEX.sig", b"")), "not signed with the key"
    assert set(delivered) == {"INDEX", "INDEX.sig", *(p.file_name for p in own.values())}


@check("repository", proves=["R6"])
def test_the_private_key_is_not_there(delivered, deliverable, key):
    files = {**delivered, "disk.img": deliverable("/app/out/disk.img").read_bytes(),
             "initrd": deliverable("/app/out/initrd").read_bytes()}  # fmt: skip
    for name, data in files.items():
        assert b"PRIVATE KEY-----" not in data, f"a private key in {name}"
        for found in re.finditer(re.escape(PKCS8), data):
            seed = data[found.end() : found.end() + 32]
            assert ed25519.public(seed) != key, f"the private key is in {name}"


# ---- boots -------------------------------------------------------------------------------------


@milestone("boots", weight=1, requires=["repository"], proves=["R1"], title="It starts")
def test_it_starts(station, metric):
    station.machine.boot()
    station.machine.expect("login: ?", timeout=30)
    metric("boot_seconds", station.machine.elapsed)
    with pytest.raises(LoginFailed):
        station.machine.login("root", PASSWORD[:-1] + "2", timeout=60)
    station.enter()


@check("boots", proves=["R3"])
def test_it_has_a_network(station):
    station.online(15)


@check("boots", proves=["R3"])
def test_a_dead_line_holds_up_nothing(lonely):
    lonely.start(30)
    assert lonely.versions()["lade"] and lonely.lade("update") == 10
    lonely.machine.close()


@check("boots", proves=["R2"])
def test_the_disk(station, deliverable):
    assert deliverable("/app/out/disk.img").stat().st_size == 64 << 20
    rows = [line.split() for line in station.say("cat /proc/mounts").splitlines()]
    root = [row for row in rows if len(row) > 3 and row[1] == "/" and row[0] != "rootfs"]
    assert root[-1][2] == "ext4" and "rw" in root[-1][3].split(","), root
    free = int(station.say("stat -f -c '%a %S' /").split()[0])
    size = int(station.say("stat -f -c '%a %S' /").split()[1])
    assert free * size >= 32 << 20, f"{free * size} bytes are free"


@check("boots", proves=["R4"])
def test_what_it_was_made_from(station):
    said = station.run(f"{LOADER} 2>&1").stdout
    assert "1.2.3-tarn3" in said, f"{LOADER} says {said[:200]!r}"
    assert "v1.35.0-tarn3" in station.run("busybox 2>&1 | head -n 1").stdout
    station.say(" && ".join(f"command -v {tool}" for tool in TOOLS.split()))


@check("boots", proves=["R5"])
def test_it_compiles(station, nonce):
    one, two = int(nonce()[:7], 16), int(nonce()[:7], 16)
    source = (
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
        "int main(int c, char **v) { char b[64]; long x = strtol(v[1], 0, 10);\n"
        f'  snprintf(b, sizeof b, "%ld", x * {one} + {two}); puts(b); return strlen(b) > 60; }}\n'
    )
    station.machine.shell.write_file("/tmp/try.c", source.encode())
    assert station.say("cd /tmp && cc -o try try.c && ./try 977", 120) == str(977 * one + two)
    assert station.say("cd /tmp && cc -static -o try2 try.c && ./try2 31") == str(31 * one + two)


# ---- whole -------------------------------------------------------------------------------------


@milestone("whole", weight=2, requires=["boots"], proves=["R7"], title="All is packages")
def test_every_file_is_a_packages(tree, own):
    wanted = {}
    for package in own.values():
        if package.name != "tide":
            wanted |= package.entries
    aside = {"dev", "proc", "sys", "run", "tmp", "root", "lost+found", "var/lib/lade"}
    contents = {item.path: data for item, data in tree.contents("/")}
    found = set()
    for item in tree.walk("/"):
        path = item.path.strip("/")
        if not path or any(path == top or path.startswith(f"{top}/") for top in aside):
            continue
        found.add(path)
        entry = wanted.get(path)
        assert entry, f"/{path} is no package's"
        assert (item.kind, item.uid, item.gid) == (entry.kind, entry.uid, entry.gid), f"/{path}"
        if entry.kind == "symlink":
            assert tree.readlink(f"/{path}") == entry.link, f"/{path} leads elsewhere"
        else:
            assert item.mode & 0o7777 == entry.mode, f"/{path} has mode {item.mode:o}"
        if entry.kind == "file":
            assert contents.get(f"/{path}") == entry.data, f"/{path} is another"
    missing = {path for path in wanted if path not in found and path not in aside}
    assert not missing, f"not on the disk: {sorted(missing)[:5]}"
    configs = {path for package in own.values() for path in package.configs}
    assert {"etc/lade.conf", "etc/shadow"} <= configs


@check("whole", proves=["R4"])
def test_how_programs_are_linked(own):
    for package in own.values():
        for path, entry in package.plain.items():
            if not is_elf(entry.data) or path.endswith((".o", ".ko")):
                continue
            elf = Elf(entry.data)
            assert elf.interpreter in ("", None, LOADER), f"/{path}: {elf.interpreter}"
            others = {name for name in elf.needed if name not in ("libc.so", "ld-musl-x86_64.so.1")}
            assert not others, f"/{path} needs {sorted(others)}"
            assert b"GLIBC_2." not in entry.data, f"/{path} is of another library"


@check("whole", proves=["R25", "R7"])
def test_it_tells_what_is_installed(station, own):
    mine = {name: package for name, package in own.items() if name != "tide"}
    assert station.versions() == {name: package.version for name, package in mine.items()}
    for name in ("busybox", "lade"):
        assert station.asks(f"files {name}") == [f"/{path}" for path in sorted(mine[name].plain)]
    assert station.asks(f"owner {LOADER}") == ["libc"]
    for path in ("/no/such", "/root"):
        assert station.lade(f"owner {path}") == 13
    assert station.lade("files tide") == 13
    station.sound()


@check("whole", proves=["R26"])
def test_it_finds_what_was_changed(station, own, draw):
    plain = {
        p: e for name, package in own.items() if name != "tide" for p, e in package.plain.items()
    }
    header, other = draw.sample(sorted(p for p in plain if p.endswith(".h")), 2)
    idle = [p for p, e in plain.items() if p.rpartition("/")[2] in IDLE and e.kind == "symlink"]
    link = draw.choice(idle)
    station.note()
    station.say(f"cp -p /{header} /run/bench/header; cp -a /{link} /run/bench/link; "
                f"echo >>/{header}; rm /{link}; chmod 700 /{other}; "
                "echo '# more' >>/etc/lade.conf")  # fmt: skip
    result = station.run("lade verify")
    wanted = sorted([(header, "changed"), (link, "missing"), (other, "changed")])
    assert result.stdout.splitlines() == [f"{what} /{path}" for path, what in wanted]
    assert result.status == 1
    station.say(f"cp -p /run/bench/header /{header}; cp -a /run/bench/link /{link}; "
                f"chmod {plain[other].mode:o} /{other}; sed -i '$d' /etc/lade.conf")  # fmt: skip
    station.changed()
    station.sound()


# ---- trusts ------------------------------------------------------------------------------------


@milestone("trusts", weight=2, requires=["whole"], proves=["R8"], title="It believes its keys")
def test_another_key_is_not_believed(station, repository):
    trusting.another_key_is_not_believed(station, repository)


@check("trusts", proves=["R8"])
def test_false_signatures(station, repository, word, draw):
    trusting.false_signatures(station, repository, word, draw)


@check("trusts", proves=["R8"])
def test_indexes_of_another_form(station, repository, shared):
    trusting.indexes_of_another_form(station, repository, shared)


@check("trusts", proves=["R8"])
def test_older_indexes(station, repository):
    trusting.older_indexes(station, repository)


@check("trusts", proves=["R8"])
def test_an_index_that_does_not_come(station, repository):
    trusting.an_index_that_does_not_come(station, repository)


# ---- installs ----------------------------------------------------------------------------------


@milestone("installs", weight=2, requires=["trusts"], proves=["R12"], title="It installs")
def test_what_is_installed_is_what_the_package_says(station, repository, word, nonce):
    installing.what_is_installed_is_what_the_package_says(station, repository, word, nonce)


@check("installs", proves=["R9", "R16"])
def test_what_is_needed_comes_and_nothing_else(station, repository, word, shared):
    installing.what_is_needed_comes_and_nothing_else(station, repository, word, shared)


@check("installs", proves=["R17"])
def test_checks_are_run_after_those_of_what_is_needed(station, repository, word, nonce):
    installing.checks_are_run_after_those_of_what_is_needed(station, repository, word, nonce)


# ---- refuses -----------------------------------------------------------------------------------


@milestone("refuses", weight=2, requires=["installs"], proves=["R14"], title="It refuses")
def test_packages_of_another_form(station, repository, word, draw):
    refusing.packages_of_another_form(station, repository, word, draw)


@check("refuses", proves=["R14", "R16"])
def test_packages_that_were_exchanged(station, repository, word, draw):
    refusing.packages_that_were_exchanged(station, repository, word, draw)


@check("refuses", proves=["R13", "R9"])
def test_what_cannot_be(station, repository, word, shared):
    refusing.what_cannot_be(station, repository, word, shared)


@check("refuses", proves=["R15"])
def test_files_in_the_way(station, repository, word):
    refusing.files_in_the_way(station, repository, word)


@check("refuses", proves=["R16"])
def test_wrong_calls(station):
    refusing.wrong_calls(station)


# ---- configures --------------------------------------------------------------------------------


@milestone(
    "configures", weight=2, requires=["installs"], proves=["R21"], title="It keeps what was set"
)
def test_configuration_through_upgrades(station, repository, word, nonce):
    configuring.configuration_through_upgrades(station, repository, word, nonce)


@check("configures", proves=["R22", "R23"])
def test_configuration_that_was_there_before(station, repository, word, nonce):
    configuring.configuration_that_was_there_before(station, repository, word, nonce)


# ---- upgrades ----------------------------------------------------------------------------------


@milestone("upgrades", weight=2, requires=["installs"], proves=["R10"], title="It upgrades")
def test_all_that_can_move(station, repository, word, nonce, shared):
    upgrading.all_that_can_move(station, repository, word, nonce, shared)


@check("upgrades", proves=["R10", "R13"])
def test_only_what_is_later(station, repository, word):
    upgrading.only_what_is_later(station, repository, word)


# ---- removes -----------------------------------------------------------------------------------


@milestone("removes", weight=1, requires=["installs"], proves=["R11"], title="It removes")
def test_what_is_needed_stays(station, repository, word):
    upgrading.what_is_needed_stays(station, repository, word)


# ---- builds ------------------------------------------------------------------------------------


@milestone("builds", weight=2, requires=["installs"], proves=["R27"], title="It builds")
def test_a_recipe_of_data(station, word, nonce):
    building.a_recipe_of_data(station, word, nonce)


@check("builds", proves=["R27", "R28", "R5"])
def test_a_recipe_of_a_program(station, repository, word, nonce):
    building.a_recipe_of_a_program(station, repository, word, nonce)


@check("builds", proves=["R28"])
def test_recipes_that_fail(station, word):
    building.recipes_that_fail(station, word)


@check("builds", proves=["R29"])
def test_tide_is_made_by_the_station(station, own, delivered, repository, nonce):
    building.tide_is_made_by_the_station(station, own, delivered, repository, nonce)


# ---- undoes ------------------------------------------------------------------------------------


@milestone(
    "undoes",
    weight=2,
    requires=["refuses", "upgrades", "removes"],
    proves=["R17"],
    title="It takes back what failed",
)
def test_a_check_that_fails(station, repository, word, nonce):
    undoing.a_check_that_fails(station, repository, word, nonce)


@check("undoes", proves=["R17", "R18"])
def test_a_check_that_does_not_end(station, repository, word):
    undoing.a_check_that_does_not_end(station, repository, word)


@check("undoes", proves=["R19"])
def test_lade_is_killed(station, repository, word, nonce):
    undoing.lade_is_killed(station, repository, word, nonce)


@check("undoes", proves=["R20"])
def test_there_is_no_room(station, repository, word, nonce):
    undoing.there_is_no_room(station, repository, word, nonce)


# ---- returns -----------------------------------------------------------------------------------


@milestone(
    "returns", weight=2, requires=["configures", "undoes"], proves=["R24"], title="It goes back"
)
def test_back_from_an_upgrade(station, repository, word, nonce):
    returning.back_from_an_upgrade(station, repository, word, nonce)


@check("returns", proves=["R24"])
def test_back_from_the_others(station, repository, word, nonce):
    returning.back_from_the_others(station, repository, word, nonce)


# ---- itself ------------------------------------------------------------------------------------


@milestone("itself", weight=2, requires=["returns"], proves=["R30"], title="It upgrades itself")
def test_its_own_parts(station, repository, own, nonce):
    returning.its_own_parts(station, repository, own, nonce)


# ---- survives ----------------------------------------------------------------------------------


@milestone("survives", weight=3, requires=["itself"], proves=["R31"], title="The power goes")
def test_power_goes_while_a_check_runs(station, repository, word, nonce):
    surviving.power_goes_while_a_check_runs(station, repository, word, nonce)


@check("survives", proves=["R31", "R33"])
def test_power_goes_while_it_fetches(station, repository, shared):
    surviving.power_goes_while_it_fetches(station, repository, shared)


@check("survives", proves=["R32"])
def test_power_goes_the_moment_after(station, repository, word, nonce):
    surviving.power_goes_the_moment_after(station, repository, word, nonce)


@check("survives", proves=["R31", "R30", "R33"])
def test_power_goes_at_any_moment_of_an_upgrade(
    station, repository, machines, deliverable, own, word, nonce, draw, shared
):
    surviving.power_goes_at_any_moment_of_an_upgrade(
        station, repository, machines, deliverable, own, word, nonce, draw, shared
    )


@check("survives", proves=["R31", "R24"])
def test_power_goes_at_any_moment_on_the_way_back(
    station, repository, machines, deliverable, draw, metric, shared
):
    surviving.power_goes_at_any_moment_on_the_way_back(
        station, repository, machines, deliverable, draw, metric, shared
    )


@check("survives", proves=["R2", "R12", "R16"])
def test_what_stands_on_the_disk_in_the_end(station, own):
    surviving.what_stands_on_the_disk_in_the_end(station, own)
