#!/bin/bash
# Repair the server's disk in place, one milestone at a time. STOP_AFTER=<milestone> ends there.
set -euo pipefail

disk=/app/out/server.img
tree=/tmp/tree
scratch=/tmp/repair
mkdir -p /app/out "$scratch"
zstd -q -d -f --sparse /app/server.img.zst -o "$disk"

reached() {
    echo "reached: $1"
    [ "${STOP_AFTER:-}" != "$1" ] || exit 0
}

from-tasks-lib atlas-disk.sh

# --- partitions -------------------------------------------------------------------------------
sfdisk -q "$disk" <<TABLE
label: dos
start=$root_start, size=$root_sectors, type=83, bootable
start=$swap_start, size=$swap_sectors, type=82
start=$data_start, size=$data_sectors, type=83
TABLE
reached partitions

# --- data-volume ------------------------------------------------------------------------------
e2fsck -fy -b 24577 -B 1024 "$data" || [ $? -le 1 ]
e2fsck -fn "$data"
reached data-volume

# --- kernel: a boot loader that reads what is on the disk ---------------------------------------
grub=/usr/lib/grub/i386-pc
grub-mkimage -O i386-pc -o "$scratch/core.img" -p '(hd0,msdos1)/boot/grub' biosdisk part_msdos ext2
dd if=$grub/boot.img of="$disk" bs=1 count=440 conv=notrunc status=none
dd if="$scratch/core.img" of="$disk" bs=512 seek=1 conv=notrunc status=none
reached kernel

# --- root-disk: an initramfs that knows the new disk's driver -----------------------------------
mkdir -p "$tree"
debugfs -R "rdump / $tree" "$root" > "$scratch/rdump.log" 2>&1
kernel=$(basename "$tree"/boot/vmlinuz-*)
kernel=${kernel#vmlinuz-}
echo virtio_blk >> "$tree/etc/initramfs-tools/modules"
chroot "$tree" update-initramfs -u -k "$kernel"
put "$root" "$tree/boot/initrd.img-$kernel" "/boot/initrd.img-$kernel" 644 0 0
reached root-disk

# --- multi-user: the file systems by identity ---------------------------------------------------
cat > "$scratch/fstab" <<FSTAB
# <file system> <mount point> <type> <options> <dump> <pass>
UUID=$root_uuid / ext4 errors=remount-ro 0 1
UUID=$swap_uuid none swap sw 0 0
UUID=$data_uuid /srv/tally ext4 nodev,nosuid 0 0
FSTAB
put "$root" "$scratch/fstab" /etc/fstab 644 0 0
reached multi-user

# --- login ------------------------------------------------------------------------------------
sed '/^ingrid:/{s/^ingrid:!/ingrid:/;s/:20422:/::/}' "$tree/etc/shadow" > "$scratch/shadow"
put "$root" "$scratch/shadow" /etc/shadow 640 0 42
reached login

# --- volumes: the data are checked as the system is ---------------------------------------------
sed -i '/srv.tally/s/0 0$/0 2/' "$scratch/fstab"
put "$root" "$scratch/fstab" /etc/fstab 644 0 0
reached volumes

# --- identity ---------------------------------------------------------------------------------
basename "$tree"/var/log/journal/* > "$scratch/machine-id"
put "$root" "$scratch/machine-id" /etc/machine-id 444 0 0
reached identity

# --- rights: the host key is root's alone -------------------------------------------------------
edit "$root" <<< 'sif /etc/ssh/ssh_host_ed25519_key mode 0100600'
reached rights

# --- network: nothing that names the card -------------------------------------------------------
sed 's/^Name=ens18/Type=ether/' "$tree/etc/systemd/network/lan.network" > "$scratch/lan.network"
put "$root" "$scratch/lan.network" /etc/systemd/network/lan.network 644 0 0
sed 's/iifname "ens18" //' "$tree/etc/nftables.conf" > "$scratch/nftables.conf"
put "$root" "$scratch/nftables.conf" /etc/nftables.conf 644 0 0
reached network

# --- packages: finish the upgrade where the ledger can be seen ----------------------------------
debugfs -R "rdump / $tree/srv/tally" "$data" > "$scratch/rdump-data.log" 2>&1
chown -R 990:990 "$tree/srv/tally"
chroot "$tree" dpkg --configure -a
test -z "$(chroot "$tree" dpkg --audit)"
put "$root" "$tree/var/lib/dpkg/status" /var/lib/dpkg/status 644 0 0
edit "$root" <<< 'mkdir /var/lib/tally'
put "$root" "$tree/var/lib/tally/configured" /var/lib/tally/configured 644 0 0
put "$data" "$tree/srv/tally/ledger/seals" /ledger/seals 640 990 990
put "$data" "$tree/srv/tally/ledger/FORMAT" /ledger/FORMAT 640 990 990
reached packages

# --- service: the ledger is read through before the books are opened, not after -----------------
sed -e '/^After=tallyd.service/d' -e 's/^Before=.*/Before=tallyd.service/' \
    "$tree/etc/systemd/system/ledger-check.service" > "$scratch/ledger-check.service"
put "$root" "$scratch/ledger-check.service" /etc/systemd/system/ledger-check.service 644 0 0
reached service

# --- healthy: the nightly copy has a place again ------------------------------------------------
edit "$root" <<'CMD'
mkdir /var/backups/tally
sif /var/backups/tally mode 040700
sif /var/backups/tally uid 990
sif /var/backups/tally gid 990
CMD
reached healthy

# --- reboot: every start takes the kernel that is there -----------------------------------------
debugfs -R "dump /boot/grub/grubenv $scratch/grubenv" "$root" 2> /dev/null
grub-editenv "$scratch/grubenv" unset next_entry
grub-editenv "$scratch/grubenv" set "saved_entry=atlas-$kernel"
put "$root" "$scratch/grubenv" /boot/grub/grubenv 644 0 0
reached reboot

# --- power-cut: a record is on the disk before it is acknowledged -------------------------------
sed 's/^durability.*/durability = strict/' "$tree/etc/tally/tallyd.conf" > "$scratch/tallyd.conf"
put "$root" "$scratch/tallyd.conf" /etc/tally/tallyd.conf 644 0 0
reached power-cut

# --- update: the next initramfs is as good as this one ------------------------------------------
put "$root" "$tree/etc/initramfs-tools/modules" /etc/initramfs-tools/modules 644 0 0
e2fsck -fn "$root"
e2fsck -fn "$data"
reached update
