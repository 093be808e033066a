#!/bin/sh
# The kernel and the start say all that they do on the console.
set -eu
bash /solution/solve.sh
sed -i 's/^CMDLINE = .*/CMDLINE = "console=ttyS0,115200 panic=0"/; s/^    rc = \["#!\/bin\/sh", /&"exec > \/dev\/console 2>\&1; set -x", /' /tmp/builder
grep -q 'set -x' /tmp/builder
python3 /tmp/builder
