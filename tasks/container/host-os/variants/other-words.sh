#!/bin/bash
# Other words and numbers: the status is written over many lines, with more keys in another order, some of which change all the time; health scripts write into a file; users from 200000 on, no /dev/shm, a /tmp that only the container's limit bounds.
set -eu
cat >/var/tmp/changes.sh <<'CHANGES'
sed -i 's/put(f"{RUN}\/containers.new", json.dumps(report) + "\\n")/put(f"{RUN}\/containers.new", json.dumps(report, indent=2, sort_keys=True) + "\\n")/' "$root/usr/sbin/hostd"
sed -i 's/printf .{"host": {"version": %s, "slot": "%s", \(.*\)"carrier": "%s"},\\n"containers": /printf '"'"'{\\n  "maker": "Werft und S\\303\\266hne",\\n  "host": {"slot": "%2$s", "version": %1$s, \1"carrier": "%s", "load": [0.5, null]},\\n"containers": /' "$root/usr/sbin/hostctl"
sed -i 's/%2\$s", "version": %1\$s/%s", "version": %s/; s/^		"\$(release_version)" "\$slot" "\$state"/		"$slot" "$(release_version)" "$state"/' "$root/usr/sbin/hostctl"
sed -i 's/^FIRST_USER = .*/FIRST_USER = 200_000/; /mount("\/dev\/shm"/d; s/, "mode=1777", "size=16m")/, "mode=1777")/' "$lib/container.py"
sed -i 's/^"status 1") status ;;/"status 1") status | sed "s\/\\"carrier\\":\/\\"uptime\\": $(cut -d" " -f1 \/proc\/uptime), \&\/; s\/\\"oom_kills\\":\/\\"seen\\": $$, \&\/" ;;/' "$root/usr/sbin/hostctl"
sed -i 's/ >\/dev\/console 2>&1 9>&-/ >>\/run\/health.log 2>\&1 9>\&-/' "$root/usr/sbin/on-trial"
grep -q 'health.log' "$root/usr/sbin/on-trial"
grep -q uptime "$root/usr/sbin/hostctl"
grep -q 'indent=2' "$root/usr/sbin/hostd"
grep -q '"maker"' "$root/usr/sbin/hostctl"
grep -q '^		"$slot" "$(release_version)"' "$root/usr/sbin/hostctl"
! grep -q 'size=16m\|/dev/shm' "$lib/container.py"
CHANGES
LOCAL_CHANGES=/var/tmp/changes.sh exec bash /solution/solve.sh
