"""A policy read from its file, an oracle's turns included."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from pydantic import ValidationError

from benchflow.errors import UsageError
from benchflow.scripted_model.oracle import turns_of
from benchflow.scripted_model.policy import Policy


def load(path: Path) -> Policy:
    """The policy in a .toml or .json file. Raises UsageError naming the file and the key."""
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        policy = Policy.model_validate(data)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise UsageError(
            f"{path}: {where}: {first['msg']}", hint="docs/models.md describes policies"
        ) from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}", hint="a policy is TOML, or JSON in .json") from error
    if policy.oracle is None:
        return policy
    return policy.model_copy(update={"turns": turns_of(policy.oracle, path.parent)})
