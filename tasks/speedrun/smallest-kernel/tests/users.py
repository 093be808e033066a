"""What somebody who is not root may do, and what is kept from them."""

from __future__ import annotations

KEPT = {"EACCES", "EPERM"}
ALLOWED, DENIED = 4, 40
#: Calls that programs need not have: no call, and nothing is gained by it [R7].
NEED_NOT_BE = {
    "change-root", "make-device", "set-clock", "set-name", "niceness", "niceness-of-others",
    "real-time", "trace-others", "more-files", "restart", "raw-socket",
}  # fmt: skip
ABSENT = {"open-memory": {"ENOENT", "ENXIO"}, "memory-of-roots": {"ENOENT"}}


def could(unit, rng, program: str = "probe") -> list[dict[str, str]]:
    """What a drawn user could do, and could not."""
    ids = rng.sample(range(1000, 30_000), 2)
    said = unit.say(f"{program} users {ids[0]} {ids[1]}", 30)
    unit.say("rm -rf /tmp/users")
    allowed, _, kept = said.partition("--\n")
    return [dict(line.split("=", 1) for line in part.split()) for part in (allowed, kept)]


def wrong(said: dict[str, str]) -> dict[str, str]:
    """What should have been kept from them, and was not."""
    none = {"ENOSYS", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT"}
    fine = {
        name: KEPT | ABSENT.get(name, set()) | (none if name in NEED_NOT_BE else set())
        for name in said
    }
    return {name: got for name, got in said.items() if got not in fine[name]}
