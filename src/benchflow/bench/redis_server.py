"""Redis of this run: empty, in memory alone, behind a drawn password.

Clients are no administrators: what they cannot change cannot be what a verifier stumbles over.
"""

from __future__ import annotations

import os
import secrets
import subprocess

from benchflow.bench.local_service import LocalService, program

#: What has to be in the verifier's image.
PACKAGES = ("redis-server",)
_OWN = "bench"
_DENIED = (
    "-acl -config -debug -failover -module -monitor -replicaof -slaveof -psync -sync "
    "-save -bgsave -bgrewriteaof -shutdown"
)


class Redis(LocalService):
    """One database, asked by `redis-cli`."""

    def __init__(self) -> None:
        super().__init__("redis")
        self.password = secrets.token_urlsafe(18)
        self._own = secrets.token_urlsafe(18)
        self.start()

    def start(self) -> None:
        """Start the server, empty."""
        settings = (
            f"bind 127.0.0.1\nport {self.port}\nsave ''\n"
            f"user {_OWN} on >{self._own} ~* &* +@all\n"
            f"user default on >{self.password} ~* &* +@all {_DENIED}\n"
            f"appendonly no\ndaemonize no\ndir {self.folder}\nmaxmemory 64mb\n"
        )
        self.launch([program("redis-server"), "-"], self.answers, text=settings)

    def url(self, host: str = "10.0.2.2", database: int = 0) -> str:
        """How a client on `host`'s network names it, password included."""
        return f"redis://:{self.password}@{host}:{self.port}/{database}"

    def ask(self, *words: str) -> list[str]:
        """The lines of an answer. Raises what `broken` says where there is none."""
        done = subprocess.run(
            [program("redis-cli"), "-h", "127.0.0.1", "-p", str(self.port), "--user", _OWN, *words],
            capture_output=True,
            check=False,
            timeout=30,
            env={**os.environ, "REDISCLI_AUTH": self._own},
        )
        said = done.stdout.decode("utf-8", "replace")
        if done.returncode or said.startswith(("ERR", "NOAUTH", "WRONGPASS")):
            raise self.broken(f"redis-cli {words[0]} ended with {done.returncode}: {said[:200]}")
        return said.splitlines()

    def calls(self, command: str) -> int:
        """How often clients have used a command since the start."""
        name = f"cmdstat_{command.lower()}:calls="
        found = [line for line in self.ask("INFO", "commandstats") if line.startswith(name)]
        return int(found[0].removeprefix(name).partition(",")[0]) if found else 0

    def keys(self) -> list[str]:
        """The names of all keys in the first database."""
        return [line for line in self.ask("--scan") if line]

    def rotate(self) -> None:
        """Draw another password; who is connected by the old one is cut off."""
        fresh = secrets.token_urlsafe(18)
        self.ask("ACL", "SETUSER", "default", "resetpass", f">{fresh}")
        self.password = fresh
        self.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
