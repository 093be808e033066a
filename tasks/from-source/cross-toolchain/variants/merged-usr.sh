#!/bin/bash
# A merged /usr in sysroot and root file system, musl under its own name, hard links for commands, ext4 with a journal and small blocks, a set-user-id BusyBox, SHA-256, other ids and shells.
set -eu
cat >/tmp/changes <<'CHANGES'
(
    cd pack/fx31/sysroot
    rm usr/lib/libc.so
    mv lib/ld-musl-riscv64.so.1 usr/lib/libc.so
    ln -s libc.so usr/lib/ld-musl-riscv64.so.1
    rmdir lib
    ln -s usr/lib lib
)
(
    cd root
    find bin sbin usr -type l -delete
    rm lib/libc.so
    mv lib/ld-musl-riscv64.so.1 usr/lib/libc.so
    ln -s libc.so usr/lib/ld-musl-riscv64.so.1
    mv lib/* usr/lib/
    mv bin/* usr/bin/
    rmdir bin sbin lib usr/sbin
    ln -s usr/bin bin
    ln -s usr/bin sbin
    ln -s bin usr/sbin
    ln -s usr/lib lib
    while read -r name; do
        name=usr/bin/${name##*/}
        [ -e "$name" ] || ln usr/bin/busybox "$name"
    done < ../busybox/busybox.links
    printf 'root:x:0:\nusers:x:100:\n' > etc/group
    printf 'root:x:0:0:root:/:/bin/ash\ntrial:x:1000:100:trial:/trial:/bin/false\n' > etc/passwd
    echo "root:$(perl -e 'print crypt("Kelp-Anchor-44", q($5$kelp$))'):19000:0:99999:7:::" > etc/shadow
    echo 'trial:*LK*:19000:0:99999:7:::' >> etc/shadow
)
truncate() { command truncate -s 32M rootfs.img; }
mke2fs() {
    # Set-user-id under every name; BusyBox drops it where an applet must not have it.
    chmod 4755 root/usr/bin/busybox
    command mke2fs -q -F -t ext4 -b 1024 -m 5 -E root_owner=0:0 -d root rootfs.img
}
CHANGES
LOCAL_CHANGES=/tmp/changes bash /solution/solve.sh
