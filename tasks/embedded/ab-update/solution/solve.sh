#!/bin/bash
# Builds /app/out/unit.img, first.bundle and vendor.pem. STOP_AFTER=<milestone> leaves out, on
# purpose, what the later milestones ask for. LOCAL_CHANGES names a file that is sourced before the
# slot is packed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=/app/out
work=$(mktemp -d /var/tmp/unit-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root
boot=$work/boot

ladder="image boots records refuses installs stays falls-back dead-versions hangs on-trial rollback
keeps power-cuts spoilt-sector"
from-tasks-lib ladder.sh

# ---- the kernel: Debian's for clouds, which is packed so that it starts fast ----

packages=/var/tmp/unit-packages
if [ ! -e $packages/done ]; then
from-tasks-lib cloud-kernel.sh
	touch $packages/done
fi
modules=$(echo $packages/kernel/lib/modules/*)

# ---- the slot's tree ----

mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,usr/lib,lib,lib64,etc/health.d,boot,dev,proc,sys,run,tmp,data,media,root}
cp /bin/busybox "$root/bin/busybox"
for applet in $(/bin/busybox --list-full); do
	[ -e "$root/$applet" ] || ln -s /bin/busybox "$root/$applet"
done
from-tasks-lib with-libraries.sh
with_libraries /usr/bin/openssl /usr/bin/flock /bin/sync /sbin/mke2fs
cp -r "$here/rootfs/." "$root/"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
echo "root:$(openssl passwd -6 'Lock-Chamber-7'):19000:0:99999:7:::" >"$root/etc/shadow"
chmod 600 "$root/etc/shadow"
echo varde-3 >"$root/etc/board"
printf 'version=1\nbuild=factory\n' >"$root/etc/release"
cp $packages/kernel/boot/vmlinuz-* "$root/boot/vmlinuz"

mkdir -p "$out"
[ -e "$work/vendor.pem" ] || openssl genpkey -algorithm ed25519 -out "$work/vendor.pem"
openssl pkey -in "$work/vendor.pem" -pubout -out "$root/etc/vendor.pub"

mkdir -p "$work"/initrd/{bin,lib,proc,sys,dev,root}
cp /bin/busybox "$work/initrd/bin/"
ln -s busybox "$work/initrd/bin/watchdog"
for module in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk \
	crc16 mbcache jbd2 crc32c_generic libcrc32c ext4 watchdog softdog; do
	found=$(find "$modules" -name "$module.ko")
	[ -z "$found" ] && continue
	cp "$found" "$work/initrd/lib/"
	echo "$module" >>"$work/initrd/modules"
done
install -m 755 "$here/initrd-init" "$work/initrd/init"

mkdir -p "$boot/boot/grub"
cp "$here/grub.cfg" "$boot/boot/grub/"

# ---- the state: five files of a sector each, in blocks of their own ----

mkdir "$work/state.d"
python3 - "$work/state.d" <<'WRITE'
import sys


def block(text, end=""):
    head = "# GRUB Environment Block\n" + text
    return head + "#" * (512 - len(head) - len(end) - bool(end)) + "\n" * bool(end) + end


def state(seq):
    return block(
        f"seq={seq}\ngood=a\ntrial=\nid=\nfloor=1\nisa=good\nisb=none\nva=1\nvb=\n", f"end={seq}\n"
    )


for name, text in {"s0": state(2), "s1": state(1), **{t: block("used=0\n") for t in ("t1", "t2", "t3")}}.items():
    with open(f"{sys.argv[1]}/{name}", "w") as file:
        file.write(text)
WRITE
truncate -s 1M "$work/state"
mke2fs -q -t ext2 -b 4096 -N 16 -d "$work/state.d" -L state "$work/state"
for copy in s0 s1; do
	echo "$copy=$(($(debugfs -R "bmap /$copy 0" "$work/state" 2>/dev/null) * 8))"
done >"$root/usr/lib/unit/places"

# ---- what is left out for the ladder: of the milestone after $STOP_AFTER, just too little ----

has boots || sed -i 's/^root:[^:]*/root:*/' "$root/etc/shadow"
has records || rm "$root/usr/sbin/record"
has refuses || sed -i 's/refuse 11/refuse 10/' "$root/usr/sbin/update"
has installs || sed -i 's/^	target=/	refuse 15 "not now"\n&/' "$root/usr/sbin/update"
has stays || sed -i 's/\[ "\$version" -gt "\$floor" \]/[ "$version" -gt 1 ]/' "$root/usr/sbin/update"
has falls-back || sed -i 's/^			leave .*/			:/' "$root/usr/sbin/on-trial"
has dead-versions || sed -i 's/ panic=1 / panic=0 /' "$boot/boot/grub/grub.cfg"
has hangs || sed -i '/watchdog -T/d' "$work/initrd/init" "$root/usr/sbin/on-trial"
has on-trial || sed -i 's/refuse 15 "this version/refuse 14 "this version/' "$root/usr/sbin/update"
has rollback || sed -i 's/\[ "\$1" = good \] || refuse/refuse/' "$root/usr/sbin/update"
has keeps || sed -i '/sbin.mke2fs/d' "$root/etc/rc"
# The pause is for the cuts that are timed: one has to fall where the slot is not what the state says.
has power-cuts || sed -i -e '/set_slot "\$other" none/d' -e 's/^	blockdev --flushbufs .*/&\n	sleep 10/' \
	"$root/usr/sbin/update"
has spoilt-sector || sed -i 's/^	load_env -f "(hd0,gpt2)\/s.*/if &; then set best="$best"; else sleep 100000; fi/' "$boot/boot/grub/grub.cfg"
if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

# ---- the slot ----

(cd "$work/initrd" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1 >"$root/boot/initrd")
# Without a journal nothing is left to be replayed into a slot that must never be written.
truncate -s 32M "$work/slot"
mke2fs -q -t ext4 -O ^has_journal,^resize_inode -m 0 -b 1024 -N 1024 -d "$root" \
	-E root_owner=0:0 -L slot "$work/slot"

# bundle SLOT VERSION FILE
bundle() {
	printf 'UNIT-BUNDLE-1\nboard=varde-3\nversion=%s\nsize=%s\nsha256=%s\n' \
		"$2" "$(stat -c %s "$1")" "$(sha256sum "$1" | cut -c 1-64)" >"$work/manifest"
	truncate -s 1024 "$work/manifest"
	openssl pkeyutl -sign -inkey "$work/vendor.pem" -rawin -in "$work/manifest" -out "$work/signature"
	cat "$work/manifest" "$work/signature" "$1" >"$3"
}
bundle "$work/slot" 1 "$out/first.bundle"
cp "$work/vendor.pem" "$out/vendor.pem"

# ---- the disk ----

image=$work/unit.img
truncate -s 112M "$image"
sfdisk -q "$image" <<'TABLE'
label: gpt
first-lba: 34
start=2048, size=4096, type=21686148-6449-6E6F-744E-656564454649, name=boot
start=6144, size=2048, type=linux, name=state
start=8192, size=65536, type=linux, name=slot-a
start=73728, size=65536, type=linux, name=slot-b
start=139264, size=81920, type=linux, name=data
TABLE
tar -C "$boot" -cf "$work/memdisk" boot
grub-mkimage -O i386-pc -o "$work/core.img" -m "$work/memdisk" -p '(memdisk)/boot/grub' \
	biosdisk part_gpt ext2 memdisk tar normal configfile linux16 loadenv test echo serial terminal \
	minicmd sleep reboot
from-tasks-lib grub-core.sh
dd if="$work/state" of="$image" bs=1M seek=3 conv=notrunc status=none
dd if="$work/slot" of="$image" bs=1M seek=4 conv=notrunc,sparse status=none
mkdir "$work/data"
mke2fs -q -t ext4 -d "$work/data" -E offset=$((139264 * 512)),root_owner=0:0 -L data "$image" 40M
mv "$image" "$out/unit.img"
ls -ls "$out"
