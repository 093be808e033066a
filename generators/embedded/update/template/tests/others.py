"""Demands of the flash, of several calls, and of bundles that come in other ways."""

from __future__ import annotations

import secrets
import struct

import core
from bench import Bench
from bundles import Key, packed
from flash import BLOCK
from ordered import AXES, LAYOUT, SLOTS, STATE, STATUS, has, verb

# -- several calls --------------------------------------------------------------------------------


def busy(bench: Bench) -> None:
    """The flash takes its time with what the first call writes."""
    station, one, other = bench.station, bench.version(), bench.version()
    ending = AXES["ending"]
    data = {f"{n}.{ending}": bench.vendor.bundle(v) for n, v in enumerate((one, other))}
    folder, offer = station.bring(data), bench.offer(one)
    station.flash.stalled.set()
    try:
        station.begin(verb("install"), f"{folder}/0.{ending}")
        assert station.flash.waits.wait(90), "the first installation writes nothing"
        status, _ = bench.ask("install", f"{folder}/1.{ending}", seconds=25)
        assert status == STATUS["busy"], f"a second installation ended with {status}"
        status, _ = bench.ask("confirm", seconds=25)
        assert status == STATUS["busy"], f"{verb('confirm')} beside an installation: {status}"
        status, _ = bench.ask("install", seconds=25)
        assert status == STATUS["usage"], f"a wrong call beside an installation: {status}"
    finally:
        station.flash.let_go()
    assert station.ended() == bench.model.do("install", offer=offer)[0] == 0
    bench.same("an installation beside which others were called")
    bench.restart()


# -- other bundles --------------------------------------------------------------------------------


def delta(bench: Bench) -> None:
    base = bench.version()
    bench.adopt(base)
    near = bench.version()
    body = bytearray(base.image)
    at = bench.draw.randrange(2048, len(body) - 600)
    body[at : at + 300] = secrets.token_bytes(300)
    near.image = near.image[:1536] + bytes(body[1536:])
    gone = bench.version()
    bench.install(near, "against a version that is not there", base=gone)
    order = "<" if AXES["endian"] == "little" else ">"
    wrong = b"C" + struct.pack(f"{order}II", len(base.image) - 9, 400)
    if not has("enciphered"):
        bench.install(
            near, "with a step out of the base", "unreadable", base=base, payload=packed(wrong)
        )
    assert bench.install(near, "a delta", base=base) == 0
    bench.install(bench.version(), "against a version that waits", base=near)
    bench.restart()
    bench.do("confirm")
    whole = bench.version()
    assert bench.install(whole, "a whole image after a delta") == 0
    bench.restart()


def key_change(bench: Bench) -> None:
    vendor = bench.vendor
    vendor.signer = "main"
    old, new = vendor.keys["main"], Key()
    one = bench.version()
    one.next_key = new
    bench.begin(one)
    bench.restart("another try")
    bench.do("confirm")
    bench.restart()
    other = bench.version()
    bench.install(other, "signed with the key that was exchanged")
    vendor.keys["main"] = new
    assert bench.install(other, "signed with the new key") == 0
    bench.restart()
    vendor.keys["main"] = old
    bench.do("confirm")
    bench.install(bench.version(), "signed with the old key")


