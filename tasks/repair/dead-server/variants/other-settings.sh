#!/bin/bash
# The least that helps: defaults instead of settings, other rules for the card, the folder by tmpfiles.
set -euo pipefail
STOP_AFTER=service bash /solution/solve.sh
system='/app/out/server.img?offset=1048576'
tree=/tmp/tree
work=$(mktemp -d)
kernel=$(basename "$tree"/boot/vmlinuz-*)
# Only the circle's own line goes: what is before the network is before tallyd, which waits for it.
sed '/^After=tallyd.service/d' "$tree/etc/systemd/system/ledger-check.service" > "$work/check"
sed 's/iifname "ens18"/iifname != "lo"/' "$tree/etc/nftables.conf" > "$work/nftables"
printf '[Match]\nName=e*\n\n[Network]\nDHCP=yes\n' > "$work/network"
sed '/^durability/d' "$tree/etc/tally/tallyd.conf" > "$work/tallyd"
echo 'd /var/backups/tally 0700 tally tally -' > "$work/tmpfiles"
printf 'MODULES=most\nCOMPRESSLEVEL=1\n' > "$tree/etc/initramfs-tools/conf.d/driver-policy"
sed -i '/^virtio_blk/d' "$tree/etc/initramfs-tools/modules"
chroot "$tree" update-initramfs -u -k "${kernel#vmlinuz-}"
# The first entry, whatever it is called, and nothing remembered.
sed '/^else/,/^fi/s/set default=.*/set default=0/' "$tree/boot/grub/grub.cfg" > "$work/grub.cfg"
grub-editenv "$work/grubenv" create
put() { # put LOCAL PATH
    debugfs -w -f - "$system" > /dev/null 2>&1 <<CMD
rm $2
write $1 $2
sif $2 mode 0100644
CMD
    debugfs -R "cat $2" "$system" 2> /dev/null | cmp - "$1"
}
put "$work/check" /etc/systemd/system/ledger-check.service
put "$work/nftables" /etc/nftables.conf
put "$work/network" /etc/systemd/network/lan.network
put "$work/tallyd" /etc/tally/tallyd.conf
put "$work/tmpfiles" /etc/tmpfiles.d/tally.conf
put "$tree/etc/initramfs-tools/conf.d/driver-policy" /etc/initramfs-tools/conf.d/driver-policy
put "$tree/boot/initrd.img-${kernel#vmlinuz-}" "/boot/initrd.img-${kernel#vmlinuz-}"
put "$work/grub.cfg" /boot/grub/grub.cfg
put "$work/grubenv" /boot/grub/grubenv
e2fsck -fn "$system"
