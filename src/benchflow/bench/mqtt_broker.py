"""An MQTT broker of this run: Mosquitto with TLS alone, for users with drawn passwords.

Sessions and retained messages are kept in memory from one start to the next of the same object
only where `keep` says so.
"""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Mapping

from benchflow.bench.local_service import LocalService, program

#: What has to be in the verifier's image.
PACKAGES = ("mosquitto",)
#: What clients may leave here: of one message, and of those that wait for one client.
PAYLOAD_MAX, WAITING_MAX = 1 << 20, 10_000
_PLACES = ("/usr/sbin", "/usr/local/sbin")


class Broker(LocalService):
    """Takes MQTT 3.1, 3.1.1 and 5. `users` are names with the topics that they may use, as an
    access list of Mosquitto says them (`readwrite a/#`); `passwords` are theirs."""

    def __init__(
        self, certificate: bytes, key: bytes, users: Mapping[str, list[str]], *, keep: bool = True
    ) -> None:
        super().__init__("mosquitto")
        self._keep = keep
        self.use(certificate, key)
        self.let_in(users)

    def use(self, certificate: bytes, key: bytes) -> None:
        """What it shows from the next start on."""
        self._put("server.crt", certificate)
        self._put("server.key", key)

    def let_in(self, users: Mapping[str, list[str]]) -> None:
        """Other users, with other passwords, from the next start on."""
        # A letter first: what begins with "-" is an option to some programs.
        self.passwords = {name: "a" + secrets.token_urlsafe(18) for name in users}
        lines = []
        for name, rules in users.items():
            lines += [f"user {name}", *(f"topic {rule}" for rule in rules)]
        self._put("access", "\n".join([*lines, ""]).encode())
        said = "".join(f"{name}:{password}\n" for name, password in self.passwords.items())
        self._put("passwords", said.encode())
        self.run_tool([program("mosquitto_passwd"), "-U", str(self.folder / "passwords")])

    def start(self) -> None:
        """Start it."""
        settings = (
            f"listener {self.port} 127.0.0.1\ncertfile {self.folder}/server.crt\n"
            f"keyfile {self.folder}/server.key\nallow_anonymous false\n"
            f"password_file {self.folder}/passwords\nacl_file {self.folder}/access\n"
            f"message_size_limit {PAYLOAD_MAX}\nmax_queued_messages {WAITING_MAX}\n"
            f"persistence {'true' if self._keep else 'false'}\n"
            f"persistence_location {self.folder}/\nlog_dest stderr\nlog_type error\n"
        )
        self._put("mosquitto.conf", settings.encode())
        found = program("mosquitto", *_PLACES)
        self.launch([found, "-c", str(self.folder / "mosquitto.conf")], self.answers)

    def _put(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.unlink(missing_ok=True)
        path.touch(0o600)
        path.write_bytes(data)
        if self._as:
            subprocess.run(["chown", f"--reference={self.folder}", str(path)], check=True)
