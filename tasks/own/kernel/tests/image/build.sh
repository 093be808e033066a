#!/bin/sh
# What the verifier's image has besides, in $1 (/opt/bench): a Debian system in which delivered
# source is built inside of QEMU, the hidden programs, and the fingerprints of other kernels.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bench=${1:-/opt/bench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$bench"
toolchain="util-linux gcc g++ binutils make nasm perl-base dash coreutils sed mawk grep findutils diffutils gzip"

apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
	$toolchain musl-tools busybox-static libc6-dev e2fsprogs cpio xz-utils python3

# --- the hidden programs, each against two C libraries ------------------------------------------
mkdir -p "$bench/programs"
for source in "$here"/programs/*.c; do
	name=$(basename "$source" .c)
	if grep -q '^#include "bare.h"' "$source"; then
		gcc -O2 -w -static -nostdlib -ffreestanding -fno-stack-protector -fno-pie -no-pie \
			-fcf-protection=none -o "$bench/programs/$name" "$source"
	else
		gcc -O1 -w -static -pthread -o "$bench/programs/$name.glibc" "$source"
		musl-gcc -O1 -w -static -pthread -o "$bench/programs/$name.musl" "$source"
	fi
done
strip "$bench"/programs/*
cp /bin/busybox "$bench/busybox"

# --- a system with a toolchain, of this image's own packages --------------------------------------
root=$work/root
mkdir -p "$root/dev" "$root/proc" "$root/tmp" "$root/source" "$root/etc"
apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
	--no-enhances $toolchain | grep '^[a-z0-9]' | sort -u > "$work/closure"
dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | sed -n 's/^ii *//p' | sort -u > "$work/installed"
comm -12 "$work/closure" "$work/installed" | xargs dpkg-query -L |
	grep -E '^/(bin|sbin|lib|lib64|usr/(bin|lib|lib64|include|libexec))(/|$)' |
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
printf 'root:x:0:0::/:/bin/sh\nbuilder:x:1000:1000::/tmp:/bin/sh\n' > "$root/etc/passwd"
printf 'root:x:0:\nbuilder:x:1000:\n' > "$root/etc/group"
chroot "$root" /usr/bin/gcc --version | head -n 1
echo 'int main(void) { return 0; }' > "$root/tmp/probe.c"
chroot "$root" /bin/sh -c 'cd /tmp && gcc -O2 probe.c && ./a.out && g++ -c -xc++ probe.c && nasm -v && make -v | head -n 1'
rm -f "$root"/tmp/*
chmod 1777 "$root/tmp"
size=$(du -sm "$root" | cut -f1)
rm -f "$bench/builder.img"
mke2fs -q -t ext4 -O ^has_journal -E root_owner=0:0 -d "$root" "$bench/builder.img" "$((size + size / 8 + 40))M"

# --- its kernel, with the drivers for its disks ----------------------------------------------------
cd "$work"
kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
apt-get -q -o APT::Sandbox::User=root download "$kernel"
dpkg-deb -x linux-image-*.deb kernel
cp kernel/boot/vmlinuz-* "$bench/vmlinuz"
mkdir -p initrd/bin initrd/dev initrd/proc initrd/root initrd/modules
cp /bin/busybox initrd/bin/busybox
for module in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk; do
	cp "$(find kernel/lib/modules -name "$module.ko*")" initrd/modules/
done
cp "$here/builder-init" initrd/init
chmod 755 initrd/init
(cd initrd && find . | cpio -o -H newc --quiet | gzip -9) > "$bench/initrd.gz"

# --- what other kernels' sources look like ---------------------------------------------------------
source=$(apt-cache depends linux-source | sed -n 's/.*Depends: \(linux-source-[0-9].*\)/\1/p')
apt-get -q -o APT::Sandbox::User=root download "$source"
dpkg-deb --fsys-tarfile "$source"_*.deb | tar -xOf - --wildcards '*/linux-source-*.tar.xz' > linux.tar.xz
mkdir linux
top=$(tar -tJf linux.tar.xz 2>/dev/null | head -n 1 | cut -d/ -f1) || true
tar -xJf linux.tar.xz -C linux --strip-components=1 $(for path in arch/x86/boot arch/x86/entry \
	arch/x86/kernel arch/x86/mm arch/x86/lib arch/x86/include/asm block drivers/acpi drivers/block/virtio_blk.c \
	drivers/char drivers/net/virtio_net.c drivers/tty drivers/virtio fs/exec.c fs/binfmt_elf.c fs/buffer.c \
	fs/dcache.c fs/eventfd.c fs/eventpoll.c fs/ext2 fs/ext4 fs/fcntl.c fs/file.c fs/inode.c fs/minix fs/namei.c \
	fs/namespace.c fs/open.c fs/pipe.c fs/proc fs/ramfs fs/read_write.c fs/select.c fs/stat.c fs/super.c \
	fs/timerfd.c include/linux include/net init ipc kernel lib mm net/core net/ethernet net/ipv4 net/packet \
	net/socket.c net/unix; do echo "$top/$path"; done)
python3 "$here/known_kernels.py" linux "$bench/known-kernels.bin" "$bench/known-words.txt"
[ $# -gt 0 ] || rm -rf /var/lib/apt/lists/*
ls -l "$bench"
