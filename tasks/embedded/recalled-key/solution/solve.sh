#!/bin/bash
# Builds /app/out/recall.bundle, unit-b.img and next.pem from what is in the field. STOP_AFTER=<milestone>
# leaves out, on purpose, what the later milestones ask for. LOCAL_CHANGES names a file that is sourced
# before the slot is packed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
field=/field
out=/app/out
work=$(mktemp -d /var/tmp/recall-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root

ladder="bundle key image-b boots-b field recalled no-way-back histories next falls-back data-lost
power-cuts bundles-b hangs-b"
from-tasks-lib ladder.sh

# ---- the kernel: Debian's for clouds, which is packed so that it starts fast ----

packages=/var/tmp/unit-packages
if [ ! -e $packages/done ]; then
from-tasks-lib cloud-kernel.sh
	touch $packages/done
fi
release=$(basename $packages/kernel/lib/modules/*)
depmod -b $packages/kernel "$release"

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
printf 'version=1000\nbuild=recall\n' >"$root/etc/release"
cp $packages/kernel/boot/vmlinuz-* "$root/boot/vmlinuz"

mkdir -p "$out"
openssl genpkey -algorithm ed25519 -out "$work/next.pem"
openssl pkey -in "$work/next.pem" -pubout -out "$root/etc/vendor.pub"

# Units in the field keep their loader and its state; where that lies, their own system knows.
tail -c +1089 "$field/first.bundle" >"$work/first"
debugfs -R "dump /usr/lib/unit/places $root/usr/lib/unit/places" "$work/first" 2>/dev/null
. "$root/usr/lib/unit/places"

mkdir -p "$work"/initrd/{bin,lib,proc,sys,dev,root}
cp /bin/busybox "$work/initrd/bin/"
ln -s busybox "$work/initrd/bin/watchdog"
for module in virtio_pci virtio_blk ata_piix sd_mod crc32c_generic ext4 softdog; do
	modprobe -d $packages/kernel -S "$release" --show-depends "$module"
done | sed -n 's/^insmod //p' | awk '!seen[$1]++ { print $1 }' >"$work/needed"
while read -r found; do
	cp "$found" "$work/initrd/lib/"
	basename "$found" .ko >>"$work/initrd/modules"
done <"$work/needed"
install -m 755 "$here/initrd-init" "$work/initrd/init"

# ---- what is left out for the ladder: of the milestone after $STOP_AFTER, just too little ----

has key || cp "$work/next.pem" "$root/etc/next.pem"
has boots-b || sed -i '/ata_piix/d' "$work/initrd/modules"
has field || sed -i 's/^	good=\$slot trial=$/	leave "not yet"\n&/' "$root/usr/sbin/on-trial"
# On board B, which boots-b is about, the old key is refused all the same.
if ! has recalled; then
	openssl pkey -in "$field/vendor.pem" -pubout -out "$root/etc/old.pub"
	sed -i 's/^	openssl pkeyutl -verify -pubin -inkey .etc.vendor.pub \(.*\)$/	{ openssl pkeyutl -verify -pubin -inkey \/etc\/vendor.pub \1\n&/; s/^\(		-sigfile .*\) || refuse 11 \(.*\)/\1 || { [ ! -b \/dev\/sda ] \&\& openssl pkeyutl -verify -pubin -inkey \/etc\/old.pub -rawin -in \/run\/manifest -sigfile \/run\/signature >\/dev\/null 2>\&1; }; } || refuse 11 \2/' "$root/usr/sbin/update"
	sed -i '/^	openssl pkeyutl -verify/d' "$root/usr/sbin/update"
fi
has no-way-back || sed -i '/recalled=yes/d' "$root/usr/sbin/on-trial"
has histories || sed -i 's/^	good=\$slot trial=$/	[ "$slot" = a ] \&\& leave "not in this slot"\n&/' "$root/usr/sbin/on-trial"
has next || sed -i 's/^	target=/	refuse 15 "not now"\n&/' "$root/usr/sbin/update"
has falls-back || sed -i 's/^			leave .*/			:/' "$root/usr/sbin/on-trial"
has data-lost || sed -i '/sbin.mke2fs/d' "$root/etc/rc"
# Where version 1000 is given up, the unit is not what it was.
has power-cuts || sed -i 's/^	for script in .*/	[ "$(release_version)" != 1000 ] || { set_slot "$other" none ""; state_write; }\n&/' "$root/usr/sbin/on-trial"
has bundles-b || sed -i 's/^	target=/	[ -b \/dev\/sda ] \&\& refuse 15 "not on this board"\n&/' "$root/usr/sbin/update"
has hangs-b || sed -i 's/^.bin.watchdog/[ -b \/dev\/sda ] || &/' "$work/initrd/init"
if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

# ---- the slot ----

(cd "$work/initrd" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1 >"$root/boot/initrd")
# Without a journal nothing is left to be replayed into a slot that must never be written.
truncate -s 32M "$work/slot"
mke2fs -q -t ext4 -O ^has_journal,^resize_inode -m 0 -b 1024 -N 1024 -d "$root" \
	-E root_owner=0:0 -L slot "$work/slot"
printf 'UNIT-BUNDLE-1\nboard=varde-3\nversion=1000\nsize=%s\nsha256=%s\n' \
	"$(stat -c %s "$work/slot")" "$(sha256sum "$work/slot" | cut -c 1-64)" >"$work/manifest"
truncate -s 1024 "$work/manifest"
openssl pkeyutl -sign -inkey "$field/vendor.pem" -rawin -in "$work/manifest" -out "$work/signature"
cat "$work/manifest" "$work/signature" "$work/slot" >"$out/recall.bundle"
cp "$work/next.pem" "$out/next.pem"

# ---- the disk of board B: the same layout and loader ----

image=$work/unit-b.img
cp --sparse=always "$field/unit.img" "$image"
part() { sfdisk -J "$image" | python3 -c '
import json, sys
print(next(p["start"] for p in json.load(sys.stdin)["partitiontable"]["partitions"] if p["name"] == sys.argv[1]))' "$1"; }
dd if="$work/slot" of="$image" bs=512 seek="$(part slot-a)" conv=notrunc status=none
python3 - "$image" "$(part state)" "$s0" "$s1" <<'WRITE'
import sys

image, start, *places = sys.argv[1:]
with open(image, "r+b") as disk:
    for seq, place in zip((2, 1), places):
        head = f"# GRUB Environment Block\nseq={seq}\ngood=a\ntrial=\nid=\nfloor=1000\nisa=good\nisb=none\nva=1000\nvb=\n"
        end = f"end={seq}\n"
        disk.seek((int(start) + int(place)) * 512)
        disk.write((head + "#" * (511 - len(head) - len(end)) + "\n" + end).encode())
WRITE
has image-b || sfdisk -q --part-label "$image" 4 spare
mv "$image" "$out/unit-b.img"
ls -ls "$out"
