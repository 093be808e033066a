#!/bin/bash
# Built for size, without debugging information, without a symbol.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
sed -i 's/-O2 -g/-Os/; s/ld -nostdlib/ld -s -nostdlib/' src/Makefile
grep -q -- '-Os' src/Makefile
bash solve.sh
