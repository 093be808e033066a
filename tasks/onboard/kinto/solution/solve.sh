#!/bin/bash
# Builds /app/out/disk.img. STOP_AFTER=<milestone> leaves out, on purpose, what the next milestone
# asks for. LOCAL_CHANGES names a file that is sourced before the disk is made.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /var/tmp/kinto-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root
export LC_ALL=C

ladder="starts dependencies tests answers accounts database cache mail change secrets sources restart
late quiet rotation elsewhere"
from-tasks-lib ladder.sh

# ---- the system ----

sources=/etc/apt/sources.list.d/debian.sources
[ -e "$sources" ] || sources=/etc/apt/sources.list
modules=/lib/modules/*/kernel
set -- --dpkgopt="path-exclude=$modules/*"
for part in lib block crypto fs/ext4 fs/jbd2 fs/mbcache net/core net/ipv6 net/packet drivers/ata \
	drivers/block drivers/scsi drivers/virtio drivers/char/hw_random drivers/net/ethernet/intel \
	drivers/net/virtio_net drivers/net/net_failover drivers/ptp drivers/pps drivers/usb/common \
	drivers/usb/core drivers/usb/host drivers/usb/storage; do
	set -- "$@" --dpkgopt="path-include=$modules/$part*"
done
from-tasks-lib no-documentation.sh
if [ ! -e /var/tmp/kinto-system.tar ]; then
	mmdebstrap --quiet --variant=minbase "$@" \
		--include=systemd-sysv,udev,kmod,iproute2,python3-minimal,python3-venv,ca-certificates \
		--include=linux-image-amd64,busybox-static \
		--customize-hook='rm -f "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*' \
		bookworm /var/tmp/kinto-system.part.tar "$sources"
	mv /var/tmp/kinto-system.part.tar /var/tmp/kinto-system.tar
fi
mkdir "$root"
tar -C "$root" -xpf /var/tmp/kinto-system.tar --exclude='./dev/*'
echo root:Salt-Fjord-26 | chroot "$root" chpasswd
echo holm >"$root/etc/hostname"
printf '127.0.0.1 localhost holm\n' >"$root/etc/hosts"
: >"$root/etc/machine-id"
rm -f "$root/etc/resolv.conf" "$root"/var/log/*.log "$root"/var/log/apt/*
put() { install -D -m "$1" /dev/stdin "$root$2"; }
printf '[Match]\nType=ether\n\n[Network]\nDHCP=ipv4\n' | put 644 /etc/systemd/network/20-wired.network
printf '[Journal]\nStorage=volatile\n' | put 644 /etc/systemd/journald.conf.d/volatile.conf
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
	e2scrub_reap.service fstrim.timer systemd-firstboot.service getty@tty1.service \
	systemd-pstore.service systemd-binfmt.service systemd-logind.service; do
	ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
chroot "$root" systemctl --quiet enable systemd-networkd.service systemd-networkd-wait-online.service
chroot "$root" systemctl --quiet set-default multi-user.target

# ---- the project ----

chroot "$root" useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin kinto
mkdir -p "$root/srv"
cp -r /app/kinto /app/kinto-emailer "$root/srv/"
has sources || echo '# ours' >>"$root/srv/kinto/kinto/__init__.py"
mkdir -p "$root/build"
cp -r /app/wheels "$root/build/"
cp -r /app/kinto "$root/build/kinto"
cp -r /app/kinto-emailer "$root/build/emailer"
chroot "$root" sh -e <<'INSTALL'
python3 -m venv /opt/kinto
/opt/kinto/bin/pip install -q --no-index --find-links /build/wheels --no-deps /build/wheels/*.whl
/opt/kinto/bin/pip install -q --no-index --no-deps --no-build-isolation /build/kinto /build/emailer
INSTALL
rm -rf "$root/build" "$root/root/.cache"
has dependencies || rm -rf "$root"/opt/kinto/lib/python3.11/site-packages/kinto_emailer*
install -D -m 644 "$here/files/kinto.service" "$root/etc/systemd/system/kinto.service"
install -D -m 755 -t "$root/usr/lib/kinto" "$here/files/read-settings"
install -D -m 644 -t "$root/usr/lib/kinto" "$here/files/run.py" "$here/files/collection_digest.py"
install -m 755 "$here/files/project-test" "$root/usr/local/bin/project-test"
printf '#!/bin/sh\nexec /opt/kinto/bin/python "$@"\n' | put 755 /usr/local/bin/project-python
has answers && chroot "$root" systemctl --quiet enable kinto.service

# ---- what is left out for the ladder ----

run=$root/usr/lib/kinto/run.py
has tests || sed -i 's/^exec .*/exit 1/' "$root/usr/local/bin/project-test"
has accounts || sed -i 's/^kinto.bucket_create_principals.*/kinto.bucket_create_principals = system.Everyone/' "$run"
has database || sed -i 's/core.storage.postgresql/core.storage.memory/; s/core.permission.postgresql/core.permission.memory/' "$run"
has cache || sed -i 's/core.cache.redis/core.cache.memory/' "$run"
has mail || sed -i '/^mail\.password/d' "$run"
has secrets || sed -i 's/^umask.*/umask 022/; s/^umount.*/cp \/run\/settings\/settings.env \/var\/lib\/settings.env/' "$root/usr/lib/kinto/read-settings"
has restart || echo 'rm -f /etc/systemd/system/multi-user.target.wants/kinto.service' >>"$root/usr/lib/kinto/read-settings"
if ! has late; then
	sed -i 's/^Restart=always/Restart=no/' "$root/etc/systemd/system/kinto.service"
	sed -i '/^    wait_for($/,/^    )$/d' "$run"
