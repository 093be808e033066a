"""Files that survive a crash: written whole or not at all, and read with their faults named."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

#: No record of ours or Harbor's comes near this; a larger one is somebody's attack or accident.
MAX_RECORD_BYTES = 64 * 1024 * 1024


class UnreadableRecord(Exception):
    """A record is absent, torn or foreign. The text is one sentence for a person."""


def write_atomically(path: Path, text: str) -> None:
    """Replaces `path` by `text`; a crash at any moment leaves the old or the new, never a part."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """`write_atomically` of `value` as indented JSON."""
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in `path`. Raises UnreadableRecord for anything else."""
    try:
        if path.is_symlink() or not path.is_file():
            raise UnreadableRecord("is not a regular file")
        size = path.stat().st_size
        if size > MAX_RECORD_BYTES:
            raise UnreadableRecord(f"is {size >> 20} MiB long: no record of ours")
        if size == 0:
            raise UnreadableRecord("is empty: cut off in the middle of a write")
        value = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        torn = error.pos >= len(error.doc.rstrip()) - 1 or "Unterminated" in error.msg
        why = "cut off in the middle of a write" if torn else f"not JSON ({error})"
        raise UnreadableRecord(f"is {why}") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise UnreadableRecord(f"is not JSON ({type(error).__name__})") from error
    except OSError as error:
        raise UnreadableRecord(f"cannot be read: {error.strerror}") from error
    if not isinstance(value, dict):
        raise UnreadableRecord("holds no JSON object")
    return value
