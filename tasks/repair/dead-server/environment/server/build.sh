#!/bin/sh
# Build the server as its owner knew it on the evening before, then as the move left it.
# Runs as root of a build container; the result is the disk, compressed, at $1.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=/srv/root
data=/srv/data
out=$1

machine_id=5b1f0c3e9d6a4c0f8e2a7d4419b3c65e
root_uuid=7d0b0a52-6c0e-4b2a-9c11-3f5f1d8a6e01
swap_uuid=2f9a7c46-1f6c-4c0b-8a3d-90c6f2f7ab02
data_uuid=c4a1e6d8-0b73-4f3e-b7a5-5e2d6a91fc03
ingrid_hash='$6$WvZ8kq3Yt0bRrE1x$o6cq0.LJZ1jK41Zw6ZFK7BBlzvyEovjW1VpF2t9Qhs4XbBryh2GJpm7KVrpSW.WwgZP1NfSivPXxwLrVhcJsw.'
piet_hash='$6$p2mTq8LxNf7CzKd5$kQJRfknXhhA9I3faHYyMvxpJpserhK1IqXqLm/QtrL6nagVbeYANr94nWSxzeR6xd0wpS28E66oEWRJjDeMFx1'

# --- the system -------------------------------------------------------------------------------
from-tasks-lib atlas-system.sh

