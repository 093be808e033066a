#!/bin/sh
# Packages are fetched in another order.
set -eu
bash /solution/solve.sh
sed -i 's/for name, one in plan\.items()}$/for name, one in reversed([*plan.items()])}/' /app/out/manager
grep -q 'reversed(\[\*plan' /app/out/manager
