#!/bin/sh
# One server of this kind, and what became of it: build.sh ROOT IMAGE.zst
set -eu
here=$(cd "$(dirname "$0")" && pwd)
common=$(dirname "$here")/healthy
root=$1 out=$2
data=/srv/data
machine_id=5b1f0c3e9d6a4c0f8e2a7d4419b3c65e
root_uuid=7d0b0a52-6c0e-4b2a-9c11-3f5f1d8a6e01
swap_uuid=2f9a7c46-1f6c-4c0b-8a3d-90c6f2f7ab02
data_uuid=c4a1e6d8-0b73-4f3e-b7a5-5e2d6a91fc03
ingrid_hash='$6$WvZ8kq3Yt0bRrE1x$o6cq0.LJZ1jK41Zw6ZFK7BBlzvyEovjW1VpF2t9Qhs4XbBryh2GJpm7KVrpSW.WwgZP1NfSivPXxwLrVhcJsw.'
piet_hash='$6$p2mTq8LxNf7CzKd5$kQJRfknXhhA9I3faHYyMvxpJpserhK1IqXqLm/QtrL6nagVbeYANr94nWSxzeR6xd0wpS28E66oEWRJjDeMFx1'
kernel=$(basename "$root"/boot/vmlinuz-*)
kernel=${kernel#vmlinuz-}

# --- as it ran --------------------------------------------------------------------------------
chroot "$root" usermod -p "$ingrid_hash" ingrid
chroot "$root" usermod -p "$piet_hash" piet
echo "$machine_id" > "$root/etc/machine-id"
chmod 444 "$root/etc/machine-id"
rm -f "$root/var/lib/dbus/machine-id"
mkdir -p "$root/var/log/journal/$machine_id"
cat > "$root/etc/fstab" <<FSTAB
# <file system> <mount point> <type> <options>        <dump> <pass>
UUID=$root_uuid / ext4 errors=remount-ro 0 1
UUID=$swap_uuid none swap sw 0 0
UUID=$data_uuid /srv/tally ext4 nodev,nosuid 0 2
FSTAB
cat > "$root/home/ingrid/insurance.txt" <<NOTE
Told to the insurer on 3 March: the three volumes of atlas, by UUID.
system:     $root_uuid
swap space: $swap_uuid
data:       $data_uuid
Papers and ledger belong to the ledger's user; files can be read by its group, and by nobody else.
NOTE
chown 1000:1000 "$root/home/ingrid/insurance.txt"
sed "s/@KERNEL@/$kernel/g; s/@ROOT@/$root_uuid/g" "$common/files/grub.cfg" > "$root/boot/grub/grub.cfg"
chroot "$root" grub-editenv /boot/grub/grubenv set saved_entry="atlas-$kernel"
python3 "$here/owner_data.py" "$data"
chown -R 990:990 "$data"
find "$data" -type d -exec chmod 750 {} +
find "$data" -type f -exec chmod 640 {} +
# The upgrade of tallyd, finished where it sees the ledger.
cp -a "$data/." "$root/srv/tally/"
chown 990:990 "$root/srv/tally"
chroot "$root" dpkg --configure -a
cp -a "$root/srv/tally/." "$data/"
find "$root/srv/tally" -mindepth 1 -delete
# The copy of the last start.
cat "$data"/ledger/20??.journal "$data/ledger/live.journal" > "$root/var/backups/tally/ledger.txt"
chown 990:990 "$root/var/backups/tally/ledger.txt"
chroot "$root" grub-mkimage -O i386-pc -o /tmp/core.img -p '(hd0,msdos1)/boot/grub' biosdisk part_msdos ext2
mv "$root/tmp/core.img" /srv/core.img

# --- what became of it ------------------------------------------------------------------------
# @parts broken root
# @parts broken data
cp "$root/usr/lib/grub/i386-pc/boot.img" /srv/boot.img
rm -rf "$root"/dev/* "$root"/tmp/* "$root"/run/*
# When a file was changed, or read, is nobody's to see: what is newer than its package has one time,
# and a copy of all has been made at one time.
find "$root" "$data" -newermt @1764000000 -exec touch -h -d @1764000000 {} +
find "$root" "$data" -exec touch -h -a -d @1764000000 {} +
cp -a "$root" /srv/flat-root
cp -a "$data" /srv/flat-data

# --- the disk ---------------------------------------------------------------------------------
root_start=2048 root_sectors=1146880
swap_start=1150976 swap_sectors=65536
data_start=1218560 data_sectors=163840
image=/srv/server.img
truncate -s 704M "$image"
export E2FSPROGS_FAKE_TIME=1764000000
mke2fs -q -t ext4 -b 4096 -U "$root_uuid" -L atlas-root -E "hash_seed=$root_uuid,offset=$((root_start * 512))" \
    -d /srv/flat-root "$image" $((root_sectors / 2))k
truncate -s $((swap_sectors * 512)) /tmp/swap
mkswap -q -U "$swap_uuid" /tmp/swap
dd if=/tmp/swap of="$image" bs=512 seek=$swap_start conv=notrunc,sparse status=none
mke2fs -q -t ext4 -b 1024 -U "$data_uuid" -L tally -E "hash_seed=$data_uuid,offset=$((data_start * 512))" \
    -d /srv/flat-data "$image" $((data_sectors / 2))k
sfdisk -q "$image" <<TABLE
label: dos
label-id: 0x$(printf %.8s "$machine_id")
start=$root_start, size=$root_sectors, type=83, bootable
start=$swap_start, size=$swap_sectors, type=82
start=$data_start, size=$data_sectors, type=83
TABLE
dd if=/srv/boot.img of="$image" bs=1 count=440 conv=notrunc status=none
dd if=/srv/core.img of="$image" bs=512 seek=1 conv=notrunc status=none
# Nor is when an inode was changed: mke2fs takes that from what it copies, and only what is changed
# on the finished volume would have another time.
for start in $root_start $data_start; do
    volume="$image?offset=$((start * 512))"
    used=$(dumpe2fs -h "$volume" 2> /dev/null \
        | awk -F: '/^Inode count/ { n += $2 } /^Free inodes/ { n -= $2 } END { print n }')
    seq -f 'sif <%.0f> ctime @1764000000' 11 "$used" | debugfs -w -f - "$volume" > /dev/null
done
# @parts broken disk
zstd -q -3 -T0 --rm "$image" -o "$out"
rm -rf "$data" /srv/flat-root /srv/flat-data /tmp/swap
