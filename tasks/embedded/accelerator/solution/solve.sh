#!/bin/bash
# Builds /app/out/station.img. STOP_AFTER=<milestone> leaves out, on purpose, what the later
# milestones ask for. LOCAL_CHANGES names a file that is sourced before the packages are built,
# IMAGE_CHANGES one that is sourced before the tree is packed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=/app/out/station.img
work=$(mktemp -d /var/tmp/station-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root

ladder="boots system loads alive access calculates interrupts transfers shelf together library
suspended pings reload leaves package absent restart quiet"
from-tasks-lib ladder.sh
put() { install -D -m "$1" /dev/stdin "$2"; }

# ---- the kernel's headers: the environment's own, or what the mirror has by now ----

sources=/etc/apt/sources.list.d/debian.sources
[ -e "$sources" ] || sources=/etc/apt/sources.list
if [ ! -e /var/tmp/station-headers ]; then
	apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
		install linux-headers-amd64 >/dev/null
	touch /var/tmp/station-headers
fi
kernel=$(dpkg-query -W -f '${Depends}' linux-headers-amd64 |
	sed 's/.*linux-headers-\([^ ,]*-amd64\).*/\1/')

# ---- driver, library, tool ----

cp -r "$here/driver" "$here/user" "$work/"
cp /app/card/kvarn.h "$work/user/"
cp "$work/driver/kvarn_ioctl.h" "$work/user/"
driver_flags=
user_flags=
has alive || driver_flags="$driver_flags -DKVARN_NO_NODES"
has interrupts || driver_flags="$driver_flags -DKVARN_POLL"
has restart || driver_flags="$driver_flags -DKVARN_WIPE"
has quiet || driver_flags="$driver_flags -DKVARN_CHATTY"
has calculates || user_flags="$user_flags -DKVARN_NO_FACT"
has transfers || user_flags="$user_flags -DKVARN_NO_COPY"
has shelf || user_flags="$user_flags -DKVARN_NO_SHELF"
has together || user_flags="$user_flags -DKVARN_NO_SHARING"
has suspended || driver_flags="$driver_flags -DKVARN_HASTY"
has pings || user_flags="$user_flags -DKVARN_NO_PING"
has reload || user_flags="$user_flags -DKVARN_HOLD"
has leaves || user_flags="$user_flags -DKVARN_NO_RETRY"
mode=0660
if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

make --quiet -C "/lib/modules/$kernel/build" M="$work/driver" KVARN_FLAGS="$driver_flags" modules
strip --strip-debug "$work/driver/kvarn.ko"
(
	cd "$work/user"
	gcc -O2 -Wall -fPIC -shared $user_flags -Wl,-soname,libkvarn.so.1 \
		-o libkvarn.so.1 libkvarn.c
	ln -s libkvarn.so.1 libkvarn.so
	gcc -O2 -Wall $user_flags -o kvarn kvarn.c -L. -lkvarn
	strip kvarn libkvarn.so.1
)

# ---- packages ----

package() { # name, dependencies, description; the tree and its DEBIAN/ scripts are in place
	local tree=$work/packages/$1
	mkdir -p "$tree/DEBIAN"
	(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z |
		xargs -0 -r md5sum >DEBIAN/md5sums)
	put 644 "$tree/DEBIAN/control" <<CONTROL
Package: $1
Version: 1.0-1
Architecture: amd64
Maintainer: Board support <support@ostervik.example>
Depends: $2
Section: kernel
Priority: optional
Description: $3
CONTROL
	dpkg-deb --root-owner-group -Zgzip --build "$tree" "$work/debs/$1_1.0-1_amd64.deb" >/dev/null
}
mkdir -p "$work/debs"

tree=$work/packages/kvarn-modules
install -D -m 644 "$work/driver/kvarn.ko" "$tree/lib/modules/$kernel/extra/kvarn.ko"
put 755 "$tree/DEBIAN/postinst" <<SCRIPT
#!/bin/sh
set -e
[ "\$1" = configure ] || exit 0
depmod $kernel
if [ -d /run/systemd/system ]; then
	udevadm trigger --action=add --subsystem-match=pci --attr-match=vendor=0x1234
	udevadm settle --timeout=30 || :
fi
SCRIPT
put 755 "$tree/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /sys/module/kvarn ]; then
	modprobe -r kvarn
fi
SCRIPT
put 755 "$tree/DEBIAN/postrm" <<SCRIPT
#!/bin/sh
set -e
if [ "\$1" = remove ] && [ -e /lib/modules/$kernel/modules.dep ]; then
	depmod $kernel
fi
SCRIPT
package kvarn-modules "linux-image-$kernel, kmod" "driver of the Kvarn K4 card"

tree=$work/packages/kvarn
install -D -m 755 "$work/user/kvarn" "$tree/usr/bin/kvarn"
install -D -m 644 "$work/user/libkvarn.so.1" "$tree/usr/lib/x86_64-linux-gnu/libkvarn.so.1"
if has access; then
	put 644 "$tree/lib/udev/rules.d/60-kvarn.rules" <<RULE
SUBSYSTEM=="misc", KERNEL=="kvarn-*", GROUP="kvarn", MODE="$mode"
RULE
fi
put 755 "$tree/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
getent group kvarn >/dev/null || groupadd --system kvarn
ldconfig
if [ -d /run/systemd/system ]; then
	udevadm control --reload
	udevadm trigger --action=add --subsystem-match=misc
	udevadm settle --timeout=30 || :
fi
SCRIPT
put 755 "$tree/DEBIAN/postrm" <<'SCRIPT'
#!/bin/sh
set -e
[ "$1" = remove ] && ldconfig
exit 0
SCRIPT
package kvarn "libc6, passwd, udev" "library and tool for the Kvarn K4 card"

tree=$work/packages/libkvarn-dev
install -D -m 644 /app/card/kvarn.h "$tree/usr/include/kvarn.h"
mkdir -p "$tree/usr/lib/x86_64-linux-gnu"
ln -s libkvarn.so.1 "$tree/usr/lib/x86_64-linux-gnu/libkvarn.so"
package libkvarn-dev "kvarn (= 1.0-1), libc6-dev" "development files for the Kvarn K4 card"

# ---- the system ----

modules=/lib/modules/*/kernel
set -- --dpkgopt="path-exclude=$modules/*"
for part in lib crypto fs/autofs fs/ext4 fs/jbd2 fs/mbcache drivers/block/virtio drivers/virtio \
	drivers/char/hw_random arch/x86/crypto; do
	set -- "$@" --dpkgopt="path-include=$modules/$part*"
done
from-tasks-lib no-documentation.sh
# Kept for another run in this sandbox: Debian's part is the same on every rung.
base=/var/tmp/station-base-$kernel
if [ ! -e "$base.whole" ]; then
	rm -rf "$base"
	mmdebstrap --quiet --variant=minbase "$@" \
		--include="systemd-sysv,udev,kmod,linux-image-$kernel,initramfs-tools,zstd,login,passwd" \
		--include=tcc,libc6-dev,procps,util-linux \
		bookworm "$base" "$sources"
	touch "$base.whole"
fi
cp -a --reflink=auto "$base" "$root"
rm -f "$root"/etc/dpkg/dpkg.cfg.d/99mmdebstrap "$root"/etc/apt/apt.conf.d/99mmdebstrap
rm -rf "$root"/var/cache/apt/*.bin "$root"/var/lib/apt/lists/*

echo station >"$root/etc/hostname"
printf '127.0.0.1 localhost station\n::1 localhost\n' >"$root/etc/hosts"
: >"$root/etc/machine-id"
echo 'PARTUUID=5ca1ab1e-02 / ext4 errors=remount-ro 0 0' >"$root/etc/fstab"
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
	e2scrub_reap.service fstrim.timer systemd-pstore.service dev-hugepages.mount \
	dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount modprobe@.service \
	systemd-binfmt.service proc-sys-fs-binfmt_misc.automount systemd-rfkill.socket \
	systemd-initctl.socket systemd-update-utmp.service systemd-update-utmp-runlevel.service \
	systemd-logind.service systemd-timesyncd.service getty@tty1.service; do
	ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
chroot "$root" systemctl --quiet set-default multi-user.target

chroot "$root" groupadd --system kvarn
chroot "$root" useradd -m -s /bin/bash -G kvarn anna
chroot "$root" useradd -m -s /bin/bash bert
printf '%s\n' root:skagen-77 anna:tide-4402 bert:ebb-1190 | chroot "$root" chpasswd

mkdir -p "$root/srv/kvarn"
cp "$work"/debs/*.deb "$root/srv/kvarn/"
chosen=
has loads && chosen="/srv/kvarn/kvarn-modules_1.0-1_amd64.deb"
has alive && chosen="$chosen /srv/kvarn/kvarn_1.0-1_amd64.deb"
has library && chosen="$chosen /srv/kvarn/libkvarn-dev_1.0-1_amd64.deb"
[ -z "$chosen" ] || chroot "$root" dpkg --install $chosen >/dev/null
has system || rm "$root/usr/include/stdio.h"
has package || rm -r "$root/srv/kvarn"
# Loaded without a card too. A wrong exit status would be seen where cards go away during a job, in `reload`.
has absent || ! has loads || echo kvarn >"$root/etc/modules-load.d/kvarn.conf"
if [ -n "${IMAGE_CHANGES:-}" ]; then
	. "$IMAGE_CHANGES"
fi

# ---- kernel and initramfs ----

printf '%s\n' ext4 virtio_pci virtio_blk >"$root/etc/initramfs-tools/modules"
sed -i 's/^MODULES=.*/MODULES=list/; s/^COMPRESS=.*/COMPRESS=zstd/' \
	"$root/etc/initramfs-tools/initramfs.conf"
chroot "$root" depmod "$kernel"
rm -f "$root"/boot/initrd.img-*
chroot "$root" update-initramfs -c -k "$kernel" >/dev/null

# ---- disk: a FAT partition for syslinux, the root file system ----

boot_mb=96
truncate -s ${boot_mb}M "$work/boot"
mkfs.vfat -F 32 -n BOOT "$work/boot" >/dev/null
mcopy -i "$work/boot" "$root/boot/vmlinuz-$kernel" ::/vmlinuz
mcopy -i "$work/boot" "$root/boot/initrd.img-$kernel" ::/initrd.img
printf '%s\n' 'SERIAL 0 115200' 'DEFAULT station' 'PROMPT 0' 'LABEL station' \
	'  LINUX /vmlinuz' '  INITRD /initrd.img' \
	'  APPEND root=PARTUUID=5ca1ab1e-02 ro quiet console=ttyS0,115200 net.ifnames=0' |
	mcopy -i "$work/boot" - ::/syslinux.cfg
syslinux --install "$work/boot"

used_mb=$(du -sm --apparent-size "$root" | cut -f 1)
root_mb=$((used_mb * 5 / 4 + 160))
truncate -s ${root_mb}M "$work/rootfs"
mke2fs -q -t ext4 -L station -E lazy_itable_init=1 -d "$root" "$work/rootfs"

mkdir -p "$(dirname "$out")"
rm -f "$out"
truncate -s $((boot_mb + root_mb + 2))M "$out"
sfdisk --quiet "$out" <<TABLE
label: dos
label-id: 0x5ca1ab1e
start=1MiB, size=${boot_mb}MiB, type=c, bootable
start=$((boot_mb + 1))MiB, size=${root_mb}MiB, type=83
TABLE
dd if=/usr/lib/syslinux/mbr/mbr.bin of="$out" bs=440 count=1 conv=notrunc status=none
dd if="$work/boot" of="$out" bs=1M seek=1 conv=notrunc,sparse status=none
dd if="$work/rootfs" of="$out" bs=1M seek=$((boot_mb + 1)) conv=notrunc,sparse status=none
ls -ls "$out"
