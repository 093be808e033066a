#!/bin/sh
# What is known stands at the end of the state area, and each write is flushed at once.
set -eu
bash /solution/solve.sh
sed -i 's/^COPIES = .*/COPIES = (MAP[1] - 32768, MAP[1] - 65536)/; s/^        places = \[0\]$/        places = [COPIES[0]]/; s/^    disk = os.open(FLASH, os.O_RDWR)$/    disk = os.open(FLASH, os.O_RDWR | os.O_SYNC)/' /app/out/updater
grep -q 'O_SYNC' /app/out/updater
