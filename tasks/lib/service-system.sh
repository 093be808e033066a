# A small Debian 12 that starts, for a disk with a service on it (service-disk.sh makes that of it): in
# $root, a folder, with the kernel's modules for usual disks and network cards, the address by DHCP,
# journals in memory, and root's password. `put MODE PATH` writes standard input into it. Wants $root;
# $system, where the archive of its packages is kept for the next time; $packages, those that it has
# besides, with commas; $password; and in "$@" what mmdebstrap is told besides.

sources=/etc/apt/sources.list.d/debian.sources
[ -e "$sources" ] || sources=/etc/apt/sources.list
modules=/lib/modules/*/kernel
set -- "$@" --dpkgopt="path-exclude=$modules/*"
for part in lib block crypto fs/ext4 fs/jbd2 fs/mbcache net/core net/ipv6 net/packet drivers/ata \
	drivers/block drivers/scsi drivers/virtio drivers/char/hw_random drivers/net/ethernet/intel \
	drivers/net/virtio_net drivers/net/net_failover drivers/ptp drivers/pps drivers/usb/common \
	drivers/usb/core drivers/usb/host drivers/usb/storage; do
	set -- "$@" --dpkgopt="path-include=$modules/$part*"
done
if [ ! -e "$system" ]; then
	mmdebstrap --quiet --variant=minbase "$@" \
		--include=systemd-sysv,udev,kmod,iproute2,ca-certificates,linux-image-amd64,busybox-static \
		--include="$packages" \
		--customize-hook='rm -f "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*' \
		bookworm "${system%.tar}.part.tar" "$sources"
	mv "${system%.tar}.part.tar" "$system"
fi
mkdir "$root"
tar -C "$root" -xpf "$system" --exclude='./dev/*'
echo "root:$password" | chroot "$root" chpasswd
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
chroot "$root" systemctl --quiet enable systemd-networkd.service
chroot "$root" systemctl --quiet set-default multi-user.target
