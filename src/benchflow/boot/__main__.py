"""`python3 boot.pyz verify --tests DIR --logs DIR` and `python3 boot.pyz selfcheck`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 a reward was written (of some milestones: partial.json), 2 wrong usage, 3 the
    verifier broke."""
    parser = argparse.ArgumentParser(prog="boot.pyz")
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("verify", help="run checks.py and write the reward")
    run.add_argument("--tests", type=Path, required=True, help="folder of checks.py and task.json")
    run.add_argument("--logs", type=Path, required=True, help="folder for reward and evidence")
    run.add_argument(
        "--milestone", action="append", default=[], metavar="ID",
        help="run only its checks and those of what it requires, and write no reward; repeat it",
    )  # fmt: skip
    run.add_argument("--json", action="store_true", help="print milestones.json instead of text")
    verbs.add_parser("selfcheck", help="print tools and versions as JSON")
    options = parser.parse_args(arguments)
    _close_against_outside()
    if options.verb == "selfcheck":
        from benchflow.boot.runner.selfcheck import selfcheck

        print(json.dumps(selfcheck(), indent=1))
        return 0
    from benchflow.boot.runner.verify import verify

    return verify(options.tests, options.logs, as_json=options.json, asked=options.milestone)


def _close_against_outside() -> None:
    """Keep the environment from steering pytest or the programs that checks start."""
    for name in [name for name in os.environ if name.startswith(("PYTEST_", "PYTHON"))]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("CI", None)
    os.environ.pop("BUILD_NUMBER", None)


if __name__ == "__main__":
    sys.exit(main())
