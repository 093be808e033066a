"""Drawn values: what the base task says literally, and what an instance says instead."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from benchflow.generators.draw import Draw


class Uuid(BaseModel):
    """A UUID in place of the base's."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["uuid"]
    stands_for: str


class Hex(BaseModel):
    """As many hexadecimal digits as the base's has."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["hex"]
    stands_for: str


class Text(BaseModel):
    """Something else in every instance than in the base; nothing of it is drawn, and facts
    (`{{count}}`) may stand in it."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["text"]
    stands_for: str
    says: str


Value = Annotated[Uuid | Hex | Text, Field(discriminator="kind")]


def drawn(values: dict[str, Value], draw: Draw) -> dict[str, str]:
    """Text of the base to text of the instance."""
    found: dict[str, str] = {}
    for name, value in values.items():
        label = f"value/{name}"
        if isinstance(value, Uuid):
            found[value.stands_for] = draw.uuid(label)
        elif isinstance(value, Text):
            found[value.stands_for] = value.says
        else:
            found[value.stands_for] = draw.hex(label, len(value.stands_for))
    return found


def replaced(text: str, values: dict[str, str]) -> str:
    """`text` with each value in place of what it stands for."""
    for before, after in values.items():
        text = text.replace(before, after)
    return text
