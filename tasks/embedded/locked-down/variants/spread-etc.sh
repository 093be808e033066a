#!/bin/bash
# The root is a squashfs with an overlay in memory over its /etc; the volume is AES-CBC's, with other vectors.
set -eu
apt-get -qq update
apt-get -qq install -y --no-install-recommends squashfs-tools >/dev/null 2>&1
cp -r /solution /tmp/variant
cd /tmp/variant
sed -i -e 's/^truncate -s 24M "$work\/root.img"$/:/' \
	-e 's/^mke2fs -q -t ext4 -O ^has_journal.*/mksquashfs "$root" "$work\/root.img" -all-root -noF -quiet -no-progress\ntruncate -s 24M "$work\/root.img"/' \
	-e 's/virtio_pci virtio_blk dm-verity dm-crypt xts/virtio_pci virtio_blk squashfs overlay dm-verity dm-crypt cbc/' solve.sh
sed -i 's/mount -t ext4 -o ro \/dev\/mapper\/root/mount -t squashfs -o ro \/dev\/mapper\/root/' initrd-init
sed -i -e 's/^mkdir -p \/run\/cryptsetup$/&\nmkdir -p \/run\/etc \/run\/etc-work\nmount -t overlay -o lowerdir=\/etc,upperdir=\/run\/etc,workdir=\/run\/etc-work overlay \/etc/' \
	-e 's/--pbkdf pbkdf2/--cipher aes-cbc-plain64be --key-size 256 &/' rootfs/etc/rc
grep -q mksquashfs solve.sh && grep -q 'dm-crypt cbc' solve.sh && grep -q upperdir rootfs/etc/rc && grep -q plain64be rootfs/etc/rc
bash solve.sh
