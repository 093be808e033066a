#!/bin/bash
# Repaired by its own programs in a virtual machine: grub-install, update-grub, usermod, systemctl.
set -euo pipefail
STOP_AFTER=root-disk bash /solution/solve.sh
disk=/app/out/server.img
tree=/tmp/tree
system="$disk?offset=1048576"
data="$disk?offset=$((1218560 * 512))"
work=$(mktemp -d)
cat > "$work/repair" <<'GUEST'
#!/bin/bash
exec > /dev/ttyS0 2>&1 < /dev/null
set -ex
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive
mount -o remount,rw /
mountpoint -q /proc || mount -t proc proc /proc
mountpoint -q /sys || mount -t sysfs sysfs /sys
mountpoint -q /run || mount -t tmpfs tmpfs /run
/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add
udevadm settle
uuid() { blkid -o value -s UUID "$1"; }
cat > /etc/fstab <<FSTAB
UUID=$(uuid /dev/vda1) / ext4 errors=remount-ro 0 1
UUID=$(uuid /dev/vda2) none swap sw 0 0
UUID=$(uuid /dev/vda3) /srv/tally ext4 nodev,nosuid 0 2
FSTAB
mount /srv/tally
basename /var/log/journal/* > /etc/machine-id
chmod 600 /etc/ssh/ssh_host_ed25519_key
usermod -U ingrid
chage -E -1 ingrid
sed -i 's/^Name=.*/Type=ether/' /etc/systemd/network/lan.network
sed -i 's/iifname "ens18" //' /etc/nftables.conf
sed -i 's/^durability = .*/durability = strict/' /etc/tally/tallyd.conf
cat > /etc/systemd/system/ledger-check.service <<'UNIT'
[Unit]
Description=Read the ledger through before the books are opened
RequiresMountsFor=/srv/tally
Before=tallyd.service
PartOf=tallyd.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/ledger-check

[Install]
RequiredBy=tallyd.service
UNIT
rm /etc/systemd/system/multi-user.target.wants/ledger-check.service
systemctl enable ledger-check.service
install -d -o tally -g tally -m 700 /var/backups/tally
dpkg --configure -a
test -z "$(dpkg --audit)"
echo virtio_blk >> /etc/initramfs-tools/modules
update-initramfs -u -k all
sed -i 's/^GRUB_DEFAULT=.*/GRUB_DEFAULT=0/' /etc/default/grub
grub-editenv /boot/grub/grubenv create
grub-install --target=i386-pc /dev/vda
update-grub
umount /srv/tally
sync
echo u > /proc/sysrq-trigger
until grep -q '^/dev/[^ ]* / ext4 ro' /proc/mounts; do sleep 1; done
echo REPAIR-IS-DONE
echo o > /proc/sysrq-trigger
sleep 60
GUEST
debugfs -w -f - "$system" <<CMD
write $work/repair /repair
sif /repair mode 0100755
CMD
timeout 1500 qemu-system-x86_64 -machine pc,accel=tcg -m 512 -display none -monitor none -no-reboot \
    -serial "file:$work/console" -nic none -drive "file=$disk,if=virtio,format=raw" \
    -kernel "$tree"/boot/vmlinuz-* -initrd "$tree"/boot/initrd.img-* \
    -append 'root=/dev/vda1 rw console=ttyS0 init=/repair' || true
tail -n 30 "$work/console"
grep -q REPAIR-IS-DONE "$work/console"
debugfs -w -R 'rm /repair' "$system"
e2fsck -fy "$system" || [ $? -le 1 ]
e2fsck -fy "$data" || [ $? -le 1 ]
