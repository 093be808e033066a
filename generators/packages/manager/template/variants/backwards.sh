#!/bin/sh
# Packages are fetched in another order.
set -eu
bash /solution/solve.sh
sed -i '/^    read = {}$/{n;s/plan\.items()/reversed([*plan.items()])/}' /app/out/manager
grep -q 'in reversed(\[\*plan' /app/out/manager
