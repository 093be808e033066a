#!/bin/bash
# Builds /app/out/quay-setup.iso: a small Debian tree, packed in pieces, and an initramfs of our own that is the
# setup. STOP_AFTER=<milestone> leaves out, on purpose, what the next milestone asks for. LOCAL_CHANGES names a
# file that is sourced before anything is packed: $root is the system to be installed, $setup the initramfs.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=/app/out
work=$(mktemp -d /var/tmp/quay-build.XXXXXX)
trap 'umount "$work"/root/dev "$work"/root/proc 2>/dev/null || true; rm -rf "$work"' EXIT
export LC_ALL=C

ladder="medium installed layout settings uefi spared identity refused power-cut kept answers claims moved"
from-tasks-lib ladder.sh
same_keys() { # one host key for every machine, from the medium
	ssh-keygen -q -t ed25519 -N '' -C '' -f "$root/etc/ssh/ssh_host_ed25519_key"
	sed -i -e '/^\trm -f $T\/etc\/ssh\/ssh_host_/d' -e 's/^\tinside ssh-keygen -q .*/\ttrue/' "$setup/lib/quay/install"
}

# ---- the system ----

cache=/var/tmp/quay-cache
if [ ! -e $cache/done ]; then
	rm -rf $cache
	mkdir -p $cache
	mmdebstrap --quiet --variant=minbase \
		--include=busybox,dbus,dosfstools,e2fsprogs,fdisk,ifupdown-,initramfs-tools,iproute2,iputils-ping,kmod,less,libpam-systemd,linux-image-amd64,login,lvm2,openssh-server,passwd,sudo,systemd-sysv,systemd-timesyncd-,tzdata,udev,xfsprogs,zstd \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
		--aptopt='APT::Install-Recommends "false"' \
		bookworm $cache/root.tar >&2
	touch $cache/done
fi

