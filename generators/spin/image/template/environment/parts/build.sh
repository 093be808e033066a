#!/bin/sh
# The kernel and its modules, in $1, of a Debian package.
set -eu
packages=$(mktemp -d)
from-tasks-lib cloud-kernel.sh
mkdir -p "$1/modules"
cp "$packages"/kernel/boot/vmlinuz-* "$1/vmlinuz"
cp -r "$packages"/kernel/lib/modules/* "$1/modules/"
rm -rf "$packages"
