"""What this run's site has: services with keys that nobody had, and the settings disk."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service import NAME
from site_services import Hook, MailServer, Tokens, Web, basic

from benchflow.bench.media_disks import ext_disk
from benchflow.bench.site_certificates import Authority
from benchflow.boot import Disk
from benchflow.boot.machine.disks import Bus

HOST, OTHER_HOST = "10.0.2.2", "192.168.91.2"
#: One machine of the cluster, and the other.
CARDS = ("52:54:00:a7:{}:01", "52:54:00:a7:{}:02")


class Site:
    """The verifier's webhooks, token endpoint and mail server, and the keys of a site."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._disks = 0
        self.audit, self.tickets = Hook("/audit"), Hook(f"/{secrets.token_hex(3)}/new")
        self.pager, self.tokens = Hook("/page"), Tokens()
        self.mail = MailServer()
        byte = secrets.token_hex(1)
        self.cards = [card.format(byte) for card in CARDS]
        net = random.randrange(20, 200)
        self.addresses = [f"10.{net}.7.{n}" for n in random.sample(range(2, 250), 2)]
        self.draw()
        for web in self.webs:
            web.start()
        self.mail.start()

    @property
    def webs(self) -> tuple[Web, ...]:
        return (self.audit, self.tickets, self.pager, self.tokens)

    def draw(self) -> None:
        """Other keys everywhere; the old ones are refused from now on."""
        self.authority = Authority(f"Holm {secrets.token_hex(3)}")
        # A letter first: what begins with "-" is an option to some programs.
        self.web_password, self.audit_token, self.ticket_password = (_key() for _ in range(3))
        self.signing_key, self.tokens.secret, self.mail.password = (_key() for _ in range(3))
        self.ticket_user = f"t{secrets.token_hex(3)}"
        self.tokens.client, self.tokens.scope = f"c{secrets.token_hex(3)}", f"page.{_word()}"
        self.tokens.given.clear()
        self.mail.user = f"m{secrets.token_hex(3)}"
        self.sender, self.receiver = f"a{_word()}@holm.example", f"d{_word()}@holm.example"
        self.audit.knows = _is(f"Bearer {self.audit_token}")
        self.tickets.knows = _is(basic(self.ticket_user, self.ticket_password))
        self.pager.knows = self.tokens.knows
        self.web_certificate, self.web_key, self._web_number = self.authority.issue(NAME)
        for web in self.webs:
            web.context = self.authority.context(self._work, HOST, OTHER_HOST)
        self.mail.context = self.authority.context(self._work, HOST, OTHER_HOST)

    def rotate(self) -> None:
        """Other keys and certificates everywhere."""
        self.mail.stop()
        self.draw()
        self.mail.start()

    @property
    def keys(self) -> dict[str, bytes]:
        """What must not be found."""
        told = {
            "WEB_PASSWORD": self.web_password,
            "AUDIT_TOKEN": self.audit_token,
            "TICKET_PASSWORD": self.ticket_password,
            "SIGNING_KEY": self.signing_key,
            "PAGER_CLIENT_SECRET": self.tokens.secret,
            "SMTP_PASSWORD": self.mail.password,
        }
        found = {name: value.encode() for name, value in told.items()}
        return found | {"web.key": self._web_number}

    def settings(
        self, host: str, member: int | None = None, bus: Bus = "virtio", kind: str = "ext2"
    ) -> Disk:
        """The settings disk, for a machine that finds the services at `host`, and is one or the
        other `member` of the cluster, or none."""
        own, other = ("", "") if member is None else self.addresses[:: -1 if member else 1]
        told = {
            "WEB_PASSWORD": self.web_password,
            "AUDIT_URL": f"https://{host}:{self.audit.port}{self.audit.path}",
            "AUDIT_TOKEN": self.audit_token,
            "TICKET_URL": f"https://{host}:{self.tickets.port}{self.tickets.path}",
            "TICKET_USER": self.ticket_user,
            "TICKET_PASSWORD": self.ticket_password,
            "SIGNING_KEY": self.signing_key,
            "PAGER_URL": f"https://{host}:{self.pager.port}{self.pager.path}",
            "PAGER_TOKEN_URL": f"https://{host}:{self.tokens.port}/token",
            "PAGER_CLIENT_ID": self.tokens.client,
            "PAGER_CLIENT_SECRET": self.tokens.secret,
            "PAGER_SCOPE": self.tokens.scope,
            "SMTP_HOST": host,
            "SMTP_PORT": self.mail.port,
            "SMTP_USER": self.mail.user,
            "SMTP_PASSWORD": self.mail.password,
            "SMTP_FROM": self.sender,
            "SMTP_TO": self.receiver,
            "CLUSTER_MAC": "" if member is None else self.cards[member],
            "CLUSTER_ADDRESS": f"{own}/24" if own else "",
            "CLUSTER_PEER": other,
        }
        lines = [f"{name}={value}\n" for name, value in told.items()]
        files = {
            "settings.env": "".join(random.sample(lines, len(lines))).encode(),
            "ca.pem": self.authority.pem,
            "web.crt": self.web_certificate,
            "web.key": self.web_key,
        }
        self._disks += 1
        path = self._work / f"settings{self._disks}.img"
        ext_disk(path, files, label="SETTINGS", kind=kind, megabytes=8)
        return Disk(path, bus=bus, read_only=True)

    @contextmanager
    def away(self) -> Iterator[None]:
        """No service is there."""
        for web in self.webs:
            web.away = True
        self.mail.stop()
        try:
            yield
        finally:
            for web in self.webs:
                web.away = False
            self.mail.start()

    @contextmanager
    def impostors(self) -> Iterator[None]:
        """Somebody else, with certificates by himself, is in every service's place."""
        right = [web.context for web in self.webs]
        mail = self.mail.context
        other = Authority("Holm")
        for web in self.webs:
            web.context = other.context(self._work, HOST, OTHER_HOST)
        self.mail.stop()
        self.mail.context = other.context(self._work, HOST, OTHER_HOST)
        self.mail.start()
        try:
            yield
        finally:
            for web, context in zip(self.webs, right, strict=True):
                web.context = context
            self.mail.stop()
            self.mail.context = mail
            self.mail.start()

    def close(self) -> None:
        for web in self.webs:
            web.stop()
        self.mail.stop()


def _key() -> str:
    return "a" + secrets.token_urlsafe(18)


def _word() -> str:
    return secrets.token_hex(3)


def _is(wanted: str) -> object:
    kind, _, rest = wanted.partition(" ")

    def knows(authorization: str) -> bool:
        said, _, given = authorization.partition(" ")
        return said.lower() == kind.lower() and given == rest

    return knows
