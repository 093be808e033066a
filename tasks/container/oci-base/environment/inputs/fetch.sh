#!/bin/sh
# Fetches what SHA256SUMS names from the Debian mirror that this machine uses.
set -eu
cd "$(dirname "$0")"

from-tasks-lib source-packages.sh

from-tasks-lib fetch.sh
get download linux-image-6.1.0-50-cloud-amd64 6.1.176-1
get download busybox-static 1:1.35.0-4+deb12u1+b1
get download musl 1.2.3-1
get download tzdata 2026b-0+deb12u1
get download ca-certificates 20230311+deb12u1
get "source --download-only" busybox 1:1.35.0-4+deb12u1
sha256sum -c SHA256SUMS || moved "the inputs" "other content"

from-tasks-lib bench-kernel.sh
mv tzdata_*.deb /app/bench/tzdata.deb
mv ca-certificates_*.deb /app/bench/ca-certificates.deb
rm -rf /tmp/kernel linux-image-*.deb busybox-static_*.deb fetch.sh SHA256SUMS
chmod 644 /app/bench/vmlinuz /app/bench/*.deb

rm -f /etc/apt/sources.list.d/src-*
rm -rf /var/lib/apt/lists/*
