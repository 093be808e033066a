#!/bin/bash
# Takes its time and says more: a hundred steps of progress, words between them and after each reason, keys of its own
# in the report and empty lines, some seconds before it refuses.
set -eu
cat >/tmp/changes <<'CHANGES'
sed -i -e 's|^progress() {.*|LAST=0\nprogress() { while [ $LAST -lt $1 ]; do LAST=$((LAST + 1)); echo "QUAY PROGRESS $LAST" >/dev/console; done; echo "now at the next step" >/dev/console; }|' \
	-e 's|^	{ cat; } >/run/answers-disk/report.new$|	{ echo; echo "setup = of the quay"; cat; echo; } >/run/answers-disk/report.new|' "$lib/install"
sed -i -e 's|^	echo "QUAY REFUSED \$\*"$|	[ $mode != auto ] \|\| sleep 10; echo "QUAY REFUSED $* (see ANSWERS.md, and call the office)"|' "$setup/bin/quay-setup"
grep -n 'LAST\|call the office\|of the quay' "$lib/install" "$setup/bin/quay-setup"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
