#!/bin/bash
# The disk has a GPT, and its root file system keeps its journal small and its inodes large.
set -eu
rm -rf /tmp/otherwise
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
sed -i -e 's/^label: dos/label: gpt/' \
	-e 's/^start=2048, size=14336, type=da/start=2048, size=14336, type=21686148-6449-6E6F-744E-656564454649/' \
	-e 's/^start=16384, type=83/start=16384, type=linux/' \
	-e 's/hd0,msdos2/hd0,gpt2/; s/part_msdos/part_gpt/' \
	-e 's/mke2fs -q -t ext4/mke2fs -q -t ext4 -I 512 -J size=8/' solve.sh
bash solve.sh
