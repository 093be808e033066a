"""oci-base: is the image whole, does it run, and does the kit make it again, and others too?"""

from __future__ import annotations

import hashlib
import struct

import accounts
import almanac
import authorities
import bench as benches
import commands
import compose
import kit as kits
import orders
import programs
import reference
import zones

from benchflow.bench import oci_reader
from benchflow.bench import rootfs_tree as rootfs
from benchflow.bench.tar_canon import DIRECTORY, SYMLINK
from benchflow.boot import check, milestone

MOST = 960 << 10
SECONDS = 90
ZONES = "usr/share/zoneinfo/"
CONF = b"harbour = north quay\nkey = 7b1f-mole-4455\n"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@milestone("parcels", weight=1, proves=["R1", "R2"], title="The packages are there, in their form")
def test_the_kit_holds_the_packages_of_the_list(kit, parcels, order):
    found = {(p.name, p.version) for p in parcels.values()}
    assert found == set(order.packages) and len(kit.packed) == len(found), (
        f"packages/ holds {sorted(kit.packed)}; [R1] wants one parcel for each package of "
        f"base.list and nothing else"
    )


@check("parcels", proves=["R3"])
def test_what_builds_is_text_to_be_read(kit):
    assert "build" in kit.files, f"[R1] wants build in the kit: {sorted(kit.files)[:5]}"
    why = kits.unreadable(kit.files)
    assert not why, f"{why}: [R3] wants text that a person can read"


# -- layout ---------------------------------------------------------------------------------------


@milestone("layout", weight=1, proves=["R4"], title="base.tar is an OCI image layout")
def test_the_layout_is_whole(layout):
    assert layout.layers, "no layers"


@check("layout", proves=["R4"])
def test_the_layout_is_called_as_ordered_and_bears_its_time(layout, order):
    found, want = (layout.ref, layout.epoch), (order.ref, order.epoch)
    assert found == want, f"ref and time are {found}, not the list's {want} [R4]"


# -- composed -------------------------------------------------------------------------------------


@milestone("composed", weight=2, requires=["parcels", "layout"], proves=["R4", "R5"],
           title="It consists of what the list says")  # fmt: skip
def test_the_layers_hold_what_the_list_says(layout, order, parcels):
    same_layers(layout, compose.layers(order, parcels), "[R5]")


@check("composed", proves=["R5"])
def test_the_configuration_is_the_lists(layout, order):
    same_configuration(layout, order, "[R5]")


@check("composed", proves=["R28"])
def test_the_bench_is_as_it_was(added):
    assert not added, f"/app/bench holds {added[:5]} beside what was shipped: [R28]"


def same_layers(made, wanted, words) -> None:
    assert len(made.layers) == len(wanted), f"{len(made.layers)} layers, not {len(wanted)} {words}"
    for number, (found, want) in enumerate(zip(made.layers, wanted, strict=True), 1):
        why = compose.difference(found, want)
        assert not why, f"layer {number}: {why} {words}"


def same_configuration(made, order, words) -> None:
    wanted = order.configuration(made.diff_ids)
    assert made.configuration == wanted, f"{made.configuration}, not {wanted} {words}"
    labels = list(made.configuration["config"].get("Labels", {}))
    assert labels == [key for key, _ in order.labels], f"the labels' order: {labels} {words}"


# -- boots ----------------------------------------------------------------------------------------


@milestone("boots", weight=2, requires=["layout"], proves=["R6", "R7"],
           title="It starts as a root file system, and its programs run")  # fmt: skip
def test_its_shell_runs_under_a_plain_kernel(image, nonce):
    word = nonce()
    done = image.start().root(
        f"f() {{ for w in \"$@\"; do printf '%s.' \"${{w#?}}\"; done; }}; x=$(f a{word} 'b c'); "
        'case $x in *.\\ c.) echo "$x$((6 * 7))";; esac; unset x; cat <<END\n${x-unset}\nEND'
    )
    assert done.stdout.split() == [f"{word}.", "c.42", "unset"], (
        f"/bin/sh said {done.stdout[:300]!r}: [R6] wants a POSIX shell that runs"
    )


