#!/bin/bash
# A menu of twelve seconds, a wall that is back after seven, hangs seen after forty, half a minute to switch off, and twenty seconds of words for a damaged medium.
set -euo pipefail
cat >/tmp/limits.changes <<'CHANGES'
sed -i -e 's/^RestartSec=.*/RestartSec=6s/' -e 's/^WatchdogSec=.*/WatchdogSec=40/' "$units/wall.service"
sed -i 's/^set timeout=.*/set timeout=12/' "$menu"
sed -i 's/^	sleep 1$/	for word in $(seq 20); do echo "EXPO MEDIUM $1" >\/dev\/ttyS0; sleep 1; done/' \
	"$root/etc/initramfs-tools/scripts/expo"
cat >"$units/goodbye.service" <<'UNIT'
[Unit]
Description=Says goodbye

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
ExecStop=/bin/sleep 25

[Install]
WantedBy=multi-user.target
UNIT
chroot "$root" systemctl --quiet enable goodbye.service
CHANGES
LOCAL_CHANGES=/tmp/limits.changes bash /solution/solve.sh
