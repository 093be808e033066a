#!/bin/bash
# userland.sh SOURCES BUILD: musl, BusyBox, tcc and lade, compiled into BUILD.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sources=$1 build=$2
mark=tarn3
mkdir -p "$build" && cd "$build"
log() { echo "[$(date +%T)] $*"; }

unpack() { [ -e "$1" ] || { mkdir "$1" && tar xf "$sources"/$2 -C "$1" --strip-components="${3:-1}"; }; }
unpack musl 'musl_*.orig.tar.gz'
unpack busybox 'busybox_*.orig.tar.bz2'
unpack tcc 'tcc_*.orig.tar.bz2' 0
unpack signify 'signify-openbsd_*.orig.tar.gz'

if [ ! -e musl.done ]; then
    log musl
    cd musl
    echo "1.2.3-$mark" > VERSION
    ./configure --prefix="$build/sysroot" --syslibdir=/lib > ../musl.log
    make -s -j"$(nproc)" >> ../musl.log 2>&1
    make -s install-libs install-headers install-tools DESTDIR= syslibdir="$build/sysroot/lib" >> ../musl.log
    cd ..
    # BusyBox wants the kernel's headers beside musl's.
    cp -a /usr/include/linux /usr/include/asm-generic /usr/include/mtd sysroot/include/
    cp -aL /usr/include/x86_64-linux-gnu/asm sysroot/include/asm
    # What is linked to the library below runs here too.
    cp sysroot/lib/libc.so /lib/ld-musl-x86_64.so.1
    touch musl.done
fi
gcc=$build/sysroot/bin/musl-gcc

if [ ! -e busybox.done ]; then
    log busybox
    cd busybox
    make -s defconfig > /dev/null 2>&1
    make -s -j"$(nproc)" EXTRAVERSION="-$mark" CC="$gcc" HOSTCC=gcc busybox > ../busybox.log 2>&1
    make -s busybox.links > /dev/null
    cd ..
    touch busybox.done
fi

if [ ! -e tcc.done ]; then
    log tcc
    cd tcc
    ./configure --prefix=/usr --cc="$gcc" --config-musl --config-bcheck=no --config-backtrace=no \
        --crtprefix=/usr/lib --libpaths=/usr/lib --sysincludepaths=/usr/lib/tcc/include:/usr/include \
        --elfinterp=/lib/ld-musl-x86_64.so.1 > ../tcc.log
    make -s tcc >> ../tcc.log 2>&1
    make -s -C lib XFLAGS="-B$build/tcc -I$build/tcc/include -I$build/sysroot/include" >> ../tcc.log 2>&1
    cd ..
    touch tcc.done
fi
