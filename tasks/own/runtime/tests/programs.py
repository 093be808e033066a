"""Hidden programs: drawn from the texts in `programs`, and run by Node.js for what they come to.

A text has lines `run` with the arguments of each run, perhaps `in` with standard input, `env`, and
how many `tries` it has, and then files, each behind a line `--- PATH`. `@@W1@@` to `@@W9@@` are
drawn words, `@@N1@@` to `@@N9@@` drawn numbers, `@@RANDOM@@` is a generator of a drawn seed with
`below`, `pick`, `word` and `shuffled`.
"""

from __future__ import annotations

import random
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from benchflow.bench.other_draws import never_twice
from benchflow.boot import VerifierBroken

TEXTS = Path(__file__).parent / "programs"
NODE_SECONDS = 900
#: What programs find in their environment, there as here.
ENVIRONMENT = {"PATH": "/bin:/usr/bin", "HOME": "/tmp", "LC_ALL": "C", "TZ": "UTC"}
RANDOM = """\
let seed_ = %d;
const below = (n) => {
  seed_ = (seed_ + 0x6d2b79f5) | 0;
  let t = Math.imul(seed_ ^ (seed_ >>> 15), 1 | seed_);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) %% n;
};
const pick = (list) => list[below(list.length)];
const shuffled = (list) => {
  for (let n = list.length; n > 1; ) {
    const at = below(n--);
    [list[n], list[at]] = [list[at], list[n]];
  }
  return list;
};
const letter = () => 'abcdefghijklmnopqrstuvwxyz'[below(26)];
const word = () => Array.from({ length: 3 + below(6) }, letter).join('');
"""


@dataclass(frozen=True)
class Program:
    """A folder with a program, and how it is run in there."""

    name: str
    files: dict[str, str]
    arguments: tuple[str, ...]
    stdin: bytes = b""
    environment: dict[str, str] = field(default_factory=dict)
    more: tuple[tuple[str, ...], ...] = ()  # runs after the first
    tries: int = 1  # where the host may have stalled what counts milliseconds

    @property
    def runs(self) -> tuple[tuple[str, ...], ...]:
        return (self.arguments, *self.more)

    def write(self, folder: Path) -> None:
        for path, text in self.files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        (folder / ".stdin").write_bytes(self.stdin)


@dataclass(frozen=True)
class Outcome:
    status: int
    stdout: bytes
    stderr: bytes = b""


def draw(rng: random.Random, part: str, name: str) -> Program:
    """One of the texts of a part, with what was drawn for it."""
    words = never_twice(
        lambda: "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(5, 9)))
    )
    given = {f"W{n}": words() for n in range(1, 10)} | {
        f"N{n}": str(rng.randint(100, 99999)) for n in range(1, 10)
    }

    def fill(text: str) -> str:
        text = re.sub(
            r"^@@RANDOM@@\n", lambda _: RANDOM % rng.getrandbits(31), text, flags=re.MULTILINE
        )
        return re.sub(r"@@(\w+)@@", lambda found: given[found[1]], text)

    head, *rest = re.split(
        r"^--- (.*)\n", (TEXTS / part / f"{name}.txt").read_text(), flags=re.MULTILINE
    )
    lines = [line.split(" ", 1) for line in fill(head).splitlines() if line.strip()]
    orders = dict(lines)
    first, *more = (tuple(shlex.split(text)) for word, text in lines if word == "run")
    return Program(
        f"{part}-{name}",
        {fill(path): fill(text) for path, text in zip(rest[::2], rest[1::2], strict=True)},
        first,
        orders.get("in", "").encode().decode("unicode_escape").encode("latin-1"),
        dict(pair.split("=", 1) for pair in shlex.split(orders.get("env", ""))),
        tuple(more),
        int(orders.get("tries", "1")),
    )


def names(part: str) -> list[str]:
    return sorted(path.stem for path in (TEXTS / part).glob("*.txt"))


def by_node(program: Program, place: Path, node: str = "node") -> Outcome:
    """What a program comes to with Node.js, in a folder of this path, which is removed."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    program.write(place)
    outcomes = []
    try:
        for arguments in program.runs:
            with (place / ".stdout").open("w+b") as printed:
                done = subprocess.run(
                    [node, *arguments],
                    cwd=place,
                    input=program.stdin,
                    stdout=printed,
                    stderr=subprocess.PIPE,
                    timeout=NODE_SECONDS,
                    env=ENVIRONMENT | program.environment,
                    check=False,
                )
                printed.seek(0)
                outcomes.append(Outcome(done.returncode, printed.read(), done.stderr))
    except subprocess.TimeoutExpired:
        raise VerifierBroken(f"{program.name}: Node.js is not done with it") from None
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return together(outcomes)


def together(outcomes: list[Outcome]) -> Outcome:
    """Several runs as one, each with its status behind what it has printed."""
    if len(outcomes) == 1:
        return outcomes[0]
    printed = b"".join(one.stdout + f"\n= {one.status}\n".encode() for one in outcomes)
    return Outcome(outcomes[-1].status, printed, outcomes[-1].stderr)


def difference(program: Program, wanted: Outcome, got: Outcome) -> str:
    """What is not the same, in words; nothing where all is."""
    if got.stdout != wanted.stdout:
        ours, theirs = (
            out.decode("utf-8", "replace").splitlines() for out in (wanted.stdout, got.stdout)
        )
        at = next(
            (n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
            min(len(ours), len(theirs)),
        )
        line = lambda lines: repr(lines[at][:300]) if at < len(lines) else "nothing"  # noqa: E731
        return (
            f"{program.name}: line {at + 1} is {line(theirs)}, with Node.js {line(ours)}"
            f" (status {got.status} and {wanted.status}; "
            f"{got.stderr[-300:].decode('utf-8', 'replace')!r})"
        )
    if got.status != wanted.status:
        return (
            f"{program.name}: it ends with {got.status}, with Node.js {wanted.status}"
            f" ({got.stderr[-300:].decode('utf-8', 'replace')!r})"
        )
    return ""
