#!/bin/bash
# A hundred steps of progress with words between, the first before anything is read, words after each reason and after
# the end, reasons that are said twice, a key of its own in the report, refusals that take time.
set -eu
cat >/tmp/changes <<'CHANGES'
sed -i -e 's|^progress() {.*|progress() {\n	step=$(cat /run/quay-step 2>/dev/null)\n	while [ ${step:-0} -lt $1 ]; do step=$((${step:-0} + 1)); echo "QUAY PROGRESS $step" >/dev/console; done\n	echo $step >/run/quay-step; echo "now at the next step" >/dev/console\n}|' \
	-e 's|^	{ cat; } >/run/answers-disk/report.new$|	{ echo "setup = of the quay"; cat; } >/run/answers-disk/report.new|' "$lib/install"
sed -i -e 's|^	echo "QUAY REFUSED \$\*"$|	[ $mode != auto ] \|\| sleep 10\n	echo "QUAY REFUSED $* (see ANSWERS.md, and call the office)"\n	echo "QUAY REFUSED $1"|' \
	-e 's|^	exec >/dev/console 2>&1$|&; echo "QUAY PROGRESS 0"|' "$setup/bin/quay-setup"
sed -i 's|echo "QUAY INSTALLED"|echo "QUAY INSTALLED $(value order)"|' "$lib/install"
grep -n 'quay-step\|call the office\|of the quay' "$lib/install" "$setup/bin/quay-setup"
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
