#!/bin/bash
# The slot has a journal and large blocks; it is mounted without replaying anything.
set -eu
cp -r /solution /tmp/own
sed -i 's/-t ext4 -O ^has_journal,^resize_inode -m 0 -b 1024 -N 1024/-t ext4 -b 4096 -N 2048/' /tmp/own/solve.sh
sed -i 's/-t ext4 -o ro /-t ext4 -o ro,noload,noatime /' /tmp/own/initrd-init
grep -q 'b 4096 -N 2048' /tmp/own/solve.sh
bash /tmp/own/solve.sh
