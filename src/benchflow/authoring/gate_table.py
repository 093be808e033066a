"""What each gate asks and what it costs, in words: docs/reference/gates.md is made of this."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """One gate. `costs`: the work that it is beyond the gates before it."""

    asks: str
    costs: str


#: What is only run when it is named.
ABOUT_ON_DEMAND = {
    "second-host": About(
        "do two hosts (two machines, or one with two QEMUs) come to the same ladders, of what the "
        "oracle delivers and of what it delivers when it is stopped half-way",
        "a trial, and two verifications a host",
    ),
}
#: In the order in which they run.
ABOUT = {
    "schema": About(
        "does the task load; are there enough milestones, checks, exploits and hints; are its "
        "skills words of the vocabulary",
        "nothing",
    ),
    "coverage": About(
        "is every demand `[R…]` proved, and does every check prove one",
        "nothing",
    ),
    "leaks": About(
        "is nothing of the answers in the instruction or the environment's files",
        "nothing",
    ),
    "offline": About("has the verifier no network", "nothing"),
    "image": About(
        "is nothing of the answers in the built image: every layer, caches, archives, histories",
        "a search, about a minute",
    ),
    "nop": About("does doing nothing gain nothing", "one trial"),
    "oracle": About(
        "does the oracle resolve the task, twice from scratch; where it is incremental, the second "
        "time is the one of *ladder*, milestone by milestone in one sandbox",
        "two trials",
    ),
    "budget": About(
        "do the limits leave room: the agent's 3 × the oracle's time, the verifier's 2 × its own "
        "(of the trials of *oracle* those count that others disturbed least; where others had "
        "most of the processors in each and it took too long, nothing is judged)",
        "nothing more",
    ),
    "size": About(
        "do image and deliverables fit what is stated (`image_mb`, `max_mb`, `max_stored_mb`), "
        "and does the instruction name a size",
        "nothing more",
    ),
    "ladder": About(
        "stopped after a milestone, has the oracle that milestone, and not yet the next one, by "
        "the next one's own checks; the last stop is the oracle, which has run already",
        "a build for each milestone but one (one for all where the oracle is incremental), and a "
        "part of a verification each",
    ),
    "exploits": About(
        "does each exploit run to its end and lose all that it is not declared to gain, behind all "
        "that it is declared to gain up to the last check that catches it",
        "a build an exploit (one for those that may share a sandbox), and a part of a "
        "verification each",
    ),
    "variants": About(
        "are there four honest other solutions at least, and does each run to its end and "
        "resolve the task",
        "a trial a variant (one build for those that may share a sandbox)",
    ),
    "corpus": About(
        "does each of the exploits common to all tasks gain what is declared, no more and no less, "
        "verified whole",
        "four trials, two of them without a boot, and, where *oracle* has not run, one of the "
        "oracle, to record its answers",
    ),
    "determinism": About(
        "do two verifications of one deliverable agree: the oracle's own, and one with a quarter "
        "more memory beside programs that keep all cores busy",
        "a verification",
    ),
}
