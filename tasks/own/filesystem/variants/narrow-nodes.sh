#!/bin/bash
# Another format: fewer pointers and names in a node, so that trees are higher.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
sed -i 's/#define FAN_BITS 7/#define FAN_BITS 5/; s/#define LEAF_BITS 8/#define LEAF_BITS 7/; s/#define SLOTS 15/#define SLOTS 11/' src/disk.h
grep -q 'FAN_BITS 5' src/disk.h
grep -q 'SLOTS 11' src/disk.h
bash solve.sh
