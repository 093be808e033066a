#!/bin/bash
# Board B's disk is larger, with one more partition and noise in slot b.
set -eu
bash /solution/solve.sh
cd /app/out
truncate -s 128M unit-b.img
sfdisk -q --relocate gpt-bak-std unit-b.img
echo 'size=8M, type=linux, name=workshop' | sfdisk -q --append unit-b.img
start=$(sfdisk -J unit-b.img | python3 -c 'import json, sys; print(next(p["start"] for p in json.load(sys.stdin)["partitiontable"]["partitions"] if p["name"] == "slot-b"))')
dd if=/dev/urandom of=unit-b.img bs=512 seek="$start" count=65536 conv=notrunc status=none
