"""What is true of one model is true of the other ([R29]), from its very first start on ([R30])."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from brand import hostname_follows
from logbook import has_no_privileges
from outside import listen
from story import IDENTITY, Story, grown
from system import cannot_be_written
from unit import Unit


def key_seen(unit: Unit) -> set[str]:
    """The host keys that log-ins of this start noted."""
    rows = unit.client.known.read_text().splitlines()
    return {row.split()[2] for row in rows if len(row.split()) > 2}


def keeps_what_its_first_start_made(other: Unit, nonce: Callable[[], str]) -> None:
    """Cut off as soon as it is up: who it is lies on the disk by then, and so does a record."""
    key, value = nonce(), nonce()
    identity, seen = other.say(IDENTITY), key_seen(other)
    assert other.ask(f"PUT {key} {value}")[0].startswith("OK ")
    other.power_cut()
    other.power_on()
    assert other.service_in_time(), "no answer within 90 s after a cut, early in its life [R30]"
    assert other.ask(f"GET {key}") == [f"VALUE {value}"], "an acknowledged record is lost [R26]"
    assert other.say(IDENTITY) == identity, "a cut after the first start changed its id [R24]"
    assert seen & set(other.host_keys().values()), "a cut changed its host key [R24]"


def is_like_the_first(other: Unit, story: Story, image_bytes: int, disk_bytes: int) -> None:
    """What held on the other unit holds here; what did not is that unit's milestone alone."""
    if "grown" not in story.missing:
        grown(other, image_bytes, disk_bytes)
    if "privileges" not in story.missing:
        has_no_privileges(other)
    if "name" not in story.missing:
        hostname_follows(other)
    if "keys" not in story.missing:
        offered = other.client.offered("root", 30)
        assert offered == ["publickey"], f"root is offered {offered} by this model [R5]"
    if "closed" not in story.missing:
        port = story.closed_ports[1]
        listen(other, "tcp", port, "/bin/cat")
        word = secrets.token_hex(16)
        assert not other.hears(port, word), f"TCP port {port} of this model is open [R13]"
    if "readonly" not in story.missing:
        other.ssh("mount -o remount,rw / ; :")
        cannot_be_written(other)
