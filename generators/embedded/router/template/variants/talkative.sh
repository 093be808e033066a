#!/bin/sh
# The command tells on standard error what it does, also where all is well.
set -eu
bash /solution/solve.sh
sed -i 's/^        asked(sys.argv\[1:\])$/        print(WORD, "begins:", *sys.argv[1:], file=sys.stderr)\n&/' /app/out/site/start
grep -q 'begins:' /app/out/site/start
