#!/bin/sh
# The board: kernel, initial RAM disk and the files of its ROM, in $1, of Debian packages.
set -eu
from-tasks-lib python-station.sh
from-tasks-lib router-board.sh
