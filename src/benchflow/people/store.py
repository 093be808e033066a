"""Links and answers in one SQLite file. Codes and tokens are secrets: only hashes are kept."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchflow.errors import UsageError
from benchflow.people.answers import BadAnswers, Body, Signed, hash_of

NAME = "answers.sqlite"
_VERSION = 1
_WAIT_SECONDS = 10.0
_TABLES = """
CREATE TABLE link (
  hash TEXT PRIMARY KEY, pack TEXT NOT NULL, label TEXT NOT NULL,
  made TEXT NOT NULL, opened TEXT, answered TEXT
) STRICT;
CREATE TABLE answers (
  id TEXT PRIMARY KEY, pack TEXT NOT NULL, key TEXT NOT NULL, link TEXT NOT NULL UNIQUE,
  received TEXT NOT NULL, deletion TEXT NOT NULL UNIQUE, envelope BLOB NOT NULL,
  UNIQUE (pack, key)
) STRICT;
CREATE TABLE deleted (id TEXT PRIMARY KEY, day TEXT NOT NULL) STRICT;
"""


@dataclass(frozen=True)
class LinkState:
    """One link: `label` is its maker's note; times are UTC, None for “not yet”."""

    hash: str
    pack: str
    label: str
    made: str
    opened: str | None
    answered: str | None


class Store:
    """The file at `path`; made when it is missing. Safe to use from several processes at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("BEGIN IMMEDIATE")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in filter(str.strip, _TABLES.split(";")):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {_VERSION}")
            elif version != _VERSION:
                raise UsageError(
                    f"{path}: is of version {version}, this benchflow knows {_VERSION}",
                    hint="use the benchflow that wrote it",
                )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection, closed after; what was changed is kept unless the block raises."""
        db = None
        try:
            db = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
            # What was deleted is overwritten with zeros, not only forgotten.
            db.execute("PRAGMA secure_delete = ON")
            yield db
            if db.in_transaction:
                db.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise UsageError(
                f"{self.path}: {error}", hint="name a file that benchflow rate made"
            ) from error
        finally:
            if db is not None:
                db.close()

    def new_links(self, pack: str, labels: Sequence[str]) -> list[str]:
        """A one-time code for each label, in order. They are not kept and cannot be told again."""
        codes = [secrets.token_urlsafe(16) for _ in labels]
        rows = [
            (hash_of(code), pack, label, _now()) for code, label in zip(codes, labels, strict=True)
        ]
        with self._open() as db:
            db.execute("BEGIN IMMEDIATE")
            db.executemany("INSERT INTO link (hash, pack, label, made) VALUES (?, ?, ?, ?)", rows)
        return codes

    def links(self, pack: str = "") -> list[LinkState]:
        """All links, or those of one pack, in the order in which they were made."""
        query = "SELECT hash, pack, label, made, opened, answered FROM link"
        with self._open() as db:
            where, given = (" WHERE pack = ?", (pack,)) if pack else ("", ())
            return [LinkState(*row) for row in db.execute(f"{query}{where} ORDER BY rowid", given)]

    def link(self, code: str) -> LinkState | None:
        """The link of a code; None where there is no such code."""
        query = "SELECT hash, pack, label, made, opened, answered FROM link WHERE hash = ?"
        with self._open() as db:
            row = db.execute(query, (hash_of(code),)).fetchone()
        return LinkState(*row) if row else None

    def open_link(self, code: str) -> None:
        """Remembers when a link was first opened."""
        with self._open() as db:
            db.execute(
                "UPDATE link SET opened = coalesce(opened, ?) WHERE hash = ?",
                (_now(), hash_of(code)),
            )

    def take(self, code: str, signed: Signed[Body]) -> str:
        """Keeps answers that came by the link of `code`, and returns the token that deletes them.

        Raises BadAnswers where the link is not known, was used, or is of another pack or another
        link than the answers name; where they were deleted once; or where the same key has
        answered that pack already.
        """
        body, link, token = signed.body, hash_of(code), secrets.token_urlsafe(24)
        with self._open() as db:
            db.execute("BEGIN IMMEDIATE")
            row = db.execute("SELECT pack, answered FROM link WHERE hash = ?", (link,)).fetchone()
            if row is None or row[1] is not None:
                raise BadAnswers("this link is not known or was used already")
            if body.pack != row[0] or body.link != link:
                raise BadAnswers("these answers are of another pack or another link")
            if db.execute("SELECT 1 FROM deleted WHERE id = ?", (body.id,)).fetchone():
                raise BadAnswers("these answers were deleted on request")
            taken = "SELECT 1 FROM answers WHERE id = ? OR (pack = ? AND key = ?)"
            if db.execute(taken, (body.id, body.pack, body.key)).fetchone():
                raise BadAnswers("these answers, or others from this browser, were given already")
            now = _now()
            db.execute(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
                (body.id, body.pack, body.key, link, now, hash_of(token), signed.envelope),
            )
            db.execute("UPDATE link SET answered = ? WHERE hash = ?", (now, link))
        return token

    def has_token(self, token: str) -> bool:
        """Whether there are answers that `token` deletes."""
        query = "SELECT 1 FROM answers WHERE deletion = ?"
        with self._open() as db:
            return db.execute(query, (hash_of(token),)).fetchone() is not None

    def delete(self, token: str) -> bool:
        """Deletes the answers that `token` belongs to; their link may be used again. Whether there
        were any. Their id stays, so that a copy of them is not taken again."""
        with self._open() as db:
            db.execute("BEGIN IMMEDIATE")
            query = "SELECT id, link FROM answers WHERE deletion = ?"
            row = db.execute(query, (hash_of(token),)).fetchone()
            if row is None:
                return False
            db.execute("DELETE FROM answers WHERE id = ?", (row[0],))
            db.execute("INSERT OR IGNORE INTO deleted VALUES (?, ?)", (row[0], _now()[:10]))
            db.execute("UPDATE link SET answered = NULL WHERE hash = ?", (row[1],))
        with self._open() as db:
            # The write-ahead log still holds what was deleted until it is emptied.
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return True

    def forget(self, label: str) -> int:
        """Deletes all links with that label and what came by them; how many answers there were."""
        with self._open() as db:
            db.execute("BEGIN IMMEDIATE")
            mine = "SELECT hash FROM link WHERE label = ?"
            query = f"SELECT id FROM answers WHERE link IN ({mine})"
            ids = [row[0] for row in db.execute(query, (label,))]
            db.execute(f"DELETE FROM answers WHERE link IN ({mine})", (label,))
            db.execute("DELETE FROM link WHERE label = ?", (label,))
            rows = [(one, _now()[:10]) for one in ids]
            db.executemany("INSERT OR IGNORE INTO deleted VALUES (?, ?)", rows)
        with self._open() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(ids)

    def envelopes(self, most_bytes: int) -> Iterator[bytes]:
        """All answers kept, in the order of their coming; one above `most_bytes` is cut there, so
        that it is refused by who opens it."""
        with self._open() as db:
            query = "SELECT substr(envelope, 1, ?) FROM answers ORDER BY received, id"
            rows = db.execute(query, (most_bytes + 1,)).fetchall()
        return (bytes(row[0]) for row in rows)

    def deleted(self) -> set[str]:
        """Ids of answers that were deleted."""
        with self._open() as db:
            return {row[0] for row in db.execute("SELECT id FROM deleted")}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
