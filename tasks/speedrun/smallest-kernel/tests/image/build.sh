#!/bin/sh
# What the verifier's image has besides, in $1 (/opt/bench): its own program in 64 and in 32 bits,
# and Debian's static BusyBox.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=${1:-/opt/bench} given=$#
mkdir -p "$bench"
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
	gcc gcc-multilib libc6-dev libc6-dev-i386 busybox-static e2fsprogs fdisk
set -- "$here/probe.c" "$here/more.c"
gcc -O2 -Wall -static -pthread -o "$bench/probe" "$@"
gcc -O2 -Wall -static-pie -fPIE -pthread -o "$bench/probe-pie" "$@"
gcc -O2 -w -m32 -static -pthread -o "$bench/probe32" "$@" -latomic
strip "$bench/probe" "$bench/probe-pie" "$bench/probe32"
cp /bin/busybox "$bench/busybox"
"$bench/busybox" --list >"$bench/applets"
[ "$given" -gt 0 ] || rm -rf /var/lib/apt/lists/*
