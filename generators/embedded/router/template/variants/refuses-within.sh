#!/bin/sh
# What may not pass between networks is refused, also where the order leaves that open.
set -eu
bash /solution/solve.sh
sed -i 's/^    if "reject" not in HAS:$/    if not HAS:/' /app/out/site/start
grep -q '^    if not HAS:$' /app/out/site/start
