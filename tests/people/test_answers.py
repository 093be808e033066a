"""Envelopes of answers: what is signed is taken, what was changed, forged or bloated is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchflow.people.answers import MOST_BYTES, BadAnswers, Body, opened

from .rater import Rater, canonical

PACK = "ab" * 32


class Plain(Body, tag="plain"):
    """Answers to nothing in particular."""

    text: str = ""
    number: float = 0.0


def made(rater: Rater, **more: Any) -> dict[str, Any]:
    return rater.body(PACK, kind="plain", **more)


@pytest.mark.parametrize("algorithm", ["Ed25519", "ECDSA-P256-SHA256"])
def test_what_a_rater_signed_is_read_as_it_was_written(algorithm: str) -> None:
    rater = Rater(algorithm)
    signed = opened(rater.envelope(made(rater, text="für “dich” </script>")), Plain)
    assert signed.body.text == "für “dich” </script>"
    assert signed.body.key == rater.name


def changed_after_signing(rater: Rater) -> bytes:
    whole = json.loads(rater.envelope(made(rater, text="a")))
    return json.dumps({**whole, "body": whole["body"].replace('"a"', '"b"')}).encode()


def signed_by_another(rater: Rater) -> bytes:
    text = canonical(made(rater))
    return rater.envelope(text, signature=Rater().signature(text))


def under_the_name_of_another(rater: Rater) -> bytes:
    return rater.envelope(made(Rater()))


def of_another_algorithm(rater: Rater) -> bytes:
    return rater.envelope(made(rater), algorithm="ECDSA-P256-SHA256")


HOSTILE: dict[str, tuple[Callable[[Rater], bytes], str]] = {
    "changed after it was signed": (changed_after_signing, "signature does not fit"),
    "signed with another's key": (signed_by_another, "signature does not fit"),
    "in the name of another": (under_the_name_of_another, "another key"),
    "of another algorithm": (of_another_algorithm, "signature does not fit"),
    "a key that is none": (lambda r: r.envelope(made(r), key="AAAA"), "signature does not fit"),
    "a key that is no base64": (lambda r: r.envelope(made(r), key="ü"), "no answers"),
    "10 MB of text": (lambda r: r.envelope(made(r, text="x" * 10_000_000)), "bytes are not read"),
    "not JSON": (lambda r: b"\xff\xfe<html>", "no answers"),
    "deeply nested": (lambda r: b"[" * 200_000, "no answers"),
    "deeply nested, signed": (lambda r: r.envelope('{"id":' + "[" * 200_000), "wrong form"),
    "not a number": (lambda r: r.envelope(made(r, number=float("nan"))), "wrong form"),
    "infinite": (lambda r: r.envelope(made(r, number=float("inf"))), "wrong form"),
    "beyond all numbers": (
        lambda r: r.envelope(canonical(made(r, number=7)).replace(":7", ":1e999")),
        "wrong form",
    ),
    "with a field that was not asked for": (lambda r: r.envelope(made(r, admin=True)), "form"),
    "of another kind": (lambda r: r.envelope({**made(r), "kind": "other"}), "wrong form"),
    "without consent": (lambda r: r.envelope({**made(r), "consent": False}), "wrong form"),
    "on a day that is none": (
        lambda r: r.envelope({**made(r), "made": "2026-02-31T00:00:00Z"}),
        "wrong form",
    ),
    "of another format": (lambda r: r.envelope(made(r), format="benchflow-answers/2"), "no answ"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_no_honest_file_is_refused(case: str) -> None:
    make, why = HOSTILE[case]
    with pytest.raises(BadAnswers, match=why):
        opened(make(Rater()), Plain)


def test_the_bound_is_on_bytes() -> None:
    rater = Rater()
    room = MOST_BYTES - len(rater.envelope(made(rater)))
    opened(rater.envelope(made(rater, text="x" * (room - 20))), Plain)
