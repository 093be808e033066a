#!/bin/sh
# Two more partitions, in another order on the disk than in the table, and other sizes.
set -eu
bash /solution/solve.sh
sed -i 's/^LAYOUT = .*/LAYOUT = ((2, 50), (60, 170), (240, 40))/; s/file.truncate(234 \* MIB)/file.truncate(290 * MIB)/' /tmp/builder
grep -q 290 /tmp/builder
python3 /tmp/builder
