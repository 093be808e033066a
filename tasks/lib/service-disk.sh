# A disk for BIOS machines of the system in $root (service-system.sh): one ext4 called "system" in a
# partition, an initramfs that finds it by that name, and GRUB's core image, which grub-core.sh writes
# into the disk afterwards. Wants $root and $work, folders; $image, the disk's name; $system_mb, the
# size of the file system; $drivers, the modules that the initramfs needs for it.

release=$(basename "$root"/lib/modules/*)
chroot "$root" depmod "$release"
initrd=$work/initrd
mkdir -p "$initrd"/{bin,dev,root,sys,lib/modules}
cp "$root/bin/busybox" "$initrd/bin/"
for applet in sh insmod mount umount sleep switch_root findfs; do ln -s busybox "$initrd/bin/$applet"; done
cat >"$initrd/init" <<'INIT'
#!/bin/sh
mount -t devtmpfs dev /dev
mount -t sysfs sys /sys
while read -r module; do insmod "/lib/modules/$module"; done </modules
tries=0
until disk=$(findfs LABEL=system 2>/dev/null) && mount -t ext4 -o rw "$disk" /root; do
	tries=$((tries + 1))
	[ $tries -lt 300 ] || exec sh
	sleep 0.2
done
umount /sys
mount -o move /dev /root/dev
exec switch_root /root /sbin/init
INIT
chmod 755 "$initrd/init"
for module in $drivers; do
	chroot "$root" modprobe -S "$release" --show-depends "$module"
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
	cp "$root$module" "$initrd/lib/modules/"
	basename "$module" >>"$initrd/modules"
done
(cd "$initrd" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -6) >"$root/boot/initrd"
mv "$root/boot/vmlinuz-$release" "$root/boot/vmlinuz"
rm -f "$root"/vmlinuz* "$root"/initrd.img* "$root"/boot/initrd.img-*

truncate -s "$((system_mb + 12))M" "$image"
sfdisk --quiet "$image" <<'TABLE'
label: dos
start=2048, size=14336, type=da
start=16384, type=83
TABLE
mkdir -p "$work/boot/boot/grub"
cat >"$work/boot/boot/grub/grub.cfg" <<'GRUB'
set root=(hd0,msdos2)
linux /boot/vmlinuz console=ttyS0,115200 quiet
initrd /boot/initrd
boot
GRUB
tar -C "$work/boot" -cf "$work/memdisk" boot
grub-mkimage -O i386-pc -o "$work/core.img" -m "$work/memdisk" -p '(memdisk)/boot/grub' \
	biosdisk part_msdos ext2 memdisk tar normal configfile linux
mke2fs -q -t ext4 -d "$root" -L system -E offset=$((16384 * 512)),root_owner=0:0,lazy_itable_init=1 \
	"$image" "${system_mb}M"