@check("boots", proves=["R7"])
def test_every_command_is_there(where):
    missing = [command for command, path in where.items() if not path]
    assert not missing, f"not in the PATH that the list states: {missing} [R7]"


@check("boots", proves=["R7"])
def test_every_command_does_its_work(image, trials, where):
    assert all(where.values()), "some of them are missing [R7]"
    wrong = commands.tried(image, trials)
    assert not wrong, f"{len(wrong)} trials: " + "; ".join(wrong)


@check("boots", proves=["R6"])
def test_it_has_what_programs_expect(tree, image):
    for folder in ("bin", "dev", "etc", "home", "proc", "root", "run", "sys", "tmp", "usr", "var"):
        assert rootfs.points_at_a_directory(tree, folder), f"no directory /{folder} [R6]"
    said = image.root(". /etc/os-release; echo $ID:$VERSION_ID").stdout.strip()
    assert said == "harbour:2.4", f"/etc/os-release says {said!r}, not harbour:2.4 [R6]"
    read = programs.system(rootfs.content(tree, "etc/os-release"))
    assert read == [("ID", "harbour"), ("VERSION_ID", "2.4")], f"/etc/os-release: {read} [R6]"


# -- user -----------------------------------------------------------------------------------------


@milestone("user", weight=2, requires=["boots"], proves=["R8"], title="It runs as nobody special")
def test_the_entry_point_runs_as_harbor_at_home(image):
    done = image.user(
        "id -u; id -g; id -un; id -gn; pwd; cd / && cd ~harbor && pwd; echo x > f && cat f && rm f"
    )
    want = ["10001", "10001", "harbor", "harbor", "/home/harbor", "/home/harbor", "x"]
    assert done.stdout.split() == want, f"{done.stdout!r}, not {want} [R8]"


@check("user", proves=["R9"])
def test_nobody_can_log_in(tree):
    wrong = accounts.wrong(tree)
    assert not wrong, "; ".join(wrong)


@check("user", proves=["R10"])
def test_nothing_else_belongs_to_harbor_or_to_all(tree):
    home, temporary = rootfs.find(tree, "home/harbor"), rootfs.find(tree, "tmp")
    assert home and temporary, "no /home/harbor or no /tmp [R10]"
    for path, node in tree.items():
        inside = path == home or path.startswith(f"{home}/")
        owner = (10001, 10001) if inside else (0, 0)
        assert (node.uid, node.gid) == owner, f"/{path} belongs to {node.uid}:{node.gid} [R10]"
        if node.type == SYMLINK:
            continue
        assert not node.mode & 0o6000, f"/{path} has mode {node.mode:04o} [R10]"
        if not inside and path != temporary:
            assert not node.mode & 0o022, f"/{path} has mode {node.mode:04o} [R10]"
    mode = tree[temporary].mode
    assert mode == 0o1777, f"/tmp has mode {mode:04o}, not 1777 [R10]"
    mode = tree[home].mode
    assert not mode & 0o077, f"/home/harbor has mode {mode:04o}: others can enter it [R10]"


@check("user", proves=["R10"])
def test_harbor_can_write_at_home_and_in_tmp_alone(image, tree):
    folders = [path for path, node in tree.items() if node.type == DIRECTORY]
    names = " ".join(f"'/{path}'" for path in ["", *folders] if not path.startswith("usr/share/z"))
    image.user(f'for d in {names}; do {{ echo x > "$d/harbor-was-here"; }} 2> /dev/null; done')
    image.user("for f in /etc/* /bin/* /usr/bin/*; do { echo >> $f; } 2> /dev/null; done")
    found = image.bench("find / -xdev -user 10001; find / -xdev -name harbor-was-here").split()
    ok = tuple(f"/{rootfs.find(tree, path)}" for path in ("home/harbor", "tmp"))
    assert all(path.startswith(ok) for path in found), f"harbor could write {found} [R10]"
    assert len(found) >= 5, f"harbor could write {found} alone, not at home and in /tmp [R8, R10]"
    conf = image.bench("sha256sum < /etc/almanac.conf").split()[0]
    assert conf == sha256(rootfs.content(tree, "etc/almanac.conf")), "harbor changed /etc [R10]"


