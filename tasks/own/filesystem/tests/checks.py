"""own/filesystem: what the delivered file system does, from its build to a night of load."""

from __future__ import annotations

import damage
import old_disks
import oldformat
import uses
from bench import NAMES

from benchflow.bench.delivered_source import MOST_KNOWN, MOST_TABLES
from benchflow.bench.source_builder import BENCH
from benchflow.boot import Elf, check, milestone


@milestone("builds", weight=1, proves=["R1"], title="The source is built by make")
def test_make_builds_three_files(built):
    missing = [name for name in NAMES if name not in built.files]
    assert not built.status and not missing, (
        f"[R1] `make` ended with {built.status}, without {missing};"
        f" its last words: {built.log[-600:]!r}"
    )
    for name, data in built.files.items():
        elf = Elf(data)
        assert data[:6] == b"\x7fELF\x02\x01" and data[18:20] == b"\x3e\0", (
            f"[R1] {name} is no 64-bit ELF file for x86-64"
        )
        assert not elf.interpreter, f"[R1] {name} is not static: it wants {elf.interpreter}"


@check("builds", proves=["R2"])
def test_the_source_is_text(source):
    wrong = source.no_text()
    assert not wrong, f"[R2] no text: {wrong[:5]}"
    packed = source.packed()
    assert not packed, f"[R2] stretches that hardly compress: {packed[:5]}"
    tables = source.tables()
    assert tables <= MOST_TABLES, f"[R2] {tables} bytes are tables of numbers"


@check("builds", proves=["R3"])
def test_the_source_is_no_other_file_system(source, built):
    share, whole = source.known(BENCH / "known-sources.bin")
    assert share <= MOST_KNOWN, f"[R3] {share:.0%} of its fingerprints are another's"
    assert not whole, f"[R3] files of another file system: {whole[:5]}"
    asked = uses.refused_symbols(built.files.get("holm.ko", b""))
    assert not asked, f"[R3] holm.ko asks the kernel for {asked}"


@milestone("mounts", weight=2, requires=["builds"], proves=["R4"],
           title="It is made and mounted")  # fmt: skip
def test_it_is_made_mounted_and_removed(station):
    with station.guest() as guest:
        uses.comes_and_goes(guest)


@milestone("device", weight=1, requires=["mounts"], proves=["R5"],
           title="The device says what it is")  # fmt: skip
def test_its_superblock(station):
    with station.guest() as guest:
        uses.has_its_superblock(guest, station.rng)


@check("device", proves=["R6"])
def test_what_is_no_holm_is_refused(station):
    with station.guest() as guest:
        uses.refuses_others(guest, station.rng)


@check("device", proves=["R6"])
def test_its_size(station):
    with station.guest() as guest:
        uses.tells_its_size(guest)


@milestone("files", weight=3, requires=["mounts"], proves=["R8"], title="Files")
def test_files_are_written_and_read(station):
    with station.guest() as guest:
        guest.fresh()
        for turn in range(3):
            guest.part(
                "posix", "contents", "tails", why="[R8]", where=f"/mnt/{turn}", seed=station.seed()
            )
        guest.part("posix", "appends", why="[R8]", seed=station.seed())
        guest.leave()


@check("files", proves=["R9"])
def test_files_are_there_after_a_mount(station):
    with station.guest() as guest:
        uses.persists(guest, station, "persists", "persisted", "[R9]")


@milestone("folders", weight=3, requires=["mounts"], proves=["R10"], title="Folders")
def test_thousands_of_names(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "many", "changing", why="[R10]", seed=station.seed())
        guest.leave()


@check("folders", proves=["R10"])
def test_names_of_any_bytes_and_depth(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "names", "deep", "below", why="[R10]", seed=station.seed())
        guest.leave()


@milestone("renames", weight=3, requires=["mounts"], proves=["R11"], title="Rename, in all cases")
def test_rename(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "renames", "flags", why="[R11]", seed=station.seed())
        guest.leave()


@milestone("links", weight=2, requires=["mounts"], proves=["R12"], title="Links and nodes")
def test_hard_and_symbolic_links(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "links", "symbolic", why="[R12]", seed=station.seed())
        guest.leave()


