"""Files that anybody may have written, read with their faults named."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchflow.results.json_values import Twice, parse

#: No record of ours or Harbor's comes near this; a larger one is somebody's attack or accident.
MAX_RECORD_BYTES = 64 * 1024 * 1024


class UnreadableRecord(Exception):
    """A record is absent, torn or foreign. The text is one sentence for a person."""


class Absent(UnreadableRecord):
    """There is no such file."""


def read_object(path: Path | str, limit: int = MAX_RECORD_BYTES) -> dict[str, Any]:
    """The JSON object in `path`, at most `limit` bytes. Raises UnreadableRecord for all else."""
    value = decode(read_bytes(path, limit))
    if not isinstance(value, dict):
        raise UnreadableRecord("holds no JSON object")
    return value


def read_bytes(path: Path | str, limit: int) -> bytes:
    """What `path` holds. Raises UnreadableRecord unless it is a regular file within `limit`,
    Absent when there is none.

    A link is not followed, a pipe or device not opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Absent("is missing") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnreadableRecord("is not a regular file") from error
        raise UnreadableRecord(f"cannot be read: {error.strerror}") from error
    except ValueError as error:  # a lone surrogate, a zero byte
        raise UnreadableRecord("has a name that no file can have") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableRecord("is not a regular file")
        if status.st_size > limit:
            raise UnreadableRecord(f"is {status.st_size >> 20} MiB long: no record of ours")
        return _whole(descriptor, status.st_size, limit)
    except OSError as error:
        raise UnreadableRecord(f"cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _whole(descriptor: int, size: int, limit: int) -> bytes:
    # Without Python's file objects, which ask the kernel five times more for each file.
    data = os.read(descriptor, min(size + 1, limit))
    while size < len(data) < limit:  # it grew meanwhile
        more = os.read(descriptor, min(1 << 20, limit - len(data)))
        if not more:
            break
        data += more
    return data


def decode(data: bytes) -> Any:
    """The JSON value in `data`. Raises UnreadableRecord: torn, foreign or contradictory."""
    if not data:
        raise UnreadableRecord("is empty: cut off in the middle of a write")
    try:
        return parse(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        torn = error.pos >= len(error.doc.rstrip()) - 1 or "Unterminated" in error.msg
        why = "cut off in the middle of a write" if torn else f"not JSON ({error})"
        raise UnreadableRecord(f"is {why}") from error
    except Twice as error:
        raise UnreadableRecord(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableRecord(f"is not JSON ({type(error).__name__})") from error


def read_lines(path: Path, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Lines that are not blank, with their numbers from 1; None for one longer than `limit`."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(limit + 1):
            number += 1
            if len(line) <= limit or line.endswith(b"\n"):
                if line.strip():
                    yield number, line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(limit)
            yield number, None


def read_objects(path: Path, limit: int) -> Iterator[tuple[int, dict[str, Any] | UnreadableRecord]]:
    """The lines of a file of JSON objects, each with its number, or with what is wrong with it.

    Empty lines are left out. Raises UnreadableRecord for a file that `read_bytes` refuses.
    """
    for at, line in enumerate(read_bytes(path, limit).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = decode(line)
        except UnreadableRecord as error:
            yield at, error
            continue
        yield at, value if isinstance(value, dict) else UnreadableRecord("holds no JSON object")
