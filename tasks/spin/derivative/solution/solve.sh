#!/bin/bash
# Builds /app/out: the station's disk with kernel and initial RAM disk, the archive of both releases,
# the three keys. STOP_AFTER=<milestone> leaves out, on purpose, what the next milestone asks for.
# LOCAL_CHANGES names a file that is sourced before packages are made.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
order=/app/order
out=/app/out
work=$(mktemp -d /var/tmp/holm-build.XXXXXX)
trap 'gpgconf --homedir "$work/gpg" --kill all 2>/dev/null || true; rm -rf "$work"' EXIT
export LC_ALL=C

ladder="archive boots packaged service supply precedence trust forward gate release carried retired
line power"
from-tasks-lib ladder.sh

# ---- what is Debian's: the system, the kernel, the packages of the base ----

cache=/var/tmp/holm-cache
if [ ! -e $cache/done ]; then
	rm -rf $cache
	mkdir -p $cache/base $cache/kernel
	sources=/etc/apt/sources.list.d/debian.sources
	[ -e "$sources" ] || sources=/etc/apt/sources.list
	set --
	for part in doc man info locale lintian; do
		set -- "$@" --dpkgopt="path-exclude=/usr/share/$part/*"
	done
	mmdebstrap --quiet --variant=minbase "$@" --dpkgopt='path-include=/usr/share/doc/*/copyright' \
		--include=systemd-sysv,udev,iproute2 \
		--customize-hook='rm -f "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*' \
		bookworm $cache/system.tar "$sources"
	apt-get -qq update
	kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
	(
		cd $cache
		apt-get -qq -o APT::Sandbox::User=root download "$kernel"
		dpkg-deb -x linux-image-*.deb kernel
		cd base
		# bc, what it needs and a minimal system has not, and what Holm has another one of
		apt-get -qq -o APT::Sandbox::User=root download hello bc libreadline8 readline-common
	)
	depmod -b $cache/kernel "$(basename $cache/kernel/lib/modules/*)"
	touch $cache/done
fi

# ---- keys ----

mkdir -m 700 "$work/gpg" "$work/keys"
gpg() { command gpg --homedir "$work/gpg" --batch --quiet --no-tty "$@"; }
for key in alke bris base; do
	printf '%s\n' %no-protection 'Key-Type: eddsa' 'Key-Curve: ed25519' 'Key-Usage: sign,cert' \
		"Name-Real: Holm archive $key" "Name-Email: $key@holm.example" 'Expire-Date: 0' %commit |
		gpg --gen-key 2>/dev/null
	gpg --armor --export-secret-keys "$key@holm.example" >"$work/keys/$key.key"
	gpg --export "$key@holm.example" >"$work/keys/$key.pub"
done

# ---- packages ----

packages=$work/packages
cp -r "$here/packages" "$packages"
put() { # put PACKAGE MODE PATH: a file of the order into a package
	install -D -m "$2" "$order/$4" "$packages/$1$3"
}
for v in 1.0 2.0; do
	printf '[Match]\nType=ether\n\n[Network]\nDHCP=ipv4\n' |
		install -D -m 644 /dev/stdin "$packages/holm-base-$v/usr/lib/systemd/network/20-wired.network"
	install -D -m 755 "$packages/holm-upgrade" "$packages/holm-base-$v/usr/sbin/holm-upgrade"
	wants=$packages/holm-base-$v/usr/lib/systemd/system/multi-user.target.wants
	mkdir "$wants"
	ln -s ../holm-upgrade.service "$wants/holm-upgrade.service"
	put holm-base-$v 644 /etc/holm/site.conf site-$v.conf
	put holm-tools-$v 755 /usr/bin/holm-report tools-$v/holm-report
	put holm-tools-$v 644 /etc/holm/report.conf tools-$v/report.conf
done
put holm-tools-1.0 755 /usr/bin/holm-clock tools-1.0/holm-clock
put holm-clock-2.0 755 /usr/bin/holm-clock tools-2.0/holm-clock
put holm-tally-1.0 755 /usr/sbin/holm-tally tally/holm-tally
put holm-tally-1.0 644 /etc/holm/tally.conf tally/tally.conf
put holm-registry-2.0 755 /usr/sbin/holm-registry registry/holm-registry
put holm-registry-2.0 644 /usr/share/holm-registry/registry.conf registry/registry.conf
put holm-relay-1.0 755 /usr/sbin/holm-relay holm-relay
put holm-relay-1.0 644 /etc/holm/relay.conf relay.conf
for v in 1 2; do
	put hello-2.9-1holm$v 755 /usr/bin/hello hello/hello
done
ring() { # ring VERSION KEY...: a keyring package trusts these
	local folder=$packages/holm-archive-keyring-$1/usr/share/keyrings key
	shift
	mkdir -p "$folder"
	for key; do cat "$work/keys/$key.pub"; done >"$folder/holm-archive.gpg"
	cat "$work/keys/base.pub" >"$folder/holm-base.gpg"
}
ring 1.0 alke
ring 1.1 alke bris
ring 2.0 bris

# ---- what is left out for the ladder: of the milestone after $STOP_AFTER, just too little ----

