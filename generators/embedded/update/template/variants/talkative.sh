#!/bin/sh
# It tells on standard error what it does, also where all is well, unless its report was ordered.
set -eu
bash /solution/solve.sh
sed -i 's/^    work(load(), \*words\[1:\])$/    if "report" not in HAS:\n        print(WORD, "begins:", *words, file=sys.stderr)\n&/' /app/out/updater
grep -q 'begins:' /app/out/updater
