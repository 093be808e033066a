#!/bin/sh
# Fetches the packages that SHA256SUMS names from the Debian mirror that this machine uses.
set -eu
cd "$(dirname "$0")"

moved() {
    echo "The Debian mirror no longer has $1 as it was when this task was written ($2)." >&2
    echo "Point the build at a mirror or snapshot of Debian 12 that does; see SHA256SUMS." >&2
    exit 1
}

apt-get update -q
# NAME_VERSION_ARCH.deb, with %3a for a colon, is how apt names what it downloads.
wanted=$(sed 's/^[0-9a-f]*  //; s/_[a-z0-9]*\.deb$//; s/%3a/:/; s/_/=/' SHA256SUMS)
# _apt may not write here; as root apt says so and goes on.
apt-get download -qq -o APT::Sandbox::User=root $wanted || moved "the packages" "no such version"
sha256sum --quiet -c SHA256SUMS || moved "the packages" "other content"
chmod 644 ./*.deb
rm -f fetch.sh SHA256SUMS
rm -rf /var/lib/apt/lists/*
