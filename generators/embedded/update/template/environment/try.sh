#!/bin/sh
# A unit with the program $1, the flash $2 (a file of 6 MiB) and what the folder $3 has for its /etc;
# its console here. The board's calls at a start are yours to make. Ctrl-A X ends it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"
tar -xpf "$here/station.tar" -C "$work/tree"
install -m 755 "$1" "$work/tree/usr/bin/{{axis_word}}"
cp -r "$3/." "$work/tree/etc/"
echo 'ln -s vdb /dev/flash; mount -o remount,ro /' >> "$work/tree/etc/rc"
truncate -s 112M "$work/rom"
mke2fs -q -F -t ext4 -m 0 -d "$work/tree" "$work/rom"
qemu-system-x86_64 -m 256 -nographic -no-reboot -kernel "$here/vmlinuz" -initrd "$here/initrd" \
    -append "console=ttyS0,115200 quiet panic=-1" -drive "file=$work/rom,format=raw,if=virtio" \
    -drive "file=$2,format=raw,if=virtio" -nic user,model=virtio-net-pci
