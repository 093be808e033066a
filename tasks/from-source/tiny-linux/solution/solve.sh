#!/bin/bash
# Builds /app/out/tiny.img from the sources in /app/sources.
# STOP_AFTER=<milestone>: everything up to that milestone, and of the next one too little.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
order=$(cat /app/order)
build=${BUILD_DIR:-/build}
jobs=$(nproc)
log() { echo "[$(date +%T)] $*"; }

ladder="image kernel login userland accounts seal hardening network ledger service supervision syslog shutdown durability boards crash"
stop=${STOP_AFTER:-crash}
case " $ladder " in *" $stop "*) ;; *) echo "no such milestone: $stop" >&2; exit 2 ;; esac
# reached M: is milestone M to be built?
reached() {
    local m
    for m in $ladder; do
        [ "$m" = "$1" ] && return 0
        [ "$m" = "$stop" ] && return 1
    done
    return 1
}

mkdir -p "$build" /app/out
cd "$build"

unpack() {
    [ -e unpacked ] && return
    log "unpacking the sources"
    dpkg-deb --fsys-tarfile /app/sources/linux-source-6.1_*.deb |
        tar xO ./usr/src/linux-source-6.1.tar.xz | tar xJ
    mv linux-source-6.1 linux
    tar xzf /app/sources/musl_*.orig.tar.gz && mv musl-[0-9]* musl
    tar xjf /app/sources/busybox_*.orig.tar.bz2 && mv busybox-[0-9]* busybox
    touch unpacked
}

# The customer's code, carried over.
carry_over() {
    local name file patch
    mkdir -p port
    while read -r name file patch; do
        [ "port/$name" -nt "$here/patches/$patch" ] && continue
        patch -s -o "port/$name" "/app/customer/$file" "$here/patches/$patch"
    done <<-EOF
	seal.c seal/seal.c seal.patch
	seal.h seal/seal.h header.patch
	seal_quote.c libc/seal_quote.c libc.patch
	applet.c busybox/seal.c applet.patch
	ledgerd.c ledger/ledgerd.c ledgerd.patch
	EOF
}

# changed TARGET SOURCE...: is any source newer than the target?
changed() {
    local target=$1 source
    shift
    [ -e "$target" ] || return 0
    for source; do [ "$source" -nt "$target" ] && return 0; done
    return 1
}

kernel() {
    changed kernel.done "$here/kernel.config" "$build/port/seal.c" "$build/port/seal.h" || return 0
    log "kernel"
    cd linux
    cp "$build/port/seal.c" "$build/port/seal.h" drivers/char/
    cp /app/customer/seal/Kconfig.seal drivers/char/Kconfig.seal
    sed -i 's/tristate/bool/' drivers/char/Kconfig.seal
    grep -q Kconfig.seal drivers/char/Kconfig ||
        sed -i '/^endmenu/i source "drivers/char/Kconfig.seal"' drivers/char/Kconfig
    grep -q seal.o drivers/char/Makefile || echo 'obj-$(CONFIG_SEAL) += seal.o' >> drivers/char/Makefile
    make -s tinyconfig > /dev/null
    sed "s/@ORDER@/$order/" "$here/kernel.config" > ../fragment
    scripts/kconfig/merge_config.sh -m .config ../fragment > ../merge.log 2>&1
    make -s olddefconfig
    KBUILD_BUILD_USER=order KBUILD_BUILD_HOST=$order make -s -j"$jobs" bzImage
    make -s headers_install INSTALL_HDR_PATH="$build/headers" > /dev/null
    cd ..
    touch kernel.done
}

libc() {
    changed musl.done "$build/port/seal_quote.c" "$build/port/seal.h" || return 0
    log "libc"
    rm -rf sysroot
    cd musl
    cp "$build/port/seal.h" include/seal.h
    cp "$build/port/seal_quote.c" src/misc/seal_quote.c
    echo "1.2.3-$order" > VERSION
    ./configure --prefix="$build/sysroot" --syslibdir=/lib > ../musl.log
    make -s -j"$jobs" >> ../musl.log
    make -s install-libs install-headers install-tools DESTDIR= syslibdir="$build/sysroot/lib" >> ../musl.log
    cd ..
    cp -a headers/include/linux headers/include/asm headers/include/asm-generic \
        headers/include/mtd sysroot/include/ 
    touch musl.done
}

