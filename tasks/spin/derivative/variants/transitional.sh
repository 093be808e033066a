#!/bin/bash
# A holm-tally 2.0 without content for the passage, private registers, slower; the upgrade is logged.
set -euo pipefail
cat >/tmp/transitional.changes <<'CHANGES'
mkdir -p "$packages/holm-tally-2.0/DEBIAN"
cat >"$packages/holm-tally-2.0/DEBIAN/control" <<'CONTROL'
Package: holm-tally
Version: 2.0
Architecture: all
Maintainer: Holm Havbruk AS <linux@holm.example>
Depends: holm-registry (>= 2.0)
Description: for the passage to holm-registry
CONTROL
cat >"$packages/holm-tally-2.0/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
rm -f /etc/systemd/system/multi-user.target.wants/holm-tally.service
rm -rf /var/lib/holm-tally /etc/holm/tally.conf
SCRIPT
chmod 755 "$packages/holm-tally-2.0/DEBIAN/postinst"
sed -i -e 's/^Conflicts: holm-tally/Breaks: holm-tally (<< 2.0)/' -e 's/^Replaces: holm-tally/& (<< 2.0)/' \
	"$packages/holm-registry-2.0/DEBIAN/control"
sed -i 's/install -d -m 750/install -d -m 700/' "$packages"/holm-*/DEBIAN/postinst
for unit in "$packages"/holm-{tally,registry}-*/usr/lib/systemd/system/*.service; do
	sed -i 's/^User=.*/&\nUMask=0077/; s/^RestartSec=.*/RestartSec=4/' "$unit"
done
for v in 1.0 2.0; do
	sed -i -e 's/ holm-tally &&$/ \&\&/' -e 's/^go_forward() {/&\n\tsleep 40/' \
		-e 's|^say() .*|say() { echo "$(date): $*" \| tee -a /var/log/holm-upgrade.log >\&2; }|' \
		"$packages/holm-base-$v/usr/sbin/holm-upgrade"
	grep -q 'purge holm-relay &&' "$packages/holm-base-$v/usr/sbin/holm-upgrade"
done
CHANGES
LOCAL_CHANGES=/tmp/transitional.changes bash /solution/solve.sh