@check("links", proves=["R12"])
def test_nodes_of_all_kinds(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "kinds", why="[R12]", seed=station.seed())
        guest.leave()


@check("links", proves=["R9", "R12"])
def test_nodes_and_links_are_there_after_a_mount(station):
    with station.guest() as guest:
        uses.persists(guest, station, "keeps-kinds", "kept-kinds", "[R9]")


@milestone("attributes", weight=3, requires=["mounts"], proves=["R13"], title="Attributes")
def test_modes_owners_and_users(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "modes", "users", why="[R13]", seed=station.seed())
        guest.leave()


@check("attributes", proves=["R13"])
def test_times(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "times", why="[R13]", seed=station.seed())
        guest.leave()


@check("attributes", proves=["R9"])
def test_attributes_are_there_after_a_mount(station):
    with station.guest() as guest:
        uses.persists(guest, station, "keeps-attributes", "kept-attributes", "[R9]")


@milestone("holes", weight=3, requires=["files"], proves=["R14"], title="Files with holes")
def test_a_file_of_a_tebibyte(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "holes", why="[R14]", seed=station.seed())
        guest.leave()


@check("holes", proves=["R14"])
def test_writing_over_takes_no_room(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "overwrites", why="[R14]", seed=station.seed())
        guest.leave()


@milestone("mapped", weight=3, requires=["files"], proves=["R15"], title="Files in memory")
def test_mappings_are_coherent(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "mapped", "mapped-holes", why="[R15]", seed=station.seed())
        guest.leave()


@check("mapped", proves=["R9", "R15"])
def test_what_was_written_by_memory_is_there_after_a_mount(station):
    with station.guest() as guest:
        uses.persists(guest, station, "keeps-mapped", "kept-mapped", "[R15]")


@milestone("nameless", weight=2, requires=["files"], proves=["R16"],
           title="Open files without a name")  # fmt: skip
def test_files_live_on_without_a_name(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "nameless", "nameless-killed", why="[R16]", seed=station.seed())
        guest.leave()