fi
has quiet || sed -i 's/^    import waitress$/    __import__("subprocess").run(["sh", "-c", "sleep 5", told["ADMIN_PASSWORD"]])\n&/' "$run"
has rotation || sed -i 's/^    if create_user/    accounts = env["registry"].storage.count_all(resource_name="account", parent_id="admin")\n    if not accounts and create_user/' "$run"
has change || sed -i 's/ collection_digest$//' "$run"

if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

# ---- the disk ----

release=$(basename "$root"/lib/modules/*)
chroot "$root" depmod "$release"
initrd=$work/initrd
mkdir -p "$initrd"/{bin,dev,root,sys,lib/modules}
cp "$root/bin/busybox" "$initrd/bin/"
for applet in sh insmod mount umount sleep switch_root findfs; do ln -s busybox "$initrd/bin/$applet"; done
install -m 755 "$here/files/init" "$initrd/init"
drivers="virtio_pci virtio_blk sd_mod ext4"
has elsewhere && drivers="$drivers ahci ata_piix"
for module in $drivers; do
	chroot "$root" modprobe -S "$release" --show-depends "$module"
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
	cp "$root$module" "$initrd/lib/modules/"
	basename "$module" >>"$initrd/modules"
done
has starts || printf '#!/bin/sh\nexit 1\n' >"$initrd/init"
(cd "$initrd" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -6) >"$root/boot/initrd"
mv "$root/boot/vmlinuz-$release" "$root/boot/vmlinuz"
rm -f "$root"/vmlinuz* "$root"/initrd.img* "$root"/boot/initrd.img-*

image=$work/disk.img
truncate -s 2048M "$image"
sfdisk --quiet "$image" <<'TABLE'
label: dos
start=2048, size=14336, type=da
start=16384, type=83
TABLE
mkdir -p "$work/boot/boot/grub"
cat >"$work/boot/boot/grub/grub.cfg" <<'GRUB'
set root=(hd0,msdos2)
linux /boot/vmlinuz console=ttyS0,115200 quiet
initrd /boot/initrd
boot
GRUB
tar -C "$work/boot" -cf "$work/memdisk" boot
grub-mkimage -O i386-pc -o "$work/core.img" -m "$work/memdisk" -p '(memdisk)/boot/grub' \
	biosdisk part_msdos ext2 memdisk tar normal configfile linux
from-tasks-lib grub-core.sh
mke2fs -q -t ext4 -d "$root" -L system -E offset=$((16384 * 512)),root_owner=0:0,lazy_itable_init=1 \
	"$image" 2040M
mkdir -p /app/out
mv "$image" /app/out/disk.img
ls -ls /app/out
