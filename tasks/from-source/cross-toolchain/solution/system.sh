#!/bin/bash
# system.sh BUILD: kernel, BusyBox and gauge with the toolchain in /fx31. What is built is kept.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
target=riscv64-ferrum-linux-musl
jobs=$(nproc)
export PATH=/fx31/bin:$PATH
log() { echo "[$(date +%T)] $*"; }
cd "$build"

if [ ! -e done.kernel ]; then
    log kernel
    cd src/linux
    make -s ARCH=riscv tinyconfig > /dev/null
    ARCH=riscv scripts/kconfig/merge_config.sh -m .config "$here/kernel.config" > "$build/merge.log"
    make -s ARCH=riscv CROSS_COMPILE=$target- olddefconfig
    make -s -j"$jobs" ARCH=riscv CROSS_COMPILE=$target- KBUILD_BUILD_USER=fx31 \
        KBUILD_BUILD_HOST=ferrum Image > "$build/kernel.log" 2>&1 ||
        { tail -n 30 "$build/kernel.log"; exit 1; }
    cd "$build"
    touch done.kernel
fi

if [ ! -e done.busybox ]; then
    log busybox
    rm -rf busybox && mkdir busybox
    tar -C busybox --strip-components=1 -xf "$(echo /app/sources/busybox_*.tar.bz2)"
    cd busybox
    make -s defconfig > /dev/null 2>&1
    # musl lacks the headers of utmp and of old RPC, and Linux those of tc.
    sed -i 's/^CONFIG_\(TC\|FEATURE_UTMP\|FEATURE_WTMP\|FEATURE_INETD_RPC\)=y/CONFIG_\1=n/' .config
    sed -i "s/^CONFIG_CROSS_COMPILER_PREFIX=.*/CONFIG_CROSS_COMPILER_PREFIX=\"$target-\"/" .config
    yes "" 2> /dev/null | make -s oldconfig > "$build/busybox.log" 2>&1 || true
    make -s -j"$jobs" ARCH=riscv64 busybox >> "$build/busybox.log" 2>&1 ||
        { tail -n 30 "$build/busybox.log"; exit 1; }
    make -s busybox.links > /dev/null
    cd "$build"
    touch done.busybox
fi
