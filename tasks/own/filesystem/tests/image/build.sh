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
toolchain="util-linux gcc g++ binutils make perl-base dash bash coreutils sed mawk grep findutils diffutils gzip xz-utils kmod bc"

apt-get update -q
headers=$(apt-cache depends linux-headers-cloud-amd64 | sed -n 's/.*Depends: \(linux-headers-[0-9].*\)/\1/p')
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
	$toolchain "$headers" busybox-static libc6-dev e2fsprogs cpio xz-utils python3

# --- a system with a toolchain, of this image's own packages --------------------------------------
root=$work/root
mkdir -p "$root/dev" "$root/proc" "$root/tmp" "$root/source" "$root/etc"
apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
	--no-enhances $toolchain "$headers" | grep '^[a-z0-9]' | sort -u > "$work/closure"
dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | sed -n 's/^ii *//p' | sort -u > "$work/installed"
comm -12 "$work/closure" "$work/installed" | xargs dpkg-query -L |
	grep -E '^/(bin|sbin|lib|lib64|usr/(bin|lib|lib64|include|libexec|src))(/|$)' |
	grep -v -E '/(python3?|locale|gconv)(/|$)' | sort -u > "$work/files"
(cd / && for link in bin sbin lib lib64; do [ -L $link ] && echo $link; done) > "$work/links"
(cd / && tar -cf - --no-recursion -T "$work/links") | tar -xf - -C "$root"
(cd / && sed 's,^/,,' "$work/files" | while read -r path; do
	case $path in bin | sbin | lib | lib64) continue ;; esac
	# Packages name files by the directories that were merged into /usr.
	case $path in bin/* | sbin/* | lib/* | lib64/*) [ -L "${path%%/*}" ] && path=usr/$path ;; esac
	[ -e "$path" ] || [ -L "$path" ] && echo "$path"
done) | sort -u > "$work/paths"
(cd / && tar -cf - --no-recursion -T "$work/paths") | tar -xf - -C "$root"
cp -a /etc/alternatives "$root/etc/"
ln -sf mawk "$root/usr/bin/awk"
printf 'root:x:0:0::/:/bin/sh\nbuilder:x:1000:1000::/tmp:/bin/sh\n' > "$root/etc/passwd"
printf 'root:x:0:\nbuilder:x:1000:\n' > "$root/etc/group"
# It has to be able to build a module.
mkdir "$root/tmp/probe"
printf '#include <linux/module.h>\nMODULE_LICENSE("GPL");\n' > "$root/tmp/probe/probe.c"
echo 'obj-m := probe.o' > "$root/tmp/probe/Makefile"
chroot "$root" /bin/sh -c 'make -C /lib/modules/*/build M=/tmp/probe modules' > "$work/probe.log" 2>&1 ||
	{ cat "$work/probe.log"; exit 1; }
rm -rf "$root/tmp/probe"
chmod 1777 "$root/tmp"
size=$(du -sm "$root" | cut -f1)
rm -f "$bench/builder.img"
mke2fs -q -t ext4 -O ^has_journal -N 60000 -E root_owner=0:0 -d "$root" "$bench/builder.img" \
	"$((size + size / 8 + 60))M"

# --- the kernel, with the drivers for its disks ----------------------------------------------------
cd "$work"
kernel=linux-image-${headers#linux-headers-}
apt-get -q -o APT::Sandbox::User=root download "$kernel"
dpkg-deb -x linux-image-*.deb kernel
cp kernel/boot/vmlinuz-* "$bench/vmlinuz"
for tree in initrd guest; do
	mkdir -p $tree/bin $tree/dev $tree/proc $tree/sys $tree/root $tree/tmp $tree/mnt $tree/twin $tree/modules
	cp /bin/busybox $tree/bin/busybox
	for module in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk loop; do
		cp "$(find kernel/lib/modules -name "$module.ko*")" $tree/modules/
	done
done
cp "$here/builder-init" initrd/init
cp "$here/guest-init" guest/init
chmod 755 initrd/init guest/init
(cd initrd && find . | cpio -o -H newc --quiet | gzip -9) > "$bench/initrd.gz"

# --- the machine with the hidden programs ------------------------------------------------------------
for name in posix load tools; do
	gcc -O1 -w -static -o "guest/bin/$name" "$here/programs/$name.c"
	strip "guest/bin/$name"
done
(cd guest && find . | cpio -o -H newc --quiet) > "$bench/guest.cpio"

# --- what the kernel's own file systems look like ------------------------------------------------------
source=$(apt-cache depends linux-source | sed -n 's/.*Depends: \(linux-source-[0-9].*\)/\1/p')
apt-get -q -o APT::Sandbox::User=root download "$source"
dpkg-deb --fsys-tarfile "$source"_*.deb | tar -xOf - --wildcards '*/linux-source-*.tar.xz' > linux.tar.xz
mkdir linux
top=$(tar -tJf linux.tar.xz 2>/dev/null | head -n 1 | cut -d/ -f1) || true
tar -xJf linux.tar.xz -C linux --strip-components=1 "$top/fs" "$top/mm" "$top/lib"
python3 "$here/known_sources.py" linux "$bench/known-sources.bin"
[ $# -gt 0 ] || rm -rf /var/lib/apt/lists/*
ls -l "$bench"
