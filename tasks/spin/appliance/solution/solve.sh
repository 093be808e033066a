#!/bin/bash
# Builds /app/out/appliance.img. STOP_AFTER=<milestone> leaves out, on purpose, what the later
# milestones ask for.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
order=/app/order
out=/app/out/appliance.img
work=$(mktemp -d /var/tmp/appliance-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root

ladder="image boots ssh readonly data service firewall supervision brand lean logs identity
power-cut two-machines factory-reset"
from-tasks-lib ladder.sh
put() { install -D -m "$1" /dev/stdin "$root$2"; }
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' \
	"$order/order.json" "$1"; }

# ---- packages ----

sources=/etc/apt/sources.list.d/debian.sources
[ -e "$sources" ] || sources=/etc/apt/sources.list
# Only what the two models have: the rest of the kernel's modules is most of its size, and loading
# them most of the boot.
modules=/lib/modules/*/kernel
set -- --dpkgopt="path-exclude=$modules/*"
for part in lib block crypto fs net/core net/ipv4 net/ipv6 net/netfilter net/packet net/sched \
	drivers/ata drivers/block drivers/cdrom drivers/nvme drivers/scsi drivers/virtio drivers/char/hw_random \
	drivers/net/ethernet/intel drivers/net/virtio_net drivers/net/net_failover net/802 net/llc \
	drivers/ptp drivers/pps drivers/dca drivers/i2c/algos; do
	set -- "$@" --dpkgopt="path-include=$modules/$part*"
done
from-tasks-lib no-documentation.sh
mmdebstrap --quiet --variant=minbase "$@" \
	--include=systemd-sysv,udev,kmod,linux-image-amd64,initramfs-tools,busybox,zstd,fdisk \
	--include=e2fsprogs,openssh-server,nftables \
	--customize-hook='rm -f "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*' \
	bookworm "$root" "$sources"
rm -f "$root"/etc/dpkg/dpkg.cfg.d/99mmdebstrap "$root"/etc/apt/apt.conf.d/99mmdebstrap
rm -f "$root"/etc/ssh/ssh_host_* "$root"/var/log/*.log "$root"/var/log/apt/*
rm -rf "$root"/var/cache/apt "$root"/var/cache/debconf "$root"/usr/share/doc/*/changelog*
rm -rf "$root"/usr/lib/*/perl/*/CORE # headers

# ---- identity and storage: made by the initramfs on /data, before systemd looks ----

: >"$root/etc/machine-id"
rm -f "$root/etc/hostname" "$root/etc/resolv.conf"
mkdir -p "$root/data"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"

put 755 /etc/initramfs-tools/hooks/appliance <<'HOOK'
#!/bin/sh
[ "$1" = prereqs ] && echo udev && exit 0
. /usr/share/initramfs-tools/hook-functions
# The drivers are listed and the kernel makes the device nodes: no need to wait for udev twice.
rm -f "$DESTDIR/scripts/init-top/udev" "$DESTDIR/scripts/init-bottom/udev"
for tool in /sbin/sfdisk /usr/bin/partx /sbin/e2fsck /sbin/resize2fs /sbin/blkdiscard; do
	copy_exec "$tool"
done
copy_exec /sbin/mke2fs /sbin/make-ext4 # under its own name busybox would take its place
cp -p /etc/mke2fs.conf "$DESTDIR/etc/"
HOOK

{
	cat <<'SCRIPT'
#!/bin/sh
[ "$1" = prereqs ] && exit 0
system=$(readlink -f "$ROOT")
case "$ROOT" in PARTLABEL=*) system=$(blkid -t "$ROOT" -o device | head -n 1) ;; esac
disk=/dev/$(basename "$(readlink -f "/sys/class/block/$(basename "$system")/..")")
for data in "${disk}3" "${disk}p3"; do [ -b "$data" ] && break; done
SCRIPT
	if has data; then
		cat <<'SCRIPT'
part=/sys/class/block/$(basename "$data")
end=$(($(cat "$part/start") + $(cat "$part/size")))
if [ $((end + 4096)) -lt "$(cat "/sys/class/block/$(basename "$disk")/size")" ]; then
	sfdisk --quiet --no-reread --no-tell-kernel --relocate gpt-bak-std "$disk"
	echo ', +' | sfdisk --quiet --no-reread --no-tell-kernel -N 3 "$disk"
	sync
	partx -u --nr 3 "$disk"
fi
SCRIPT
	fi
	cat <<'SCRIPT'
# By their paths: busybox's shell prefers its own blkdiscard, which can do less.
format() { /sbin/make-ext4 -F -q -t ext4 -b 4096 -L data -E nodiscard,lazy_itable_init=1 "$data"; }
mount_data() {
	/sbin/e2fsck -p "$data"
	mount -t ext4 -o noatime,nosuid,nodev "$data" "$rootmnt/data"
}
blkid "$data" >/dev/null 2>&1 || format
SCRIPT
	if has data; then echo mount_data; else echo 'mount -t tmpfs data "$rootmnt/data"'; fi
	if has factory-reset; then
		cat <<'SCRIPT'
word=
for option in $(cat /proc/cmdline); do
	case "$option" in appliance.factory-reset=*) word=${option#*=} ;; esac
done
if [ -n "$word" ] && [ "$word" != "$(cat "$rootmnt/data/system/reset-word" 2>/dev/null)" ]; then
	echo "Factory reset"
	umount "$rootmnt/data"
	# The file system's signature is the first thing that goes: a reset cut short is found above,
	# as a partition without a file system, and is over once there is one again.
	dd if=/dev/zero of="$data" bs=64k count=1 conv=fsync 2>/dev/null
	/sbin/blkdiscard -f -z "$data"
	format
	mount_data
	mkdir -p "$rootmnt/data/system"
	echo "$word" >"$rootmnt/data/system/reset-word.new"
	sync
	mv "$rootmnt/data/system/reset-word.new" "$rootmnt/data/system/reset-word"
	sync
fi
SCRIPT
	fi
	has data && echo '/sbin/resize2fs "$data" >/dev/null 2>&1'
	cat <<'SCRIPT'
mkdir -p "$rootmnt/data/system" "$rootmnt/data/log"
id=$rootmnt/data/system/machine-id
if [ ! -s "$id" ]; then
	tr -d - </proc/sys/kernel/random/uuid >"$id.new"
	sync
	mv "$id.new" "$id"
	sync
fi
mount -o bind "$id" "$rootmnt/etc/machine-id"
mount -o bind "$rootmnt/data/log" "$rootmnt/var/log"
SCRIPT
	if has brand; then
		cat <<'SCRIPT'
echo "logbook-$(head -c 6 "$id")" >/proc/sys/kernel/hostname
SCRIPT
	fi
} | put 755 /etc/initramfs-tools/scripts/local-bottom/appliance

