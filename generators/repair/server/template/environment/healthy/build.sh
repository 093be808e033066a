#!/bin/sh
# What all servers of this kind have in common, as it ran: build.sh ROOT. Nothing here is drawn, so
# that the layer serves all instances.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$1

from-tasks-lib atlas-system.sh

echo atlas > "$root/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 atlas.brouwer.example atlas\n' > "$root/etc/hosts"
rm -f "$root"/etc/resolv.conf "$root"/etc/ssh/ssh_host_*
install -m 600 "$here/files/ssh_host_ed25519_key" "$root/etc/ssh/"
install -m 644 "$here/files/ssh_host_ed25519_key.pub" "$root/etc/ssh/"
sed 's/iifname "ens18" //' "$here/files/nftables.conf" > "$root/etc/nftables.conf"
chmod 644 "$root/etc/nftables.conf"
sed 's/^Name=ens18/Type=ether/' "$here/files/lan.network" > "$root/etc/systemd/network/lan.network"
install -m 755 "$here/files/ledger-check" "$root/usr/local/sbin/ledger-check"
sed -e '/^After=tallyd.service/d' -e 's/^Before=.*/Before=tallyd.service/' \
    "$here/files/ledger-check.service" > "$root/etc/systemd/system/ledger-check.service"
cp "$here/files/default-grub" "$root/etc/default/grub"
chroot "$root" groupadd -r -g 990 tally
chroot "$root" useradd -r -u 990 -g 990 -d /srv/tally -s /usr/sbin/nologin tally
chroot "$root" useradd -m -u 1000 -s /bin/bash -G sudo,adm -c 'Ingrid Brouwer' ingrid
chroot "$root" useradd -m -u 1001 -s /bin/bash -G adm -c 'Piet Brouwer' piet
chroot "$root" usermod -p '*' root
chroot "$root" systemctl enable -q systemd-networkd nftables ssh ledger-check
mkdir -p "$root/etc/tally" "$root/srv/tally"
printf '[tallyd]\nport = 4710\ndurability = strict\n' > "$root/etc/tally/tallyd.conf"
echo BROUWER-0417 > "$root/etc/tally/site.id"
install -d -o 990 -g 990 -m 700 "$root/var/backups/tally"

chown -R 0:0 "$here/tallyd"
chmod -R go-w "$here/tallyd"
dpkg-deb --root-owner-group -Zgzip --build "$here/tallyd" "$root/tallyd.deb"
chroot "$root" dpkg --unpack /tallyd.deb
rm "$root/tallyd.deb"
for unit in tallyd tally-backup; do
    ln -s "/lib/systemd/system/$unit.service" \
        "$root/etc/systemd/system/multi-user.target.wants/$unit.service"
done

printf 'MODULES=list\nCOMPRESSLEVEL=1\n' > "$root/etc/initramfs-tools/conf.d/driver-policy"
printf 'virtio_pci\nvirtio_blk\nvirtio_scsi\nsd_mod\n' >> "$root/etc/initramfs-tools/modules"
chroot "$root" update-initramfs -c -k all
mkdir -p "$root/boot/grub"
cp -r "$root/usr/lib/grub/i386-pc" "$root/boot/grub/"
rm -f "$root"/boot/grub/i386-pc/*.img
chroot "$root" grub-editenv /boot/grub/grubenv create
