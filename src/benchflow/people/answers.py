"""One file of answers: an envelope with a signed text, and what stands in that text.

    {"format": "benchflow-answers/1", "algorithm": "Ed25519", "key": "…", "signature": "…",
     "body": "{\\"consent\\":true,\\"id\\":\\"…\\",…}"}

`body` is the canonical JSON that the page made (keys sorted, no white space), as a text: what was
signed are its very bytes, so that no two programs have to agree on how a number is written.
"""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from benchflow.errors import UsageError
from benchflow.people.signing import Algorithm, fingerprint, is_signed

FORMAT = "benchflow-answers/1"
#: Bytes of one envelope. Five tasks with every text at its limit have some 120,000.
MOST_BYTES = 262_144

Name = Annotated[str, Meta(max_length=120)]
Text = Annotated[str, Meta(max_length=2000)]
Hex32 = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$")]
Hex64 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
Seconds = Annotated[int, Meta(ge=0, le=10_000_000)]


class BadAnswers(UsageError):
    """A file that is no answers, or whose answers cannot be taken; the message says why."""


class Envelope(Struct, frozen=True, forbid_unknown_fields=True):
    """What is written to disk or posted. `key`: SPKI; `key` and `signature` are base64."""

    format: Literal["benchflow-answers/1"]
    algorithm: Algorithm
    key: Annotated[str, Meta(max_length=400)]
    signature: Annotated[str, Meta(max_length=400)]
    body: str


class Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """What all answers have, whatever was asked; kinds of answers are subclasses with a tag.

    `id`: drawn at random for each set of answers. `pack`: digest of what was asked. `key`:
    fingerprint of the key that signed. `revision`: counts the exports of one rater from one pack.
    `link`: SHA-256 of the one-time code, "" without one. `rehearsal`: made to test the page, no
    opinion. `consent`: may be used and published as the page said. `name`: given for credit, else
    "". `seconds`: how long the page was looked at.
    """

    schema: Literal[1]
    id: Hex32
    pack: Hex64
    key: Hex32
    revision: Annotated[int, Meta(ge=1, le=10_000)]
    made: Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    consent: Literal[True]
    seconds: Seconds
    link: Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?$")] = ""
    rehearsal: bool = False
    name: Name = ""

    def __post_init__(self) -> None:
        datetime.datetime.strptime(self.made, "%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Signed[B: Body]:
    """Answers whose signature holds. `envelope`: the bytes they came in."""

    body: B
    envelope: bytes


def opened[B: Body](data: bytes, kind: type[B]) -> Signed[B]:
    """Checks size, form, signature and schema of one envelope.

    Raises BadAnswers when anything about it is wrong. What the answers are about (that there is
    such a pack, that it has such tasks) is for those to check who know the pack.
    """
    if len(data) > MOST_BYTES:
        raise BadAnswers(f"answers of more than {MOST_BYTES:,} bytes are not read")
    try:
        envelope = msgspec.json.decode(data, type=Envelope)
        name = fingerprint(envelope.key)
    except (ValueError, RecursionError) as error:
        raise BadAnswers(f"no answers of benchflow: {error}") from error
    if not is_signed(envelope.algorithm, envelope.key, envelope.signature, envelope.body):
        raise BadAnswers("the signature does not fit: changed since it was signed, or forged")
    try:
        body = msgspec.json.decode(envelope.body, type=kind)
    except (ValueError, RecursionError) as error:
        raise BadAnswers(f"signed, but of a wrong form: {error}") from error
    if body.key != name:
        raise BadAnswers("signed with another key than the answers name")
    return Signed(body, data)


def hash_of(code: str) -> str:
    """What is kept of a one-time code or a deletion token, and named in answers."""
    return hashlib.sha256(code.encode()).hexdigest()
