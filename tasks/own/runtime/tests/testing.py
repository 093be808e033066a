"""`skarn test`: drawn tests, and the report that they have to come to."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heath",
    "inlet",
    "juniper",
    "kelp",
    "lichen",
    "moss",
]


@dataclass
class Drawn:
    """A file of tests, and for each in the order of its end whether it is ok, its path and mark."""

    lines: list[str] = field(default_factory=list)
    told: list[tuple[bool, str, str]] = field(default_factory=list)
    count: int = 0

    def name(self, rng: random.Random) -> str:
        self.count += 1
        return f"{rng.choice(WORDS)} {self.count}"


GOOD = (
    "assert.strictEqual(1 + 1, 2);",
    "assert.deepStrictEqual({ a: [1, new Set([2])] }, { a: [1, new Set([2])] });",
    "await new Promise((r) => setTimeout(r, 5));",
    "assert.throws(() => { throw new TypeError('x'); }, TypeError);",
    "await assert.rejects(Promise.reject(new Error('x')), /x/);",
    "assert(true); assert.match('abc', /b/);",
    "",
)
BAD = (
    "assert.strictEqual(1, '1');",
    "assert.deepStrictEqual({ a: 1 }, { a: 1, b: undefined });",
    "await new Promise((r) => setTimeout(r, 5)); throw new Error('later');",
    "assert.throws(() => {});",
    "throw new RangeError('at once');",
    "return Promise.reject(new Error('rejected'));",
    "null.x;",
)


def file_of(rng: random.Random, name: str) -> Drawn:
    """Tests of all kinds; `name` is the file's as it is given."""
    made = Drawn()
    made.lines += [
        "const { test, it, describe, before, after, beforeEach, afterEach } = "
        "require('node:test');",
        "const assert = require('node:assert/strict');",
        "const seen = [];",
    ]
    for _ in range(rng.randrange(4, 8)):
        rng.choice((_plain, _plain, _nested, _suite, _marked))(
            made, rng, name, "", rng.choice(("test", "it"))
        )
    if rng.random() < 0.6:
        _hooks(made, rng, name)
    _plain(made, rng, name, "", "test")
    return made


def _plain(
    made: Drawn, rng: random.Random, path: str, indent: str, call: str, fails: bool | None = None
) -> bool:
    name, bad = made.name(rng), rng.random() < 0.3 if fails is None else fails
    body = rng.choice(BAD if bad else GOOD)
    made.lines.append(f"{indent}{call}('{name}', async () => {{ {body} }});")
    made.told.append((not bad, f"{path} > {name}", ""))
    return not bad


def _marked(made: Drawn, rng: random.Random, path: str, indent: str, call: str) -> bool:
    name = made.name(rng)
    kind = rng.choice(("skip", "todo", "todo-bad", "timeout", "skip-call"))
    if kind == "skip":
        made.lines.append(
            f"{indent}{call}('{name}', {{ skip: true }}, () => {{ throw new Error('never'); }});"
        )
        made.told.append((True, f"{path} > {name}", "SKIP"))
    elif kind == "skip-call":
        made.lines.append(
            f"{indent}{call}('{name}', {{ skip: 'because' }}, () => "
            f"{{ throw new Error('never'); }});"
        )
        made.told.append((True, f"{path} > {name}", "SKIP"))
    elif kind == "timeout":
        made.lines.append(
            f"{indent}{call}('{name}', {{ timeout: 60 }}, async () => "
            f"{{ await new Promise((r) => setTimeout(r, 1500)); }});"
        )
        made.told.append((False, f"{path} > {name}", ""))
        return False
    else:
        bad = kind == "todo-bad"
        body = rng.choice(BAD if bad else GOOD)
        made.lines.append(f"{indent}{call}('{name}', {{ todo: true }}, async () => {{ {body} }});")
        made.told.append((not bad, f"{path} > {name}", "TODO"))
    return True


