"""Packs for tests: made up, with a hostile one, and answers to them."""

from __future__ import annotations

from typing import Any

from benchflow.people.pack import Demand, Pack, PackMilestone, PackTask

from .rater import Rater

NAMES = ("repair/lamp", "spin/kettle", "embedded/toaster")


def task(
    name: str, instruction: str = "Please **repair** it.\n\n- **[R1]** It lights."
) -> PackTask:
    return PackTask(
        name=name,
        version="1.0.0",
        digest=f"sha256:{name}",
        description=f"Work on {name}",
        instruction=instruction,
        milestones=(
            PackMilestone("boots", "It boots", 0.25, ("R1",), ("the kernel starts",)),
            PackMilestone("lights", "It lights", 0.75, ("R1",), ("it is bright", "it stays so")),
        ),
        demands=(
            Demand("R1", "It lights.", "instruction"),
            Demand("boots", "It boots", "proof"),
            Demand("lights", "It lights", "proof"),
        ),
    )


def pack(names: tuple[str, ...] = NAMES, *, rehearsal: bool = False) -> Pack:
    return Pack("benchflow-pack/1", tuple(task(name) for name in names), rehearsal)


HOSTILE_TEXT = """# <script>document.title = "owned"</script>

</script><script>document.title = "owned"</script> <img src=x onerror="document.title='owned'">

[one](javascript:document.title='owned') [two](https://example.org/?a="><b>) ![p](https://example.org/p.png)

<https://example.org> `</style><script>1</script>`

| | a |
|---|---|
| 1 | 2 |

    <iframe src="https://example.org"></iframe>
"""


def hostile() -> Pack:
    bad = "</script><script>document.title='owned'</script>"
    first = task('a"/><b>', HOSTILE_TEXT)
    marked = PackMilestone("x", bad, 1.0, (), (bad,))
    second = PackTask(
        bad[:40], "1", bad, bad, HOSTILE_TEXT, (marked,), (Demand("x", bad, "proof"),)
    )
    return Pack("benchflow-pack/1", (first, second), True)


def about(one: PackTask, **more: Any) -> dict[str, Any]:
    """Plain answers about a task."""
    return {
        "task": one.name,
        "digest": one.digest,
        "work": "daily",
        "hours": {"low": 2, "likely": 4, "high": 10},
        "sign": "yes",
        "pay": "part",
        "doubts": [],
        "exploit": "",
        "tried": None,
        **more,
    }


def rating(rater: Rater, of: Pack, **more: Any) -> dict[str, Any]:
    """Plain answers to a whole pack: each task is harder than those before it."""
    names = [one.name for one in of.tasks]
    pairs = [{"a": a, "b": b, "harder": b} for at, a in enumerate(names) for b in names[at + 1 :]]
    return rater.body(
        of.digest,
        kind="rating",
        rehearsal=of.rehearsal,
        tasks=[about(one) for one in of.tasks],
        pairs=pairs,
        **more,
    )
