"""Fingerprints of source: what is left of it when names, numbers, comments and layout are gone.

A verifier's image makes a table of the fingerprints of known sources (Linux's, say), and
`delivered_source` compares a delivered source with it. So that table and comparison cannot differ,
both come of this module: in the task's `tests/image/build.sh` a line `from-bench
source_fingerprints.py`, in a here-document, writes it out, and `python3 source_fingerprints.py
SOURCES TABLE [WORDS]` makes the table of all .c and .h files below SOURCES, and of their messages
a list, a line each: what a running kernel has in its memory. It needs nothing but Python.
"""

from __future__ import annotations

import pathlib
import re
import struct
import sys
import zlib

GRAM, WINDOW = 40, 16  # tokens of one fingerprint; of how many fingerprints the least is kept
LEAST_KINDS = 14  # different tokens in a gram: tables and declarations say nothing
LEAST_MESSAGE = 24  # characters of a message that are the same whenever it is printed
KEYWORDS = frozenset(
    [
        "if",
        "else",
        "for",
        "while",
        "do",
        "switch",
        "case",
        "default",
        "return",
        "goto",
        "break",
        "continue",
        "sizeof",
        "struct",
        "union",
        "enum",
        "static",
        "const",
        "void",
        "int",
        "char",
        "long",
        "short",
        "unsigned",
        "signed",
        "volatile",
        "inline",
        "extern",
        "typedef",
        "fn",
        "let",
        "mut",
        "match",
        "impl",
        "pub",
        "loop",
        "unsafe",
        "use",
        "mod",
        "class",
        "namespace",
        "template",
        "new",
        "delete",
        "public",
        "private",
    ]
)
TOKEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|[A-Za-z_]\w*|\d\w*|"
    r"->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w]",
    re.DOTALL,
)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
MESSAGE = re.compile(
    r'\b(?:pr_\w+|printk|panic|WARN|BUG|dev_\w+)\s*\(\s*(?:KERN_\w+\s*)?"((?:\\.|[^"\\])*)"'
)
DIRECTIVE = re.compile(r"%[-+ #0-9.*]*(?:[hlzL]*[a-zA-Z])|\\.")


def tokens(text: str) -> list[str]:
    """What is written, without its names, numbers, comments and layout."""
    found = []
    for word in TOKEN.findall(PREPROCESSOR.sub("", text)):
        first = word[0]
        if word.startswith(("/*", "//")):
            continue
        if first.isalpha() or first == "_":
            found.append(word if word in KEYWORDS else "N")
        elif first.isdigit() or first == "'":
            found.append("0")
        else:
            found.append('"' if first == '"' else word)
    return found


def fingerprints(text: str) -> set[int]:
    """Winnowing (Schleimer, Wilkerson and Aiken, 2003) over grams of tokens."""
    written = tokens(text)
    hashes = []
    for at in range(len(written) - GRAM + 1):
        gram = written[at : at + GRAM]
        hashes.append(
            zlib.crc32(" ".join(gram).encode()) if len(set(gram)) >= LEAST_KINDS else None
        )
    chosen = set()
    for at in range(max(0, len(hashes) - WINDOW + 1)):
        window = [value for value in hashes[at : at + WINDOW] if value is not None]
        if window:
            chosen.add(min(window))
    return chosen


def messages(text: str) -> set[str]:
    """What it prints, as far as that is always the same."""
    fixed = (max(DIRECTIVE.split(message), key=len).strip() for message in MESSAGE.findall(text))
    return {message for message in fixed if len(message) >= LEAST_MESSAGE}


def main(arguments: list[str]) -> None:
    """Make the table, and the list of messages where one is named."""
    sources, table, *words = map(pathlib.Path, arguments)
    known: set[int] = set()
    said: set[str] = set()
    for path in sorted(sources.rglob("*.[ch]")):
        text = path.read_text(errors="replace")
        known |= fingerprints(text)
        said |= messages(text)
    table.write_bytes(b"".join(struct.pack("<I", value) for value in sorted(known)))
    for path in words:
        path.write_text("".join(f"{message}\n" for message in sorted(said)))
    print(f"{len(known)} fingerprints, {len(said)} messages")


if __name__ == "__main__":
    main(sys.argv[1:])