def _nested(
    made: Drawn, rng: random.Random, path: str, indent: str, call: str, depth: int = 2
) -> bool:
    """A test with tests inside; it ends after them."""
    name = made.name(rng)
    made.lines.append(f"{indent}test('{name}', async (t) => {{")
    good = True
    for _ in range(rng.randrange(1, 4)):
        if depth > 1 and rng.random() < 0.3:
            mark = len(made.lines)
            good &= _nested(made, rng, f"{path} > {name}", indent + "  ", "t.test", depth - 1)
            made.lines[mark] = made.lines[mark].replace("test(", "await t.test(", 1)
        else:
            good &= _plain(made, rng, f"{path} > {name}", indent + "  ", "await t.test")
    if rng.random() < 0.15:
        made.lines.append(f"{indent}  assert.fail('of its own');")
        good = False
    made.lines.append(f"{indent}}});")
    made.told.append((good, f"{path} > {name}", ""))
    return good


def _suite(
    made: Drawn, rng: random.Random, path: str, indent: str, call: str, depth: int = 2
) -> bool:
    """`describe`, which has no line of its own."""
    name = made.name(rng)
    made.lines.append(f"{indent}describe('{name}', () => {{")
    for _ in range(rng.randrange(1, 4)):
        if depth > 1 and rng.random() < 0.3:
            _suite(made, rng, f"{path} > {name}", indent + "  ", call, depth - 1)
        else:
            rng.choice((_plain, _plain, _marked))(
                made, rng, f"{path} > {name}", indent + "  ", "it"
            )
    made.lines.append(f"{indent}}});")
    return True


def _hooks(made: Drawn, rng: random.Random, path: str) -> None:
    """What is called around tests, in its order."""
    name, inner, last = made.name(rng), made.name(rng), made.name(rng)
    made.lines += [
        f"describe('{name}', () => {{",
        "  before(() => seen.push('before')); after(() => seen.push('after'));",
        "  beforeEach(async () => { await null; seen.push('each'); }); afterEach(() => "
        "{ seen.push('done'); });",
        f"  it('{inner}', () => {{ seen.push('one'); }});",
        f"  it('{inner} too', async () => {{ seen.push('two'); }});",
        "});",
        f"test('{last}', () => {{",
        "  assert.deepStrictEqual(seen, ['before', 'each', 'one', 'done', 'each', 'two', "
        "'done', 'after']);",
        "});",
    ]
    made.told += [
        (True, f"{path} > {name} > {inner}", ""),
        (True, f"{path} > {name} > {inner} too", ""),
        (True, f"{path} > {last}", ""),
    ]


def report_of(files: list[tuple[str, Drawn]]) -> tuple[str, int]:
    """The report and the exit status."""
    lines, number = ["TAP version 13"], 0
    passed = failed = skipped = todo = 0
    for _, made in files:
        for good, path, mark in made.told:
            number += 1
            lines.append(
                f"{'ok' if good else 'not ok'} {number} - {path}" + (f" # {mark}" if mark else "")
            )
            if mark == "SKIP":
                skipped += 1
            elif mark == "TODO":
                todo += 1
            elif good:
                passed += 1
            else:
                failed += 1
    lines += [
        f"1..{number}",
        f"# pass {passed}",
        f"# fail {failed}",
        f"# skip {skipped}",
        f"# todo {todo}",
    ]
    return "\n".join(lines) + "\n", int(failed > 0)


#: Files that fail outside of their tests.
BROKEN = (
    "const test = require('node:test');\nthrow new Error('outside');\n",
    "const = 3;\n",
    "process.exit(4);\n",
    "require('./none-at-all');\n",
    "process.kill(process.pid, 'SIGKILL');\n",
)


def difference(wanted: str, got: str) -> str:
    """What is not the same; a reason behind SKIP and TODO is let be."""
    ours = wanted.splitlines()
    theirs = [re.sub(r" # (SKIP|TODO)\b.*", r" # \1", line) for line in got.splitlines()]
    for n, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a != b:
            return f"line {n + 1} is {b[:200]!r}, not {a[:200]!r}"
    return "" if len(ours) == len(theirs) else f"it has {len(theirs)} lines, not {len(ours)}"
