"""Each command of the bench's list, tried for real: what is typed, and what must come of it.

A line of commands.txt is `NAME: SCRIPT → RESULT`. In SCRIPT `@` is the command by its whole path,
`@name` another one by its whole path; {a} and {b} are words drawn for one verification, {n} a
drawn number. The result is compared word by word. Only what POSIX and BusyBox both say is asked, so
that any userland that keeps to either passes.
"""

from __future__ import annotations

import base64
import hashlib
import random
import re
from collections.abc import Mapping
from pathlib import Path

_TRIALS = Path(__file__).with_name("commands.txt")


def trials(draw: random.Random) -> dict[str, tuple[str, list[str]]]:
    """For each command (script, the words that must come of it), with words that are drawn."""
    a, b = (f"{draw.randrange(16**32):032x}" for _ in range(2))
    # A letter first: a number in its place would be one to `test` and `expr`.
    a, b, n = f"k{a[1:]}", f"w{b[1:]}", draw.randrange(1000, 60000)
    names = {
        "a": a, "b": b, "n": n, "ab": a + b, "aupper": re.sub("[a-f]", lambda m: m[0].upper(), a),
        "a0hex": f"{ord(a[0]):02x}", "md5": hashlib.md5(a.encode()).hexdigest(),
        "sha256": hashlib.sha256(a.encode()).hexdigest(),
        "sha512": hashlib.sha512(a.encode()).hexdigest(),
        "when": f"1970-001 {n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}",
        "b64": base64.b64encode(a.encode()).decode(),
    }  # fmt: skip
    made = {}
    for line in _TRIALS.read_text().splitlines():
        head, _, result = line.partition(" →")
        name, _, script = head.partition(": ")
        made[name] = (_filled(script, names), _filled(result, names).split())
    return made


def _filled(text: str, names: Mapping[str, object]) -> str:
    def value(match: re.Match[str]) -> str:
        return format(eval(match[1], {}, dict(names)), match[2] or "")  # commands.txt is ours

    text = text.replace("{{", "\0").replace("}}", "\1")
    text = re.sub(r"\{([a-z]\w*(?:\[[-\d:]+\])?(?:[+*]\d+)*)(?::(\w+))?\}", value, text)
    return text.replace("\0", "{").replace("\1", "}")


def script(made: Mapping[str, tuple[str, list[str]]], where: Mapping[str, str]) -> str:
    """A script for the bench's shell; `where` has each command's whole path."""

    def named(match: re.Match[str]) -> str:
        return where[match[1]]

    lines = ["cd /tmp || exit 1"]
    for number, (name, (text, _)) in enumerate(made.items()):
        text = re.sub(r"@([a-z][a-z0-9]*)", named, text)
        text = re.sub(r"@(?![{\d])", where[name], text)
        # The bench's own shell has some of them built in; others it takes from the image.
        for word in ("cat", "ls", "mkdir", "chmod", "rm", "ln"):
            text = re.sub(rf"(^|[;&|] *|\$\(){word} ", rf"\g<1>{where[word]} ", text)
        lines.append(f"{where['mkdir']} t{number} && cd t{number} && {{ printf '\\n<{name}>\\n'")
        # Into a pipe: some commands write otherwise to a terminal.
        lines.append(f"( {text}\n) < /dev/null 2> ../e{number} | {where['cat']}; cd ..")
        lines.append(f"printf '\\n<!{name}>\\n'; {where['head']} -c 200 e{number}; }}")
    return "\n".join([*lines, "printf '\\n<end>\\n'", f"{where['rm']} -rf /tmp/[et][0-9]*"]) + "\n"


def wrong(made: Mapping[str, tuple[str, list[str]]], said: str) -> list[str]:
    """Which commands did something else, and what."""
    parts = re.split(r"^<(\S+)>$", said, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=False))
    return [
        f"{name}: {text[:160]!r} gave {' '.join(found.get(name, 'nothing').split())[:160]!r} "
        f"and said {found.get('!' + name, '').strip()[:160]!r}, not {' '.join(want)[:160]!r} [R7]"
        for name, (text, want) in made.items()
        if found.get(name, "").split() != want
    ]
