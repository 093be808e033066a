#!/bin/bash
# A bundle whose names begin otherwise; a lock on one line.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
sed -i "s/prefix = '\$skarn'/prefix = '__part'/" src/lib/bundle.js
sed -i 's/packages }, null, 2)/packages })/' src/lib/install.js
grep -q __part src/lib/bundle.js
grep -q 'packages })' src/lib/install.js
bash solve.sh
