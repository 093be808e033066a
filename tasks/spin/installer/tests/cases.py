"""Right and wrong answers for the technician's machine, with the reasons that are true of them."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

from answers import Answers, User, Volume, deb, word

#: What stands in quay.conf (None: there is none), and the files beside it.
Case = tuple[bytes | None, dict[str, bytes]]
#: Several reasons may be true of one case; ANSWERS.md lets any of them be named.
Reasons = tuple[str, ...]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
LONG_ZONES = ("America/Argentina/Buenos_Aires", "America/Port-au-Prince", "Etc/GMT+5")
#: What stands there at most once.
ONCE = ("order", "disk", "consent", "timezone", "address", "gateway", "group", "swap", "free",
        "keep", "banner", "root")  # fmt: skip
Y_HASH = "$y$j9T$uBXq0u3kTjFzgvPgq2ANn.$C6lJSl0s9e6mWZoVNuPn7bEWqQ6LxLXgNG9U1lWmKc5"


def right(serials: dict[str, str]) -> Answers:
    """Answers that can be followed there, on the blank disk."""
    return Answers(
        disk=serials["blank"],
        volumes=[Volume(word(), 820, "ext4", "/"), Volume(word(), "rest", "xfs", "/home")],
        users=[User(word(), "admin"), User(word(), "plain")],
        address="10.4.7.23/24", gateway="10.4.7.1", swap=40, free=20,
    )  # fmt: skip


def line(said: Answers, key: str, text: str | None) -> Case:
    """The answers with the first line of this key replaced (None: left out)."""
    found = said.lines()
    at = next(n for n, each in enumerate(found) if each.startswith(f"{key} = "))
    found[at : at + 1] = [] if text is None else [text]
    return lines(*found)


def lines(*texts: str) -> Case:
    return "".join(f"{text}\n" for text in texts).encode(), {}


def more(said: Answers, *texts: str) -> Case:
    return lines(*said.lines(), *texts)


def case(said: Answers, **changes: Any) -> Case:
    changed = replace(said, **changes)
    return changed.text(), dict(changed.packages)


def taken(serials: dict[str, str]) -> dict[str, Case]:
    """Answers that follow the rules to their edges."""
    said = right(serials)
    ext4 = [Volume("r", 800, "ext4", "/"), Volume("a" * 31, 16, "ext4", "/srv/a/b_1/c")]
    name = word()
    # All that ANSWERS.md lets this disk hold: 160 MiB lie outside of the group.
    full = [said.volumes[0], replace(said.volumes[1], size=320)]
    more_of_them = [*said.lines(), f"key = {said.users[1].name} {KEY}"]
    rounds = said.users[0].hash.replace("$6$", "$6$rounds=5000$")
    return {
        "plain": case(said),
        "long names": case(
            said, hostname="a" * 31 + "-" + "b" * 31, group="g" * 31, order="Q" * 40
        ),
        "odd banner": case(
            said, banner="'" + '"$(reboot)`halt`\\\\%s & = # ' + secrets.token_hex(8)
        ),
        "little": case(said, volumes=ext4, swap=0, free=0, address="dhcp", gateway=""),
        "another hash": case(said, users=[User(word(), "plain", hash=Y_HASH)]),
        "near gateway": case(said, address="192.168.255.254/30", gateway="192.168.255.253"),
        "no last newline": (said.text().rstrip(b"\n"), {}),
        "consent to another": case(said, consent="NOBODY-1"),
        "package": case(said, packages={f"{name}.deb": deb(name, {})}),
        "a full disk": case(said, volumes=full, swap=40, free=60),
        "the last line first": lines(*reversed(more_of_them)),
        "a hash with rounds": case(said, users=[User(word(), "plain", hash=rounds)]),
        "a long banner": case(said, banner=secrets.token_hex(30)),
        **{f"zone {zone}": case(said, timezone=zone) for zone in LONG_ZONES},
        "blank with banner of words": case(said, banner="address = 10.0.0.1/8"),
    }


def values(serials: dict[str, str]) -> dict[str, Case]:
    """Each has one value that is not as described."""
    said = right(serials)
    user = said.users[0]
    small = said.volumes[0]
    found = {
        f"{n}: {key} {text[:12]}": line(said, key, f"{key} = {text}")
        for n, (key, text) in enumerate((
            ("hostname", f"-{word()}"), ("hostname", "Q" + word()),
            ("hostname", f"{word()}-"), ("hostname", "a" * 64), ("hostname", "a_b"),
            ("timezone", "Europe"), ("timezone", "zone.tab"),
            ("timezone", f"Europe/{word()}"), ("timezone", "../../../etc/hostname"),
            ("address", "10.4.7.256/24"), ("address", "10.4.7.23"), ("address", "10.4.7.23/33"),
            ("gateway", "10.4.7"), ("group", f"9{word()}"), ("group", "g" * 32), ("group", "g-x"),
            ("swap", "63"), ("swap", "-4"), ("free", "4M"), ("free", "21"), ("banner", "b" * 61),
            ("order", "Q" * 41), ("order", "a b"),
            ("volume", "root 820 btrfs /"), ("volume", "root 820 xfs /"),
            ("volume", "root 818 ext4 /"),
            ("volume", "swap 820 ext4 /"), ("volume", f"{'a' * 32} 820 ext4 /"),
            ("volume", f"Q{word()} 820 ext4 /"), ("volume", f"{word()} 820 ext4 / {word()}"),
            ("user", f"root admin {user.hash}"), ("user", f"daemon plain {user.hash}"),
            ("user", f"{user.name} god {user.hash}"), ("user", f"{'a' * 32} plain {user.hash}"),
            ("user", f"{word()} plain {user.hash}:0:0"),
            ("user", f"{user.name} plain {user.password}"),
            ("user", f"{user.name} plain $1$abcdefgh$G/ZlYVdDxlZzvqPPhqcyD0"),
            ("user", f"A{word()} plain {user.hash}"),
        ))
    }  # fmt: skip
    for what, volume in (
        *(
            (f"a mount at {mount}", Volume(word(), 16, "ext4", mount))
            for mount in ("/etc", "/srv", "/srv/a/b/c/d", f"/srv/Q{word()}", f"/home/{word()}")
        ),
        ("a mount that climbs", Volume(word(), 16, "ext4", "/srv/a/../b")),
        ("a volume of 12", Volume(word(), 12, "ext4", "/srv/a")),
        ("a small xfs", Volume(word(), 316, "xfs", "/srv/a")),
    ):
        found[what] = case(said, volumes=[small, volume])
    for what, text in (
        ("an rsa key", f"key = {user.name} ssh-rsa AAAAB3NzaC1yc2E x"),
        ("half a key", f"key = {user.name} {KEY[:-9]}"),
        ("a key of another kind", f"key = {user.name} {KEY.replace('C3Nz', 'B3Nz', 1)}"),
        ("a password for root", f"root = {user.password}"),
    ):
        found[what] = more(said, text)
    return found


def contradictions(serials: dict[str, str]) -> dict[str, tuple[Case, Reasons]]:
    said = right(serials)
    user, root = said.users[0], said.volumes[0]
    # What is to be kept and is not among the answers is not on the blank disk either.
    also = {"keep of nothing": ("keep",), "keep of root": ("keep",)}
    found = {
        "gateway with dhcp": line(said, "address", "address = dhcp"),
        "gateway outside": line(said, "gateway", f"gateway = 10.4.{8 + secrets.randbelow(90)}.1"),
        "gateway just outside": case(said, address="10.4.7.23/28", gateway="10.4.7.32"),
        "gateway is the address": line(said, "gateway", "gateway = 10.4.7.23"),
        "a mount point twice": more(said, f"volume = {word()} 16 ext4 /home"),
        "a volume twice": more(said, f"volume = {root.name} 16 ext4 /srv/a"),
        "two rests": more(said, f"volume = {word()} rest ext4 /srv/a"),
        "a user twice": more(said, f"user = {user.name} plain {user.hash}"),
        "key of nobody": more(said, f"key = {word()} {KEY}"),
        "key of half a name": more(said, f"key = {user.name[:-1]} {KEY}"),
        "keep of nothing": more(said, f"keep = {word()}", f"consent = {said.disk}"),
        "keep of root": more(said, f"keep = {root.name}", f"consent = {said.disk}"),
    }
    return {name: (told, ("contradiction", *also.get(name, ()))) for name, told in found.items()}


def unreadable(serials: dict[str, str]) -> dict[str, tuple[Case, Reasons]]:
    """By what is wrong, the answers and the reason."""
    said = right(serials)
    # Without the line that cannot be read, its key is missing too.
    unread = ("value", "missing", "syntax")
    found: dict[str, tuple[Case, Reasons]] = {
        "no blanks": (line(said, "hostname", f"hostname={word()}"), ("syntax", "missing")),
        "a leading blank": (line(said, "order", " order = x"), ("syntax", "missing")),
        "an unknown key": (more(said, f"{word()[:1]}colour = red"), ("syntax",)),
        "a key twice": (more(said, f"hostname = {word()}"), ("syntax",)),
        "a program": (more(said, "touch /tmp/x"), ("syntax",)),
        "no volume for /": (line(said, "volume", None), ("missing",)),
        "nobody": (case(said, users=[]), ("missing",)),
        "half a volume": (line(said, "volume", "volume = root 820"), unread),
        "no ASCII": (line(said, "banner", "banner = Bod\u00f8"), ("value", "syntax")),
        "no file": ((None, {}), ("no-answers",)),
    }
    whole = replace(said, consent=said.disk, keep=said.volumes[1].name, root=User("root", "admin"))
    for key in secrets.SystemRandom().sample(ONCE, 4):
        again = next(each for each in whole.lines() if each.startswith(f"{key} = "))
        # What is kept has to be there too, and is not.
        found[f"{key} twice"] = (more(whole, again), ("syntax", "keep"))
    for key in (
        "order",
        "disk",
        "hostname",
        "timezone",
        "address",
        "gateway",
        "group",
        "swap",
        "free",
        "banner",
    ):
        found[f"no {key}"] = (line(said, key, None), ("missing",))
    name = f"{word()}.deb"
    data = deb(word(), {})
    told = replace(said, packages={name: data})
    found["no such package"] = ((told.text(), {}), ("package",))
    found["another package"] = ((told.text(), {name: data[:-1] + b"x"}), ("package",))
    return found


def disks(serials: dict[str, str]) -> dict[str, tuple[Case, Reasons]]:
    """Which disk, and whether there is room."""
    said = right(serials)
    root, home = said.volumes
    stick = serials["stick"]  # the medium is smaller than what is asked for, too
    small = [replace(root, size=48), home]
    found: dict[str, tuple[Case, Reasons]] = {
        "no such disk": (case(said, disk=secrets.token_hex(6).upper()), ("no-disk",)),
        "half a serial number": (case(said, disk=said.disk[:-1]), ("no-disk",)),
        "one of two": (case(said, disk=serials["twin"]), ("ambiguous",)),
        "only": (case(said, disk="only"), ("ambiguous",)),
        "the medium": (case(said, disk=stick, consent=stick), ("medium", "too-small")),
        "a small disk": (case(said, disk=serials["tiny"]), ("too-small",)),
        "too much": (case(said, volumes=[root, replace(home, size=600)]), ("too-small",)),
        "too much free": (case(said, free=560), ("too-small",)),
        # Of 1400 MiB less than 320 are left for an XFS, however much lies outside of the group.
        "a rest that is no XFS": (case(said, free=300), ("too-small", "value")),
        "no room for the system": (case(said, volumes=small), ("too-small",)),
        "nothing to keep": (case(said, keep=home.name, consent=said.disk), ("keep",)),
    }
    return found


def claims(was: Answers, disk: str) -> tuple[dict[str, Case], dict[str, tuple[str, str]]]:
    """Questions about a disk on which the power went while a volume was kept, and answers."""
    home = was.volumes[2]
    plain = replace(was, disk=disk, consent="", keep="", packages={})
    keeps = replace(plain, keep=home.name, consent=disk)
    smaller = [*was.volumes[:2], replace(home, size=320 if home.fs == "xfs" else 32)]
    other = [*was.volumes[:2], replace(home, fs="ext4" if home.fs == "xfs" else "xfs", size=380)]
    found: dict[str, tuple[Case, tuple[str, str]]] = {
        "neither": (case(plain), ("REFUSED", "data")),
        "keeps it": (case(plain, keep=home.name), ("WOULD INSTALL", disk)),
        "consents": (case(plain, consent=disk), ("WOULD INSTALL", disk)),
        "smaller": (case(keeps, volumes=smaller), ("REFUSED", "keep")),
        "another kind": (case(keeps, volumes=other), ("REFUSED", "keep")),
        "another group": (case(keeps, group=word()), ("REFUSED", "keep")),
    }
    return {n: told for n, (told, _) in found.items()}, {n: said for n, (_, said) in found.items()}
