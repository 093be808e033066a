"""What of a failed check's message a terminal shows."""

from __future__ import annotations

from benchflow.cli.table import excerpt


def test_a_short_message_is_shown_whole() -> None:
    assert excerpt("one\n\ntwo \nthree\nfour\nfive\n") == ["one", "two", "three", "four", "five"]


def test_of_a_long_one_the_end_is_shown_since_it_went_wrong_there() -> None:
    console = [f"[    {n}.000000] booting" for n in range(40)]
    said = "\n".join(["no login within 300 s", *console, "error: file not found."])
    assert excerpt(said) == [
        "no login within 300 s", "…", *console[-2:], "error: file not found."
    ]  # fmt: skip
