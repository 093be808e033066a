#!/bin/sh
# /app/bench: the kernel that the headers belong to, its drivers for virtio disks, BusyBox, and a start
# of them as an example.
set -eu
packages=/tmp/packages
from-tasks-lib cloud-kernel.sh
mkdir -p /app/bench/modules
cp $packages/kernel/boot/vmlinuz-* /app/bench/vmlinuz
for module in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk loop; do
	cp "$(find $packages/kernel/lib/modules -name "$module.ko*")" /app/bench/modules/
done
cp /bin/busybox /app/bench/busybox
cat > /app/bench/try.sh <<'TRY'
#!/bin/sh
# try.sh DISK [FILE...]: a shell in the machine, with these files in its /root and the disk as /dev/vda.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
disk=$1
shift
root=$(mktemp -d)
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/mnt" "$root/root" "$root/tmp"
cp "$here/busybox" "$root/bin/"
cp -r "$here/modules" "$root/"
for file; do cp "$file" "$root/root/"; done
cat > "$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
for kind in proc sysfs devtmpfs tmpfs; do
	case $kind in proc) on=/proc ;; sysfs) on=/sys ;; devtmpfs) on=/dev ;; *) on=/tmp ;; esac
	mount -t $kind $kind $on
done
for need in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk loop; do insmod /modules/$need.ko; done
cd /root
exec setsid cttyhack sh
INIT
chmod 755 "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) > "$root.cpio"
rm -rf "$root"
qemu-system-x86_64 -M pc -cpu max -nodefaults -display none -serial stdio -no-reboot -m 256 -smp 2 \
	-kernel "$here/vmlinuz" -initrd "$root.cpio" -append "console=ttyS0 quiet panic=-1" \
	-drive "file=$disk,format=raw,if=virtio"
rm -f "$root.cpio"
TRY
chmod 755 /app/bench/try.sh
rm -rf $packages
