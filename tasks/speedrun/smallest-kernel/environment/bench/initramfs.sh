#!/bin/sh
# An initramfs to try a kernel with: Debian's static BusyBox, and a shell on the console.
# initramfs.sh FILE [MORE…]: further files go to /bin.
set -eu
made=$1
shift
root=$(mktemp -d)
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$root/etc"
cp /bin/busybox "$root/bin/"
for name in $(/bin/busybox --list); do
	[ "$name" = busybox ] || ln -s busybox "$root/bin/$name"
done
for more; do
	cp "$more" "$root/bin/"
done
mknod "$root/dev/console" c 5 1
cat >"$root/init" <<'INIT'
#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
cat /proc/cmdline
while :; do
	setsid sh -c 'exec sh -i </dev/ttyS0 >/dev/ttyS0 2>&1'
done
INIT
chmod 755 "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) | gzip -9 >"$made"
rm -r "$root"
