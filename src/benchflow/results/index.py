"""The DuckDB index over finished work, and its export. Disposable: made again from the files."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from benchflow.base import atomic
from benchflow.errors import MissingTool, UsageError
from benchflow.results import schema
from benchflow.results.collect import steps
from benchflow.results.parallel import chunked, processors, spread
from benchflow.results.records import Collection, Record
from benchflow.results.schema import MILESTONES, PROBLEMS, STEPS, TABLES, TRIALS, Table

if TYPE_CHECKING:
    import duckdb

INDEX = "index.duckdb"
DICTIONARY = "data-dictionary.md"
#: The steps of large collections are spilled to disk beyond this.
_MEMORY = "1GB"
#: Trajectories that one process reads at a time.
_CHUNK = 500


@dataclass(frozen=True)
class Exported:
    """The folder, the files in it, and rows by table."""

    folder: Path
    files: tuple[Path, ...]
    rows: dict[str, int]


def export(collection: Collection, folder: Path, *, with_steps: bool = True) -> Exported:
    """Writes `folder`: `index.duckdb`, each table as Parquet and CSV, and the data dictionary.

    Every file is written beside its place and then moved there: a crash leaves the old or the new.
    Raises MissingTool without DuckDB, UsageError where `folder` cannot be written to.
    """
    duck = duckdb_module()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        work = tempfile.TemporaryDirectory(prefix=".export-", dir=folder)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}", hint="name a folder of yours") from error
    with work as name:
        made = Path(name)
        with _connected(duck, made / INDEX) as connection:
            rows = _fill(connection, collection, made, with_steps)
            for table in TABLES:
                for suffix, options in (("parquet", "FORMAT parquet, COMPRESSION zstd"),
                                        ("csv", "FORMAT csv, HEADER")):  # fmt: skip
                    to = quoted(made / f"{table.name}.{suffix}")
                    connection.execute(f"COPY {table.name} TO {to} ({options})")
        files = [moved(path, folder) for path in sorted(made.iterdir()) if path.is_file()]
    atomic.write(folder / DICTIONARY, schema.dictionary())
    return Exported(folder, (*files, folder / DICTIONARY), rows)


def duckdb_module() -> Any:
    """DuckDB. Raises MissingTool where it is not installed."""
    try:
        import duckdb
    except ImportError:
        raise MissingTool("DuckDB is not installed", hint="uv sync --extra analysis") from None
    return duckdb


@contextmanager
def _connected(duck: Any, path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duck.connect(
        str(path),
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "memory_limit": _MEMORY,
            "temp_directory": str(path.parent / "spill"),
        },
    )
    try:
        connection.execute("SET enable_progress_bar = false")
        yield connection
    finally:
        connection.close()


def _fill(
    connection: duckdb.DuckDBPyConnection, collection: Collection, work: Path, with_steps: bool
) -> dict[str, int]:
    records = collection.records
    connection.execute(
        'CREATE TABLE dictionary ("schema" INTEGER, "table" VARCHAR, "column" VARCHAR, '
        "type VARCHAR, meaning VARCHAR)"
    )
    connection.executemany(
        "INSERT INTO dictionary VALUES (?, ?, ?, ?, ?)",
        [
            [schema.VERSION, table.name, column.name, column.type, column.meaning]
            for table in TABLES
            for column in table.columns
        ],
    )
    milestones = (row for record in records for row in schema.milestone_rows(record))
    parts: tuple[tuple[Table[Any], list[Path]], ...] = (
        (TRIALS, [_written(TRIALS, records, work / "trials.part")]),
        (MILESTONES, [_written(MILESTONES, milestones, work / "milestones.part")]),
        (STEPS, _written_steps(records if with_steps else (), work)),
        (PROBLEMS, [_written(PROBLEMS, collection.problems, work / "problems.part")]),
    )
    return {table.name: _load(connection, table, paths) for table, paths in parts}


def _written(table: Table[Any], items: Iterable[Any], path: Path) -> Path:
    """Rows as CSV: DuckDB reads that much faster than it takes rows from Python."""
    with path.open("w", encoding="utf-8", newline="") as file:
        # Text is quoted and NULL is not, so that the empty text and "not recorded" stay apart.
        csv.writer(file, quoting=csv.QUOTE_STRINGS).writerows(map(table.row, items))
    return path


def _written_steps(records: Iterable[Record], work: Path) -> list[Path]:
    """The steps of all trials, by as many processes as there are processors where it pays."""
    lean = [
        replace(record, milestones=(), evidence={}) for record in records if record.trajectories
    ]
    chunks = chunked(lean, _CHUNK)
    paths = [work / f"steps-{number:06}.part" for number in range(len(chunks))]
    with spread(_steps_of, list(zip(chunks, paths, strict=True)), processors()) as written:
        return list(written)


def _steps_of(chunk: tuple[Sequence[Record], Path]) -> Path:
    records, path = chunk
    return _written(STEPS, ((r.uid, step) for r in records for step in steps(r)), path)


def _load(connection: duckdb.DuckDBPyConnection, table: Table[Any], paths: list[Path]) -> int:
    described = ", ".join(f"{column.name} {column.type}" for column in table.columns)
    connection.execute(f"CREATE TABLE {table.name} ({described})")
    if paths:
        columns = ", ".join(f"'{column.name}': '{column.type}'" for column in table.columns)
        files = ", ".join(map(quoted, paths))
        connection.execute(
            f"INSERT INTO {table.name} SELECT * FROM read_csv([{files}], columns = {{{columns}}}, "
            "header = false, auto_detect = false, delim = ',', quote = '\"', escape = '\"', "
            "nullstr = '', allow_quoted_nulls = false, max_line_size = 16777216)"
        )
    for path in paths:
        path.unlink()
    found = connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()
    return int(found[0]) if found else 0


def quoted(path: Path) -> str:
    """A path as SQL text."""
    return "'" + str(path).replace("'", "''") + "'"


def moved(path: Path, folder: Path) -> Path:
    """Where `path` is now: in `folder` under its own name, its content on the disk before."""
    return _synced(path).replace(folder / path.name)


def _synced(path: Path) -> Path:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return path
