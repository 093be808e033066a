#!/bin/bash
# The getty runs from a copy in memory, and from /tmp nothing can be run.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work"
cd "$work"
sed -i 's/nosuid,nodev,mode=1777 tmp/nosuid,nodev,noexec,mode=1777 tmp/' rootfs/etc/init.d/rcS
sed -i 's#^mkdir -p /var/running$#mkdir -p /run/programs\ncp /bin/busybox /lib/ld-musl-x86_64.so.1 /run/programs/\n&#' rootfs/etc/init.d/rcS
sed -i 's#/sbin/getty#/run/programs/ld-musl-x86_64.so.1 /run/programs/busybox getty#' rootfs/etc/inittab
grep -q noexec,mode=1777 rootfs/etc/init.d/rcS
grep -q /run/programs rootfs/etc/init.d/rcS
grep -q /run/programs rootfs/etc/inittab
bash "$work/solve.sh"
