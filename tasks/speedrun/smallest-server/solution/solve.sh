#!/bin/bash
# The oracle: 32-bit C behind a boot sector, which asks its devices in turn and needs no interrupt.
# STOP_AFTER=<milestone> leaves out what only later milestones ask for.
set -euo pipefail
ladder="boots address ping queries files refuses damaged lossy several hostile lease off within-10 within-3 within-par"
from-tasks-lib ladder.sh

here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-/app/out}
made=$(mktemp -d)
set --
for stage in $ladder; do
	case $stage in within-*) continue ;; esac
	has "$stage" && set -- "$@" "-D$(echo "$stage" | tr a-z A-Z)"
done

mkdir -p "$out"
gcc -m32 -march=i686 -Oz -mtune=i386 -fno-tree-loop-im -fno-guess-branch-probability -ffreestanding -fno-pic -fno-pie -fno-stack-protector -fno-builtin \
	-fno-asynchronous-unwind-tables -fno-strict-aliasing -fcf-protection=none -fomit-frame-pointer \
	-fno-toplevel-reorder -mno-sse -mno-mmx -mpreferred-stack-boundary=2 -fno-align-functions \
	-fno-tree-loop-distribute-patterns -mregparm=3 -Wall -Wextra -Wno-unused \
	-Wno-address-of-packed-member -Wno-array-bounds \
	-nostdlib -static -no-pie -Wl,--build-id=none,--no-warn-rwx-segments,-T,"$here/image.ld" \
	"$@" -o "$made/server.elf" "$here/start.S" "$here/server.c"
objcopy -O binary -j .image "$made/server.elf" "$out/box.img"
# What is not to be within a size yet has text behind it.
fill() { yes "room that nobody asked for" | head -c "$1" >>"$out/box.img" || true; }
has within-10 || fill 50000
has within-3 || fill 15000
has within-par || fill 3000
ls -l "$out/box.img"
