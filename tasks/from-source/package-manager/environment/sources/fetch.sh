#!/bin/sh
# Fetches what SHA256SUMS names from the Debian mirror that this machine uses.
set -eu
cd "$(dirname "$0")"

from-tasks-lib source-packages.sh

from-tasks-lib fetch.sh
get download linux-image-6.1.0-50-cloud-amd64 6.1.176-1
get "source --download-only" musl 1.2.3-1
get "source --download-only" busybox 1:1.35.0-4+deb12u1
get "source --download-only" tcc 0.9.27+git20200814.62c30a4a-1
get "source --download-only" signify-openbsd 31-3
rm -f *.dsc *.asc *.debian.tar.*
sha256sum -c SHA256SUMS || moved "the sources" "other content"

rm -f /etc/apt/sources.list.d/src-*
rm -rf /var/lib/apt/lists/*
