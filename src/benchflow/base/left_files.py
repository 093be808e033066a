"""Names of files and folders that tools leave in the folders that they look at."""

from __future__ import annotations

#: What interpreters, linters and file managers leave: never part of a task or a generator.
LEFT_FILES = frozenset(
    {"__pycache__", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".DS_Store"}
)
