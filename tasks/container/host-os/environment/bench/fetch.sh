#!/bin/sh
# The busybox of the bench, as the Debian mirror that this machine uses has it.
set -eu
cd "$(dirname "$0")"
sum=$(cat busybox.sha256)
apt-get update -q
apt-get download -qq -o APT::Sandbox::User=root busybox-static=1:1.35.0-4+deb12u1+b1 || {
    echo "The Debian mirror no longer has busybox-static 1:1.35.0-4+deb12u1+b1." >&2
    echo "Point the build at a mirror or snapshot of Debian 12 that does." >&2
    exit 1
}
dpkg-deb --fsys-tarfile busybox-static_*.deb | tar -xO ./bin/busybox > busybox
echo "$sum  busybox" | sha256sum -c || {
    echo "busybox-static 1:1.35.0-4+deb12u1+b1 has another content than when this task was written." >&2
    exit 1
}
chmod 755 busybox
rm -rf busybox-static_*.deb fetch.sh busybox.sha256 /var/lib/apt/lists/*