def medium(bench: Bench) -> None:
    end, vendor = AXES["ending"], bench.vendor
    some = [bench.version() for _ in range(5)]
    data = [vendor.bundle(one) for one in some]
    torn = data[3][: len(data[3]) // 2]
    files = {
        f"b.{end}": data[0], f"-x y\n {some[1].version}'.{end}": data[1], f"a.{end}": torn,
        f"z.{end}.old": data[4], f"link.{end}": "/run/board/elsewhere", "notes.txt": b"nothing\n",
        f"deep/c.{end}": data[4],
    }  # fmt: skip
    bench.station.run(f"rm -rf /run/board/elsewhere; cp {bench.station.bring({'x': data[4]})}/x "
                      "/run/board/elsewhere")  # fmt: skip
    bench.scan(files, bench.offer(some[1]), "a folder with all sorts of files")
    bench.restart()
    bench.do("confirm")
    bench.scan({"notes.txt": data[4]}, None, "a folder without bundles")
    status, _ = bench.ask("scan", "/run/nowhere")
    assert status == STATUS["nothing"], f"a folder that is not there: {status}"


def staged(bench: Bench) -> None:
    bench.due.add("staged")
    bench.do("apply", what="where nothing is kept")
    bench.begin(bench.version())
    one, other = bench.version(), bench.version()
    bench.install(one, "while a version is on trial", word="stage")
    bench.install(other, "damaged", "unreadable", word="stage", payload=secrets.token_bytes(999))
    bench.do("apply", what="while a version is on trial")
    bench.do("confirm")
    bench.station.tidy()
    bench.restart()
    bench.do("apply")
    bench.restart()
    bench.do("confirm")
    bench.do("apply", what="where nothing is kept any more")
    last = bench.version()
    bench.install(last, word="stage")
    offer = bench.offer(other)

    def none(model) -> None:
        model.staged = None

    bench.cuts(
        "a call that fills the store", lambda: bench.install(other, word="stage"),
        lambda model: model.do("stage", offer=offer), none, 4,
    )  # fmt: skip
    bench.do("apply")


# -- flash ----------------------------------------------------------------------------------------


def spoil(bench: Bench, name: str) -> None:
    """One bit of what stands in a slot is another."""
    data, slot = bytearray(bench.station.flash.data), bench.model.slots[name]
    assert slot.one
    at = SLOTS[name][0] + 1536 + bench.draw.randrange(len(slot.one.image) - 4096)
    data[at] ^= 1 << bench.draw.randrange(8)
    bench.station.flash.load(bytes(data))
    bench.model.lost.add(name)


def spoilt_slot(bench: Bench) -> None:
    bench.adopt(bench.version())
    bench.adopt(bench.version())
    bench.off()
    spoil(bench, bench.model.due)
    bench.started("a start after a bit of what is due was changed")
    bench.adopt(bench.version())
    assert bench.install(bench.version()) == 0
    bench.off()
    spoil(bench, bench.model.waits)
    if LAYOUT == "three":
        spoil(bench, bench.model.due)
    bench.started("a start after a bit of what waited was changed")
    bench.restart()


def torn(bench: Bench) -> None:
    bench.due.add("torn")
    bench.begin(bench.version())
    bench.cuts(
        "the confirmation", lambda: bench.do("confirm"), lambda model: model.do("confirm"), count=4
    )
    core.cut_install(bench, bench.version(), 5)
    if bench.model.on_trial:
        bench.do("confirm")
    assert bench.install(bench.version()) == 0
    bench.off()
    bench.cuts(
        "a start", lambda: bench.started("a start", same=False),
        lambda model: model.do("boot"), count=4,
    )  # fmt: skip


def spoilt_state(bench: Bench) -> None:
    """Those blocks are tried that have ever been written, and one more."""
    bench.adopt(bench.version())
    before = bytes(bench.station.flash.data)
    bench.begin(bench.version())
    blocks = range(STATE[0] // BLOCK, sum(STATE) // BLOCK)
    ground = b"\0" if AXES["erased"] == "zeros" else b"\xff"
    used = [
        block for block in blocks
        if before[block * BLOCK : (block + 1) * BLOCK] != ground * BLOCK
    ]  # fmt: skip
    assert used, "nothing stands in the state"
    for block in [*bench.draw.sample(used, min(len(used), 4)), bench.draw.choice(blocks)]:
        bench.off()
        data = bytearray(bench.station.flash.data)
        data[block * BLOCK : (block + 1) * BLOCK] = bench.draw.choice(
            (bytes(BLOCK), secrets.token_bytes(BLOCK))
        )
        bench.station.flash.load(bytes(data))
        bench.started(f"a start after block {block - blocks[0]} of the state was spoilt")
        bench.deep()
        if bench.model.on_trial:
            bench.do("confirm")


def worn(bench: Bench) -> None:
    bench.adopt(bench.version())
    bench.restart()
    bench.off()
    log = bench.station.flash.keep_log()
    bench.started("a start")
    bench.deep()
    bench.off()
    bench.started("a start")
    bench.station.off()
    bench.station.flash.log = None
    writes = sum(one is not None for one in log.events)
    assert not writes, f"two starts of a confirmed version wrote {writes} blocks of the flash"
    bench.same("a start")


def read_back(bench: Bench) -> None:
    bench.adopt(bench.version())
    one = bench.version()
    offer = bench.offer(one)
    target = bench.model.target
    at = bench.draw.randrange(4096, len(one.image) - 4096)
    bench.station.flash.faulty = (SLOTS[target][0] + at, one.image[at] ^ 0x10)
    path = bench.station.bring({"x": bench.vendor.bundle(one)}) + "/x"
    status, _ = bench.ask("install", path)
    assert status == STATUS["flash"], (
        f"the flash kept another bit, and {verb('install')} ended with {status}"
    )
    bench.station.flash.faulty = None
    bench.model.judge(offer)
    bench.model.overwritten()
    bench.same("an installation that the flash has spoilt")
    bench.restart()
    assert bench.install(one, "again, with a flash that is well") == 0
    bench.restart()
