"""What this run's site has: services with keys that nobody had, and the settings disk."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import secrets
from pathlib import Path

from benchflow.bench.mail_sink import MailSink
from benchflow.bench.media_disks import ext_disk
from benchflow.bench.postgresql_server import PostgreSQL
from benchflow.bench.redis_server import Redis
from benchflow.boot import Disk
from benchflow.boot.machine.disks import Bus


class Site:
    """The verifier's PostgreSQL, Redis and mail server, and the other keys of a site."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._disks = 0
        self.postgresql, self.redis, self.mail = PostgreSQL(), Redis(), MailSink()
        self.sender = f"kinto-{secrets.token_hex(3)}@holm.example"
        self.draw()

    def draw(self) -> None:
        """Other keys than before, of what is not a service's."""
        # A letter first: what begins with "-" is an option to some programs.
        self.admin = "a" + secrets.token_urlsafe(15)
        self.hmac_secret = secrets.token_hex(16)
        self.digest_key = secrets.token_hex(16)

    def rotate(self) -> None:
        """Other keys everywhere; the old ones are refused from now on."""
        for service in (self.postgresql, self.redis, self.mail):
            service.rotate()
        self.draw()

    @property
    def keys(self) -> dict[str, bytes]:
        """What must not be found."""
        told = {
            "DATABASE_URL": self.postgresql.password,
            "CACHE_URL": self.redis.password,
            "MAIL_PASSWORD": self.mail.password,
            "ADMIN_PASSWORD": self.admin,
            "HMAC_SECRET": self.hmac_secret,
            "DIGEST_KEY": self.digest_key,
        }
        return {name: value.encode() for name, value in told.items()}

    def settings(self, host: str, bus: Bus = "virtio", kind: str = "ext2") -> Disk:
        """The settings disk, for a machine that finds the services at `host`."""
        told = {
            "DATABASE_URL": self.postgresql.url(host),
            "CACHE_URL": self.redis.url(host),
            "MAIL_HOST": host,
            "MAIL_PORT": self.mail.port,
            "MAIL_USER": self.mail.user,
            "MAIL_PASSWORD": self.mail.password,
            "MAIL_FROM": self.sender,
            "ADMIN_PASSWORD": self.admin,
            "HMAC_SECRET": self.hmac_secret,
            "DIGEST_KEY": self.digest_key,
        }
        lines = [f"{name}={value}\n" for name, value in told.items()]
        text = "".join(random.sample(lines, len(lines)))
        self._disks += 1
        path = self._work / f"settings{self._disks}.img"
        ext_disk(path, {"settings.env": text.encode()}, label="SETTINGS", kind=kind, megabytes=8)
        return Disk(path, bus=bus, read_only=True)

    def stop(self) -> None:
        """No service is there."""
        self.postgresql.stop()
        self.redis.stop()

    def start(self) -> None:
        """They are there again; the cache is empty."""
        self.postgresql.start()
        self.redis.start()

    def digest(self, records: list[dict[str, object]]) -> str:
        """What the change request asks for."""
        total = hmac.new(self.digest_key.encode(), digestmod=hashlib.sha256)
        for record in sorted(records, key=lambda one: str(one["id"])):
            text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            total.update(text.encode() + b"\n")
        return total.hexdigest()

    def cached(self, account: str) -> list[str]:
        """Keys in Redis that say, by HMAC_SECRET, that an account has logged in, as Kinto names
        them behind any prefix."""
        name, found = self._account(account), self.redis.keys()
        return [key for key in found if key.endswith(name)]

    def believe(self, account: str, password: str) -> None:
        """Let the cache say that this password of an account was found right."""
        known = json.dumps(_hmac(self._account(account), password))
        for key in self.cached(account):
            self.redis.ask("SET", key, known, "PX", "120000")

    def _account(self, name: str) -> str:
        return _hmac(self.hmac_secret, f"accounts:{name}:verified")

    def close(self) -> None:
        for service in (self.postgresql, self.redis, self.mail):
            service.close()


def _hmac(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