# -- programs -------------------------------------------------------------------------------------


@milestone("programs", weight=3, requires=["boots"], proves=["R11"],
           title="The customer's program runs on the image's own C library")  # fmt: skip
def test_every_program_is_linked_to_musl_alone(tree):
    why = programs.linked_otherwise(tree)
    assert not why, f"{why}: [R11] wants musl's library and no other"
    node = rootfs.at(tree, "usr/bin/almanac")
    assert node and node.data in programs.compiled(tree).values(), (
        "/usr/bin/almanac is not compiled [R11, R12]"
    )


@check("programs", proves=["R11"])
def test_the_library_is_musl_1_2_3(image, nonce):
    said = image.bench(f"{programs.LOADER} 2>&1; true")
    assert "Version 1.2.3" in said, f"the loader says {said[:100]!r} [R11]"
    word = nonce()
    # The loader itself starts the program, with the list of what it resolves.
    said = image.bench(f"cd /; {programs.LOADER} /usr/bin/almanac seal {word}").split()
    assert said == [almanac.seal(word, "/", 0, CONF)], f"by the loader: {said} [R11, R12]"
    listed = image.bench(f"{programs.LOADER} --list /usr/bin/almanac")
    assert programs.LOADER in listed and "libc" in listed, f"the loader lists {listed!r} [R11]"


@check("programs", proves=["R12"])
def test_almanac_seals_words_under_its_user(image, nonce):
    words = [nonce(), nonce() * 50, f"{nonce()} {nonce()}"]
    want = [almanac.seal(word, "/home/harbor", 10001, CONF) for word in words]
    said = image.entry("seal", *words).stdout.split()
    assert said == want, f"almanac seal {words}: {said}, not {want} [R12]"
    # Through a link; with another content of its file, and with none.
    word, other = words[0], nonce()
    image.bench(f"mkdir /tmp/{word} && ln -s {word} /tmp/{other} && mv /etc/almanac.conf /tmp/kept")
    try:
        image.bench(f"echo {other} > /etc/almanac.conf")
        said = image.user(f"cd /tmp/{other} && /usr/bin/almanac seal {word}").stdout.split()
        want = [almanac.seal(word, f"/tmp/{word}", 10001, f"{other}\n".encode())]
        assert said == want, f"almanac seal in a folder reached by a link: {said}, not {want} [R12]"
        image.bench("rm /etc/almanac.conf")
        status = image.entry("seal", word).status
        assert status == 5, f"without its file: status {status}, not 5 [R12]"
    finally:
        image.bench("mv /tmp/kept /etc/almanac.conf")


@check("programs", proves=["R12", "R13"])
def test_almanac_says_its_version_and_nothing_of_its_making(image):
    said = image.entry("version").stdout
    assert said == "almanac 2.4\n", f"{said!r}, not 'almanac 2.4' [R13]"


@check("programs", proves=["R12"])
def test_almanac_complains_as_its_readme_says(image, nonce):
    wrong = almanac.complaints(image, f"Europe/{nonce()[:8]}")
    assert not wrong, "; ".join(wrong)


