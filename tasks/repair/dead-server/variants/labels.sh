#!/bin/bash
# fstab by LABEL and PARTUUID in another order, the copy's folder 0750, notes with UTF-8 names left.
set -euo pipefail
bash /solution/solve.sh
disk=/app/out/server.img
system="$disk?offset=1048576"
work=$(mktemp -d)
id=$(sfdisk --disk-id "$disk")
swap=$(printf '%s-02' "${id#0x}")
printf 'LABEL=tally\t/srv/tally\text4\tdefaults,nosuid,nodev,noatime\t0\t2\n' > "$work/fstab"
printf 'PARTUUID=%s\tnone\tswap\tsw\t0\t0\nLABEL=atlas-root\t/\text4\tdefaults\t0\t1\n' "$swap" >> "$work/fstab"
echo 'Wat er gedaan is: zie de rekening.' > "$work/note"
debugfs -w -f - "$system" <<CMD
rm /etc/fstab
write $work/fstab /etc/fstab
sif /etc/fstab mode 0100644
write /tmp/tree/etc/fstab /etc/fstab.vóór-de-verhuizing
sif /etc/fstab.vóór-de-verhuizing mode 0100644
write $work/note /root/Reparatur-Übersicht.txt
sif /var/backups/tally mode 040750
CMD
debugfs -R 'cat /etc/fstab' "$system" 2> /dev/null | cmp - "$work/fstab"
e2fsck -fn "$system"