put 755 /etc/initramfs-tools/scripts/init-bottom/devices <<'SCRIPT'
#!/bin/sh
[ "$1" = prereqs ] && exit 0
mount -n -o move /dev "$rootmnt/dev" # what udev's script would have done
rm -rf /dev
ln -s "$rootmnt/dev" /dev
SCRIPT

if ! has readonly; then # a root that only looks like a disk: everything can be written
	put 755 /etc/initramfs-tools/scripts/local-bottom/aa-writable <<'SCRIPT'
#!/bin/sh
[ "$1" = prereqs ] && exit 0
mkdir -p /run/under /run/over
mount -t tmpfs over /run/over
mkdir -p /run/over/upper /run/over/work
mount -o move "$rootmnt" /run/under
mount -t overlay -o lowerdir=/run/under,upperdir=/run/over/upper,workdir=/run/over/work root "$rootmnt"
SCRIPT
fi

drivers="squashfs overlay ext4 virtio_pci virtio_blk virtio_rng"
has two-machines && drivers="$drivers nvme"
printf '%s\n' $drivers >"$root/etc/initramfs-tools/modules"
cat >"$root/etc/initramfs-tools/initramfs.conf" <<'CONF'
MODULES=list
BUSYBOX=y
KEYMAP=n
COMPRESS=zstd
COMPRESSLEVEL=3
DEVICE=
NFSROOT=auto
RUNSIZE=10%
FSTYPE=squashfs,ext4
CONF

if has boots; then
	# ---- the system ----
	put 644 /etc/fstab <<'FSTAB'
tmpfs /tmp tmpfs mode=1777,nosuid,nodev,size=64M 0 0
tmpfs /var/tmp tmpfs mode=1777,nosuid,nodev,size=64M 0 0
tmpfs /var/lib/systemd tmpfs mode=755,nosuid,nodev,size=4M 0 0
tmpfs /var/cache tmpfs mode=755,nosuid,nodev,size=16M 0 0
FSTAB
	put 644 /etc/systemd/network/20-wired.network <<'NETWORK'
[Match]
Type=ether

[Network]
DHCP=ipv4
NETWORK
	# The initramfs binds the machine-id over a file of the root: to be read, as everything there.
	put 644 /etc/systemd/system/sealed-id.service <<'UNIT'
[Unit]
Description=Machine-id is read-only
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/mount -o remount,bind,ro /etc/machine-id

