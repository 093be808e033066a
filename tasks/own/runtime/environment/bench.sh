#!/bin/sh
# /app/bench: a kernel, its drivers, BusyBox, and a start of the machine as an example.
set -eu
packages=/tmp/packages
from-tasks-lib cloud-kernel.sh
mkdir -p /app/bench/modules
cp $packages/kernel/boot/vmlinuz-* /app/bench/vmlinuz
for module in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk \
	failover net_failover virtio_net; do
	cp "$(find $packages/kernel/lib/modules -name "$module.ko*")" /app/bench/modules/
done
cp /bin/busybox /app/bench/busybox
cat > /app/bench/try.sh <<'TRY'
#!/bin/sh
# try.sh SKARN [FILE...]: a shell in the machine, with these files in its /root, an empty disk on /data,
# and its port 8080 as 127.0.0.1:8080 of this one; what listens here on 127.0.0.1 is at 10.0.2.2 there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/etc" "$root/root" "$root/tmp" "$root/data"
cp "$here/busybox" "$root/bin/"
cp "$1" "$root/bin/skarn"
shift
cp -r "$here/modules" "$root/"
for file; do cp -r "$file" "$root/root/"; done
printf '127.0.0.1 localhost\n10.0.2.2 host\n' > "$root/etc/hosts"
cat > "$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
for kind in proc sysfs devtmpfs tmpfs; do
	case $kind in proc) on=/proc ;; sysfs) on=/sys ;; devtmpfs) on=/dev ;; *) on=/tmp ;; esac
	mount -t $kind $kind $on
done
ln -s /proc/self/fd /dev/fd
for need in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk \
	failover net_failover virtio_net; do insmod /modules/$need.ko; done
mount -t ext4 /dev/vda /data
ifconfig lo 127.0.0.1 up
ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up
cd /root
exec setsid cttyhack sh
INIT
chmod 755 "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) > "$root.cpio"
rm -rf "$root"
rm -f "$root.data"
mke2fs -q -t ext4 "$root.data" 256M
qemu-system-x86_64 -M pc -cpu max -nodefaults -display none -serial stdio -no-reboot -m 256 -smp 2 \
	-kernel "$here/vmlinuz" -initrd "$root.cpio" -append "console=ttyS0 quiet panic=-1" \
	-drive "file=$root.data,format=raw,if=virtio" \
	-netdev user,id=net,hostfwd=tcp:127.0.0.1:8080-:8080 -device virtio-net-pci,netdev=net,romfile=
rm -f "$root.cpio" "$root.data"
TRY
chmod 755 /app/bench/try.sh
rm -rf $packages
