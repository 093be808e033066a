#!/bin/sh
# The program is a zip archive that Python runs.
set -eu
bash /solution/solve.sh
mkdir -p /tmp/zipped
cp /app/out/manager /tmp/zipped/__main__.py
python3 -m zipapp -p '/usr/bin/python3 -IS' -o /tmp/manager /tmp/zipped
install -m 755 /tmp/manager /app/out/manager
