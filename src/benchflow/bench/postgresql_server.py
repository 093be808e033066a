"""PostgreSQL of this run: a new cluster, one user with a drawn name and password, by SCRAM."""

from __future__ import annotations

import contextlib
import secrets
import signal
import subprocess
from pathlib import Path

from benchflow.bench.local_service import LocalService, program
from benchflow.boot.errors import VerifierBroken

#: What has to be in the verifier's image.
PACKAGES = ("postgresql",)
_HBA = """\
local all postgres peer map=bench
host all all 127.0.0.1/32 scram-sha-256
"""
_FIELD = "\x1f"
#: Of what a query prints, and of what psql needs to hold it.
_ROWS_MAX, _MEMORY_MAX = 32 << 20, 256 << 20
_ROWS_SECONDS = 50


def _folders() -> list[str]:
    return [str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]


class PostgreSQL(LocalService):
    """`database` belongs to `user`; nobody else gets in but the verifier, by its socket."""

    def __init__(self) -> None:
        super().__init__("postgres")
        self.user = f"u{secrets.token_hex(4)}"
        self.database = f"d{secrets.token_hex(4)}"
        self.password = secrets.token_urlsafe(18)
        self._data = self.folder / "data"
        self.run_tool(
            [
                program("initdb", *_folders()),
                *("--username=postgres", "--auth=peer", "--encoding=UTF8", "--no-sync"),
                *("--locale=C.UTF-8", f"--pgdata={self._data}"),
            ]
        )
        self.start()
        self.query(f"CREATE ROLE {self.user} LOGIN PASSWORD '{self.password}'")
        self.query(f"CREATE DATABASE {self.database} OWNER {self.user}")

    def start(self) -> None:
        """Start the server, with the data that it has."""
        owner = self.run_tool(["id", "-un"]).strip()
        (self._data / "pg_hba.conf").write_text(_HBA)
        (self._data / "pg_ident.conf").write_text(f"bench {owner} postgres\n")
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
            "password_encryption": "scram-sha-256",
            "fsync": "off",
            "max_connections": "60",
            "max_wal_size": "128MB",
        }
        given = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        self.launch(
            [program("postgres", *_folders()), "-D", str(self._data), *given], self._is_ready
        )

    def _is_ready(self) -> bool:
        """It takes connections before it can answer a query."""
        asked = [program("pg_isready", *_folders()), "-q", "-h", str(self.folder)]
        return subprocess.run([*asked, "-p", str(self.port)], check=False).returncode == 0

    def stop(self) -> None:
        """End the server at once, connections and all."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
        super().stop()

    def url(self, host: str = "10.0.2.2") -> str:
        """How a client on `host`'s network names the database, password included."""
        return f"postgresql://{self.user}:{self.password}@{host}:{self.port}/{self.database}"

    def query(self, sql: str, *, database: str = "postgres") -> list[list[str]]:
        """The rows of a query, as the superuser: never of what a guest may have made, whose
        functions and views would run with the rights of who asks. Raises VerifierBroken."""
        where = ("-h", str(self.folder), "-p", str(self.port), "-U", "postgres", "-d", database)
        return self._psql(sql, *where)

    def rows(self, sql: str) -> list[list[str]]:
        """The same in the database of the user, with the user's rights.

        Raises AssertionError where it is refused or does not end: a guest may have dropped a table,
        set another password, or made a view of rows without end; GuestOverrun where guests had the
        server ended; VerifierBroken where it is not there.
        """
        with contextlib.suppress(VerifierBroken):
            bounded = f"?options=-c%20statement_timeout%3D{_ROWS_SECONDS}s"
            return self._psql(sql, "-d", self.url("127.0.0.1") + bounded)
        self.query("SELECT 1")
        raise AssertionError(f"the database refuses {sql[:60]!r}")

    def _psql(self, sql: str, *where: str) -> list[list[str]]:
        ask = (program("psql", *_folders()), "-XqAt", "-F", _FIELD, "-v", "ON_ERROR_STOP=1")
        bounds = (f"--data={_MEMORY_MAX}", f"--fsize={_ROWS_MAX}")
        said = self.run_tool([*ask, *where], text=sql, bounds=bounds)
        return [line.split(_FIELD) for line in said.splitlines()]

    def sessions(self) -> int:
        """How many connections the user has now."""
        found = self.query(f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{self.user}'")
        return int(found[0][0])

    def rotate(self) -> None:
        """Draw another password; who is connected by the old one is cut off."""
        self.password = secrets.token_urlsafe(18)
        self.query(f"ALTER ROLE {self.user} PASSWORD '{self.password}'")
        self.query(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{self.user}'"
        )
