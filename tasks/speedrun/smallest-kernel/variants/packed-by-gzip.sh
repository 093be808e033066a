#!/bin/bash
# Packed by gzip, and with pseudo terminals that nobody asked for.
set -eu
bash /solution/solve.sh
made=$(mktemp -d)
cp -a /build/objects/. "$made"
MORE="CONFIG_KERNEL_GZIP=y
CONFIG_UNIX98_PTYS=y" OBJECTS=$made bash /solution/solve.sh
