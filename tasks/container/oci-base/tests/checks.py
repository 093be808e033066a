"""oci-base: is the image whole, does it run, and does the kit make it again, and others too?"""

from __future__ import annotations

import base64
import hashlib
import re

import bench as benches
import compose
import kit as kits
import layout as layouts
import orders
import programs
import reference
import rootfs
from certificate import subject_hash
from tarform import DIRECTORY, SYMLINK

from benchflow.boot import check, milestone

MOST = 960 << 10
SECONDS = 90
ZONES, CERTIFICATES = "usr/share/zoneinfo/", "etc/ssl/certs/"
BUNDLE = f"{CERTIFICATES}ca-certificates.crt"
CONF = b"harbour = north quay\nkey = 7b1f-mole-4455\n"
FIRST, LAST = -2145916800, 4102444800


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# -- parcels --------------------------------------------------------------------------------------


@milestone("parcels", weight=1, proves=["R1", "R2"], title="The packages are there, in their form")
def test_the_kit_holds_the_packages_of_the_list(kit, parcels, order):
    found = {(p.name, p.version) for p in parcels.values()}
    assert found == set(order.packages) and len(kit.packed) == len(found), sorted(kit.packed)


@check("parcels", proves=["R3"])
def test_what_builds_is_text_to_be_read(kit):
    assert "build" in kit.files, f"no build in the kit: {sorted(kit.files)[:5]}"
    assert not kits.unreadable(kit.files)


@check("parcels", proves=["R28"])
def test_the_bench_is_as_it_was(bench, order):
    assert order.layers


# -- layout ---------------------------------------------------------------------------------------


@milestone("layout", weight=1, requires=["parcels"], proves=["R4"],
           title="base.tar is an OCI image layout")  # fmt: skip
def test_the_layout_is_whole(layout):
    assert layout.layers, "no layers"


@check("layout", proves=["R4"])
def test_the_layout_is_called_as_ordered_and_bears_its_time(layout, order):
    assert (layout.ref, layout.epoch) == (order.ref, order.epoch)


# -- composed -------------------------------------------------------------------------------------


@milestone("composed", weight=2, requires=["layout"], proves=["R4", "R5"],
           title="It consists of what the list says")  # fmt: skip
def test_the_layers_hold_what_the_list_says(layout, order, parcels):
    wanted = compose.layers(order, parcels)
    assert len(layout.layers) == len(wanted), f"{len(layout.layers)} layers"
    for number, (found, want) in enumerate(zip(layout.layers, wanted, strict=True), 1):
        assert not compose.difference(found, want), f"layer {number}"


@check("composed", proves=["R5"])
def test_the_configuration_is_the_lists(layout, order):
    assert layout.configuration == order.configuration(layout.diff_ids)
    assert layout.configuration["config"]["Env"] == list(order.env)


# -- boots ----------------------------------------------------------------------------------------


@milestone("boots", weight=2, requires=["composed"], proves=["R6", "R7"],
           title="It starts as a root file system, and its programs run")  # fmt: skip
def test_its_shell_runs_under_a_plain_kernel(image, nonce):
    word = nonce()
    done = image.start().root(f"echo {word} | sha256sum | cut -d ' ' -f 1 | tr a-f A-F")
    assert done.stdout.strip() == sha256(f"{word}\n".encode()).upper()


@check("boots", proves=["R7"])
def test_every_command_is_there(image, bench):
    wanted = (bench / "commands").read_text().split()
    said = image.root(
        "for c in " + " ".join(f"'{c}'" for c in wanted) + "; do "
        'p=$(IFS=:; for d in $PATH; do [ -x "$d/$c" ] && echo "$d/$c"; done); '
        '[ -n "$p" ] || echo "no $c"; done; echo end'
    )
    assert said.stdout.strip() == "end", said.stdout[:300]


