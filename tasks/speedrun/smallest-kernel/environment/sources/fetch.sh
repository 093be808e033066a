#!/bin/sh
# Fetches the kernel's source from the Debian mirror that this machine uses.
set -eu
cd "$(dirname "$0")"

from-tasks-lib source-packages.sh
from-tasks-lib fetch.sh

get download linux-source-6.1 6.1.176-1
sha256sum -c SHA256SUMS || moved "the source" "other content"

rm -rf /etc/apt/sources.list.d/src-* /var/lib/apt/lists/*
