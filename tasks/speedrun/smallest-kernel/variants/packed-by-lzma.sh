#!/bin/bash
# Packed by LZMA, and with timers of high resolution.
set -eu
bash /solution/solve.sh
made=$(mktemp -d)
cp -a /build/objects/. "$made"
MORE="CONFIG_KERNEL_LZMA=y
CONFIG_HIGH_RES_TIMERS=y" OBJECTS=$made bash /solution/solve.sh
