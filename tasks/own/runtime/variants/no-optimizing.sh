#!/bin/bash
# Built with -O0, with its symbols, in one command, and with zlib's and the mathematical library's names at hand.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
sed -i 's/-O1/-O0/; s/-static -s -o/-static -o/; s/^LIBS = .*/LIBS = $(ENGINE) -lz -lm -lpthread -ldl/' src/Makefile
grep -q -- -lz src/Makefile
bash solve.sh
