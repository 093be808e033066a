"""Fingerprints of the kernel's own file systems.

known_sources.py SOURCES FINGERPRINTS
"""

from __future__ import annotations

import pathlib
import re
import struct
import sys
import zlib

GRAM, WINDOW = 40, 16  # tokens of one fingerprint; of how many fingerprints the least is kept
LEAST_KINDS = 14  # different tokens in a gram: tables and declarations say nothing
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


def main() -> None:
    sources, target = map(pathlib.Path, sys.argv[1:])
    known: set[int] = set()
    for path in sorted(sources.rglob("*.[ch]")):
        known |= fingerprints(path.read_text(errors="replace"))
    target.write_bytes(b"".join(struct.pack("<I", value) for value in sorted(known)))
    print(f"{len(known)} fingerprints")


if __name__ == "__main__":
    main()
