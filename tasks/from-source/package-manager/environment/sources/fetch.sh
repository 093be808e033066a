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
get download linux-image-6.1.0-50-cloud-amd64 6.1.176-1
get "source --download-only" musl 1.2.3-1
get "source --download-only" busybox 1:1.35.0-4+deb12u1
get "source --download-only" tcc 0.9.27+git20200814.62c30a4a-1
get "source --download-only" signify-openbsd 31-3
rm -f *.dsc *.asc *.debian.tar.*
sha256sum -c SHA256SUMS || moved "the sources" "other content"

rm -f /etc/apt/sources.list.d/src-*
rm -rf /var/lib/apt/lists/*
