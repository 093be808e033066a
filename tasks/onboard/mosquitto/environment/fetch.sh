#!/bin/sh
# The sources, from the Debian mirror that this machine uses, as SHA256SUMS pins them.
set -eu
cd "$(dirname "$0")"

from-tasks-lib source-packages.sh

from-tasks-lib fetch.sh
get "source --download-only" mosquitto 2.0.11-1.2+deb12u2
sha256sum -c SHA256SUMS || moved "the sources" "other content"
mkdir -p /app/mosquitto
tar -C /app/mosquitto --strip-components=1 --no-same-owner -xzf mosquitto_2.0.11.orig.tar.gz

rm -rf /etc/apt/sources.list.d/src-* /var/lib/apt/lists/*
