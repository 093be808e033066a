"""What every unit is asked, whatever else was ordered."""

from __future__ import annotations

import secrets

import bundles
from bench import Bench, told
from bundles import digest_of
from ordered import (
    AXES,
    LAYOUT,
    NO_SIGNATURE,
    SLOTS,
    STATUS,
    TRIES,
    WORD,
    WRITTEN,
    has,
    verb,
)  # fmt: skip

# -- answers ----------------------------------------------------------------------------------


def wrong_calls(bench: Bench) -> None:
    for words in (
        (),
        ("frobnicate",),
        (verb("install"),),
        (verb("status"), "x"),
        (verb("boot"), "x"),
    ):
        status, _, wrong = bench.station.call(*words)
        line = " ".join((WORD, *words))
        assert status == STATUS["usage"], f"{line} ended with {status}"
        assert wrong.strip(), f"{line} said nothing on standard error"
    bench.same("wrong calls")


def a_new_unit(bench: Bench) -> None:
    for _ in range(2):
        bench.restart()
    bench.do("confirm", what="nothing is on trial")


# -- trusts -----------------------------------------------------------------------------------


def signed_well(bench: Bench) -> None:
    bench.open = True
    path = bench.station.bring({"x": bench.vendor.bundle(bench.version())}) + "/x"
    status, _ = bench.ask("install", path)
    assert status not in (STATUS["form"], STATUS["distrusted"]), (
        f"{verb('install')} of a bundle that is signed with our key ended with {told(status)}"
    )


def another_key(bench: Bench) -> None:
    stranger = bench.vendor.keys["stranger"]
    signs = (stranger, *((stranger,) if has("two-signatures") else ()))
    one = bench.version()
    bench.install(one, "signed with another key", "distrusted", signs=signs)
    bench.restart()


