#!/bin/sh
# What the verifier's image has besides, in $1 (/opt/bench): a Debian system with the kernel's headers,
# in which delivered source is built inside of QEMU, the machine in which the file system is used, with
# the hidden programs, and the fingerprints of the kernel's own file systems.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=${1:-/opt/bench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$bench"

apt-get update -q
headers=$(apt-cache depends linux-headers-cloud-amd64 | sed -n 's/.*Depends: \(linux-headers-[0-9].*\)/\1/p')
toolchain="util-linux gcc g++ binutils make perl-base dash bash coreutils sed mawk grep findutils diffutils gzip xz-utils kmod bc $headers"
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
	$toolchain busybox-static libc6-dev e2fsprogs cpio xz-utils python3

# --- the machine that builds, which has to be able to build a module --------------------------------
kernel=linux-image-${headers#linux-headers-}
probe='printf "#include <linux/module.h>\nMODULE_LICENSE(\"GPL\");\n" > probe.c && echo "obj-m := probe.o" > Makefile &&
	make -C /lib/modules/*/build M=/tmp/probe modules'
from-tasks-lib build-machine.sh

# --- the machine with the hidden programs ------------------------------------------------------------
guest=$work/guest
mkdir -p $guest/bin $guest/dev $guest/proc $guest/sys $guest/root $guest/tmp $guest/mnt $guest/twin $guest/modules
cp /bin/busybox $guest/bin/busybox
for module in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk loop; do
	cp "$(find "$work/kernel/lib/modules" -name "$module.ko*")" $guest/modules/
done
cp "$here/guest-init" $guest/init
chmod 755 $guest/init
for name in posix load tools; do
	gcc -O1 -w -static -o "$guest/bin/$name" "$here/programs/$name.c"
	strip "$guest/bin/$name"
done
(cd $guest && find . | cpio -o -H newc --quiet) > "$bench/guest.cpio"

# --- what the kernel's own file systems look like ------------------------------------------------------
cat > "$work/source_fingerprints.py" <<'PY'
from-bench source_fingerprints.py
PY
table=known-sources.bin paths="fs mm lib" words=
from-tasks-lib linux-fingerprints.sh
[ $# -gt 0 ] || rm -rf /var/lib/apt/lists/*
ls -l "$bench"
