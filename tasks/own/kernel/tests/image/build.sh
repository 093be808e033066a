#!/bin/sh
# What the verifier's image has besides, in $1 (/opt/bench): a Debian system in which delivered
# source is built inside of QEMU, the hidden programs, and the fingerprints of other kernels.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=${1:-/opt/bench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$bench"
toolchain="util-linux gcc g++ binutils make nasm perl-base dash coreutils sed mawk grep findutils diffutils gzip"

apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
	$toolchain musl-tools busybox-static libc6-dev e2fsprogs cpio xz-utils python3

# --- the hidden programs, each against two C libraries ------------------------------------------
mkdir -p "$bench/programs"
for source in "$here"/programs/*.c; do
	name=$(basename "$source" .c)
	if grep -q '^#include "bare.h"' "$source"; then
		gcc -O2 -w -static -nostdlib -ffreestanding -fno-stack-protector -fno-pie -no-pie \
			-fcf-protection=none -o "$bench/programs/$name" "$source"
	else
		gcc -O1 -w -static -pthread -o "$bench/programs/$name.glibc" "$source"
		musl-gcc -O1 -w -static -pthread -o "$bench/programs/$name.musl" "$source"
	fi
done
strip "$bench"/programs/*
cp /bin/busybox "$bench/busybox"

# --- the machine that builds -------------------------------------------------------------------------
probe='gcc --version | head -n 1 && echo "int main(void) { return 0; }" > probe.c && gcc -O2 probe.c && ./a.out &&
	g++ -c -xc++ probe.c && nasm -v && make -v | head -n 1'
from-tasks-lib build-machine.sh

# --- what other kernels' sources look like ---------------------------------------------------------
cat > "$work/source_fingerprints.py" <<'PY'
from-bench source_fingerprints.py
PY
table=known-kernels.bin words=$bench/known-words.txt
paths="arch/x86/boot arch/x86/entry \
	arch/x86/kernel arch/x86/mm arch/x86/lib arch/x86/include/asm block drivers/acpi drivers/block/virtio_blk.c \
	drivers/char drivers/net/virtio_net.c drivers/tty drivers/virtio fs/exec.c fs/binfmt_elf.c fs/buffer.c \
	fs/dcache.c fs/eventfd.c fs/eventpoll.c fs/ext2 fs/ext4 fs/fcntl.c fs/file.c fs/inode.c fs/minix fs/namei.c \
	fs/namespace.c fs/open.c fs/pipe.c fs/proc fs/ramfs fs/read_write.c fs/select.c fs/stat.c fs/super.c \
	fs/timerfd.c include/linux include/net init ipc kernel lib mm net/core net/ethernet net/ipv4 net/packet \
	net/socket.c net/unix"
from-tasks-lib linux-fingerprints.sh
[ $# -gt 0 ] || rm -rf /var/lib/apt/lists/*
ls -l "$bench"
