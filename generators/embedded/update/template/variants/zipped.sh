#!/bin/sh
# The program is a zip archive that Python runs.
set -eu
bash /solution/solve.sh
mkdir -p /tmp/zipped
cp /app/out/updater /tmp/zipped/__main__.py
python3 -m zipapp -p '/usr/bin/python3 -IS' -o /tmp/updater /tmp/zipped
install -m 755 /tmp/updater /app/out/updater
