#!/bin/bash
# Another boot loader: a small Linux counts the tries, and starts the kernel of the slot by kexec.
set -eu
cp -r /solution /tmp/own
cat >/tmp/own/grub.cfg <<'GRUB'
serial --unit=0 --speed=115200
terminal_output serial
linux16 (hd0,gpt6)/vmlinuz console=ttyS0,115200 quiet panic=1 no_timer_check
initrd16 (hd0,gpt6)/initrd
boot
GRUB
cat >/tmp/loader <<'LOADER'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
export PATH=/bin:/sbin
mkdir -p /run /root
for module in $(cat /modules); do insmod "/lib/$module.ko"; done
for n in 1 2 3 4 5 6 7 8 9 10; do
	grep -q '^PARTNAME=state$' /sys/class/block/*/uevent && break
	sleep 0.2
done
. /usr/lib/unit/state

used() { dd if="$state_device" bs=512 skip="$1" count=1 2>/dev/null | sed -n '1s/^used=//p'; }
note() {
	{ printf 'used=%s\n' "$id"; head -c 512 /dev/zero; } | head -c 512 |
		dd of="$state_device" bs=512 seek="$1" conv=notrunc,fsync 2>/dev/null
}
start() {
	echo "loader: slot $1, try $2"
	mount -t ext4 -o ro,noload "/dev/$(part "slot-$1")" /root || return
	kexec -l /root/boot/vmlinuz --initrd=/root/boot/initrd \
		--command-line="console=ttyS0,115200 quiet panic=1 no_timer_check unit.slot=$1 unit.try=$2"
	loaded=$?
	umount /root
	[ $loaded = 0 ] && kexec -e
}

state_read
number=0
if [ -n "$trial" ]; then
	for n in 1 2 3; do
		eval "at=\$t$n"
		if [ $number = 0 ] && [ "$(used "$at")" != "$id" ]; then
			note "$at"
			[ "$(used "$at")" = "$id" ] && number=$n
		fi
	done
fi
[ $number = 0 ] || start "$trial" $number
start "$good" 0
reboot -f
LOADER
cat >/tmp/changes <<'CHANGES'
for copy in t1 t2 t3; do
	echo "$copy=$(($(debugfs -R "bmap /$copy 0" "$work/state" 2>/dev/null) * 8))"
done >>"$root/usr/lib/unit/places"
own=$work/loader
mkdir -p "$own"/{bin,sbin,lib,lib64,proc,sys,dev,usr/lib}
cp /bin/busybox "$own/bin/"
cp -r "$root/usr/lib/unit" "$own/usr/lib/"
grep -v '^\(watchdog\|softdog\)$' "$work/initrd/modules" >"$own/modules"
for module in $(cat "$own/modules"); do cp "$work/initrd/lib/$module.ko" "$own/lib/"; done
cp /sbin/kexec "$own/sbin/"
for library in $(ldd /sbin/kexec | grep -o '/[^ ]*'); do install -D "$library" "$own$library"; done
install -m 755 /tmp/loader "$own/init"
mkdir "$work/loader.d"
(cd "$own" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1 >"$work/loader.d/initrd")
cp $packages/kernel/boot/vmlinuz-* "$work/loader.d/vmlinuz"
CHANGES
sed -i -e 's/truncate -s 112M "\$image"/truncate -s 128M "$image"/' \
	-e 's/name=data$/&\nstart=221184, size=38912, type=linux, name=loader/' \
	-e 's/-L data "\$image" 40M$/&\nmke2fs -q -t ext2 -d "$work\/loader.d" -E offset=$((221184 * 512)),root_owner=0:0 "$image" 19M/' \
	/tmp/own/solve.sh
LOCAL_CHANGES=/tmp/changes bash /tmp/own/solve.sh
