#!/bin/bash
# Builds /app/out/expo-wall.iso: live-build makes the tree of Debian's packages, ours goes on top, and
# the medium is put together here. STOP_AFTER=<milestone> leaves out, on purpose, what the next
# milestone asks for. LOCAL_CHANGES names a file that is sourced before the tree is packed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
order=/app/order
out=/app/out
work=$(mktemp -d /var/tmp/expo-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

ladder="medium bios brand wall alive local quiet kept power-cut only-ours uefi locked stick rescue
checked"
from-tasks-lib ladder.sh

# ---- Debian's part, by live-build ----

cache=/var/tmp/expo-cache
if [ ! -e $cache/done ]; then
	rm -rf $cache
	mkdir -p $cache/lb
	cd $cache/lb
	mirror=$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' 'Created-By: Packages' | head -n 1)
	lb config --distribution bookworm --architectures amd64 --archive-areas main \
		--mirror-bootstrap "$mirror" --mirror-chroot "$mirror" --mirror-binary "$mirror" \
		--security false --updates false --apt-recommends false --apt-indices false \
		--debootstrap-options "--variant=minbase --include=gpgv,ca-certificates" \
		--cache false --initramfs none --linux-flavours amd64 --firmware-chroot false --cache-packages false \
		--debian-installer none --memtest none --zsync false >/dev/null
	echo systemd-sysv udev dbus kmod nftables kbd e2fsprogs fdisk mount util-linux locales tzdata \
		login passwd initramfs-tools busybox zstd >config/package-lists/expo.list.chroot
	mkdir -p config/includes.chroot/etc/dpkg/dpkg.cfg.d
	for part in man info lintian locale; do
		echo "path-exclude=/usr/share/$part/*"
	done >config/includes.chroot/etc/dpkg/dpkg.cfg.d/expo
	lb bootstrap
	# Its very last step asks the mirror once more, for lists that nobody needs; where device nodes
	# are mounts it fails, because /dev/null is gone by then. What was installed is listed before.
	lb chroot || [ -s chroot.packages.live ]
	mkdir $cache/keys
	(
		cd $cache/keys
		apt-get -qq update
		apt-get -qq -o APT::Sandbox::User=root download console-setup xkb-data
		for deb in *.deb; do dpkg-deb -x "$deb" .; done
		./usr/bin/ckbcomp -I./usr/share/X11/xkb -layout no >expo-keys.map
	)
	touch $cache/done
fi >&2

# ---- ours ----

root=$work/root
mkdir "$root"
tar -C $cache/lb/chroot --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' -c . | tar -C "$root" -xp
cp -r "$here/rootfs/." "$root/"
chmod 755 "$root/etc/initramfs-tools/hooks/expo" "$root/usr/sbin/expo-state"
install -m 755 $order/wall "$root/usr/bin/wall"
install -m 644 $cache/keys/expo-keys.map "$root/etc/expo-keys.map"
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
trap 'umount "$root/proc" "$root/dev" 2>/dev/null || true; rm -rf "$work"' EXIT

edition=$(openssl rand -hex 32 | tr a-f A-F)
echo "$edition" >"$root/etc/expo-edition"
chroot "$root" useradd --system --no-create-home --home-dir /var/lib/wall --shell /usr/sbin/nologin wall
install -d -m 750 "$root/var/lib/wall"
echo 'root:Varde-1184' | chroot "$root" chpasswd
echo expo-wall >"$root/etc/hostname"
printf '127.0.0.1 localhost expo-wall\n' >"$root/etc/hosts"
printf 'Expo Wall 4.1 (EW-2291) \\l\n\n' >"$root/etc/issue"
: >"$root/etc/motd"
: >"$root/etc/machine-id"
: >"$root/etc/fstab"
rm -f "$root/var/lib/dbus/machine-id" "$root/etc/issue.net" "$root/etc/resolv.conf" "$root/etc/update-motd.d/"*
echo 'nb_NO.UTF-8 UTF-8' >"$root/etc/locale.gen"
chroot "$root" locale-gen >/dev/null
echo 'LANG=nb_NO.UTF-8' >"$root/etc/default/locale"
cp "$root/etc/default/locale" "$root/etc/locale.conf"
ln -sf /usr/share/zoneinfo/Europe/Oslo "$root/etc/localtime"
echo Europe/Oslo >"$root/etc/timezone"
for unit in getty@.service autovt@.service ctrl-alt-del.target apt-daily.timer apt-daily-upgrade.timer \
	dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer systemd-firstboot.service \
	systemd-networkd-wait-online.service systemd-networkd.socket systemd-timesyncd.service \
	systemd-pstore.service emergency.service rescue.service systemd-rfkill.socket dev-hugepages.mount \
	dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount \
	sys-fs-fuse-connections.mount modprobe@.service systemd-binfmt.service \
	proc-sys-fs-binfmt_misc.automount systemd-update-utmp.service systemd-update-utmp-runlevel.service; do
	ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
rm -f "$root"/etc/systemd/system/*.wants/{systemd-networkd.socket,systemd-timesyncd.service,getty@tty1.service}
chroot "$root" systemctl --quiet enable systemd-networkd.service nftables.service wall.service expo-keys.service
chroot "$root" systemctl --quiet set-default multi-user.target

# What no PC of theirs needs for a wall.
modules=$(echo "$root"/lib/modules/*)
for part in sound drivers/gpu drivers/media drivers/infiniband drivers/net/wireless drivers/staging \
	drivers/isdn drivers/iio drivers/mtd drivers/scsi/qla2xxx drivers/scsi/lpfc net/wireless net/bluetooth; do
	rm -rf "$modules/kernel/$part"
done

# ---- what is left out for the ladder: of the milestone after $STOP_AFTER, just too little ----

units=$root/etc/systemd/system
has brand || sed -i 's/EW-2291/EW-0000/' "$root/usr/lib/os-release"
has wall || sed -i '/^NoNewPrivileges/d' "$units/wall.service"
has alive || sed -i '/^WatchdogSec/d' "$units/wall.service"
has local || echo 'LANG=C.UTF-8' >"$root/etc/default/locale"
has quiet || sed -i '/hook output/s/policy drop/policy accept/' "$root/etc/nftables.conf"
has kept || sed -i 's/LABEL=EXPO-STATE/LABEL=EXPO-STATES/' "$root/usr/sbin/expo-state"
has power-cut || sed -i 's/^e2fsck -p/dumpe2fs -h "$1" | grep -q needs_recovery \&\& damaged "it was in use"\n&/' "$root/usr/sbin/expo-state"
has only-ours || sed -i 's|^umount \$state|touch $state/.seen; &|' "$root/usr/sbin/expo-state"
has stick || sed -i 's/ usb_storage uas / /; s/\tusb_storage uas xhci_pci/\text4/' "$root/etc/initramfs-tools/hooks/expo"
has checked || sed -i 's/ || refuse DAMAGED$/ || true/' "$root/etc/initramfs-tools/scripts/expo"

menu=$work/grub.cfg
cp "$here/grub.cfg" "$menu"
has bios || sed -i 's/^\tlinux .*/\thalt/' "$menu"
has rescue || sed -i 's/ --hotkey=r / /' "$menu"
has locked || sed -i '/^#locked /d' "$menu"
platforms=
has uefi || platforms=--directory=/usr/lib/grub/i386-pc

if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

chroot "$root" depmod "$(basename "$modules")"
rm -f "$root"/boot/initrd*
chroot "$root" update-initramfs -c -k "$(basename "$modules")" >&2
umount "$root/proc" "$root/dev"

# ---- the medium ----

tree=$work/tree
mkdir -p "$tree/live" "$tree/boot/grub"
mv "$root"/boot/initrd.img-* "$tree/live/initrd.img"
cp "$root"/boot/vmlinuz-* "$tree/live/vmlinuz"
rm -rf "$root"/boot/* "$root"/vmlinuz* "$root"/initrd* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* \
	"$root"/var/log/* "$root"/tmp/* "$root"/var/tmp/* "$root"/usr/share/locale "$root"/usr/share/i18n \
	"$root"/etc/apt/sources.list*
mksquashfs "$root" "$tree/live/filesystem.squashfs" -quiet -no-progress -noappend -no-exports \
	-comp zstd -Xcompression-level 12 -b 256K
password=$(openssl rand -hex 24 | sed p | grub-mkpasswd-pbkdf2 | sed -n 's/.*\(grub\.pbkdf2\.[^ ]*\).*/\1/p')
sed "s/^#locked //; s/@PASSWORD@/$password/" "$menu" >"$tree/boot/grub/grub.cfg"

medium=$work/expo-wall.iso
burn() {
	rm -f "$medium"
	grub-mkrescue $platforms --locales= --fonts= --themes= -o "$medium" "$tree" \
		-volid EXPO_WALL_41 -volset "$edition" >&2
}
# xorriso patches what it starts from, so that sums are those of the finished medium: it is made
# once for its names, and once more with a list of that length, into which the sums are written.
# The boot catalog, which is no file to xorriso, is one to whoever mounts the medium.
names() { xorriso -report_about SORRY -indev "$medium" -find / -exec lsdl -- 2>/dev/null |
	sed -n "s/^[-e][-rwx]\{9\}.* '\(.*\)'$/.\1/p" | grep -vx './sha256sum.txt' | sort; }
burn
names | sed "s/^/$(printf '0%.0s' {1..64})  /" >"$tree/sha256sum.txt"
burn
mkdir "$work/read"
xorriso -report_about SORRY -osirrox on -indev "$medium" -extract / "$work/read" 2>/dev/null
(cd "$work/read" && names | while read -r name; do sha256sum "$name"; done) >"$work/sums"
cmp -s <(cut -c 65- "$work/sums") <(cut -c 65- "$tree/sha256sum.txt")
block=$(xorriso -report_about SORRY -indev "$medium" -find /sha256sum.txt -exec report_lba -- 2>/dev/null |
	sed -n 's/^File data lba: *[0-9]* , *\([0-9]*\) ,.*/\1/p')
dd if="$work/sums" of="$medium" bs=2048 seek="$block" conv=notrunc status=none

mkdir -p $out
mv "$medium" $out/expo-wall.iso
ls -l $out >&2