@check("programs", proves=["R12"])
def test_almanac_trusts_those_whom_it_is_told_to(image, trusted, nonce, draw):
    word = nonce()
    for data, status, want in almanac.bundles(word, trusted, draw):
        path = f"/tmp/{nonce()}"
        if data is not None:
            image.machine.shell.write_file(path, data.encode())
        said = image.user(f"SSL_CERT_FILE={path} /usr/bin/almanac trust {word} 2> /dev/null")
        assert said.status == status and (status or said.stdout.split() == want), (
            f"SSL_CERT_FILE with {str(data)[:60]!r}: status {said.status}, {said.stdout[:80]!r}; "
            f"the README says {status} {want} [R12]"
        )


# -- zones ----------------------------------------------------------------------------------------


@milestone("zones", weight=2, requires=["boots"], proves=["R14"],
           title="It knows the time everywhere")  # fmt: skip
def test_every_zone_is_there_and_nothing_else(tree, shipped):
    names, folders = zones.names_in(tree)
    differ = sorted((names ^ set(shipped)) | (folders - zones.folders_of(shipped)))
    assert not differ, f"differ from tzdata.deb in {differ[:5]} [R14]"


@check("zones", proves=["R14"])
def test_every_zone_says_the_same_at_all_times(tree, shipped):
    seen = {}
    for name, data in shipped.items():
        own = rootfs.content(tree, f"{ZONES}{name}")
        if (own, data) not in seen:
            try:
                seen[own, data] = zones.differ(own, data)
            except (ValueError, LookupError, ArithmeticError, struct.error) as error:
                raise AssertionError(f"{name} is no zone: {error} [R14]") from None
        wrong = seen[own, data]
        assert wrong is None, f"{name} is wrong at {wrong} [R14]"


@check("zones", proves=["R12", "R14"])
def test_almanac_tells_the_local_times_of_every_zone(image, known, asked):
    names, said = list(asked), []
    for start in range(0, len(names), 100):
        words = (str(start), str(start + 100), "/usr/bin/almanac")
        said += image.script("ask", *words, user=True, timeout=300).stdout.splitlines()
    want = [(n, s, reference.local(known[n], s)) for n in names for s in asked[n]]
    wrong = [
        f"almanac time {name} {second}: {got!r}, not {text!r}"
        for (name, second, text), got in zip(want, said, strict=False)
        # Less than a minute west of Greenwich is -0000 to one C library and +0000 to another.
        if got.replace("-0000", "+0000") != text.replace("-0000", "+0000")
    ]
    assert not wrong, f"{len(wrong)} of {len(want)}: {'; '.join(wrong[:8])} [R12, R14]"
    assert len(said) == len(want), f"{len(said)} lines for {len(want)} moments [R12]"


@check("zones", proves=["R15"])
def test_without_a_zone_it_is_utc(tree, image, shipped):
    own = rootfs.content(tree, "etc/localtime")
    assert own[:4] == b"TZif", "/etc/localtime is no zone [R15]"
    wrong = zones.differ(own, shipped["UTC"])
    assert wrong is None, f"/etc/localtime is not UTC at {wrong} [R15]"
    said = image.root("date -d @0 '+%F %T %Z %z'").stdout.strip()
    assert said == "1970-01-01 00:00:00 UTC +0000", f"date says {said!r} [R15]"


# -- trust ----------------------------------------------------------------------------------------


@milestone("trust", weight=2, requires=["boots"], proves=["R16"],
           title="It trusts whom it should, and nobody else")  # fmt: skip
def test_the_bundle_holds_each_certificate_once(tree, trusted, work):
    data = rootfs.content(tree, authorities.BUNDLE)
    try:
        found = authorities.certificates(data)
        count, believed = authorities.believed(data, work)
    except authorities.NotPem as error:
        raise AssertionError(f"/{authorities.BUNDLE}: {error} [R16]") from None
    assert len(found) == len(set(found)), "a certificate is there twice [R16]"
    assert set(found) == trusted, f"{len(found)} certificates, not the {len(trusted)} [R16]"
    assert count == len(trusted) and believed <= trusted, f"OpenSSL takes {count} [R16]"