root=$work/root
mkdir "$root"
tar -C "$root" -xpf $cache/root.tar --exclude='./dev/*'
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
kernel=$(basename "$root"/lib/modules/*)
modules=$root/lib/modules/$kernel
# Of the drivers, those that such machines need.
(
	cd "$modules/kernel"
	for part in drivers/* drivers/net/* drivers/net/ethernet/* drivers/usb/* drivers/scsi/* fs/* net/* sound; do
		case $part in
		drivers/acpi | drivers/ata | drivers/block | drivers/cdrom | drivers/char | drivers/input | drivers/md | drivers/net | \
			drivers/nvme | drivers/nvdimm | drivers/scsi | drivers/usb | drivers/virtio | drivers/net/ethernet | \
			drivers/net/mdio* | drivers/net/phy | drivers/net/virtio_net.ko | drivers/net/net_failover.ko | \
			drivers/net/ethernet/intel | drivers/net/ethernet/realtek | drivers/usb/common | drivers/usb/core | \
			drivers/usb/host | drivers/usb/storage | fs/autofs | fs/ext4 | fs/fat | fs/fuse | fs/isofs | fs/jbd2 | \
			fs/mbcache.ko | fs/nls | fs/overlayfs | fs/xfs | fs/efivarfs | net/core | net/ipv4 | net/ipv6 | net/netfilter | \
			drivers/scsi/sd_mod.ko | drivers/scsi/sr_mod.ko | drivers/scsi/scsi_mod.ko | \
			drivers/scsi/scsi_common.ko | drivers/scsi/virtio_scsi.ko | drivers/scsi/sg.ko | drivers/scsi/scsi_transport_*) ;;
		*) rm -rf "$part" ;;
		esac
	done
)
rm -rf "$modules/kernel/arch/x86/kvm" "$modules"/kernel/lib/test_*
# Nothing that such a machine does needs these: they came along with mkfs.xfs and udev.
rm -rf "$root"/usr/lib/x86_64-linux-gnu/{libicu*,gconv,perl,libperl*} "$root"/usr/share/perl "$root"/usr/bin/perl5* \
	"$root"/usr/lib/udev/hwdb.* "$root"/usr/lib/python3.11 "$root"/usr/share/{bash-completion,zsh,info,lintian}
depmod -b "$root" "$kernel" 2>/dev/null

cat >"$root/etc/initramfs-tools/conf.d/quay" <<EOT
MODULES=list
COMPRESS=zstd
EOT
printf '%s\n' ahci ata_piix sd_mod nvme virtio_pci virtio_blk virtio_scsi xhci_pci usb_storage ext4 dm_mod \
	>>"$root/etc/initramfs-tools/modules"
# All of the group is there before systemd looks for it: its own way goes by udev and a transient unit, which on a
# slow machine comes later than the 90 seconds that mounts wait.
mkdir -p "$root/etc/systemd/system.conf.d"
printf '[Manager]\nDefaultTimeoutStartSec=900\nDefaultDeviceTimeoutSec=900\n' >"$root/etc/systemd/system.conf.d/quay.conf"
cat >"$root/etc/initramfs-tools/scripts/local-bottom/quay" <<'EOT'
#!/bin/sh
[ "$1" = prereqs ] && exit 0
group=${ROOT#/dev/mapper/}
lvm vgchange -qq -aay --sysinit "${group%%-*}" >/dev/null 2>&1
exit 0
EOT
chmod 755 "$root/etc/initramfs-tools/scripts/local-bottom/quay"
chroot "$root" update-initramfs -c -k "$kernel" >&2
sed -i 's/^#\?PermitRootLogin.*/PermitRootLogin no/' "$root/etc/ssh/sshd_config"
printf '%s\n' 'HostKey /etc/ssh/ssh_host_ed25519_key' 'AuthorizedKeysFile .ssh/authorized_keys' \
	'PasswordAuthentication no' 'UseDNS no' >"$root/etc/ssh/sshd_config.d/quay.conf"
chroot "$root" systemctl --quiet enable systemd-networkd.service ssh.service
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
	fstrim.timer systemd-networkd-wait-online.service systemd-firstboot.service systemd-pstore.service \
	systemd-binfmt.service proc-sys-fs-binfmt_misc.automount getty@tty1.service; do
	ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/machine-id" "$root/var/lib/dbus/machine-id" "$root/etc/motd" "$root/etc/update-motd.d/"*
ln -s /etc/machine-id "$root/var/lib/dbus/machine-id"
: >"$root/etc/motd"

# ---- the setup ----

setup=$work/setup
mkdir -p "$setup"/{bin,dev,etc/lvm,lib/quay,proc,run,sys,tmp,usr}
ln -s ../bin "$setup/usr/bin"
ln -s ../bin "$setup/usr/sbin"
ln -s bin "$setup/sbin"
ln -s lib "$setup/lib64"
for program in busybox sfdisk blkid lvm mke2fs e2fsck resize2fs mkfs.vfat mkfs.xfs xfs_growfs zstd mkswap blockdev; do
	path=$(chroot "$root" sh -c "command -v $program")
	path=$(chroot "$root" readlink -f "$path")
	cp "$root$path" "$setup/bin/$program"
	chroot "$root" ldd "$path" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$setup$(dirname "$library")"
		cp -L "$root$library" "$setup$library"
	done
done
cp -L "$root"/lib/x86_64-linux-gnu/libgcc_s.so.1 "$setup/lib/x86_64-linux-gnu/"
chroot "$root" cat /etc/mke2fs.conf >"$setup/etc/mke2fs.conf"
cat >"$setup/etc/lvm/lvm.conf" <<EOT
activation { udev_sync = 0 udev_rules = 0 monitoring = 0 }
devices { use_devicesfile = 0 obtain_device_list_from_udev = 0 }
backup { backup = 0 archive = 0 }
EOT
wanted="isofs sr_mod sd_mod ata_piix ata_generic ahci nvme virtio_pci virtio_blk virtio_scsi xhci_pci ehci_pci uhci_hcd
usb_storage uas ext4 xfs vfat nls_cp437 nls_ascii nls_iso8859-1 dm_mod loop"
echo $wanted >"$setup/lib/quay/modules"
for module in $wanted; do
	chroot "$root" modprobe -S "$kernel" --show-depends "$module"
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u | while read -r file; do
	file=$(echo "$file" | sed 's|^/usr||')
	mkdir -p "$setup$(dirname "$file")"
	cp "$root$file" "$setup$file"
done
cp "$modules"/modules.{order,builtin,builtin.modinfo} "$setup/lib/modules/$kernel/"
depmod -b "$setup" "$kernel"
cp "$here"/medium/{disks,answers,install} "$setup/lib/quay/"
install -m 755 "$here/medium/quay-setup" "$setup/bin/quay-setup"
install -m 755 "$here/medium/init" "$setup/init"
words() { sort -u | tr '\n' ' '; }
{
	echo "ZONES=\"$(cd "$root/usr/share/zoneinfo" && find -L * -type f | grep -Ev '^(posix|right)/|\.|^(leapseconds|leap-seconds|tzdata|localtime|posixrules)' | words)\""
	echo "ACCOUNTS=\"$(cut -d : -f 1 "$root/etc/passwd" "$root/etc/group" | words)\""
} >"$setup/lib/quay/words"
edition=$(openssl rand -hex 32 | tr a-f A-F)
echo "$edition" >"$setup/lib/quay/edition"
platforms=

# ---- what is left out for the ladder: of the milestone after $STOP_AFTER, just too little ----

lib=$setup/lib/quay
has installed || sed -i 's|^/bin/quay-setup auto$|false|' "$setup/init"
has layout || sed -i 's/-L "${size}m" --addtag/-L "$((size - 4))m" --addtag/' "$lib/install"
has settings || sed -i 's|^\tln -sf .*/etc/localtime$|\tln -sf /usr/share/zoneinfo/Etc/UTC $T/etc/localtime|' "$lib/install"
has uefi || platforms=--directory=/usr/lib/grub/i386-pc
has spared || sed -i 's|^\tprogress 5$|&; mount -o remount,rw /run/answers-disk; date >/run/answers-disk/log.txt; mount -o remount,ro /run/answers-disk|' "$lib/install"
has identity || same_keys
has refused || sed -i 's/ || refuse data "$DISK is not empty"/ || true/' "$lib/answers"
has power-cut || sed -i 's/^\tempty | unfinished) ;;$/\tempty) ;;\n\tunfinished) refuse data "it is not finished" ;;/' "$lib/answers"
has kept || sed -i 's/^\t\tcase $fs in ext4) resize2fs .*/\t\ttrue ||/' "$lib/install"
has answers || sed -i 's/refuse contradiction "the gateway is not in the network"/true/' "$lib/answers"
has claims || sed -i 's/ || refuse data "a volume that was kept"/ || true/' "$lib/answers"
has moved || sed -i 's|^\tcp /run/medium/quay/bootx64.efi .*|\t[ ! -d /sys/firmware/efi ] \|\| &|' "$lib/install"

if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

# ---- the medium ----

umount "$root/proc" "$root/dev"
tree=$work/tree
mkdir -p "$tree/quay" "$tree/boot/grub"
mv "$root"/boot/initrd.img-* "$tree/quay/initrd.img"
cp "$root"/boot/vmlinuz-* "$tree/quay/vmlinuz"
rm -rf "$root"/boot/* "$root"/vmlinuz* "$root"/initrd* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* \
	"$root"/var/cache/debconf/*-old "$root"/var/log/* "$root"/tmp/* "$root"/var/tmp/* "$root"/run/*
used=$(du -sm "$root" | cut -f 1)
echo "NEED=$((used * 12 / 10 + 60))" >>"$setup/lib/quay/words"
echo "system: $used MiB" >&2
tar -C "$root" --numeric-owner -c . | split -b 12M -a 2 --filter='zstd -q -6 -T2 -o "$FILE.zst"' - "$tree/quay/system."
grub-mkimage -O i386-pc -p '(,gpt2)/grub' -o "$tree/quay/core.img" biosdisk part_gpt fat linux normal configfile serial
cp /usr/lib/grub/i386-pc/boot.img "$tree/quay/boot.img"
# boot.img loads core.img's first sector from here; that sector says where the rest is.
printf '\x00\x08\x00\x00\x00\x00\x00\x00' | dd of="$tree/quay/boot.img" bs=1 seek=92 conv=notrunc status=none
printf '\x01\x08\x00\x00\x00\x00\x00\x00' | dd of="$tree/quay/core.img" bs=1 seek=500 conv=notrunc status=none
grub-mkimage -O x86_64-efi -p /grub -o "$tree/quay/bootx64.efi" part_gpt fat linux normal configfile serial all_video
(cd "$setup" && find . | cpio --quiet -o -H newc -R 0:0) | zstd -q -6 -T2 >"$tree/boot/setup.img"
cat >"$tree/boot/grub/grub.cfg" <<EOT
serial --unit=0 --speed=115200
linux /quay/vmlinuz console=tty0 console=ttyS0,115200 quiet panic=30
initrd /boot/setup.img
boot
EOT
mkdir -p $out
rm -f $out/quay-setup.iso
grub-mkrescue $platforms --locales= --fonts= --themes= -o "$work/quay-setup.iso" "$tree" \
	-volid QUAY_5520 -volset "$edition" >&2
mv "$work/quay-setup.iso" $out/quay-setup.iso
ls -l $out >&2