userland() {
    if changed busybox.done "$here/busybox.config" "$build/port/applet.c" musl.done; then
        log "busybox"
        cd busybox
        cp "$build/port/applet.c" miscutils/seal.c
        make -s allnoconfig > /dev/null
        # This old Kconfig takes the first mention of an option, so what we set goes in front.
        cat "$here/busybox.config" .config > config.new && mv config.new .config
        yes "" 2> /dev/null | make -s oldconfig > ../busybox.log 2>&1 || true
        make -s -j"$jobs" EXTRAVERSION="-$order" CC="$build/sysroot/bin/musl-gcc" HOSTCC=gcc busybox >> ../busybox.log 2>&1
        cd ..
        touch busybox.done
    fi
    if changed ledgerd "$build/port/ledgerd.c" musl.done; then
        # The second one acknowledges before the record is safe: the step before durability.
        sed 's/ || fsync(journal) < 0//' port/ledgerd.c > port/hasty.c
        sysroot/bin/musl-gcc -Os -s -D_GNU_SOURCE -pthread port/hasty.c -o hasty
        sysroot/bin/musl-gcc -Os -s -D_GNU_SOURCE -pthread port/ledgerd.c -o ledgerd
    fi
}

rootfs() {
    log "root file system"
    rm -rf root data
    mkdir -p root/{bin,sbin,lib,etc,proc,sys,dev,run,tmp,data,boot,root,usr/bin,usr/sbin} data/{log,ledger,home/clerk}
    reached login || return 0
    install -m 755 sysroot/lib/libc.so root/lib/libc.so
    strip root/lib/libc.so
    ln -s libc.so root/lib/ld-musl-x86_64.so.1
    install -m 755 busybox/busybox root/bin/busybox
    install -m 755 -D ledgerd root/usr/sbin/ledgerd
    reached durability || install -m 755 hasty root/usr/sbin/ledgerd
    (cd busybox && make -s busybox.links > /dev/null)
    while read -r link; do
        [ -e "root$link" ] || ln -s /bin/busybox "root$link"
    done < busybox/busybox.links
    cp -a "$here/rootfs/." root/
    echo "$order" > root/etc/order
    chmod 600 root/etc/shadow
    find root/etc/sv root/etc/acpi root/etc/init.d -type f -exec chmod 755 {} +
    chmod 755 root/usr/sbin/svc root/etc/udhcpc.script
    ln -s /run/resolv.conf root/etc/resolv.conf
    ln -sf /proc/mounts root/etc/mtab

    # What is left out below keeps the milestone after $stop from passing.
    reached userland || rm root/etc/order
    reached accounts || sed -i 's/^clerk:[^:]*/clerk:*/' root/etc/shadow
    reached seal || rm root/usr/bin/seal
    reached hardening || sed -i 's/hidepid=2/hidepid=0/' root/etc/init.d/rcS
    reached network || rm -r root/etc/sv/dhcp
    reached ledger || rm -r root/etc/sv/ledgerd
    reached service || sed -i 's/chpst -u ledger:seal //' root/etc/sv/ledgerd/run 2> /dev/null || true
    reached supervision || rm root/etc/sv/*/finish
    reached syslog || sed -i 's/-s 64 -b 2/-s 0/' root/etc/sv/syslogd/run
    reached shutdown || rm -r root/etc/acpi/PWRF
}

image() {
    log "image"
    local img=/app/out/tiny.img.new root=PARTUUID=7a1d2c3e-02 panic=""
    reached boards || root=/dev/vda2
    reached crash || panic="panic=0"
    rm -f "$img"
    truncate -s 16M "$img"
    sfdisk -q "$img" <<-EOF
	label: dos
	label-id: 0x7a1d2c3e
	start=64, size=8128, type=6, bootable
	start=8192, size=6144, type=83
	start=14336, size=18432, type=83
	EOF
    dd if=/usr/lib/syslinux/mbr/mbr.bin of="$img" conv=notrunc bs=440 count=1 status=none
    mformat -i "$img@@32K" -T 8128 -h 16 -s 63 -H 64 -v BOOT ::
    {
        echo "DEFAULT tiny"
        echo "PROMPT 0"
        echo "LABEL tiny"
        echo "  KERNEL /vmlinuz"
        echo "  APPEND root=$root rootfstype=ext4 ro rootwait console=ttyS0,115200 $panic"
    } > syslinux.cfg
    mcopy -i "$img@@32K" syslinux.cfg ::/syslinux.cfg
    if reached kernel; then mcopy -i "$img@@32K" linux/arch/x86/boot/bzImage ::/vmlinuz; fi
    syslinux --install --offset 32768 "$img"
    chown -R 0:0 root data
    chown -R 100:100 data/ledger
    chown -R 1000:1000 data/home/clerk
    chmod 700 data/ledger data/home/clerk root/root
    mke2fs -q -t ext4 -O ^has_journal,^resize_inode,^metadata_csum -m 0 -b 1024 -L root -d root \
        -E offset=$((8192 * 512)) "$img" 3M
    mke2fs -q -t ext4 -J size=1 -O ^resize_inode -m 0 -b 1024 -L data -d data \
        -E offset=$((14336 * 512)) "$img" 9M
    mv "$img" /app/out/tiny.img
    log "done: $(stat -c %s /app/out/tiny.img) bytes"
}

if reached kernel; then unpack; carry_over; kernel; fi
if reached login; then libc; userland; fi
rootfs
image
