"""Makes an arena of finished trials: which are set against each other, what is asked of each pair,
and the two checks of attention."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from msgspec.structs import replace

from benchflow.arena.names import pattern
from benchflow.arena.pack import MOST_PAIRS, Arena, Key, Meant, Pair, Question, Whose
from benchflow.arena.side import MOST_CONSOLES, Console, Counted, Side, alike, look
from benchflow.base.text import one_line
from benchflow.errors import TaskError, UsageError
from benchflow.results.model import Verdict
from benchflow.results.records import Record
from benchflow.tasks import Task
from benchflow.tasks.catalogue import find, in_catalogue
from benchflow.tasks.words import drawn_words, words_of

#: Asked of each pair, where there is something to judge it by.
SHIP = Question("ship", "Which one would you ship to the customer?")
MADE = Question("made", "Which one is better made?")
DOCUMENTS = Question("documents", "Which one's documentation would you trust?")
#: In place of SHIP, by the folder of the catalogue that a task is in.
BY_TOPIC = {
    "container": Question("ship", "Which one would you run your containers on?"),
    "embedded": Question("ship", "Which one would you flash on ten thousand devices?"),
    "repair": Question("ship", "Which server would you put back into service?"),
    "spin": Question("ship", "Which one would you hand to somebody to install or use?"),
}
#: With so many pairs, one is shown twice.
_AGAIN_FROM = 3
#: Screens come first to the eye: such tasks are taken before others.
_MOST_INSTRUCTION = 20_000


@dataclass(frozen=True)
class Made:
    """An arena, its key, and for how many trials there was a reason not to show them.

    `repeated`: trials that stand in more than one pair, since there were no others. `unnamed`:
    machines of which no words say what they are for, as (task, machine).
    """

    arena: Arena
    key: Key
    left_out: Counter[str] = field(default_factory=Counter)
    repeated: tuple[str, ...] = ()
    unnamed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Seen:
    record: Record
    side: Side
    counted: Counted

    @property
    def uid(self) -> str:
        return self.record.uid


def make(
    records: Sequence[Record],
    most_pairs: int = 6,
    *,
    any_version: bool = False,
    rehearsal: bool = False,
    seed: int | None = None,
) -> Made:
    """Pairs of trials for the same task (`any_version`: of whatever version), at most `most_pairs`
    and two more for attention; tasks with screenshots first, then those seldom taken so far.

    Two attempts of one agent and model are set against each other only where a task has no others.
    `seed`: for tests; which pairs are drawn must not be known beforehand. Raises UsageError where
    there is no pair.
    """
    if not 1 <= most_pairs <= MOST_PAIRS - 2:
        raise UsageError(f"{most_pairs} pairs are not 1 to {MOST_PAIRS - 2}")
    draw = random.Random(secrets.randbits(64) if seed is None else seed)
    names = pattern({each for one in records for each in (one.agent, one.model)})
    left_out: Counter[str] = Counter()
    seen: dict[tuple[str, str], list[_Seen]] = {}
    for record in records:
        if record.verdict is Verdict.ERROR:
            left_out["ended in an error of infrastructure"] += 1
            continue
        side, counted = look(record, names)
        if side.is_empty:
            left_out["left nothing to look at"] += 1
            continue
        version = "" if any_version else record.task_version
        seen.setdefault((record.task, version), []).append(_Seen(record, side, counted))
    chosen = _chosen(seen, most_pairs, draw)
    if not chosen:
        raise UsageError(
            "no two trials for the same version of a task have something to show",
            hint="add jobs, or --any-version to set versions of a task against each other",
        )
    spare = [one for some in seen.values() for one in some]
    arena, key = _assembled(chosen, spare, draw, rehearsal)
    return Made(arena, key, left_out, _repeated(key), _unnamed(arena))


def _chosen(
    seen: dict[tuple[str, str], list[_Seen]], most: int, draw: random.Random
) -> list[tuple[_Seen, _Seen]]:
    """Pair after pair: of deliverables that no pair has yet while there are any, then of the task
    that was taken least; no deliverable is taken much oftener than another."""
    waiting: dict[tuple[str, str], list[tuple[_Seen, _Seen]]] = {}
    for task, some in seen.items():
        pairs = list(combinations(some, 2))
        others = [(a, b) for a, b in pairs if a.record.who != b.record.who]
        waiting[task] = others or pairs
        draw.shuffle(waiting[task])
    place = {task: (-_screens(pairs), draw.random()) for task, pairs in waiting.items()}
    # Who can be set against few others comes first, so that as many as can be find somebody.
    partners = Counter(o.uid for pairs in waiting.values() for pair in pairs for o in pair)
    used: Counter[str] = Counter()
    taken: Counter[tuple[str, str]] = Counter()
    found: list[tuple[_Seen, _Seen]] = []
    while len(found) < most and any(waiting.values()):
        ids = {
            (task, at): [one.uid for one in pair]
            for task, pairs in waiting.items()
            for at, pair in enumerate(pairs)
        }
        task, at = min(
            ids,
            key=lambda one: (
                sum(used[uid] for uid in ids[one]), taken[one[0]], place[one[0]],
                sum(partners[uid] for uid in ids[one]),
            ),
        )  # fmt: skip
        used.update(ids[task, at])
        taken[task] += 1
        found.append(waiting[task].pop(at))
    return found


def _repeated(key: Key) -> tuple[str, ...]:
    """Trials in several pairs, beside the pair that is shown twice."""
    stand = Counter(
        key.sides[side].trial
        for meant in key.pairs.values()
        if meant.kind != "again"
        for side in meant.sides
        if key.sides[side].uid
    )
    return tuple(sorted(trial for trial, n in stand.items() if n > 1))


def _unnamed(arena: Arena) -> tuple[tuple[str, str], ...]:
    found = {
        (pair.task, name)
        for pair in arena.pairs
        for side in pair.sides
        for name in arena.sides[side].machines
        if name not in pair.machines
    }
    return tuple(sorted(found))


def _screens(pairs: list[tuple[_Seen, _Seen]]) -> int:
    return max((sum(bool(one.side.screens) for one in pair) for pair in pairs), default=0)


def _assembled(
    chosen: list[tuple[_Seen, _Seen]], seen: list[_Seen], draw: random.Random, rehearsal: bool
) -> tuple[Arena, Key]:
    """`seen`: all that could be shown; the pair with a blank side takes one that no other has."""
    ids = iter(_ids(5 * len(chosen) + 10, draw))
    sides: dict[str, Side] = {}
    whose: dict[str, Whose] = {}
    pairs: list[Pair] = []
    meant: dict[str, Meant] = {}
    tasks: dict[str, Task | None] = {}

    def put(first: str, second: str, record: Record, kind: Literal["real", "blank"]) -> None:
        two = [first, second]
        draw.shuffle(two)
        if record.task not in tasks:
            tasks[record.task] = _task_of(record)
        by_side = sides[two[0]], sides[two[1]]
        made = _pair(next(ids), record, tasks[record.task], (two[0], two[1]), by_side)
        pairs.append(made)
        meant[made.id] = Meant(kind, record.task, made.sides)

    for pair in chosen:
        shared = _shared([one.side for one in pair])
        named = []
        for one, side in zip(pair, shared, strict=True):
            named.append(next(ids))
            sides[named[-1]], whose[named[-1]] = side, _whose(one)
        put(named[0], named[1], pair[0].record, "real")
    spare = _spare(seen, {one.uid for pair in chosen for one in pair})
    shown, blank = next(ids), next(ids)
    if spare is None:
        # The side as its pair has it: with no machine that the other side did not come to start.
        real = draw.choice(pairs)
        shown = max(real.sides, key=lambda side: (whose[side].passed, side))
        best = next(one for pair in chosen for one in pair if one.uid == whose[shown].uid)
    else:
        best, like = spare
        sides[shown], whose[shown] = _shared([best.side, like.side])[0], _whose(best)
    sides[blank] = _blank(sides[shown])
    whose[blank] = Whose("", "", "", best.record.task, "", "", 0, 0, Counted(0, 0, 0))
    again = draw.choice([pair for pair in pairs if best.uid not in _uids(pair, whose)] or pairs)
    put(shown, blank, best.record, "blank")
    if len(chosen) >= _AGAIN_FROM:
        # The other way round: the browser turns both of the same two sides, or neither.
        turned = replace(again, id=next(ids), sides=(again.sides[1], again.sides[0]))
        pairs.append(turned)
        meant[turned.id] = Meant("again", again.task, turned.sides, again.id)
    draw.shuffle(pairs)
    arena = Arena(
        "benchflow-pack/1", tuple(pairs), {one: sides[one] for one in sorted(sides)}, rehearsal
    )
    return arena, Key("benchflow-arena-key/1", arena.digest, whose, meant)


def _spare(seen: list[_Seen], taken: set[str]) -> tuple[_Seen, _Seen] | None:
    """What stands beside a machine that prints nothing, and another trial for the same task: the
    one of which most was proved among those that no pair has; None where there is none."""
    printing = [one for one in seen if any(console.lines for console in one.side.consoles)]
    rest = [one for one in printing if one.uid not in taken]
    if not rest:
        return None
    best = max(rest, key=lambda one: (one.record.n_passed, one.uid))
    of_task = [one for one in printing if one.record.task == best.record.task and one is not best]
    return best, of_task[0] if of_task else best


def _uids(pair: Pair, whose: dict[str, Whose]) -> set[str]:
    return {whose[side].uid for side in pair.sides}


def _ids(n: int, draw: random.Random) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found[f"{draw.getrandbits(64):016x}"] = None
    return list(found)


def _shared(two: list[Side]) -> list[Side]:
    """Both with the machines that both have, else with what each has: how many of them came to be
    started says how far the checks went."""
    machines = [{console.machine for console in side.consoles} for side in two]
    common = set.intersection(*machines)
    longest = Counter[str]()
    for side in two:
        for console in side.consoles:
            longest[console.machine] += len(console.lines)
    order = [name for name, _ in longest.most_common() if name in common] or list(longest)
    kept = order[:MOST_CONSOLES]
    by_name = [{one.machine: one for one in side.consoles} for side in two]
    for name in kept:
        if all(name in consoles for consoles in by_name):
            cut = alike([consoles[name] for consoles in by_name])
            for consoles, one in zip(by_name, cut, strict=True):
                consoles[name] = one
    return [
        Side(tuple(consoles[name] for name in kept if name in consoles), side.screens, side.words)
        for side, consoles in zip(two, by_name, strict=True)
    ]


def _blank(like: Side) -> Side:
    """The same machines, which print nothing."""
    return Side(tuple(Console(one.machine, (), one.seconds) for one in like.consoles))


def _pair(
    id: str, record: Record, task: Task | None, named: tuple[str, str], two: tuple[Side, Side]
) -> Pair:
    topic = record.topic or record.task.partition("/")[0]
    questions = [BY_TOPIC.get(topic, SHIP), MADE]
    if all(side.words for side in two):
        questions.append(DOCUMENTS)
    text = ""
    if task and (task.path / "instruction.md").is_file():
        text = (task.path / "instruction.md").read_text(encoding="utf-8")[:_MOST_INSTRUCTION]
    about = one_line(task.description, 300) if task else ""
    words = words_of(task) if task else drawn_words(record.generator)
    shown = {name for side in two for name in side.machines}
    machines = {name: words.machine(name) for name in sorted(shown) if words.machine(name)}
    return Pair(id, one_line(record.task, 100), about, text, named, tuple(questions), machines)


def _task_of(record: Record) -> Task | None:
    """The task as the catalogue has it, or as its generator draws it here; None where neither."""
    if not record.generator:
        return in_catalogue(record.task)
    try:
        return find(record.task)
    except (UsageError, TaskError):
        return None


def _whose(one: _Seen) -> Whose:
    record = one.record
    return Whose(
        record.uid, record.who, f"{record.job}/{record.trial}", record.task, record.task_version,
        record.verdict.value, record.n_passed, len(record.milestones), one.counted,
    )  # fmt: skip
