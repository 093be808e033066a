#!/bin/sh
# The board: kernel, initial RAM disk and the files of its ROM, in /opt/station, of Debian packages.
set -eu
from-tasks-lib python-station.sh
from-tasks-lib router-board.sh
