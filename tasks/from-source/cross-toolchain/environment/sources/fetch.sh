#!/bin/sh
# Fetches what SHA256SUMS names from the Debian mirror that this machine uses.
set -eu
cd "$(dirname "$0")"

moved() {
    echo "The Debian mirror no longer has $1 as it was when this task was written ($2)." >&2
    echo "Point the build at a mirror or snapshot of Debian 12 that does; see SHA256SUMS." >&2
    exit 1
}

# deb822 files name their types, one-line files start with them.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$list" ] || continue
    case $list in
    *.sources) sed 's/^Types:.*/Types: deb-src/' "$list" > "/etc/apt/sources.list.d/src-$(basename "$list")" ;;
    *.list) sed -n 's/^deb /deb-src /p' "$list" > "/etc/apt/sources.list.d/src-$(basename "$list")" ;;
    esac
done
apt-get update -q

get() {
    command=$1 package=$2 version=$3
    # _apt may not write here; as root apt says so and goes on.
    apt-get $command -qq -o APT::Sandbox::User=root "$package=$version" ||
        moved "$package $version" "no such version"
}
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
mkdir -p /app/bench /tmp/kernel
dpkg-deb -x linux-image-*.deb /tmp/kernel
cp /tmp/kernel/boot/vmlinuz-* /app/bench/vmlinuz
dpkg-deb --fsys-tarfile busybox-static_*.deb | tar -xO ./bin/busybox > /app/bench/busybox
chmod 755 /app/bench/busybox
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
