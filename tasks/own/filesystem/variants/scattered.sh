#!/bin/bash
# Every block lies where chance has it.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
sed -i 's/find_next_zero_bit(h->used, h->total, h->cursor);/find_next_zero_bit(h->used, h->total, get_random_u32() % h->total);/; s/#include <linux\/mm.h>/&\n#include <linux\/random.h>/' src/space.c
grep -q get_random_u32 src/space.c
bash solve.sh
