#!/bin/bash
# Connections are closed after three seconds without a request, and nothing is said of it.
set -eu
work=$(mktemp -d)
cp -r /solution/. "$work/"
cd "$work"
sed -i 's/this\.keepAliveTimeout = options\.keepAliveTimeout === undefined ? 5000/this.keepAliveTimeout = options.keepAliveTimeout === undefined ? 3000/; /Keep-Alive: timeout=/d' src/lib/http.js
grep -q '? 3000' src/lib/http.js
bash solve.sh
