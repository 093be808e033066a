#!/bin/bash
# Packed by zstd, and with pseudo terminals that nobody asked for.
set -eu
bash /solution/solve.sh
made=$(mktemp -d)
cp -a /build/objects/. "$made"
MORE="CONFIG_KERNEL_ZSTD=y
CONFIG_UNIX98_PTYS=y" OBJECTS=$made bash /solution/solve.sh