def another_manifest(bench: Bench) -> None:
    """Signed well, and then changed; and no signature at all."""
    vendor, one, other = bench.vendor, bench.version(), bench.version()
    data, how = vendor.payload(one, None)
    real = {"version": one.version, "size": str(len(one.image)), "digest": digest_of(one.image)}
    real |= one.more | how | ({"signer": vendor.signer} if has("keyring") else {})
    changed = bundles.manifest(real | {"version": other.version})
    signature = vendor.signature(bundles.manifest(real))
    flipped = bytearray(signature)
    flipped[len(flipped) // 2] ^= 1
    # What is left may have the form of a signature or not, and only then is it somebody's.
    for what, said, reasons in (
        ("a signature of another version", signature, ("distrusted",)),
        ("no signature", b"", NO_SIGNATURE),
        ("a signature with another bit", bytes(flipped), NO_SIGNATURE),
    ):
        bundle = bundles.container(changed, said, data)
        refused(bench, bundle, reasons, what)


def refused(bench: Bench, data: bytes, reasons: str | tuple[str, ...], what: str) -> None:
    """A file that ends with one of these statuses, and changes nothing."""
    ends_with(bench, data, reasons, what)
    bench.look(f"{verb('install')} of {what}")


def ends_with(bench: Bench, data: bytes, reasons: str | tuple[str, ...], what: str) -> None:
    path = bench.station.bring({"x": data}) + "/x"
    status, _ = bench.ask("install", path)
    reasons = (reasons,) if isinstance(reasons, str) else reasons
    wanted = " or ".join(f"{STATUS[reason]} ({reason})" for reason in reasons)
    assert status in [STATUS[reason] for reason in reasons], (
        f"{verb('install')} of {what} ended with {status}, not {wanted}"
    )


# -- installs ---------------------------------------------------------------------------------


def a_version_starts(bench: Bench) -> None:
    bench.begin(bench.version())


def another_in_its_place(bench: Bench) -> None:
    """What waits is replaced by what is installed later, also by what is smaller."""
    one, other = bench.version(), bench.version()
    assert bench.install(one) == 0
    assert bench.install(other) == 0
    bench.restart()
    bench.do("confirm")
    bench.restart()


def two_updates(bench: Bench) -> None:
    """Each slot has its turn."""
    for _ in range(2):
        bench.adopt(bench.version())
    bench.restart()


def a_lower_version(bench: Bench) -> None:
    if has("floor"):
        return
    low = "1" if AXES["version"] == "number" else "0.7.10"
    bench.begin(bench.version(number=low))


# -- refuses ----------------------------------------------------------------------------------


def not_a_bundle(bench: Bench) -> None:
    one = bench.version()
    assert bench.install(one) == 0
    good = bench.vendor.bundle(bench.version())
    cut = bench.draw.randrange(600, len(good) - 600)
    refused(bench, good[:cut], "form", f"the first {cut} bytes of a bundle")
    refused(bench, secrets.token_bytes(3000), "form", "noise")
    refused(bench, b"", "form", "an empty file")
    if AXES["container"] == "behind":
        refused(bench, b"\0" + good, "form", "a bundle with a byte before it")
    elif AXES["container"] != "tar":
        refused(bench, good + b"\0", "form", "a bundle with a byte behind it")
    status, _ = bench.ask("install", "/run/nowhere")
    assert status == STATUS["form"], f"a file that is not there: {status}"
    bench.restart("the version that waited")


def not_a_manifest(bench: Bench) -> None:
    one = bench.version()
    wrong = {
        "no digest": {"without": ("digest",)},
        "no version": {"without": ("version",)},
        "a version that is none": {"fields": {"version": "07.x"}},
        "a size that is none": {"fields": {"size": "-5"}},
        "a digest that is too short": {"fields": {"digest": digest_of(one.image)[:-2]}},
    }
    for what in bench.draw.sample(sorted(wrong), 3):
        bench.install(one, f"a manifest with {what}", "form", **wrong[what])


def damaged(bench: Bench) -> None:
    one, other = bench.version(), bench.version()
    waits = bench.version()
    assert bench.install(waits) == 0
    data, _ = bench.vendor.payload(one, None)
    flipped = bytearray(data)
    # Not in the first bytes: a packer's head has bits that say nothing of the image.
    flipped[bench.draw.randrange(64, len(data) * 3 // 4)] ^= 1 << bench.draw.randrange(8)
    said = {"size": str(len(one.image) - 512)}
    for what, fault, how in (
        ("a payload with another bit", "unreadable", {"payload": bytes(flipped)}),
        ("the digest of another image", "damaged", {"fields": {"digest": digest_of(other.image)}}),
        ("an image longer than its size", "damaged", {"fields": said}),
        ("a payload of nothing at all", "unreadable", {"payload": secrets.token_bytes(77)}),
    ):
        bench.install(one, what, fault, **how)
    bench.restart("the version that waited")


def too_large(bench: Bench) -> None:
    one = bench.version()
    room = min(SLOTS[name][1] for name in WRITTEN)
    one.image += bytes(room + 512 - len(one.image))
    bench.install(one, "too large", "too_large")


# -- admits -----------------------------------------------------------------------------------


def nothing_on_trial(bench: Bench) -> None:
    bench.begin(bench.version())
    one = bench.version()
    bench.install(one, "while a version is on trial")
    bench.do("confirm")
    assert bench.install(one, "when it is confirmed") == 0


# -- tries ------------------------------------------------------------------------------------


def tries_in_vain(bench: Bench) -> None:
    bench.begin(bench.version(lives=False))
    for _ in range(TRIES):
        bench.restart("a start after a try in vain")
    bench.restart()


def confirmed_at_last(bench: Bench) -> None:
    bench.begin(bench.version())
    for _ in range(TRIES - 1):
        bench.restart("another try")
    bench.do("confirm")
    bench.restart("a start of what was confirmed")


def tries_begin_again(bench: Bench) -> None:
    """What is installed later has all its tries."""
    bench.begin(bench.version(lives=False))
    for _ in range(TRIES):
        bench.restart("a start after a try in vain")
    bench.begin(bench.version())
    for _ in range(TRIES - 1):
        bench.restart("another try")
    bench.do("confirm")


# -- returns ----------------------------------------------------------------------------------


def to_what_was_confirmed(bench: Bench) -> None:
    for _ in range(2):
        bench.adopt(bench.version())
    bench.begin(bench.version(lives=False))
    for _ in range(TRIES):
        bench.restart("a start after a try in vain")


def to_what_is_left(bench: Bench) -> None:
    """Several versions one after the other are tried in vain."""
    bench.adopt(bench.version())
    for _ in range(2):
        bench.begin(bench.version())
        for _ in range(TRIES):
            bench.restart("a start after a try in vain")


# -- tells ------------------------------------------------------------------------------------


def every_state(bench: Bench) -> None:
    """Compared after every step: none, ready, on trial, good, failed, and what comes next."""
    bench.adopt(bench.version())
    bench.begin(bench.version(lives=False))
    for _ in range(TRIES):
        bench.restart("a start after a try in vain")
    bench.install(bench.version())
    bench.same("an installation into a slot that had failed")


# -- keeps ------------------------------------------------------------------------------------


def a_real_cut(bench: Bench) -> None:
    """The machine itself loses its power and starts again from nothing."""
    bench.adopt(bench.version())
    assert bench.install(bench.version()) == 0
    bench.station.lose_power()
    bench.clock(bench.model.now)
    bench.started("the machine was without power")
    bench.deep()
    bench.off()
    bench.started("a start")


def slots_stay(bench: Bench) -> None:
    """Installed images stay bit for bit, and the board's areas too."""
    for _ in range(2):
        bench.adopt(bench.version())
    bench.install(bench.version(), "damaged", "unreadable", payload=secrets.token_bytes(5000))
    bench.restart()
    bench.off("three updates")
    bench.started("a start")


# -- lasts ------------------------------------------------------------------------------------


def cut_while_installing(bench: Bench) -> None:
    bench.adopt(bench.version())
    one = bench.version()

    def again() -> None:
        if bench.model.waits:
            bench.do("confirm")
        bench.adopt(bench.version())

    cut_install(bench, one, 7, again)
    bench.do("confirm")


def cut_install(bench: Bench, one: bundles.Version, count: int, again=None) -> None:
    offer = bench.offer(one)
    bench.cuts(
        f"the installation of {one.version}",
        lambda: bench.install(one),
        lambda model: model.do("install", offer=offer),
        lambda model: model.overwritten(),
        count,
        again,
    )


def cut_while_replacing(bench: Bench) -> None:
    """The first update of a unit, over a version that waits to be tried."""
    assert bench.install(bench.version()) == 0
    cut_install(bench, bench.version(), 5)


# -- counts -----------------------------------------------------------------------------------


def cut_while_starting(bench: Bench) -> None:
    assert bench.install(bench.version(lives=LAYOUT == "pair")) == 0
    for number in range(TRIES):
        bench.off()
        bench.cuts(
            f"start {number + 1} on trial",
            lambda: bench.started("a start", same=False),
            lambda model: model.do("boot"),
            count=2,
        )


def cut_while_confirming(bench: Bench) -> None:
    bench.begin(bench.version())
    bench.cuts(
        "the confirmation", lambda: bench.do("confirm"), lambda model: model.do("confirm"), count=5
    )
    bench.do("confirm")
    bench.restart()
