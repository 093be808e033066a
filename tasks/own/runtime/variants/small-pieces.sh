#!/bin/bash
# Sockets are read in pieces of 4,000 bytes.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
sed -i 's/^const room = new Uint8Array(65536);/const room = new Uint8Array(4000);/' src/lib/net.js
grep -q 'Uint8Array(4000)' src/lib/net.js
bash solve.sh
