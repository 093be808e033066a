#!/bin/sh
# Fetches what SHA256SUMS names from the Debian mirror that this machine uses.
set -eu
cd "$(dirname "$0")"

from-tasks-lib source-packages.sh

from-tasks-lib fetch.sh
get download gcc-12-source 12.2.0-14+deb12u1
get download binutils-source 2.40-2
get download linux-source-6.1 6.1.176-1
get download linux-image-6.1.0-50-cloud-amd64 6.1.176-1
get download busybox-static 1:1.35.0-4+deb12u1+b1
get "source --download-only" musl 1.2.3-1
get "source --download-only" busybox 1:1.35.0-4+deb12u1
rm -f *.dsc *.asc *.debian.tar.*
sha256sum -c SHA256SUMS || moved "the sources" "other content"

# The bench on which the customer compiles: a kernel and a shell, and no C library.
from-tasks-lib bench-kernel.sh
chmod 644 /app/bench/vmlinuz

# The packages of sources hold one archive each that matters; what Debian adds is left out.
for package in gcc-12 binutils linux; do
    dpkg-deb -x $package-source*.deb unpacked
done
mv unpacked/usr/src/gcc-12/gcc-*.tar.xz .
mv unpacked/usr/src/binutils/binutils-*.tar.xz .
mv unpacked/usr/src/linux-source-*.tar.xz .
rm -rf unpacked /tmp/kernel ./*.deb fetch.sh SHA256SUMS
chmod 644 ./*

rm -f /etc/apt/sources.list.d/src-*
rm -rf /var/lib/apt/lists/*
