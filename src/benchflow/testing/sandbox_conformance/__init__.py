"""The conformance suite: what any sandbox that is offered to Harbor has to be.

    python -m benchflow.testing.sandbox_conformance \\
        --env benchflow.sandbox.environment:NamespaceEnvironment

One line a check: pass, fail, or not applicable and why. See docs/conformance.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

from benchflow.testing.sandbox_conformance import (
    escape_checks,
    exec_checks,
    file_checks,
    kernel_checks,
    life_checks,
    limit_checks,
    network_checks,
)
from benchflow.testing.sandbox_conformance.catalogue import CATALOGUE, Check
from benchflow.testing.sandbox_conformance.outcome import Failed, NotApplicable, Result
from benchflow.testing.sandbox_conformance.rig import Rig

__all__ = ["CATALOGUE", "Check", "Failed", "NotApplicable", "Result", "run", "run_async"]

_MODULES = (
    exec_checks,
    file_checks,
    network_checks,
    limit_checks,
    life_checks,
    escape_checks,
    kernel_checks,
)
_LONGEST_S = 300.0


def run(
    environment: str,
    *,
    only: Iterable[str] = (),
    kwargs: dict[str, Any] | None = None,
    patience: float = 1.0,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Put the environment of an import path (`module:Class`) through the checks.

    `only` are names or groups of checks; `kwargs` go to the environment's constructor. All limits
    on time are `patience` times as long. Errors in making the first environment are raised: there
    is nothing to judge then.
    """
    return asyncio.run(
        run_async(environment, only=only, kwargs=kwargs, patience=patience, on_result=on_result)
    )


async def run_async(
    environment: str,
    *,
    only: Iterable[str] = (),
    kwargs: dict[str, Any] | None = None,
    patience: float = 1.0,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """`run`, for callers with an event loop."""
    wanted = set(only)
    unknown = wanted - set(CATALOGUE) - {check.group for check in CATALOGUE.values()}
    if unknown:
        raise ValueError(f"no such check or group: {', '.join(sorted(unknown))}")
    rig = Rig(environment, kwargs, patience)
    results = []
    try:
        await rig.env()
        for check in CATALOGUE.values():
            if wanted and not wanted & {check.name, check.group}:
                continue
            results.append(await _judge(check, rig))
            if on_result is not None:
                on_result(results[-1])
    finally:
        await rig.close()
    return results


async def _judge(check: Check, rig: Rig) -> Result:
    began = time.monotonic()

    def result(status: Any, detail: str = "") -> Result:
        line = " ".join(detail.split())[:300]
        return Result(check.name, check.promise, status, line, round(time.monotonic() - began, 3))

    try:
        await asyncio.wait_for(check.body(rig), _LONGEST_S * rig.patience)
    except NotApplicable as reason:
        return result("not applicable", str(reason))
    except Failed as failure:
        return result("fail", str(failure))
    except TimeoutError:
        return result("fail", f"no answer in {_LONGEST_S * rig.patience:.0f} s")
    except Exception as error:
        return result("fail", f"{type(error).__name__}: {error}")
    return result("pass")