@check("boots", proves=["R7"])
def test_the_commands_work(image, nonce):
    one, two = nonce(), nonce()
    done = image.root(
        f"cd /tmp && mkdir -p t/{one} && printf '%s\\n' {two} b a > t/{one}/f && "
        "tar -cf - t | gzip -9 > t.gz && rm -r t && zcat t.gz | tar -xf - && "
        f"sort t/{one}/f | awk 'NR == 1 {{ print toupper($1) }} END {{ print NR * 7 }}' && "
        f"find t -name f -type f | xargs grep -c {two} && "
        f"printf %s {one} | base64 | sed 's/=*$//' && seq 3 5 | paste -s -d+ - && "
        "date -u -d @86400 +%F && stat -c %a t.gz && rm -r t t.gz"
    )
    words = sorted([two, "b", "a"])
    expected = [words[0].upper(), "21", "1", base64.b64encode(one.encode()).decode().rstrip("=")]
    assert done.stdout.split() == [*expected, "3+4+5", "1970-01-02", "644"], done.stdout


@check("boots", proves=["R6"])
def test_it_has_what_programs_expect(tree, image):
    for folder in ("bin", "dev", "etc", "home", "proc", "root", "run", "sys", "tmp", "usr", "var"):
        assert folder in tree and tree[folder].type == DIRECTORY, f"no directory /{folder}"
    said = image.root(". /etc/os-release; echo $ID:$VERSION_ID").stdout.strip()
    assert said == "harbour:2.4"


# -- user -----------------------------------------------------------------------------------------


@milestone("user", weight=2, requires=["boots"], proves=["R8"], title="It runs as nobody special")
def test_the_entry_point_runs_as_harbor_at_home(image):
    done = image.user("id -u; id -g; id -un; id -gn; pwd; cd; pwd; echo x > f && cat f && rm f")
    assert done.stdout.split() == ["10001", "10001", "harbor", "harbor", *["/home/harbor"] * 2, "x"]


@check("user", proves=["R9"])
def test_nobody_can_log_in(tree):
    def rows(path):
        return [line.split(":") for line in tree[path].data.decode().splitlines()]

    users = {row[0]: row for row in rows("etc/passwd")}
    assert set(users) == {"root", "harbor"} and all(len(row) == 7 for row in users.values())
    assert users["harbor"][2:4] == ["10001", "10001"] and users["harbor"][5] == "/home/harbor"
    assert users["root"][2:4] == ["0", "0"]
    assert all(row[1] == "x" for row in users.values())
    locked = {row[0]: row[1] for row in rows("etc/shadow")}
    assert set(locked) == set(users) and all(w[:1] in ("*", "!") for w in locked.values())
    shadow = tree["etc/shadow"]
    assert (shadow.uid, shadow.mode & 0o077) == (0, 0), "others can read /etc/shadow"


@check("user", proves=["R10"])
def test_nothing_else_belongs_to_harbor_or_to_all(tree):
    for path, node in tree.items():
        inside = path == "home/harbor" or path.startswith("home/harbor/")
        owner = (10001, 10001) if inside else (0, 0)
        assert (node.uid, node.gid) == owner, f"{path} belongs to {node.uid}:{node.gid}"
        if node.type != SYMLINK and path != "tmp":
            assert not node.mode & 0o6022, f"{path} has mode {node.mode:04o}"
    assert tree["tmp"].mode == 0o1777
    assert not tree["home/harbor"].mode & 0o077


@check("user", proves=["R10"])
def test_harbor_can_write_at_home_and_in_tmp_alone(image, tree):
    folders = [path for path, node in tree.items() if node.type == DIRECTORY]
    names = " ".join(f"'/{path}'" for path in ["", *folders] if not path.startswith("usr/share/z"))
    image.user(f'for d in {names}; do {{ echo x > "$d/harbor-was-here"; }} 2> /dev/null; done')
    image.user("for f in /etc/* /bin/* /usr/bin/*; do { echo >> $f; } 2> /dev/null; done")
    found = image.bench("find / -xdev -user 10001; find / -xdev -name harbor-was-here").split()
    ok = ("/home/harbor", "/tmp/harbor-was-here")
    assert len(found) >= 5 and all(path.startswith(ok) for path in found), found
    conf = image.bench("sha256sum < /etc/almanac.conf").split()[0]
    assert conf == sha256(tree["etc/almanac.conf"].data), "harbor changed a file in /etc"


