#!/bin/bash
# Packed by LZMA, and with a command line of its own that the loader's words are added to.
set -eu
bash /solution/solve.sh
made=$(mktemp -d)
cp -a /build/objects/. "$made"
MORE="CONFIG_KERNEL_LZMA=y
CONFIG_CMDLINE_BOOL=y
CONFIG_CMDLINE=\"quiet loglevel=4\"" OBJECTS=$made bash /solution/solve.sh
