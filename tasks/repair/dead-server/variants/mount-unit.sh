#!/bin/bash
# The data volume by a mount unit of its own and no line of fstab, the order by a drop-in of tallyd.
set -euo pipefail
bash /solution/solve.sh
system='/app/out/server.img?offset=1048576'
work=$(mktemp -d)
uuid=$(awk '$1 == "tally" { print $4 }' /tmp/repair/found)
device=dev-disk-by\\x2duuid-${uuid//-/\\x2d}
cat > "$work/srv-tally.mount" <<UNIT
[Unit]
Description=Ledger and papers
Requires=systemd-fsck@$device.service
After=systemd-fsck@$device.service

[Mount]
What=/dev/disk/by-uuid/$uuid
Where=/srv/tally
Type=ext4
Options=nodev,nosuid

[Install]
RequiredBy=local-fs.target
UNIT
grep -v /srv/tally /tmp/repair/fstab > "$work/fstab"
sed '/^Before=/d' /tmp/repair/ledger-check.service > "$work/ledger-check.service"
printf '[Unit]\nRequires=ledger-check.service\nAfter=ledger-check.service\n' > "$work/order.conf"
debugfs -w -f - "$system" <<CMD
rm /etc/fstab
write $work/fstab /etc/fstab
sif /etc/fstab mode 0100644
write $work/srv-tally.mount /etc/systemd/system/srv-tally.mount
mkdir /etc/systemd/system/local-fs.target.requires
cd /etc/systemd/system/local-fs.target.requires
symlink srv-tally.mount /etc/systemd/system/srv-tally.mount
mkdir /etc/systemd/system/tallyd.service.d
write $work/order.conf /etc/systemd/system/tallyd.service.d/order.conf
rm /etc/systemd/system/ledger-check.service
write $work/ledger-check.service /etc/systemd/system/ledger-check.service
CMD
debugfs -R 'cat /etc/systemd/system/srv-tally.mount' "$system" 2> /dev/null | cmp - "$work/srv-tally.mount"
e2fsck -fn "$system"
