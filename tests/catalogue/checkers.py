"""Loads what stands beside a task's checks, for tests of it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

TASKS = Path(__file__).parents[2] / "tasks"


def helper(task: str, name: str) -> ModuleType:
    """`tests/NAME.py` of a task of the catalogue, under a name that no other task's has."""
    own = f"{task.replace('/', '_').replace('-', '_')}_{name}"
    spec = importlib.util.spec_from_file_location(own, TASKS / task / "tests" / f"{name}.py")
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[own] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@contextmanager
def helpers(task: str, *names: str) -> Iterator[dict[str, ModuleType]]:
    """Several of a task's `tests/NAME.py`, which import each other by their plain names."""
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    folder = str(TASKS / task / "tests")
    sys.path.insert(0, folder)
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(folder)
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)
