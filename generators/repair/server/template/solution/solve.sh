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
have_tree() { # the system volume's files, to read and to change
    [ ! -e "$tree.whole" ] || return 0
    rm -rf "$tree"
    mkdir -p "$tree"
    debugfs -R "rdump / $tree" "$root" > "$scratch/rdump.log" 2>&1
    kernel=$(basename "$tree"/boot/vmlinuz-*)
    kernel=${kernel#vmlinuz-}
    touch "$tree.whole"
}
back() { # back PATH MODE [UID GID]: a changed file of the tree, into the volume
    put "$root" "$tree$1" "$1" "$2" "${3:-0}" "${4:-0}"
}
new_initramfs() {
    # By settings that are right, whatever those of the machine still are.
    rm -rf "$tree/tmp/settings"
    cp -r "$tree/etc/initramfs-tools" "$tree/tmp/settings"
    rm -f "$tree/tmp/settings/hooks/old-host"
    grep -qx virtio_blk "$tree/tmp/settings/modules" || echo virtio_blk >> "$tree/tmp/settings/modules"
    chroot "$tree" mkinitramfs -d /tmp/settings -o "/boot/initrd.img-$kernel" "$kernel"
    back "/boot/initrd.img-$kernel" 644
}
rm -f "$tree.whole"

# --- partitions -------------------------------------------------------------------------------
# @parts repaired partitions
have_tree
reached partitions

# --- data-volume ------------------------------------------------------------------------------
# @parts repaired data-volume
reached data-volume

# --- kernel -----------------------------------------------------------------------------------
# @parts repaired kernel
reached kernel

# --- root-disk --------------------------------------------------------------------------------
# @parts repaired root-disk
reached root-disk

# --- multi-user -------------------------------------------------------------------------------
# @parts repaired multi-user
reached multi-user

# --- login ------------------------------------------------------------------------------------
# @parts repaired login
reached login

# --- volumes ----------------------------------------------------------------------------------
# @parts repaired volumes
reached volumes

# --- identity ---------------------------------------------------------------------------------
# @parts repaired identity
reached identity

# --- rights -----------------------------------------------------------------------------------
# @parts repaired rights
reached rights

# --- network ----------------------------------------------------------------------------------
# @parts repaired network
reached network

# --- packages ---------------------------------------------------------------------------------
# @parts repaired packages
reached packages

# --- service ----------------------------------------------------------------------------------
# @parts repaired service
reached service

# --- healthy ----------------------------------------------------------------------------------
# @parts repaired healthy
reached healthy

# --- reboot -----------------------------------------------------------------------------------
# @parts repaired reboot
reached reboot

# --- power-cut --------------------------------------------------------------------------------
# @parts repaired power-cut
reached power-cut

# --- update -----------------------------------------------------------------------------------
# @parts repaired update
for file in fstab:/etc/fstab nftables.conf:/etc/nftables.conf \
    ledger-check.service:/etc/systemd/system/ledger-check.service; do
    cp "$tree${file#*:}" "$scratch/${file%%:*}"
done
e2fsck -fn "$root"
e2fsck -fn "$data"
reached update
