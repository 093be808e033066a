"""An SMTP server of this run that takes mail from who knows the drawn name and password."""

from __future__ import annotations

import contextlib
import secrets
import time
import warnings
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

from benchflow.bench.local_service import free_port

#: What has to be in the verifier's image.
PACKAGES = ("python3-aiosmtpd",)
MAILS_MAX = 1000
SIZE_MAX, SIZES_MAX = 1 << 20, 64 << 20  # of one, and of all together


@dataclass(frozen=True)
class Mail:
    """One that was taken: who it was from and for by SMTP's words, and what it says."""

    sender: str
    recipients: tuple[str, ...]
    data: bytes

    @property
    def message(self) -> EmailMessage:
        """Read as a message; what cannot be read of it is left as it is."""
        return message_from_bytes(self.data, policy=policy.default)

    @property
    def text(self) -> str:
        """Its plain text, an empty string where it has none or cannot be read."""
        # A guest wrote it: the email package raises errors of a dozen kinds at what is no mail.
        with contextlib.suppress(Exception):
            body = self.message.get_body(("plain",))
            return str(body.get_content()).replace("\r\n", "\n") if body else ""
        return ""


class MailSink:
    """`mails` are those that came; `refused` counts tries with other names or passwords."""

    def __init__(self) -> None:
        self.mails: list[Mail] = []
        self.refused = 0
        self.user = f"m{secrets.token_hex(4)}"
        self.password = secrets.token_urlsafe(18)
        self.port = free_port()
        self._controller = _Controller(
            _Handler(self),
            hostname="127.0.0.1",
            port=self.port,
            auth_required=True,
            auth_require_tls=False,
            authenticator=self._knows,
            data_size_limit=SIZE_MAX,
            ident="bench",
        )
        self._controller.start()

    def _knows(self, _server: Any, _session: Any, _envelope: Any, _way: str, given: Any) -> Any:
        wanted = (self.user.encode(), self.password.encode())
        known = isinstance(given, LoginPassword) and (given.login, given.password) == wanted
        self.refused += not known
        return AuthResult(success=known, handled=False)

    def taken(self, word: str, seconds: float = 30) -> Mail | None:
        """The first mail that has `word` in it, waited for in real seconds."""
        end = time.monotonic() + seconds
        while True:
            for mail in tuple(self.mails):
                if word in mail.text or word.encode() in mail.data:
                    return mail
            if time.monotonic() > end:
                return None
            time.sleep(0.2)

    def rotate(self) -> None:
        """Draw another password."""
        self.password = secrets.token_urlsafe(18)

    def close(self) -> None:
        """Stop listening."""
        self._controller.stop()


class _Controller(Controller):
    def factory(self) -> SMTP:
        """What it warns of, passwords without TLS, is meant: no byte leaves this machine."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return SMTP(self.handler, **self.SMTP_kwargs)


class _Handler:
    def __init__(self, sink: MailSink) -> None:
        self._sink = sink

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        taken = sum(len(mail.data) for mail in self._sink.mails)
        if len(self._sink.mails) >= MAILS_MAX or taken >= SIZES_MAX:
            return "452 full"
        mail = Mail(str(envelope.mail_from), tuple(envelope.rcpt_tos), bytes(envelope.content))
        self._sink.mails.append(mail)
        return "250 taken"
