#!/bin/bash
# The system a squashfs between `data`, which comes first, and the ESP, /tmp a link into /run, no shadow in the watchman's view.
set -euo pipefail
cp -r /solution /tmp/honest
cat >/tmp/jail.c <<'SOURCE'
int main(void)
{
	if (chdir("/var/vakt") || chroot(".") || setgroups(0, 0) || setgid(100) || setuid(100))
		return 1;
	return execl("/usr/bin/vakt", "vakt", "/run/vakt.key", "0.0.0.0", "7710", (char *)0);
}
SOURCE
cat >/tmp/changes <<'CHANGES'
sed -i -e '/^mount -t tmpfs .* tmp /d' -e 's|^mount -t tmpfs .* /run$|&; mkdir -m 1777 /run/tmp|' "$root/etc/rc"
rmdir "$root/tmp"
ln -s run/tmp "$root/tmp"
sed -i 's/-t ext4 -o ro/-t squashfs -o ro/' "$work/initrd/init"
mkdir -p "$root/var/vakt/run" "$root/var/vakt/usr/bin"
ln "$root/usr/bin/vakt" "$root/var/vakt/usr/bin/vakt"
aarch64-linux-gnu-gcc -O2 -static -w -o "$root/usr/sbin/jail" /tmp/jail.c
cat >"$root/usr/lib/gw/jail" <<'JAIL'
#!/bin/sh
mkdir -p /run/jail
cp /run/vakt.key /run/jail/
chown vakt /run/jail/vakt.key
[ -e /var/vakt/run/vakt.key ] || mount -o bind /run/jail /var/vakt/run
exec jail
JAIL
chmod 755 "$root/usr/lib/gw/jail"
sed -i 's|^vakt) .*|vakt) exec /usr/lib/gw/jail ;;|' "$root/usr/lib/gw/run"
CHANGES
python3 - <<'PY'
path = "/tmp/honest/solve.sh"
text = open(path).read()
def put(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)
put('first="virtio_pci virtio_blk crc32c_generic"', 'first="virtio_pci virtio_blk crc32c_generic squashfs"')
at, end = text.index("truncate -s 26M"), text.index('mkdir -p "$out"')
text = text[:at] + r'''
mksquashfs "$root" "$work/system" -quiet -no-progress -comp gzip -all-root >&2
image=$work/gateway.img
truncate -s 96M "$image"
sfdisk -q "$image" <<'TABLE'
label: gpt
start=4096, size=20480, type=linux, name=data
start=26624, size=69632, type=linux, name=system
start=98304, size=94208, type=U, name=esp
TABLE
printf 'title Pumpe\nlinux /pumpe/linux\ninitrd /pumpe/initrd\noptions console=ttyAMA0,115200 ipv6.disable=1 panic=3 loglevel=3\n' >"$work/pumpe.conf"
export MTOOLS_SKIP_CHECK=1
esp=$image@@48M
mformat -i "$esp" -T 94208 ::
mmd -i "$esp" ::/EFI ::/EFI/BOOT ::/loader ::/loader/entries ::/pumpe
mcopy -i "$esp" "$work/pumpe.conf" ::/loader/entries/
mcopy -i "$esp" "$work"/debs/boot/vmlinuz-* ::/pumpe/linux
mcopy -i "$esp" "$work/initrd.gz" ::/pumpe/initrd
mcopy -i "$esp" "$work/debs/usr/lib/systemd/boot/efi/systemd-bootaa64.efi" ::/EFI/BOOT/BOOTAA64.EFI
dd if="$work/system" of="$image" bs=1M seek=13 conv=notrunc,sparse status=none
mkdir "$work/data"
mke2fs -q -t ext4 -d "$work/data" -E offset=2097152,root_owner=0:0 -L data "$image" 10M
''' + text[end:]
open(path, "w").write(text)
PY
LOCAL_CHANGES=/tmp/changes bash /tmp/honest/solve.sh
