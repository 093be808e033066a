"""Votes of one person in one arena, as their browser signs them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from benchflow.people.answers import Body, Seconds, Text

Id = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$")]
Choice = Literal["left", "right", "neither"]


#: What a voter did to see a pair before the vote; "" of pages that did not note it yet.
Looked = Literal["", "none", "part", "end"]


class Vote(Struct, frozen=True, forbid_unknown_fields=True):
    """One pair. `left`: the side that stood there; `choices`: question → answer; `seconds`: how
    long the pair was open; `played`: of those, how long its consoles played.

    `looked`: `end`, consoles were seen to their end, by playing them or by going there; `part`,
    they were played or moved, or screens or documents were in view for some seconds; `none`, none
    of it, though the page said so.
    """

    pair: Id
    left: Id
    choices: Annotated[dict[str, Choice], Meta(min_length=1, max_length=6)]
    seconds: Seconds
    played: Seconds
    remark: Text = ""
    looked: Looked = ""


class Votes(Body, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="votes"):
    """All pairs of an arena, once each."""

    votes: Annotated[tuple[Vote, ...], Meta(min_length=1, max_length=24)]
