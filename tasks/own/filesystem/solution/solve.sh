#!/bin/bash
# The oracle: every change is written to a new place, and one write of a superblock makes it so.
# STOP_AFTER=<milestone> leaves out what only later milestones ask for.
set -euo pipefail
ladder="builds mounts device files folders renames links attributes holes mapped nameless full read-only sequences races checks spoilt-content spoilt-metadata spoilt-widely promises one-moment old-format upgrade growth memory night"
from-tasks-lib ladder.sh

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p /app/holm
cp -r "$here"/src/. /app/holm/

without() { echo "#define WITHOUT_$1" >> /app/holm/without.h; }
for milestone in $ladder; do
	has $milestone || without "$(echo $milestone | tr 'a-z-' 'A-Z_')"
done
