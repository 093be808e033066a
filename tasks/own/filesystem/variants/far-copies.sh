#!/bin/bash
# The second copy of a node lies in the other half of the disk, and the youngest superblock is read backwards.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
sed -i 's/u64 a = take(h), b = take(h);/u64 a = take(h), b, near = h->cursor;\n\n\t\th->cursor = (a + h->total \/ 2) % h->total;\n\t\tb = take(h);\n\t\th->cursor = near;/' src/tree.c
grep -q 'near = h->cursor' src/tree.c
sed -i 's/for (at = 0; at < 4; at++) {/for (at = 3; at >= 0; at--) {/' src/commit.c
grep -q 'at = 3' src/commit.c
bash solve.sh
