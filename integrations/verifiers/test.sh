#!/bin/sh
# The tests of this package, in an environment of their own: verifiers 0.4.0 with Python 3.12 or newer.
# They need a checkout with `benchflow` (../../.venv).
# What needs Docker is skipped without it, with the reason. Arguments go to pytest: ./test.sh tests/test_load.py
set -eu
cd "$(dirname "$0")"
venv=${BENCHFLOW_VERIFIERS_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/benchflow-verifiers-0.4.0}
if [ ! -e "$venv/complete" ]; then
  "${PYTHON:-python3.12}" -m venv "$venv"
  "$venv/bin/pip" install --quiet "verifiers[harbor]==0.4.0" pytest
  touch "$venv/complete"
fi
"$venv/bin/pip" install --quiet --no-deps --editable .
PYTHONPATH=tests exec "$venv/bin/python" -m pytest -p no:cacheprovider "$@"
