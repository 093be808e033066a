"""The command: `python -m benchflow.testing.sandbox_conformance --env module:Class [--json]`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from benchflow.errors import BenchflowError
from benchflow.testing.sandbox_conformance import CATALOGUE, Result, run


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchflow.testing.sandbox_conformance",
        description="Put a Harbor environment through the conformance suite.",
    )
    parser.add_argument("--env", metavar="MODULE:CLASS", help="the environment's import path")
    parser.add_argument("--kwarg", action="append", default=[], metavar="NAME=JSON")
    parser.add_argument(
        "--patience", type=float, default=1.0, metavar="N",
        help="all limits on time are N times as long (a machine without KVM)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--markdown", action="store_true", help="the table of docs/conformance.md")
    parser.add_argument("--list", action="store_true", help="name the checks and end")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help="names or groups; default: all")
    options = parser.parse_args()
    if options.list:
        for check in CATALOGUE.values():
            print(f"{check.name:40} {check.promise}")
        return 0
    if not options.env:
        parser.error("--env is needed")
    kwargs = {}
    for item in options.kwarg:
        name, _, value = item.partition("=")
        kwargs[name] = json.loads(value)
    live = not (options.json or options.markdown)
    try:
        results = run(
            options.env,
            only=options.checks,
            kwargs=kwargs,
            patience=options.patience,
            on_result=_line if live else None,
        )
    except BenchflowError as error:
        print(
            f"error: {error.message}" + (f" ({error.hint})" if error.hint else ""), file=sys.stderr
        )
        return error.exit_code
    if options.json:
        print(json.dumps({"environment": options.env, "checks": [asdict(r) for r in results]}))
    elif options.markdown:
        print(_table(results))
    else:
        print(_summary(results))
    return 1 if any(result.status == "fail" for result in results) else 0


def _line(result: Result) -> None:
    detail = f": {result.detail}" if result.detail else ""
    print(f"{result.status:14} {result.check}{detail}", flush=True)


def _summary(results: list[Result]) -> str:
    counts = dict.fromkeys(("pass", "fail", "not applicable"), 0)
    for result in results:
        counts[result.status] += 1
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _table(results: list[Result]) -> str:
    rows = ["| check | what it promises | here |", "|---|---|---|"]
    for result in results:
        said = result.status + (f": {result.detail}" if result.detail else "")
        cells = (result.check, result.promise, said)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*rows, "", f"{_summary(results)}."])


if __name__ == "__main__":
    sys.exit(main())
