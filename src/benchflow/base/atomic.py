"""Files that are written whole or not at all.

A new file takes the old one's place by its name, after its content is on the disk: without that
order a machine that loses its power may keep the name and lose what was written. So everything is
synced that a later command reads as a fact. Only what dies with the machine anyway (who owns a
living sandbox) says `lasting=False` and saves the wait, about 2 to 10 ms.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write(path: Path, data: str | bytes, *, mode: int = 0o644, lasting: bool = True) -> None:
    """Replace `path` by `data`; a crash at any moment leaves the old or the new, never a part.

    Text is UTF-8. Raises OSError; then `path` is as it was and no draft is left.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if lasting:
                os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any, *, mode: int = 0o644, lasting: bool = True) -> None:
    """`write` of `value` as indented JSON; what JSON does not know is written as its `str`."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    write(path, text + "\n", mode=mode, lasting=lasting)
