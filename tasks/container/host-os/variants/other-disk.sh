#!/bin/bash
# Another disk: larger slots in another order, one partition more, ext4 with a journal; the data lie elsewhere than in /data.
set -eu
cp -r /solution /var/tmp/own
grep -rl '/data' /var/tmp/own/rootfs | xargs sed -i 's,/data\b,/var/lib/cabinet,g'
sed -i -e 's/^slot_mb=72/slot_mb=80/' \
	-e 's/-t ext4 -O ^has_journal,^resize_inode -m 0 -b 4096 -N 4096/-t ext4 -b 4096 -N 8192/' \
	-e 's/-L slot "\$work/-L SYSTEM "$work/' \
	-e 's/^data=\$((slot_b + sectors))/data=8192/; s/^slot_a=8192/slot_a=$((8192 + 256 * 2048 + 2048))/' \
	-e 's/^slot_b=.*/slot_b=$slot_a; slot_a=$((slot_b + sectors))/' \
	-e 's/truncate -s \$(((data + data_sectors + 2048) \* 512))/truncate -s $(((slot_a + sectors + 34816) * 512))/' \
	-e 's/^start=\$data, .*/&\nstart=$((slot_a + sectors)), size=32768, type=linux, name=workshop/' \
	-e 's/-E offset=\$((data \* 512)),root_owner=0:0 -L data/-E offset=$((data * 512)),root_owner=0:0/' \
	/var/tmp/own/solve.sh
# The order of these lines is that in which the shell needs them.
python3 - /var/tmp/own/solve.sh <<'PYTHON'
import sys

text = open(sys.argv[1]).read()
line = "data_sectors=$((256 * 2048))\n"
assert text.count(line) == 1 and "data=8192\n" in text and "slot_b=$slot_a;" in text
open(sys.argv[1], "w").write(text)
PYTHON
sed -i 's/-t ext4 -o ro /-t ext4 -o ro,noload,noatime /' /var/tmp/own/initrd-init
cat >/var/tmp/changes.sh <<'CHANGES'
mkdir -p "$root/var/lib/cabinet"
rmdir "$root/data"
CHANGES
LOCAL_CHANGES=/var/tmp/changes.sh exec bash /var/tmp/own/solve.sh
