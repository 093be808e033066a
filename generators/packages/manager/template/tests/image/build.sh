#!/bin/sh
# The station: kernel, initial RAM disk and the files of its disk, in $1, of Debian packages.
set -eu
from-tasks-lib python-station.sh