# -- programs -------------------------------------------------------------------------------------


@milestone("programs", weight=3, requires=["user"], proves=["R11"],
           title="The customer's program runs on the image's own C library")  # fmt: skip
def test_every_program_is_linked_to_musl_alone(tree):
    assert not programs.linked_otherwise(tree)
    assert "usr/bin/almanac" in programs.compiled(tree), "/usr/bin/almanac is not compiled"


@check("programs", proves=["R11"])
def test_the_library_is_musl_1_2_3(image, nonce):
    assert "Version 1.2.3" in image.bench(f"{programs.LOADER} 2>&1; true")
    word = nonce()
    # The loader itself starts the program, with the list of what it resolves.
    said = image.bench(f"cd /; {programs.LOADER} /usr/bin/almanac seal {word}").split()
    assert said == [f"{reference.fnv(f'{word}:/:0:'.encode() + CONF):016x}"]
    listed = image.bench(f"{programs.LOADER} --list /usr/bin/almanac")
    assert programs.LOADER in listed and "libc" in listed


@check("programs", proves=["R12"])
def test_almanac_seals_words_under_its_user(image, nonce):
    words = [nonce() for _ in range(3)]
    want = [
        f"{reference.fnv(f'{word}:/home/harbor:10001:'.encode() + CONF):016x}" for word in words
    ]
    assert image.entry("seal", *words).stdout.split() == want


@check("programs", proves=["R12", "R13"])
def test_almanac_says_its_version_and_nothing_of_its_making(image):
    assert image.entry("version").stdout == "almanac 2.4\n"


@check("programs", proves=["R12"])
def test_almanac_complains_as_its_readme_says(image, nonce):
    zone = f"Europe/{nonce()[:8]}"
    for words, status, text in (
        (("time", zone, "0"), 3, f"almanac: no zone {zone}"), ((), 2, "almanac: "),
        (("trust",), 2, "almanac: "),
    ):  # fmt: skip
        done = image.entry(*words)
        assert done.status == status and done.stdout.startswith(text), (words, done)
    done = image.user(f"SSL_CERT_FILE=/tmp/{nonce()} almanac trust x; echo $?")
    assert done.stdout.splitlines()[-1:] == ["4"], done.stdout


# -- zones ----------------------------------------------------------------------------------------


@milestone("zones", weight=2, requires=["programs"], proves=["R14"],
           title="It knows the time everywhere")  # fmt: skip
def test_every_zone_is_there_and_nothing_else(tree, known):
    names = {path[len(ZONES) :] for path in tree if path.startswith(ZONES)}
    names = {name for name in names if tree[f"{ZONES}{name}"].type != DIRECTORY}
    assert names == set(known), f"differ: {sorted(names ^ set(known))[:5]}"


@check("zones", proves=["R14"])
def test_every_zone_says_the_same_at_all_times(tree, bench, known, draw):
    shipped = reference.zones(bench / "tzdata.deb")
    for name, zone in known.items():
        data = rootfs.content(tree, f"{ZONES}{name}")
        own = reference.load(data)
        turns = {*reference.transitions(data), *reference.transitions(shipped[name])}
        # Two days on: a rule that goes wrong after its last change.
        near = (0, -1, 2 * 86400)
        moments = {turn + by for turn in turns if FIRST < turn < LAST for by in near}
        moments |= {draw.randrange(FIRST, LAST) for _ in range(40)}
        wrong = [s for s in moments if reference.local(zone, s) != reference.local(own, s)]
        assert not wrong, f"{name} is wrong at {sorted(wrong)[0]}"


