#!/bin/sh
# What the verifier's image has besides, in $1 (/opt/bench): Node.js, which says what programs come to; a
# Debian with the engine, in which delivered source is built inside of QEMU; the machine in which the
# program is used; and a disk with Node.js and the bare engine, for a machine that runs bundles.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=${1:-/opt/bench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$bench"

apt-get update -q
toolchain="util-linux gcc g++ binutils make perl-base dash bash coreutils sed mawk grep findutils diffutils gzip xz-utils"
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
	$toolchain busybox-static libc6-dev zlib1g-dev e2fsprogs cpio xz-utils python3 nodejs node-semver

# --- the engine, as a package that the machine takes with it (as environment/engine.sh) ---------------
site=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' | awk '$1 == "bookworm" { print $2; exit }')
pack=$work/pack
mkdir -p "$pack/usr/bin" "$pack/usr/lib/quickjs" "$pack/usr/include/quickjs" "$pack/DEBIAN" "$work/qjs"
cd "$work/qjs"
/usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "${site}pool/main/q/quickjs/quickjs_2025.04.26.orig.tar.xz" \
	source.tar.xz SHA256:ec81da5b3249ed648dbc7df4a1654988910e66a118d9b71cb63534216efcfbbe
tar -xf source.tar.xz --strip-components=1
make -s -j2 CONFIG_LTO= qjs qjsc libquickjs.a > /dev/null
strip qjs qjsc && mv qjs qjsc "$pack/usr/bin/"
strip --strip-debug libquickjs.a && mv libquickjs.a "$pack/usr/lib/quickjs/"
mv quickjs.h quickjs-libc.h cutils.h list.h dtoa.h libregexp.h libregexp-opcode.h libunicode.h "$pack/usr/include/quickjs/"
cp /usr/share/nodejs/acorn/dist/acorn.js "$pack/usr/lib/quickjs/"
printf '%s\n' 'Package: quickjs-ready' 'Version: 1' 'Architecture: all' 'Maintainer: nobody <nobody@localhost>' \
	'Description: an engine and a parser' > "$pack/DEBIAN/control"
dpkg-deb --root-owner-group --build "$pack" "$work/pack.deb" > /dev/null && dpkg -i "$work/pack.deb" > /dev/null
cd /

# --- the machine that builds -------------------------------------------------------------------------
toolchain="$toolchain libc6-dev zlib1g-dev quickjs-ready"
probe='printf "#include <quickjs/quickjs-libc.h>\n#include <zlib.h>\nint main(){return !JS_NewRuntime()||!zlibVersion();}\n" > p.c &&
	gcc -static -o p p.c /usr/lib/quickjs/libquickjs.a -lz -lm -lpthread 2> /dev/null && ./p && qjs -e "print(1)" && test -s /usr/lib/quickjs/acorn.js'
from-tasks-lib build-machine.sh

# --- the machine with the program ---------------------------------------------------------------------
guest=$work/guest
mkdir -p $guest/bin $guest/dev $guest/proc $guest/sys $guest/etc $guest/root $guest/tmp $guest/data $guest/node $guest/modules
cp /bin/busybox $guest/bin/busybox
for module in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk \
	failover net_failover virtio_net; do
	cp "$(find "$work/kernel/lib/modules" -name "$module.ko*")" $guest/modules/
done
printf '127.0.0.1 localhost\n10.0.2.2 host\n' > $guest/etc/hosts
printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' > $guest/etc/passwd
cp "$here/guest-init" $guest/init
chmod 755 $guest/init
(cd $guest && find . | cpio -o -H newc --quiet) > "$bench/guest.cpio"

# --- the disk with Node.js -----------------------------------------------------------------------------
judge=$work/judge
mkdir -p $judge/tmp $judge/proc $judge/dev $judge/usr/bin $judge/usr/share
ln -s usr/lib $judge/lib
ln -s usr/lib64 $judge/lib64
ln -s usr/bin $judge/bin
cp /bin/busybox $judge/usr/bin/busybox
cp -r /usr/share/nodejs $judge/usr/share/
for program in /usr/bin/node /usr/bin/qjs; do
	cp "$(readlink -f $program)" "$judge$program"
	for library in $(ldd $program | grep -o '/[^ ]*'); do
		mkdir -p "$judge/usr/lib/x86_64-linux-gnu" "$judge/usr/lib64"
		case $library in
		/lib64/*) cp "$library" "$judge/usr/lib64/" ;;
		*) cp "$library" "$judge/usr/lib/x86_64-linux-gnu/" ;;
		esac
	done
done
chroot $judge /usr/bin/node -e 'require("fs")'
chroot $judge /usr/bin/qjs -e 'print(1)'
size=$(du -sm "$judge" | cut -f1)
rm -f "$bench/judge.img"
mke2fs -q -t ext4 -O ^has_journal -E root_owner=0:0 -d "$judge" "$bench/judge.img" "$((size + size / 8 + 20))M"
[ $# -gt 0 ] || rm -rf /var/lib/apt/lists/*
ls -l "$bench"
