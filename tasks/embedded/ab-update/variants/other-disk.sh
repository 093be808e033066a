#!/bin/bash
# Another disk: partitions in another order and more of them, noise in slot b, ext4 with a journal and large blocks, a second disk anywhere.
set -eu
cp -r /solution /tmp/own
sed -i -e 's/truncate -s 112M "\$image"/truncate -s 128M "$image"/' \
	-e 's/^start=8192, .*/start=8192, size=98304, type=linux, name=data/' \
	-e 's/^start=73728, .*/start=106496, size=65536, type=linux, name=slot-b/' \
	-e 's/^start=139264, .*/start=172032, size=65536, type=linux, name=slot-a\nstart=237568, size=20480, type=linux, name=workshop/' \
	-e 's/-t ext4 -O ^has_journal,^resize_inode -m 0 -b 1024 -N 1024/-t ext4 -b 4096 -N 2048/' \
	-e 's/-L slot "\$work/-L SYSTEM "$work/' \
	-e 's/of="\$image" bs=1M seek=4 conv=notrunc,sparse status=none/of="$image" bs=1M seek=84 conv=notrunc status=none\ndd if=\/dev\/urandom of="$image" bs=1M seek=52 count=32 conv=notrunc status=none/' \
	-e 's/-E offset=\$((139264 \* 512)),root_owner=0:0 -L data "\$image" 40M/-b 1024 -E offset=$((8192 * 512)),root_owner=0:0 "$image" 48M/' \
	/tmp/own/solve.sh
sed -i -e 's/hd0,gpt3/hd0,gpt5/' /tmp/own/grub.cfg
sed -i -e 's/-t ext4 -o ro /-t ext4 -o ro,noload,noatime /' /tmp/own/initrd-init
sed -i -e 's/^for disk in .*/for disk in $(sed -n "s, *[0-9]* *[0-9]* *[0-9]* \\(vd[b-z]\\|sd[a-z]\\)$,\/dev\/\\1,p" \/proc\/partitions); do/' \
	-e 's/mount -t ext4 "\$data" \/data/mount -t ext4 -o noatime,data=journal "$data" \/data/' /tmp/own/rootfs/etc/rc
grep -q 'gpt5' /tmp/own/grub.cfg
grep -c 'seek=84\|seek=52\|name=workshop\|b 4096 -N 2048\|8192 \* 512' /tmp/own/solve.sh | grep -qx 5
bash /tmp/own/solve.sh
