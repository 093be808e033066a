#!/bin/bash
# A login after half a minute, an end after a quarter of one, other words at it, a root file system of 32 MiB that is nearly full, a tar with extended headers that is nearly as large as it may be.
set -eu
cat >/tmp/changes <<'CHANGES'
(
    cd root/etc
    echo 'sleep 25' >> rc
    echo '::shutdown:/bin/sleep 15' >> inittab
    echo 'hostname controller-7' >> rc
    printf 'Ferrum Instruments, \\n.\nNobody is let in without a word. Who logs in?\n\n' > issue
    printf 'You are in. Incorrect use is recorded: login, password, time.\n' > motd
)
head -c 20M /dev/urandom > root/usr/lib/tables.bin
room=$(((184 << 20) - $(du -sb pack/fx31 | cut -f 1)))
mkdir -p pack/fx31/share/doc
while read -r size text; do
    room=$((room - size - 4096))
    [ "$room" -gt 0 ] || break
    mkdir -p "pack/fx31/share/doc/${text%/*}"
    cp "$text" "pack/fx31/share/doc/$text"
done < <(find src/linux/Documentation -type f -printf '%s %p\n' | sort -k 2)
truncate() { command truncate -s 32M rootfs.img; }
tar() { command tar -C pack --format=pax --owner=0 --group=0 --numeric-owner -cf toolchain.tar fx31; }
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