@check("zones", proves=["R12", "R14"])
def test_almanac_tells_local_times_at_changes_of_the_clock(image, known, draw):
    moving = [name for name in sorted(known) if "/" in name and not name.startswith("Etc/")]
    asked = 0
    while asked < 8:
        name = draw.choice(moving)
        turns = reference.changes(known[name], 1041379200, 2145916800)
        if not turns:
            continue
        turn = draw.choice(turns)
        moments = [turn - 1, turn, turn + draw.randrange(3600), draw.randrange(FIRST, LAST)]
        said = image.entry("time", name, *map(str, moments)).stdout.splitlines()
        assert said == [reference.local(known[name], s) for s in moments], f"{name}: {said}"
        asked += 1


@check("zones", proves=["R15"])
def test_without_a_zone_it_is_utc(tree, image):
    assert rootfs.content(tree, "etc/localtime") == rootfs.content(tree, f"{ZONES}UTC")
    assert image.root("date -d @0 '+%F %T %z'").stdout.strip() == "1970-01-01 00:00:00 +0000"


# -- trust ----------------------------------------------------------------------------------------


@milestone("trust", weight=2, requires=["zones"], proves=["R16"],
           title="It trusts whom it should, and nobody else")  # fmt: skip
def test_the_bundle_holds_each_certificate_once(tree, trusted):
    found = reference.certificates(rootfs.content(tree, BUNDLE))
    assert len(found) == len(set(found)), "a certificate is there twice"
    assert set(found) == trusted, f"{len(found)} certificates, not {len(trusted)}"


@check("trust", proves=["R17"])
def test_each_certificate_is_found_by_its_hash(tree, trusted):
    hashed = [path for path in tree if re.fullmatch(rf"{CERTIFICATES}[0-9a-f]{{8}}\.\d+", path)]
    found = {path: reference.certificates(rootfs.content(tree, path)) for path in hashed}
    wrong = [p for p, held in found.items() if len(held) != 1 or held[0] not in trusted]
    assert not wrong, f"not one of the certificates: {wrong[:3]}"
    wrong = [p for p, held in found.items() if subject_hash(held[0]) != p[-10:].split(".")[0][-8:]]
    assert not wrong, f"another subject's hash: {wrong[:3]}"
    for path in found:
        stem, _, number = path.rpartition(".")
        assert number == "0" or f"{stem}.{int(number) - 1}" in found, f"a gap before {path}"
    assert {held[0] for held in found.values()} == trusted and len(found) == len(trusted)


@check("trust", proves=["R12", "R16"])
def test_almanac_trusts_them_in_the_machine(image, trusted, nonce):
    word = nonce()
    total = sum(reference.fnv(word.encode() + der) for der in trusted) % 2**64
    assert image.entry("trust", word).stdout.split() == [str(len(trusted)), f"{total:016x}"]


# -- slim -----------------------------------------------------------------------------------------


@milestone("slim", weight=2, requires=["trust"], proves=["R18"],
           title="It is small, and tells nothing of its making")  # fmt: skip
def test_it_is_small(delivered, metric):
    metric("image_bytes", len(delivered))
    assert len(delivered) <= MOST, f"{len(delivered)} bytes, {len(delivered) - MOST} too many"


@check("slim", proves=["R19"])
def test_there_is_nothing_that_no_program_needs(tree):
    assert not programs.debris(tree)


@check("slim", proves=["R20"])
def test_its_files_do_not_tell_of_their_making(tree):
    told = {path: programs.tells(data) for path, data in programs.compiled(tree).items()}
    told = {path: what for path, what in told.items() if what}
    assert not told, told


# -- builds ---------------------------------------------------------------------------------------


@milestone("builds", weight=3, requires=["composed"], proves=["R21"],
           title="The kit makes the same image on a build machine")  # fmt: skip
def test_the_kit_builds_the_delivered_image(plain, delivered, metric):
    status, said, seconds = plain.build("base", "base")
    assert status == 0, f"status {status}: {said[-500:]}"
    metric("build_seconds", round(seconds, 1))
    assert plain.digest() == sha256(delivered), "not the bits that were delivered"
    assert seconds <= SECONDS, f"{seconds:.0f} s"


@check("builds", proves=["R22"])
def test_it_leaves_nothing_else(plain):
    assert plain.left() == ["image.tar"]