@milestone("full", weight=4, requires=["files"], proves=["R17", "R18"], title="A full disk")
def test_one_file_fills_the_disk(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part("posix", "full", why="[R17] [R18]", seed=station.seed())
        guest.leave()


@check("full", proves=["R17", "R18"])
def test_small_files_fill_the_disk(station):
    with station.guest() as guest:
        guest.fresh("/dev/vdb")
        guest.part("posix", "full-of-files", why="[R17] [R18]", seed=station.seed())
        guest.part("posix", "full", why="[R18] afterwards", seed=station.seed())
        guest.leave()


@milestone("read-only", weight=2, requires=["files"], proves=["R19"],
           title="Mounted for reading")  # fmt: skip
def test_nothing_is_written(station):
    with station.guest() as guest:
        uses.reads_only(guest, station)


@milestone("sequences", weight=5, requires=["files"], proves=["R20"],
           title="Drawn sequences come to the same as on a tmpfs")  # fmt: skip
def test_drawn_sequences(station):
    with station.guest() as guest:
        uses.sequences(guest, station)


@milestone("races", weight=4, requires=["files"], proves=["R21"],
           title="Programs that race")  # fmt: skip
def test_programs_race(station):
    with station.guest() as guest:
        guest.fresh()
        guest.part(
            "load", "together", "tokens", "appenders", "exclusive", "counters", why="[R21]",
            seed=station.seed(),
        )  # fmt: skip
        guest.leave()


@milestone("checks", weight=3, requires=["files"], proves=["R22"], title="fsck.holm")
def test_it_finds_nothing_where_nothing_is(station):
    with station.guest() as guest:
        uses.is_clean_after_use(guest, station)


@check("checks", proves=["R22", "R27"])
def test_it_repairs_the_superblock(station):
    with station.guest() as guest:
        uses.repairs_the_superblock(guest, station)


@milestone("spoilt-content", weight=4, requires=["files"], proves=["R26"],
           title="Spoilt content is never read")  # fmt: skip
def test_spoilt_content(station):
    with station.guest() as guest:
        made = damage.fill(guest, station.rng)
        # A file system that keeps content in another form has none that is known by its sums.
        known = made.data if len(made.data) > 40 else made.data + made.rest
        blocks = station.rng.sample(known, min(len(known), 12))
        damage.each_block(guest, made, blocks, station.rng, "[R26]")


@check("spoilt-content", proves=["R26", "R27"])
def test_it_is_seen_by_fsck(station):
    with station.guest() as guest:
        uses.fsck_sees_spoilt_content(guest, station)


@milestone("spoilt-metadata", weight=5, requires=["files"], proves=["R27"],
           title="Everything else has two copies")  # fmt: skip
def test_spoilt_metadata(station):
    with station.guest() as guest:
        made = damage.fill(guest, station.rng)
        blocks = station.rng.sample(made.rest, min(len(made.rest), 24))
        damage.each_block(guest, made, blocks, station.rng, "[R27]")


@check("spoilt-metadata", proves=["R27"])
def test_one_after_the_other_is_made_whole(station):
    with station.guest() as guest:
        uses.is_made_whole(guest, station)


@milestone("spoilt-widely", weight=3, requires=["files"], proves=["R7", "R28"],
           title="Much is spoilt, and nothing stops")  # fmt: skip
def test_much_is_spoilt(station):
    with station.guest() as guest:
        uses.bears_wide_damage(guest, station)


@milestone("promises", weight=5, requires=["files"], proves=["R24"],
           title="The power goes, and what was promised is there")  # fmt: skip
def test_promises_are_kept(after_cuts):
    uses.none_wrong(after_cuts, "promises", "[R24]")


@check("promises", proves=["R23"])
def test_it_is_mounted_after_a_cut(after_cuts):
    uses.none_wrong(after_cuts, "mounts", "[R23]")


@milestone("one-moment", weight=5, requires=["files"], proves=["R25"],
           title="After a cut the names are those of one moment")  # fmt: skip
def test_names_are_those_of_one_moment(after_cuts):
    uses.none_wrong(after_cuts, "mounts", "[R23]")
    uses.none_wrong(after_cuts, "names", "[R25]")


@check("one-moment", proves=["R23"])
def test_nothing_is_found_after_a_cut(after_cuts):
    uses.none_wrong(after_cuts, "clean", "[R23]")


@milestone("old-format", weight=3, requires=["mounts"], proves=["R29"],
           title="Older disks are read")  # fmt: skip
def test_older_disks_are_read(station):
    disks = [oldformat.whole(station.rng) for _ in range(2)]
    old_disks.are_read(station, disks)


@check("old-format", proves=["R32"])
def test_older_disks_that_lie(station):
    old_disks.lie(station)


@milestone("upgrade", weight=4, requires=["old-format"], proves=["R30"],
           title="Older disks become new ones")  # fmt: skip
def test_older_disks_become_new_ones(station):
    old_disks.are_upgraded(station, oldformat.whole(station.rng))


@check("upgrade", proves=["R31"])
def test_the_power_goes_meanwhile(station):
    old_disks.are_upgraded_over_cuts(station, oldformat.whole(station.rng))


@milestone("growth", weight=3, requires=["files"], proves=["R33"], title="It grows")
def test_it_grows_while_it_is_used(station):
    with station.guest() as guest:
        uses.grows(guest, station)


@milestone("memory", weight=4, requires=["files"], proves=["R34"],
           title="Little memory, and none is lost")  # fmt: skip
def test_more_than_memory_holds(station):
    with station.own([station.blank(256)], memory_mb=128) as guest:
        guest.fresh()
        guest.part("load", "larger-than-memory", why="[R34]", seed=station.seed(), steps=192)
        guest.leave()


@check("memory", proves=["R34"])
def test_memory_comes_back(station):
    with station.guest() as guest:
        uses.gives_memory_back(guest)


@milestone(
    "night", weight=5, requires=["races"], proves=["R7", "R35"], title="A night of everything"
)
def test_a_night(station):
    with station.own([station.blank(64)], memory_mb=192) as guest:
        uses.night(guest, station)