@check("trust", proves=["R16", "R17"])
def test_nobody_else_is_trusted_anywhere(tree, trusted):
    wrong = authorities.strangers(tree, trusted)
    assert not wrong, f"{wrong[:3]} [R16, R17]"


@check("trust", proves=["R17"])
def test_each_certificate_is_found_by_its_hash(tree, image, trusted):
    try:
        found = authorities.found_by_hash(tree)
    except ValueError as error:
        raise AssertionError(f"what lies under a hash: {error} [R17]") from None
    missing = len(trusted - set(found))
    assert not missing, f"{missing} of {len(trusted)} are not found under their hash [R17]"
    assert len(found) == len(trusted), f"{len(found)} under hashes, not {len(trusted)} [R17]"
    said = image.bench_as_user(f"cat /{authorities.CERTIFICATES}/* > /dev/null 2>&1; echo $?")
    assert said.strip() == "0", "not all of them can be read by harbor, who needs them [R8, R17]"


@check("trust", proves=["R12", "R16"])
def test_almanac_trusts_them_in_the_machine(image, trusted, nonce):
    word = nonce()
    want = almanac.trust(word, list(trusted))
    for said in (
        image.entry("trust", word).stdout,
        image.user(f"unset SSL_CERT_FILE; /usr/bin/almanac trust {word}").stdout,
    ):
        assert said.split() == want, f"almanac trust: {said[:80]!r}, not {want} [R12, R16]"


# -- slim -----------------------------------------------------------------------------------------


@milestone("slim", weight=2, requires=["layout"], proves=["R18"],
           title="It is small, and tells nothing of its making")  # fmt: skip
def test_it_is_small(delivered, metric):
    metric("image_bytes", len(delivered))
    more = len(delivered) - MOST
    assert more <= 0, f"base.tar has {len(delivered)} bytes, {more} more than [R18] allows"


@check("slim", proves=["R19"])
def test_there_is_nothing_that_no_program_needs(tree):
    left = [f"/{path}: {why}" for path, why in programs.misplaced(tree)]
    assert not left, f"{left[:5]} [R19]"


@check("slim", proves=["R20"])
def test_its_files_do_not_tell_of_their_making(tree):
    told = {path: programs.tells(data) for path, data in programs.compiled(tree).items()}
    told = {path: what for path, what in told.items() if what}
    assert not told, f"{told} [R20]"


# -- builds ---------------------------------------------------------------------------------------


@milestone("builds", weight=3, requires=["parcels"], proves=["R21"],
           title="The kit makes the same image on a build machine")  # fmt: skip
def test_the_kit_builds_the_delivered_image(plain, delivered, metric):
    status, said, seconds = plain.build("base")
    assert status == 0, f"status {status}: {said[-500:]} [R21]"
    metric("build_seconds", round(seconds, 1))
    assert plain.digest() == sha256(delivered), "not the bits of /app/out/base.tar [R21]"
    assert seconds <= SECONDS, f"{seconds:.0f} s, not within {SECONDS} [R21]"


@check("builds", proves=["R22"])
def test_it_leaves_nothing_else(plain):
    left = plain.left()
    assert left == ["image.tar"], f"left: {left[:5]}, not OUTPUT alone [R22]"


# -- anywhere -------------------------------------------------------------------------------------


@milestone("anywhere", weight=3, requires=["parcels"], proves=["R23"],
           title="And on any other build machine")  # fmt: skip
def test_another_machine_builds_the_same_bits(odd, delivered):
    status, said, _ = odd.build("base")
    assert status == 0, f"status {status}: {said[-500:]} {odd.setting} [R23]"
    assert odd.digest() == sha256(delivered), f"other bits than base.tar: {odd.setting} [R23]"