[Install]
WantedBy=sysinit.target
UNIT
	has readonly && chroot "$root" systemctl --quiet enable sealed-id.service
	for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
		e2scrub_reap.service fstrim.timer systemd-machine-id-commit.service \
		systemd-firstboot.service systemd-networkd-wait-online.service \
		systemd-random-seed.service systemd-pstore.service dev-hugepages.mount dev-mqueue.mount \
		sys-kernel-debug.mount sys-kernel-tracing.mount modprobe@.service systemd-binfmt.service \
		proc-sys-fs-binfmt_misc.automount systemd-rfkill.socket systemd-initctl.socket \
		systemd-logind.service systemd-update-utmp.service systemd-update-utmp-runlevel.service getty@tty1.service; do
		ln -sf /dev/null "$root/etc/systemd/system/$unit"
	done
	chroot "$root" systemctl --quiet enable systemd-networkd.service ssh.service
	chroot "$root" systemctl --quiet set-default multi-user.target

	# ---- log-in ----
	install -D -m 600 "$order/customer_key.pub" "$root/root/.ssh/authorized_keys"
	chmod 700 "$root/root/.ssh"
	keys=/data/system/ssh
	has identity || keys=/run/system-ssh
	put 755 /usr/lib/appliance/host-key <<SCRIPT
#!/bin/sh
set -e
[ -s $keys/ssh_host_ed25519_key ] && exit 0
rm -rf $keys.new $keys
mkdir -p $keys.new
ssh-keygen -q -t ed25519 -N '' -C '' -f $keys.new/ssh_host_ed25519_key
sync
mv $keys.new $keys
sync
SCRIPT
	put 644 /etc/systemd/system/host-key.service <<'UNIT'
[Unit]
Description=SSH host key of this unit
Before=ssh.service

[Service]
Type=oneshot
ExecStart=/usr/lib/appliance/host-key
RemainAfterExit=yes
UNIT
	put 644 /etc/systemd/system/ssh.service.d/host-key.conf <<'UNIT'
[Unit]
Requires=host-key.service
After=host-key.service
UNIT
	put 644 /etc/ssh/sshd_config.d/appliance.conf <<CONF
HostKey $keys/ssh_host_ed25519_key
PermitRootLogin prohibit-password
KbdInteractiveAuthentication no
UseDNS no
CONF
	if has ssh; then
		echo 'PasswordAuthentication no' >>"$root/etc/ssh/sshd_config.d/appliance.conf"
		echo 'AuthenticationMethods publickey' >>"$root/etc/ssh/sshd_config.d/appliance.conf"
		chroot "$root" passwd --quiet --lock root
	else
		echo root:skerry | chroot "$root" chpasswd
	fi

	# ---- logs ----
	storage=persistent
	has logs || storage=volatile
	put 644 /etc/systemd/journald.conf.d/appliance.conf <<CONF
[Journal]
Storage=$storage
SystemMaxUse=6M
SystemMaxFileSize=1M
RuntimeMaxUse=8M
CONF

	# ---- the service ----
	if has service; then
		make --quiet -C "$order/skerryd" CFLAGS='-O2 -std=gnu11' LDFLAGS=-s
		install -m 755 "$order/skerryd/skerryd" "$root/usr/bin/skerryd"
		make --quiet -C "$order/skerryd" clean
		chroot "$root" useradd --system --no-create-home --home-dir /nonexistent \
			--shell /usr/sbin/nologin skerry
		put 644 /etc/tmpfiles.d/skerry.conf <<'CONF'
d /data/skerry 0700 skerry skerry -
CONF
		put 644 /etc/systemd/system/skerryd.service <<'UNIT'
[Unit]
Description=Skerry logbook service
After=systemd-tmpfiles-setup.service
StartLimitIntervalSec=0

[Service]
Type=notify
User=skerry
ExecStart=/usr/bin/skerryd
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ReadWritePaths=/data/skerry
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes

[Install]
WantedBy=multi-user.target
UNIT
		chroot "$root" systemctl --quiet enable skerryd.service
		if has supervision; then
			put 644 /etc/systemd/system/skerryd.service.d/supervision.conf <<'UNIT'
[Service]
Restart=always
RestartSec=200ms
WatchdogSec=20
TimeoutStartSec=30
TimeoutStopSec=5
UNIT
		fi
		if ! has power-cut; then
			# Records reach the disk when the machine is switched off properly, also when it is full.
			put 644 /etc/systemd/system/skerryd-memory.service <<'UNIT'
[Unit]
Description=Logbook in memory
Before=skerryd.service
After=systemd-tmpfiles-setup.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -ec 'install -d -m 700 -o skerry -g skerry /data/kept; [ -e /data/room ] || fallocate -l 4M /data/room || :; mount -t tmpfs -o mode=700,uid=skerry,gid=skerry memory /data/skerry; cp -a /data/kept/. /data/skerry/'
ExecStop=/bin/sh -ec 'rm -f /data/room; cp -a /data/skerry/. /data/kept/; sync'

[Install]
RequiredBy=skerryd.service
UNIT
			chroot "$root" systemctl --quiet enable skerryd-memory.service
		fi
	fi

	# ---- firewall ----
	put 644 /etc/nftables.conf <<'RULES'
