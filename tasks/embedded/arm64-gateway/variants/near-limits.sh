#!/bin/bash
# Near every limit: a slow start, changes in force after eight seconds, services back after four, six pings in a second, a carrier asked every twelve.
set -euo pipefail
cat >/tmp/changes <<'CHANGES'
sed -i 's|^: >/run/resolv.conf|sleep 18\n&|' "$root/etc/rc"
sed -i -e 's|^\t/usr/lib/gw/enforce$|\t{ sleep 2; /usr/lib/gw/enforce; killall dnsmasq vakt; } >/dev/null 2>\&1 \&|' \
	-e '/^\tkillall/d' "$root/usr/sbin/site"
sed -i -e 's|^\. /usr/lib/gw/common|&\n[ "$1" = names ] \|\| sleep 4|' -e 's/-t 3 -T 2 -A 3/-t 2 -T 2 -A 12/' "$root/usr/lib/gw/run"
sed -i -e 's|rate 10/second burst 5 packets accept|rate 6/second burst 1 packets accept|' \
	-e 's|limit rate 10/second burst 10|limit rate 9/second burst 3|' "$gw/enforce"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
