"""A file for pytest that breaks some of the other tests of a run, in the very process."""

from __future__ import annotations

from collections.abc import Mapping

_BEGINNING = """import sys


def broken(case, test, word):
    before = case.setUp

    def set_up(self):
        assert self._testMethodName != test, word
        before(self)

    case.setUp = set_up


def find(file, case):
    for module in list(sys.modules.values()):
        if str(getattr(module, "__file__", "")).endswith(file):
            return getattr(module, case)


def test_ours():
    pass


"""


def breaking(words: Mapping[str, str]) -> str:
    """Its text: each test, by pytest's name, is to fail with its word."""
    lines = []
    for name, word in words.items():
        file, case, test = name.split("::")
        lines.append(f"broken(find('/kinto/{file}', '{case}'), '{test}', '{word}')\n")
    return _BEGINNING + "".join(lines)
