"""What looks like a leak and is none: what is given to be repaired, and how images are set up.

A solution that repairs a file often writes the whole of it again. Then the file repeats most of
the solution, and gives nothing away: what counts is what the solution has and the file has not. And
two Dockerfiles install the same things in the same words; what one *writes* may be an answer.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from pathlib import PurePosixPath

_DOCKERFILE = re.compile(r"(^|[./])Dockerfile(\.[\w-]+)?$|\.dockerfile$", re.IGNORECASE)
_WRITES = rb"(>|\btee\b|\bcp\b|\bmv\b|\binstall\b|\bpatch\b|\bsed +-i|open\(|Path\(|^\+\+\+ )[^\n]*"
_HUNK = re.compile(rb"^@@ -\d", re.MULTILINE)
_HEREDOC = re.compile(rb"<<-?\s*[\"']?(\w+)[\"']?")
_REDIRECT = re.compile(rb"(?<![<>&\d])>{1,2}\s*(?!/dev/(null|std))[^\s>&]|\btee\b")
_STATEMENT = re.compile(rb"&&|\|\||;|\n")
_CONTINUED = re.compile(rb"\\\n")
#: Of a file that is repaired, at least this much stands in what repairs it.
_MOSTLY = 0.5
#: Lines of what is compared as a whole, which takes their square.
_LONGEST = 5000
#: Letters and digits of a written value that says something.
_LEAST = 12


def is_dockerfile(name: str) -> bool:
    """Whether a path is called like a recipe of an image."""
    return bool(_DOCKERFILE.search(PurePosixPath(name).name))


def answer(name: str, data: bytes) -> bytes:
    """What of a secret file may be an answer: of a Dockerfile the lines that write into files, of a
    patch the lines that it adds, with the others blank; else all."""
    if is_dockerfile(name):
        return _written_lines(data)
    if _HUNK.search(data):
        lines = data.splitlines()
        return b"\n".join(
            line[1:] if line.startswith(b"+") and not line.startswith(b"+++") else b""
            for line in lines
        )
    return data


def _written_lines(data: bytes) -> bytes:
    kept: list[bytes] = []
    ends = b""
    for line in data.splitlines():
        if ends:
            ends = b"" if line.strip() == ends else ends
            kept.append(line)
            continue
        here = _HEREDOC.search(line)
        ends = here[1] if here else b""
        kept.append(line if _REDIRECT.search(line) and not here else b"")
    return b"\n".join(kept)


def statements(data: bytes) -> set[bytes]:
    """What commands write into files, one command each, white space folded: `echo 42 > /answer`.
    Commands that say too little to be an answer are left out."""
    found = set()
    for part in _STATEMENT.split(_CONTINUED.sub(b" ", data)):
        command = re.sub(rb"^\s*RUN\s+", b"", part, flags=re.IGNORECASE)
        if not re.match(rb"\s*(echo|printf)\s", command) or not _REDIRECT.search(command):
            continue
        value = command.partition(b">")[0].partition(b" ")[2]
        if len(re.sub(rb"\W+", b"", value)) >= _LEAST:
            found.add(b" ".join(command.split()))
    return found


def repairs(secret: str, text: bytes, given: str, data: bytes) -> bool:
    """Whether the secret file `secret`, whose content is `text`, repairs the given file `given`:
    it writes a file of that name, holds most of its lines, and more or others between them."""
    name = PurePosixPath(given).name.encode()
    writes = re.search(_WRITES + rb"(?<![\w.-])" + re.escape(name) + rb"(?![\w-])", text, re.M)
    if not name or not (writes or PurePosixPath(secret).name.encode() == name):
        return False
    ours, theirs = _folded(text), _folded(data)
    if not theirs or ours == theirs or max(len(theirs), len(ours)) > _LONGEST:
        return False
    matcher = SequenceMatcher(None, theirs, ours, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    shared = sum(block.size for block in blocks)
    if shared < _MOSTLY * len(theirs):
        return False
    first, last = blocks[0], blocks[-1]
    has_more = last.b + last.size - first.b > shared
    return has_more or shared < len(theirs)


def _folded(data: bytes) -> list[bytes]:
    return [folded for line in data.splitlines() if (folded := b" ".join(line.split()))]
