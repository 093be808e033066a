#!/bin/sh
# The packages for the board that packages.list names, as the Debian mirror of this machine has them.
set -eu
cd "$(dirname "$0")"
dpkg --add-architecture arm64
apt-get update -q
mkdir -p ../packages
cd ../packages
while read -r name version sum; do
    apt-get download -qq -o APT::Sandbox::User=root "$name:arm64=$version" || {
        echo "The Debian mirror no longer has $name $version for arm64." >&2
        echo "Point the build at a mirror or snapshot of Debian 12 that does." >&2
        exit 1
    }
    echo "$sum  $(ls -t | head -n 1)" | sha256sum -c --quiet
done <../order/packages.list
mv ../order/packages.list .
rm -rf ../order/fetch.sh /var/lib/apt/lists/*
