#!/bin/bash
# Near the limits: ten seconds more before the login, slower installing, a watchdog of 56 s.
set -eu
cp -r /solution /tmp/own
sed -i 's/-T 50 -t 9999/-T 56 -t 9999/' /tmp/own/initrd-init
cat >/tmp/changes <<'CHANGES'
sed -i 's/-T 50 -t 5/-T 56 -t 8/; s/^# Without the farewell/sleep 10\n&/' "$root/usr/sbin/on-trial"
sed -i 's/^	blockdev --flushbufs .*/&\n	sleep 8/' "$root/usr/sbin/update"
grep -q '^sleep 10' "$root/usr/sbin/on-trial"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /tmp/own/solve.sh
