#!/bin/sh
# Makes /room/initrd of the agent and the modules that the machine's disk, port and card need, and
# lays the kernel and all its modules beside it.
set -eu
cd /room
version=$(basename /lib/modules/*)
gcc -std=gnu17 -O2 -Wall -Wextra -Werror -static -o init main.c init.c accounts.c become.c files.c \
    stream.c serve.c
strip init
mkdir -p tree/modules tree/dev modules
number=100
for name in virtio_pci virtio_blk virtio_console virtio_net virtio_rng; do
    modprobe --set-version "$version" --show-depends "$name" | while read -r _ path _; do
        [ "$path" != "$name" ] && echo "$path"
    done
done | awk '!seen[$0]++' >wanted
while read -r path; do
    case $path in
        /*) number=$((number + 1)); cp "$path" "tree/modules/$number-$(basename "$path")" ;;
        *) ;;
    esac
done <wanted
mv init tree/init
mknod tree/dev/console c 5 1 2>/dev/null || true
(cd tree && find . | cpio --quiet -o -H newc | gzip -9 >../initrd)
cp "/boot/vmlinuz-$version" vmlinuz
cp -a "/lib/modules/$version" modules/
rm -rf tree wanted "modules/$version/build" "modules/$version/source"
