#!/bin/sh
# Fetches the source packages of SHA256SUMS from the Debian mirror that this machine uses.
set -eu
cd "$(dirname "$0")"

from-tasks-lib source-packages.sh

get() {
    command=$1 package=$2 version=$3
    # _apt may not write here; as root apt says so and goes on.
    (cd /app/sources && apt-get $command -qq -o APT::Sandbox::User=root "$package=$version") ||
        moved "$package $version" "no such version"
}
get download linux-source-6.1 6.1.176-1
get "source --download-only" musl 1.2.3-1
get "source --download-only" busybox 1:1.35.0-4+deb12u1
sha256sum -c SHA256SUMS || moved "the sources" "other content"

rm -f /etc/apt/sources.list.d/src-*
rm -rf /var/lib/apt/lists/*
