"""own/runtime: what the delivered runtime does, from its build to a night of load."""

from __future__ import annotations

import bundling
import endurance
import installs
import serving
import uses

from benchflow.bench.delivered_source import MOST_TABLES
from benchflow.boot import Elf, check, milestone


@milestone("builds", weight=1, proves=["R1"], title="The source is built by make")
def test_make_builds_a_static_program(built):
    assert not built.status and "skarn" in built.files, (
        f"[R1] `make` ended with {built.status}, its last words: {built.log[-600:]!r}"
    )
    data = built.files["skarn"]
    elf = Elf(data)
    assert data[:6] == b"\x7fELF\x02\x01" and data[18:20] == b"\x3e\0", (
        "[R1] skarn is no 64-bit ELF file for x86-64"
    )
    assert not elf.interpreter, f"[R1] skarn is not static: it wants {elf.interpreter}"


@check("builds", proves=["R2"])
def test_it_is_text_that_somebody_could_have_written(source):
    odd = source.no_text()
    assert not odd, f"[R2] no text: {', '.join(odd[:5])}"
    packed = source.packed()
    assert not packed, f"[R2] something packed or encoded: {', '.join(packed[:5])}"
    tables = source.tables()
    assert tables <= MOST_TABLES, f"[R2] {tables} bytes are tables of numbers"


@milestone("runs", weight=2, requires=["builds"], proves=["R3"], title="Programs run")
def test_programs_run(station):
    station.as_node("runs")


@milestone("modules", weight=3, requires=["runs"], proves=["R4"], title="Modules")
def test_modules(station):
    station.as_node("modules")


@milestone(
    "requires", weight=3, requires=["runs"], proves=["R5"], title="CommonJS, and both together"
)
def test_requires(station):
    station.as_node("requires")


@milestone("packages", weight=3, requires=["runs"], proves=["R6"], title="Packages are found")
def test_packages_are_found(station):
    station.as_node("packages", "finds")


@check("packages", proves=["R6"])
def test_a_module_is_known_by_its_real_path(station):
    station.as_node("packages", "links")


@milestone("order", weight=4, requires=["runs"], proves=["R7"], title="What comes before what")
def test_timers_tasks_and_ends(station):
    station.as_node("order")


@milestone(
    "shows", weight=4, requires=["runs"], proves=["R8"], title="Values as Node.js prints them"
)
def test_drawn_values_are_shown(station):
    station.as_node("shows")


@milestone(
    "bytes", weight=3, requires=["runs"], proves=["R9"], title="Buffers, encodings and digests"
)
def test_bytes(station):
    station.as_node("bytes")


@milestone("files", weight=4, requires=["runs"], proves=["R10"], title="Files")
def test_files(station):
    station.as_node("files")


@milestone("streams", weight=4, requires=["files"], proves=["R11"], title="Streams")
def test_streams(station):
    station.as_node("streams", "flows")


@check("streams", proves=["R11"])
def test_more_than_memory_flows(station):
    station.as_node("streams", "large")


@milestone("processes", weight=4, requires=["runs"], proves=["R12"], title="Processes and signals")
def test_processes(station):
    station.as_node("processes")


@milestone("workers", weight=4, requires=["runs"], proves=["R13"], title="Workers")
def test_workers(station):
    station.as_node("workers")


@milestone("serves", weight=5, requires=["runs"], proves=["R14"], title="It serves HTTP")
def test_it_serves_as_node(station, app):
    with station.guest() as guest:
        for talk in (serving.plainly, serving.in_a_row, serving.otherwise):
            serving.same(guest, app, talk, station.rng)


@check("serves", proves=["R14"])
def test_it_holds_back(station, app):
    with station.guest() as guest, serving.by_guest(guest, app) as port:
        serving.holds_back(port)


@milestone("refuses-http", weight=3, requires=["serves"], proves=["R15"],
           title="What is no HTTP")  # fmt: skip
def test_what_is_no_http_is_refused(station, app):
    with station.guest() as guest, serving.by_guest(guest, app) as port:
        serving.refuses(port, station.rng)


@check("refuses-http", proves=["R15"])
def test_slow_clients_keep_nobody_waiting(station, app):
    with station.guest() as guest, serving.by_guest(guest, app) as port:
        serving.bears(port, station.rng)


@milestone("fetches", weight=4, requires=["runs"], proves=["R16"], title="It fetches")
def test_it_fetches_as_node(station):
    uses.fetches(station)


@milestone("tests", weight=3, requires=["runs"], proves=["R17"], title="It tests")
def test_reports_of_drawn_tests(station):
    uses.tests(station, station.rng)


@check("tests", proves=["R17"])
def test_files_that_fail_by_themselves(station):
    uses.broken_tests(station, station.rng)


@check("tests", proves=["R17"])
def test_assertions(station):
    station.as_node("asserts")


@milestone("types", weight=4, requires=["modules"], proves=["R18"], title="Types are left out")
def test_types_are_left_out(station):
    uses.types(station)


@check("types", proves=["R18"])
def test_what_is_no_type_is_refused(station):
    uses.refuses_types(station)


@milestone(
    "bundles", weight=5, requires=["modules", "requires"], proves=["R19"], title="It bundles"
)
def test_bundles_come_to_the_same(station):
    bundling.bundles(station)


@check("bundles", proves=["R19"])
def test_what_nobody_uses_is_left_out(station):
    bundling.leaves_out(station)


@milestone(
    "installs", weight=5, requires=["packages"], proves=["R20"], title="It installs packages"
)
def test_it_installs(station, registry):
    with station.own([installs.data_disk(station)]) as guest:
        guest.ok(installs.MOUNT, "the machine's disk")
        installs.installs(guest, registry.universe, registry)


@milestone(
    "locks", weight=4, requires=["installs"], proves=["R21"], title="The lock, and no network"
)
def test_it_keeps_to_the_lock(station, registry):
    with station.own([installs.data_disk(station)]) as guest:
        guest.ok(installs.MOUNT, "the machine's disk")
        installs.keeps_to_the_lock(guest, registry.universe, registry)


@milestone("refuses", weight=5, requires=["installs"], proves=["R22"],
           title="Archives and registries that are wrong")  # fmt: skip
def test_it_refuses(station, registry):
    with station.own([installs.data_disk(station)]) as guest:
        guest.ok(installs.MOUNT, "the machine's disk")
        installs.refuses(guest, registry.universe, registry, station.rng)


@milestone("survives", weight=5, requires=["installs"], proves=["R23"], title="The power goes")
def test_it_survives_power_cuts(station, registry):
    installs.survives(station, registry.universe, registry, station.rng)


@milestone("quick", weight=3, requires=["serves"], proves=["R24"], title="Quick and small")
def test_it_idles_small(station, app, metric):
    with station.guest() as guest:
        metric("idle_kib", endurance.idles_small(guest, app))


@check("quick", proves=["R24"])
def test_it_starts_quickly(station, metric):
    metric("start_instructions", endurance.starts_quickly(station))


@milestone("limits", weight=4, requires=["runs"], proves=["R25"], title="Limits, and no crash")
def test_memory_has_a_limit(station):
    with station.guest() as guest:
        endurance.keeps_its_limits(guest, station.rng)


@check("limits", proves=["R25"])
def test_depth_is_no_crash(station):
    with station.guest() as guest:
        endurance.bears_depth(guest, station.rng)


@milestone("night", weight=5, requires=["serves", "fetches", "processes", "workers", "files"],
           proves=["R26"], title="A night of everything")  # fmt: skip
def test_a_night(station, metric):
    found = endurance.night(station)
    metric("night_requests", found["requests"])
