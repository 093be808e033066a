#!/bin/bash
# Builds /app/out/host.img, first.bundle and vendor.pem. STOP_AFTER=<milestone> leaves out, on
# purpose, what the later milestones ask for. LOCAL_CHANGES names a file that is sourced before the
# slot is packed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=/app/out
work=$(mktemp -d /var/tmp/host-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root
boot=$work/boot
lib=$root/usr/lib/host

ladder="image boots runs layers refuses confined network limits restarts logs applies keeps updates
falls-back"
from-tasks-lib ladder.sh

# ---- the kernel: Debian's for clouds, which is packed so that it starts fast ----

packages=/var/tmp/host-packages
if [ ! -e $packages/done ]; then
from-tasks-lib cloud-kernel.sh
	command -v crun >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends crun >/dev/null
	touch $packages/done
fi
modules=$(echo $packages/kernel/lib/modules/*)

# ---- the slot's tree ----

mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,usr/lib,lib,lib64,etc/health.d,boot,dev,proc,sys,run,tmp,data,carrier,root}
cp /bin/busybox "$root/bin/busybox"
for applet in $(/bin/busybox --list-full); do
	[ -e "$root/$applet" ] || ln -s /bin/busybox "$root/$applet"
done
from-tasks-lib with-libraries.sh
with_libraries /usr/bin/openssl /usr/bin/flock /sbin/e2fsck /usr/bin/crun "$(realpath /usr/bin/python3)"
ln -sf "$(basename "$(realpath /usr/bin/python3)")" "$root/usr/bin/python3"
python=$(python3 -c 'import os; print(os.path.dirname(os.__file__))')
mkdir -p "$root$python/lib-dynload"
(cd "$python" && cp -r --parents ./*.py collections ctypes encodings importlib json re "$root$python/")
for name in _ctypes _json _hashlib _bz2 _lzma; do
	for found in "$python"/lib-dynload/$name.*.so; do [ -e "$found" ] && with_libraries "$found"; done
done
find "$root$python" -name __pycache__ -prune -exec rm -rf {} +
(cd "$root$python" && rm -rf ./pydoc* ./_pydecimal.py ./turtle.py ./doctest.py ./pdb.py ./idlelib)
cp -r "$here/rootfs/." "$root/"
# Threads that end early look for it by name.
for name in libgcc_s.so.1; do
	found=$(find /lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu -name $name | head -n 1)
	install -D "$found" "$root$found"
done
printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\n' >"$root/etc/group"
echo "root:$(openssl passwd -6 'Quay-Ladder-4'):19000:0:99999:7:::" >"$root/etc/shadow"
chmod 600 "$root/etc/shadow"
printf 'version=1\nbuild=factory\n' >"$root/etc/host-release"
cp $packages/kernel/boot/vmlinuz-* "$root/boot/vmlinuz"

mkdir -p "$out"
[ -e "$work/vendor.pem" ] || openssl genpkey -algorithm ed25519 -out "$work/vendor.pem"
openssl pkey -in "$work/vendor.pem" -pubout -out "$root/etc/vendor.pub"

mkdir -p "$work"/initrd/{bin,lib,proc,sys,dev,root}
cp /bin/busybox "$work/initrd/bin/"
for module in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk \
	failover net_failover virtio_net crc16 mbcache jbd2 crc32c_generic libcrc32c ext4; do
	found=$(find "$modules" -name "$module.ko")
	[ -z "$found" ] && continue
	cp "$found" "$work/initrd/lib/"
	echo "$module" >>"$work/initrd/modules"
done
install -m 755 "$here/initrd-init" "$work/initrd/init"

mkdir -p "$boot/boot/grub" "$work/state.d"
cp "$here/grub.cfg" "$boot/boot/grub/"
python3 - "$work/state.d/block" <<'WRITE'
import sys

text = "# GRUB Environment Block\ngood=a\ntrial=\ntries=0\nisa=good\nisb=none\nva=1\nvb=\n"
with open(sys.argv[1], "w") as file:
    file.write(text + "#" * (1023 - len(text)) + "\n")
WRITE
truncate -s 1M "$work/state"
mke2fs -q -t ext2 -b 4096 -N 16 -d "$work/state.d" -L state "$work/state"
echo "place=$(($(debugfs -R "bmap /block 0" "$work/state" 2>/dev/null) * 4))" >"$lib/place"

# ---- what is left out for the ladder: of the milestone after $STOP_AFTER, just too little ----

has boots || sed -i 's/^root:[^:]*/root:*/' "$root/etc/shadow"
has runs || sed -i 's/^\( *\)self\.force(self\.read(f"{CARRIER}.*/\1self.force({})/' "$root/usr/sbin/hostd"
has layers || sed -i 's/if name == "\.wh\.\.wh\.\.opq":/if False:/' "$lib/oci.py"
has refuses || sed -i 's/if f"sha256:{state\.hexdigest()}" != digest:/if False:/' "$lib/oci.py"
has confined || sed -i 's/"noNewPrivileges": True/"noNewPrivileges": False/' "$lib/container.py"
has network || echo 'nc -ll -p 9000 -e /bin/echo here &' >>"$root/etc/rc"
has limits || sed -i '/pids\.max/d' "$lib/container.py"
has restarts || sed -i 's/min(2\*\*row, LONGEST)/1/' "$lib/container.py"
has logs || sed -i 's/^KEPT = .*/KEPT = 8 << 10/' "$lib/container.py"
has applies || sed -i 's/return 1, f"refused/return 3, f"refused/' "$root/usr/sbin/hostd"
has keeps || sed -i 's/^VOLUMES = .*/VOLUMES = "\/run\/volumes"/' "$lib/container.py"
has updates || sed -i 's/refuse 2 "the sig/refuse 1 "the sig/' "$root/usr/sbin/hostctl"
has falls-back || sed -i 's/^	\[ "\$1" = good \] || refuse 6/	refuse 6/' "$root/usr/sbin/hostctl"
if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

# ---- the slot ----

chmod 755 "$root"/etc/rc "$root"/etc/down "$root"/usr/sbin/{hostd,hostctl,log-in,on-trial} "$lib/lease"
python3 -m compileall -q --invalidation-mode unchecked-hash "$root$python" "$lib"
(cd "$work/initrd" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1 >"$root/boot/initrd")
slot_mb=72
# Without a journal nothing is left to be replayed into a slot that must never be written.
truncate -s ${slot_mb}M "$work/slot"
mke2fs -q -t ext4 -O ^has_journal,^resize_inode -m 0 -b 4096 -N 4096 -d "$root" \
	-E root_owner=0:0 -L slot "$work/slot"

# bundle SLOT VERSION FILE
bundle() {
	printf 'HOST-BUNDLE-1\nversion=%s\nsize=%s\nsha256=%s\n' \
		"$2" "$(stat -c %s "$1")" "$(sha256sum "$1" | cut -c 1-64)" >"$work/manifest"
	truncate -s 1024 "$work/manifest"
	openssl pkeyutl -sign -inkey "$work/vendor.pem" -rawin -in "$work/manifest" -out "$work/signature"
	cat "$work/manifest" "$work/signature" "$1" >"$3"
}
bundle "$work/slot" 1 "$out/first.bundle"
cp "$work/vendor.pem" "$out/vendor.pem"

# ---- the disk ----

image=$work/host.img
sectors=$((slot_mb * 2048))
slot_a=8192
slot_b=$((slot_a + sectors))
data=$((slot_b + sectors))
data_sectors=$((256 * 2048))
truncate -s $(((data + data_sectors + 2048) * 512)) "$image"
sfdisk -q "$image" <<TABLE
label: gpt
first-lba: 34
start=2048, size=4096, type=21686148-6449-6E6F-744E-656564454649, name=boot
start=6144, size=2048, type=linux, name=state
start=$slot_a, size=$sectors, type=linux, name=slot-a
start=$slot_b, size=$sectors, type=linux, name=slot-b
start=$data, size=$data_sectors, type=linux, name=data
TABLE
tar -C "$boot" -cf "$work/memdisk" boot
grub-mkimage -O i386-pc -o "$work/core.img" -m "$work/memdisk" -p '(memdisk)/boot/grub' \
	biosdisk part_gpt ext2 memdisk tar normal configfile linux loadenv test echo serial terminal \
	minicmd sleep reboot
from-tasks-lib grub-core.sh
dd if="$work/state" of="$image" bs=512 seek=6144 conv=notrunc status=none
dd if="$work/slot" of="$image" bs=512 seek=$slot_a conv=notrunc,sparse status=none
mkdir "$work/data"
mke2fs -q -t ext4 -d "$work/data" -E offset=$((data * 512)),root_owner=0:0 -L data "$image" 256M
mv "$image" "$out/host.img"
ls -ls "$out"