#!/usr/sbin/nft -f
flush ruleset
table inet filter {
	chain input {
		type filter hook input priority filter; policy drop;
		iif lo accept
		ct state established,related accept
		ct state invalid drop
		tcp dport { 22, 7117 } accept
		icmp type { echo-request, destination-unreachable, time-exceeded } accept
		icmpv6 type { echo-request, nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert, packet-too-big } accept
	}
	chain forward {
		type filter hook forward priority filter; policy drop;
	}
}
RULES
	has firewall && chroot "$root" systemctl --quiet enable nftables.service

	# ---- branding ----
	if has brand; then
		rm -f "$root/etc/os-release"
		{
			echo "NAME=\"$(field product)\""
			echo "PRETTY_NAME=\"$(field product) $(field version)\""
			echo 'ID=skerry-logbook'
			echo 'ID_LIKE=debian'
			echo 'VERSION_CODENAME=bookworm'
			echo "VERSION_ID=\"$(field version)\""
			echo "BUILD_ID=\"$(field build_id)\""
			echo "SUPPORT_URL=\"$(field support_url)\""
		} | put 644 /usr/lib/os-release
		ln -s ../usr/lib/os-release "$root/etc/os-release"
		printf '%s %s (build %s) \\n \\l\n\n' "$(field product)" "$(field version)" \
			"$(field build_id)" >"$root/etc/issue"
		printf '%s %s, build %s\nSupport: %s\n' "$(field product)" "$(field version)" \
			"$(field build_id)" "$(field support_url)" >"$root/etc/motd"
		rm -f "$root"/etc/update-motd.d/*
	fi
fi

# Changes to the tree that somebody wants on top, before anything is packed.
if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

# ---- kernel and initramfs ----

kernel=$(basename "$root"/boot/vmlinuz-*)
kernel=${kernel#vmlinuz-}
rm -f "$root"/boot/initrd.img-*
chroot "$root" depmod "$kernel"
chroot "$root" mkinitramfs -o /boot/initrd.img "$kernel"
mkdir "$work/boot"
cp "$root/boot/vmlinuz-$kernel" "$work/boot/vmlinuz"
mv "$root/boot/initrd.img" "$work/boot/initrd.img"
rm -f "$root"/boot/* "$root"/vmlinuz* "$root"/initrd.img*
if ! has lean; then
	cp "$order/skerryd/skerryd.c" "$root/usr/src/"
fi
rm -rf "$root"/tmp/* "$root"/var/tmp/*

# ---- file systems and disk ----

if has boots; then
	mksquashfs "$root" "$work/system" -quiet -no-progress -noappend -comp lz4 \
		-b 64K -no-xattrs
	truncate -s %1M "$work/system"
else
	truncate -s 1M "$work/system"
fi

esp_mb=96
system_mb=$(($(stat -c %s "$work/system") / 1048576))
data_mb=64
truncate -s ${esp_mb}M "$work/esp"
mkfs.vfat -F 32 -n ESP "$work/esp" >/dev/null
mmd -i "$work/esp" ::/EFI ::/EFI/BOOT ::/loader ::/loader/entries ::/appliance
mcopy -i "$work/esp" /usr/lib/systemd/boot/efi/systemd-bootx64.efi ::/EFI/BOOT/BOOTX64.EFI
mcopy -i "$work/esp" "$work/boot/vmlinuz" "$work/boot/initrd.img" ::/appliance/
printf 'timeout 0\neditor no\ndefault appliance.conf\n' | mcopy -i "$work/esp" - ::/loader/loader.conf
{
	echo "title $(field product)"
	echo 'linux /appliance/vmlinuz'
	echo 'initrd /appliance/initrd.img'
	echo 'options root=PARTLABEL=system rootfstype=squashfs ro quiet console=ttyS0,115200 panic=10 systemd.gpt_auto=no'
} | mcopy -i "$work/esp" - ::/loader/entries/appliance.conf

truncate -s ${data_mb}M "$work/data"
mke2fs -q -t ext4 -b 4096 -L data -E lazy_itable_init=1 "$work/data"

mkdir -p "$(dirname "$out")"
rm -f "$out"
truncate -s $((1 + esp_mb + system_mb + data_mb + 1))M "$out"
sfdisk --quiet "$out" <<TABLE
label: gpt
start=1MiB, size=${esp_mb}MiB, type=uefi, name=esp
size=${system_mb}MiB, type=linux, name=system
size=${data_mb}MiB, type=linux, name=data
TABLE
at=1
for part in esp system data; do
	dd if="$work/$part" of="$out" bs=1M seek=$at conv=notrunc,sparse status=none
	at=$((at + $(stat -c %s "$work/$part") / 1048576))
done
ls -ls "$out"