# -- anywhere -------------------------------------------------------------------------------------


@milestone("anywhere", weight=3, requires=["builds"], proves=["R23"],
           title="And on any other build machine")  # fmt: skip
def test_another_machine_builds_the_same_bits(odd, delivered):
    status, said, _ = odd.build("base", "base")
    assert status == 0, f"status {status}: {said[-500:]}"
    assert odd.digest() == sha256(delivered), "other bits"


@check("anywhere", proves=["R22", "R23"])
def test_there_it_leaves_nothing_else_either(odd):
    assert odd.left() == ["image.tar"]


# -- another --------------------------------------------------------------------------------------


@milestone("another", weight=4, requires=["anywhere"], proves=["R24"],
           title="It makes what any other list says")  # fmt: skip
def test_another_list_becomes_what_it_says(built, second):
    made, wanted = layouts.read(built, "the second image"), compose.layers(*second)
    for number, (found, want) in enumerate(zip(made.layers, wanted, strict=True), 1):
        assert not compose.difference(found, want), f"layer {number}"


@check("another", proves=["R24"])
def test_its_configuration_is_the_other_lists(built, second):
    made = layouts.read(built, "the second image")
    assert (made.ref, made.epoch) == (second[0].ref, second[0].epoch)
    assert made.configuration == second[0].configuration(made.diff_ids)
    labels = list(made.configuration["config"]["Labels"])
    assert labels == [key for key, _ in second[0].labels], "the labels' order"


@check("another", proves=["R23", "R24"])
def test_another_machine_makes_the_same_of_it(odd, built):
    odd.clear()
    status, said, _ = odd.build("second", "second", "again.tar")
    assert status == 0, f"status {status}: {said[-500:]}"
    assert odd.digest("again.tar") == sha256(built), "other bits"


@check("another", proves=["R6", "R24"])
def test_what_came_of_it_runs(machines, bench, built, second, work, nonce):
    made = layouts.read(built, "the second image")
    tree = rootfs.overlay(made.layers)
    ship = benches.Image(machines, "second", bench, tree, made.configuration, nonce(), work)
    word = nonce()
    said = ship.start().entry(word).stdout.splitlines()
    state = rootfs.content(tree, f"{orders.PIER}/state").decode().strip()
    assert said == [state, f"{sha256(f'{word}{chr(10)}'.encode())}  -"]
    assert not ship.bench(f"ls -d /{orders.PIER}/gone /{orders.PIER}/old/deep 2> /dev/null; true")
    modes = ship.bench(f"stat -c '%a %u' '/{orders.PIER}/shared/twin' /{orders.PIER}/shared")
    assert modes.split() == ["4755", "65535", "2775", "0"]


# -- refuses --------------------------------------------------------------------------------------


def refused(builder, cases) -> list[str]:
    """The cases that were built, or of which something was left."""
    wrong = []
    for case in cases:
        builder.clear()
        status, said, _ = builder.build(case.name, case.name)
        if status == 0 or builder.left() or not said.strip():
            wrong.append(f"{case.name}: status {status}, left {builder.left()}, said {said[:80]!r}")
            break
    return wrong


@milestone("refuses", weight=3, requires=["another"], proves=["R24"],
           title="It refuses what is wrong")  # fmt: skip
def test_what_is_right_is_not_refused(plain, small):
    plain.clear()
    status, said, _ = plain.build("good", "good")
    assert status == 0, said[-500:]
    names = [m.name for m in layouts.read(plain.fetch()).layers[0]]
    assert names == ["a", "a/b", "a/b/other", "a/file", "a/hard", "a/second", "a/soft"]


@check("refuses", proves=["R25"])
def test_damaged_parcels_are_refused(plain, bad):
    assert not refused(plain, bad["damaged"])


@check("refuses", proves=["R26"])
def test_packages_that_do_not_fit_are_refused(plain, bad):
    assert not refused(plain, bad["misfits"])


@check("refuses", proves=["R27"])
def test_lists_that_are_none_are_refused(plain, bad):
    assert not refused(plain, bad["lists"])
