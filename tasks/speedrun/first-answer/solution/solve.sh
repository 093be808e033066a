#!/bin/bash
# The oracle: firmware in C; the sum of the table with carry-less multiplication, 64 bits a step.
# STOP_AFTER=<milestone> leaves out what only later milestones ask for.
set -euo pipefail
ladder="image speaks uart answers refuses tables damaged memory rests within-100 within-10 within-3 within-par round"
from-tasks-lib ladder.sh

here=$(cd "$(dirname "$0")" && pwd)
set --
has speaks && set -- "$@" -DSPEAKS
has uart && set -- "$@" -DUART_RULES
has answers && set -- "$@" -DANSWERS
has refuses && set -- "$@" -DREFUSES
has tables && set -- "$@" -DTABLES
has damaged && set -- "$@" -DDAMAGED
has memory && set -- "$@" -DMEMORY
has rests && set -- "$@" -DRESTS
has within-100 && set -- "$@" -DWITHIN_100
has within-10 && set -- "$@" -DWITHIN_10
has within-3 && set -- "$@" -DWITHIN_3
has within-par && set -- "$@" -DWITHIN_PAR
has round && set -- "$@" -DROUND

mkdir -p /app/out
riscv64-unknown-elf-gcc -march=rv64gc_zba_zbb_zbc_zbs -mabi=lp64d -mcmodel=medany ${LEVEL:--O2} \
	-ffreestanding -fno-strict-aliasing -fno-tree-loop-distribute-patterns -nostdlib -static \
	-Wall -Wno-unused -Wno-array-bounds -Wl,--build-id=none -Wl,--no-warn-rwx-segments -T "$here/board.ld" \
	"$@" -o /app/out/firmware.elf "$here/start.S" "$here/firmware.c"
ls -l /app/out/firmware.elf
