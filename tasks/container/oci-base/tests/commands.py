"""Each command of the bench's list, tried for real: what is typed, and what must come of it.

A line of commands.txt is `NAME: SCRIPT → RESULT`. In SCRIPT `@` is the command by its whole path,
`@name` another one by its whole path; {a} and {b} are words drawn for one verification, {n} a
drawn number, {uid} and {who} the user who tries it. The result is compared word by word. A command
may have several lines: which of them is tried is drawn, for each user. Only what POSIX and BusyBox
both say is asked, so that any userland that keeps to either passes.
"""

from __future__ import annotations

import base64
import hashlib
import random
import re
from collections.abc import Mapping
from pathlib import Path

from bench import ordinary_words

_TRIALS = Path(__file__).with_name("commands.txt")
#: What nobody but root may do, or a terminal that is root's.
_ROOT_ALONE = {"chgrp", "chown", "stty", "tty"}
#: Where they are tried: a command that looks at the folder sees one of any. That harbor has a home
#: is asked for by a later milestone.
_PLACES = {"root": ("", "/home", "/root", "/run", "/tmp", "/usr", "/var"), "harbor": ("/tmp",)}


def trials(draw: random.Random, who: str = "root") -> dict[str, tuple[str, list[str]]]:
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
        "b64": base64.b64encode(a.encode()).decode(), "who": who,
        "uid": {"root": 0, "harbor": 10001}[who],
    }  # fmt: skip
    return {
        name: (_filled(script, names), _filled(result, names).split())
        for name, known in every().items()
        if who == "root" or name not in _ROOT_ALONE
        for script, result in [draw.choice(known)]
    }


def every() -> dict[str, list[tuple[str, str]]]:
    """All lines of commands.txt, by command."""
    known: dict[str, list[tuple[str, str]]] = {}
    for line in _TRIALS.read_text().splitlines():
        head, _, result = line.partition(" →")
        name, _, script = head.partition(": ")
        known.setdefault(name, []).append((script, result))
    return known


def _filled(text: str, names: Mapping[str, object]) -> str:
    def value(match: re.Match[str]) -> str:
        return format(eval(match[1], {}, dict(names)), match[2] or "")  # commands.txt is ours

    text = text.replace("{{", "\0").replace("}}", "\1")
    text = re.sub(r"\{([a-z]\w*(?:\[[-\d:]+\])?(?:[+*]\d+)*)(?::(\w+))?\}", value, text)
    return text.replace("\0", "{").replace("\1", "}")


def script(
    made: Mapping[str, tuple[str, list[str]]], where: Mapping[str, str], draw: random.Random,
    who: str = "root",
) -> str:  # fmt: skip
    """A script for the bench's shell; `where` has each command's whole path."""

    def named(match: re.Match[str]) -> str:
        return where[match[1]]

    lines = []
    for name, (text, _) in made.items():
        # Twice the letters: no name of the image's own at the top, where some of them are tried.
        folder, said = (word * 2 for word in ordinary_words(draw, 2, {}))
        place = draw.choice(_PLACES[who])
        folder, said = f"{place}/{folder}", f"{place}/{said}"
        text = re.sub(r"@([a-z][a-z0-9]*)", named, text)
        text = re.sub(r"@(?![{\d])", where[name], text)
        # The bench's own shell has some of them built in; others it takes from the image.
        for word in ("cat", "ls", "mkdir", "chmod", "rm", "ln"):
            text = re.sub(rf"(^|[;&|] *|\$\(){word} ", rf"\g<1>{where[word]} ", text)
        lines.append(f"{where['mkdir']} {folder} && cd {folder} && {{ printf '\\n<{name}>\\n'")
        # Into a pipe: some commands write otherwise to a terminal.
        lines.append(f"( {text}\n) < /dev/null 2> {said} | {where['cat']}; cd /")
        lines.append(f"printf '\\n<!{name}>\\n'; {where['head']} -c 200 {said}; }}")
        lines.append(f"{where['rm']} -rf {folder} {said}")
    return "\n".join([*lines, "printf '\\n<end>\\n'"]) + "\n"


def tried(image, trials: Mapping[str, dict[str, tuple[str, list[str]]]]) -> list[str]:
    """What went wrong when each user tried in the image what is his."""
    found = []
    for who, made in trials.items():
        said = image.script(who, user=who != "root", timeout=300).stdout
        found += wrong(made, said, who)
    return found


def wrong(made: Mapping[str, tuple[str, list[str]]], said: str, who: str = "root") -> list[str]:
    """Which commands did something else, and what."""
    parts = re.split(r"^<(\S+)>$", said, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=False))
    gave = {name: " ".join(found.get(name, "nothing").split()) for name in made}
    return [
        f"{name}, by {who}: {text[:160]!r} gave {gave[name][:160]!r} and said "
        f"{found.get('!' + name, '').strip()[:160]!r}, not {' '.join(want)[:160]!r} [R7]"
        for name, (text, want) in made.items()
        if found.get(name, "").split() != want
    ]
