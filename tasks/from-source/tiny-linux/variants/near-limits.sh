#!/bin/bash
# Near the limits: a restart of the kernel after nine seconds, 18 seconds to go down, services back after four, a log of 24 KiB, a loader that waits.
set -euo pipefail
work=$(mktemp -d)
cp -a /solution/. "$work"
cd "$work/rootfs"
sed -i 's/ -s 64 -b 2/ -s 12 -b 1/' etc/sv/syslogd/run
for finish in etc/sv/*/finish; do sed -i 's/^read -r now rest.*/sleep 3\n&/' "$finish"; done
sed -i 's/^logger -t shutdown "services stopped"/sleep 15\n&/' etc/init.d/shutdown
sed -i -e 's/panic=""/panic="panic=9"/' -e 's/echo "DEFAULT tiny"/printf "SERIAL 0 115200\\nDEFAULT tiny\\n"/' -e 's/echo "PROMPT 0"/printf "PROMPT 1\\nTIMEOUT 60\\n"/' "$work/solve.sh"
bash "$work/solve.sh"
