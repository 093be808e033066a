#!/bin/bash
# GRUB, one partition alone with the kernel in it, an initramfs for any machine, D-Bus, logind and cron, dash as root's shell.
set -euo pipefail
honest=$(mktemp -d)
cp -r /solution/. "$honest"
python3 - "$honest/solve.sh" <<'PY'
import sys
path = sys.argv[1]
text = open(path).read()
def put(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)
put("tcc,libc6-dev,procps,util-linux", "tcc,libc6-dev,procps,util-linux,dbus,libpam-systemd,cron,less")
put("base=/var/tmp/station-base-$kernel", "base=/var/tmp/station-stocked-$kernel")
put("fs/ext4 fs/jbd2 fs/mbcache", "fs/ext4 fs/jbd2 fs/mbcache drivers/ata drivers/scsi drivers/nvme drivers/usb")
put("	systemd-logind.service systemd-timesyncd", "	systemd-timesyncd")
put("MODULES=list", "MODULES=most")
put('echo station >"$root/etc/hostname"', 'echo station >"$root/etc/hostname"\nsed -i "/^root:/s|/bin/bash|/bin/sh|" "$root/etc/passwd"')
put("PARTUUID=5ca1ab1e-02 / ext4", "UUID=0d15ea5e-0000-4000-8000-000000000001 / ext4 ")
at, end = text.index("boot_mb=96"), text.index("used_mb=$(du")
text = text[:at] + '''
cat >"$root/boot/grub.cfg" <<CONFIG
serial --unit=0 --speed=115200
linux /boot/vmlinuz-$kernel root=UUID=0d15ea5e-0000-4000-8000-000000000001 ro quiet console=ttyS0,115200
initrd /boot/initrd.img-$kernel
boot
CONFIG
''' + text[end:]
put("mke2fs -q -t ext4 -L station", "mke2fs -q -t ext4 -U 0d15ea5e-0000-4000-8000-000000000001 -L station")
at = text.index('truncate -s $((boot_mb + root_mb + 2))M')
text = text[:at] + '''truncate -s $((root_mb + 2))M "$out"
printf 'label: dos\\nstart=1MiB, size=%sMiB, type=83, bootable\\n' "$root_mb" | sfdisk --quiet "$out"
grub-mkimage -O i386-pc -o "$work/core.img" -c "$root/boot/grub.cfg" -p '(hd0,msdos1)/boot/grub' \\
	biosdisk part_msdos ext2 serial linux normal boot
dd if=/usr/lib/grub/i386-pc/boot.img of="$out" bs=1 count=440 conv=notrunc status=none
dd if="$work/core.img" of="$out" bs=512 seek=1 conv=notrunc status=none
dd if="$work/rootfs" of="$out" bs=1M seek=1 conv=notrunc,sparse status=none
ls -ls "$out"
'''
open(path, "w").write(text)
PY
bash "$honest/solve.sh"
