#!/bin/sh
# initrd.sh TREE RELEASE: an initial RAM disk that finds the root by its UUID, beside the kernel.
set -eu
tree=$1 release=$2 initrd=$1/../initrd
mkdir -p "$initrd/bin" "$initrd/dev" "$initrd/proc" "$initrd/root" "$initrd/lib/modules"
cp /bin/busybox "$initrd/bin/"
for applet in sh insmod mount sleep switch_root findfs cat; do
	ln -s busybox "$initrd/bin/$applet"
done
cp "$(dirname "$0")/initrd-init" "$initrd/init"
chmod 755 "$initrd/init"
for module in virtio_pci virtio_blk ext4 virtio_net virtio_rng; do
	modprobe -d "$tree/usr" -S "$release" --show-depends "$module"
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
	cp "$module" "$initrd/lib/modules/"
	basename "$module" >>"$initrd/modules"
done
(cd "$initrd" && find . | LC_ALL=C sort | cpio --quiet --reproducible -o -H newc -R 0:0 | gzip -n -6) \
	>"$tree/usr/lib/modules/$release/initrd"
