"""Axes: choices that every instance has, of a form or a number, whichever parts it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from benchflow.generators.draw import Draw

AxisName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]*$")]


class Axis(BaseModel):
    """One of several ways. `options`: words, or names with what the instruction says of each."""

    model_config = ConfigDict(extra="forbid")

    options: list[str] | dict[str, str] = Field(min_length=2)

    def says(self, name: str) -> str:
        """What an instance says of an option."""
        return self.options[name] if isinstance(self.options, dict) else name


class Numbers(BaseModel):
    """Numbers from `lowest` to `highest` for some names, no two of them equal."""

    model_config = ConfigDict(extra="forbid")

    names: list[AxisName] = Field(min_length=1)
    lowest: int
    highest: int


def drawn(axes: Mapping[str, Axis], numbers: Mapping[str, Numbers], draw: Draw) -> dict[str, str]:
    """Axis → option; of numbers `GROUP_NAME` → number."""
    found = {}
    for name, axis in axes.items():
        found[name] = draw.stream(f"axis/{name}").shuffled(list(axis.options))[0]
    for group, told in numbers.items():
        free = draw.stream(f"numbers/{group}").shuffled(range(told.lowest, told.highest + 1))
        found |= {f"{group}_{name}": str(free[at]) for at, name in enumerate(told.names)}
    return found


def facts(axes: Mapping[str, Axis], chosen: Mapping[str, str]) -> dict[str, str]:
    """What a template may ask for: `axis_NAME` is what is said, `axis_NAME_name` the option."""
    found = {}
    for name, option in chosen.items():
        if name in axes:
            found[f"axis_{name}"] = axes[name].says(option)
            found[f"axis_{name}_name"] = option
        else:
            found[name] = option
    return found
