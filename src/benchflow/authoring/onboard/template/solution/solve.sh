#!/bin/sh
# The oracle, with STOP_AFTER=<milestone> (docs/authoring.md, section 6).
echo "solution/solve.sh is not written yet: repo.toml says what was inferred, and what was not" >&2
exit 1
