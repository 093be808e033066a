"""What a disk looks like when the power goes: at moments that are known, and at many others."""

from __future__ import annotations

import hashlib
import random
import time
from pathlib import Path

from station import Station

from benchflow.boot import GuestError, GuestTimeout

KEPT_MAX = 48  # copies of a disk at once; who is slow has more moments, of which every other goes


class Moment:
    """A disk as it was at some moment of a transaction."""

    def __init__(self, path: Path, digest: bytes, fetched: int) -> None:
        self.path = path
        self.digest = digest
        self.fetched = fetched


def watch(station: Station, words: str, seconds: float = 120) -> list[Moment]:
    """Run `lade …` and copy the disk again and again until it ends; the copies that differ.

    A copy has what the guest wrote to the disk and not what it holds in its memory: it is what a
    power cut at that moment leaves. The last one is from after the end.
    """
    repository, moments = station.repository, []
    # Somebody else on the station who flushes, so that much of what is under way gets to the disk.
    station.say("(while [ ! -e /run/bench/quiet ]; do sync; done) </dev/null >/dev/null 2>&1 &")
    done = station.background(words)
    deadline = station.machine.deadline(seconds)
    while True:
        over = repository.marked(done)
        take(station, moments)
        if over:
            station.say("touch /run/bench/quiet; sleep 1; rm /run/bench/quiet")
            return moments
        assert deadline.remaining() > 0, f"lade {words}: not within {seconds:g} seconds"
        time.sleep(0.01)


def take(station: Station, moments: list[Moment]) -> None:
    """Copy the disk, if it is another than at the moment before."""
    path = station.machine.flatten()
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").digest()
    if moments and moments[-1].digest == digest:
        path.unlink()
        return
    moments.append(Moment(path, digest, len(station.repository.fetched())))
    if len(moments) > KEPT_MAX:
        for moment in moments[1:-1:2]:
            moment.path.unlink()
        moments[1:-1] = moments[2:-1:2]


def watch_start(station: Station, seconds: float = 90) -> list[Moment]:
    """Switch it on and copy the disk until somebody can log in; the copies that differ."""
    moments: list[Moment] = []
    station.machine.boot()
    deadline = station.machine.deadline(seconds)
    while True:
        take(station, moments)
        try:
            station.machine.expect("login: ?", timeout=0.1)
            break
        except GuestTimeout:
            assert deadline.remaining() > 0, f"no login in {seconds:g} seconds [R31]"
    station.enter()
    return moments


def chosen(moments: list[Moment], count: int, draw: random.Random) -> list[Moment]:
    """Some moments, most of them from after all was fetched; the others' files are deleted."""
    last = moments[-1].fetched
    early = [moment for moment in moments[:-1] if moment.fetched < last]
    late = [moment for moment in moments[:-1] if moment.fetched == last]
    some = draw.sample(early, min(1, len(early)))
    wanted = min(count - 1 - len(some), len(late))
    # One of each stretch, so that none of them is left out.
    for number in range(wanted):
        begin, end = number * len(late) // wanted, (number + 1) * len(late) // wanted
        some.append(draw.choice(late[begin:end]))
    some.append(moments[-1])
    for moment in moments:
        if moment not in some:
            moment.path.unlink()
    return some


def comes_back(wake, moment: Moment, name: str) -> Station:
    """The station that starts from a disk of that moment."""
    try:
        return wake(name, moment.path)
    except (GuestError, AssertionError) as error:
        raise AssertionError(
            f"after the power went ({name}) it did not start by itself [R31]: {error}"
        ) from error
