#!/bin/sh
# A router with the folder $1, and what the folder $2 has as its /data; its console here. Its cables
# end in datagram sockets in the folder $3: carrier.board and site.board are the router's, and
# frames go to carrier.bench and site.bench, which you bind. Ctrl-A X ends it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tree" "$3"
tar -xpf "$here/station.tar" -C "$work/tree"
cp -rT "$1" "$work/tree/site"
chown -R 0:0 "$work/tree/site"
ln -sf "/site/{{axis_word}}" "$work/tree/usr/bin/{{axis_word}}"
truncate -s 176M "$work/rom"
mke2fs -q -F -t ext4 -m 0 -d "$work/tree" "$work/rom"
truncate -s 24M "$work/flash"
mke2fs -q -F -t ext4 -m 0 -d "$2" "$work/flash"
rm -f "$3/carrier.board" "$3/site.board"
set --  "$3" {{axis_ports_name}}
first=carrier second=site
[ "$2" = eth0 ] || { first=site second=carrier; }
cable() {
    echo "-netdev dgram,id=$1,local.type=unix,local.path=$2/$1.board,remote.type=unix,remote.path=$2/$1.bench"
    echo "-device virtio-net-pci,netdev=$1"
}
# shellcheck disable=SC2046
qemu-system-x86_64 -m 256 -nographic -no-reboot -kernel "$here/vmlinuz" -initrd "$here/initrd" \
    -append "console=ttyS0,115200 quiet panic=-1" -drive "file=$work/rom,format=raw,if=virtio" \
    -drive "file=$work/flash,format=raw,if=virtio" $(cable "$first" "$1") $(cable "$second" "$1")
