#!/bin/sh
# It tells on standard error what it does, also where all is well.
set -eu
bash /solution/solve.sh
sed -i 's/^    os\.umask(0o022)$/&\n    print(WORD, "begins:", *arguments, file=sys.stderr)/' /app/out/manager
grep -q 'begins:' /app/out/manager
