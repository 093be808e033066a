#!/bin/sh
# The packages for the board that packages.list names, as the Debian mirror of this machine has them.
set -eu
cd "$(dirname "$0")"
dpkg --add-architecture arm64
apt-get update -q
mkdir -p ../packages
cd ../packages

moved() {
    echo "The Debian mirror no longer has $1 for arm64 as it was when this task was written ($2)." >&2
    echo "Point the build at a mirror or snapshot of Debian 12 that does." >&2
    exit 1
}

while read -r name version sum; do
    apt-get download -qq -o APT::Sandbox::User=root "$name:arm64=$version" ||
        moved "$name $version" "no such version"
    # apt writes the colon of an epoch as %3a into the name of the file.
    file=$(echo "${name}_${version}_arm64.deb" | sed 's/:/%3a/')
    echo "$sum  $file" | sha256sum -c --quiet || moved "$name $version" "other content"
done <../order/packages.list
mv ../order/packages.list .
rm -rf ../order/fetch.sh /var/lib/apt/lists/*
