#!/bin/bash
# Near the limits: twenty seconds more before the login, logs of just 64 KiB, two seconds to say what has changed, pauses a little longer.
set -eu
cat >/var/tmp/changes.sh <<'CHANGES'
sed -i 's/^KEPT = .*/KEPT = 64 << 10/; s/self\._stopping\.wait(min(2\*\*row, LONGEST))/self._stopping.wait(0.5 + min(2**row, LONGEST))/' "$lib/container.py"
sed -i 's/^exec \/sbin\/getty/sleep 20\n&/' "$root/usr/sbin/log-in"
grep -q '0.5 + min' "$lib/container.py"
grep -q '^sleep 20' "$root/usr/sbin/log-in"
CHANGES
LOCAL_CHANGES=/var/tmp/changes.sh exec bash /solution/solve.sh