@check("anywhere", proves=["R22", "R23"])
def test_there_it_leaves_nothing_else_either(odd):
    left = odd.left()
    assert left == ["image.tar"], f"left: {left[:5]}, not OUTPUT alone {odd.setting} [R22, R23]"


# -- another --------------------------------------------------------------------------------------


@milestone("another", weight=4, requires=["parcels"], proves=["R24"],
           title="It makes what any other list says")  # fmt: skip
def test_another_list_becomes_what_it_says(built, second):
    same_layers(oci_reader.read(built, "the second image"), compose.layers(*second), "[R24]")


@check("another", proves=["R24"])
def test_its_configuration_is_the_other_lists(built, second):
    made = oci_reader.read(built, "the second image")
    found, want = (made.ref, made.epoch), (second[0].ref, second[0].epoch)
    assert found == want, f"ref and time are {found}, not the list's {want} [R24]"
    same_configuration(made, second[0], "[R24]")


@check("another", proves=["R23", "R24"])
def test_another_machine_makes_the_same_of_it(odd, built):
    odd.clear()
    status, said, _ = odd.build("second", "again.tar")
    assert status == 0, f"status {status}: {said[-500:]} {odd.setting} [R23, R24]"
    assert odd.digest("again.tar") == sha256(built), f"other bits: {odd.setting} [R23]"


@check("another", proves=["R6", "R24"])
def test_what_came_of_it_runs(machines, bench, built, second, work, nonce):
    made = oci_reader.read(built, "the second image")
    tree = rootfs.overlay(made.layers)
    ship = benches.Image(machines, "second", bench, tree, made.configuration, work)
    word = nonce()
    said = ship.start().entry(word).stdout.splitlines()
    state = rootfs.content(tree, f"{orders.PIER}/state").decode().strip()
    assert said == [state, f"{sha256(f'{word}{chr(10)}'.encode())}  -"], f"it said {said} [R24]"
    left = ship.bench(f"ls -d /{orders.PIER}/gone /{orders.PIER}/old/deep 2> /dev/null; true")
    assert not left, f"removed, and there: {left!r} [R24]"
    modes = ship.bench(f"stat -c '%a %u' '/{orders.PIER}/shared/twin' /{orders.PIER}/shared")
    assert modes.split() == ["4755", "65535", "2775", "0"], f"modes and owners: {modes!r} [R24]"


# -- refuses --------------------------------------------------------------------------------------


def judged(builder, cases, right, draw) -> None:
    """Builds all of them, in an order that is drawn: what is right is built, the rest refused."""
    mixed = [*cases, *right]
    draw.shuffle(mixed)
    for case in mixed:
        builder.clear()
        status, said, _ = builder.build(case.name)
        if case.order:
            assert status == 0, f"{case.name} is right and was refused: {said[-300:]} [R24]"
            made = oci_reader.read(builder.fetch(), case.name)
            same_layers(made, compose.layers(case.order, case.parcels), f"{case.name} [R24]")
            continue
        left = builder.left()
        assert status and kits.says_why(said) and not left, (
            f"{case.name} is to be refused with a line that says why: status {status}, "
            f"{said[:200]!r} on standard error, left {left[:5]} [R25, R26, R27]"
        )


@milestone("refuses", weight=3, requires=["parcels"], proves=["R24"],
           title="It refuses what is wrong")  # fmt: skip
def test_what_is_right_is_not_refused(plain, right, draw):
    judged(plain, [], right, draw)


@check("refuses", proves=["R25"])
def test_damaged_parcels_are_refused(plain, bad, right, draw):
    judged(plain, bad["damaged"], right[:2], draw)


@check("refuses", proves=["R26"])
def test_packages_that_do_not_fit_are_refused(plain, bad, right, draw):
    judged(plain, bad["misfits"], draw.sample(right, 3), draw)


@check("refuses", proves=["R27"])
def test_lists_that_are_none_are_refused(plain, bad, right, draw):
    judged(plain, bad["lists"], right[:2], draw)