sources="$packages/holm-base-1.0/etc/apt/sources.list.d/holm.sources $packages/holm-base-2.0/etc/apt/sources.list.d/holm.sources"
priorities="$packages/holm-base-1.0/etc/apt/preferences.d/holm $packages/holm-base-2.0/etc/apt/preferences.d/holm"
upgrade="$packages/holm-base-1.0/usr/sbin/holm-upgrade $packages/holm-base-2.0/usr/sbin/holm-upgrade"
has service || sed -i '/^Restart=/d' "$packages/holm-tally-1.0/usr/lib/systemd/system/holm-tally.service"
has supply || sed -i 's/^URIs: mirror+file:.*\/\([a-z]*\)$/URIs: http:\/\/archive.holm.example\/\1/' $sources
has precedence || sed -i 's/^Pin-Priority: -1/Pin-Priority: 500/' $priorities
has trust || sed -i 's/^Signed-By: .*/Trusted: yes/' $sources
has forward || sed -i 's/^Pin-Priority: 990/Pin-Priority: 1001/' $priorities
has gate || sed -i '/^give_up() {/,/^}/s/exit 1/exit 0/' $upgrade
has release || sed -i 's/^go_forward() {/&\n\treturn 1/' $upgrade
has carried || sed -i 's/^old=[^ ]*/old=\/nothing/' "$packages/holm-registry-2.0/DEBIAN/postinst"
has retired || ring 2.0 alke bris
has line || sed -i 's/^ConditionPathExists=.*/&\/committed/' "$packages"/holm-base-*/usr/lib/systemd/system/holm-upgrade.service
has power || sed -i 's/^for _ in 1 2 3; do/next update --error-on=any || exit 1\n&/' $upgrade

if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

mkdir "$work/debs"
for folder in "$packages"/*/; do
	folder=${folder%/}
	(cd "$folder" && find . -path './etc/*' -type f | sort | sed 's/^\.//') >"$work/conffiles"
	[ ! -s "$work/conffiles" ] || cp "$work/conffiles" "$folder/DEBIAN/conffiles"
	chmod -R u+rwX,go=u,go-w "$folder"
	dpkg-deb --root-owner-group -Zxz -b "$folder" "$work/debs" >/dev/null
done

# ---- the archive ----

archive=$work/archive
mkdir -p "$archive"/holm/pool/{alke,bris} "$archive/base/pool/bookworm"
cp "$work"/debs/*_1.0_all.deb "$work/debs/holm-archive-keyring_1.1_all.deb" \
	"$work/debs/hello_2.9-1holm1_all.deb" "$archive/holm/pool/alke/"
rm "$archive/holm/pool/alke/holm-archive-keyring_1.0_all.deb"
cp "$work"/debs/*_2.0_all.deb "$work/debs/hello_2.9-1holm2_all.deb" "$archive/holm/pool/bris/"
cp $cache/base/*.deb "$archive/base/pool/bookworm/"
publish() { python3 "$here/publish.py" "$1" "$2" "$3" "$archive/$4" "$work/gpg" "$5@holm.example"; }
publish alke 1.0 Holm holm alke
publish bris 2.0 Holm holm bris
publish bookworm 12 Debian base base

# ---- the station ----

root=$work/root
mkdir "$root"
tar -C "$root" -xpf $cache/system.tar --exclude=./dev/*
for deb in "$work"/debs/*_1.0_all.deb "$work/debs/hello_2.9-1holm1_all.deb"; do
	cp "$deb" "$root/var/tmp/"
done
chroot "$root" sh -c 'dpkg -i /var/tmp/*.deb' >/dev/null
rm "$root"/var/tmp/*.deb
echo root:Salt-Fjord-23 | chroot "$root" chpasswd
echo station >"$root/etc/hostname"
printf '127.0.0.1 localhost station\n' >"$root/etc/hosts"
: >"$root/etc/machine-id"
rm -f "$root/etc/resolv.conf" "$root"/var/log/*.log "$root"/var/log/apt/*
has packaged || printf 'Package: local\nPin: release a=local\nPin-Priority: 1\n' >"$root/etc/apt/preferences.d/local"
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
	e2scrub_reap.service fstrim.timer systemd-firstboot.service getty@tty1.service \
	systemd-networkd-wait-online.service systemd-pstore.service dev-hugepages.mount dev-mqueue.mount \
	sys-kernel-debug.mount sys-kernel-tracing.mount modprobe@.service systemd-binfmt.service \
	proc-sys-fs-binfmt_misc.automount systemd-logind.service systemd-update-utmp.service \
	systemd-update-utmp-runlevel.service systemd-initctl.socket systemd-rfkill.socket; do
	ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
chroot "$root" systemctl --quiet enable systemd-networkd.service
chroot "$root" systemctl --quiet set-default multi-user.target
mkdir -p "$root/dev"

truncate -s 512M "$work/station.img"
mke2fs -q -t ext4 -d "$root" -E root_owner=0:0,lazy_itable_init=1 "$work/station.img"

# ---- what the hypervisor starts ----

initrd=$work/initrd
mkdir -p "$initrd"/{bin,dev,root,lib/modules}
cp /bin/busybox "$initrd/bin/"
for applet in sh insmod mount sleep switch_root; do
	ln -s busybox "$initrd/bin/$applet"
done
install -m 755 "$here/initrd-init" "$initrd/init"
release=$(basename $cache/kernel/lib/modules/*)
for module in virtio_pci virtio_blk ext4 virtio_net virtio_rng; do
	modprobe -d $cache/kernel -S "$release" --show-depends "$module"
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
	cp "$module" "$initrd/lib/modules/"
	basename "$module" >>"$initrd/modules"
done
has boots || printf '#!/bin/sh\nexit 1\n' >"$initrd/init"
(cd "$initrd" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -6 >"$work/initrd.gz")

mkdir -p $out
rm -rf $out/archive
cp "$(echo $cache/kernel/boot/vmlinuz-*)" $out/vmlinuz
mv "$work/initrd.gz" $out/initrd
mv "$work/station.img" $out/station.img
mv "$archive" $out/archive
cp "$work"/keys/*.key $out/
ls -ls $out
