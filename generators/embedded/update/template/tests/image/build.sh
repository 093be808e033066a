#!/bin/sh
# The board: kernel, initial RAM disk and the files of its ROM, in /opt/station, of Debian packages;
# and the module for a flash on the network, where each write can be seen.
set -eu
from-tasks-lib python-station.sh
cp "$(find "$work/kernel/lib/modules" -name nbd.ko)" "$out/nbd.ko"
