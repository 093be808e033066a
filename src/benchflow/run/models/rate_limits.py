"""What providers allow, as a person says it: for every model, or for one by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchflow.errors import UsageError
from benchflow.gateway.config import Limits

#: The key for every model that has no limits of its own.
EVERY = ""


def read(given: Mapping[str, Sequence[str]]) -> dict[str, Limits]:
    """Limits by model from `[MODEL=]N` texts; `given`: those of each kind ("rpm", "tpm",
    "concurrent"). What stands for one model alone goes before what stands for every model.

    Raises UsageError that names the option.
    """
    kinds: dict[str, dict[str, int]] = {}
    for kind, texts in given.items():
        for text in texts:
            model, _, number = text.rpartition("=")
            if not number.isdigit() or not int(number):
                raise UsageError(
                    f"{OPTIONS[kind]} {text!r}: give a whole number, 1 or more",
                    hint="N for every model, or MODEL=N",
                )
            kinds.setdefault(model, {})[kind] = int(number)
    return {model: Limits(**numbers) for model, numbers in kinds.items()}


#: The option of `benchflow run` for each kind of limit.
OPTIONS = {"rpm": "--rpm", "tpm": "--tpm", "concurrent": "--calls-at-once"}


def of(model: str, limits: Mapping[str, Limits]) -> Limits:
    """The limits that hold for `model`."""
    found = [limits[key].model_dump(exclude_none=True) for key in (EVERY, model) if key in limits]
    return Limits(**{kind: number for each in found for kind, number in each.items()})


def check(limits: Mapping[str, Limits], models: Iterable[str]) -> None:
    """Raises UsageError where a limit is for a model that nobody uses."""
    known = [*models]
    for model in limits:
        if model != EVERY and model not in known:
            raise UsageError(
                f"limits for {model}, which no agent here uses",
                hint=f"models: {', '.join(known) or 'none'}",
            )
