#!/bin/bash
# busybox.sh SOURCES COMMANDS TARGET: a BusyBox with these commands and all that each of them can do
# by default, linked to musl's library.
set -euo pipefail
sources=$1 commands=$2 target=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p /tmp/work/src && cd /tmp/work/src
tar xjf "$sources"/busybox_1.35.0.orig.tar.bz2 --strip-components=1
make -s defconfig > /dev/null 2>&1
python3 "$here/applets.py" "$commands" . > .config.new
mv .config.new .config
# `yes` closed its pipe when oldconfig had read enough.
(yes '' || :) | KCONFIG_NOTIMESTAMP=1 make -s oldconfig > /dev/null 2>&1
make -s -j2 CC="musl-gcc -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu" \
    SKIP_STRIP=y busybox > /tmp/work/busybox.log 2>&1 || { tail /tmp/work/busybox.log; exit 1; }
strip -s -R .comment -R .note -o "$target" busybox