# --- this server ------------------------------------------------------------------------------
kernel=$(basename "$root"/boot/vmlinuz-*)
kernel=${kernel#vmlinuz-}
echo atlas > "$root/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 atlas.brouwer.example atlas\n' > "$root/etc/hosts"
rm -f "$root"/etc/resolv.conf "$root"/etc/ssh/ssh_host_*
install -m 600 "$here/files/ssh_host_ed25519_key" "$root/etc/ssh/"
install -m 644 "$here/files/ssh_host_ed25519_key.pub" "$root/etc/ssh/"
install -m 644 "$here/files/nftables.conf" "$root/etc/nftables.conf"
install -m 644 "$here/files/lan.network" "$root/etc/systemd/network/lan.network"
install -m 755 "$here/files/ledger-check" "$root/usr/local/sbin/ledger-check"
install -m 644 "$here/files/ledger-check.service" "$root/etc/systemd/system/"
cp "$here/files/default-grub" "$root/etc/default/grub"
chroot "$root" groupadd -r -g 990 tally
chroot "$root" useradd -r -u 990 -g 990 -d /srv/tally -s /usr/sbin/nologin tally
chroot "$root" useradd -m -u 1000 -s /bin/bash -G sudo,adm -c 'Ingrid Brouwer' ingrid
chroot "$root" useradd -m -u 1001 -s /bin/bash -G adm -c 'Piet Brouwer' piet
chroot "$root" usermod -p "$ingrid_hash" ingrid
chroot "$root" usermod -p "$piet_hash" piet
chroot "$root" usermod -p '*' root
chroot "$root" systemctl enable -q systemd-networkd nftables ssh ledger-check
mkdir -p "$root/etc/tally" "$root/srv/tally" "$root/var/log/journal/$machine_id"
printf '[tallyd]\nport = 4710\n; quicker on the old disks, RvD\ndurability = relaxed\n' \
    > "$root/etc/tally/tallyd.conf"
echo BROUWER-0417 > "$root/etc/tally/site.id"

# tallyd 2.0 was upgraded to 2.1 when the power went: unpacked, its postinst cut short.
chown -R 0:0 "$here/tallyd"
chmod -R go-w "$here/tallyd"
dpkg-deb --root-owner-group -Zgzip --build "$here/tallyd" "$root/tallyd.deb"
chroot "$root" dpkg --unpack /tallyd.deb
rm "$root/tallyd.deb"
sed -i '/^Package: tallyd$/,/^$/{s/^Status: .*/Status: install ok half-configured/;s/^Version: .*/&\nConfig-Version: 2.0-3/}' \
    "$root/var/lib/dpkg/status"
for unit in tallyd tally-backup; do
    ln -s "/lib/systemd/system/$unit.service" \
        "$root/etc/systemd/system/multi-user.target.wants/$unit.service"
done

# --- what the move did ------------------------------------------------------------------------
# Initramfs built for the old hypervisor's SCSI bus alone.
printf 'MODULES=list\nCOMPRESSLEVEL=1\n' > "$root/etc/initramfs-tools/conf.d/driver-policy"
printf 'virtio_pci\nvirtio_scsi\nsd_mod\n' >> "$root/etc/initramfs-tools/modules"
chroot "$root" update-initramfs -c -k "$kernel"
# The old hypervisor's names.
cat > "$root/etc/fstab" <<FSTAB
# <file system> <mount point> <type> <options>        <dump> <pass>
/dev/sda1       /             ext4   errors=remount-ro 0      1
/dev/sda2       none          swap   sw                0      0
/dev/sda3       /srv/tally    ext4   nodev,nosuid      0      0
FSTAB
# One good start, and then the kernel of the old days, which is gone.
mkdir -p "$root/boot/grub"
cp -r "$root/usr/lib/grub/i386-pc" "$root/boot/grub/"
rm -f "$root"/boot/grub/i386-pc/*.img
sed "s/@KERNEL@/$kernel/g; s/@ROOT@/$root_uuid/g" "$here/files/grub.cfg" > "$root/boot/grub/grub.cfg"
chroot "$root" grub-editenv /boot/grub/grubenv create
chroot "$root" grub-editenv /boot/grub/grubenv set \
    saved_entry='atlas-6.1.0-18-cloud-amd64' next_entry="atlas-$kernel"
# Ingrid's account: locked and past its date.
chroot "$root" usermod -L -e 2025-11-30 ingrid
# The new host's clone step emptied the machine id; a copy by scp opened the host key to all.
: > "$root/etc/machine-id"
rm -f "$root/var/lib/dbus/machine-id"
chmod 644 "$root/etc/ssh/ssh_host_ed25519_key"
rm -rf "$root"/dev/* "$root"/tmp/* "$root"/run/*

# --- the disk ---------------------------------------------------------------------------------
python3 "$here/owner_data.py" "$data"
chown -R 990:990 "$data"
find "$data" -type d -exec chmod 750 {} +
find "$data" -type f -exec chmod 640 {} +
root_start=2048 root_sectors=1146880
swap_start=1150976 swap_sectors=65536
data_start=1218560 data_sectors=163840
image=/srv/server.img
truncate -s 704M "$image"
export E2FSPROGS_FAKE_TIME=1764000000
mke2fs -q -t ext4 -b 4096 -U "$root_uuid" -L atlas-root -E "hash_seed=$root_uuid,offset=$((root_start * 512))" \
    -d "$root" "$image" $((root_sectors / 2))k
truncate -s $((swap_sectors * 512)) /tmp/swap
mkswap -q -U "$swap_uuid" /tmp/swap
dd if=/tmp/swap of="$image" bs=512 seek=$swap_start conv=notrunc,sparse status=none
mke2fs -q -t ext4 -b 1024 -U "$data_uuid" -L tally -E "hash_seed=$data_uuid,offset=$((data_start * 512))" \
    -d "$data" "$image" $((data_sectors / 2))k
# The first 64 KiB of the disk and of the data, and the data's first spare superblock.
dd if=/dev/zero of="$image" bs=64k count=1 conv=notrunc status=none
dd if=/dev/zero of="$image" bs=512 seek=$data_start count=128 conv=notrunc status=none
dd if=/dev/zero of="$image" bs=512 seek=$((data_start + 8193 * 2)) count=2 conv=notrunc status=none
zstd -q -3 -T0 --rm "$image" -o "$out"
rm -rf "$root" "$data" /tmp/swap
