#!/bin/bash
# Builds /app/out: the unit's disk, the firmware's lists, the two private keys. STOP_AFTER=<milestone>
# leaves out, on purpose, what the next milestone asks for. LOCAL_CHANGES names a file that is
# sourced before the root is packed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=/app/out
work=$(mktemp -d /var/tmp/unit-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root
initrd=$work/initrd

ladder="image keys verity boots desk service lockdown sealed at-rest keeps outside watched locked
tampering update"
from-tasks-lib ladder.sh

# ---- the kernel: Debian's for clouds, with modules that its own key has signed ----

packages=/var/tmp/unit-packages
if [ ! -e $packages/done ]; then
from-tasks-lib cloud-kernel.sh
	depmod -b $packages/kernel "$(basename $packages/kernel/lib/modules/*)"
	touch $packages/done
fi
release=$(basename $packages/kernel/lib/modules/*)

# ---- keys ----

# certificate NAME: a key with a certificate of its own, and the list that enrols it
certificate() {
	openssl req -newkey rsa:2048 -nodes -x509 -sha256 -days 7300 -subj "/CN=Vakt $1/" \
		-keyout "$work/$1.key" -out "$work/$1.crt" 2>/dev/null
	cert-to-efi-sig-list -g 5f2b1c9e-0d64-4c55-9a0e-8f8a3a6d1c01 "$work/$1.crt" "$work/$1.esl"
}
for name in PK KEK db; do
	certificate $name
done
openssl genpkey -algorithm ed25519 -out "$work/service.key"

# ---- the root's tree and the initial RAM disk's ----

# with_libraries TREE PROGRAM...: copied with all that they are linked to
with_libraries() {
	local tree=$1 program library
	shift
	for program; do
		rm -f "$tree$program"
		install -D "$program" "$tree$program"
		for library in $(ldd "$program" | grep -o '/[^ ]*'); do
			install -D "$library" "$tree$library"
		done
	done
}
mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,lib,lib64,etc,dev,proc,sys,run,tmp,data,mnt,root}
cp /bin/busybox "$root/bin/busybox"
for applet in $(/bin/busybox --list-full); do
	[ -e "$root/$applet" ] || ln -s /bin/busybox "$root/$applet"
done
with_libraries "$root" /usr/bin/openssl /sbin/cryptsetup /sbin/mke2fs /bin/sync
cp -r "$here/rootfs/." "$root/"
chmod 755 "$root/etc/rc" "$root/usr/sbin/desk"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
openssl rand -hex 32 >"$root/etc/build"
openssl pkey -in "$work/service.key" -pubout -out "$root/etc/service.pub"

mkdir -p "$initrd"/{bin,sbin,lib/modules,proc,sys,dev,run,root}
cp /bin/busybox "$initrd/bin/"
for applet in sh cat dd grep head insmod mkdir mount poweroff sed sleep switch_root umount; do
	ln -s busybox "$initrd/bin/$applet"
done
with_libraries "$initrd" /sbin/veritysetup
install -m 755 "$here/initrd-init" "$initrd/init"
for module in virtio_pci virtio_blk dm-verity dm-crypt xts aesni_intel algif_skcipher; do
	modprobe -d $packages/kernel -S "$release" --show-depends "$module"
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
	cp "$module" "$initrd/lib/modules/"
	basename "$module" >>"$initrd/modules"
done

cmdline="console=ttyS0 quiet loglevel=1 panic=5 rdinit=/init init=/sbin/init sysctl.kernel.sysrq=0 lockdown=confidentiality"

# ---- what is left out for the ladder: of the milestone after $STOP_AFTER, just too little ----

rc=$root/etc/rc desk=$root/usr/sbin/desk
has boots || sed -i 's/^echo "UNIT .*/:/' "$rc"
has desk || sed -i 's/answer attest .*; else/answer unknown; else/' "$desk"
has service || sed -i 's/^	openssl pkeyutl -verify/	false \&\& &/' "$desk"
has lockdown || cmdline=${cmdline/confidentiality/integrity}
has sealed || sed -i '/kexec_load_disabled/d' "$rc"
has at-rest || sed -i -e 's/if all_zero/if ! mount "$data" \/data; then \/sbin\/mke2fs -q -F -t ext4 "$data"; fi; umount \/data; ln -s "$data" \/dev\/mapper\/data\n	if false \&\& all_zero/' \
	-e 's/elif ! cryptsetup isLuks.*/elif false; then/' -e 's/open_data || {.*/:/' "$rc"
has keeps || sed -i 's/if \[ ! -s \/data\/identity.pem \]/if :/' "$rc"
has outside || {
	sed -i '/kernel.sysrq/d' "$rc"
	cmdline=${cmdline/sysrq=0/sysrq=1}
}
has watched || sed -i 's/ --restart-on-corruption//' "$initrd/init"
has locked || sed -i 's/echo "LOCKED key"/echo "LOCKED data"/' "$rc"
has tampering || sed -i '/^dd if/d' "$initrd/init"
has update || sed -i "s/^umount .sys .proc/grep -q $(cat "$root/etc/build") \/root\/etc\/build || refuse\n&/" "$initrd/init"
if [ -n "${LOCAL_CHANGES:-}" ]; then
	. "$LOCAL_CHANGES"
fi

# ---- root and hash tree ----

truncate -s 24M "$work/root.img"
mke2fs -q -t ext4 -O ^has_journal -m 0 -b 4096 -d "$root" -E root_owner=0:0 "$work/root.img"
hash=$(veritysetup format "$work/root.img" "$work/tree.img" | sed -n 's/^Root hash:[[:space:]]*//p')
has verity || hash=$(openssl rand -hex 32)

# ---- the program that the firmware starts ----

(cd "$initrd" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -6 >"$work/initrd.gz")
printf '%s roothash=%s' "$cmdline" "$hash" >"$work/cmdline"
objcopy \
	--add-section .osrel=/etc/os-release --change-section-vma .osrel=0x20000 \
	--add-section .cmdline="$work/cmdline" --change-section-vma .cmdline=0x30000 \
	--add-section .linux="$(echo $packages/kernel/boot/vmlinuz-*)" --change-section-vma .linux=0x2000000 \
	--add-section .initrd="$work/initrd.gz" --change-section-vma .initrd=0x4000000 \
	/usr/lib/systemd/boot/efi/linuxx64.efi.stub "$work/unit.efi"
sbsign --key "$work/db.key" --cert "$work/db.crt" --output "$work/BOOTX64.EFI" "$work/unit.efi" 2>/dev/null

# ---- the disk ----

image=$work/unit.img
truncate -s 116M "$image"
sfdisk -q "$image" <<'TABLE'
label: gpt
start=2048, size=81920, type=uefi, name=esp
start=83968, size=49152, type=linux, name=root
start=133120, size=2048, type=linux, name=root-verity
start=135168, size=98304, type=linux, name=data
TABLE
mformat -i "$image@@1M" -T 81920 -v ESP ::
mmd -i "$image@@1M" ::/EFI ::/EFI/BOOT
mcopy -i "$image@@1M" "$work/BOOTX64.EFI" ::/EFI/BOOT/BOOTX64.EFI
dd if="$work/root.img" of="$image" bs=512 seek=83968 conv=notrunc,sparse status=none
dd if="$work/tree.img" of="$image" bs=512 seek=133120 conv=notrunc,sparse status=none

mkdir -p "$out"
cp "$work"/{PK,KEK,db}.esl "$work/db.key" "$work/service.key" "$out/"
has keys || cp "$work/KEK.key" "$out/db.key"
mv "$image" "$out/unit.img"
ls -ls "$out"
