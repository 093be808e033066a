"""What this run's site has: users, an office with a broker, keys that nobody had, and the settings
disk."""

from __future__ import annotations

import hashlib
import hmac
import random
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqtt import Watching

from benchflow.bench.media_disks import ext_disk
from benchflow.bench.mqtt_broker import Broker
from benchflow.bench.service_machine import OTHER_HOST
from benchflow.bench.site_certificates import Authority
from benchflow.boot import Disk
from benchflow.boot.machine.disks import Bus

HOST = "10.0.2.2"
_HERE = "127.0.0.1"
#: Whom the broker's certificate is for.
NAME = "broker.holm.example"


class Site:
    """The verifier's office, and the keys of a site."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._disks = 0
        self.name = _name("site-")
        self.operator, self.viewer = _name("o"), _name("v")
        self.stations = [_name("w-") for _ in range(2)]
        self.head = _name("h")
        self._draw_keys()
        self._draw_users()
        certificate, key, _ = self.office_authority.issue(HOST, OTHER_HOST, _HERE)
        self.office = Broker(certificate, key, self._office_users())
        self.office.start()

    def _draw_keys(self) -> None:
        self.authority = Authority(f"Holm {secrets.token_hex(3)}")
        self.office_authority = Authority(f"Office {secrets.token_hex(3)}")
        self.certificate, self.key, self._number = self.authority.issue(NAME)
        self.seal_key = _key()
        self.office_user = _name("b")

    def _draw_users(self) -> None:
        roles = {self.operator: "operator", self.viewer: "viewer"}
        roles |= dict.fromkeys(self.stations, "station")
        names = random.sample(sorted(roles), len(roles))
        self.users = {name: (roles[name], _key()) for name in names}

    def _office_users(self) -> dict[str, list[str]]:
        own = [f"readwrite sites/{self.name}/#"]
        return {self.office_user: own, self.head: ["readwrite #"]}

    def rotate(self) -> None:
        """Other keys and certificates everywhere; the second station is another one."""
        self.stations = [self.stations[0], _name("w-")]
        self._draw_keys()
        self._draw_users()
        self.office.stop()
        certificate, key, _ = self.office_authority.issue(HOST, OTHER_HOST, _HERE)
        self.office.use(certificate, key)
        self.office.let_in(self._office_users())
        self.office.start()

    @property
    def keys(self) -> dict[str, bytes]:
        """What must not be found."""
        found = {f"password of {name}": said.encode() for name, (_, said) in self.users.items()}
        found["SEAL_KEY"] = self.seal_key.encode()
        found["OFFICE_PASSWORD"] = self.office.passwords[self.office_user].encode()
        return found | {"broker.key": self._number}

    def settings(self, host: str, bus: Bus = "virtio", kind: str = "ext2") -> Disk:
        """The settings disk, for a machine that finds the office at `host`."""
        told = {
            "SITE": self.name,
            "SEAL_KEY": self.seal_key,
            "OFFICE_HOST": host,
            "OFFICE_PORT": self.office.port,
            "OFFICE_USER": self.office_user,
            "OFFICE_PASSWORD": self.office.passwords[self.office_user],
        }
        lines = [f"{name}={value}\n" for name, value in told.items()]
        users = [f"{name}:{role}:{said}\n" for name, (role, said) in self.users.items()]
        files = {
            "settings.env": "".join(random.sample(lines, len(lines))).encode(),
            "users": "".join(users).encode(),
            "broker.crt": self.certificate,
            "broker.key": self.key,
            "office-ca.pem": self.office_authority.pem,
        }
        self._disks += 1
        path = self._work / f"settings{self._disks}.img"
        ext_disk(path, files, label="SETTINGS", kind=kind, megabytes=8)
        return Disk(path, bus=bus, read_only=True)

    def may_read(self) -> dict[str, list[str]]:
        """What each user may ask for."""
        topics = {
            self.operator: ["stations/#", "notes/#", "$SYS/broker/version"],
            self.viewer: ["stations/#", "notes/#"],
        }
        return topics | {name: [f"commands/{name}/#", "notes/#"] for name in self.stations}

    def forbidden(self) -> list[tuple[str, str]]:
        """Topics to which a user may not send."""
        (one, other), viewer, operator = self.stations, self.viewer, self.operator
        return [
            *((one, topic) for topic in (f"stations/{other}/x", "stations/x", f"commands/{one}/x")),
            *((one, topic) for topic in ("notes/x", "x/y", f"stations/{one}x/y")),
            *((viewer, topic) for topic in (f"stations/{viewer}/x", "notes/x", "x")),
            (viewer, f"commands/{one}/x"),
            *(
                (operator, topic)
                for topic in (f"stations/{one}/x", f"stations/{operator}/x", "x/y")
            ),
        ]

    def seal(
        self, topic: str, payload: bytes, *, key: str = "", seconds: int | None = None
    ) -> tuple[tuple[str, str], ...]:
        """The user properties of a sealed message."""
        then = str(int(time.time()) if seconds is None else seconds)
        text = f"{topic}\n{then}\n".encode() + payload
        digits = hmac.new((key or self.seal_key).encode(), text, hashlib.sha256).hexdigest()
        return (("seal-time", then), ("seal", digits))

    @contextmanager
    def impostor(self, *, stranger: bool) -> Iterator[Watching]:
        """Somebody else is in the office's place: with a certificate for its address by himself
        where he is a `stranger`, else with one of the office's authority for another address."""
        self.office.stop()
        authority = Authority("Office") if stranger else self.office_authority
        names = (HOST, OTHER_HOST) if stranger else ("10.0.2.77", "files.holm.example")
        watching = Watching(self.office.port, authority.context(self._work, *names))
        try:
            yield watching
        finally:
            watching.stop()
            self.office.start()

    def close(self) -> None:
        self.office.close()


def _key() -> str:
    # A letter first: what begins with "-" is an option to some programs.
    return "a" + secrets.token_urlsafe(18)


def _name(kind: str) -> str:
    return kind + secrets.token_hex(4)
