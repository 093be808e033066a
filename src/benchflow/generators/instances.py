"""Instances by reference: `repair/server#17`, `repair/server#1..20`, `repair/server#17@4`.

An instance is written once below benchflow's home, and is a task folder like any other from then
on. The folder's key holds everything that it follows from, so an edited generator, part or base
gives another folder.
"""

from __future__ import annotations

import difflib
import hashlib
import hmac
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchflow.base.home import home
from benchflow.base.numbers import plural
from benchflow.errors import UsageError
from benchflow.generators import files
from benchflow.generators import write as writing
from benchflow.generators.generator import HIGHEST_SEED, Generator, generators
from benchflow.generators.spec import Spec, spec

_REFERENCE = re.compile(r"([a-z0-9-]+/[a-z0-9-]+)#(\d{1,20})(?:\.\.(\d{1,20}))?(?:@(\d{1,20}))?")
_NAME = re.compile(r"([a-z0-9-]+/[a-z0-9-]+)-v(\d{1,9})-l([1-5])-(\d{1,20})")
_MOST = 1000  # instances by one reference
_SECRET_BYTES = 16


@dataclass(frozen=True)
class Instance:
    """What a reference means: a draw, not yet written."""

    generator: Generator
    level: int
    seed: int

    @property
    def reference(self) -> str:
        """How it is named on the command line."""
        return f"{self.generator.name}#{self.seed}@{self.level}"

    def spec(self) -> Spec:
        """Draws it. Raises UsageError, TaskError."""
        return spec(self.generator, self.level, self.seed)

    def folder(self, tasks: Path) -> Path:
        """Its task folder, written where it is not there yet. Raises UsageError, TaskError."""
        drawn = self.spec()
        key = hashlib.sha256(
            f"{self.generator.digest} {_base_digest(self.generator, tasks)} {drawn.digest}".encode()
        ).hexdigest()[:20]
        top = home() / "generated" / key
        final = top / drawn.name
        if final.is_dir():
            return final
        top.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".writing-", dir=top))
        try:
            writing.write(self.generator, drawn, tasks, scratch / "instance")
            final.parent.mkdir(exist_ok=True)
            try:
                (scratch / "instance").rename(final)
            except OSError:
                if not final.is_dir():
                    raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return final


def _base_digest(generator: Generator, tasks: Path) -> str:
    base = generator.told.base
    taken = [tasks / base.task / one for one in sorted(base.take)] if base else []
    return files.digest(tasks, [*taken, tasks / "lib"])


def is_reference(text: str) -> bool:
    """Whether `text` names instances, by reference or by a task's name, rather than a folder."""
    return ("#" in text or bool(_NAME.fullmatch(text))) and not Path(text).exists()


def instances(reference: str, tasks: Path) -> list[Instance]:
    """What a reference names. Raises UsageError for one that is wrong, TaskError."""
    if named_task := _NAME.fullmatch(reference):
        return [_by_name(named_task, tasks)]
    found = _REFERENCE.fullmatch(reference)
    if not found:
        raise UsageError(
            f"{reference!r} names no instance",
            hint="write TOPIC/NAME#SEED, TOPIC/NAME#FIRST..LAST, or either with @LEVEL behind it",
        )
    generator = named(found[1], tasks)
    first, last = int(found[2]), int(found[3] or found[2])
    if last < first or last - first >= _MOST:
        raise UsageError(
            f"{reference}: {first}..{last} is no range of at most {_MOST:,} seeds",
            hint="write the smaller seed first" if last < first else "name several ranges",
        )
    level = int(found[4] or generator.told.default_level)
    return [Instance(generator, level, seed) for seed in range(first, last + 1)]


def _by_name(found: re.Match[str], tasks: Path) -> Instance:
    generator = named(found[1], tasks)
    if int(found[2]) != generator.version:
        raise UsageError(
            f"{found[0]} is of version {found[2]}, and {generator.name} is at version "
            f"{generator.version}",
            hint="use the version of benchflow that drew it",
        )
    return Instance(generator, int(found[3]), int(found[4]))


def named(name: str, tasks: Path) -> Generator:
    """The generator of that name. Raises UsageError where there is none."""
    known = generators(tasks)
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f"did you mean {close[0]}?" if close else "see benchflow generators"
        if is_reference(name):
            hint = f"that names a task: benchflow tasks show '{name}'"
        raise UsageError(f"no generator {name!r}", hint=hint)
    return known[name]


def split(name: str, tasks: Path) -> list[Instance]:
    """The pinned instances of a published split, of all generators.

    Raises UsageError for a split that no generator has, and where a generator draws something else
    for a pinned seed than it did when it was pinned.
    """
    known = generators(tasks)
    found = []
    for generator in known.values():
        for pinned in generator.told.splits.get(name, []):
            one = Instance(generator, pinned.level, pinned.seed)
            if one.spec().digest[: len(pinned.spec)] != pinned.spec:
                raise UsageError(
                    f"{one.reference} is pinned in the split {name} as {pinned.spec}, and version "
                    f"{generator.version} of {generator.name} draws {one.spec().digest[:12]}",
                    hint="use the version of benchflow that the split was published with",
                )
            found.append(one)
    if not found:
        names = sorted({each for one in known.values() for each in one.told.splits})
        raise UsageError(
            f"no published split {name!r}",
            hint=f"published: {', '.join(names) or 'none'}; one of your own is printed by "
            "benchflow generators NAME --secret FILE",
        )
    return found


def private(
    generator: Generator, secret: bytes, count: int, levels: Sequence[int]
) -> list[Instance]:
    """`count` instances over `levels` in turn, whose seeds follow from `secret` by HMAC-SHA-256.

    Raises UsageError for a secret that could be guessed.
    """
    if len(secret) < _SECRET_BYTES or len(set(secret)) < _SECRET_BYTES // 2:
        raise UsageError(
            f"the secret could be guessed: {plural(len(secret), 'byte')}, {len(set(secret))} of "
            f"them different; at least {_SECRET_BYTES} and {_SECRET_BYTES // 2} are asked for",
            hint="make one with: head -c 32 /dev/urandom > secret",
        )
    found = []
    for number in range(count):
        label = f"{generator.name}/{generator.version}/{number}".encode()
        drawn = hmac.new(secret, label, hashlib.sha256).digest()
        seed = int.from_bytes(drawn[:8], "big") & HIGHEST_SEED
        found.append(Instance(generator, levels[number % len(levels)], seed))
    return found
