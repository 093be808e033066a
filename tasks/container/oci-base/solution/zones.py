"""zones.py FROM TO: every zone of the package, without the block for readers of 32 bits.

Compiling tzdata.zi anew with this machine's zic gives other times in three zones.
"""

import pathlib
import re
import struct
import sys

BEFORE = -(2**33)


def early(block: bytes) -> bytes:
    """A block of 64 bits that says from the start what was in force before its first change.

    musl tells the time by the rule in the last line before a change that is the only one, and by
    the first change itself before that.
    """
    isut, isstd, leap, times, types, chars = struct.unpack_from(">6I", block, 20)
    end = 44 + times * 8
    if not times or struct.unpack_from(">q", block, 44)[0] <= BEFORE:
        return block
    counts = struct.pack(">6I", isut, isstd, leap, times + 1, types, chars)
    changes = struct.pack(">q", BEFORE) + block[44:end]
    return block[:20] + counts + changes + b"\0" + block[end:]


source, target = map(pathlib.Path, sys.argv[1:])
skip = re.compile(r"(posix|right)/|(localtime|posixrules|leapseconds)$|.*\.(tab|zi|list)$")
for file in sorted(source.rglob("*")):
    name = str(file.relative_to(source))
    if file.is_dir() or skip.match(name):
        continue
    data = file.read_bytes()
    isut, isstd, leap, times, types, chars = struct.unpack_from(">6I", data, 20)
    second = 44 + times * 5 + types * 6 + chars + leap * 8 + isstd + isut
    # One type and one character are the least that a block may have.
    first = data[:20] + struct.pack(">6I", 0, 0, 0, 0, 1, 1) + bytes(7)
    made = target / name
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_bytes(first + early(data[second:]))
