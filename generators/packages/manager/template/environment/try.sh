#!/bin/sh
# A station with the program $1, its console here. What listens on port N of this machine's loopback
# is 10.0.2.2:N for the station. Its disk is made again each time; Ctrl-A X ends it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
word={{axis_word}}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"
tar -xpf "$here/station.tar" -C "$work/tree"
install -m 755 "$1" "$work/tree/usr/bin/$word"
truncate -s 112M "$work/disk"
mke2fs -q -F -t ext4 -m 0 -d "$work/tree" "$work/disk"
qemu-system-x86_64 -m 256 -nographic -no-reboot -kernel "$here/vmlinuz" -initrd "$here/initrd" \
    -append "console=ttyS0,115200 quiet panic=-1" -drive "file=$work/disk,format=raw,if=virtio" \
    -nic user,model=virtio-net-pci
