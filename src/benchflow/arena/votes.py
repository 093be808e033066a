"""Votes of one person in one arena, as their browser signs them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from benchflow.people.answers import Body, Seconds, Text

Id = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$")]
Choice = Literal["left", "right", "neither"]


class Vote(Struct, frozen=True, forbid_unknown_fields=True):
    """One pair. `left`: the side that stood there; `choices`: question → answer; `seconds`: how
    long the pair was looked at; `played`: of those, how long its consoles played."""

    pair: Id
    left: Id
    choices: Annotated[dict[str, Choice], Meta(min_length=1, max_length=6)]
    seconds: Seconds
    played: Seconds
    remark: Text = ""


class Votes(Body, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="votes"):
    """All pairs of an arena, once each."""

    votes: Annotated[tuple[Vote, ...], Meta(min_length=1, max_length=24)]
